"""pycolmap for jit_packages.py: features and matches of two images by its
code for the device, SiftGPU, compared with those by its code for the host,
VLFeat. Both follow Lowe's paper, neither follows the other to the bit."""


def images(np):
    """Blots of many sizes, and the same ones a little further."""
    random = np.random.default_rng(8)
    height, width, shift = 120, 160, (7, 4)
    rows, columns = np.mgrid[:height, :width]
    pair = [np.full((height, width), 0.5) for _ in range(2)]
    for _ in range(60):
        x, y = random.random(2) * (width, height)
        size, tall = random.random(2) * 4 + 1.5
        strength = random.choice([-0.4, 0.4])
        for image, (dx, dy) in zip(pair, ((0, 0), shift)):
            image += strength * np.exp(-((columns - x - dx) / size) ** 2 -
                                       ((rows - y - dy) / tall) ** 2)
    return [(np.clip(image, 0, 1) * 255).astype(np.uint8)
            for image in pair], np.array(shift)


def near(np, points, others, distance):
    """For each point, whether one of the others is that near."""
    return np.linalg.norm(points[:, None] - others[None],
                          axis=2).min(axis=1) < distance


def pycolmap():
    import numpy as np
    import pycolmap as package
    assert package.has_cuda
    pair, shift = images(np)

    def extract(device):
        extractor = package.FeatureExtractor.create(device=device)
        found = [extractor.extract_from_uint8_array(image) for image in pair]
        return found, [np.array([(p.x, p.y) for p in keypoints])
                       for keypoints, _ in found]

    host, host_places = extract(package.Device.cpu)
    ours, places = extract(package.Device.cuda)
    for there, here in zip(host_places, places):
        assert len(there) > 50
        assert near(np, there, here, 1).mean() > 0.9
        assert near(np, here, there, 1).mean() > 0.9

    def match(device, found):
        (points, words), (other_points, other_words) = found
        matcher = package.FeatureMatcher.create(device=device)
        return np.array(matcher.match(points, words, other_points,
                                      other_words))

    for found, at in ((ours, places), (host, host_places)):
        pairs = match(package.Device.cuda, found)
        by_host = match(package.Device.cpu, found)
        assert set(map(tuple, pairs)) == set(map(tuple, by_host))
        moved = at[1][pairs[:, 1]] - at[0][pairs[:, 0]]
        right = np.linalg.norm(moved - shift, axis=1) < 0.5
        assert len(pairs) > 50 and right.mean() > 0.95
