"""thinc for jit_packages.py: spaCy's layers, whose kernels CuPy compiles."""


def check_operations(np, cupy):
    from thinc.api import CupyOps, NumpyOps
    device, host = CupyOps(), NumpyOps()
    random = np.random.default_rng(0)

    def normal(*shape):
        return random.standard_normal(shape).astype(np.float32)

    def moved(value):
        return cupy.asarray(value) if isinstance(value, np.ndarray) else value

    def check(name, *arguments):
        got = getattr(device, name)(*map(moved, arguments))
        want = getattr(host, name)(*arguments)
        if not isinstance(want, tuple):
            got, want = (got,), (want,)
        for one, other in zip(got, want):
            np.testing.assert_allclose(one.get(), other, rtol=1e-4, atol=1e-5,
                                       err_msg=name)

    x, dy = normal(40, 12), normal(40, 12)
    for name in ("relu", "gelu", "gelu_approx", "mish", "swish", "hard_swish",
                 "hard_swish_mobilenet", "hard_sigmoid", "hard_tanh", "dish",
                 "relu_k", "clipped_linear", "sigmoid", "softmax", "erf"):
        check(name, x)
    for name in ("gelu", "gelu_approx", "mish", "dish", "hard_swish",
                 "hard_swish_mobilenet", "relu_k", "hard_sigmoid"):
        check("backprop_" + name, dy, x)
    check("backprop_swish", dy, x, host.swish(x))
    check("seq2col", x, 2)
    check("backprop_seq2col", normal(40, 60), 2)
    pieces = normal(20, 6, 3)
    check("maxout", pieces)
    check("backprop_maxout", normal(20, 6), host.maxout(pieces)[1], 3)
    lengths = np.array([3, 5, 1, 31], np.int32)
    for name in ("sum", "mean", "max"):
        check("reduce_" + name, x, lengths)
    for name in ("sum", "mean"):
        check("backprop_reduce_" + name, normal(4, 12), lengths)
    check("backprop_reduce_max", normal(4, 12),
          host.reduce_max(x, lengths)[1], lengths)
    check("hash", np.arange(1000, dtype=np.uint64) * 7919, 123)
    check("gather_add", normal(20, 4),
          random.integers(0, 20, (40, 4)).astype(np.uint32))


def trained(np, ops):
    """Losses, and what the network says afterwards."""
    from thinc import api
    random = np.random.default_rng(1)
    words = random.integers(0, 50, (64, 1)).astype(np.uint64)
    answers = np.eye(4, dtype=np.float32)[words[:, 0] % 4]
    api.fix_random_seed(0)
    with api.use_ops(ops):
        model = api.chain(
            api.HashEmbed(16, 100, column=0, seed=5), api.expand_window(1),
            api.Maxout(24, normalize=True), api.Mish(16), api.Softmax(4))
        x, y = model.ops.asarray(words), model.ops.asarray(answers)
        model.initialize(x, y)
        # Weights drawn by numpy, so that both have the same ones.
        for node in model.walk():
            for name in node.param_names:
                value = node.get_param(name)
                node.set_param(name, model.ops.asarray(
                    random.standard_normal(value.shape).astype(np.float32) *
                    0.3))
        optimizer = api.Adam(0.02)
        losses = []
        for _ in range(10):
            guess, backward = model.begin_update(x)
            losses.append(float(((guess - y) ** 2).sum()))
            backward(guess - y)
            model.finish_update(optimizer)
        return np.array(losses), api.to_numpy(model.predict(x))


def thinc():
    import cupy
    import numpy as np
    check_operations(np, cupy)
    want, said = trained(np, "numpy")
    got, heard = trained(np, "cupy")
    assert want[-1] < want[0] / 2
    np.testing.assert_allclose(got, want, rtol=1e-3)
    np.testing.assert_allclose(heard, said, atol=2e-3)
