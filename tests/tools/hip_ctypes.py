"""The HIP calls that tests need, through ctypes."""

import ctypes
import os


class HipError(Exception):
    pass


class Hip:
    """One loaded libamdhip64 and its current device."""

    def __init__(self, path, target):
        os.environ["CERBERUS_EMU_TARGETS"] = target
        self.lib = ctypes.CDLL(path)
        self.lib.hipGetErrorName.restype = ctypes.c_char_p
        self.check(self.lib.hipInit(0))

    def check(self, error):
        if error != 0:
            raise HipError(self.lib.hipGetErrorName(error).decode())

    def malloc(self, size):
        pointer = ctypes.c_void_p()
        self.check(self.lib.hipMalloc(ctypes.byref(pointer),
                                      ctypes.c_size_t(size)))
        return pointer

    def free(self, pointer):
        self.check(self.lib.hipFree(pointer))

    def upload(self, data):
        pointer = self.malloc(len(data))
        self.check(self.lib.hipMemcpy(pointer, data,
                                      ctypes.c_size_t(len(data)), 1))
        return pointer

    def download(self, pointer, size):
        buffer = ctypes.create_string_buffer(size)
        self.check(self.lib.hipMemcpy(buffer, pointer, ctypes.c_size_t(size),
                                      2))
        return buffer.raw

    def load(self, image):
        module = ctypes.c_void_p()
        self.check(self.lib.hipModuleLoadData(ctypes.byref(module), image))
        return module

    def function(self, module, name):
        function = ctypes.c_void_p()
        self.check(self.lib.hipModuleGetFunction(ctypes.byref(function),
                                                 module, name.encode()))
        return function

    def launch(self, function, grid, block, args, shared=0):
        """Runs a kernel on pointers and waits for its end."""
        values = [a if isinstance(a, ctypes._SimpleCData) else
                  ctypes.c_void_p(a) for a in args]
        pointers = (ctypes.c_void_p * len(values))(
            *[ctypes.cast(ctypes.byref(v), ctypes.c_void_p) for v in values])
        self.check(self.lib.hipModuleLaunchKernel(
            function, grid, 1, 1, block, 1, 1, shared, None, pointers, None))
        self.check(self.lib.hipDeviceSynchronize())

    def reset(self):
        self.check(self.lib.hipDeviceReset())
