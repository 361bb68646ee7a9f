"""Open3D for jit_packages.py: its tensors on CUDA:0, compared with numpy. Its
kernels are there as PTX within its own library; what it hands to cuBLAS and
cuSOLVER (products of matrices, decompositions) is machine code."""
import ctypes


def check_elements(core, np, device):
    x = (np.arange(60, dtype=np.float32).reshape(3, 4, 5) - 20) / 8
    y = np.linspace(0.5, 3, 5, dtype=np.float32)
    a, b = core.Tensor(x, device=device), core.Tensor(y, device=device)

    def same(tensor, expected, **tolerance):
        assert tensor.device == device
        host = tensor.cpu().numpy()
        assert host.dtype == expected.dtype, (host.dtype, expected.dtype)
        if tolerance:
            np.testing.assert_allclose(host, expected, **tolerance)
        else:
            np.testing.assert_array_equal(host, expected)

    same(a + b, x + y)
    same(a - b, x - y)
    same(a * b, x * y)
    same(a / b, x / y, rtol=1e-6)
    same(-a, -x)
    same(a.abs(), np.abs(x))
    same(a.floor(), np.floor(x))
    same(a.ceil(), np.ceil(x))
    same(a.trunc(), np.trunc(x))
    # Halves go away from zero.
    same(a.round(), np.trunc(x + np.copysign(np.float32(0.5), x)))
    same(b.sqrt(), np.sqrt(y), rtol=1e-6)
    same(b.exp(), np.exp(y), rtol=1e-6)
    same(a.sin(), np.sin(x), rtol=1e-5, atol=1e-6)
    same(a.cos(), np.cos(x), rtol=1e-5, atol=1e-6)
    same(a.clip(-1, 2), np.clip(x, -1, 2))
    same(a > b, x > y)
    same((a <= b).logical_or(a == 2), (x <= y) | (x == 2))
    same((a / 0).isnan(), np.isnan(x * np.inf))
    for kind, numpy_kind in ((core.int8, np.int8), (core.int32, np.int32),
                             (core.int64, np.int64), (core.float64, np.float64),
                             (core.bool, np.bool_)):
        same(a.to(kind), x.astype(numpy_kind))
    whole = np.arange(-6, 6, dtype=np.int64)
    c = core.Tensor(whole, device=device)
    same(c * c + 3, whole * whole + 3)
    c += 5
    same(c, whole + 5)
    # Views that are not contiguous, and filled places.
    same(a.reshape([12, 5]).T() * 2, x.reshape(12, 5).T * 2)
    same(a[:, 1:, ::2].contiguous(), x[:, 1:, ::2])
    a[1] = core.Tensor(y, device=device)
    x[1] = y
    same(a, x)
    same(core.Tensor.arange(3, 40, 4, core.int32, device=device),
         np.arange(3, 40, 4, dtype=np.int32))
    same(core.concatenate([a, a * 2], 1), np.concatenate([x, x * 2], 1))


def check_reductions(core, np, device):
    random = np.random.default_rng(5)
    x = random.integers(-1000, 1000, (37, 3, 11))
    for kind in (np.float32, np.float64, np.int32, np.int64):
        values = x.astype(kind)
        tensor = core.Tensor(values, device=device)
        for axes in (None, [0], [1], [2], [0, 2]):
            numpy_axes = None if axes is None else tuple(axes)
            for name in ("sum", "min", "max"):
                np.testing.assert_array_equal(
                    getattr(tensor, name)(dim=axes).cpu().numpy(),
                    getattr(values, name)(axis=numpy_axes), err_msg=name)
        # Equal values would leave it open which one is found.
        order = random.permutation(values.size).reshape(x.shape).astype(kind)
        tensor = core.Tensor(order, device=device)
        for axis in (0, 1, 2):
            for name in ("argmin", "argmax"):
                np.testing.assert_array_equal(
                    getattr(tensor, name)(dim=[axis]).cpu().numpy(),
                    getattr(order, name)(axis=axis), err_msg=name)
    parts = random.random((5, 40)) + 0.5
    tensor = core.Tensor(parts, device=device)
    np.testing.assert_allclose(tensor.prod(dim=[1]).cpu().numpy(),
                               parts.prod(axis=1), rtol=1e-12)
    np.testing.assert_allclose(tensor.mean(dim=[0]).cpu().numpy(),
                               parts.mean(axis=0), rtol=1e-12)
    large = np.ones(100000, dtype=np.float32)
    assert core.Tensor(large, device=device).sum().item() == large.size
    assert tensor.allclose(tensor + 1e-12) and not (tensor > 1).all().item()


def check_indexing(core, np, device):
    x = np.arange(210, dtype=np.float32).reshape(7, 6, 5)
    a = core.Tensor(x, device=device)
    rows, columns = np.array([4, 0, 6, 4]), np.array([1, 5, 2, 0])
    at = [core.Tensor(i, device=device) for i in (rows, columns)]
    np.testing.assert_array_equal(a[at[0]].cpu().numpy(), x[rows])
    np.testing.assert_array_equal(a[at[0], at[1]].cpu().numpy(),
                                  x[rows, columns])
    np.testing.assert_array_equal(a[1:, at[1]].cpu().numpy(), x[1:, columns])
    mask = (x % 7) < 2
    there = core.Tensor(mask, device=device)
    np.testing.assert_array_equal(a[there].cpu().numpy(), x[mask])
    np.testing.assert_array_equal([at.cpu().numpy() for at in there.nonzero()],
                                  np.array(mask.nonzero()))
    a[there] = core.Tensor(np.array(-1, np.float32), device=device)
    x[mask] = -1
    a[at[0], at[1]] = core.Tensor(np.array(-2, np.float32), device=device)
    x[rows, columns] = -2
    np.testing.assert_array_equal(a.cpu().numpy(), x)


def open3d():
    # The wheel's library needs a libusb, which a machine may not have.
    import libusb_package
    libusb = ctypes.CDLL(libusb_package.get_library_path())
    import numpy as np
    import open3d.core as core
    assert libusb and core.cuda.is_available()
    device = core.Device("CUDA:0")
    check_elements(core, np, device)
    check_reductions(core, np, device)
    check_indexing(core, np, device)
