// A padded LDS tile and vector loads; sizes that are no multiple of it.
#include "mini_hip.h"

constexpr int kTile = 32, kRows = 8;

__global__ void Transpose(const float* in, float* out, int width,
                          int height) {
  __shared__ float tile[kTile][kTile + 1];
  int x = BlockX() * kTile + ThreadX(), y = BlockY() * kTile + ThreadY();
  for (int j = 0; j < kTile; j += kRows) {
    if (x < width && y + j < height) {
      tile[ThreadY() + j][ThreadX()] = in[(y + j) * width + x];
    }
  }
  SyncThreads();
  x = BlockY() * kTile + ThreadX();
  y = BlockX() * kTile + ThreadY();
  for (int j = 0; j < kTile; j += kRows) {
    if (x < height && y + j < width) {
      out[(y + j) * height + x] = tile[ThreadX()][ThreadY() + j];
    }
  }
}

typedef float Float4 __attribute__((ext_vector_type(4)));

__global__ void Scale4(const Float4* in, Float4* out, int n) {
  int i = GlobalX();
  if (i < n) out[i] = in[i].wzyx * 2.0f;
}

int main() {
  const int width = 100, height = 70;
  std::vector<float> values(width * height);
  for (size_t i = 0; i < values.size(); ++i) values[i] = (float)i;
  Buffer<float> in(values), out(values.size());
  Transpose<<<dim3((width + 31) / 32, (height + 31) / 32),
              dim3(kTile, kRows)>>>(in.data, out.data, width, height);
  std::vector<float> got = out.Read();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      EXPECT(got[x * height + y] == values[y * width + x], "[%d][%d]", y, x);
    }
  }
  Scale4<<<28, 64>>>((const Float4*)in.data, (Float4*)out.data,
                     width * height / 4);
  got = out.Read();
  for (int i = 0; i < width * height; ++i) {
    EXPECT(got[i] == values[i / 4 * 4 + 3 - i % 4] * 2, "vector %d", i);
  }
  return Pass();
}
