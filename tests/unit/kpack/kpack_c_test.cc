// The C API as a program of ROCm sees it: through the shared library.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
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

// As a program holds it: the loader knows how much can be read.
TEST_F(KpackC, MarkerInAProgram) {
  WriteGood("t.kpack");
  const std::string marker =
      mp::Map({{"kpack_search_paths", mp::Array({mp::Str("t.kpack")})},
               {"kernel_name", mp::Str("p")}});
  static char in_program[256];
  ASSERT_LE(marker.size(), sizeof in_program);
  std::memcpy(in_program, marker.data(), marker.size());
  kpack_cache_t cache = nullptr;
  ASSERT_EQ(kpack_cache_create(&cache), KPACK_SUCCESS);
  void* code = nullptr;
  size_t size = 0;
  const char* const arches[] = {"gfx1100"};
  EXPECT_EQ(
      kpack_load_code_object(cache, in_program, (folder_ + "/app").c_str(), 0,
                             arches, 1, &code, &size),
      KPACK_SUCCESS);
  EXPECT_EQ(std::string(static_cast<char*>(code), size), "one");
  kpack_free_code_object(code);
  kpack_cache_destroy(cache);
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

std::vector<std::string> Names(const char** names, size_t count) {
  EXPECT_EQ(names[count], nullptr);
  return std::vector<std::string>(names, names + count);
}

TEST_F(KpackC, Lists) {
  const std::string path = Write(
      "a.kpack",
      PlainArchive(
          {"one", "two"},
          mp::Map({{"lib/x.so#0", mp::Map({{"gfx1100", Row(0, 3)}})},
                   {"lib/x.so#1",
                    mp::Map({{"gfx1100", Row(1, 3)}, {"gfx1201", Row(1, 3)}})},
                   {"lib/x.so.2#0", mp::Map({{"gfx1100", Row(0, 3)}})}}),
          {"gfx1201", "gfx1100"}));
  kpack_archive_t archive = nullptr;
  ASSERT_EQ(kpack_open(path.c_str(), &archive), KPACK_SUCCESS);
  const char** names = nullptr;
  size_t count = 0;
  ASSERT_EQ(kpack_get_architectures(archive, &names, &count), KPACK_SUCCESS);
  EXPECT_THAT(Names(names, count), ElementsAre("gfx1201", "gfx1100"));

  const auto kernels = [&](const char* binary, const char* arch) {
    EXPECT_EQ(kpack_list_kernels(archive, binary, arch, &names, &count),
              KPACK_SUCCESS);
    return Names(names, count);
  };
  EXPECT_THAT(kernels(nullptr, "gfx1100"),
              ElementsAre("lib/x.so#0", "lib/x.so#1", "lib/x.so.2#0"));
  const char** const first = names;
  EXPECT_THAT(kernels("lib/x.so", "gfx1100"),
              ElementsAre("lib/x.so#0", "lib/x.so#1"));
  EXPECT_THAT(kernels("lib/x.so#1", "gfx1201"), ElementsAre("lib/x.so#1"));
  EXPECT_THAT(kernels("lib/x", "gfx1100"), ElementsAre());
  EXPECT_THAT(kernels(nullptr, "gfx90a"), ElementsAre());
  // An earlier answer is still there.
  EXPECT_STREQ(first[2], "lib/x.so.2#0");
  kernels(nullptr, "gfx1100");
  EXPECT_EQ(names, first);
  kpack_close(archive);
}

TEST_F(KpackC, Metadata) {
  const std::string row = mp::Map(
      {{"type", mp::Str("hsaco")},
       {"ordinal", mp::Int(0)},
       {"original_size", mp::Int(3)},
       {"metadata",
        mp::Map({{"a\"b", mp::Array({mp::Int(300), "\xff", "\xc0", "\xc3"})},
                 {"bin", std::string("\xc4\x02\x00\xab", 4)},
                 {"bad", mp::Str("\xff\n")},
                 {"half", "\xcb" + mp::Big(0x3fe0000000000000, 8)},
                 {"none", "\xcb" + mp::Big(0x7ff8000000000000, 8)}})}});
  const std::string path = Write(
      "a.kpack",
      PlainArchive({"one"},
                   mp::Map({{"p#0", mp::Map({{"gfx1100", row}})},
                            {"p#1", mp::Map({{"gfx1100", Row(0, 3)}})}})));
  kpack_archive_t archive = nullptr;
  ASSERT_EQ(kpack_open(path.c_str(), &archive), KPACK_SUCCESS);
  const char* json = nullptr;
  size_t size = 0;
  ASSERT_EQ(kpack_get_kernel_metadata(archive, "p#0", "gfx1100", &json, &size),
            KPACK_SUCCESS);
  EXPECT_STREQ(json, R"({"type":"hsaco","original_size":3,"stored_size":3,)"
                     R"("metadata":{"a\"b":[300,-1,null,true],"bin":"00ab",)"
                     R"("bad":"\ufffd\u000a","half":0.5,"none":null}})");
  EXPECT_EQ(size, std::strlen(json));
  ASSERT_EQ(kpack_get_kernel_metadata(archive, "p#1", "gfx1100", &json, &size),
            KPACK_SUCCESS);
  EXPECT_STREQ(json, R"({"type":"hsaco","original_size":3,"stored_size":3,)"
                     R"("metadata":{}})");
  EXPECT_EQ(kpack_get_kernel_metadata(archive, "p#2", "gfx1100", &json, &size),
            KPACK_ERROR_KERNEL_NOT_FOUND);
  kpack_close(archive);
}

TEST_F(KpackC, ViewsOfPlainBytesAreTheFiles) {
  const std::string path = Write(
      "a.kpack",
      PlainArchive({"one", "", "three"},
                   mp::Map({{"p#0", mp::Map({{"gfx1100", Row(0, 3)}})},
                            {"p#1", mp::Map({{"gfx1100", Row(1, 0)}})},
                            {"p#2", mp::Map({{"gfx1100", Row(2, 5)}})},
                            {"q#0", mp::Map({{"gfx1100", Row(0, 3)}})}})));
  kpack_archive_t archive = nullptr;
  ASSERT_EQ(kpack_open(path.c_str(), &archive), KPACK_SUCCESS);
  const auto view = [&](const char* key) {
    const void* data = nullptr;
    size_t size = 99;
    EXPECT_EQ(kpack_view_kernel(archive, key, "gfx1100", &data, &size),
              KPACK_SUCCESS)
        << kpack_get_last_error(archive);
    return std::string_view(static_cast<const char*>(data), size);
  };
  const std::string_view one = view("p#0");
  const std::string_view three = view("p#2");
  EXPECT_EQ(one, "one");
  EXPECT_EQ(view("p#1"), "");
  EXPECT_EQ(three, "three");
  // Where they stand in the file: no copies.
  EXPECT_EQ(three.data() - one.data(), 3);
  EXPECT_EQ(view("q#0").data(), one.data());
  EXPECT_EQ(kpack_release_view(archive, one.data()), KPACK_SUCCESS);
  EXPECT_EQ(kpack_release_view(archive, one.data()), KPACK_SUCCESS);
  EXPECT_EQ(kpack_release_view(archive, one.data()),
            KPACK_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(kpack_get_last_error(archive),
              testing::HasSubstr("kpack_release_view: "));
  EXPECT_EQ(three, "three");
  kpack_close(archive);
}

TEST_F(KpackC, ViewsOfFramesAreUnpackedOnce) {
  kpack_archive_t archive = nullptr;
  ASSERT_EQ(kpack_open(WriteGood("a.kpack").c_str(), &archive), KPACK_SUCCESS);
  const void* first = nullptr;
  const void* second = nullptr;
  size_t size = 0;
  ASSERT_EQ(kpack_view_kernel(archive, "p#0", "gfx1100", &first, &size),
            KPACK_SUCCESS);
  ASSERT_EQ(kpack_view_kernel(archive, "p#0", "gfx1100", &second, &size),
            KPACK_SUCCESS);
  EXPECT_EQ(first, second);
  EXPECT_EQ(kpack_release_view(archive, first), KPACK_SUCCESS);
  EXPECT_EQ(std::memcmp(second, "one", 3), 0);
  EXPECT_EQ(kpack_release_view(archive, second), KPACK_SUCCESS);
  EXPECT_EQ(kpack_view_kernel(archive, "p#9", "gfx1100", &first, &size),
            KPACK_ERROR_KERNEL_NOT_FOUND);
  kpack_close(archive);
}

TEST_F(KpackC, LastErrorIsTheThreadsAndTheArchives) {
  EXPECT_EQ(kpack_open((folder_ + "/missing.kpack").c_str(), nullptr),
            KPACK_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(kpack_get_last_error(nullptr),
               "kpack_open: an argument is NULL, out of range or too small");
  kpack_archive_t bad = nullptr;
  EXPECT_EQ(kpack_open(Write("bad.kpack", "nothing").c_str(), &bad),
            KPACK_ERROR_INVALID_FORMAT);
  EXPECT_THAT(kpack_get_last_error(nullptr),
              testing::HasSubstr("bad.kpack: offset 0x0: is not a kpack"));
  kpack_archive_t a = nullptr;
  kpack_archive_t b = nullptr;
  ASSERT_EQ(kpack_open(WriteGood("a.kpack").c_str(), &a), KPACK_SUCCESS);
  ASSERT_EQ(kpack_open(WriteGood("b.kpack").c_str(), &b), KPACK_SUCCESS);
  void* data = nullptr;
  size_t size = 0;
  EXPECT_EQ(kpack_get_kernel(a, "p#7", "gfx1100", &data, &size),
            KPACK_ERROR_KERNEL_NOT_FOUND);
  EXPECT_THAT(kpack_get_last_error(a),
              testing::HasSubstr("a.kpack: no 'p#7' for gfx1100"));
  EXPECT_STREQ(kpack_get_last_error(b), "");
  std::thread([&] {
    EXPECT_STREQ(kpack_get_last_error(nullptr), "");
    EXPECT_EQ(kpack_get_kernel(a, "other#7", "gfx1100", &data, &size),
              KPACK_ERROR_KERNEL_NOT_FOUND);
  }).join();
  EXPECT_THAT(kpack_get_last_error(nullptr), testing::HasSubstr("'p#7'"));
  kpack_close(a);
  kpack_close(b);
}

}  // namespace
}  // namespace cerberus::kpack
