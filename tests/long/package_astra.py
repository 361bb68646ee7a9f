"""astra-toolbox for whole_wheels.py: tomography. Projections of a phantom are
compared with the toolbox's own on the host, reconstructions from them with the
phantom."""


def slices():
    import astra
    import numpy as np

    volume = astra.create_vol_geom(48, 48)
    rays = astra.create_proj_geom("parallel", 1.0, 72,
                                  np.linspace(0, np.pi, 45, False))
    phantom = np.zeros((48, 48), np.float32)
    phantom[12:30, 15:38] = 1
    phantom[22:38, 8:22] += 0.5
    made = {}
    for kind in ("cuda", "linear"):
        projector = astra.create_projector(kind, rays, volume)
        made[kind] = (projector,) + astra.create_sino(phantom, projector)
    ours, host = made["cuda"][2], made["linear"][2]
    assert np.abs(ours - host).max() < 1e-3 * host.max()
    for name, steps, most in (("FBP_CUDA", 1, 0.06), ("SIRT_CUDA", 60, 0.08),
                              ("CGLS_CUDA", 20, 0.04), ("SART_CUDA", 90, 0.09)):
        config = astra.astra_dict(name)
        config["ReconstructionDataId"] = astra.data2d.create("-vol", volume)
        config["ProjectionDataId"] = made["cuda"][1]
        config["ProjectorId"] = made["cuda"][0]
        astra.algorithm.run(astra.algorithm.create(config), steps)
        found = astra.data2d.get(config["ReconstructionDataId"])
        error = np.sqrt(((found - phantom) ** 2).mean())
        assert error < most, (name, error)


def cone():
    import astra
    import numpy as np

    volume = astra.create_vol_geom(20, 20, 20)
    angles = np.linspace(0, 2 * np.pi, 24, False)
    rays = astra.create_proj_geom("cone", 1.0, 1.0, 28, 28, angles, 100, 50)
    phantom = np.zeros((20, 20, 20), np.float32)
    phantom[5:15, 6:16, 4:13] = 1
    projections, seen = astra.create_sino3d_gpu(phantom, rays, volume)
    # No ray sees more than the longest way through the phantom.
    assert 0 < seen.max() <= np.sqrt(10 ** 2 + 10 ** 2 + 9 ** 2) * 1.01
    for name, steps, most in (("FDK_CUDA", 1, 0.12), ("SIRT3D_CUDA", 25, 0.09),
                              ("CGLS3D_CUDA", 12, 0.12)):
        config = astra.astra_dict(name)
        config["ReconstructionDataId"] = astra.data3d.create("-vol", volume)
        config["ProjectionDataId"] = projections
        astra.algorithm.run(astra.algorithm.create(config), steps)
        found = astra.data3d.get(config["ReconstructionDataId"])
        error = np.sqrt(((found - phantom) ** 2).mean())
        assert error < most, (name, error)


def astra_toolbox():
    slices()
    cone()
