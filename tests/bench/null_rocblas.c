// A rocBLAS that does nothing, so that what is measured is what is above it.
#include <stddef.h>

static int handle;
int rocblas_create_handle(void** made) {
  *made = &handle;
  return 0;
}
int rocblas_destroy_handle(void* h) { return 0; }
int rocblas_set_stream(void* h, void* stream) { return 0; }
int rocblas_set_pointer_mode(void* h, int mode) { return 0; }
int rocblas_set_atomics_mode(void* h, int mode) { return 0; }
int rocblas_set_math_mode(void* h, int mode) { return 0; }
int rocblas_saxpy(void* h, int n, const float* alpha, const float* x, int incx,
                  float* y, int incy) {
  return 0;
}
