// A program of the CUDA driver API: no kernel is compiled with it. It hands
// PTX text to the driver when it runs, finds a kernel and a variable in the
// module by name, and launches the kernel on a stream.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                        \
  do {                                                                     \
    CUresult status = (call);                                              \
    if (status != CUDA_SUCCESS) {                                          \
      const char* name = "unknown error";                                  \
      cuGetErrorName(status, &name);                                       \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call,   \
                   name);                                                  \
      std::exit(1);                                                        \
    }                                                                      \
  } while (0)

// y[i] = factor * x[i] + y[i], where factor is a variable of the module.
const char kSaxpy[] = R"(
.version 7.0
.target sm_52
.address_size 64

.visible .global .align 4 .f32 factor = 0f3F800000;

.visible .entry saxpy(
    .param .u64 x,
    .param .u64 y,
    .param .u32 n
)
{
    .reg .pred %p<2>;
    .reg .b32 %r<6>;
    .reg .f32 %f<5>;
    .reg .b64 %rd<8>;

    ld.param.u64    %rd1, [x];
    ld.param.u64    %rd2, [y];
    ld.param.u32    %r1, [n];
    mov.u32         %r2, %ctaid.x;
    mov.u32         %r3, %ntid.x;
    mov.u32         %r4, %tid.x;
    mad.lo.s32      %r5, %r2, %r3, %r4;
    setp.ge.s32     %p1, %r5, %r1;
    @%p1 bra        done;

    cvta.to.global.u64  %rd3, %rd1;
    cvta.to.global.u64  %rd4, %rd2;
    mul.wide.s32    %rd5, %r5, 4;
    add.s64         %rd6, %rd3, %rd5;
    add.s64         %rd7, %rd4, %rd5;
    ld.global.f32   %f1, [%rd6];
    ld.global.f32   %f2, [%rd7];
    ld.global.f32   %f3, [factor];
    fma.rn.f32      %f4, %f3, %f1, %f2;
    st.global.f32   [%rd7], %f4;
done:
    ret;
}
)";

int main() {
  CUdevice device;
  CUcontext context;
  CUmodule module;
  CUfunction saxpy;
  CHECK(cuInit(0));
  CHECK(cuDeviceGet(&device, 0));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, kSaxpy));
  CHECK(cuModuleGetFunction(&saxpy, module, "saxpy"));

  CUdeviceptr device_factor;
  size_t factor_size;
  CHECK(cuModuleGetGlobal(&device_factor, &factor_size, module, "factor"));
  float initial = 0.0f;
  CHECK(cuMemcpyDtoH(&initial, device_factor, sizeof(initial)));
  const float factor = 2.5f;
  CHECK(cuMemcpyHtoD(device_factor, &factor, sizeof(factor)));

  int n = 10000;
  const size_t bytes = n * sizeof(float);
  std::vector<float> x(n), y(n), out(n);
  for (int i = 0; i < n; ++i) {
    x[i] = 0.25f * i;
    y[i] = 10.0f - i;
  }
  CUdeviceptr device_x, device_y;
  CUstream stream;
  CHECK(cuMemAlloc(&device_x, bytes));
  CHECK(cuMemAlloc(&device_y, bytes));
  CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK(cuMemcpyHtoDAsync(device_x, x.data(), bytes, stream));
  CHECK(cuMemcpyHtoDAsync(device_y, y.data(), bytes, stream));
  void* arguments[] = {&device_x, &device_y, &n};
  CHECK(cuLaunchKernel(saxpy, (n + 127) / 128, 1, 1, 128, 1, 1, 0, stream,
                       arguments, nullptr));
  CHECK(cuMemcpyDtoHAsync(out.data(), device_y, bytes, stream));
  CHECK(cuStreamSynchronize(stream));

  int errors = 0;
  if (initial != 1.0f || factor_size != sizeof(float)) {
    std::printf("factor is %g (%zu bytes), expected 1 (4 bytes)\n", initial,
                factor_size);
    ++errors;
  }
  for (int i = 0; i < n; ++i) {
    float expected = factor * x[i] + y[i];  // exact in these numbers
    if (out[i] != expected && errors++ < 5) {
      std::printf("y[%d] is %g, expected %g\n", i, out[i], expected);
    }
  }
  CHECK(cuStreamDestroy(stream));
  CHECK(cuMemFree(device_x));
  CHECK(cuMemFree(device_y));
  CHECK(cuModuleUnload(module));
  CHECK(cuDevicePrimaryCtxRelease(device));
  std::printf("driver_ptx: saxpy of %d elements from PTX text: %s\n", n,
              errors ? "FAIL" : "PASS");
  return errors ? 1 : 0;
}
