#include "packager/tree/rocfft_cache.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "packager/databases/databases.h"
#include "support/targets/target_sets.h"

namespace cerberus::packager {
namespace {

// A kernel has some tens of kB; what is larger than this is none.
constexpr int kMaxValue = 256 << 20;

constexpr char kTable[] =
    "CREATE TABLE cache_v1 (kernel_name TEXT NOT NULL, arch TEXT NOT NULL, "
    "hip_version INTEGER NOT NULL, generator_sum BLOB NOT NULL, "
    "code BLOB NOT NULL, timestamp INTEGER NOT NULL, "
    "PRIMARY KEY (kernel_name, arch, hip_version, generator_sum))";
constexpr char kColumns[] =
    "kernel_name,arch,hip_version,generator_sum,code,timestamp";

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
using Database = std::unique_ptr<sqlite3, CloseDatabase>;
struct EndStatement {
  void operator()(sqlite3_stmt* statement) const {
    sqlite3_finalize(statement);
  }
};
using Statement = std::unique_ptr<sqlite3_stmt, EndStatement>;

Diag Complaint(sqlite3* database, const std::string& file) {
  const int code = sqlite3_errcode(database) & 0xff;
  const bool is_format = code == SQLITE_NOTADB || code == SQLITE_CORRUPT ||
                         code == SQLITE_ERROR || code == SQLITE_TOOBIG;
  Where where;
  where.file = file;
  return MakeDiag(
      is_format ? DiagCode::kBadFormat : DiagCode::kIo, std::move(where),
      fmt::format("as an SQLite database: {}", sqlite3_errmsg(database)));
}

// A path as a URI has it: all but the plainest characters escaped.
std::string UriOf(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       (c >= '0' && c <= '9') || c == '/' || c == '.' ||
                       c == '-' || c == '_';
    uri += plain ? std::string(1, c)
                 : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

// Read as bytes that nobody changes: no lock, no journal, nothing beside it.
// What its schema might do besides holding a table is switched off.
Result<Database> OpenInput(const std::string& path) {
  sqlite3* raw = nullptr;
  const std::string uri = UriOf(path) + "?mode=ro&immutable=1";
  const int opened = sqlite3_open_v2(
      uri.c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  Database database(raw);
  if (opened != SQLITE_OK) return Err(Complaint(raw, path));
  sqlite3_limit(raw, SQLITE_LIMIT_LENGTH, kMaxValue);
  for (const int off :
       {SQLITE_DBCONFIG_ENABLE_TRIGGER, SQLITE_DBCONFIG_ENABLE_VIEW,
        SQLITE_DBCONFIG_TRUSTED_SCHEMA}) {
    sqlite3_db_config(raw, off, 0, nullptr);
  }
  sqlite3_db_config(raw, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return database;
}

Result<Database> CreateOutput(const std::string& path) {
  sqlite3* raw = nullptr;
  const int opened = sqlite3_open_v2(
      path.c_str(), &raw,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_EXCLUSIVE,
      nullptr);
  Database database(raw);
  const std::string setup =
      std::string("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN; ") +
      kTable;
  if (opened != SQLITE_OK || sqlite3_exec(raw, setup.c_str(), nullptr, nullptr,
                                          nullptr) != SQLITE_OK) {
    return Err(Complaint(raw, path));
  }
  return database;
}

Result<Statement> Prepare(const Database& database, const std::string& sql,
                          const std::string& file) {
  sqlite3_stmt* raw = nullptr;
  if (sqlite3_prepare_v2(database.get(), sql.c_str(), -1, &raw, nullptr) !=
      SQLITE_OK) {
    return Err(Complaint(database.get(), file));
  }
  return Statement(raw);
}

std::string TextOf(sqlite3_stmt* row, int column) {
  const auto* text =
      reinterpret_cast<const char*>(sqlite3_column_text(row, column));
  return text == nullptr
             ? ""
             : std::string(text, static_cast<std::size_t>(
                                     sqlite3_column_bytes(row, column)));
}

// Whether it holds the table with the columns that are known, and nothing else
// of that name.
Status CheckTable(const Database& database, const std::string& file) {
  CERB_TRY(
      const Statement kind,
      Prepare(database,
              "SELECT type FROM sqlite_master WHERE name = 'cache_v1'", file));
  const bool is_table = sqlite3_step(kind.get()) == SQLITE_ROW &&
                        TextOf(kind.get(), 0) == "table";
  CERB_TRY(const Statement info,
           Prepare(database, "PRAGMA table_info(cache_v1)", file));
  std::string columns;
  while (is_table && sqlite3_step(info.get()) == SQLITE_ROW) {
    columns += (columns.empty() ? "" : ",") + TextOf(info.get(), 1);
  }
  if (columns == kColumns) return {};
  Where where;
  where.file = file;
  return Err(DiagCode::kUnsupported, std::move(where),
             fmt::format("has no table cache_v1 of the columns {}", kColumns));
}

}  // namespace

bool IsRocfftCache(std::string_view path) {
  return FileName(path) == "rocfft_kernel_cache.db";
}

Result<RocfftPruning> PruneRocfftCache(const std::string& from,
                                       const std::string& to,
                                       const std::vector<std::string>& asked,
                                       const std::function<bool()>& cancelled) {
  CERB_TRY(const Database input, OpenInput(from));
  CERB_TRY_VOID(CheckTable(input, from));
  CERB_TRY(const Statement rows,
           Prepare(input,
                   std::string("SELECT ") + kColumns +
                       " FROM cache_v1 ORDER BY kernel_name, arch, "
                       "hip_version, generator_sum",
                   from));
  CERB_TRY(const Database output, CreateOutput(to));
  CERB_TRY(const Statement insert,
           Prepare(output,
                   "INSERT OR IGNORE INTO cache_v1 VALUES (?,?,?,?,?,?)", to));
  RocfftPruning result;
  int step = 0;
  while ((step = sqlite3_step(rows.get())) == SQLITE_ROW) {
    if (cancelled && cancelled()) return Err(DiagCode::kIo, "interrupted");
    const std::string target = TargetAt(TextOf(rows.get(), 1));
    if (!target.empty() && !IsOfUse(target, asked)) {
      ++result.dropped;
      continue;
    }
    ++result.kept;
    for (int column = 0; column < 6; ++column) {
      sqlite3_bind_value(insert.get(), column + 1,
                         sqlite3_column_value(rows.get(), column));
    }
    if (sqlite3_step(insert.get()) != SQLITE_DONE) {
      return Err(Complaint(output.get(), to));
    }
    sqlite3_reset(insert.get());
  }
  if (step != SQLITE_DONE) return Err(Complaint(input.get(), from));
  if (sqlite3_exec(output.get(), "COMMIT", nullptr, nullptr, nullptr) !=
      SQLITE_OK) {
    return Err(Complaint(output.get(), to));
  }
  return result;
}

}  // namespace cerberus::packager
