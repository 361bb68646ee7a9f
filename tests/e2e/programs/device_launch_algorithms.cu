// Algorithms that launch kernels from kernels: a tree of grids that prints, a
// quicksort with one thread, one with whole blocks, curves that are divided as
// finely as they bend, and a tree of quadrants.
//
// The program holds PTX alone, so that the driver links it.
//
// RUN: %check %s %t -rdc=true -lcudadevrt -gencode arch=compute_80,code=compute_80
#include "program.h"

#include <algorithm>
#include <cmath>

// ---- A tree that prints -----------------------------------------------------

__device__ int g_printed;

__global__ void PrintTree(int depth, int parent) {
  __shared__ int self;
  if (threadIdx.x == 0) {
    self = atomicAdd(&g_printed, 1);
    printf("depth %d: block %d of %d is %d, launched by %d\n", depth,
           int(blockIdx.x), int(gridDim.x), self, parent);
  }
  __syncthreads();
  if (depth < 3) PrintTree<<<2, 2>>>(depth + 1, self);
}
void TestPrint() {
  PrintTree<<<2, 2>>>(1, -1);
  int printed = 0;
  CHECK(cudaMemcpyFromSymbol(&printed, g_printed, sizeof printed));
  // Each of two threads of each block launches two blocks.
  EXPECT(printed == 2 + 2 * 4 + 2 * 4 * 4);
}

// ---- Quicksort, a thread for each range -------------------------------------

__device__ void SelectionSort(int* data, int left, int right) {
  for (int i = left; i <= right; ++i) {
    int least = i;
    for (int j = i + 1; j <= right; ++j) {
      if (data[j] < data[least]) least = j;
    }
    const int value = data[least];
    data[least] = data[i];
    data[i] = value;
  }
}
__global__ void SimpleQuicksort(int* data, int left, int right, int depth) {
  if (depth >= 16 || right - left <= 32) {
    SelectionSort(data, left, right);
    return;
  }
  const int pivot = data[(left + right) / 2];
  int low = left;
  int high = right;
  while (low <= high) {
    while (data[low] < pivot) ++low;
    while (data[high] > pivot) --high;
    if (low <= high) {
      const int value = data[low];
      data[low++] = data[high];
      data[high--] = value;
    }
  }
  if (left < high) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    SimpleQuicksort<<<1, 1, 0, stream>>>(data, left, high, depth + 1);
    cudaStreamDestroy(stream);
  }
  if (low < right) {
    cudaStream_t stream;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    SimpleQuicksort<<<1, 1, 0, stream>>>(data, low, right, depth + 1);
    cudaStreamDestroy(stream);
  }
}

// ---- Quicksort, a grid for each range ---------------------------------------

struct Range {
  int begin, end, pivot;
  int below, above;  // placed from the front, from the back
  int blocks;        // that have finished
};
constexpr int kThreads = 128;
constexpr int kSmall = 256;

__global__ void SortSmall(int* data, int count) {
  __shared__ int values[kSmall];
  const int threads = int(blockDim.x);
  for (int i = int(threadIdx.x); i < kSmall; i += threads) {
    values[i] = i < count ? data[i] : 0x7fffffff;
  }
  for (int size = 2; size <= kSmall; size *= 2) {
    for (int step = size / 2; step > 0; step /= 2) {
      __syncthreads();
      for (int i = int(threadIdx.x); i < kSmall; i += threads) {
        const int other = i ^ step;
        if (other <= i) continue;
        const bool up = (i & size) == 0;
        const int a = values[i], b = values[other];
        if ((a > b) == up) {
          values[i] = b;
          values[other] = a;
        }
      }
    }
  }
  __syncthreads();
  for (int i = int(threadIdx.x); i < count; i += threads) data[i] = values[i];
}

__global__ void Partition(const int* from, int* to, Range* range);

// Sorts [begin, end) of `from`; what is sorted stands in `from` again, with
// `to` as the other buffer.
__device__ void LaunchSort(int* from, int* to, int begin, int end);

// Behind a partition: goes on with its parts.
__global__ void Continue(int* from, int* to, Range* range) {
  const int begin = range->begin, end = range->end;
  const int middle = begin + range->below, behind = end - range->above;
  delete range;
  LaunchSort(from, to, begin, middle);
  LaunchSort(from, to, behind, end);
}

__device__ void LaunchSort(int* from, int* to, int begin, int end) {
  if (end - begin < 2) return;
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (end - begin <= kSmall) {
    SortSmall<<<1, kThreads, 0, stream>>>(from + begin, end - begin);
  } else {
    Range* range = new Range;
    const int a = from[begin], b = from[(begin + end) / 2], c = from[end - 1];
    const int pivot = max(min(a, b), min(max(a, b), c));
    *range = {begin, end, pivot, 0, 0, 0};
    const int blocks = min((end - begin + kThreads - 1) / kThreads, 8);
    Partition<<<blocks, kThreads, 0, stream>>>(from, to, range);
    cudaMemcpyAsync(from + begin, to + begin, (end - begin) * sizeof(int),
                    cudaMemcpyDeviceToDevice, stream);
    Continue<<<1, 1, 0, stream>>>(from, to, range);
  }
  cudaStreamDestroy(stream);
}

__global__ void Partition(const int* from, int* to, Range* range) {
  const int lane = int(threadIdx.x) % 32;
  const unsigned before = (1u << lane) - 1;
  const int step = int(gridDim.x * blockDim.x);
  const int size = range->end - range->begin;
  for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i - lane < size;
       i += step) {
    const int value = i < size ? from[range->begin + i] : range->pivot;
    const bool less = value < range->pivot, more = value > range->pivot;
    const unsigned below = __ballot_sync(~0u, less);
    const unsigned above = __ballot_sync(~0u, more);
    int low = 0, high = 0;
    if (lane == 0) {
      low = atomicAdd(&range->below, __popc(below));
      high = atomicAdd(&range->above, __popc(above));
    }
    low = __shfl_sync(~0u, low, 0) + __popc(below & before);
    high = __shfl_sync(~0u, high, 0) + __popc(above & before);
    if (less) to[range->begin + low] = value;
    if (more) to[range->end - 1 - high] = value;
  }
  // The last block puts the pivots between the two.
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(&range->blocks, 1) == int(gridDim.x) - 1;
  }
  __syncthreads();
  if (!last) return;
  const volatile Range* all = range;
  for (int i = all->begin + all->below + int(threadIdx.x);
       i < all->end - all->above; i += int(blockDim.x)) {
    to[i] = all->pivot;
  }
}
__global__ void SortAll(int* data, int* scratch, int count) {
  LaunchSort(data, scratch, 0, count);
}

std::vector<int> RandomNumbers(int count, int most) {
  std::vector<int> numbers(count);
  unsigned state = 12345;
  for (int& number : numbers) {
    state = state * 1664525 + 1013904223;
    number = int(state >> 8) % most;
  }
  return numbers;
}
void TestSorts() {
  std::vector<int> numbers = RandomNumbers(1000, 500);
  int* data = ToDevice(numbers);
  SimpleQuicksort<<<1, 1>>>(data, 0, 999, 0);
  std::sort(numbers.begin(), numbers.end());
  EXPECT(ToHost(data, 1000) == numbers);

  for (int most : {100, 1 << 20}) {
    numbers = RandomNumbers(6000, most);
    data = ToDevice(numbers);
    int* scratch = ToDevice(numbers);
    SortAll<<<1, 1>>>(data, scratch, 6000);
    std::sort(numbers.begin(), numbers.end());
    EXPECT(ToHost(data, 6000) == numbers);
  }
}

// ---- Curves -----------------------------------------------------------------

struct Curve {
  float2 control[3];
  float2* points;
  int count;
};
constexpr int kMostPoints = 32;

__host__ __device__ float2 PointAt(const float2* p, float u) {
  const float v = 1 - u;
  return {v * v * p[0].x + 2 * u * v * p[1].x + u * u * p[2].x,
          v * v * p[0].y + 2 * u * v * p[1].y + u * u * p[2].y};
}
__host__ __device__ int PointsFor(const float2* p) {
  const float x = p[1].x - 0.5f * (p[0].x + p[2].x);
  const float y = p[1].y - 0.5f * (p[0].y + p[2].y);
  const int points = 4 + int(16 * sqrtf(x * x + y * y));
  return points < kMostPoints ? points : kMostPoints;
}
__global__ void Tessellate(Curve* curve) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= curve->count) return;
  curve->points[i] =
      PointAt(curve->control, float(i) / float(curve->count - 1));
}
__global__ void DivideCurves(Curve* curves, int count) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= count) return;
  curves[i].count = PointsFor(curves[i].control);
  cudaMalloc(reinterpret_cast<void**>(&curves[i].points),
             curves[i].count * sizeof(float2));
  Tessellate<<<(curves[i].count + 7) / 8, 8>>>(&curves[i]);
}
__global__ void Gather(Curve* curves, int count, float2* out) {
  const int i = int(threadIdx.x);
  if (i >= count) return;
  for (int k = 0; k < curves[i].count; ++k) {
    out[i * kMostPoints + k] = curves[i].points[k];
  }
  cudaFree(curves[i].points);
}
void TestCurves() {
  constexpr int kCurves = 64;
  std::vector<Curve> curves(kCurves);
  const std::vector<int> numbers = RandomNumbers(6 * kCurves, 1000);
  for (int i = 0; i < 6 * kCurves; ++i) {
    (&curves[i / 6].control[0].x)[i % 6] = numbers[i] * 0.001f;
  }
  Curve* device = ToDevice(curves);
  float2* out = ToDevice(std::vector<float2>(kCurves * kMostPoints));
  DivideCurves<<<2, 32>>>(device, kCurves);
  Gather<<<1, kCurves>>>(device, kCurves, out);
  const std::vector<Curve> divided = ToHost(device, kCurves);
  const std::vector<float2> points = ToHost(out, kCurves * kMostPoints);
  for (int i = 0; i < kCurves; ++i) {
    const int n = divided[i].count;
    // A square root may differ in its last bit.
    EXPECT(std::abs(n - PointsFor(curves[i].control)) <= 1 && n >= 4);
    for (int k = 0; k < n; ++k) {
      const float2 want = PointAt(curves[i].control, float(k) / float(n - 1));
      const float2 got = points[i * kMostPoints + k];
      EXPECT(std::fabs(got.x - want.x) < 1e-5f);
      EXPECT(std::fabs(got.y - want.y) < 1e-5f);
    }
  }
}

// ---- A tree of quadrants ----------------------------------------------------

struct Box {
  float x, y, size;
};
struct Node {
  Box box;
  int begin, end;
  int children;  // the first of four; 0: a leaf
};
constexpr int kMostInLeaf = 16;
constexpr int kDeepest = 8;

__device__ int QuadrantOf(float2 p, const Box& box) {
  return (p.x >= box.x + box.size / 2 ? 1 : 0) +
         (p.y >= box.y + box.size / 2 ? 2 : 0);
}
// A block for each node of one level; the points of a node change buffers.
template <int kBlock>
__global__ void BuildTree(Node* nodes, int* node_count, int first,
                          float2* points, float2* other, int depth) {
  __shared__ int counts[4], places[4], child;
  Node& node = nodes[first + blockIdx.x];
  const int size = node.end - node.begin;
  if (size <= kMostInLeaf || depth == kDeepest) {
    // All leaves' points stand in the first buffer.
    if (depth % 2 == 1) {
      for (int i = int(threadIdx.x); i < size; i += kBlock) {
        other[node.begin + i] = points[node.begin + i];
      }
    }
    return;
  }
  if (threadIdx.x < 4) counts[threadIdx.x] = 0;
  __syncthreads();
  for (int i = int(threadIdx.x); i < size; i += kBlock) {
    atomicAdd(&counts[QuadrantOf(points[node.begin + i], node.box)], 1);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    child = atomicAdd(node_count, 4);
    int at = node.begin;
    for (int q = 0; q < 4; ++q) {
      const float half = node.box.size / 2;
      nodes[child + q] = {{node.box.x + (q & 1) * half,
                           node.box.y + (q >> 1) * half, half},
                          at, at + counts[q], 0};
      places[q] = at;
      at += counts[q];
    }
    node.children = child;
  }
  __syncthreads();
  for (int i = int(threadIdx.x); i < size; i += kBlock) {
    const float2 p = points[node.begin + i];
    other[atomicAdd(&places[QuadrantOf(p, node.box)], 1)] = p;
  }
  __syncthreads();
  if (threadIdx.x == kBlock - 1) {
    BuildTree<kBlock><<<4, kBlock>>>(nodes, node_count, child, other, points,
                                     depth + 1);
  }
}
void TestTree() {
  constexpr int kPoints = 1000;
  const std::vector<int> numbers = RandomNumbers(2 * kPoints, 1 << 20);
  std::vector<float2> points(kPoints);
  for (int i = 0; i < kPoints; ++i) {
    const float x = numbers[2 * i] / float(1 << 20);
    points[i] = {x * x, numbers[2 * i + 1] / float(1 << 20)};
  }
  std::vector<Node> nodes(4000);
  nodes[0] = {{0, 0, 1}, 0, kPoints, 0};
  Node* device = ToDevice(nodes);
  int* count = ToDevice(std::vector<int>(1, 1));
  float2* first = ToDevice(points);
  float2* second = ToDevice(points);
  BuildTree<64><<<1, 64>>>(device, count, 0, first, second, 0);
  nodes = ToHost(device, 4000);
  const int made = ToHost(count, 1)[0];
  const std::vector<float2> sorted = ToHost(first, kPoints);
  EXPECT(made > 50 && made % 4 == 1 && made <= 4000);
  int covered = 0;
  for (int i = 0; i < made; ++i) {
    const Node& node = nodes[i];
    if (node.children != 0) {
      EXPECT(nodes[node.children].begin == node.begin);
      EXPECT(nodes[node.children + 3].end == node.end);
      continue;
    }
    covered += node.end - node.begin;
    for (int k = node.begin; k < node.end; ++k) {
      EXPECT(sorted[k].x >= node.box.x && sorted[k].y >= node.box.y);
      EXPECT(sorted[k].x <= node.box.x + node.box.size);
      EXPECT(sorted[k].y <= node.box.y + node.box.size);
    }
  }
  EXPECT(covered == kPoints);
  const auto less = [](float2 a, float2 b) {
    return a.x != b.x ? a.x < b.x : a.y < b.y;
  };
  std::vector<float2> same = sorted;
  std::sort(same.begin(), same.end(), less);
  std::sort(points.begin(), points.end(), less);
  for (int i = 0; i < kPoints; ++i) {
    EXPECT(same[i].x == points[i].x && same[i].y == points[i].y);
  }
}

int main() {
  TestPrint();
  TestSorts();
  TestCurves();
  TestTree();
  return Pass();
}
