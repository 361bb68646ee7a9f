#include "cli/convert/compiler_messages.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "cli/json.h"
#include "support/demangle.h"

namespace cerberus::cli {
namespace {

Severity SeverityOf(std::string_view name) {
  if (name == "warning") return Severity::kWarning;
  if (name == "note") return Severity::kNote;
  return Severity::kError;
}

// One line of cerberus-jit's stderr. It is written by the compiler, but also
// by whatever dies in it: a line that is no JSON is a message as it is.
Diag DiagOfLine(const std::string& line, const Where& where) {
  Diag diag;
  diag.where = where;
  const std::optional<std::map<std::string, std::string>> object =
      ParseFlatJson(line);
  if (!object) {
    diag.code = DiagCode::kCompiler;
    diag.message = line;
    // We know better what it read than it does.
    for (const std::string_view prefix :
         {"cerberus-jit: error: ", "<stdin>: "}) {
      if (diag.message.rfind(prefix, 0) == 0) {
        diag.message.erase(0, prefix.size());
      }
    }
    return diag;
  }
  const auto text = [&](const char* key) {
    const auto at = object->find(key);
    return at == object->end() ? std::string() : at->second;
  };
  const auto number = [&](const char* key) {
    const std::string digits = text(key);
    int value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  };
  diag.severity = SeverityOf(text("severity"));
  diag.code = static_cast<DiagCode>(number("code"));
  diag.message = text("message");
  diag.where.kernel = Demangle(text("kernel"));
  diag.where.ptx_line = number("ptx_line");
  diag.where.ptx_column = number("ptx_column");
  diag.where.source_file = text("source_file");
  diag.where.source_line = number("source_line");
  return diag;
}

}  // namespace

void ReadMessages(std::string_view err, const Where& where,
                  std::vector<Diag>* diags, std::string* time_trace) {
  std::size_t begin = 0;
  while (begin < err.size()) {
    const std::size_t end = std::min(err.find('\n', begin), err.size());
    std::string line(err.substr(begin, end - begin));
    if (line.rfind("{\"traceEvents\":", 0) == 0) {
      *time_trace = std::move(line);
    } else if (!line.empty()) {
      diags->push_back(DiagOfLine(line, where));
    }
    begin = end + 1;
  }
}

}  // namespace cerberus::cli
