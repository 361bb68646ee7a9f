"""JAX for jit_packages.py: XLA makes PTX and has ptxas make machine code of
it; a few kernels within its library are PTX too."""
import os
import subprocess
import sys


def check_arrays(jnp, np, x):
    np.testing.assert_array_equal(np.asarray(jnp.arange(8) + 1),
                                  np.arange(8) + 1)
    np.testing.assert_array_equal(np.asarray(jnp.sort(x)), np.sort(x))
    np.testing.assert_array_equal(np.asarray(jnp.argsort(x)),
                                  np.argsort(x, kind="stable"))
    np.testing.assert_allclose(jnp.cumsum(x), np.cumsum(x), rtol=1e-4)
    np.testing.assert_array_equal(
        np.asarray(jnp.where(x > 0.5, x, 0).reshape(20, -1).T),
        np.where(x > 0.5, x, 0).reshape(20, -1).T)
    halves = x.astype(np.float16)
    np.testing.assert_allclose(
        np.asarray(jnp.asarray(halves) * 3 + 1, np.float32),
        halves.astype(np.float32) * 3 + 1, rtol=2e-3)


def check_random(jax, np):
    def draw():
        key = jax.random.key(7)
        return [np.asarray(v) for v in (
            jax.random.uniform(key, (1000,)),
            jax.random.normal(key, (1000,)),
            jax.random.randint(key, (1000,), 0, 1 << 20),
            jax.random.permutation(key, 100))]
    here = draw()
    with jax.default_device(jax.devices("cpu")[0]):
        there = draw()
    for ours, theirs in zip(here, there):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def check_compiled(jax, jnp, np, x):
    total = jax.jit(lambda v: jnp.sum(jnp.sin(v) * jnp.exp(-v)))
    np.testing.assert_allclose(total(x), np.sum(np.sin(x) * np.exp(-x)),
                               rtol=1e-5)
    slope = jax.jit(jax.grad(lambda v: jnp.sum(jnp.tanh(v) ** 2)))
    np.testing.assert_allclose(
        slope(x), 2 * np.tanh(x) * (1 - np.tanh(x) ** 2), rtol=1e-4, atol=1e-6)
    rows = x.reshape(20, 50)
    softmax = jax.jit(jax.vmap(jax.nn.softmax))
    powers = np.exp(rows - rows.max(1, keepdims=True))
    np.testing.assert_allclose(softmax(rows),
                               powers / powers.sum(1, keepdims=True),
                               rtol=1e-5)


def check_loops(jax, jnp, np):
    value = jax.lax.fori_loop(0, 10, lambda i, v: v * 1.5 + i, jnp.float32(1))
    expected = 1.0
    for i in range(10):
        expected = expected * 1.5 + i
    np.testing.assert_allclose(value, expected, rtol=1e-5)
    steps = jax.lax.while_loop(
        lambda s: s[0] != 1,
        lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
        (27, 0))[1]
    assert int(steps) == 111
    sums, _ = jax.lax.scan(lambda c, v: (c + v, c), 0.0, jnp.arange(100.0))
    assert float(sums) == 4950


# Products go to cuBLAS, cuBLASLt or kernels of Triton's, as autotuning finds;
# transforms to cuFFT.
def check_products(jnp, np):
    random = np.random.default_rng(1)
    for size, kind, tolerance in ((64, np.float32, 1e-4), (96, np.float16, 1e-2),
                                  (128, jnp.bfloat16, 5e-2),
                                  (256, np.float32, 1e-4),
                                  (256, np.float16, 1e-2),
                                  (512, np.float32, 1e-4),
                                  (512, np.float16, 1e-2),
                                  (512, jnp.bfloat16, 5e-2)):
        a, b = (random.standard_normal((size, size), np.float32).astype(kind)
                for _ in range(2))
        np.testing.assert_allclose(
            np.asarray(jnp.dot(a, b), np.float32),
            a.astype(np.float32) @ b.astype(np.float32), rtol=tolerance,
            atol=tolerance * size ** 0.5)


def check_transforms(jnp, np):
    x = np.random.default_rng(2).standard_normal((8, 100), np.float32)
    np.testing.assert_allclose(jnp.fft.fft(x), np.fft.fft(x), rtol=1e-3,
                               atol=1e-3)
    np.testing.assert_allclose(jnp.fft.fft2(x), np.fft.fft2(x), rtol=1e-3,
                               atol=1e-3)
    np.testing.assert_allclose(jnp.fft.irfft(jnp.fft.rfft(x)), x, rtol=1e-3,
                               atol=1e-4)


def on_cpu(jax, function, *operands):
    with jax.default_device(jax.devices("cpu")[0]):
        return function(*operands)


# Convolutions and their slopes go to cuDNN: layouts, strides, paddings,
# dilations of both sides, groups, one to three dimensions.
def check_convolutions(jax, jnp, np):
    random = np.random.default_rng(4)
    narrow, wide = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")
    both = ((2, 6, 9, 8), (4, 6, 3, 3), (1, 1), "SAME", (1, 1), (1, 1), 1)
    cases = [
        (np.float32, narrow) + both,
        (np.float16, narrow) + both,
        (jnp.bfloat16, narrow) + both,
        (np.float32, wide, (2, 9, 8, 6), (3, 3, 2, 6), (2, 1),
         ((1, 2), (0, 1)), (1, 1), (2, 1), 3),
        (np.float32, narrow, (2, 4, 5, 5), (4, 1, 3, 3), (1, 1), "SAME",
         (1, 1), (1, 1), 4),
        (np.float32, narrow, (1, 3, 5, 5), (2, 3, 3, 3), (1, 1),
         ((2, 2), (2, 2)), (2, 2), (1, 1), 1),
        (np.float32, ("NCH", "OIH", "NCH"), (2, 3, 20), (5, 3, 4), (3,),
         ((1, 2),), (1,), (2,), 1),
        (np.float32, ("NDHWC", "DHWIO", "NDHWC"), (1, 5, 6, 7, 2),
         (2, 3, 3, 2, 3), (1, 2, 1), "SAME", (1, 1, 1), (1, 1, 1), 1)]
    for kind, order, x, w, strides, padding, apart, dilation, groups in cases:
        x, w = (random.standard_normal(v, np.float32).astype(kind)
                for v in (x, w))

        def convolve(x, w):
            return jax.lax.conv_general_dilated(
                x, w, strides, padding, apart, dilation, order, groups)

        def total(x, w):
            return jnp.sum(jnp.sin(convolve(x, w).astype(jnp.float32)))
        tolerance = {np.float32: 1e-3, np.float16: 5e-2}.get(kind, 0.5)
        for function in (jax.jit(convolve), jax.jit(jax.grad(total, (0, 1)))):
            here = jax.tree.leaves(function(x, w))
            there = jax.tree.leaves(on_cpu(jax, function, x, w))
            for ours, theirs in zip(here, there):
                np.testing.assert_allclose(
                    np.asarray(ours, np.float32),
                    np.asarray(theirs, np.float32), rtol=tolerance,
                    atol=tolerance)


# Recurrent networks and attention of cuDNN, with their slopes.
def check_recurrent(jax, jnp, np):
    from jax.experimental import rnn
    sizes = {"input_size": 4, "hidden_size": 6, "num_layers": 2,
             "bidirectional": True}
    random = np.random.default_rng(6)
    x, h, c = (random.standard_normal(s, np.float32)
               for s in ((3, 5, 4), (4, 3, 6), (4, 3, 6)))
    weights = np.asarray(on_cpu(jax, rnn.init_lstm_weight, jax.random.key(1),
                                *sizes.values()))
    lengths = np.array([5, 3, 4], np.int32)
    inside = (np.arange(5)[None, :, None] < lengths[:, None, None])

    def here(x, h, c, weights):
        return rnn.lstm(x, h, c, weights, lengths, 4, 6, 2, 0.0,
                        True)

    def there(x, h, c, weights):
        parts = rnn.unpack_lstm_weights(weights, *sizes.values())
        return rnn.lstm_ref(x, h, c, *parts, seq_lengths=lengths, dropout=0.0,
                            **sizes)

    def total(function):
        return lambda *a: sum(jnp.sum(jnp.sin(v) * m) for v, m in zip(
            function(*a), (inside, 1, 1)))
    for wrap in (lambda f: (lambda *a: f(*a)[1:]),
                 lambda f: jax.grad(total(f), (0, 1, 2, 3))):
        for ours, theirs in zip(
                jax.jit(wrap(here))(x, h, c, weights),
                on_cpu(jax, wrap(there), x, h, c, weights)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


def check_attention(jax, jnp, np):
    random = np.random.default_rng(7)
    q, k, v = (random.standard_normal((2, 16, 4, 64)).astype(np.float16)
               for _ in range(3))
    for causal in (False, True):
        def attend(q, k, v, how):
            return jax.nn.dot_product_attention(
                q, k, v, is_causal=causal, implementation=how)

        def total(q, k, v, how):
            return jnp.sum(attend(q, k, v, how).astype(jnp.float32) ** 2)
        for function in (attend, jax.grad(total, (0, 1, 2))):
            ours = jax.jit(lambda *a: function(*a, "cudnn"))(q, k, v)
            theirs = on_cpu(jax, lambda *a: function(*a, "xla"), q, k, v)
            for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs)):
                np.testing.assert_allclose(
                    np.asarray(a, np.float32), np.asarray(b, np.float32),
                    rtol=2e-2, atol=3e-2)


def check_convolutional_training(jax, jnp, np):
    """Two convolutions, a pooling, a product: 20 steps."""
    random = np.random.default_rng(5)
    x = random.standard_normal((16, 12, 12, 3), np.float32)
    y = (x.mean((1, 2, 3)) > 0).astype(np.int32)
    first = [random.standard_normal(shape, np.float32) * 0.2
             for shape in ((3, 3, 3, 8), (3, 3, 8, 8), (8, 2))]
    order = ("NHWC", "HWIO", "NHWC")

    def loss(weights):
        h = jax.nn.relu(jax.lax.conv_general_dilated(
            x, weights[0], (1, 1), "SAME", dimension_numbers=order))
        h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 2, 2, 1),
                                  (1, 2, 2, 1), "VALID")
        h = jax.nn.relu(jax.lax.conv_general_dilated(
            h, weights[1], (2, 2), "SAME", dimension_numbers=order))
        scores = jax.nn.log_softmax(h.mean((1, 2)) @ weights[2])
        return -jnp.mean(scores[jnp.arange(16), y])

    @jax.jit
    def step(weights):
        value, slopes = jax.value_and_grad(loss)(weights)
        return [w - 0.1 * s for w, s in zip(weights, slopes)], value

    def train(device):
        # Kernels of Triton's would take products in fewer bits.
        with (jax.default_device(device),
              jax.default_matmul_precision("highest")):
            weights, losses = [jnp.array(w) for w in first], []
            for _ in range(20):
                weights, value = step(weights)
                losses.append(float(value))
            return losses
    here, there = train(jax.devices()[0]), train(jax.devices("cpu")[0])
    np.testing.assert_allclose(here, there, rtol=1e-3)
    assert here[-1] < here[0]


# Factors, eigenvalues and singular values go to cuSOLVER, one matrix or many,
# large ones to other functions than small ones.
def linear_algebra(jax, jnp):
    """Functions of (a square matrix, a positive definite one, a tall one)
    whose results are the same however they are computed."""
    linalg = jnp.linalg

    def turned(x):
        return jnp.swapaxes(x, -1, -2).conj()

    def qr(a, s, r):
        q, upper = linalg.qr(r)
        return q @ upper, turned(q) @ q

    def svd(a, s, r):
        u, w, v = linalg.svd(r, full_matrices=False)
        return (u * w[..., None, :].astype(u.dtype)) @ v, w, turned(u) @ u

    def eigh(a, s, r):
        w, v = linalg.eigh(s)
        return w, (v * w[..., None, :].astype(v.dtype)) @ turned(v)

    def eig(a, s, r):
        w, v = linalg.eig(a)
        # Their order is nobody's.
        return jnp.sum(w ** 3, -1), a @ v - v * w[..., None, :]

    def triangular(a, s, r):
        lower = linalg.cholesky(s)
        return jax.lax.linalg.triangular_solve(lower, a, left_side=True,
                                               lower=True)

    return {
        "cholesky": lambda a, s, r: linalg.cholesky(s),
        "solve": lambda a, s, r: linalg.solve(a, a[..., :2]),
        "inv": lambda a, s, r: linalg.inv(a),
        "det": lambda a, s, r: linalg.det(a),
        "lu": lambda a, s, r: jax.lax.linalg.lu(a),
        "qr": qr, "svd": svd, "eigh": eigh, "eig": eig,
        "triangular_solve": triangular,
        "svd, all vectors": lambda a, s, r: jnp.abs(linalg.svd(r)[2]),
        "singular values": lambda a, s, r: linalg.svd(r, compute_uv=False),
        "tridiagonal": lambda a, s, r: jnp.sum(
            jax.lax.linalg.tridiagonal(s)[1] ** 2, -1),
    }


def check_linalg(jax, jnp, np):
    random = np.random.default_rng(4)
    one, many, large = (6, 6), (3, 5, 5), (40, 40)
    for kind, tolerance, shapes in ((np.float32, 2e-3, (one, many, large)),
                                    (np.float64, 1e-8, (many,)),
                                    (np.complex64, 2e-3, (large,)),
                                    (np.complex128, 1e-8, (many,))):
        for shape in shapes:
            a = random.standard_normal(shape)
            r = random.standard_normal(shape[:-1] + (shape[-1] // 2,))
            if np.issubdtype(kind, np.complexfloating):
                a = a + 1j * random.standard_normal(a.shape)
                r = r + 1j * random.standard_normal(r.shape)
            s = a @ np.swapaxes(a, -1, -2).conj() + np.eye(shape[-1])
            inputs = [x.astype(kind) for x in (a, s, r)]
            for name, function in linear_algebra(jax, jnp).items():
                here = function(*[jnp.asarray(x) for x in inputs])
                with jax.default_device(jax.devices("cpu")[0]):
                    there = function(*[jnp.asarray(x) for x in inputs])
                for ours, theirs in zip(jax.tree.leaves(here),
                                        jax.tree.leaves(there)):
                    theirs = np.asarray(theirs)
                    np.testing.assert_allclose(
                        np.asarray(ours), theirs,
                        atol=tolerance * max(1, np.abs(theirs).max()),
                        rtol=tolerance, err_msg=f"{name} {kind} {shape}")


def check_training(jax, jnp, np):
    """Two layers, 20 steps: losses as on the processor."""
    random = np.random.default_rng(3)
    x = random.standard_normal((64, 16), np.float32)
    y = np.sin(x[:, :4])
    first = [random.standard_normal(shape, np.float32) * 0.3
             for shape in ((16, 32), (32, 4))]

    def loss(weights):
        return jnp.mean((jnp.tanh(x @ weights[0]) @ weights[1] - y) ** 2)

    @jax.jit
    def step(weights):
        slopes = jax.grad(loss)(weights)
        return [w - 0.1 * s for w, s in zip(weights, slopes)], loss(weights)

    def train(device):
        with jax.default_device(device):
            weights, losses = [jnp.array(w) for w in first], []
            for _ in range(20):
                weights, value = step(weights)
                losses.append(float(value))
            return losses
    here, there = train(jax.devices()[0]), train(jax.devices("cpu")[0])
    np.testing.assert_allclose(here, there, rtol=1e-3)
    assert here[-1] < here[0] / 2


def transformer_loss(jax, jnp, weights, tokens):
    """Two layers with causal attention that foretell the next token."""
    def norm(x, scale):
        x = x - x.mean(-1, keepdims=True)
        return scale * x * jax.lax.rsqrt(
            jnp.mean(x * x, -1, keepdims=True) + 1e-5)

    x = weights["tokens"][tokens[:, :-1]] + weights["places"]
    for layer in weights["layers"]:
        q, k, v = jnp.split(norm(x, layer["norm"]) @ layer["qkv"], 3, -1)
        heads = [part.reshape(part.shape[:2] + (2, -1)) for part in (q, k, v)]
        mixed = jax.nn.dot_product_attention(*heads, is_causal=True)
        x = x + mixed.reshape(q.shape) @ layer["out"]
        inner = jax.nn.gelu(norm(x, layer["inner_norm"]) @ layer["up"])
        x = x + inner @ layer["down"]
    scores = jax.nn.log_softmax(x @ weights["tokens"].T)
    return -jnp.mean(jnp.take_along_axis(scores, tokens[:, 1:, None], -1))


def check_transformer_training(jax, jnp, np):
    """20 steps of Adam: losses as on the processor."""
    random = np.random.default_rng(8)
    words, width, length = 13, 16, 12

    def matrix(*shape):
        return random.standard_normal(shape, np.float32) * shape[0] ** -0.5

    first = {"tokens": matrix(words, width), "places": matrix(length, width),
             "layers": [{"norm": np.ones(width, np.float32),
                         "qkv": matrix(width, 3 * width),
                         "out": matrix(width, width),
                         "inner_norm": np.ones(width, np.float32),
                         "up": matrix(width, 4 * width),
                         "down": matrix(4 * width, width)}
                        for _ in range(2)]}
    # Each row counts on by a step of its own.
    tokens = ((np.arange(length + 1) * np.arange(1, 9)[:, None]) %
              words).astype(np.int32)

    @jax.jit
    def step(weights, means, squares, n):
        value, slopes = jax.value_and_grad(
            lambda w: transformer_loss(jax, jnp, w, tokens))(weights)
        means = jax.tree.map(lambda m, s: 0.9 * m + 0.1 * s, means, slopes)
        squares = jax.tree.map(lambda m, s: 0.99 * m + 0.01 * s * s, squares,
                               slopes)
        weights = jax.tree.map(
            lambda w, m, s: w - 0.01 * (m / (1 - 0.9 ** n)) / (
                jnp.sqrt(s / (1 - 0.99 ** n)) + 1e-6), weights, means, squares)
        return weights, means, squares, value

    def train(device):
        with (jax.default_device(device),
              jax.default_matmul_precision("highest")):
            weights = jax.tree.map(jnp.array, first)
            means = squares = jax.tree.map(jnp.zeros_like, weights)
            losses = []
            for n in range(1, 21):
                weights, means, squares, value = step(
                    weights, means, squares, jnp.float32(n))
                losses.append(float(value))
            return losses
    here, there = train(jax.devices()[0]), train(jax.devices("cpu")[0])
    np.testing.assert_allclose(here, there, rtol=2e-3)
    assert here[-1] < 0.7 * here[0]


# A program of its own, since it sees two devices; what they tell each other
# goes through NCCL.
SHARDED = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("i",))
assert mesh.size == 2
x = np.arange(16, dtype=np.float32).reshape(4, 4)
there = jax.device_put(x, NamedSharding(mesh, P("i")))

def over(f, out, **options):
    mapped = jax.shard_map(f, mesh=mesh, in_specs=P("i"), out_specs=out,
                           **options)
    return np.asarray(jax.jit(mapped)(there))

same = np.testing.assert_array_equal
same(over(lambda v: jax.lax.psum(v, "i"), P()), x[:2] + x[2:])
same(over(lambda v: jax.lax.pmax(v, "i"), P()), x[2:])
same(over(lambda v: jax.lax.all_gather(v, "i", tiled=True), P(),
          check_vma=False), x)
same(over(lambda v: jax.lax.psum_scatter(v, "i", tiled=True), P("i")),
     x[:2] + x[2:])
same(over(lambda v: jax.lax.ppermute(v, "i", [(0, 1), (1, 0)]), P("i")),
     np.concatenate((x[2:], x[:2])))
# As the compiler divides a gradient over the rows of a batch.
weights = jnp.arange(4, dtype=jnp.float32)
loss = jax.jit(jax.grad(lambda w, v: jnp.sum((v @ w - 1) ** 2)),
               out_shardings=NamedSharding(mesh, P()))
w = np.arange(4, dtype=np.float32)
np.testing.assert_allclose(loss(weights, there), 2 * x.T @ (x @ w - 1),
                           rtol=1e-5)
"""


def check_sharding():
    device = os.environ["CERBERUS_DEVICE"]
    subprocess.run([sys.executable, "-c", SHARDED], check=True,
                   env=dict(os.environ, CERBERUS_DEVICE=device + "," + device))


def jax():
    # The pool of three quarters of the memory would be the emulator's.
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    import jax
    import jax.numpy as jnp
    import numpy as np
    assert jax.devices()[0].platform == "gpu"
    x = np.random.default_rng(0).random(1000, dtype=np.float32)
    check_arrays(jnp, np, x)
    check_random(jax, np)
    check_compiled(jax, jnp, np, x)
    check_loops(jax, jnp, np)
    check_products(jnp, np)
    check_transforms(jnp, np)
    with jax.enable_x64(True):
        check_linalg(jax, jnp, np)
    check_training(jax, jnp, np)
    check_convolutions(jax, jnp, np)
    check_convolutional_training(jax, jnp, np)
    check_transformer_training(jax, jnp, np)
    check_recurrent(jax, jnp, np)
    check_attention(jax, jnp, np)
    check_sharding()
