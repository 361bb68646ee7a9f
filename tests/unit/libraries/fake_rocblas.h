// What tests ask of the rocBLAS that stands in for AMD's (fake_rocblas.cc).
#ifndef CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_ROCBLAS_H_
#define CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_ROCBLAS_H_

namespace cerberus::libraries::tests {

// Its functions, by these names.
struct FakeRocblas {
  // HIP's stream of one of CUDA's, in which calls go from now on.
  void (*fake_rocblas_stream)(void* hip, void* cuda);
  // How often a function was called, under its whole name.
  int (*fake_rocblas_calls)(const char* symbol);
  // The last call: "rocblas_sgemm 112 111 3 4 2 p p 3 p 2 p p 3", pointers as p
  // or 0.
  const char* (*fake_rocblas_last)();
  // The next call does nothing and answers so.
  void (*fake_rocblas_answer)(int status);
  // What the handle of the last call was set to.
  void* (*fake_rocblas_hip_stream)();
  const void* (*fake_rocblas_handle)();           // which
  int (*fake_rocblas_setting)(const char* name);  // "pointer_mode", …
};

// Null unless CERBERUS_LIBRARY_PROVIDER=rocm has the tests run over it.
const FakeRocblas* FindFakeRocblas();

}  // namespace cerberus::libraries::tests

#endif  // CERBERUS_TESTS_UNIT_LIBRARIES_FAKE_ROCBLAS_H_
