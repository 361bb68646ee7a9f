// Memory of the HSA face: locked, granted, mapped by hand, shared, copied.
#include <unistd.h>

#include "tests/unit/emulator/hsa_face_test.h"

namespace {

using namespace cerberus_hsa_test;

// What later headers than Debian 12's declare.
struct Memory {
  std::uint64_t handle;
};
struct Access {
  hsa_access_permission_t permissions;
  hsa_agent_t agent;
};
constexpr int kMemoryTypeNone = 0;
constexpr auto kErrorResourceFree = static_cast<hsa_status_t>(0x100a);
constexpr auto kPointerIpc = static_cast<hsa_amd_pointer_type_t>(4);
extern "C" {
hsa_status_t hsa_amd_vmem_address_reserve_align(void**, std::size_t,
                                                std::uint64_t, std::uint64_t,
                                                std::uint64_t);
hsa_status_t hsa_amd_vmem_address_free(void*, std::size_t);
hsa_status_t hsa_amd_vmem_handle_create(hsa_amd_memory_pool_t, std::size_t, int,
                                        std::uint64_t, Memory*);
hsa_status_t hsa_amd_vmem_handle_release(Memory);
hsa_status_t hsa_amd_vmem_map(void*, std::size_t, std::size_t, Memory,
                              std::uint64_t);
hsa_status_t hsa_amd_vmem_unmap(void*, std::size_t);
hsa_status_t hsa_amd_vmem_set_access(void*, std::size_t, const Access*,
                                     std::size_t);
hsa_status_t hsa_amd_vmem_get_access(void*, hsa_access_permission_t*,
                                     hsa_agent_t);
hsa_status_t hsa_amd_vmem_retain_alloc_handle(Memory*, void*);
hsa_status_t hsa_amd_portable_export_dmabuf(const void*, std::size_t, int*,
                                            std::uint64_t*);
hsa_status_t hsa_amd_portable_close_dmabuf(int);
}

// Pages of the program's own, and what is asked of them.
class SvmTest : public HsaTest {
 protected:
  static constexpr std::size_t kPage = 4096, kSize = 8 * kPage;
  void SetUp() override {
    HsaTest::SetUp();
    map_ = static_cast<char*>(mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(map_, MAP_FAILED);
  }
  void TearDown() override {
    munmap(map_, kSize);
    HsaTest::TearDown();
  }
  static hsa_status_t Set(void* at, std::size_t size, std::uint64_t attribute,
                          std::uint64_t value) {
    hsa_amd_svm_attribute_pair_t pair = {attribute, value};
    return hsa_amd_svm_attributes_set(at, size, &pair, 1);
  }
  static std::uint64_t Get(void* at, std::size_t size,
                           std::uint64_t attribute) {
    hsa_amd_svm_attribute_pair_t pair = {attribute, 99};
    EXPECT_EQ(hsa_amd_svm_attributes_get(at, size, &pair, 1),
              HSA_STATUS_SUCCESS);
    return pair.value;
  }
  std::uint64_t Access(void* at, std::size_t size, hsa_agent_t agent) {
    hsa_amd_svm_attribute_pair_t pair = {HSA_AMD_SVM_ATTRIB_ACCESS_QUERY,
                                         agent.handle};
    EXPECT_EQ(hsa_amd_svm_attributes_get(at, size, &pair, 1),
              HSA_STATUS_SUCCESS);
    return pair.attribute;
  }
  // Whether a kernel reaches the integers there.
  bool Reaches(void* at) {
    queue_error = 0;
    hsa_queue_t* const queue = MakeQueue();
    const hsa_signal_t done = MakeSignal(1);
    auto packet =
        Dispatch(Find("AddOne"), AddOneArguments(static_cast<int*>(at), 64, 64),
                 64, 64, done);
    Put(queue, &packet);
    while (queue_error == 0 && hsa_signal_load_scacquire(done) != 0) {
      std::this_thread::yield();
    }
    const bool reached = queue_error == 0;
    EXPECT_EQ(hsa_queue_destroy(queue), HSA_STATUS_SUCCESS);
    return reached;
  }
  char* map_ = nullptr;
};

TEST_F(SvmTest, GpusReachPagesThatAnAttributeGrants) {
  bool supported = false;
  OK(hsa_system_get_info(HSA_AMD_SYSTEM_INFO_SVM_SUPPORTED, &supported));
  EXPECT_TRUE(supported);
  EXPECT_EQ(Access(map_, kSize, gpu_), HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
  EXPECT_FALSE(Reaches(map_ + 2 * kPage));
  // Whole pages: from the second to the fourth.
  OK(Set(map_ + kPage + 8, 2 * kPage, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE,
         gpu_.handle));
  EXPECT_EQ(Access(map_ + kPage, 3 * kPage, gpu_),
            HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE);
  EXPECT_EQ(Access(map_, 3 * kPage, gpu_), HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
  EXPECT_EQ(Access(map_ + kPage, kPage, seen_.gpus[1]),
            HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS);
  EXPECT_TRUE(Reaches(map_ + kPage));
  EXPECT_TRUE(Reaches(map_ + 4 * kPage - 256));
  EXPECT_FALSE(Reaches(map_ + 4 * kPage));
  EXPECT_EQ(reinterpret_cast<int*>(map_ + kPage)[63], 1);
  // One of them is taken back.
  OK(Set(map_ + 2 * kPage, kPage, HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS,
         gpu_.handle));
  EXPECT_FALSE(Reaches(map_ + 2 * kPage));
  EXPECT_TRUE(Reaches(map_ + 3 * kPage));
  // Granted twice, taken back once.
  for (int i = 0; i < 2; ++i) {
    OK(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE,
           gpu_.handle));
  }
  EXPECT_TRUE(Reaches(map_));
  OK(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_AGENT_NO_ACCESS, gpu_.handle));
  EXPECT_FALSE(Reaches(map_));
}

TEST_F(SvmTest, AttributesAreKeptByPage) {
  EXPECT_EQ(Get(map_, kSize, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0u);
  OK(Set(map_, 2 * kPage, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1));
  EXPECT_EQ(Get(map_, 2 * kPage, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 1u);
  EXPECT_EQ(Get(map_, 3 * kPage, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 0u);
  OK(Set(map_ + kPage, kPage, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG, 1));
  EXPECT_EQ(Get(map_, kPage, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG), 0u);
  EXPECT_EQ(Get(map_ + kPage, 1, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG), 1u);
  EXPECT_EQ(Get(map_, kSize, HSA_AMD_SVM_ATTRIB_GLOBAL_FLAG), 2u);
  OK(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION, gpu_.handle));
  EXPECT_EQ(Get(map_, kSize, HSA_AMD_SVM_ATTRIB_PREFERRED_LOCATION),
            gpu_.handle);
  // Brought there behind a signal.
  const hsa_signal_t before = MakeSignal(1), done = MakeSignal(1);
  OK(hsa_amd_svm_prefetch_async(map_, kSize, gpu_, 1, &before, done));
  EXPECT_EQ(Get(map_, kSize, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION),
            gpu_.handle);
  EXPECT_EQ(hsa_signal_load_relaxed(done), 1);
  hsa_signal_store_screlease(before, 0);
  EXPECT_EQ(WaitFor(done), 0);
}

TEST_F(SvmTest, WhatCannotBeSetIsRefused) {
  constexpr auto kInvalid = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_PREFETCH_LOCATION, 0),
            kInvalid);
  EXPECT_EQ(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_ACCESS_QUERY, gpu_.handle),
            kInvalid);
  EXPECT_EQ(Set(map_, kSize, 8, 0), kInvalid);
  EXPECT_EQ(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE, 3),
            HSA_STATUS_ERROR_INVALID_AGENT);
  EXPECT_EQ(Set(nullptr, kSize, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1), kInvalid);
  EXPECT_EQ(Set(map_, 0, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1), kInvalid);
  EXPECT_EQ(Set(map_, ~std::size_t{0}, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1),
            kInvalid);
  // Not mapped.
  OK(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 1));
  munmap(map_ + 4 * kPage, kPage);
  EXPECT_EQ(Set(map_, kSize, HSA_AMD_SVM_ATTRIB_READ_MOSTLY, 0), kInvalid);
  EXPECT_EQ(Get(map_, kPage, HSA_AMD_SVM_ATTRIB_READ_MOSTLY), 1u);
}

TEST_F(HsaTest, LargeMemoryIsAligned) {
  constexpr std::size_t kLarge = 2 << 20;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(
        reinterpret_cast<std::uintptr_t>(Allocate<char>(seen_.device, kLarge)) %
            kLarge,
        0u);
  }
}

TEST_F(HsaTest, MemoryThatWasNotGrantedIsAFault) {
  OK(hsa_amd_register_system_event_handler(OnEvent, nullptr));
  const int n = 64;
  void* at = nullptr;
  OK(hsa_amd_memory_pool_allocate(seen_.kernarg, 4 * n, 0, &at));
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(static_cast<int*>(at), n, 64), n,
               64, done);
  Put(queue, &packet);
  for (int i = 0; i < 2000 && queue_error == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(queue_error, HSA_STATUS_ERROR_MEMORY_FAULT);
  EXPECT_EQ(fault_address, reinterpret_cast<std::uint64_t>(at));
  EXPECT_EQ(hsa_signal_load_relaxed(done), 1);
  OK(hsa_queue_destroy(queue));
  // With access it is right, in a new queue.
  OK(hsa_amd_agents_allow_access(1, &gpu_, nullptr, at));
  hsa_queue_t* const again = MakeQueue();
  Put(again, &packet);
  EXPECT_EQ(WaitFor(done), 0);
  EXPECT_EQ(static_cast<int*>(at)[n - 1], 1);
  OK(hsa_queue_destroy(again));
}

TEST_F(HsaTest, PointersTellWhatTheyLeadTo) {
  auto* const bytes = Allocate<char>(seen_.device, 5000);
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  OK(hsa_amd_pointer_info(bytes + 100, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_HSA);
  EXPECT_EQ(info.agentBaseAddress, bytes);
  EXPECT_EQ(info.sizeInBytes, 5000u);
  EXPECT_EQ(info.agentOwner.handle, gpu_.handle);
  OK(hsa_amd_memory_pool_free(bytes));
  OK(hsa_amd_pointer_info(bytes, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
}

TEST_F(HsaTest, LocksOverlap) {
  const std::size_t page = 4096;
  auto* const map =
      static_cast<char*>(mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  void* at = nullptr;
  OK(hsa_amd_memory_lock(map + 100, page, &gpu_, 1, &at));
  EXPECT_EQ(at, map + 100);
  OK(hsa_amd_memory_lock(map + page + 200, 2 * page, &gpu_, 1, &at));
  OK(hsa_amd_memory_unlock(map + 100));
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  auto* const data = reinterpret_cast<int*>(map + page + 200);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(data, 64, 64), 64, 64, done);
  Put(queue, &packet);
  ASSERT_EQ(WaitFor(done), 0);
  EXPECT_EQ(data[63], 1);
  OK(hsa_queue_destroy(queue));
  OK(hsa_amd_memory_unlock(map + page + 200));
  EXPECT_EQ(hsa_amd_memory_unlock(map + page + 200),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  munmap(map, 4 * page);
}

TEST_F(HsaTest, LockedMemoryThatIsGoneMakesRoom) {
  constexpr std::size_t kSize = 1 << 20, kPage = 4096;
  for (const hsa_amd_memory_pool_t pool : {seen_.kernarg, seen_.device}) {
    void* const own = mmap(nullptr, kSize, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(own, MAP_FAILED);
    void* locked = nullptr;
    OK(hsa_amd_memory_lock(own, kSize, nullptr, 0, &locked));
    munmap(own, kSize);
    // Takes the place of a part of it, page by page.
    const auto first = reinterpret_cast<std::uintptr_t>(own);
    int* inside = nullptr;
    for (int i = 0; i < 1000 && inside == nullptr; ++i) {
      int* const at = Allocate<int>(pool, 64);
      const std::uintptr_t into = reinterpret_cast<std::uintptr_t>(at) - first;
      if (into >= kPage && into < kSize - kPage) inside = at;
    }
    ASSERT_NE(inside, nullptr);
    OK(hsa_amd_memory_unlock(own));
    inside[0] = 1;
    hsa_queue_t* const queue = MakeQueue();
    const hsa_signal_t done = MakeSignal(1);
    auto packet =
        Dispatch(Find("AddOne"), AddOneArguments(inside, 64, 64), 64, 64, done);
    Put(queue, &packet);
    ASSERT_EQ(WaitFor(done), 0);
    EXPECT_EQ(inside[0], 2);
    OK(hsa_queue_destroy(queue));
  }
}

TEST_F(HsaTest, AddressesAreMappedByHand) {
  constexpr std::size_t kPart = 1 << 16;
  void* at = nullptr;
  OK(hsa_amd_vmem_address_reserve_align(&at, 4 * kPart, 0, 1 << 21, 0));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % (1 << 21), 0u);
  auto* const bytes = static_cast<char*>(at);
  Memory memory = {}, again = {};
  EXPECT_EQ(hsa_amd_vmem_handle_create(seen_.device, kPart + 1, kMemoryTypeNone,
                                       0, &memory),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  OK(hsa_amd_vmem_handle_create(seen_.device, kPart, kMemoryTypeNone, 0,
                                &memory));
  // Outside of what is reserved, over its end, over another mapping.
  EXPECT_EQ(hsa_amd_vmem_map(bytes - kPart, kPart, 0, memory, 0),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(hsa_amd_vmem_map(bytes + 4 * kPart - 4096, kPart, 0, memory, 0),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  OK(hsa_amd_vmem_map(bytes, kPart, 0, memory, 0));
  EXPECT_EQ(hsa_amd_vmem_map(bytes + 4096, kPart, 0, memory, 0),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  OK(hsa_amd_vmem_map(bytes + 2 * kPart, kPart, 0, memory, 0));
  EXPECT_EQ(hsa_amd_vmem_address_free(at, 4 * kPart), kErrorResourceFree);
  // The same memory in two places, which a mapping keeps.
  OK(hsa_amd_vmem_handle_release(memory));
  EXPECT_EQ(hsa_amd_vmem_handle_release(memory),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  OK(hsa_amd_vmem_retain_alloc_handle(&again, bytes + 2 * kPart + 5));
  EXPECT_EQ(again.handle, memory.handle);
  hsa_access_permission_t may = HSA_ACCESS_PERMISSION_RO;
  EXPECT_EQ(hsa_amd_vmem_get_access(at, &may, gpu_),
            HSA_STATUS_ERROR_INVALID_ALLOCATION);
  const Access access = {HSA_ACCESS_PERMISSION_RW, gpu_};
  OK(hsa_amd_vmem_set_access(at, kPart, &access, 1));
  OK(hsa_amd_vmem_get_access(at, &may, gpu_));
  EXPECT_EQ(may, HSA_ACCESS_PERMISSION_RW);
  int* const numbers = static_cast<int*>(at);
  numbers[0] = 41;
  hsa_queue_t* const queue = MakeQueue();
  const hsa_signal_t done = MakeSignal(1);
  auto packet =
      Dispatch(Find("AddOne"), AddOneArguments(numbers, 1, 32), 1, 32, done);
  Put(queue, &packet);
  ASSERT_EQ(WaitFor(done), 0);
  EXPECT_EQ(*reinterpret_cast<int*>(bytes + 2 * kPart), 42);
  OK(hsa_queue_destroy(queue));
  EXPECT_EQ(hsa_amd_vmem_unmap(at, 4096), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  OK(hsa_amd_vmem_unmap(at, kPart));
  OK(hsa_amd_vmem_unmap(bytes + 2 * kPart, kPart));
  OK(hsa_amd_vmem_handle_release(again));
  OK(hsa_amd_vmem_address_free(at, 4 * kPart));
}

TEST_F(HsaTest, MemoryGoesToAnotherProcess) {
  int* const data = Allocate<int>(seen_.device, 64);
  data[0] = 5;
  hsa_amd_ipc_memory_t name = {};
  OK(hsa_amd_ipc_memory_create(data, 64 * sizeof(int), &name));
  EXPECT_EQ(data[0], 5);
  EXPECT_EQ(hsa_amd_ipc_memory_create(data + 1, 4, &name),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  // The other is this one.
  void* there = nullptr;
  void* twice = nullptr;
  OK(hsa_amd_ipc_memory_attach(&name, 64 * sizeof(int), 1, &gpu_, &there));
  OK(hsa_amd_ipc_memory_attach(&name, 64 * sizeof(int), 1, &gpu_, &twice));
  EXPECT_NE(there, data);
  *static_cast<int*>(there) = 6;
  EXPECT_EQ(data[0], 6);
  hsa_amd_pointer_info_t info = {};
  info.size = sizeof info;
  OK(hsa_amd_pointer_info(there, &info, nullptr, nullptr, nullptr));
  EXPECT_EQ(info.type, kPointerIpc);
  EXPECT_EQ(info.sizeInBytes, 64 * sizeof(int));
  OK(hsa_amd_ipc_memory_detach(there));
  OK(hsa_amd_ipc_memory_detach(twice));
  EXPECT_EQ(hsa_amd_ipc_memory_detach(there),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  // A name of memory that is gone, and one that is none.
  OK(hsa_amd_memory_pool_free(data));
  EXPECT_EQ(hsa_amd_ipc_memory_attach(&name, 4, 1, &gpu_, &there),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  name.handle[0] ^= 1;
  EXPECT_EQ(hsa_amd_ipc_memory_attach(&name, 4, 1, &gpu_, &there),
            HSA_STATUS_ERROR_INVALID_ARGUMENT);
  int file = -1;
  std::uint64_t offset = 0;
  int* const other = Allocate<int>(seen_.device, 64);
  OK(hsa_amd_portable_export_dmabuf(other + 3, 8, &file, &offset));
  EXPECT_EQ(offset, 12u);
  EXPECT_EQ(pwrite(file, "abcd", 4, 12), 4);
  EXPECT_EQ(std::memcmp(other + 3, "abcd", 4), 0);
  OK(hsa_amd_portable_close_dmabuf(file));
}

TEST_F(HsaTest, RectanglesAreCopied) {
  std::vector<char> from(64, 0), to(64, 9);
  for (int i = 0; i < 64; ++i) from[static_cast<std::size_t>(i)] = char(i);
  const hsa_pitched_ptr_t a = {from.data(), 8, 32}, b = {to.data(), 16, 32};
  const hsa_dim3_t a0 = {1, 1, 0}, b0 = {2, 0, 0}, range = {3, 2, 2};
  const hsa_signal_t done = MakeSignal(1);
  OK(hsa_amd_memory_async_copy_rect(&b, &b0, &a, &a0, &range, gpu_,
                                    hsaHostToHost, 0, nullptr, done));
  ASSERT_EQ(WaitFor(done), 0);
  for (std::size_t z = 0; z < 2; ++z) {
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t x = 0; x < 16; ++x) {
        const std::size_t wanted =
            x >= 2 && x < 5 ? z * 32 + (y + 1) * 8 + (x - 2) + 1 : 9;
        EXPECT_EQ(static_cast<std::size_t>(to[z * 32 + y * 16 + x]), wanted)
            << x << " " << y << " " << z;
      }
    }
  }
}

}  // namespace
