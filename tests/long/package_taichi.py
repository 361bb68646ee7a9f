"""taichi for jit_packages.py: LLVM's NVPTX back-end makes its PTX."""


def check_numbers(ti, np):
    x = np.linspace(0.1, 3, 300)
    single, double = ti.ndarray(ti.f32, 300), ti.ndarray(ti.f64, 300)
    single.from_numpy(x.astype(np.float32))
    double.from_numpy(x)

    @ti.func
    def sum_of_functions(v):
        return (ti.sin(v) + ti.exp(v) * ti.sqrt(v) + ti.pow(v, 1.5) +
                ti.tanh(v) + ti.log(v) + ti.acos(v / 4))

    @ti.kernel
    def functions(a: ti.types.ndarray(), b: ti.types.ndarray()):
        for i in range(a.shape[0]):
            a[i] = sum_of_functions(a[i])
            b[i] = sum_of_functions(b[i])

    functions(single, double)
    expected = (np.sin(x) + np.exp(x) * np.sqrt(x) + x ** 1.5 + np.tanh(x) +
                np.log(x) + np.arccos(x / 4))
    np.testing.assert_allclose(single.to_numpy(), expected, rtol=2e-6,
                               atol=1e-6)
    np.testing.assert_allclose(double.to_numpy(), expected, rtol=1e-13,
                               atol=1e-14)

    halves = ti.field(ti.f16, shape=100)

    @ti.kernel
    def fill():
        for i in halves:
            halves[i] = ti.cast(i, ti.f16) * 0.25 + 1

    fill()
    np.testing.assert_array_equal(halves.to_numpy(),
                                  np.arange(100) * 0.25 + 1)


def check_atomics(ti, np):
    values = np.random.default_rng(1).integers(-1000, 1000, 3000)
    values = values.astype(np.int32)
    x = ti.field(ti.i32, shape=3000)
    total = ti.field(ti.i64, shape=())
    largest = ti.field(ti.f32, shape=())
    histogram = ti.field(ti.i32, shape=16)
    bits = ti.field(ti.u32, shape=())
    x.from_numpy(values)

    @ti.kernel
    def collect():
        for i in x:
            total[None] += x[i]
            ti.atomic_max(largest[None], ti.cast(x[i], ti.f32) + 0.5)
            histogram[x[i] & 15] += 1
            ti.atomic_xor(bits[None], ti.cast(x[i], ti.u32))

    collect()
    assert total[None] == values.sum()
    assert largest[None] == values.max() + 0.5
    np.testing.assert_array_equal(histogram.to_numpy(),
                                  np.bincount(values & 15, minlength=16))
    assert bits[None] == np.bitwise_xor.reduce(values.view(np.uint32))


def check_blocks_and_warps(ti, np):
    x, y = ti.field(ti.f32, shape=1024), ti.field(ti.f32, shape=1024)
    values = np.arange(1024, dtype=np.float32)
    x.from_numpy(values)

    @ti.kernel
    def reverse():
        ti.loop_config(block_dim=256)
        for i in range(1024):
            shared = ti.simt.block.SharedArray((256,), ti.f32)
            shared[i % 256] = x[i]
            ti.simt.block.sync()
            y[i] = shared[255 - i % 256]

    reverse()
    np.testing.assert_array_equal(y.to_numpy(),
                                  values.reshape(4, 256)[:, ::-1].ravel())

    down, votes = ti.field(ti.i32, shape=64), ti.field(ti.i32, shape=64)

    @ti.kernel
    def lanes():
        ti.loop_config(block_dim=64)
        for i in range(64):
            down[i] = ti.simt.warp.shfl_down_i32(ti.u32(0xffffffff), i * 3, 2)
            votes[i] = ti.simt.warp.ballot(ti.cast(i % 3 == 0, ti.i32))

    lanes()
    i = np.arange(64)
    np.testing.assert_array_equal(down.to_numpy(),
                                  np.where(i % 32 < 30, (i + 2) * 3, i * 3))
    for first in (0, 32):
        assert votes[first] & 0xffffffff == sum(
            1 << lane for lane in range(32) if (first + lane) % 3 == 0)

    keys, places = ti.field(ti.i32, shape=128), ti.field(ti.i32, shape=128)
    order = np.random.default_rng(6).permutation(128).astype(np.int32)
    keys.from_numpy(order)
    places.from_numpy(np.arange(128, dtype=np.int32))
    ti.algorithms.parallel_sort(keys, places)
    np.testing.assert_array_equal(keys.to_numpy(), np.arange(128))
    np.testing.assert_array_equal(places.to_numpy(), np.argsort(order))


def check_sparse_fields(ti, np):
    """Nodes are allocated by the lanes that first touch them, under locks."""
    x, rows = ti.field(ti.f32), ti.field(ti.i32)
    ti.root.pointer(ti.i, 16).bitmasked(ti.i, 8).place(x)
    ti.root.dense(ti.i, 4).dynamic(ti.j, 64, chunk_size=8).place(rows)
    found = ti.field(ti.i32, shape=())
    total = ti.field(ti.f32, shape=())
    lengths, sums = ti.field(ti.i32, shape=4), ti.field(ti.i32, shape=4)

    @ti.kernel
    def activate():
        for k in range(26):
            x[k * 5] = k * 5
        for i in range(4):
            for j in range(i * 7 + 1):
                ti.append(rows.parent(), i, j * j)

    @ti.kernel
    def visit():
        for i in x:
            found[None] += 1
            total[None] += x[i]
        for i in range(4):
            lengths[i] = ti.length(rows.parent(), i)
            for j in range(lengths[i]):
                sums[i] += rows[i, j]

    activate()
    visit()
    assert found[None] == 26 and total[None] == 5 * 25 * 26 / 2
    np.testing.assert_array_equal(lengths.to_numpy(), [1, 8, 15, 22])
    np.testing.assert_array_equal(
        sums.to_numpy(), [sum(j * j for j in range(n))
                          for n in (1, 8, 15, 22)])


def check_matrices_and_gradients(ti, np):
    count = 20
    matrices = np.random.default_rng(2).standard_normal((count, 3, 3))
    a = ti.Matrix.field(3, 3, ti.f64, shape=count)
    unit = ti.Matrix.field(3, 3, ti.f64, shape=count)
    determinants = ti.field(ti.f64, shape=count)
    a.from_numpy(matrices)

    @ti.kernel
    def invert():
        for i in a:
            determinants[i] = a[i].determinant()
            unit[i] = a[i].inverse() @ a[i]

    invert()
    np.testing.assert_allclose(determinants.to_numpy(),
                               np.linalg.det(matrices), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        unit.to_numpy(), np.broadcast_to(np.eye(3), (count, 3, 3)), atol=1e-9)

    x = ti.field(ti.f32, shape=64, needs_grad=True)
    loss = ti.field(ti.f32, shape=(), needs_grad=True)
    v = np.linspace(-1, 1, 64).astype(np.float32)
    x.from_numpy(v)

    @ti.kernel
    def lose():
        for i in x:
            loss[None] += ti.sin(x[i]) * x[i] ** 2

    with ti.ad.Tape(loss):
        lose()
    np.testing.assert_allclose(x.grad.to_numpy(),
                               np.cos(v) * v * v + 2 * v * np.sin(v),
                               rtol=1e-5, atol=1e-6)

    uniform = ti.field(ti.f32, shape=2000)

    @ti.kernel
    def draw():
        for i in uniform:
            uniform[i] = ti.random()
            if i == 7:
                print("taichi", i, 1.5)

    draw()
    drawn = uniform.to_numpy()
    assert 0 <= drawn.min() and drawn.max() < 1
    assert abs(drawn.mean() - 0.5) < 0.03 and len(set(drawn)) > 1900


def taichi():
    import numpy as np
    import taichi as ti
    for check in (check_numbers, check_atomics, check_blocks_and_warps,
                  check_sparse_fields, check_matrices_and_gradients):
        ti.init(arch=ti.cuda, offline_cache=False, random_seed=3,
                log_level=ti.WARN)
        assert ti.lang.impl.current_cfg().arch == ti.cuda
        check(ti, np)
        ti.sync()
        ti.reset()
