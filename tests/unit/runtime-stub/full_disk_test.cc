// A folder of compiled code in which nothing more can be written: as on a full
// disk, a write there takes some bytes and the next one fails.
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "emulated.h"
#include "tests/unit/temp_folder.h"

namespace cerberus::stub {
namespace {

namespace fs = std::filesystem;

class FullDiskTest : public EmulatedTest {
 protected:
  void TearDown() override {
    setenv("CUDA_CACHE_PATH", CACHE, 1);
    EmulatedTest::TearDown();
  }

  // Compiles a text of its own, and what its kernel makes of 1 by adding 2.
  int Run(int number) {
    const std::string ptx = "// " + std::to_string(number) + "\n" + AddPtx();
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    EXPECT_EQ(CU(cuModuleLoadData)(&module, ptx.c_str()), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuModuleGetFunction)(&function, module, "add"), CUDA_SUCCESS);
    CUdeviceptr ints = Ints(1);
    int by = 2;
    void* params[] = {&ints, &by};
    EXPECT_EQ(CU(cuLaunchKernel)(function, 1, 1, 1, kThreads, 1, 1, 0, nullptr,
                                 params, nullptr),
              CUDA_SUCCESS);
    const int value = ValueOf(ints);
    EXPECT_EQ(CU(cuMemFree_v2)(ints), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuModuleUnload)(module), CUDA_SUCCESS);
    return value;
  }
};

TEST_F(FullDiskTest, KernelsRunAndNothingPartialIsLeft) {
  const TempFolder folder;
  setenv("CUDA_CACHE_PATH", (folder.path() + "/roomy").c_str(), 1);
  EXPECT_EQ(Run(1), 3);
  const fs::directory_iterator entries(folder.path() + "/roomy");
  ASSERT_NE(entries, fs::directory_iterator());
  const std::uintmax_t entry = entries->file_size();

  // Files may have one byte less than an entry. The compiler's output, which
  // is an entry without its header, is a file as well.
  setenv("CUDA_CACHE_PATH", (folder.path() + "/full").c_str(), 1);
  rlimit usual = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  const rlimit limit = {entry - 1, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::testing::internal::CaptureStderr();
  // The signal of a file that grows too large must not end the program.
  const int values[] = {Run(2), Run(3), Run(4)};
  const std::string said = ::testing::internal::GetCapturedStderr();
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);

  EXPECT_THAT(values, ::testing::Each(3));
  const std::size_t first = said.find("jit cache: ");
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_NE(said.find("File too large", first), std::string::npos) << said;
  EXPECT_EQ(said.find("jit cache: ", first + 1), std::string::npos) << said;
  EXPECT_TRUE(fs::is_empty(folder.path() + "/full"));
  // With room again it is used again.
  EXPECT_EQ(Run(5), 3);
  EXPECT_FALSE(fs::is_empty(folder.path() + "/full"));
}

}  // namespace
}  // namespace cerberus::stub
