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
