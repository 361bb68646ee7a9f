"""cuBLAS against scipy's BLAS and LAPACK; run by numpy_judges.py."""
import ctypes

import numpy
import scipy.linalg.blas

from judge import TYPES, Device, Library, numbers


def run(judge):
    blas = Library("libcublas.so.13")
    random = numpy.random.default_rng(1)
    handle = ctypes.c_void_p()
    blas("cublasCreate_v2", ctypes.byref(handle))

    def axpy(letter, dtype, n, end):
        x, y = numbers(random, dtype, n), numbers(random, dtype, n)
        dx, dy = Device(x), Device(y)
        blas("cublas%saxpy_v2%s" % (letter, end), handle, n, dtype(3), dx, 1,
             dy, 1)
        expected = getattr(scipy.linalg.blas, letter.lower() + "axpy")(
            x, y.copy(), a=3)
        judge.near("y", dy.get(), expected)

    for letter, dtype in TYPES.items():
        for n in (1, 7, 1000):
            for end in ("", "_64"):
                judge.case("%saxpy%s %d" % (letter, end, n), axpy, letter,
                           dtype, n, end)
    return blas.called
