"""The devices that NVML shows, as a monitor asks for them."""
import ctypes

nvml = ctypes.CDLL("libnvidia-ml.so.1")
assert nvml.nvmlInit_v2() == 0
count = ctypes.c_uint()
assert nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0
for index in range(count.value):
    device = ctypes.c_void_p()
    name = ctypes.create_string_buffer(96)
    memory = (ctypes.c_ulonglong * 3)()
    assert nvml.nvmlDeviceGetHandleByIndex_v2(index, ctypes.byref(device)) == 0
    assert nvml.nvmlDeviceGetName(device, name, 96) == 0
    assert nvml.nvmlDeviceGetMemoryInfo(device, memory) == 0
    assert memory[0] == memory[1] + memory[2] > 1 << 30
    print(index, name.value.decode())
