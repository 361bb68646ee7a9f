// For the programs of this folder: a call that fails, or a value that is
// wrong, ends the program with its line and without PASS.
#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "../Inputs/check.h"

#define CHECK_DRIVER(call)                                      \
  do {                                                          \
    const CUresult error = (call);                              \
    if (error != CUDA_SUCCESS) {                                \
      std::printf("%d: %s: %d\n", __LINE__, #call, int(error)); \
      std::exit(1);                                             \
    }                                                           \
  } while (0)

#if CUDART_VERSION < 12000
// What CUDA 12 made of it.
inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec,
                                        cudaGraph_t graph, unsigned long long) {
  return cudaGraphInstantiate(exec, graph, nullptr, nullptr, 0);
}
struct cudaGraphExecUpdateResultInfo {
  cudaGraphExecUpdateResult result;
  cudaGraphNode_t errorNode;
};
inline cudaError_t cudaGraphExecUpdate(cudaGraphExec_t exec, cudaGraph_t graph,
                                       cudaGraphExecUpdateResultInfo* info) {
  return cudaGraphExecUpdate(exec, graph, &info->errorNode, &info->result);
}
#endif

inline int Pass() {
  std::puts("PASS");
  return 0;
}

// `data` moved to the device and back.
template <typename T>
T* ToDevice(const std::vector<T>& data) {
  T* device = nullptr;
  CHECK(cudaMalloc(&device, data.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, data.data(), data.size() * sizeof(T),
                   cudaMemcpyHostToDevice));
  return device;
}
template <typename T>
std::vector<T> ToHost(const T* device, std::size_t count) {
  std::vector<T> data(count);
  CHECK(cudaMemcpy(data.data(), device, count * sizeof(T),
                   cudaMemcpyDeviceToHost));
  return data;
}
