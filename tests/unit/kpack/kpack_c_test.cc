// The C API as a program of ROCm sees it: through the shared library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "rocm_kpack/kpack.h"
#include "tests/unit/kpack/archive_builder.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::kpack {
namespace {

using testing::ElementsAre;

class KpackC : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& bytes) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  std::string WriteGood(const std::string& name) {
    return Write(
        name, ZstdArchive({Frame("one"), Frame("two")},
                          mp::Map({{"p#1", mp::Map({{"gfx1201", Row(1, 3)}})},
                                   {"p#0", mp::Map({{"gfx1100", Row(0, 3)}})}}),
                          {"gfx1201", "gfx1100"}));
  }
  const TempFolder temporary_;
  const std::string folder_ = temporary_.path();
};

TEST_F(KpackC, OneArchive) {
  kpack_archive_t archive = nullptr;
  ASSERT_EQ(kpack_open(WriteGood("a.kpack").c_str(), &archive), KPACK_SUCCESS);
  size_t count = 0;
  EXPECT_EQ(kpack_get_architecture_count(archive, &count), KPACK_SUCCESS);
  EXPECT_EQ(count, 2u);
  const char* text = nullptr;
  EXPECT_EQ(kpack_get_architecture(archive, 0, &text), KPACK_SUCCESS);
  EXPECT_STREQ(text, "gfx1201");  // the archive's order
  EXPECT_EQ(kpack_get_architecture(archive, 2, &text),
            KPACK_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kpack_get_binary_count(archive, &count), KPACK_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(kpack_get_binary(archive, 0, &text), KPACK_SUCCESS);
  EXPECT_STREQ(text, "p#0");  // sorted
  EXPECT_EQ(kpack_get_binary(archive, 2, &text), KPACK_ERROR_INVALID_ARGUMENT);

  void* data = nullptr;
  size_t size = 0;
  ASSERT_EQ(kpack_get_kernel(archive, "p#1", "gfx1201", &data, &size),
            KPACK_SUCCESS);
  EXPECT_EQ(std::string(static_cast<char*>(data), size), "two");
  kpack_free_kernel(data);
  EXPECT_EQ(kpack_get_kernel(archive, "p#1", "gfx1100", &data, &size),
            KPACK_ERROR_KERNEL_NOT_FOUND);
  kpack_close(archive);
  kpack_close(nullptr);
}

TEST_F(KpackC, OpenCodes) {
  const std::string cut = Header(64) + "\x81";
  struct {
    const char* what;
    std::string path;
    kpack_error_t code;
  } const cases[] = {
      {"missing", folder_ + "/none", KPACK_ERROR_FILE_NOT_FOUND},
      {"a folder", folder_, KPACK_ERROR_IO_ERROR},
      {"empty", Write("empty", ""), KPACK_ERROR_IO_ERROR},
      {"text", Write("text", "text, more than sixteen bytes of it"),
       KPACK_ERROR_INVALID_FORMAT},
      {"version", Write("version", Header(64, 9) + "\x80"),
       KPACK_ERROR_UNSUPPORTED_VERSION},
      {"table", Write("table", cut), KPACK_ERROR_MSGPACK_PARSE_FAILED},
  };
  for (const auto& c : cases) {
    kpack_archive_t archive = nullptr;
    EXPECT_EQ(kpack_open(c.path.c_str(), &archive), c.code) << c.what;
    EXPECT_EQ(archive, nullptr);
  }
  EXPECT_EQ(kpack_open(nullptr, nullptr), KPACK_ERROR_INVALID_ARGUMENT);
}

TEST_F(KpackC, EnumerateStopsWhenTold) {
  const std::string path = WriteGood("a.kpack");
  std::vector<std::string> seen;
  const auto all = [](const char* arch, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(arch);
    return true;
  };
  const auto first = [](const char* arch, void* user) {
    static_cast<std::vector<std::string>*>(user)->push_back(arch);
    return false;
  };
  EXPECT_EQ(kpack_enumerate_architectures(path.c_str(), all, &seen),
            KPACK_SUCCESS);
  EXPECT_THAT(seen, ElementsAre("gfx1201", "gfx1100"));
  seen.clear();
  EXPECT_EQ(kpack_enumerate_architectures(path.c_str(), first, &seen),
            KPACK_SUCCESS);
  EXPECT_THAT(seen, ElementsAre("gfx1201"));
}

TEST_F(KpackC, LoadByMarker) {
  WriteGood("t_gfx1100.kpack");
  const std::string marker = mp::Map(
      {{"kpack_search_paths", mp::Array({mp::Str("t_@GFXARCH@.kpack")})},
       {"kernel_name", mp::Str("p")}});
  const std::string binary = folder_ + "/app";
  kpack_cache_t cache = nullptr;
  ASSERT_EQ(kpack_cache_create(&cache), KPACK_SUCCESS);
  void* code = nullptr;
  size_t size = 0;
  const char* const arches[] = {nullptr, "gfx1030", "gfx1100:xnack-"};
  ASSERT_EQ(kpack_load_code_object(cache, marker.data(), binary.c_str(), 0,
                                   arches, 3, &code, &size),
            KPACK_SUCCESS);
  EXPECT_EQ(std::string(static_cast<char*>(code), size), "one");
  kpack_free_code_object(code);
  EXPECT_EQ(kpack_load_code_object(cache, marker.data(), binary.c_str(), 7,
                                   arches, 3, &code, &size),
            KPACK_ERROR_KERNEL_NOT_FOUND);
  EXPECT_EQ(kpack_load_code_object(cache, marker.data(), binary.c_str(), 0,
                                   arches, 2, &code, &size),
            KPACK_ERROR_ARCHIVE_NOT_FOUND);
  EXPECT_EQ(kpack_load_code_object(cache, marker.data(), binary.c_str(), 0,
                                   arches, 0, &code, &size),
            KPACK_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(kpack_load_code_object(cache, "\x80", binary.c_str(), 0, arches, 3,
                                   &code, &size),
            KPACK_ERROR_INVALID_METADATA);
  kpack_cache_destroy(cache);
  kpack_cache_destroy(nullptr);
}

// The marker of a binary may stand at the very end of what is mapped.
TEST_F(KpackC, MarkerAtTheEndOfMemory) {
  WriteGood("t.kpack");
  const std::string marker =
      mp::Map({{"kpack_search_paths", mp::Array({mp::Str("t.kpack")})},
               {"kernel_name", mp::Str("p")}});
  const size_t page = 65536;
  char* memory =
      static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(memory + page, page, PROT_NONE), 0);
  char* at = memory + page - marker.size();
  std::memcpy(at, marker.data(), marker.size());
  kpack_cache_t cache = nullptr;
  ASSERT_EQ(kpack_cache_create(&cache), KPACK_SUCCESS);
  void* code = nullptr;
  size_t size = 0;
  const char* const arches[] = {"gfx1100"};
  EXPECT_EQ(kpack_load_code_object(cache, at, (folder_ + "/app").c_str(), 0,
                                   arches, 1, &code, &size),
            KPACK_SUCCESS);
  kpack_free_code_object(code);
  kpack_cache_destroy(cache);
  munmap(memory, 2 * page);
}

TEST_F(KpackC, DiscoverBinaryPath) {
  char path[4096];
  size_t offset = 0;
  static const char here[] = "in this program";
  ASSERT_EQ(kpack_discover_binary_path(here, path, sizeof path, &offset),
            KPACK_SUCCESS);
  EXPECT_EQ(path, std::filesystem::read_symlink("/proc/self/exe").string());
  std::ifstream self(path, std::ios::binary);
  self.seekg(static_cast<std::streamoff>(offset));
  std::string text(sizeof here - 1, '\0');
  self.read(text.data(), static_cast<std::streamsize>(text.size()));
  EXPECT_EQ(text, here);

  EXPECT_EQ(kpack_discover_binary_path(here, path, 3, nullptr),
            KPACK_ERROR_INVALID_ARGUMENT);
  int on_the_stack = 0;
  EXPECT_EQ(
      kpack_discover_binary_path(&on_the_stack, path, sizeof path, nullptr),
      KPACK_ERROR_PATH_DISCOVERY_FAILED);
}

}  // namespace
}  // namespace cerberus::kpack
