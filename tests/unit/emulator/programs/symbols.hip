// Constant, device and managed variables, reached from both sides.
#include "mini_hip.h"

__constant__ float c_weights[8];
__device__ int g_counter = 5;
__device__ int g_table[16] = {1, 1, 2, 3, 5, 8, 13, 21};
__managed__ int m_shared = 100;

__global__ void Kernel(float* out, int n) {
  unsigned i = GlobalX();
  if (i < (unsigned)n) out[i] = c_weights[i % 8] * (float)g_table[i % 16];
  if (i == 0) {
    g_counter += 37;
    m_shared += 11;
  }
}

int main() {
  float weights[8];
  for (int i = 0; i < 8; ++i) weights[i] = i * 0.25f + 1;
  CHECK_HIP(hipMemcpyToSymbol(&c_weights, weights, sizeof weights, 0,
                              hipMemcpyHostToDevice));
  int tail[2] = {34, 55};
  CHECK_HIP(hipMemcpyToSymbol(&g_table, tail, sizeof tail, 8 * sizeof(int),
                              hipMemcpyHostToDevice));
  m_shared += 1;
  Buffer<float> out(64);
  Kernel<<<1, 64>>>(out.data, 64);
  CHECK_HIP(hipDeviceSynchronize());
  int table[16] = {1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
  std::vector<float> got = out.Read();
  for (int i = 0; i < 64; ++i) {
    EXPECT(got[i] == weights[i % 8] * (float)table[i % 16], "at %d: %g", i,
           got[i]);
  }
  int counter = 0;
  CHECK_HIP(hipMemcpyFromSymbol(&counter, &g_counter, 4, 0,
                                hipMemcpyDeviceToHost));
  EXPECT(counter == 42, "counter %d", counter);
  EXPECT(m_shared == 112, "managed %d", m_shared);
  return Pass();
}
