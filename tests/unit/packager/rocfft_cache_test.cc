#include "packager/tree/rocfft_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/unit/temp_folder.h"

namespace cerberus::packager {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class RocfftCache : public ::testing::Test {
 protected:
  std::string In(const char* name) { return folder_.path() + "/" + name; }
  // Runs statements; returns the first column of what the last one finds.
  std::vector<std::string> Sql(const std::string& file,
                               const std::string& text) {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    std::vector<std::string> found;
    char* error = nullptr;
    sqlite3_exec(
        database, text.c_str(),
        [](void* into, int, char** values, char**) {
          static_cast<std::vector<std::string>*>(into)->push_back(values[0]);
          return 0;
        },
        &found, &error);
    EXPECT_EQ(error, nullptr) << error;
    sqlite3_free(error);
    sqlite3_close(database);
    return found;
  }
  // As rocFFT makes it.
  void MakeCache(const std::string& file) {
    Sql(file,
        "CREATE TABLE IF NOT EXISTS cache_v1 (  kernel_name TEXT NOT NULL,  "
        "arch TEXT NOT NULL,  hip_version INTEGER NOT NULL,  generator_sum "
        "BLOB NOT NULL,  code BLOB NOT NULL,  timestamp INTEGER NOT NULL,  "
        "PRIMARY KEY (      kernel_name, arch, hip_version, generator_sum      "
        "));"
        "INSERT INTO cache_v1 VALUES"
        "('b', 'gfx942', 7, x'00ff', x'010203', 5),"
        "('a', 'gfx942', 7, x'00ff', zeroblob(100000), 5),"
        "('a', 'gfx1100', 7, x'00ff', x'04', 5),"
        "('a', 'gfx90a:sramecc+:xnack-', 7, x'00ff', x'05', 5)");
  }
  std::string Bytes(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempFolder folder_;
};

TEST_F(RocfftCache, KeepsTheRowsThatAreAskedFor) {
  MakeCache(In("all.db"));
  const std::string before = Bytes(In("all.db"));
  const auto pruned =
      PruneRocfftCache(In("all.db"), In("new.db"), {"gfx942", "gfx90a"});
  ASSERT_TRUE(pruned) << pruned.error().ToString();
  EXPECT_EQ(pruned->kept, 3u);
  EXPECT_EQ(pruned->dropped, 1u);
  EXPECT_THAT(
      Sql(In("new.db"),
          "SELECT kernel_name || ' ' || arch || ' ' || hip_version || ' ' || "
          "hex(generator_sum) || ' ' || length(code) || ' ' || timestamp FROM "
          "cache_v1 ORDER BY kernel_name, arch"),
      ElementsAre("a gfx90a:sramecc+:xnack- 7 00FF 1 5",
                  "a gfx942 7 00FF 100000 5", "b gfx942 7 00FF 3 5"));
  EXPECT_THAT(Sql(In("new.db"), "PRAGMA integrity_check"), ElementsAre("ok"));
  // The same rows give the same bytes, and the input is as it was.
  ASSERT_TRUE(
      PruneRocfftCache(In("all.db"), In("again.db"), {"gfx942", "gfx90a"}));
  EXPECT_EQ(Bytes(In("new.db")), Bytes(In("again.db")));
  EXPECT_EQ(Bytes(In("all.db")), before);
  EXPECT_LT(Bytes(In("new.db")).size(), before.size() + 8192);
}

TEST_F(RocfftCache, WritesNothingBesideTheInput) {
  MakeCache(In("all #1?.db"));
  Sql(In("all #1?.db"), "PRAGMA journal_mode=WAL; SELECT 1");
  std::filesystem::create_directory(In("out"));
  ASSERT_TRUE(PruneRocfftCache(In("all #1?.db"), In("out/new.db"), {"gfx942"}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()),
                          std::filesystem::directory_iterator()),
            2);
}

TEST_F(RocfftCache, RefusesWhatIsNoSuchDatabase) {
  std::ofstream(In("text.db")) << std::string(5000, 'x');
  EXPECT_EQ(PruneRocfftCache(In("text.db"), In("a"), {"gfx942"}).error().code,
            DiagCode::kBadFormat);
  Sql(In("other.db"), "CREATE TABLE cache_v1 (kernel_name TEXT)");
  EXPECT_THAT(
      PruneRocfftCache(In("other.db"), In("b"), {"gfx942"}).error().message,
      HasSubstr("has no table cache_v1 of the columns kernel_name,arch"));
  // A view would run whatever it says.
  Sql(In("view.db"),
      "CREATE VIEW cache_v1 AS SELECT 'a' AS kernel_name, 'gfx942' AS arch, 1 "
      "AS hip_version, x'00' AS generator_sum, x'00' AS code, 1 AS timestamp");
  EXPECT_FALSE(PruneRocfftCache(In("view.db"), In("c"), {"gfx942"}));
  EXPECT_FALSE(PruneRocfftCache(In("nothing.db"), In("d"), {"gfx942"}));
  EXPECT_FALSE(std::filesystem::exists(In("nothing.db")));
}

TEST_F(RocfftCache, ACutFileIsAnErrorNotACrash) {
  MakeCache(In("all.db"));
  const auto size = std::filesystem::file_size(In("all.db"));
  for (const std::uintmax_t cut :
       {size - 4096, size / 2, std::uintmax_t{4096}}) {
    std::filesystem::copy_file(
        In("all.db"), In("cut.db"),
        std::filesystem::copy_options::overwrite_existing);
    std::filesystem::resize_file(In("cut.db"), cut);
    const auto pruned = PruneRocfftCache(In("cut.db"), In("e"), {"gfx942"});
    ASSERT_FALSE(pruned) << cut;
    EXPECT_EQ(pruned.error().where.file, In("cut.db"));
    std::filesystem::remove(In("e"));
  }
}

TEST(IsRocfftCache, IsTheOneForAllTargets) {
  EXPECT_TRUE(IsRocfftCache("lib/rocfft/rocfft_kernel_cache.db"));
  EXPECT_TRUE(IsRocfftCache("rocfft_kernel_cache.db"));
  EXPECT_FALSE(IsRocfftCache("lib/rocfft_kernel_cache_gfx942.db"));
}

}  // namespace
}  // namespace cerberus::packager
