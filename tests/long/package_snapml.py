"""snapml for jit_packages.py: linear models and trees, as its own for the
processor."""


def snapml():
    import numpy as np
    import snapml as package
    random = np.random.default_rng(0)
    x = random.standard_normal((600, 20)).astype(np.float32)
    score = x[:, :5] @ [2., -1., 0.5, 1., -2.] + x[:, 5] * x[:, 6]
    classes = (score > 0).astype(np.float32)

    def pair(kind, **options):
        return (kind(use_gpu=on, **options) for on in (False, True))

    host, device = pair(package.LogisticRegression, regularizer=10.,
                        max_iter=50)
    host.fit(x, classes * 2 - 1)
    device.fit(x, classes * 2 - 1)
    np.testing.assert_allclose(device.coef_, host.coef_, atol=5e-3)
    device = package.LinearRegression(use_gpu=True, regularizer=500.,
                                      max_iter=20)
    np.testing.assert_allclose(
        np.ravel(device.fit(x, score).coef_),
        np.linalg.solve(x.T @ x + 500 * np.eye(20), x.T @ score), atol=2e-3)
    for kind, y, options in (
            (package.DecisionTreeClassifier, classes,
             {"max_depth": 5, "use_histograms": True, "hist_nbins": 64}),
            (package.RandomForestClassifier, classes,
             {"n_estimators": 3, "max_depth": 5, "use_histograms": True,
              "hist_nbins": 64, "bootstrap": False, "max_features": 20}),
            (package.BoostingMachineClassifier, classes,
             {"num_round": 10, "max_depth": 4, "hist_nbins": 64}),
            (package.BoostingMachineRegressor, score,
             {"num_round": 10, "max_depth": 4, "hist_nbins": 64})):
        host, device = pair(kind, random_state=1, **options)
        want = host.fit(x, y).predict(x)
        got = device.fit(x, y).predict(x)
        if y is score:
            assert (abs(want - y) < abs(y - y.mean()).mean()).mean() > 0.8
            np.testing.assert_allclose(got, want, atol=1e-2)
        else:
            assert (want == y).mean() > 0.85
            assert (got == want).mean() > 0.99
