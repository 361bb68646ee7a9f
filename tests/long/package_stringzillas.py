"""stringzillas-cuda for whole_wheels.py: distances, alignments and fingerprints
of strings, compared with the package's own code for the host."""


def engines(szs, np, capabilities):
    """What the package computes, by name, in the given capabilities."""
    random = np.random.default_rng(3)
    classes = random.integers(0, 32, 256).astype(np.uint8)
    costs = random.integers(-4, 5, (32, 32)).astype(np.int8)
    costs = np.maximum(costs, costs.T)
    for gap in ((1, 1), (3, 1)):
        yield ("levenshtein %d %d" % gap, szs.LevenshteinDistances(
            0, 2, *gap, capabilities=capabilities))
        # On the device it is for letters of one byte, or refused.
        for name in ("NeedlemanWunschScores", "SmithWatermanScores"):
            yield ("%s %d %d" % ((name,) + gap), getattr(szs, name)(
                classes, costs, -gap[0], -gap[1], capabilities=capabilities))


def strings(random, count, most):
    return ["".join(random.choice(list("ACGT"), random.integers(1, most)))
            for _ in range(count)]


def stringzillas():
    import numpy as np
    import stringzilla as sz
    import stringzillas as szs

    assert "cuda" in szs.__capabilities__, szs.__capabilities__
    gpu, host = szs.DeviceScope(gpu_device=0), szs.DeviceScope(cpu_cores=1)
    # Words of a lane, of a warp, of blocks.
    for most, rows, columns in ((12, 40, 33), (90, 9, 7), (700, 3, 2)):
        random = np.random.default_rng(most)
        queries = sz.Strs(strings(random, rows, most))
        candidates = sz.Strs(strings(random, columns, most))
        hosts = engines(szs, np, ("serial",))
        for (name, ours), (_, theirs) in zip(engines(szs, np, gpu), hosts):
            want = theirs(queries, candidates, device=host)
            assert len(np.unique(want)) > 3
            np.testing.assert_array_equal(
                ours(queries, candidates, device=gpu), want,
                err_msg="%s %d" % (name, most))
    texts = sz.Strs(strings(np.random.default_rng(1), 9, 400))
    for dimensions in (64, 256):
        ours = szs.Fingerprints(dimensions, capabilities=gpu)
        theirs = szs.Fingerprints(dimensions, capabilities=("serial",))
        for got, want in zip(ours(texts, device=gpu), theirs(texts,
                                                             device=host)):
            np.testing.assert_array_equal(got, want)
