"""quadrants, which began as taichi, for jit_packages.py."""


def quadrants():
    import numpy as np
    import quadrants as qd
    qd.init(arch=qd.cuda, offline_cache=False)

    @qd.kernel
    def functions(x: qd.types.ndarray(), y: qd.types.ndarray()):
        for i in x:
            y[i] = x[i] * 2 + qd.sin(x[i]) * qd.exp(-x[i])

    x = np.linspace(0, 5, 1000).astype(np.float32)
    y = np.zeros_like(x)
    functions(x, y)
    np.testing.assert_allclose(y, 2 * x + np.sin(x) * np.exp(-x), atol=1e-5)

    total = qd.field(qd.f32, shape=())
    parts = qd.field(qd.i32, shape=64)

    @qd.kernel
    def sums():
        for i in range(10000):
            total[None] += 1.0
            qd.atomic_add(parts[i % 64], i)

    sums()
    assert total[None] == 10000
    np.testing.assert_array_equal(
        parts.to_numpy(), [sum(range(k, 10000, 64)) for k in range(64)])

    matrices = qd.Matrix.field(3, 3, qd.f32, shape=8)

    @qd.kernel
    def inverses():
        for i in matrices:
            a = qd.Matrix([[2.0, 1, 0], [1, 3, 1], [0, 1, 4]]) * (i + 1.0)
            matrices[i] = a.inverse() @ a

    inverses()
    np.testing.assert_allclose(matrices.to_numpy(),
                               np.broadcast_to(np.eye(3), (8, 3, 3)), atol=1e-6)
