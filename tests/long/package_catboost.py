"""catboost for jit_packages.py: its kernels are there as PTX within its own
library. What is trained on the device is compared with what the library's own
code for the host makes of the same data, and so are predictions."""


def catboost():
    import numpy as np
    from catboost import CatBoostClassifier, CatBoostRegressor

    random = np.random.default_rng(3)
    x = (random.integers(-40, 41, (400, 5)) / 8).astype(np.float32)
    y = x[:, 0] * 2 + np.abs(x[:, 1]) - x[:, 2] * (x[:, 3] > 1)
    options = {"iterations": 10, "depth": 3, "learning_rate": 0.5,
               "border_count": 32, "boosting_type": "Plain",
               "bootstrap_type": "No", "random_strength": 0,
               "score_function": "L2", "leaf_estimation_method": "Newton",
               "leaf_estimation_iterations": 1, "random_seed": 0,
               "thread_count": 2, "verbose": False,
               "allow_writing_files": False}

    def train(model, label, **more):
        models = []
        for device in ("GPU", "CPU"):
            there = {"devices": "0", "gpu_ram_part": 0.05}
            models.append(model(task_type=device, **options, **more,
                                **(there if device == "GPU" else {})))
            models[-1].fit(x, label)
        return models

    ours, host = train(CatBoostRegressor, y, loss_function="RMSE")

    def error(model):
        return np.sqrt(np.mean((model.predict(x) - y) ** 2))

    # Trees need not be the same ones, but must be as good.
    assert error(ours) < 0.3 * np.std(y), error(ours)
    assert abs(error(ours) - error(host)) < 0.1 * error(host), (
        error(ours), error(host))
    # One model, both evaluators.
    np.testing.assert_allclose(ours.predict(x, task_type="GPU"),
                               ours.predict(x), rtol=1e-5, atol=1e-5)

    label = y > 0
    ours, host = train(CatBoostClassifier, label, loss_function="Logloss")
    right = [(model.predict(x) == label).mean() for model in (ours, host)]
    assert right[0] > 0.9 and abs(right[0] - right[1]) < 0.03, right
