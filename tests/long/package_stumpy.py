"""stumpy for jit_packages.py: what a time series repeats, by Numba's CUDA."""


def profile(np, series, other, length, apart):
    """For each window of `series` the nearest one of `other`, at least
    `apart` away, by the distance of windows made standard, and how far."""
    def windows(values):
        found = np.lib.stride_tricks.sliding_window_view(values, length)
        return ((found - found.mean(1, keepdims=True)) /
                found.std(1, keepdims=True))
    a, b = windows(series), windows(other)
    far = np.sqrt(((a[:, None] - b[None]) ** 2).sum(2))
    far[abs(np.arange(len(a))[:, None] - np.arange(len(b))) <= apart] = np.inf
    return far.min(1), far.argmin(1)


def stumpy():
    import numpy as np
    import stumpy as package
    random = np.random.default_rng(0)
    a = random.standard_normal(260).cumsum()
    b = random.standard_normal(200).cumsum()
    for other, apart, more in ((a, 5, {}), (b, -1, {
            "T_B": b, "ignore_trivial": False})):
        found = package.gpu_stump(a, 20, **more)
        far, where = profile(np, a, other, 20, apart)
        np.testing.assert_allclose(found[:, 0].astype(float), far, atol=1e-6)
        np.testing.assert_array_equal(found[:, 1].astype(int), where)
