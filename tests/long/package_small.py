"""kedm, osqp-cu12, pyimagecuda and pyqrack-cuda for jit_packages.py: small
packages with kernels of their own."""
import os


def check_local_fits(np, kedm):
    """S-Map: a weighted fit at each point, by cublasSgelsBatched."""
    series = np.empty(200)
    series[0] = 0.4
    for i in range(199):
        series[i + 1] = 3.8 * series[i] * (1 - series[i])
    series = series.astype(np.float32)
    known, asked = series[:100], series[100:]

    def embedded(values, size):
        return np.stack([values[j:len(values) - (size - 1 - j)]
                         for j in range(size)], 1)

    for size, locality in ((1, 0.), (1, 2.), (2, 1.5), (3, 4.)):
        before = embedded(known, size)[:-1]
        after = known[size:size + len(before)]
        want = []
        for point in embedded(asked, size):
            apart = np.sqrt(((before - point) ** 2).sum(1))
            weight = np.exp(-locality * apart / apart.mean())
            fit = np.linalg.lstsq(
                np.c_[np.ones(len(before)), before] * weight[:, None],
                weight * after, rcond=None)[0]
            want.append(fit[0] + fit[1:] @ point)
        got = kedm.smap(known, asked, target=known, E=size, theta=locality)
        np.testing.assert_allclose(got, want[:len(got)], atol=1e-4)
    assert kedm.eval_simplex(known, asked, E=2) > 0.99


def kedm():
    import kedm as package
    import numpy as np
    check_local_fits(np, package)


def osqp():
    """Quadratic programs, with its algebra for the processor."""
    import numpy as np
    import osqp as package
    import scipy.sparse as sparse
    from device import open_installed

    open_installed("nvidia/cuda_runtime/lib/libcudart.so.*")
    random = np.random.default_rng(0)
    for n, m in ((20, 30), (100, 150)):
        root = sparse.random(n, n, 0.1, random_state=1)
        square = sparse.triu(root @ root.T + sparse.eye(n), format="csc")
        limits = sparse.random(m, n, 0.2, random_state=2).tocsc()
        q, lower, upper = (random.standard_normal(n), -random.random(m),
                           random.random(m))
        found = {}
        for algebra in ("builtin", "cuda"):
            problem = package.OSQP(algebra=algebra)
            problem.setup(square, q, limits, lower, upper, eps_abs=1e-5,
                          eps_rel=1e-5, max_iter=20000, verbose=False)
            first = problem.solve().x.copy()
            problem.update(q=q * 1.5)
            found[algebra] = np.r_[first, problem.solve().x]
        np.testing.assert_allclose(found["cuda"], found["builtin"], atol=1e-3)


def pyimagecuda():
    import numpy as np
    import pyimagecuda as package
    random = np.random.default_rng(0)
    a, b = random.random((2, 37, 53, 4)).astype(np.float32)
    a[..., 3] = b[..., 3] = 1

    def check(got, want):
        want = np.concatenate([want[..., :3], np.ones_like(want[..., 3:])], 2)
        np.testing.assert_allclose(package.to_numpy(got), want, atol=1e-5)

    for name, blended in (("multiply", a * b), ("screen", a + b - a * b),
                          ("add", np.minimum(1, a + b))):
        image = package.from_numpy(a)
        getattr(package.Blend, name)(image, package.from_numpy(b))
        check(image, blended)
    image = package.from_numpy(a)
    package.Adjust.gamma(image, 2.0)
    check(image, np.sqrt(a))
    check(package.Transform.rotate(package.from_numpy(a), 90.),
          np.rot90(a, -1))
    weights = np.exp(-np.arange(-3, 4) ** 2 / 4.5)
    blurred = a.astype(np.float64)
    for axis in (0, 1):
        wide = np.pad(blurred, [(3, 3) if i == axis else (0, 0)
                                for i in range(3)], mode="edge")
        blurred = sum(w * np.take(wide, range(i, i + a.shape[axis]), axis)
                      for i, w in enumerate(weights / weights.sum()))
    check(package.Filter.gaussian_blur(package.from_numpy(a), radius=3,
                                       sigma=1.5), blurred)


def applied(np, state, gate, target, controls=()):
    place = np.arange(len(state))
    here = place >> target & 1 == 0
    for control in controls:
        here &= place >> control & 1 == 1
    low = place[here]
    high = low | 1 << target
    out = state.copy()
    out[low] = gate[0, 0] * state[low] + gate[0, 1] * state[high]
    out[high] = gate[1, 0] * state[low] + gate[1, 1] * state[high]
    return out


def pyqrack():
    # It reads the device's memory before it has asked for it.
    os.environ["QRACK_MAX_ALLOC_MB"] = "1000"
    import numpy as np
    from pyqrack import QrackSimulator
    random = np.random.default_rng(0)
    qubits = 11
    simulator = QrackSimulator(
        qubits, isTensorNetwork=False, isSchmidtDecompose=False,
        isStabilizerHybrid=False, isBinaryDecisionTree=False, isPaged=False,
        isCpuGpuHybrid=False)
    state = np.zeros(2 ** qubits, complex)
    state[0] = 1
    for step in range(80):
        target = int(random.integers(qubits))
        control = int((target + 1 + random.integers(qubits - 1)) % qubits)
        gate = np.linalg.qr(random.standard_normal((2, 2)) +
                            1j * random.standard_normal((2, 2)))[0]
        if step % 2:
            simulator.mtrx(list(gate.ravel()), target)
            state = applied(np, state, gate, target)
        else:
            simulator.mcmtrx([control], list(gate.ravel()), target)
            state = applied(np, state, gate, target, [control])
    # But for a phase of the whole.
    assert abs(abs(np.vdot(state, simulator.out_ket())) - 1) < 1e-5
    for qubit in range(qubits):
        ones = np.arange(len(state)) >> qubit & 1 == 1
        assert abs(simulator.prob(qubit) -
                   (abs(state[ones]) ** 2).sum()) < 1e-4
