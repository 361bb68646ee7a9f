"""molgrid for whole_wheels.py: densities of atoms on a grid, compared with the
package's own on the host."""


def molgrid():
    import molgrid as module
    import numpy as np

    maker = module.GridMaker(resolution=0.5, dimension=11.5)
    random = np.random.default_rng(0)
    atoms, types = 40, 5
    at = module.MGrid2f(atoms, 3)
    kinds = module.MGrid2f(atoms, types)
    radii = module.MGrid1f(atoms)
    for i in range(atoms):
        for k in range(3):
            at[i][k] = random.uniform(-5, 5)
        for k in range(types):
            kinds[i][k] = random.random()
        radii[i] = random.uniform(1, 2)
    shape = (types,) + tuple(maker.spatial_grid_dimensions())
    host, ours = module.MGrid4f(*shape), module.MGrid4f(*shape)
    center = (0, 0, 0)
    maker.forward(center, at.cpu(), kinds.cpu(), radii.cpu(), host.cpu())
    maker.forward(center, at.gpu(), kinds.gpu(), radii.gpu(), ours.gpu())
    host, ours = (np.array(grid.cpu().tonumpy()) for grid in (host, ours))
    assert host.max() > 1
    np.testing.assert_allclose(ours, host, atol=1e-5)
