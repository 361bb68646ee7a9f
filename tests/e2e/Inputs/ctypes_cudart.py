"""libcudart by ctypes alone, with a kernel by libcuda.

usage: ctypes_cudart.py FILE-OF-LIBCUDART
"""
import ctypes as c
import sys

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry square(.param .u64 p, .param .u32 n) {
  .reg .pred %q;
  .reg .b32 %r<4>;
  .reg .b64 %d<3>;
  .reg .f32 %f;
  ld.param.u64 %d0, [p];
  ld.param.u32 %r0, [n];
  mov.u32 %r1, %tid.x;
  setp.ge.u32 %q, %r1, %r0;
  @%q ret;
  mul.wide.u32 %d1, %r1, 4;
  add.s64 %d2, %d0, %d1;
  ld.global.f32 %f, [%d2];
  mul.f32 %f, %f, %f;
  st.global.f32 [%d2], %f;
  ret;
}
"""

runtime = c.CDLL(sys.argv[1])
driver = c.CDLL("libcuda.so.1")


def call(library, name, *args):
    result = getattr(library, name)(*args)
    assert result == 0, (name, result)


version = c.c_int()
call(runtime, "cudaRuntimeGetVersion", c.byref(version))
count = c.c_int()
call(runtime, "cudaGetDeviceCount", c.byref(count))
assert count.value == 1
# The name comes first in every version of the structure.
properties = c.create_string_buffer(8192)
call(runtime, "cudaGetDeviceProperties", properties, 0)
print(version.value, properties.value.decode())

memory = c.c_void_p()
call(runtime, "cudaMalloc", c.byref(memory), c.c_size_t(400))
data = (c.c_float * 100)(*range(100))
call(runtime, "cudaMemcpy", memory, data, c.c_size_t(400), 1)
module = c.c_void_p()
call(driver, "cuModuleLoadData", c.byref(module), PTX)
kernel = c.c_void_p()
call(driver, "cuModuleGetFunction", c.byref(kernel), module, b"square")
n = c.c_uint(100)
args = (c.c_void_p * 2)(c.addressof(memory), c.addressof(n))
call(driver, "cuLaunchKernel", kernel, 1, 1, 1, 128, 1, 1, 0, None, args, None)
call(runtime, "cudaDeviceSynchronize")
call(runtime, "cudaMemcpy", data, memory, c.c_size_t(400), 2)
assert list(data) == [i * i for i in range(100)]
call(runtime, "cudaFree", memory)
print("PASS")
