// A 5x5 filter with constant weights and an LDS tile with its halo.
#include "mini_hip.h"

constexpr int kRadius = 2, kTile = 16, kHalo = kTile + 2 * kRadius;
__constant__ int c_filter[25];

__global__ void Convolve(const int* in, int* out, int width, int height) {
  __shared__ int tile[kHalo][kHalo];
  int x0 = BlockX() * kTile - kRadius, y0 = BlockY() * kTile - kRadius;
  for (int y = ThreadY(); y < kHalo; y += kTile) {
    for (int x = ThreadX(); x < kHalo; x += kTile) {
      int gx = x0 + x, gy = y0 + y;
      tile[y][x] = gx >= 0 && gy >= 0 && gx < width && gy < height
                       ? in[gy * width + gx]
                       : 0;
    }
  }
  SyncThreads();
  int x = BlockX() * kTile + ThreadX(), y = BlockY() * kTile + ThreadY();
  if (x >= width || y >= height) return;
  int sum = 0;
  for (int j = 0; j < 5; ++j) {
    for (int i = 0; i < 5; ++i) {
      sum += c_filter[j * 5 + i] * tile[ThreadY() + j][ThreadX() + i];
    }
  }
  out[y * width + x] = sum;
}

int main() {
  const int width = 75, height = 41;
  Random random;
  std::vector<int> image(width * height);
  for (int& v : image) v = random.Next() % 256;
  int filter[25];
  for (int i = 0; i < 25; ++i) filter[i] = i * 3 % 11 - 5;
  CHECK_HIP(hipMemcpyToSymbol(&c_filter, filter, sizeof filter, 0,
                              hipMemcpyHostToDevice));
  Buffer<int> in(image), out(image.size());
  Convolve<<<dim3((width + 15) / 16, (height + 15) / 16),
             dim3(kTile, kTile)>>>(in.data, out.data, width, height);
  std::vector<int> got = out.Read();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      int sum = 0;
      for (int j = -2; j <= 2; ++j) {
        for (int i = -2; i <= 2; ++i) {
          int gx = x + i, gy = y + j;
          if (gx < 0 || gy < 0 || gx >= width || gy >= height) continue;
          sum += filter[(j + 2) * 5 + i + 2] * image[gy * width + gx];
        }
      }
      EXPECT(got[y * width + x] == sum, "[%d][%d]: %d, host %d", y, x,
             got[y * width + x], sum);
    }
  }
  return Pass();
}
