"""Triton for jit_packages.py, without PyTorch: it takes any object with a
pointer and a type. LLVM makes its PTX, ptxas is to make machine code of it."""
import ctypes
import os
import tempfile

import numpy as np

NAMES = {"f4": "fp32", "f2": "fp16", "i4": "i32", "u1": "u8"}


class Array:
    """Memory of the device, as Triton wants to see it."""

    driver = None  # libcuda.so.1, with Triton's context

    def __init__(self, values):
        self.values = np.ascontiguousarray(values)
        self.dtype = NAMES[self.values.dtype.str[1:]]
        self.size = ctypes.c_size_t(self.values.nbytes)
        self.address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(self.address), self.size)
        self.call("cuMemcpyHtoD_v2", self.address, self.host_pointer(),
                  self.size)

    def call(self, name, *args):
        error = getattr(self.driver, name)(*args)
        assert error == 0, "%s: CUDA error %d" % (name, error)

    def host_pointer(self):
        return self.values.ctypes.data_as(ctypes.c_void_p)

    def data_ptr(self):
        return self.address.value

    def host(self):
        self.call("cuCtxSynchronize")
        self.call("cuMemcpyDtoH_v2", self.host_pointer(), self.address,
                  self.size)
        return self.values


def zeros(shape, kind=np.float32):
    return Array(np.zeros(shape, kind))


def triton():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        run_checks()


def triton_hopper():
    """As for compute capability 9.0: products of warpgroups (wgmma), and
    tensor maps that kernels make."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        run_checks()
        check_warpgroups()


def triton_blackwell():
    """As for compute capability 10.0: products with sums in tensor memory
    (tcgen05), also with a scale for each block."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TRITON_CACHE_DIR"] = folder
        run_checks()
        check_products_by_map(((64, 64, 32, 4), (128, 64, 32, 8),
                               (128, 128, 64, 4)),
                              ("tcgen05.mma.cta_group::1", "tcgen05.ld",
                               "tensormap.replace"))
        for kinds in ((E4M3, E4M3, 32), (E5M2, E4M3, 32), (E2M1, E2M1, 32),
                      (E2M1, E4M3, 32), (E4M3, E2M1, 32), (E2M1, E2M1, 16)):
            check_scaled(*kinds)


def check_warpgroups():
    check_products_by_map(((64, 64, 32, 4), (128, 64, 32, 8)),
                          ("wgmma.mma_async", "tensormap.replace",
                           "cp.async.bulk.tensor"))


def check_products_by_map(tiles, instructions):
    import package_triton_kernels as kernels
    import triton as package
    package.set_allocator(lambda size, align, stream: zeros(size // 4 + 64))
    random = np.random.default_rng(1)
    for kind in (np.float16, np.float32):
        # Small whole numbers: the products are exact.
        a = random.integers(-3, 4, (130, 192)).astype(kind)
        b = random.integers(-3, 4, (192, 256)).astype(kind)
        for m, n, k, warps in tiles:
            out = zeros((130, 256))
            compiled = kernels.matmul_by_map[(-(-130 // m), 256 // n)](
                Array(a), Array(b), out, 130, 256, 192, M=m, N=n, K=k,
                num_warps=warps, num_stages=2)
            for used in instructions:
                assert used in compiled.asm["ptx"], used
            np.testing.assert_array_equal(
                out.host(), a.astype(np.float32) @ b.astype(np.float32))


class Small:
    """Floats of 8 or 4 bits, as Triton names them: the number of a code."""

    def __init__(self, name, kind, bits, numbers):
        self.name, self.kind, self.bits = name, kind, bits
        self.numbers = np.array([*numbers, *(-x for x in numbers)], np.float32)

    def random(self, random, rows, count):
        """Codes as they lie in memory, and their numbers."""
        codes = random.integers(0, len(self.numbers), (rows, count))
        # Exponents near 0, so that sums in f32 lose little.
        if self.bits == 8:
            codes = codes % 2 * 128 + 0x28 + codes // 2 % 0x20
        numbers = self.numbers[codes]
        if self.bits == 4:
            codes = codes[:, ::2] | codes[:, 1::2] << 4
        array = Array(codes.astype(np.uint8))
        array.dtype = self.kind
        return array, numbers


def floats(exponents, mantissas, bias):
    for code in range(1 << exponents << mantissas):
        exponent, fraction = code >> mantissas, code & (1 << mantissas) - 1
        if exponent == 0:
            yield fraction * 2.0 ** (1 - bias - mantissas)
        else:
            yield (1 + fraction / (1 << mantissas)) * 2.0 ** (exponent - bias)


E4M3 = Small("e4m3", "fp8e4nv", 8, list(floats(4, 3, 7)))
E5M2 = Small("e5m2", "fp8e5", 8, list(floats(5, 2, 15)))
E2M1 = Small("e2m1", "u8", 4, list(floats(2, 1, 1)))


def check_scaled(of_a, of_b, block, m=128, n=64, k=256):
    import package_triton_kernels as kernels
    random = np.random.default_rng(2)
    a, a_numbers = of_a.random(random, m, k)
    b, b_numbers = of_b.random(random, n, k)
    out = zeros((m, n))
    scales = []
    for rows in (m, n):
        if block == 32:  # powers of two
            codes = random.integers(125, 130, (rows, k // block))
            numbers = 2.0 ** (codes.astype(np.float32) - 127)
            array = Array(codes.astype(np.uint8))
        else:
            codes = random.integers(0x30, 0x40, (rows, k // block))
            numbers = E4M3.numbers[codes]
            array = Array(codes.astype(np.uint8))
            array.dtype = "fp8e4nv"
        scales.append((array, np.repeat(numbers, block, 1)))
    compiled = kernels.scaled_product[(1,)](
        a, b, scales[0][0], scales[1][0], out, M=m, N=n, K=k, A=of_a.name,
        B=of_b.name, A_PER_BYTE=8 // of_a.bits, B_PER_BYTE=8 // of_b.bits,
        BLOCK=block, num_warps=4)
    assert ".block_scale" in compiled.asm["ptx"]
    want = (a_numbers * scales[0][1]).astype(float) @ (
        b_numbers * scales[1][1]).astype(float).T
    np.testing.assert_allclose(out.host(), want, rtol=1e-5,
                               atol=1e-6 * np.abs(want).max())


def run_checks():
    import package_triton_kernels as kernels
    import triton as package
    package.runtime.driver.active.get_current_device()
    Array.driver = ctypes.CDLL("libcuda.so.1")
    random = np.random.default_rng(0)

    x, y = random.random((2, 1000), dtype=np.float32)
    out = zeros(1000)
    kernels.add[(4,)](Array(x), Array(y), out, 1000, BLOCK=256)
    np.testing.assert_array_equal(out.host(), x + y)

    rows = random.standard_normal((7, 100)).astype(np.float32)
    out = zeros(rows.shape)
    kernels.softmax[(7,)](out, Array(rows), 100, BLOCK=128)
    powers = np.exp(rows - rows.max(1, keepdims=True))
    np.testing.assert_allclose(out.host(),
                               powers / powers.sum(1, keepdims=True),
                               rtol=1e-5)

    counts = zeros(16, np.int32)
    values = random.integers(0, 16, 1000).astype(np.int32)
    kernels.histogram[(4,)](Array(values), counts, 1000, BLOCK=256)
    np.testing.assert_array_equal(counts.host(),
                                  np.bincount(values, minlength=16))

    for kind, tolerance in ((np.float16, 2e-3), (np.float32, 1e-2)):
        a = random.standard_normal((64, 96)).astype(kind)
        b = random.standard_normal((96, 64)).astype(kind)
        out = zeros((64, 64))
        kernels.matmul[(2, 2)](Array(a), Array(b), out, 64, 64, 96, BLOCK=32)
        np.testing.assert_allclose(
            out.host(), a.astype(np.float32) @ b.astype(np.float32),
            rtol=tolerance, atol=tolerance)
