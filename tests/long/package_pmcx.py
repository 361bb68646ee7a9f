"""pmcx for jit_packages.py: light in tissue, photon by photon."""


def simulate(np, package, scattering, anisotropy, photons, size=20):
    """Absorbed energy in each voxel of a cube, of a beam of energy 1 that
    enters in the middle of one side."""
    found = package.run({
        "nphoton": photons, "vol": np.ones((size,) * 3, np.uint8),
        "tstart": 0, "tend": 5e-9, "tstep": 5e-9, "seed": 7,
        "srcpos": [size / 2, size / 2, 0], "srcdir": [0, 0, 1],
        "issrcfrom0": 1, "isreflect": 0, "outputtype": "energy",
        "prop": [[0, 0, 1, 1], [0.05, scattering, anisotropy, 1.37]],
        "autopilot": 0, "nthread": 512, "nblocksize": 64})
    assert found["stat"]["energytot"] == photons
    return np.squeeze(found["flux"])


def turned(np, random, way, anisotropy):
    """Directions after a scattering by Henyey and Greenstein's law."""
    count = len(way)
    part = (1 - anisotropy ** 2) / (
        1 - anisotropy + 2 * anisotropy * random.random(count))
    cosine = (1 + anisotropy ** 2 - part ** 2) / (2 * anisotropy)
    sine = np.sqrt(1 - cosine ** 2)
    angle = 2 * np.pi * random.random(count)
    other = np.where(abs(way[:, 2:]) < 0.9, [[0., 0., 1.]], [[1., 0., 0.]])
    first = np.cross(way, other)
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    second = np.cross(way, first)
    return (way * cosine[:, None] + first * (sine * np.cos(angle))[:, None] +
            second * (sine * np.sin(angle))[:, None])


def absorbed(np, scattering, anisotropy, photons, size=20):
    """What such a cube absorbs of energy 1, and of that below each depth."""
    random = np.random.default_rng(0)
    place = np.tile([size / 2, size / 2, 0.], (photons, 1))
    way = np.tile([0., 0., 1.], (photons, 1))
    profile = np.zeros(size)
    left = np.ones(photons)
    while len(place):
        step = random.exponential(1 / scattering, len(place))
        with np.errstate(divide="ignore"):
            border = np.where(way > 0, (size - place) / way,
                              np.where(way < 0, -place / way, np.inf)).min(1)
        length = np.minimum(step, border)
        # In short parts, each where its middle is.
        parts = 40
        for i in range(parts):
            middle = place[:, 2] + way[:, 2] * length * (i + 0.5) / parts
            lost = left * -np.expm1(-0.05 * length / parts)
            left = left - lost
            np.add.at(profile, np.clip(middle.astype(int), 0, size - 1), lost)
        place = place + way * length[:, None]
        inside = (step < border) & (left > 1e-4)
        place, left = place[inside], left[inside]
        way = turned(np, random, way[inside], anisotropy)
    return profile / photons


def pmcx():
    import numpy as np
    import pmcx as package
    assert package.gpuinfo()
    # Nothing scatters: each voxel of the beam's row takes its share.
    size = 20
    found = simulate(np, package, 0., 0., 1000)
    depth = np.arange(size)
    np.testing.assert_allclose(
        found.sum((0, 1)), np.exp(-0.05 * depth) - np.exp(-0.05 * (depth + 1)),
        rtol=1e-3)
    scattered = simulate(np, package, 0.5, 0.8, 4000)
    expected = absorbed(np, 0.5, 0.8, 20000)
    assert abs(scattered.sum() / expected.sum() - 1) < 0.02
    np.testing.assert_allclose(scattered.sum((0, 1)), expected, atol=2e-3)
    # Of the four quarters none has more than another, but for the beam's row.
    scattered[size // 2 - 1:size // 2 + 1, size // 2 - 1:size // 2 + 1] = 0
    quarters = scattered.reshape(2, 10, 2, 10, size).sum((1, 3, 4))
    np.testing.assert_allclose(quarters, quarters.mean(), rtol=0.15)
