"""warp for jit_packages.py and whole_wheels.py: its kernels come from NVRTC,
its scans, sorts and search structures from PTX within its own library."""
import os
import subprocess
import sys
import tempfile


def check_kernels(wp, np, on):
    @wp.kernel
    def functions(x: wp.array(dtype=wp.float64),
                  y: wp.array(dtype=wp.float64)):
        i = wp.tid()
        y[i] = (wp.sin(x[i]) + wp.exp(x[i]) * wp.sqrt(x[i]) +
                wp.pow(x[i], wp.float64(1.5)) + wp.log(x[i]))

    x = np.linspace(0.1, 3, 300)
    y = on.zeros(300, wp.float64)
    on.launch(functions, 300, on.array(x), y)
    np.testing.assert_allclose(
        y.numpy(), np.sin(x) + np.exp(x) * np.sqrt(x) + x ** 1.5 + np.log(x),
        rtol=1e-13, atol=1e-14)

    @wp.kernel
    def transpose(a: wp.array2d(dtype=float), b: wp.array2d(dtype=float)):
        i, j = wp.tid()
        b[j, i] = a[i, j] * 2.0

    a = on.random.random((17, 23)).astype(np.float32)
    b = on.zeros((23, 17), float)
    on.launch(transpose, (17, 23), on.array(a), b)
    np.testing.assert_array_equal(b.numpy(), a.T * 2)

    @wp.kernel
    def halves(a: wp.array(dtype=wp.float16), b: wp.array(dtype=wp.float16)):
        i = wp.tid()
        b[i] = a[i] * a[i] + wp.float16(1.0)

    a = np.arange(16).astype(np.float16)
    b = on.zeros(16, wp.float16)
    on.launch(halves, 16, on.array(a), b)
    np.testing.assert_array_equal(b.numpy(), a * a + 1)

    @wp.kernel
    def collect(x: wp.array(dtype=int), total: wp.array(dtype=int),
                bounds: wp.array(dtype=float), histogram: wp.array(dtype=int)):
        i = wp.tid()
        wp.atomic_add(total, 0, x[i])
        wp.atomic_max(bounds, 0, float(x[i]) + 0.5)
        wp.atomic_min(bounds, 1, float(x[i]))
        wp.atomic_add(histogram, x[i] & 15, 1)

    x = on.random.integers(-1000, 1000, 3000).astype(np.int32)
    total, bounds = on.zeros(1, int), on.zeros(2, float)
    histogram = on.zeros(16, int)
    on.launch(collect, 3000, on.array(x), total, bounds, histogram)
    assert total.numpy()[0] == x.sum()
    np.testing.assert_array_equal(bounds.numpy(), [x.max() + 0.5, x.min()])
    np.testing.assert_array_equal(histogram.numpy(),
                                  np.bincount(x & 15, minlength=16))

    @wp.kernel
    def row_sums(a: wp.array2d(dtype=float), sums: wp.array(dtype=float)):
        i = wp.tid()
        row = wp.tile_load(a[i], shape=64)
        wp.tile_store(sums, wp.tile_sum(row), offset=i)

    a = on.random.random((5, 64)).astype(np.float32)
    sums = on.zeros(5, float)
    wp.launch_tiled(row_sums, dim=[5], inputs=[on.array(a), sums],
                    block_dim=64, device=on.device)
    np.testing.assert_allclose(sums.numpy(), a.sum(1), rtol=1e-5)

    @wp.kernel
    def draw(seed: int, out: wp.array(dtype=float)):
        i = wp.tid()
        state = wp.rand_init(seed, i)
        out[i] = wp.randf(state)

    drawn, on_host = on.zeros(500, float), wp.zeros(500, float, device="cpu")
    on.launch(draw, 500, 7, drawn)
    wp.launch(draw, 500, [7, on_host], device="cpu")
    np.testing.assert_array_equal(drawn.numpy(), on_host.numpy())


def check_vectors(wp, np, on):
    @wp.kernel
    def rotate(a: wp.array(dtype=wp.vec3), m: wp.array(dtype=wp.mat33),
               q: wp.array(dtype=wp.quat), out: wp.array(dtype=wp.vec3),
               values: wp.array(dtype=wp.vec3)):
        i = wp.tid()
        out[i] = wp.quat_rotate(wp.normalize(q[i]), m[i] * a[i])
        u = wp.mat33()
        s = wp.vec3()
        v = wp.mat33()
        wp.svd3(m[i], u, s, v)
        values[i] = s

    a, m, q = (on.random.standard_normal(shape).astype(np.float32)
               for shape in ((50, 3), (50, 3, 3), (50, 4)))
    out, values = on.zeros(50, wp.vec3), on.zeros(50, wp.vec3)
    on.launch(rotate, 50, on.array(a, wp.vec3), on.array(m, wp.mat33),
              on.array(q, wp.quat), out, values)
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    v = np.einsum("nij,nj->ni", m, a)
    expected = v + 2 * np.cross(q[:, :3],
                                np.cross(q[:, :3], v) + q[:, 3:] * v)
    np.testing.assert_allclose(out.numpy(), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(
        np.sort(np.abs(values.numpy()), 1),
        np.sort(np.linalg.svd(m, compute_uv=False), 1), rtol=2e-3, atol=2e-3)

    @wp.kernel
    def lose(x: wp.array(dtype=float), loss: wp.array(dtype=float)):
        i = wp.tid()
        wp.atomic_add(loss, 0, wp.sin(x[i]) * x[i] * x[i])

    v = np.linspace(-1, 1, 64).astype(np.float32)
    x = wp.array(v, device=on.device, requires_grad=True)
    loss = wp.zeros(1, float, device=on.device, requires_grad=True)
    with wp.Tape() as tape:
        on.launch(lose, 64, x, loss)
    tape.backward(loss)
    np.testing.assert_allclose(x.grad.numpy(),
                               np.cos(v) * v * v + 2 * v * np.sin(v),
                               rtol=1e-4, atol=1e-5)


def check_graphs(wp, np, on):
    @wp.kernel
    def saxpy(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
        i = wp.tid()
        y[i] = a * x[i] + y[i]

    x, y = on.array(np.ones(100, np.float32)), on.zeros(100, float)
    on.launch(saxpy, 100, 2.0, x, y)
    with wp.ScopedCapture(device=on.device) as capture:
        for _ in range(3):
            on.launch(saxpy, 100, 2.0, x, y)
    for _ in range(4):
        wp.capture_launch(capture.graph)
    np.testing.assert_array_equal(y.numpy(), np.full(100, 26))


def check_sorting(wp, np, on):
    """By kernels of its library alone."""
    x = on.random.integers(0, 50, 500).astype(np.int32)
    out = on.zeros(500, int)
    wp.utils.array_scan(on.array(x), out, inclusive=True)
    np.testing.assert_array_equal(out.numpy(), np.cumsum(x))

    order = on.random.permutation(256).astype(np.int32)
    keys = on.array(np.concatenate([order, np.zeros(256, np.int32)]))
    places = on.array(np.arange(512, dtype=np.int32))
    wp.utils.radix_sort_pairs(keys, places, 256)
    np.testing.assert_array_equal(keys.numpy()[:256], np.arange(256))
    np.testing.assert_array_equal(places.numpy()[:256], np.argsort(order))


def check_library(wp, np, on):
    check_sorting(wp, np, on)

    @wp.kernel
    def distances(mesh: wp.uint64, points: wp.array(dtype=wp.vec3),
                  out: wp.array(dtype=float)):
        i = wp.tid()
        nearest = wp.mesh_query_point(mesh, points[i], 10.0)
        if nearest.result:
            out[i] = wp.length(
                wp.mesh_eval_position(mesh, nearest.face, nearest.u,
                                      nearest.v) - points[i])

    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]],
                       np.float32)
    mesh = wp.Mesh(on.array(corners, wp.vec3),
                   on.array(np.array([0, 1, 2, 0, 2, 3], np.int32)))
    points = on.random.random((40, 3)).astype(np.float32)
    out = on.zeros(40, float)
    on.launch(distances, 40, mesh.id, on.array(points, wp.vec3), out)
    np.testing.assert_allclose(out.numpy(), points[:, 2], atol=1e-5)

    @wp.kernel
    def neighbours(grid: wp.uint64, points: wp.array(dtype=wp.vec3),
                   radius: float, out: wp.array(dtype=int)):
        i = wp.tid()
        found = int(0)
        for j in wp.hash_grid_query(grid, points[i], radius):
            if wp.length(points[j] - points[i]) <= radius:
                found += 1
        out[i] = found

    points = on.random.random((100, 3)).astype(np.float32)
    there = on.array(points, wp.vec3)
    grid = wp.HashGrid(16, 16, 16, device=on.device)
    grid.build(there, 0.1)
    out = on.zeros(100, int)
    on.launch(neighbours, 100, grid.id, there, 0.1, out)
    apart = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.testing.assert_array_equal(out.numpy(), (apart <= 0.1).sum(1))


class OnDevice:
    """What the checks call with the device filled in."""

    device = "cuda:0"

    def __init__(self, wp, np):
        self.wp = wp
        self.random = np.random.default_rng(0)

    def array(self, values, kind=None):
        if kind is None:
            return self.wp.array(values, device=self.device)
        return self.wp.array(values, dtype=kind, device=self.device)

    def zeros(self, shape, kind):
        return self.wp.zeros(shape, dtype=kind, device=self.device)

    def launch(self, kernel, shape, *arguments):
        self.wp.launch(kernel, shape, list(arguments), device=self.device)


def from_wheel():
    """Without compiling anything, then what makes kernels as it runs."""
    import numpy as np
    import warp as wp
    wp.init()
    check_sorting(wp, np, OnDevice(wp, np))
    subprocess.run([sys.executable, "-c", "import package_warp as module;"
                    "module.warp()"], check=True,
                   env=dict(os.environ, CUDA_DISABLE_PTX_JIT="0",
                            PYTHONPATH=os.path.dirname(__file__)))


def warp():
    with tempfile.TemporaryDirectory() as folder:
        os.environ["WARP_CACHE_PATH"] = folder
        import numpy as np
        import warp as wp
        wp.init()
        on = OnDevice(wp, np)
        for check in (check_kernels, check_vectors, check_graphs,
                      check_library):
            check(wp, np, on)
        wp.synchronize()
