// Kernels that hip_face_test.cc and fault_test.cc load as one code object.
#include "mini_hip.h"

extern "C" {

__device__ int g_value = 17;
__device__ int g_array[10];

__global__ void AddOne(int* data, int n) {
  unsigned i = GlobalX();
  if (i < (unsigned)n) data[i] += 1;
}

struct Mixed {
  char a;
  double b;
  short c[3];
};

// Arguments of every size and alignment.
__global__ void Arguments(char a, short b, int c, long long d, Mixed e,
                          const float* f, double* out) {
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = (double)d;
  out[4] = e.a + e.b + e.c[0] + e.c[1] + e.c[2];
  out[5] = f[1];
  out[6] = GridDimX();
}

__constant__ __attribute__((used)) int g_constant = 11;

__global__ void Globals(int* out) {
  out[0] = g_value;
  out[1] = g_array[9];
  g_value = 18;
}

__global__ void WriteAt(int* base, long long index) {
  if (GlobalX() == 3) base[index] = 1;
}

__global__ void ReadAt(const int* base, long long index, int* out) {
  out[GlobalX()] = base[index + GlobalX()];
}

__global__ void AtomicAt(char* at) {
  __hip_atomic_fetch_add((int*)at, 1, __ATOMIC_RELAXED,
                         __HIP_MEMORY_SCOPE_AGENT);
}

extern __shared__ int g_dynamic[];

__global__ void LdsAt(int index, int* out) {
  g_dynamic[ThreadX()] = (int)ThreadX();
  SyncThreads();
  if (ThreadX() == 1) g_dynamic[index] = 5;
  SyncThreads();
  out[ThreadX()] = g_dynamic[ThreadX()];
}

__global__ void Forever(volatile int* flag) {
  while (*flag == 0) {
  }
}

__global__ void Trap() { __builtin_trap(); }

__attribute__((amdgpu_flat_work_group_size(64, 64))) __global__ void Only64(
    int* out) {
  out[GlobalX()] = (int)GlobalX();
}

__global__ void Slow(int* out, int turns) {
  int x = (int)GlobalX();
  for (int i = 0; i < turns; ++i) x = x * 1103515245 + 12345;
  out[GlobalX()] = x;
}

}  // extern "C"
