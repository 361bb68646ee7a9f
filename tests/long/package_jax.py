"""JAX for jit_packages.py: XLA makes PTX and has ptxas make machine code of
it; a few kernels within its library are PTX too."""
import os


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
                                  (128, jnp.bfloat16, 5e-2)):
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
    check_training(jax, jnp, np)
