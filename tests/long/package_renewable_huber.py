"""renewable-huber-native-cuda for whole_wheels.py: a regression, compared with
the package's own over numpy. The package loads NVIDIA's cuBLAS and cuSOLVER by
their paths before; ours are called all the same."""


def renewable_huber():
    import numpy as np
    from renewable_huber import RenewableHuberRegressor
    random = np.random.default_rng(0)
    x = random.standard_normal((500, 12))
    weights = random.standard_normal(12)
    y = x @ weights + 0.1 * random.standard_normal(500)
    y[::50] += 20

    def fitted(**options):
        model = RenewableHuberRegressor(**options)
        kind = options["dtype"]
        model.fit(x.astype(kind), y.astype(kind))
        model.partial_fit(x[:100].astype(kind), y[:100].astype(kind))
        return model
    for kind, near in (("float32", 1e-3), ("float64", 1e-8)):
        for penalty in ("none", "l1"):
            ours, theirs = (
                fitted(dtype=kind, penalty=penalty, backend=backend,
                       device=device)
                for backend, device in (("native_cuda", "cuda"),
                                        ("numpy", "cpu")))
            np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=near)
            assert abs(ours.coef_ - weights).max() < 0.2
