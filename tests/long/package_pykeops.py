"""pykeops for jit_packages.py: kernels over all pairs, compiled by NVRTC from
the C++ that it writes for each formula."""
import os


def pykeops():
    import numpy as np
    import pykeops as package
    from pykeops.numpy import Genred, LazyTensor
    assert package.config.gpu_available
    random = np.random.default_rng(0)
    x = random.standard_normal((300, 3))
    y = random.standard_normal((200, 3))
    b = random.standard_normal((200, 2))
    far = ((x[:, None] - y[None]) ** 2).sum(-1)
    for kind, bound in ((np.float32, 1e-4), (np.float64, 1e-12)):
        one, other, weights = (value.astype(kind) for value in (x, y, b))
        for backend in ("GPU_1D", "GPU_2D"):
            total = Genred("Exp(-SqDist(x,y))*b",
                           ["x=Vi(3)", "y=Vj(3)", "b=Vj(2)"],
                           reduction_op="Sum", axis=1)
            np.testing.assert_allclose(
                total(one, other, weights, backend=backend),
                np.exp(-far) @ b, atol=bound)
        best = Genred("-SqDist(x,y)", ["x=Vi(3)", "y=Vj(3)"],
                      reduction_op="LogSumExp", axis=0)
        np.testing.assert_allclose(
            best(one, other, backend="GPU")[:, 0],
            np.log(np.exp(-far).sum(0)), atol=bound)
    apart = ((LazyTensor(x[:, None, :]) - LazyTensor(y[None])) ** 2).sum(-1)
    np.testing.assert_array_equal(
        apart.argKmin(4, dim=1, backend="GPU"), np.argsort(far, 1)[:, :4])


def folders(python):
    """The environment in which it finds NVRTC as in a toolkit's folder, which
    is there under no other name, and CUDA's headers."""
    import glob
    home = os.path.dirname(os.path.dirname(python))
    found = glob.glob(os.path.join(home, "lib", "python3*", "site-packages",
                                   "nvidia", "cu13"))[0]
    link = os.path.join(home, "nvrtc", "libnvrtc.so")
    os.makedirs(os.path.dirname(link), exist_ok=True)
    if not os.path.islink(link):
        os.symlink(os.path.join(found, "lib", "libnvrtc.so.13"), link)
    return {"LD_LIBRARY_PATH": os.path.dirname(link), "CUDA_PATH": found,
            "KEOPS_CACHE_FOLDER": os.path.join(home, "keops")}
