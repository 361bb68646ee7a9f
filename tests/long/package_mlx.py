"""MLX for jit_packages.py: its operations on the GPU against those on the CPU.

Its library brings 22,000 kernels, of which those that are used are compiled; what
it fuses goes through NVRTC; products, convolutions, attention and transforms to
cuBLASLt, cuDNN and cuFFT. Each step is a CUDA graph that an executable one takes
over.
"""


def compare(np, mx, name, work, tolerance):
    results = []
    for device in (mx.cpu, mx.gpu):
        with mx.stream(device):
            result = work()
            mx.eval(result)
        results.append(result if isinstance(result, (list, tuple))
                       else [result])
    for cpu, gpu in zip(*results):
        if cpu.dtype == mx.bfloat16:
            cpu, gpu = cpu.astype(mx.float32), gpu.astype(mx.float32)
        cpu, gpu = np.array(cpu), np.array(gpu)
        if cpu.dtype.kind in "biu":
            np.testing.assert_array_equal(gpu, cpu, err_msg=name)
        else:
            largest = np.nanmax(np.abs(cpu)) if cpu.size else 0
            np.testing.assert_allclose(gpu, cpu, rtol=0, err_msg=name,
                                       atol=tolerance * largest)


def check_elements(np, mx, check):
    rng = np.random.default_rng(0)
    a = mx.array(rng.standard_normal((33, 65)).astype(np.float32))
    b = mx.array(rng.standard_normal((33, 65)).astype(np.float32))
    positive = mx.abs(a) + 0.1
    whole = mx.array(rng.integers(-50, 50, (33, 65)).astype(np.int32))
    for name in ("abs ceil floor exp expm1 log1p sin cos tan sinh cosh tanh "
                 "arctan arcsinh erf sigmoid square sign negative round"
                 ).split():
        check(name, lambda: getattr(mx, name)(a))
    for name in "log log2 log10 sqrt rsqrt reciprocal".split():
        check(name, lambda: getattr(mx, name)(positive))
    for name in "arcsin arccos arctanh erfinv".split():
        check(name, lambda: getattr(mx, name)(a * 0.2), 2e-5)
    for name in ("add subtract multiply divide maximum minimum logaddexp "
                 "arctan2 power remainder floor_divide").split():
        check(name, lambda: getattr(mx, name)(positive, mx.abs(b) + 0.2), 2e-5)
    for name in ("add subtract multiply maximum minimum bitwise_and "
                 "bitwise_or bitwise_xor").split():
        check(name, lambda: getattr(mx, name)(whole, whole[::-1]))
    for kind in (mx.float16, mx.bfloat16, mx.int8, mx.uint8, mx.int64,
                 mx.complex64, mx.bool_):
        check(f"to {kind}", lambda: whole.astype(kind) + whole[::-1].astype(
            kind), 1e-2)
    fused = mx.compile(lambda x, y: mx.tanh(x) * y + mx.exp(-x * x))
    check("compile", lambda: fused(a, b))
    check("gradient", lambda: mx.grad(
        lambda x: mx.mean(mx.softmax(mx.tanh(x @ b.T), axis=-1) ** 2))(a),
        1e-4)


def check_arrays(np, mx, check):
    rng = np.random.default_rng(1)
    a = mx.array(rng.standard_normal((33, 65)).astype(np.float32))
    for name in "sum mean max min prod var argmax argmin logsumexp".split():
        for axis in (0, 1, None):
            check(f"{name} {axis}",
                  lambda: getattr(mx, name)(a * 0.3 + 1, axis=axis), 1e-4)
    for name in "cumsum cumprod cummax cummin".split():
        check(name, lambda: getattr(mx, name)(a * 0.1 + 1, axis=1), 1e-4)
    for name in ("sort", "argsort"):
        for axis in (0, 1):
            check(f"{name} {axis}", lambda: getattr(mx, name)(a, axis=axis))
    long = mx.array(rng.standard_normal(5000).astype(np.float32))
    check("long sort", lambda: mx.sort(long))
    check("topk", lambda: mx.sort(mx.topk(a, 5, axis=1), axis=1))
    rows = mx.array([1, 5, 3, 1])
    check("take", lambda: a[rows])
    check("scatter", lambda: mx.zeros((10, 65)).at[rows].add(a[:4]))
    check("slice", lambda: a[3:30:2, ::-3])
    check("pad", lambda: mx.pad(a, ((1, 2), (3, 0))))
    check("softmax", lambda: mx.softmax(a, axis=1))
    check("rms_norm", lambda: mx.fast.rms_norm(a, mx.ones(65), 1e-5))
    check("layer_norm",
          lambda: mx.fast.layer_norm(a, mx.ones(65), mx.zeros(65), 1e-5))
    for n in (16, 100):
        check(f"fft {n}", lambda: mx.fft.fft(long[:3 * n].reshape(3, n)),
              1e-4)
    check("irfft", lambda: mx.fft.irfft(mx.fft.rfft(a)), 1e-4)
    key = mx.random.key(3)
    check("uniform", lambda: mx.random.uniform(shape=(1000,), key=key))
    check("normal", lambda: mx.random.normal(shape=(1000,), key=key), 1e-4)


def check_networks(np, mx, check):
    rng = np.random.default_rng(2)

    def numbers(*shape):
        return mx.array(rng.standard_normal(shape).astype(np.float32))

    a, b = numbers(33, 65), numbers(65, 17)
    check("product", lambda: a @ b)
    check("turned", lambda: a.T @ a)
    for kind, tolerance in ((mx.float16, 3e-3), (mx.bfloat16, 2e-2)):
        check(f"product in {kind}",
              lambda: a.astype(kind) @ b.astype(kind), tolerance)
    check("addmm", lambda: mx.addmm(mx.ones((33, 17)), a, b, 0.5, 2))
    batch, other = numbers(4, 8, 16), numbers(4, 16, 5)
    check("batch", lambda: batch @ other)
    check("gather_mm", lambda: mx.gather_mm(
        batch, other, mx.array([0, 2]), mx.array([1, 3])))
    image, weights = numbers(2, 12, 12, 8), numbers(6, 3, 3, 8)
    check("conv2d", lambda: mx.conv2d(image, weights, 2, 1), 1e-4)
    check("conv_transpose2d",
          lambda: mx.conv_transpose2d(image, weights, 2, 1), 1e-4)
    x, k = numbers(2, 4, 10, 64), numbers(2, 2, 10, 64)
    check("rope", lambda: mx.fast.rope(
        x, 64, traditional=False, base=10000, scale=1.0, offset=3), 1e-4)
    for kind, tolerance in ((mx.float32, 1e-4), (mx.float16, 1e-2),
                            (mx.bfloat16, 4e-2)):
        q, kv = (x * 0.3).astype(kind), k.astype(kind)
        for mask in (None, "causal"):
            check(f"attention in {kind}, {mask}",
                  lambda: mx.fast.scaled_dot_product_attention(
                      q, kv, kv, scale=0.125, mask=mask), tolerance)
        check(f"attention of one in {kind}",
              lambda: mx.fast.scaled_dot_product_attention(
                  q[:, :, :1], kv, kv, scale=0.125), tolerance)
    w, y = numbers(128, 256), numbers(7, 256)
    for bits in (2, 4, 8):
        # Halfway between two numbers either may be taken.
        check(f"quantize {bits}", lambda: mx.dequantize(
            *mx.quantize(w, 64, bits), 64, bits), 2.2 / 2 ** bits)
        with mx.stream(mx.cpu):
            packed = mx.quantize(w, 64, bits)
            mx.eval(packed)
        for rows in (1, 7):
            check(f"product with {bits} bits, {rows}",
                  lambda: mx.quantized_matmul(
                      y[:rows], *packed, transpose=True, group_size=64,
                      bits=bits), 1e-4)


def check_training(np, mx):
    import mlx.nn as nn
    import mlx.optimizers as optim

    rng = np.random.default_rng(4)
    x = mx.array(rng.standard_normal((64, 8)).astype(np.float32))
    y = mx.sin(x.sum(axis=1, keepdims=True))
    losses = []
    for device in (mx.cpu, mx.gpu):
        with mx.stream(device):
            mx.random.seed(7)
            model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(),
                                  nn.Linear(32, 1))
            mx.eval(model.parameters())
            optimizer = optim.Adam(learning_rate=1e-2)
            step = nn.value_and_grad(
                model, lambda m: nn.losses.mse_loss(m(x), y))
            of_device = []
            for _ in range(20):
                loss, gradients = step(model)
                optimizer.update(model, gradients)
                mx.eval(model.parameters(), loss)
                of_device.append(loss.item())
            losses.append(of_device)
    np.testing.assert_allclose(losses[1], losses[0], rtol=1e-3)
    assert losses[1][-1] < losses[1][0] / 2


def mlx():
    import mlx.core as mx
    import numpy as np

    assert mx.default_device() == mx.Device(mx.gpu)

    def check(name, work, tolerance=1e-5):
        compare(np, mx, name, work, tolerance)

    check_elements(np, mx, check)
    check_arrays(np, mx, check)
    check_networks(np, mx, check)
    check_training(np, mx)
