// What the benchmarks of cuBLAS beside other libraries share.
#ifndef CERBERUS_TESTS_BENCH_CUBLAS_CALL_H_
#define CERBERUS_TESTS_BENCH_CUBLAS_CALL_H_

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

// NVIDIA's header may not be there.
extern "C" {
int cublasCreate_v2(void**);
int cublasDestroy_v2(void*);
int cublasSgemm_v2(void*, int, int, int, int, int, const float*, const float*,
                   int, const float*, int, const float*, float*, int);
int cublasSaxpy_v2(void*, int, const float*, const float*, int, float*, int);
}

// The same of hipBLAS and rocBLAS.
using Axpy = int (*)(void*, int, const float*, const float*, int, float*, int);

inline void Check(int status, const char* what) {
  if (status == 0) return;
  std::fprintf(stderr, "%s: %d\n", what, status);
  std::exit(1);
}

template <typename F>
F Find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  Check(found == nullptr, name);
  return reinterpret_cast<F>(found);
}

#endif  // CERBERUS_TESTS_BENCH_CUBLAS_CALL_H_
