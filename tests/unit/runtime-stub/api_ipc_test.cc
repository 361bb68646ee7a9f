// Memory and events of another process: this program again, started as the
// one that has them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "emulated.h"

extern char** environ;

namespace cerberus::stub {
namespace {

constexpr char kPipes[] = "CERBERUS_TEST_PIPES";  // "to read from:to write to"

struct Handles {
  CUipcMemHandle memory;
  CUipcEventHandle event;
  CUmemPoolPtrExportData pooled;
};

template <typename T>
bool ReadFrom(int file, T* out) {
  return read(file, out, sizeof *out) == sizeof *out;
}
template <typename T>
bool WriteTo(int file, const T& value) {
  return write(file, &value, sizeof value) == sizeof value;
}

class IpcTest : public EmulatedTest {};

// The other process, which waits for a byte at each step.
TEST_F(IpcTest, DISABLED_Owner) {
  int from = -1, to = -1;
  ASSERT_EQ(std::sscanf(std::getenv(kPipes), "%d:%d", &from, &to), 2);
  const CUdeviceptr ints = Ints(7), pooled = Ints(8);
  CUstream stream = nullptr;
  CUevent event = nullptr;
  ASSERT_EQ(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuEventCreate)(&event,
                              CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING),
            CUDA_SUCCESS);
  Handles handles = {};
  char go = 0;
  {
    const Gate gate(stream);
    ASSERT_EQ(CU(cuEventRecord)(event, stream), CUDA_SUCCESS);
    ASSERT_EQ(CU(cuIpcGetEventHandle)(&handles.event, event), CUDA_SUCCESS);
    ASSERT_TRUE(WriteTo(to, handles));
    ASSERT_TRUE(ReadFrom(from, &go));
  }
  ASSERT_EQ(CU(cuIpcGetMemHandle)(&handles.memory, ints), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemPoolExportPointer)(&handles.pooled, pooled), CUDA_SUCCESS);
  ASSERT_TRUE(WriteTo(to, handles));
  ASSERT_TRUE(ReadFrom(from, &go));
  EXPECT_EQ(ValueOf(ints), 9);
}

TEST_F(IpcTest, WhatAnotherProcessOwns) {
  int there[2], back[2];
  ASSERT_EQ(pipe(there), 0);
  ASSERT_EQ(pipe(back), 0);
  // Both ends close when either process dies, so that neither waits for ever.
  for (int file : {there[1], back[0]}) fcntl(file, F_SETFD, FD_CLOEXEC);
  setenv(kPipes,
         (std::to_string(there[0]) + ":" + std::to_string(back[1])).c_str(), 1);
  char self[] = "/proc/self/exe";
  char filter[] = "--gtest_filter=IpcTest.DISABLED_Owner";
  char disabled[] = "--gtest_also_run_disabled_tests";
  char* arguments[] = {self, filter, disabled, nullptr};
  pid_t owner = -1;
  ASSERT_EQ(posix_spawn(&owner, self, nullptr, nullptr, arguments, environ), 0);
  close(there[0]);
  close(back[1]);

  Handles handles;
  ASSERT_TRUE(ReadFrom(back[0], &handles));
  CUevent event = nullptr;
  ASSERT_EQ(CU(cuIpcOpenEventHandle)(&event, handles.event), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_ERROR_NOT_READY);
  ASSERT_TRUE(WriteTo(there[1], 'x'));
  ASSERT_TRUE(ReadFrom(back[0], &handles));
  EXPECT_EQ(CU(cuEventQuery)(event), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuEventDestroy_v2)(event), CUDA_SUCCESS);

  CUdeviceptr ints = 0;
  ASSERT_EQ(CU(cuIpcOpenMemHandle)(&ints, handles.memory, 1), CUDA_SUCCESS);
  EXPECT_EQ(ValueOf(ints), 7);
  EXPECT_EQ(CU(cuMemsetD32_v2)(ints, 9, kThreads), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuIpcCloseMemHandle)(ints), CUDA_SUCCESS);
  CUcontext context = nullptr;
  EXPECT_NE(
      CU(cuPointerGetAttribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, ints),
      CUDA_SUCCESS);

  // A pool comes by its descriptor, its allocations by their own data.
  constexpr CUmemAllocationHandleType kFile = 1;
  CUmemPoolProps properties = {};
  properties.allocType = 1;
  properties.handleTypes = kFile;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  CUmemoryPool pool = nullptr, imported = nullptr;
  ASSERT_EQ(CU(cuMemPoolCreate)(&pool, &properties), CUDA_SUCCESS);
  int file = -1;
  ASSERT_EQ(CU(cuMemPoolExportToShareableHandle)(&file, pool, kFile, 0),
            CUDA_SUCCESS);
  ASSERT_EQ(
      CU(cuMemPoolImportFromShareableHandle)(
          &imported, reinterpret_cast<void*>(std::intptr_t{file}), kFile, 0),
      CUDA_SUCCESS);
  EXPECT_EQ(close(file), 0);
  CUdeviceptr pooled = 0;
  ASSERT_EQ(CU(cuMemPoolImportPointer)(&pooled, imported, &handles.pooled),
            CUDA_SUCCESS);
  EXPECT_EQ(ValueOf(pooled), 8);
  EXPECT_EQ(CU(cuMemFreeAsync)(pooled, nullptr), CUDA_SUCCESS);
  EXPECT_EQ(CU(cuCtxSynchronize)(), CUDA_SUCCESS);
  ASSERT_EQ(CU(cuMemPoolImportPointer)(&pooled, imported, &handles.pooled),
            CUDA_SUCCESS);
  EXPECT_EQ(CU(cuMemFree_v2)(pooled), CUDA_SUCCESS);
  EXPECT_NE(
      CU(cuPointerGetAttribute)(&context, CU_POINTER_ATTRIBUTE_CONTEXT, pooled),
      CUDA_SUCCESS);
  for (CUmemoryPool each : {imported, pool}) {
    EXPECT_EQ(CU(cuMemPoolDestroy)(each), CUDA_SUCCESS);
  }

  ASSERT_TRUE(WriteTo(there[1], 'x'));
  int status = -1;
  ASSERT_EQ(waitpid(owner, &status, 0), owner);
  EXPECT_EQ(status, 0);
  close(there[1]);
  close(back[0]);
}

}  // namespace
}  // namespace cerberus::stub
