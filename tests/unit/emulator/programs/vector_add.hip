// c = a + b over a grid with a partly used last block.
#include "mini_hip.h"

__global__ void VectorAdd(const float* a, const float* b, float* c, int n) {
  int i = GlobalX();
  if (i < n) c[i] = a[i] + b[i];
}

int main() {
  const int n = 10000;
  Random random;
  std::vector<float> a(n), b(n);
  for (int i = 0; i < n; ++i) {
    a[i] = random.Unit();
    b[i] = random.Unit() * 100;
  }
  Buffer<float> da(a), db(b), dc(n);
  VectorAdd<<<(n + 255) / 256, 256>>>(da.data, db.data, dc.data, n);
  CHECK_HIP(hipGetLastError());
  std::vector<float> c = dc.Read();
  for (int i = 0; i < n; ++i) {
    EXPECT(c[i] == a[i] + b[i], "at %d: %g + %g = %g", i, a[i], b[i], c[i]);
  }
  return Pass();
}
