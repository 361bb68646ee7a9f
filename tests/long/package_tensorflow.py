"""tensorflow for jit_packages.py: what its kernels, cuBLAS, cuDNN, cuFFT and
cuSOLVER compute on the GPU, with the same operations on the processor."""
import os

FLOATS = ("float16", "bfloat16", "float32", "float64")
UNARY = """abs exp expm1 log1p sin cos tan atan sinh cosh tanh sigmoid erf floor
ceil round sign square asinh is_nan""".split()
POSITIVE = "log sqrt rsqrt acosh reciprocal".split()
BINARY = """add subtract multiply divide maximum minimum squared_difference
atan2""".split()
WHOLE = """add subtract multiply floordiv floormod maximum minimum equal
less""".split()


def tolerance_of(kind):
    return {"float16": 3e-2, "bfloat16": 1e-1, "float32": 1e-5}.get(kind, 1e-7)


class Comparison:
    """Each operation on both devices, with the same numbers."""

    def __init__(self, tf, np):
        self.tf, self.np = tf, np
        self.random = np.random.default_rng(0)

    def floats(self, *shape):
        return self.random.standard_normal(shape).astype(self.np.float32)

    def whole(self, below, *shape):
        return self.random.integers(0, below, shape).astype(self.np.int32)

    def on(self, device, function, arguments):
        tf, np = self.tf, self.np
        with tf.device(device):
            results = function(*[tf.constant(a) for a in arguments])
        return [np.asarray(tf.cast(r, tf.float32)
                           if r.dtype in (tf.float16, tf.bfloat16) else r)
                for r in map(tf.convert_to_tensor, tf.nest.flatten(results))]

    def __call__(self, name, function, *arguments, tolerance=1e-4):
        want = self.on("/CPU:0", function, arguments)
        got = self.on("/GPU:0", function, arguments)
        for g, w in zip(got, want, strict=True):
            self.np.testing.assert_allclose(g, w, rtol=tolerance,
                                            atol=tolerance, err_msg=name)

    def slopes(self, name, function, *arguments, tolerance=1e-3):
        tf = self.tf

        def differentiated(*values):
            values = [tf.identity(v) for v in values]
            with tf.GradientTape() as tape:
                tape.watch(values)
                y = function(*values)
                loss = tf.reduce_sum(y * tf.sin(y))
            return tape.gradient(loss, values)

        self(name, function, *arguments, tolerance=tolerance)
        self("slopes of " + name, differentiated, *arguments,
             tolerance=tolerance)


def check_elements(tf, check):
    def typed(operation, kind):
        function = getattr(tf, operation, None) or getattr(tf.math, operation)
        return lambda *values: function(*[tf.cast(v, kind) for v in values])

    x, y = check.floats(7, 13), check.floats(7, 13)
    for kind in FLOATS:
        for operation in UNARY + POSITIVE + BINARY:
            values = [abs(x) + 1.01] if operation in POSITIVE else [x]
            if operation in BINARY:
                values = [x, y]
            check(operation + " of " + kind, typed(operation, kind), *values,
                  tolerance=tolerance_of(kind))
    a, b = check.whole(50, 6, 11) + 1, check.whole(7, 6, 11) + 1
    for kind in ("int8", "uint8", "int16", "int32", "int64"):
        for operation in WHOLE:
            check(operation + " of " + kind, typed(operation, kind), a, b,
                  tolerance=0)
    for operation in ("lgamma", "digamma", "special.bessel_j0",
                      "special.spence", "special.dawsn", "special.expint"):
        function = tf.math
        for part in operation.split("."):
            function = getattr(function, part)
        check(operation, function, abs(check.floats(30)) + 0.1)
    check("broadcast", lambda a, b: a * b, check.floats(5, 1, 7, 1, 3),
          check.floats(1, 6, 7, 2, 1))
    check("cast", lambda a: tf.cast(a * 10, tf.int32), x, tolerance=0)


def check_arrays(tf, check):
    x = check.floats(33, 17, 9)
    for name in "reduce_sum reduce_mean reduce_max reduce_min".split():
        for axis in (None, 0, 1, 2, (0, 2)):
            check("%s %s" % (name, axis),
                  lambda a, n=name, i=axis: getattr(tf, n)(a, axis=i), x)
    check("argmax", lambda a: tf.argmax(a, axis=1), x)
    check("cumsum", lambda a: tf.cumsum(a, axis=1, reverse=True), x)
    check("cumprod", lambda a: tf.math.cumprod(1 + 0.01 * a, axis=0), x)
    check("softmax", tf.nn.softmax, check.floats(20, 300))
    check("transpose", lambda a: tf.transpose(a, (4, 2, 0, 3, 1)),
          check.floats(3, 4, 5, 6, 7))
    check("pad", lambda a: tf.pad(a, [[1, 2], [3, 0], [0, 1]], "REFLECT"), x)
    check("slice", lambda a: a[1:5:2, ::-1, 3], x)
    check("concat", lambda a: tf.concat(tf.split(a, 3, 2)[::-1], 1), x)
    rows = check.whole(33, 40)
    check("gather", tf.gather, x, rows)
    check("scatter", lambda a, i: tf.scatter_nd(i[:, None], a, [33, 4]),
          check.floats(40, 4), rows)
    check("where", lambda a: tf.where(a > 0.5), x)
    check("unique", lambda i: tf.unique_with_counts(i)[2], rows)
    check("bincount", lambda i: tf.math.bincount(i, minlength=40), rows)
    check("sort", lambda a: tf.sort(a, axis=-1), check.floats(5, 300))
    check("top_k", lambda a: tf.math.top_k(a, 700)[1], check.floats(2, 3000))
    groups = check.np.r_[check.np.arange(20), check.whole(20, 180)]
    for name in "sum mean max min prod".split():
        check("segment_" + name, lambda a, i, n=name: getattr(
            tf.math, "segment_" + n)(a, tf.sort(i)), check.floats(200, 5),
              groups)
    check("stateless_normal",
          lambda: tf.random.stateless_normal([3001], [1, 2]), tolerance=1e-5)
    check("stateless_uniform", lambda: tf.random.stateless_uniform(
        [3001], [1, 2], 0, 1000, tf.int32), tolerance=0)


def check_pictures(tf, check):
    images = check.floats(2, 9, 9, 3)
    for method in ("bilinear", "nearest"):
        check(method, lambda a, m=method: tf.image.resize(a, (13, 7), m),
              images)
    check("crop_and_resize", lambda a: tf.image.crop_and_resize(
        a, [[0.1, 0.2, 0.8, 0.9], [0., 0., 1., 1.]], [0, 1], [5, 6]), images)
    check("hue", lambda a: tf.image.adjust_hue(tf.sigmoid(a), 0.2), images,
          tolerance=1e-3)
    check("patches", lambda a: tf.image.extract_patches(
        a, [1, 3, 3, 1], [1, 2, 2, 1], [1, 1, 1, 1], "SAME"), images)


def check_linear_algebra(tf, check):
    for kind in FLOATS + ("complex64",):
        tolerance = max(1e-4, 5 * tolerance_of(kind))
        check("matmul of " + kind, lambda a, b, k=kind: tf.matmul(
            tf.cast(a, k), tf.cast(b, k), transpose_b=True),
              check.floats(4, 33, 47), check.floats(4, 29, 47),
              tolerance=tolerance)
    square = check.floats(3, 9, 9)
    square = square @ square.transpose(0, 2, 1) + check.np.eye(
        9, dtype=check.np.float32)
    linalg = tf.linalg
    check("cholesky", linalg.cholesky, square, tolerance=1e-3)
    check("solve", linalg.solve, square, check.floats(3, 9, 2),
          tolerance=1e-2)
    check("qr", lambda a: tf.abs(linalg.qr(a)[1]), square, tolerance=1e-3)
    check("svd", lambda a: linalg.svd(a, compute_uv=False), square,
          tolerance=1e-3)
    check("eigh", linalg.eigvalsh, square, tolerance=1e-3)
    check("lu", lambda a: linalg.lu(a)[0], square, tolerance=1e-3)
    check("fft2d", lambda a, b: tf.signal.fft2d(tf.complex(a, b)),
          check.floats(4, 17, 8), check.floats(4, 17, 8), tolerance=1e-3)
    check("stft", lambda a: tf.signal.stft(a, 32, 16), check.floats(2, 300),
          tolerance=1e-3)
    check("sparse product", lambda a, b: tf.sparse.sparse_dense_matmul(
        tf.sparse.from_dense(tf.where(a > 1, a, 0.)), b),
          check.floats(33, 47), check.floats(47, 5))


def check_layers(tf, check):
    images, taps = check.floats(2, 12, 11, 3), check.floats(3, 3, 3, 5)
    nn = tf.nn
    # Where SAME pads more behind than in front.
    check.slopes("conv2d", lambda a, b: nn.conv2d(a, b, 2, "SAME"), images,
                 taps)
    check("dilated", lambda a, b: nn.conv2d(a, b, 1, "VALID", dilations=2),
          images, taps)
    check.slopes("conv3d", lambda a, b: nn.conv3d(
        a, b, [1, 1, 1, 1, 1], "SAME"), check.floats(2, 6, 7, 5, 3),
                 check.floats(3, 3, 3, 3, 4))
    check("transposed", lambda a, b: nn.conv2d_transpose(
        a, b, [2, 12, 12, 3], 2, "SAME"), check.floats(2, 6, 6, 5), taps)
    check.slopes("depthwise", lambda a, b: nn.depthwise_conv2d(
        a, b, [1, 1, 1, 1], "SAME"), images, check.floats(3, 3, 3, 2))
    check.slopes("max_pool2d", lambda a: nn.max_pool2d(a, 3, 2, "SAME"),
                 images)
    check.slopes("avg_pool2d", lambda a: nn.avg_pool2d(a, 3, 2, "SAME"),
                 images)
    check.slopes("batch norm", lambda a, s, b: tf.raw_ops.FusedBatchNormV3(
        x=a, scale=s, offset=b, mean=[], variance=[], is_training=True)[0],
                 check.floats(4, 6, 7, 5), check.floats(5), check.floats(5),
                 tolerance=1e-2)
    check.slopes("response", nn.local_response_normalization,
                 check.floats(2, 9, 9, 16))


def convolutional(layers):
    return (12, 12, 2), [
        layers.Conv2D(6, 3, padding="same"), layers.BatchNormalization(),
        layers.ReLU(), layers.MaxPooling2D(3, 2, padding="same"),
        layers.SeparableConv2D(8, 3, padding="same", activation="gelu"),
        layers.GlobalAveragePooling2D(), layers.LayerNormalization(),
        layers.Dense(4)]


def recurrent(layers):
    return (9, 5), [layers.Bidirectional(layers.LSTM(
        6, return_sequences=True)), layers.GRU(7), layers.Dense(4)]


def losses(tf, np, device, make, compiled):
    import keras
    keras.utils.set_random_seed(1)
    random = np.random.default_rng(3)
    with tf.device(device):
        shape, layers = make(keras.layers)
        model = keras.Sequential([keras.layers.Input(shape)] + layers)
        model.compile(keras.optimizers.Adam(0.01),
                      keras.losses.SparseCategoricalCrossentropy(
                          from_logits=True), jit_compile=compiled)
        x = random.standard_normal((32,) + shape).astype(np.float32)
        return model.fit(x, random.integers(0, 4, 32), batch_size=16,
                         epochs=5, verbose=0, shuffle=False).history["loss"]


def check_training(tf, np):
    for make, compiled in ((convolutional, False), (convolutional, True),
                           (recurrent, False)):
        want = losses(tf, np, "/CPU:0", make, False)
        assert want[-1] < want[0]
        # XLA fuses what the processor rounds one by one.
        np.testing.assert_allclose(losses(tf, np, "/GPU:0", make, compiled),
                                   want, rtol=2e-3 if compiled else 1e-5)


def tensorflow():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    import numpy as np
    import tensorflow as tf
    tf.config.set_soft_device_placement(False)
    check = Comparison(tf, np)
    check_elements(tf, check)
    check_arrays(tf, check)
    check_pictures(tf, check)
    check_linear_algebra(tf, check)
    check_layers(tf, check)
    tf.config.set_soft_device_placement(True)
    check_training(tf, np)
