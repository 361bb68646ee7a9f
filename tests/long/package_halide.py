"""Halide for jit_packages.py: pipelines compiled to PTX as they run, on the GPU
and on the CPU."""


def make_pipelines(hl, np):
    """Functions of whether it is for the GPU, each with its size."""
    x, y = hl.Var("x"), hl.Var("y")
    xi, yi = hl.Var("xi"), hl.Var("yi")
    rng = np.random.default_rng(0)
    image = rng.random((64, 96), dtype=np.float32)
    pixels = hl.Buffer((image * 255).astype(np.uint8))
    floats = hl.Buffer(image)
    turned = hl.Buffer(np.ascontiguousarray(image.T))

    def tiled(function, gpu):
        return function.gpu_tile(x, y, xi, yi, 32, 4) if gpu else function

    def blur(gpu):
        edges = hl.BoundaryConditions.repeat_edge(floats)
        rows, both = hl.Func("rows"), hl.Func("both")
        rows[x, y] = (edges[x - 1, y] + edges[x, y] + edges[x + 1, y]) / 3
        both[x, y] = (rows[x, y - 1] + rows[x, y] + rows[x, y + 1]) / 3
        if gpu:  # rows lie in shared memory
            both.gpu_tile(x, y, xi, yi, 16, 8)
            rows.compute_at(both, x).gpu_threads(x, y)
        return both

    def histogram(gpu):
        counts = hl.Func("counts")
        over = hl.RDom([(0, 96), (0, 64)])
        counts[x] = hl.u32(0)
        counts[hl.i32(pixels[over.x, over.y])] += hl.u32(1)
        if gpu:
            counts.gpu_tile(x, xi, 32)
            counts.update().gpu_single_thread()
        return counts

    def product(gpu):
        sums, out = hl.Func("sums"), hl.Func("out")
        k = hl.RDom([(0, 96)])
        sums[x, y] = hl.f32(0)
        sums[x, y] += floats[k, y] * turned[x, k]
        out[x, y] = sums[x, y]
        if gpu:
            out.gpu_tile(x, y, xi, yi, 16, 16)
            sums.compute_at(out, xi)
        return out

    def functions(gpu):
        f = hl.Func("functions")
        v = floats[x, y] + hl.f32(0.125)
        f[x, y] = (hl.sin(v) + hl.exp(v) * hl.log(v) - hl.pow(v, hl.f32(2.5)) +
                   hl.sqrt(v) + hl.tanh(v) + hl.atan2(v, hl.f32(2)) +
                   hl.floor(v * 7))
        return tiled(f, gpu)

    def whole_numbers(gpu):
        f = hl.Func("whole")
        v = hl.i32(pixels[x, y]) - 100
        w = hl.i32(pixels[y, x % 64]) - 50
        narrow = hl.saturating_cast(hl.UInt(8), hl.i16(v) * 3)
        f[x, y] = (v // 7 + v % 13 + v // w + v % w + hl.i32(
            narrow ^ hl.u8(hl.absd(pixels[x, y], hl.u8(77)))) + hl.i32(
                hl.popcount(pixels[x, y]) +
                hl.count_leading_zeros(pixels[x, y])))
        return tiled(f, gpu)

    def scan(gpu):
        f = hl.Func("scan")
        along = hl.RDom([(1, 95)])
        f[x, y] = floats[x, y]
        f[along, y] = f[along - 1, y] * hl.f32(0.75) + f[along, y]
        if gpu:
            tiled(f, True)
            f.update().gpu_tile(y, yi, 32)
        return f

    def other_floats(gpu):
        f = hl.Func("other_floats")
        half = hl.cast(hl.Float(16), floats[x, y])
        double = hl.f64(floats[x, y]) + hl.f64(0.0625)
        f[x, y] = (hl.f64(half * half + half) + hl.exp(double) +
                   hl.sqrt(double) / double)
        return tiled(f, gpu)

    return [(blur, [96, 64]), (histogram, [256]), (product, [64, 64]),
            (functions, [96, 64]), (whole_numbers, [64, 64]),
            (scan, [96, 64]), (other_floats, [96, 64])]


def halide():
    import halide as hl
    import numpy as np

    host = hl.get_host_target()
    device = host.with_feature(hl.TargetFeature.CUDA).with_feature(
        hl.TargetFeature.CUDACapability80)
    for make, size in make_pipelines(hl, np):
        on_host = np.array(make(False).realize(size, host))
        on_device = np.array(make(True).realize(size, device))
        if on_host.dtype.kind in "iu":
            np.testing.assert_array_equal(on_device, on_host, make.__name__)
        else:
            np.testing.assert_allclose(on_device, on_host, rtol=1e-5,
                                       atol=1e-5, err_msg=make.__name__)
