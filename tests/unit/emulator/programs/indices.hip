// Three-dimensional grids and blocks, every id, and blocks of odd sizes.
#include "mini_hip.h"

struct Ids {
  unsigned thread[3], block[3], size[3], grid_x;
};

__global__ void Kernel(Ids* out, unsigned gx, unsigned gy) {
  unsigned block = (BlockZ() * gy + BlockY()) * gx + BlockX();
  unsigned volume = BlockDimX() * BlockDimY() * BlockDimZ();
  unsigned thread =
      (ThreadZ() * BlockDimY() + ThreadY()) * BlockDimX() + ThreadX();
  Ids& o = out[block * volume + thread];
  o.thread[0] = ThreadX();
  o.thread[1] = ThreadY();
  o.thread[2] = ThreadZ();
  o.block[0] = BlockX();
  o.block[1] = BlockY();
  o.block[2] = BlockZ();
  o.size[0] = BlockDimX();
  o.size[1] = BlockDimY();
  o.size[2] = BlockDimZ();
  o.grid_x = GridDimX();
}

void Run(dim3 grid, dim3 block) {
  unsigned volume = block.x * block.y * block.z;
  size_t n = (size_t)grid.x * grid.y * grid.z * volume;
  Buffer<Ids> out(n);
  CHECK_HIP(hipMemset(out.data, 0xee, n * sizeof(Ids)));
  Kernel<<<grid, block>>>(out.data, grid.x, grid.y);
  CHECK_HIP(hipGetLastError());
  std::vector<Ids> got = out.Read();
  for (size_t i = 0; i < n; ++i) {
    unsigned t = i % volume, b = i / volume;
    const Ids& o = got[i];
    EXPECT(o.thread[0] == t % block.x &&
               o.thread[1] == t / block.x % block.y &&
               o.thread[2] == t / block.x / block.y &&
               o.block[0] == b % grid.x &&
               o.block[1] == b / grid.x % grid.y &&
               o.block[2] == b / grid.x / grid.y && o.size[0] == block.x &&
               o.size[1] == block.y && o.size[2] == block.z &&
               o.grid_x == grid.x,
           "element %zu of grid %u,%u,%u block %u,%u,%u", i, grid.x, grid.y,
           grid.z, block.x, block.y, block.z);
  }
}

int main() {
  Run(dim3(3, 4, 5), dim3(7, 3, 2));
  Run(dim3(1, 1, 1), dim3(1, 1, 1));
  Run(dim3(17), dim3(33));
  Run(dim3(2, 2, 2), dim3(8, 8, 16));
  Run(dim3(1, 9, 1), dim3(1, 1, 5));
  return Pass();
}
