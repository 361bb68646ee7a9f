// Events of all streams of a context at once.
//
// RUN: %check %s %t
#include "program.h"

#include <atomic>
#include <thread>

std::atomic<bool> open_gate{false};

void HoldBack(void*) {
  while (!open_gate) std::this_thread::yield();
}

int main() {
  CHECK(cudaSetDevice(0));
  CHECK(cudaFree(nullptr));
  CUcontext context;
  CHECK_DRIVER(cuCtxGetCurrent(&context));
  unsigned* p = ToDevice(std::vector<unsigned>(2, 0));
  cudaStream_t busy, idle;
  CHECK(cudaStreamCreateWithFlags(&busy, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&idle, cudaStreamNonBlocking));
  CUevent event;
  CHECK_DRIVER(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));

  // Not over before what any stream had at the time.
  CHECK(cudaLaunchHostFunc(busy, HoldBack, nullptr));
  CHECK_DRIVER(cuCtxRecordEvent(context, event));
  EXPECT(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
  CHECK(cudaStreamSynchronize(idle));

  // All streams wait, those that were there and one that is new.
  CHECK_DRIVER(cuCtxWaitEvent(context, event));
  cudaStream_t late;
  CHECK(cudaStreamCreateWithFlags(&late, cudaStreamNonBlocking));
  EXPECT(cudaStreamQuery(idle) == cudaErrorNotReady);
  EXPECT(cudaStreamQuery(late) == cudaErrorNotReady);
  open_gate = true;
  CHECK_DRIVER(cuEventSynchronize(event));
  CHECK(cudaMemsetAsync(p, 1, 4, idle));
  CHECK(cudaMemsetAsync(p + 1, 2, 4, late));
  CHECK(cudaStreamSynchronize(busy));
  CHECK(cudaStreamSynchronize(idle));
  CHECK(cudaStreamSynchronize(late));
  EXPECT((ToHost(p, 2) == std::vector<unsigned>{0x01010101, 0x02020202}));

  // A stream that is gone is no longer asked.
  CHECK(cudaStreamDestroy(busy));
  CHECK_DRIVER(cuCtxRecordEvent(context, event));
  CHECK_DRIVER(cuEventSynchronize(event));
  EXPECT(cuCtxRecordEvent(nullptr, event) == CUDA_ERROR_INVALID_CONTEXT);
  EXPECT(cuCtxWaitEvent(context, nullptr) == CUDA_ERROR_INVALID_HANDLE);
  return Pass();
}
