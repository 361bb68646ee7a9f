#include <cstdio>
#include <cstdlib>

struct Node {
  int value;
  Node* next;
};
struct alignas(128) Wide {
  int words[32];
};

// Every thread builds a list of its own and gives it back.
__global__ void Lists(int* sums, int length) {
  Node* list = nullptr;
  for (int i = 1; i <= length; ++i) {
    Node* node = new Node;
    node->value = i * (threadIdx.x + 1);
    node->next = list;
    list = node;
  }
  int sum = 0;
  while (list) {
    Node* next = list->next;
    sum += list->value;
    delete list;
    list = next;
  }
  sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// One kernel allocates, another reads, a third frees.
__global__ void Make(char** blocks) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t size = 1 + id * 7 % 300;
  char* block = static_cast<char*>(malloc(size));
  for (size_t i = 0; block && i < size; ++i) block[i] = static_cast<char>(id);
  blocks[id] = block;
}
__global__ void Read(char** blocks, int* bad) {
  const int id = blockIdx.x * blockDim.x + threadIdx.x;
  const size_t size = 1 + id * 7 % 300;
  if (!blocks[id] || reinterpret_cast<size_t>(blocks[id]) % 16 != 0) {
    atomicAdd(bad, 1);
    return;
  }
  for (size_t i = 0; i < size; ++i) {
    if (blocks[id][i] != static_cast<char>(id)) atomicAdd(bad, 1);
  }
}
__global__ void Drop(char** blocks) {
  free(blocks[blockIdx.x * blockDim.x + threadIdx.x]);
}

__global__ void Edges(int* results, size_t heap) {
  void* most = malloc(heap - heap / 16);
  results[0] = most != nullptr;
  results[1] = malloc(heap / 2) == nullptr;  // full
  free(most);
  void* half = malloc(heap / 2);  // from the large block
  results[2] = half != nullptr;
  free(half);
  free(nullptr);
  Wide* wide = new Wide;
  results[3] = reinterpret_cast<size_t>(wide) % 128 == 0;
  delete wide;
  results[4] = malloc(size_t{1} << 62) == nullptr;
}

int main() {
  constexpr int kThreads = 256, kBlocks = 4;
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 4 << 20);
  size_t heap = 0;
  cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
  printf("heap %zu\n", heap);
  int* sums;
  cudaMallocManaged(&sums, kThreads * kBlocks * sizeof(int));
  int wrong = 0;
  for (int round = 0; round < 5; ++round) {
    Lists<<<kBlocks, kThreads>>>(sums, 20);
    cudaDeviceSynchronize();
    for (int i = 0; i < kThreads * kBlocks; ++i) {
      wrong += sums[i] != 210 * (i % kThreads + 1);
    }
  }
  printf("lists: %d wrong\n", wrong);
  // Kernels have used the heap: it keeps its size.
  printf("resize: %d\n", cudaDeviceSetLimit(cudaLimitMallocHeapSize, 1 << 20));
  cudaGetLastError();
  char** blocks;
  int* bad;
  cudaMalloc(&blocks, kThreads * kBlocks * sizeof(char*));
  cudaMallocManaged(&bad, sizeof(int));
  *bad = 0;
  for (int round = 0; round < 3; ++round) {
    Make<<<kBlocks, kThreads>>>(blocks);
    Read<<<kBlocks, kThreads>>>(blocks, bad);
    Drop<<<kBlocks, kThreads>>>(blocks);
  }
  cudaDeviceSynchronize();
  printf("blocks: %d bad\n", *bad);
  cudaDeviceReset();
  cudaDeviceSetLimit(cudaLimitMallocHeapSize, 2 << 20);
  int* results;
  cudaMallocManaged(&results, 5 * sizeof(int));
  Edges<<<1, 1>>>(results, 2 << 20);
  cudaDeviceSynchronize();
  for (int i = 0; i < 5; ++i) printf("edge %d: %d\n", i, results[i]);
  printf("%s\n", cudaGetErrorString(cudaGetLastError()));
}
