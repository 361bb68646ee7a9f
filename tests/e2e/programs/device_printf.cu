// printf in kernels: every conversion, order, and the buffer's size.
//
// RUN: %check %s %t && FileCheck %s < %t/gfx1100.out && FileCheck %s < %t/gfx942.out
#include "program.h"

// CHECK: d -7 i +7 u 4000000000 x beef X BEEF o 17
// CHECK-NEXT: ld -5000000000 lld 9000000000 zu 12 hhd -3
// CHECK-NEXT: f 1.500000 e 2.500000e+03 g 0.0001 a 0x1.8p+1
// CHECK-NEXT: [   42] [42   ] [00042] [3.14] [ab]
// CHECK-NEXT: c A s text % p 0x10
// CHECK-NEXT: wide 11 and 3.25
// CHECK-NEXT: thread 0
// CHECK-NEXT: thread 1
// CHECK-NEXT: thread 2
// CHECK-NEXT: PASS
__global__ void Print(const char*) {
  printf("d %d i %+i u %u x %x X %X o %o\n", -7, 7, 4000000000u, 0xbeef,
         0xbeef, 15);
  printf("ld %ld lld %lld zu %zu hhd %hhd\n", -5000000000l, 9000000000ll,
         sizeof(int[3]), -3);
  printf("f %f e %e g %g a %a\n", 1.5, 2500.0, 1e-4, 3.0);
  printf("[%5d] [%-5d] [%05d] [%.2f] [%.2s]\n", 42, 42, 42, 3.14159, "abc");
  printf("c %c s %s %% p %p\n", 'A', "text", reinterpret_cast<void*>(16));
  printf("wide %*d and %.*f\n", 2, 11, 2, 3.25);
}
__global__ void Lines() {
  for (int i = 0; i < 3; ++i) {
    if (i == int(threadIdx.x)) printf("thread %d\n", i);
    __syncthreads();
  }
}

int main() {
  std::size_t bytes = 0;
  CHECK(cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize));
  EXPECT(bytes >= 1 << 20);
  Print<<<1, 1>>>(nullptr);
  CHECK(cudaDeviceSynchronize());
  Lines<<<1, 3>>>();
  CHECK(cudaDeviceSynchronize());
  return Pass();
}
