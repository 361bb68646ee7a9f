// The table: what is exported, and what cuGetProcAddress answers.
#include "runtime-stub/api/dispatch.h"

#include <dlfcn.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "driver.h"

namespace cerberus::stub {
namespace {

using ::testing::HasSubstr;

struct Row {
  std::string symbol;
  std::string name;
  int version;
  std::string status;
};

const std::vector<Row>& Rows() {
  static const auto& rows = *new std::vector<Row>{
#define CUDA_API(symbol, name, version, status, context, signature, note) \
  {#symbol, #name, version, #status},
#define CUDA_API_PER_THREAD(symbol, base, name, version, status) \
  {#symbol, #name, version, #status},
#include "runtime-stub/api/cuda_api.def"
#undef CUDA_API_PER_THREAD
#undef CUDA_API
  };
  return rows;
}

std::string StatusOf(const std::string& symbol) {
  for (const Row& row : Rows()) {
    if (row.symbol == symbol) return row.status;
  }
  return "not exported";
}

CUresult GetProc(const char* name, int version, cuuint64_t flags,
                 void** function) {
  return CU(cuGetProcAddress_v2)(name, function, version, flags, nullptr);
}

// 723 functions: those of CUDA 13.5's headers, with all their versions, but for
// one of Windows.
TEST(Exports, AreThoseOfCuda13) {
  EXPECT_EQ(Rows().size(), 723u);
  std::set<std::string> symbols;
  for (const Row& row : Rows()) {
    EXPECT_TRUE(symbols.insert(row.symbol).second) << row.symbol;
    EXPECT_NE(DriverSymbol(row.symbol.c_str()), nullptr) << row.symbol;
  }
}

TEST(Exports, HideEverythingElse) {
  void* library = dlopen(STUB, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  for (const char* name :
       {"ZSTD_decompress", "XXH3_64bits", "LZ4_versionNumber",
        "cerberus_slot_cuInit", "_ZdlPv"}) {
    void* found = dlsym(library, name);
    if (found == nullptr) continue;
    Dl_info info;
    ASSERT_NE(dladdr(found, &info), 0);
    EXPECT_EQ(std::string(info.dli_fname).find("libcuda"), std::string::npos)
        << name;
  }
}

#ifdef CHECK_GLIBC
// The stub and its linker go to machines with glibc 2.28 and up, and to ones
// that have none of Debian's libraries.
TEST(Exports, NeedNoNewGlibcAndNoOtherLibrary) {
  for (const std::string path : {STUB, NVML, NVJITLINK_12, NVJITLINK_13}) {
    std::ifstream file(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    constexpr std::string_view kPrefix = "GLIBC_2.";
    int versions = 0;
    for (std::size_t at = 0;
         (at = bytes.find(kPrefix, at)) != std::string::npos;) {
      at += kPrefix.size();
      const int minor = std::atoi(bytes.c_str() + at);
      EXPECT_LE(minor, 28) << path;
      ++versions;
    }
    EXPECT_GT(versions, 0) << path;
#ifdef NDEBUG
    EXPECT_LE(bytes.size(), std::size_t{2} << 20) << path;
#endif
    const std::string needed = RunCommand("readelf -d " + path).output;
    for (const char* library :
         {"libstdc++", "libgcc_s", "zstd", "lz4", "xxhash", "fmt", "LLVM"}) {
      EXPECT_EQ(needed.find(library), std::string::npos) << path << library;
    }
  }
}
#endif

TEST(Exports, UnsupportedOnesRefuseByName) {
  StderrCapture capture;
  auto* function = reinterpret_cast<CUresult (*)(void*, void*)>(
      DriverSymbol("cuGLGetDevices"));
  EXPECT_EQ(function(nullptr, nullptr), CUDA_ERROR_NOT_SUPPORTED);
  EXPECT_THAT(capture.Text(), HasSubstr("cuGLGetDevices is not supported"));
}

// Requests of real cudarts, 11.7 to 13.5, with the symbol that has the ABI
// they expect (from the PFN typedefs of cudaTypedefs.h).
TEST(GetProcAddress, AnswersEveryRequestOfCudart) {
  std::ifstream file(REQUESTS);
  ASSERT_TRUE(file.is_open());
  std::string line;
  int requests = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream columns(line);
    std::string name, symbol;
    int version = 0;
    cuuint64_t flags = 0;
    ASSERT_TRUE(columns >> name >> version >> flags >> symbol) << line;
    ++requests;
    void* function = nullptr;
    const CUresult result = GetProc(name.c_str(), version, flags, &function);
    const std::string status = StatusOf(symbol);
    if (status == "FORWARD" || status == "IMPL") {
      EXPECT_EQ(result, CUDA_SUCCESS) << line;
      // The function behind the export of that name, and no other.
      void* slot = nullptr;
      for (const ApiRow& row : ApiTable()) {
        if (row.symbol == symbol) slot = *row.slot;
      }
      void* own = nullptr;
      EXPECT_EQ(FindProc(name.c_str(), version, flags == 2, &own),
                ProcLookup::kFound);
      EXPECT_EQ(own, slot) << line;
    } else {
      EXPECT_EQ(result, CUDA_ERROR_NOT_FOUND) << line;
      EXPECT_EQ(function, nullptr) << line;
    }
  }
  EXPECT_GT(requests, 500);
}

TEST(GetProcAddress, Version11AsksForTheFourArgumentForm) {
  void* v1 = nullptr;
  void* v2 = nullptr;
  EXPECT_EQ(GetProc("cuGetProcAddress", 11030, 0, &v1), CUDA_SUCCESS);
  EXPECT_EQ(GetProc("cuGetProcAddress", 12000, 0, &v2), CUDA_SUCCESS);
  EXPECT_NE(v1, v2);
  // Called with four arguments, the first must not touch a fifth.
  using V1 = CUresult (*)(const char*, void**, int, cuuint64_t);
  void* function = nullptr;
  EXPECT_EQ(reinterpret_cast<V1>(v1)("cuInit", &function, 2000, 0),
            CUDA_SUCCESS);
  EXPECT_NE(function, nullptr);
}

TEST(GetProcAddress, SaysWhyThereIsNone) {
  struct Case {
    const char* name;
    int version;
    int status;
  };
  for (const Case& c : {Case{"cuInit", 2000, 0}, Case{"cuNoSuch", 13000, 1},
                        Case{"", 0, 1}, Case{"cuLibraryLoadData", 11080, 2},
                        Case{"cuFuncGetAttribute", 2000, 0},
                        Case{"cuFuncSetAttribute", 2000, 0},
                        Case{"cuCoredumpGetAttribute", 13000, 1}}) {
    void* function = &function;
    int status = -1;
    const CUresult result =
        CU(cuGetProcAddress_v2)(c.name, &function, c.version, 0, &status);
    EXPECT_EQ(status, c.status) << c.name;
    EXPECT_EQ(result, CUDA_SUCCESS) << c.name;
    EXPECT_EQ(function != nullptr, c.status == 0) << c.name;
    EXPECT_EQ(CU(cuGetProcAddress_v2)(c.name, &function, c.version, 0, nullptr),
              c.status == 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND)
        << c.name;
  }
  void* function = nullptr;
  EXPECT_EQ(GetProc("cuInit", 13000, 3, &function), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(GetProc(nullptr, 13000, 0, &function), CUDA_ERROR_INVALID_VALUE);
}

// The page is the record of a long run: for each implemented function, and for
// its per-thread variant, a test that fails if it does nothing, or why there
// can be none. A new function needs one (docs/testing.md).
TEST(Exports, EachHasATestThatNoticesIfItDoesNothing) {
  std::map<std::string, std::string> record;
  std::ifstream file(PAGE);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    for (std::size_t at = line.npos, end;
         (end = line.find(" |", at + 1)) != line.npos; at = end) {
      cells.push_back(line.substr(std::min(end, at + 3), end - at - 3));
    }
    ASSERT_EQ(cells.size(), 5u) << line;
    const std::string symbol = cells[0].substr(1, cells[0].size() - 2);
    const std::size_t both = cells[4].find("; ");
    record[symbol] = cells[4].substr(0, both);
    if (!cells[2].empty()) {
      record[symbol + cells[2].substr(1, cells[2].size() - 2)] =
          both == std::string::npos ? "" : cells[4].substr(both + 2);
    }
  }
  for (const Row& row : Rows()) {
    const std::string test = record[row.symbol];
    if (row.status == "UNSUPPORTED") {
      EXPECT_EQ(test, "") << row.symbol << " is not implemented";
    } else {
      EXPECT_GT(test.size(), 3u)
          << "nothing tests " << row.symbol
          << ": write a test, then tests/tools/noop_coverage.py --only "
          << row.symbol << " --write";
    }
  }
}

// Every per-thread variant does what its base function does, on the thread's
// stream.
TEST_F(DriverTest, PerThreadVariantsUseTheThreadsStream) {
  auto* copy = reinterpret_cast<decltype(&api::cuMemcpyHtoD_v2)>(
      DriverSymbol("cuMemcpyHtoD_v2_ptds"));
  int from = 7, to = 0;
  EXPECT_EQ(copy(reinterpret_cast<CUdeviceptr>(&to), &from, sizeof from),
            CUDA_SUCCESS);
  EXPECT_EQ(to, 7);
  EXPECT_EQ(Fake().calls["hipMemcpy"], 0);
  EXPECT_EQ(Fake().calls["hipMemcpyAsync"], 1);
  EXPECT_EQ(Fake().calls["hipStreamSynchronize"], 1);
  unsigned long long legacy = 0, per_thread = 0;
  auto* get_id = reinterpret_cast<decltype(&api::cuStreamGetId)>(
      DriverSymbol("cuStreamGetId_ptsz"));
  EXPECT_EQ(CU(cuStreamGetId)(nullptr, &legacy), CUDA_SUCCESS);
  EXPECT_EQ(get_id(nullptr, &per_thread), CUDA_SUCCESS);
  EXPECT_NE(legacy, per_thread);
}

}  // namespace
}  // namespace cerberus::stub
