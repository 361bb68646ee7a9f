"""cupy for whole_wheels.py: what its own libraries hold, from prebuilt code, and
arrays, whose kernels it makes when they are needed, with products and
transforms by our cuBLAS and cuFFT; compared with numpy."""
import os
import subprocess
import sys

EXPRESSIONS = """
import cupy as cp
import numpy as np
random = np.random.default_rng(5)
x = random.standard_normal(5000).astype(np.float32)
keys = random.integers(0, 50, 5000)
gx, gkeys = cp.asarray(x), cp.asarray(keys)
np.testing.assert_allclose(
    cp.asnumpy(cp.sin(gx) * cp.sqrt(abs(gx)) + gx.mean()),
    np.sin(x) * np.sqrt(abs(x)) + x.mean(), rtol=1e-4, atol=1e-5)
np.testing.assert_array_equal(cp.asnumpy(cp.sort(gx)), np.sort(x))
np.testing.assert_array_equal(cp.asnumpy(cp.lexsort(cp.stack((gx, gx * gx)))),
                              np.lexsort((x, x * x)))
np.testing.assert_array_equal(cp.asnumpy(cp.cumsum(gkeys)), np.cumsum(keys))
np.testing.assert_array_equal(cp.asnumpy(gkeys[gx > 0]), keys[x > 0])
for kind, near in (("f4", 1e-4), ("f8", 1e-12), ("c16", 1e-12)):
    a = random.standard_normal((40, 30)).astype(kind)
    b = random.standard_normal((30, 20)).astype(kind)
    ga, gb = cp.asarray(a), cp.asarray(b)
    for found, expected in (
            (ga @ gb, a @ b), (cp.dot(ga[0], ga[1]), np.dot(a[0], a[1])),
            (cp.einsum("ij,kj->ik", ga, ga), a @ a.T),
            (cp.tensordot(ga, gb, 1), np.tensordot(a, b, 1)),
            (cp.linalg.norm(ga), np.linalg.norm(a)),
            (cp.fft.fft2(ga), np.fft.fft2(a)),
            (cp.fft.ifft(ga, axis=0), np.fft.ifft(a, axis=0))):
        np.testing.assert_allclose(cp.asnumpy(found), expected, rtol=near,
                                   atol=near * 100)
"""


def check_libraries():
    import cupy as cp
    import numpy as np
    from cupy.cuda import thrust
    random = np.random.default_rng(3)
    for kind in (np.float32, np.float64, np.int64, np.uint64):
        x = (random.standard_normal(5000) * 1000).astype(np.int64).astype(kind)
        there = cp.asarray(x)
        assert there.max().get() == x.max() and there.min().get() == x.min()
        np.testing.assert_allclose(there.sum().get(), x.sum(dtype=(
            np.float64 if kind == np.float32 else None)), rtol=1e-4)
        thrust.sort(there.dtype, there.data.ptr, 0, there.shape)
        np.testing.assert_array_equal(there.get(), np.sort(x))
    generator = cp.random.Generator(cp.random.XORWOW(7))
    even, normal = (draw(20000).get() for draw in (
        generator.random, generator.standard_normal))
    assert 0 <= even.min() and even.max() <= 1
    assert abs(even.mean() - 0.5) < 0.01 and abs(even.var() - 1 / 12) < 0.005
    assert abs(normal.mean()) < 0.03 and abs(normal.std() - 1) < 0.03


def cupy():
    check_libraries()
    subprocess.run([sys.executable, "-c", EXPRESSIONS], check=True,
                   env=dict(os.environ, CUDA_DISABLE_PTX_JIT="0"))
