"""cufinufft for whole_wheels.py: Fourier transforms of points that lie anywhere,
over our cuFFT. All three types in one to three dimensions are compared with the
sums that they approximate."""


def cufinufft():
    from device import open_installed
    open_installed("nvidia/cuda_runtime/lib/libcudart.so.*")
    import cufinufft as module
    import numpy as np
    from numba import cuda

    random = np.random.default_rng(1)
    points = 300

    def far(got, wanted):
        return np.linalg.norm(got - wanted) / np.linalg.norm(wanted)

    for real, complex_, eps in ((np.float32, np.complex64, 1e-5),
                                (np.float64, np.complex128, 1e-12)):
        def values(*shape):
            return (random.standard_normal(shape) +
                    1j * random.standard_normal(shape)).astype(complex_)

        for modes in ((50,), (24, 20), (10, 8, 12)):
            at = [random.uniform(-np.pi, np.pi, points).astype(real)
                  for _ in modes]
            grid = np.meshgrid(*[np.arange(-(n // 2), (n + 1) // 2)
                                 for n in modes], indexing="ij")
            phase = sum(k[..., None] * x.astype(np.float64)
                        for k, x in zip(grid, at))
            on_device = [cuda.to_device(x) for x in at]
            strengths = values(points)
            # Point by point, and by blocks in shared memory.
            for method in (1, 2):
                plan = module.Plan(1, modes, eps=eps, isign=1, dtype=complex_,
                                   gpu_method=method)
                plan.setpts(*on_device)
                out = cuda.device_array(modes, complex_)
                plan.execute(cuda.to_device(strengths), out=out)
                error = far(out.copy_to_host(), np.exp(1j * phase) @ strengths)
                assert error < 10 * eps, (real, modes, method, error)
            spectrum = values(*modes)
            plan = module.Plan(2, modes, eps=eps, isign=-1, dtype=complex_)
            plan.setpts(*on_device)
            out = cuda.device_array(points, complex_)
            plan.execute(cuda.to_device(spectrum), out=out)
            wanted = (np.exp(-1j * phase.reshape(-1, points)).T @
                      spectrum.reshape(-1))
            error = far(out.copy_to_host(), wanted)
            assert error < 10 * eps, (real, modes, error)
        at = [random.uniform(-np.pi, np.pi, points).astype(real)
              for _ in range(2)]
        to = [random.uniform(-5, 5, 40).astype(real) for _ in range(2)]
        strengths = values(points)
        plan = module.Plan(3, 2, eps=eps, isign=1, dtype=complex_)
        plan.setpts(*[cuda.to_device(x) for x in at],
                    s=cuda.to_device(to[0]), t=cuda.to_device(to[1]))
        out = cuda.device_array(40, complex_)
        plan.execute(cuda.to_device(strengths), out=out)
        phase = sum(np.outer(s.astype(np.float64), x)
                    for s, x in zip(to, at))
        error = far(out.copy_to_host(), np.exp(1j * phase) @ strengths)
        assert error < 10 * eps, (real, error)
