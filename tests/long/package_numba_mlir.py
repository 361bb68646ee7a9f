"""numba-cuda-mlir for jit_packages.py: NVIDIA's other compiler for Numba's
kernels, and what is asked of either."""


def check_kernels(cuda):
    """Elements, shared memory, atomics, functions in f64."""
    import math
    import numpy as np

    @cuda.jit
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.shape[0]:
            y[i] = a * x[i] + y[i]

    x = np.arange(1000, dtype=np.float32)
    y = np.ones(1000, dtype=np.float32)
    saxpy[8, 128](np.float32(2), x, y)
    np.testing.assert_array_equal(y, 2 * x + 1)

    @cuda.jit
    def total(x, out):
        part = cuda.shared.array(128, np.float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        part[t] = x[i] if i < x.shape[0] else np.float32(0)
        step = 64
        while step > 0:
            cuda.syncthreads()
            if t < step:
                part[t] += part[t + step]
            step //= 2
        if t == 0:
            cuda.atomic.add(out, 0, part[0])

    out = np.zeros(1, dtype=np.float32)
    total[8, 128](x, out)
    assert out[0] == x.sum()

    @cuda.jit
    def functions(x, out):
        i = cuda.grid(1)
        out[i] = math.sin(x[i]) + math.exp(-x[i]) * math.log(1 + x[i])

    wide = np.linspace(0, 20, 256)
    result = np.zeros(256)
    functions[2, 128](wide, result)
    np.testing.assert_allclose(
        result, np.sin(wide) + np.exp(-wide) * np.log(1 + wide), rtol=1e-12,
        atol=1e-14)


def numba_mlir():
    from numba_cuda_mlir import cuda
    check_kernels(cuda)
