"""slangpy for jit_packages.py: Slang, which becomes CUDA C++ and by NVRTC
PTX."""
import os
import tempfile

FUNCTIONS = """
float saxpy(float a, float x, float y) { return a * x + y; }
float2x2 turn(float angle) {
  return float2x2(cos(angle), -sin(angle), sin(angle), cos(angle));
}
float2 turned(float angle, float2 v) { return mul(turn(angle), v); }
[Differentiable] float polynomial(float x) { return x * x * x + 2 * exp(-x); }
"""
KERNELS = """
StructuredBuffer<float> x;
RWStructuredBuffer<float> sums;
RWStructuredBuffer<uint> lanes;
uniform uint count;
groupshared float parts[64];

[shader("compute")] [numthreads(64, 1, 1)]
void total(uint3 id : SV_DispatchThreadID, uint3 at : SV_GroupThreadID,
           uint3 group : SV_GroupID) {
  parts[at.x] = id.x < count ? x[id.x] : 0;
  GroupMemoryBarrierWithGroupSync();
  for (uint step = 32; step > 0; step /= 2) {
    if (at.x < step) parts[at.x] += parts[at.x + step];
    GroupMemoryBarrierWithGroupSync();
  }
  if (at.x == 0) sums[group.x] = parts[0];
  uint odd = WaveActiveCountBits((at.x & 3) == 1);
  InterlockedAdd(lanes[WaveReadLaneFirst(at.x) / 32], odd);
}
"""


def check_kernel(np, package, device):
    random = np.random.default_rng(0)
    x = random.standard_normal(1000).astype(np.float32)
    usage = (package.BufferUsage.shader_resource |
             package.BufferUsage.unordered_access)

    def buffer(values):
        return device.create_buffer(element_count=len(values), struct_size=4,
                                    usage=usage, data=values)
    sums, lanes = buffer(np.zeros(16, np.float32)), buffer(
        np.zeros(2, np.uint32))
    program = device.load_program("kernels.slang", ["total"])
    device.create_compute_kernel(program).dispatch(
        thread_count=[1024, 1, 1],
        vars={"x": buffer(x), "sums": sums, "lanes": lanes, "count": len(x)})
    np.testing.assert_allclose(
        sums.to_numpy().view(np.float32),
        np.append(x, np.zeros(24)).reshape(16, 64).sum(1), atol=1e-5)
    # Each lane of a warp adds how many of its 32 are one of four.
    np.testing.assert_array_equal(lanes.to_numpy().view(np.uint32),
                                  [16 * 32 * 8] * 2)


def slangpy():
    import numpy as np
    import slangpy as package
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("functions", FUNCTIONS), ("kernels", KERNELS)):
            with open(os.path.join(folder, name + ".slang"), "w",
                      encoding="utf-8") as file:
                file.write(text)
        device = package.create_device(type=package.DeviceType.cuda,
                                       include_paths=[folder])
        module = package.Module.load_from_file(device, "functions.slang")
        x = np.linspace(-2, 2, 1000, dtype=np.float32)
        y = np.cos(x)
        np.testing.assert_allclose(module.saxpy(2.0, x, y, _result="numpy"),
                                   2 * x + y, rtol=1e-6, atol=1e-6)
        v = np.stack([x, y], 1)
        got = module.turned(x, v, _result="numpy")
        np.testing.assert_allclose(
            got.reshape(-1, 2),
            np.stack([np.cos(x) * x - np.sin(x) * y,
                      np.sin(x) * x + np.cos(x) * y], 1), atol=1e-5)
        at = package.Tensor.from_numpy(device, x).with_grads()
        value = module.polynomial(at)
        value = value.with_grads()
        value.grad.storage.copy_from_numpy(np.ones_like(x))
        module.polynomial.bwds(at, _result=value)
        np.testing.assert_allclose(value.to_numpy(), x ** 3 + 2 * np.exp(-x),
                                   rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(at.grad.to_numpy(),
                                   3 * x ** 2 - 2 * np.exp(-x),
                                   rtol=1e-4, atol=1e-4)
        check_kernel(np, package, device)
