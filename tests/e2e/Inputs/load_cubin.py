"""Loads each file as a module, as a program does that took it from ptxas, and
runs its kernel `scale(float* p, float by)`: a call that fails or a wrong value
is an error."""
import ctypes
import sys

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    error = getattr(cuda, name)(*args)
    if error != 0:
        sys.exit("%s: CUDA error %d" % (name, error))


call("cuInit", 0)
context = ctypes.c_void_p()
call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
call("cuCtxSetCurrent", context)
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        code = file.read()
    module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
    call("cuModuleLoadData", ctypes.byref(module), code)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"scale")
    values = (ctypes.c_float * 32)(*range(32))
    there, by = ctypes.c_uint64(), ctypes.c_float(3)
    size = ctypes.c_size_t(ctypes.sizeof(values))
    call("cuMemAlloc_v2", ctypes.byref(there), size)
    call("cuMemcpyHtoD_v2", there, values, size)
    parameters = (ctypes.c_void_p * 2)(
        ctypes.cast(ctypes.byref(there), ctypes.c_void_p),
        ctypes.cast(ctypes.byref(by), ctypes.c_void_p))
    call("cuLaunchKernel", kernel, 1, 1, 1, 32, 1, 1, 0, None, parameters,
         None)
    call("cuMemcpyDtoH_v2", values, there, size)
    if list(values) != [3.0 * i for i in range(32)]:
        sys.exit("%s: wrong values %s" % (path, list(values)))
    print("PASS")
