// Streams: order, priorities, queries, callbacks, host functions.
//
// RUN: %check %s %t
#include "program.h"

#include <atomic>

__global__ void Append(int* p, int value) { p[0] = p[0] * 10 + value; }

std::atomic<int> calls{0};
void CUDART_CB OnStream(cudaStream_t, cudaError_t status, void* data) {
  if (status == cudaSuccess) calls += *static_cast<int*>(data);
}
void CUDART_CB OnHost(void* data) { calls += *static_cast<int*>(data); }

int main() {
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  cudaStream_t urgent, plain, blocking;
  CHECK(cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking,
                                     greatest));
  CHECK(cudaStreamCreateWithFlags(&plain, cudaStreamNonBlocking));
  CHECK(cudaStreamCreate(&blocking));
  int priority = 99;
  CHECK(cudaStreamGetPriority(urgent, &priority));
  EXPECT(priority == greatest);
  unsigned flags = 0;
  CHECK(cudaStreamGetFlags(plain, &flags));
  EXPECT(flags == cudaStreamNonBlocking);
  unsigned long long a = 0, b = 0;
  CHECK(cudaStreamGetId(urgent, &a));
  CHECK(cudaStreamGetId(plain, &b));
  EXPECT(a != b);

  int* p = ToDevice(std::vector<int>{0});
  cudaEvent_t event;
  CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  Append<<<1, 1, 0, urgent>>>(p, 1);
  CHECK(cudaEventRecord(event, urgent));
  CHECK(cudaStreamWaitEvent(plain, event, 0));
  Append<<<1, 1, 0, plain>>>(p, 2);
  CHECK(cudaStreamSynchronize(plain));
  // The legacy stream and blocking ones wait for each other.
  Append<<<1, 1, 0, blocking>>>(p, 3);
  Append<<<1, 1>>>(p, 4);
  Append<<<1, 1, 0, blocking>>>(p, 5);
  CHECK(cudaStreamSynchronize(blocking));
  EXPECT(cudaStreamQuery(blocking) == cudaSuccess);
  EXPECT(ToHost(p, 1)[0] == 12345);

  int seven = 7, forty = 40;
  CHECK(cudaStreamAddCallback(plain, OnStream, &seven, 0));
  CHECK(cudaLaunchHostFunc(plain, OnHost, &forty));
  CHECK(cudaStreamSynchronize(plain));
  EXPECT(calls == 47);

  cudaStreamAttrValue value = {};
  value.syncPolicy = cudaSyncPolicySpin;
  CHECK(cudaStreamSetAttribute(
      plain, cudaStreamAttributeSynchronizationPolicy, &value));
  CHECK(cudaStreamCopyAttributes(urgent, plain));
  value.syncPolicy = cudaSyncPolicyAuto;
  CHECK(cudaStreamGetAttribute(
      urgent, cudaStreamAttributeSynchronizationPolicy, &value));
  EXPECT(value.syncPolicy == cudaSyncPolicySpin);
  CHECK(cudaStreamDestroy(urgent));
  CHECK(cudaStreamDestroy(plain));
  CHECK(cudaStreamDestroy(blocking));
  return Pass();
}
