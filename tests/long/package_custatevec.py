"""NVIDIA's cuStateVec for jit_packages.py, whose kernels are there as PTX for
compute capability 10.0: gates and measurements of a state of six qubits."""
import ctypes

C64, C128 = 4, 5  # cudaDataType_t's CUDA_C_32F and CUDA_C_64F
DEFAULT = 0  # custatevecComputeType_t
TO_DEVICE, TO_HOST = 1, 2
QUBITS = 6


def check(status):
    assert status == 0, status


class State:
    """A random state on the device and what numpy says that it is."""

    def __init__(self, np, runtime, kind):
        generator = np.random.default_rng(1)
        self.np, self.runtime = np, runtime
        self.kind = kind
        values = (generator.standard_normal(2 ** QUBITS) +
                  1j * generator.standard_normal(2 ** QUBITS))
        values /= np.linalg.norm(values)
        self.expected = values.astype(
            np.complex64 if kind == C64 else np.complex128)
        self.device = ctypes.c_void_p()
        self.bytes = ctypes.c_size_t(self.expected.nbytes)
        check(runtime.cudaMalloc(ctypes.byref(self.device), self.bytes))
        check(runtime.cudaMemcpy(self.device, self.expected.ctypes.data_as(
            ctypes.c_void_p), self.bytes, TO_DEVICE))

    def compare(self):
        got = self.np.empty_like(self.expected)
        check(self.runtime.cudaMemcpy(
            got.ctypes.data_as(ctypes.c_void_p), self.device, self.bytes,
            TO_HOST))
        self.np.testing.assert_allclose(
            got, self.expected, atol=1e-6 if self.kind == C64 else 1e-14)

    def apply(self, matrix, target, control=None):
        """The matrix on one qubit, where another one is 1."""
        result = self.expected.copy()
        for i in range(2 ** QUBITS):
            if i >> target & 1 or (control is not None and
                                   not i >> control & 1):
                continue
            pair = [i, i | 1 << target]
            result[pair] = matrix @ self.expected[pair]
        self.expected = result


def custatevec():
    import numpy as np
    from device import open_installed
    runtime = open_installed("nvidia/cuda_runtime/lib/libcudart.so.12")
    for name in ("libcublasLt.so.12", "libcublas.so.12"):
        open_installed("nvidia/cublas/lib/" + name)
    vectors = open_installed("cuquantum/lib/libcustatevec.so.1")
    handle = ctypes.c_void_p()
    check(vectors.custatevecCreate(ctypes.byref(handle)))
    one = ctypes.c_int32 * 1
    generator = np.random.default_rng(2)
    for kind in (C64, C128):
        state = State(np, runtime, kind)
        place = (handle, state.device, kind, ctypes.c_uint32(QUBITS))
        for target, control in ((0, None), (2, None), (5, 1), (3, 4)):
            matrix = np.linalg.qr(
                generator.standard_normal((2, 2)) +
                1j * generator.standard_normal((2, 2)))[0].astype(
                    state.expected.dtype)
            check(vectors.custatevecApplyMatrix(
                *place, matrix.ctypes.data_as(ctypes.c_void_p), kind, 1, 0,
                one(target), 1, one(control or 0), None,
                0 if control is None else 1, DEFAULT, None,
                ctypes.c_size_t(0)))
            state.apply(matrix, target, control)
            state.compare()

        # exp(i * angle * X) of qubit 1.
        angle, pauli_x = 0.7, 1
        check(vectors.custatevecApplyPauliRotation(
            *place, ctypes.c_double(angle), one(pauli_x), one(1), 1, None,
            None, 0))
        state.apply(np.array([[np.cos(angle), 1j * np.sin(angle)],
                              [1j * np.sin(angle), np.cos(angle)]]), 1)
        state.compare()

        even, odd = ctypes.c_double(), ctypes.c_double()
        check(vectors.custatevecAbs2SumOnZBasis(
            *place, ctypes.byref(even), ctypes.byref(odd),
            (ctypes.c_int32 * 2)(0, 3), ctypes.c_uint32(2)))
        i = np.arange(2 ** QUBITS)
        weights = np.abs(state.expected) ** 2
        parity = (i ^ i >> 3) & 1
        np.testing.assert_allclose([even.value, odd.value],
                                   [weights[parity == 0].sum(),
                                    weights[parity == 1].sum()], rtol=1e-5)

        sums = np.zeros(4)
        check(vectors.custatevecAbs2SumArray(
            *place, sums.ctypes.data_as(ctypes.c_void_p),
            (ctypes.c_int32 * 2)(1, 4), ctypes.c_uint32(2), None, None,
            ctypes.c_uint32(0)))
        np.testing.assert_allclose(
            sums, np.bincount((i >> 1 & 1) | (i >> 4 & 1) << 1,
                              weights=weights), rtol=1e-5)

        # Measured as 1 in qubit 2: the rest goes, what stays is scaled.
        norm = weights[i >> 2 & 1 == 1].sum()
        check(vectors.custatevecCollapseOnZBasis(
            *place, ctypes.c_int32(1), one(2), ctypes.c_uint32(1),
            ctypes.c_double(norm)))
        state.expected = np.where(i >> 2 & 1 == 1,
                                  state.expected / np.sqrt(norm), 0).astype(
                                      state.expected.dtype)
        state.compare()
    check(vectors.custatevecDestroy(handle))
