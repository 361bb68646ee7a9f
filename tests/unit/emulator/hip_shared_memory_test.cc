// Virtual memory management; memory and events shared between processes.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/emulator/hip_face.h"

namespace {

// The first recording is the parent's and has not been reached yet; this
// process's stream waits for it, and then records once more itself.
int RecordAsOtherProcess(hipEvent_t event) {
  if (hipEventQuery(event) != hipErrorNotReady) return 20;
  if (write(1, "x", 1) != 1) return 21;  // the parent may go on
  if (hipStreamWaitEvent(nullptr, event, 0) != hipSuccess) return 22;
  if (hipStreamSynchronize(nullptr) != hipSuccess) return 23;
  if (hipEventQuery(event) != hipSuccess) return 24;
  if (hipEventRecord(event, nullptr) != hipSuccess) return 25;
  if (hipEventSynchronize(event) != hipSuccess) return 26;
  return hipEventDestroy(event) == hipSuccess ? 0 : 27;
}

// This program again, in another process: opens the memory whose handle the
// environment holds, adds 1000 to each of its 64 numbers, and ends with 0.
int RunAsOtherProcess(const char* text) {
  hipIpcMemHandle_t handle = {};
  for (std::size_t i = 0; i < sizeof handle.reserved; ++i) {
    const std::string byte(text + 2 * i, 2);
    handle.reserved[i] =
        static_cast<char>(std::strtoul(byte.c_str(), nullptr, 16));
  }
  void* memory = nullptr;
  hipIpcEventHandle_t event_handle;
  std::memcpy(&event_handle, &handle, sizeof handle);
  hipEvent_t event = nullptr;
  if (hipIpcOpenEventHandle(&event, event_handle) == hipSuccess) {
    return RecordAsOtherProcess(event);
  }
  // The same bytes as a pointer of a pool, if the parent shares one.
  hipMemPool_t pool = nullptr;
  if (const char* file = std::getenv("CERBERUS_TEST_IPC_POOL")) {
    if (hipMemPoolImportFromShareableHandle(
            &pool,
            reinterpret_cast<void*>(
                static_cast<std::intptr_t>(std::atoi(file))),
            1, 0) != hipSuccess) {
      return 30;
    }
    if (hipMallocFromPoolAsync(&memory, 16, pool, nullptr) == hipSuccess) {
      return 31;
    }
    if (hipMemPoolImportPointer(&memory, pool, &handle) != hipSuccess) {
      return 32;
    }
    if (hipMemset(memory, 5, 64) != hipSuccess) return 33;
    if (hipFreeAsync(memory, nullptr) != hipSuccess) return 34;
    if (hipStreamSynchronize(nullptr) != hipSuccess) return 35;
    if (hipMemset(memory, 5, 64) == hipSuccess) return 36;
    // hipFree frees it, too.
    if (hipMemPoolImportPointer(&memory, pool, &handle) != hipSuccess) {
      return 38;
    }
    if (hipFree(memory) != hipSuccess) return 39;
    if (hipMemset(memory, 5, 64) == hipSuccess) return 40;
    return hipMemPoolDestroy(pool) == hipSuccess ? 0 : 37;
  }
  if (hipIpcOpenMemHandle(&memory, handle, 1) != hipSuccess) return 10;
  std::vector<int> numbers(64);
  const std::size_t bytes = numbers.size() * sizeof(int);
  if (hipMemcpy(numbers.data(), memory, bytes, hipMemcpyDeviceToHost) !=
      hipSuccess) {
    return 11;
  }
  for (int& number : numbers) number += 1000;
  if (hipMemcpy(memory, numbers.data(), bytes, hipMemcpyHostToDevice) !=
      hipSuccess) {
    return 12;
  }
  // One byte behind the allocation is not part of it.
  if (hipMemset(memory, 0, bytes + 1) == hipSuccess) return 13;
  if (hipFree(memory) == hipSuccess) return 14;
  if (hipIpcCloseMemHandle(memory) != hipSuccess) return 15;
  if (hipIpcCloseMemHandle(memory) == hipSuccess) return 16;
  return 0;
}

[[maybe_unused]] const bool g_other_process = [] {
  const char* text = std::getenv("CERBERUS_TEST_IPC_HANDLE");
  if (text != nullptr) _exit(RunAsOtherProcess(text));
  return false;
}();

// Starts this program as the other process, its output going to `out`.
pid_t StartOther(const char (&handle)[64], int out) {
  std::string text;
  for (const char byte : handle) {
    char two[3];
    std::snprintf(two, sizeof two, "%02x", static_cast<unsigned char>(byte));
    text += two;
  }
  const pid_t child = fork();
  if (child == 0) {
    dup2(out, 1);
    setenv("CERBERUS_TEST_IPC_HANDLE", text.c_str(), 1);
    execl("/proc/self/exe", "other", nullptr);
    _exit(99);
  }
  return child;
}

int EndOfOther(pid_t child) {
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(HipIpc, AnEventOfTwoProcesses) {
  hipEvent_t event = nullptr, plain = nullptr;
  EXPECT_EQ(hipEventCreateWithFlags(&event, hipEventInterprocess),
            hipErrorInvalidValue);  // only without timing
  ASSERT_EQ(hipEventCreateWithFlags(
                &event, hipEventInterprocess | hipEventDisableTiming),
            hipSuccess);
  ASSERT_EQ(hipEventCreateWithFlags(&plain, hipEventDisableTiming), hipSuccess);
  hipIpcEventHandle_t handle;
  EXPECT_EQ(hipIpcGetEventHandle(&handle, plain), hipErrorInvalidHandle);
  ASSERT_EQ(hipIpcGetEventHandle(&handle, event), hipSuccess);
  hipEvent_t own = nullptr;
  EXPECT_EQ(hipIpcOpenEventHandle(&own, handle), hipErrorInvalidContext);
  EXPECT_EQ(hipEventQuery(event), hipSuccess);  // never recorded

  // The recording waits behind a function that waits for the other process.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const auto wait = [](void* end) {
    char byte;
    (void)!read(*static_cast<int*>(end), &byte, 1);
  };
  ASSERT_EQ(hipLaunchHostFunc(nullptr, wait, &ends[0]), hipSuccess);
  ASSERT_EQ(hipEventRecord(event, nullptr), hipSuccess);
  EXPECT_EQ(hipEventQuery(event), hipErrorNotReady);
  const pid_t child = StartOther(handle.reserved, ends[1]);
  EXPECT_EQ(EndOfOther(child), 0);
  EXPECT_EQ(write(ends[1], "x", 1), 1);  // if the other process did not
  // The other's recording is the last.
  EXPECT_EQ(hipEventSynchronize(event), hipSuccess);
  EXPECT_EQ(hipEventQuery(event), hipSuccess);
  EXPECT_EQ(hipEventDestroy(event), hipSuccess);
  EXPECT_EQ(hipEventDestroy(plain), hipSuccess);
  close(ends[0]);
  close(ends[1]);
  hipIpcEventHandle_t none = {};
  EXPECT_EQ(hipIpcOpenEventHandle(&own, none), hipErrorInvalidValue);
}

TEST(HipIpc, AnotherProcessSeesTheSameBytes) {
  std::vector<int> numbers(64);
  const std::size_t bytes = numbers.size() * sizeof(int);
  for (int i = 0; i < 64; ++i) numbers[static_cast<std::size_t>(i)] = i;
  void* memory = nullptr;
  ASSERT_EQ(hipMalloc(&memory, bytes), hipSuccess);
  ASSERT_EQ(hipMemcpy(memory, numbers.data(), bytes, hipMemcpyHostToDevice),
            hipSuccess);
  hipIpcMemHandle_t handle, again;
  ASSERT_EQ(hipIpcGetMemHandle(&handle, memory), hipSuccess);
  ASSERT_EQ(hipIpcGetMemHandle(&again, memory), hipSuccess);
  EXPECT_EQ(std::memcmp(&handle, &again, sizeof handle), 0);
  void* own = nullptr;
  EXPECT_EQ(hipIpcOpenMemHandle(&own, handle, 1), hipErrorInvalidContext);

  EXPECT_EQ(EndOfOther(StartOther(handle.reserved, 1)), 0);
  ASSERT_EQ(hipMemcpy(numbers.data(), memory, bytes, hipMemcpyDeviceToHost),
            hipSuccess);
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(numbers[static_cast<std::size_t>(i)], 1000 + i);
  }
  EXPECT_EQ(hipFree(memory), hipSuccess);
  EXPECT_EQ(hipIpcGetMemHandle(&handle, memory), hipErrorInvalidValue);
}

TEST(HipIpc, APoolOfTwoProcesses) {
  hipMemPoolProps properties = {};
  properties.allocType = 1;
  properties.location = {1, 0};
  hipMemPool_t plain = nullptr, pool = nullptr;
  int file = -1;
  ASSERT_EQ(hipMemPoolCreate(&plain, &properties), hipSuccess);
  EXPECT_EQ(hipMemPoolExportToShareableHandle(&file, plain, 1, 0),
            hipErrorInvalidValue);  // was not made for it
  properties.handleTypes = 1;
  ASSERT_EQ(hipMemPoolCreate(&pool, &properties), hipSuccess);
  ASSERT_EQ(hipMemPoolExportToShareableHandle(&file, pool, 1, 0), hipSuccess);
  void *memory = nullptr, *imported = nullptr;
  ASSERT_EQ(hipMallocFromPoolAsync(&memory, 64, pool, nullptr), hipSuccess);
  hipIpcMemHandle_t data;
  ASSERT_EQ(hipMemPoolExportPointer(&data, memory), hipSuccess);
  EXPECT_EQ(hipMemPoolImportPointer(&imported, pool, &data),
            hipErrorInvalidValue);  // not an imported pool
  const int inherited = dup(file);  // without close-on-exec
  setenv("CERBERUS_TEST_IPC_POOL", std::to_string(inherited).c_str(), 1);
  EXPECT_EQ(EndOfOther(StartOther(data.reserved, 1)), 0);
  unsetenv("CERBERUS_TEST_IPC_POOL");
  close(inherited);
  close(file);
  int word = 0;
  ASSERT_EQ(hipMemcpy(&word, memory, 4, hipMemcpyDeviceToHost), hipSuccess);
  EXPECT_EQ(word, 0x05050505);
  EXPECT_EQ(hipFreeAsync(memory, nullptr), hipSuccess);
  EXPECT_EQ(hipDeviceSynchronize(), hipSuccess);
  EXPECT_EQ(hipMemPoolDestroy(pool), hipSuccess);
  EXPECT_EQ(hipMemPoolDestroy(plain), hipSuccess);
}

TEST(HipIpc, HandlesThatAreNone) {
  hipIpcMemHandle_t handle = {};
  void* memory = nullptr;
  EXPECT_EQ(hipIpcOpenMemHandle(&memory, handle, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipIpcCloseMemHandle(&handle), hipErrorInvalidValue);
  int on_host = 0;
  EXPECT_EQ(hipIpcGetMemHandle(&handle, &on_host), hipErrorInvalidValue);
}

class HipVirtual : public testing::Test {
 protected:
  void SetUp() override {
    properties_.type = 1;
    properties_.handleTypes = 1;
    properties_.location = {1, 0};
    access_.location = {1, 0};
    access_.flags = 3;
    ASSERT_EQ(hipMemGetAllocationGranularity(&unit_, &properties_, 0),
              hipSuccess);
    ASSERT_GT(unit_, 0u);
    int supported = 0;
    ASSERT_EQ(
        hipDeviceGetAttribute(
            &supported, hipDeviceAttributeVirtualMemoryManagementSupported, 0),
        hipSuccess);
    ASSERT_EQ(supported, 1);
  }
  hipMemAllocationProp properties_ = {};
  hipMemAccessDesc access_ = {};
  std::size_t unit_ = 0;
};

TEST_F(HipVirtual, AVectorThatGrowsAtItsAddress) {
  void* base = nullptr;
  ASSERT_EQ(hipMemAddressReserve(&base, 4 * unit_, 0, nullptr, 0), hipSuccess);
  char* const bytes = static_cast<char*>(base);
  EXPECT_EQ(hipMemset(base, 1, 1), hipErrorInvalidValue);  // nothing is mapped
  for (std::size_t i = 0; i < 2; ++i) {
    hipMemGenericAllocationHandle_t memory = nullptr;
    ASSERT_EQ(hipMemCreate(&memory, unit_, &properties_, 0), hipSuccess);
    ASSERT_EQ(hipMemMap(bytes + i * unit_, unit_, 0, memory, 0), hipSuccess);
    // The mapping keeps the memory.
    ASSERT_EQ(hipMemRelease(memory), hipSuccess);
  }
  EXPECT_EQ(hipMemset(base, 1, 1), hipErrorInvalidValue);  // no access yet
  ASSERT_EQ(hipMemSetAccess(base, 2 * unit_, &access_, 1), hipSuccess);

  hipModule_t module = nullptr;
  hipFunction_t add_one = nullptr;
  ASSERT_EQ(hipModuleLoad(&module, KERNELS), hipSuccess);
  ASSERT_EQ(hipModuleGetFunction(&add_one, module, "AddOne"), hipSuccess);
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(hipMemsetD32(bytes + i * unit_, 41, unit_ / 4), hipSuccess);
    void* data = bytes + i * unit_;
    int count = static_cast<int>(unit_ / 4);
    void* arguments[] = {&data, &count};
    ASSERT_EQ(
        hipModuleLaunchKernel(add_one, static_cast<unsigned>(count + 63) / 64,
                              1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr),
        hipSuccess);
  }
  ASSERT_EQ(hipDeviceSynchronize(), hipSuccess);
  std::vector<int> back(unit_ / 4);
  ASSERT_EQ(hipMemcpy(back.data(), bytes + unit_, unit_, hipMemcpyDeviceToHost),
            hipSuccess);
  EXPECT_EQ(back.front(), 42);
  EXPECT_EQ(back.back(), 42);

  unsigned long long flags = 0;
  ASSERT_EQ(hipMemGetAccess(&flags, &access_.location, bytes + unit_ + 5),
            hipSuccess);
  EXPECT_EQ(flags, 3u);
  EXPECT_EQ(hipFree(base), hipErrorInvalidValue);
  EXPECT_EQ(hipMemAddressFree(base, 4 * unit_), hipErrorInvalidValue);
  EXPECT_EQ(hipMemUnmap(bytes + 1, unit_), hipErrorInvalidValue);
  EXPECT_EQ(hipMemUnmap(base, 2 * unit_), hipSuccess);
  EXPECT_EQ(hipMemset(base, 1, 1), hipErrorInvalidValue);
  EXPECT_EQ(hipMemAddressFree(base, 4 * unit_), hipSuccess);
  EXPECT_EQ(hipModuleUnload(module), hipSuccess);
}

TEST_F(HipVirtual, OneMemoryAtTwoAddresses) {
  void* base = nullptr;
  ASSERT_EQ(
      hipMemAddressReserve(&base, 2 * unit_, std::size_t{1} << 21, nullptr, 0),
      hipSuccess);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(base) % (1u << 21), 0u);
  char* const bytes = static_cast<char*>(base);
  hipMemGenericAllocationHandle_t memory = nullptr, imported = nullptr;
  ASSERT_EQ(hipMemCreate(&memory, unit_, &properties_, 0), hipSuccess);
  int file = -1;
  ASSERT_EQ(hipMemExportToShareableHandle(&file, memory, 1, 0), hipSuccess);
  ASSERT_EQ(hipMemImportFromShareableHandle(
                &imported,
                reinterpret_cast<void*>(static_cast<std::intptr_t>(file)), 1),
            hipSuccess);
  close(file);
  ASSERT_EQ(hipMemMap(bytes, unit_, 0, memory, 0), hipSuccess);
  EXPECT_EQ(hipMemMap(bytes, unit_, 0, memory, 0), hipErrorInvalidValue);
  EXPECT_EQ(hipMemMap(bytes + unit_, unit_, unit_, memory, 0),
            hipErrorInvalidValue);
  ASSERT_EQ(hipMemMap(bytes + unit_, unit_, 0, imported, 0), hipSuccess);
  ASSERT_EQ(hipMemSetAccess(base, 2 * unit_, &access_, 1), hipSuccess);
  ASSERT_EQ(hipMemset(bytes, 7, unit_), hipSuccess);
  EXPECT_EQ(bytes[unit_ + 99], 7);
  hipMemGenericAllocationHandle_t again = nullptr;
  ASSERT_EQ(hipMemRetainAllocationHandle(&again, bytes + 5), hipSuccess);
  EXPECT_EQ(again, memory);
  EXPECT_EQ(hipMemUnmap(base, 2 * unit_), hipSuccess);
  // As often as the handle was given out.
  EXPECT_EQ(hipMemRelease(memory), hipSuccess);
  EXPECT_EQ(hipMemRelease(again), hipSuccess);
  EXPECT_EQ(hipMemRelease(memory), hipErrorInvalidValue);
  EXPECT_EQ(hipMemRelease(imported), hipSuccess);
  EXPECT_EQ(hipMemAddressFree(base, 2 * unit_), hipSuccess);
}

TEST_F(HipVirtual, WrongSizes) {
  void* base = nullptr;
  hipMemGenericAllocationHandle_t memory = nullptr;
  EXPECT_EQ(hipMemAddressReserve(&base, unit_ + 1, 0, nullptr, 0),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemAddressReserve(&base, unit_, 3, nullptr, 0),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemCreate(&memory, unit_ - 1, &properties_, 0),
            hipErrorInvalidValue);
  EXPECT_EQ(hipMemCreate(&memory, std::size_t{1} << 50, &properties_, 0),
            hipErrorOutOfMemory);
  properties_.location.id = 5;
  EXPECT_EQ(hipMemCreate(&memory, unit_, &properties_, 0),
            hipErrorInvalidValue);
}

}  // namespace
