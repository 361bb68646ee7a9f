// Kernels that wait: for a later wave of the workgroup, for a later workgroup,
// for a kernel in another stream, for the host. Workgroups start in the order
// of their ids and every resident one makes progress.
#include "mini_hip.h"

__device__ unsigned Load(unsigned* at) {
  return __hip_atomic_load(at, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ void Store(unsigned* at, unsigned value) {
  __hip_atomic_store(at, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}

// The first wave waits for the last one, without sleeping.
__global__ void Waves(unsigned* out) {
  __shared__ unsigned flag;
  if (ThreadX() == 0) {
    __hip_atomic_store(&flag, 0u, __ATOMIC_RELAXED,
                       __HIP_MEMORY_SCOPE_WORKGROUP);
  }
  SyncThreads();
  if (ThreadX() >= BlockDimX() - WaveSize()) {
    __hip_atomic_store(&flag, 7u, __ATOMIC_RELEASE,
                       __HIP_MEMORY_SCOPE_WORKGROUP);
  } else {
    while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE,
                             __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
    }
  }
  out[GlobalX()] = __hip_atomic_load(&flag, __ATOMIC_RELAXED,
                                     __HIP_MEMORY_SCOPE_WORKGROUP);
}

// Each workgroup waits for the one behind it: the first ends last.
__global__ void Groups(unsigned* done) {
  if (ThreadX() != 0) return;
  const unsigned me = BlockX();
  unsigned value = 1;
  if (me + 1 < GridDimX()) {
    while ((value = Load(&done[me + 1])) == 0) __builtin_amdgcn_s_sleep(1);
    ++value;
  }
  Store(&done[me], value);
}

// The same, but all threads of the group look again and again, with a barrier
// between.
__global__ void GroupsAroundBarrier(unsigned* done) {
  __shared__ unsigned value;
  const unsigned me = BlockX();
  do {
    SyncThreads();
    if (ThreadX() == 0) value = me + 1 < GridDimX() ? Load(&done[me + 1]) : 1;
    SyncThreads();
  } while (value == 0);
  if (ThreadX() == 0) Store(&done[me], me + 1 < GridDimX() ? value + 1 : 1);
}

// Data behind a flag: what was stored before it is seen after it.
__global__ void Producer(unsigned* data, unsigned* flag, unsigned n) {
  for (unsigned i = ThreadX(); i < n; i += BlockDimX()) data[i] = i * 3 + 1;
  SyncThreads();
  if (ThreadX() == 0) Store(flag, 1);
}
__global__ void Consumer(const unsigned* data, unsigned* flag, unsigned n,
                         unsigned* sum) {
  while (Load(flag) == 0) {
  }
  unsigned mine = 0;
  for (unsigned i = ThreadX(); i < n; i += BlockDimX()) mine += data[i];
  AtomicAdd(sum, mine);
}

// An aligned value of 64 bits is written and read whole: one group counts in
// both halves at once, the other looks. The lanes' values are not neighbours.
__global__ void Halves(volatile unsigned long long* data, unsigned* torn) {
  volatile unsigned long long* mine = data + ThreadX() * 3;
  if (BlockX() == 0) {
    for (unsigned long long k = 1; k <= 3000; ++k) *mine = k << 32 | k;
    return;
  }
  unsigned count = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    const unsigned long long seen = *mine;
    if ((unsigned)seen != (unsigned)(seen >> 32)) ++count;
  }
  torn[ThreadX()] = count;
}

int main() {
  const unsigned block = 256, blocks = 3;
  Buffer<unsigned> waves(block * blocks);
  Waves<<<blocks, block>>>(waves.data);
  for (unsigned v : waves.Read()) EXPECT(v == 7, "waves: %u", v);

  // No more than the smallest GPU of the tests holds at once: a group waits
  // for one that starts later.
  const unsigned groups = 500;
  Buffer<unsigned> done(std::vector<unsigned>(groups, 0));
  Groups<<<groups, 64>>>(done.data);
  std::vector<unsigned> got = done.Read();
  for (unsigned i = 0; i < groups; ++i) {
    EXPECT(got[i] == groups - i, "group %u: %u", i, got[i]);
  }

  const unsigned few = 12;
  Buffer<unsigned> passed(std::vector<unsigned>(few, 0));
  GroupsAroundBarrier<<<few, 128>>>(passed.data);
  got = passed.Read();
  for (unsigned i = 0; i < few; ++i) {
    EXPECT(got[i] == few - i, "around a barrier, group %u: %u", i, got[i]);
  }

  // The consumer is launched first.
  const unsigned n = 5000;
  Buffer<unsigned> data(std::vector<unsigned>(n, 0)),
      flag(std::vector<unsigned>(1, 0)), sum(std::vector<unsigned>(1, 0));
  hipStream_t first, second;
  CHECK_HIP(hipStreamCreateWithFlags(&first, 1));
  CHECK_HIP(hipStreamCreateWithFlags(&second, 1));
  Consumer<<<4, 64, 0, first>>>(data.data, flag.data, n, sum.data);
  Producer<<<1, 128, 0, second>>>(data.data, flag.data, n);
  CHECK_HIP(hipStreamSynchronize(first));
  CHECK_HIP(hipStreamSynchronize(second));
  unsigned expected = 0;
  for (unsigned i = 0; i < n; ++i) expected += i * 3 + 1;
  EXPECT(sum.Read()[0] == expected * 4, "streams: %u", sum.Read()[0]);

  // The host lets the kernel go on.
  unsigned* pinned = nullptr;
  CHECK_HIP(hipHostMalloc((void**)&pinned, 4, 0));
  *pinned = 0;
  CHECK_HIP(hipMemset(sum.data, 0, 4));
  CHECK_HIP(hipDeviceSynchronize());  // the stream does not wait for it
  Consumer<<<1, 64, 0, first>>>(data.data, pinned, n, sum.data);
  __atomic_store_n(pinned, 1u, __ATOMIC_RELEASE);
  CHECK_HIP(hipStreamSynchronize(first));
  EXPECT(sum.Read()[0] == expected, "host: %u", sum.Read()[0]);
  CHECK_HIP(hipHostFree(pinned));
  CHECK_HIP(hipStreamDestroy(first));
  CHECK_HIP(hipStreamDestroy(second));

  Buffer<unsigned long long> halves(std::vector<unsigned long long>(64 * 3, 0));
  Buffer<unsigned> torn(64);
  Halves<<<2, 64>>>(halves.data, torn.data);
  for (unsigned v : torn.Read()) EXPECT(v == 0, "torn: %u", v);
  return Pass();
}
