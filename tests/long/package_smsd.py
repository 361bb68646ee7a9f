"""smsd-cuda for whole_wheels.py: molecules that are like others, found as on the
host."""
import os


def found(smsd, targets, queries):
    corpus = smsd.TargetCorpus.from_smiles(targets)
    corpus.prewarm(num_threads=1)
    return [getattr(corpus, name)(queries, limit, num_threads=1)
            for name in ("screen_many", "screen_targets_many")
            for limit in (0.2, 0.5, 0.8, 1.0)]


def smsd():
    import random
    import smsd as module
    import smsd_cuda
    assert smsd_cuda.is_available(), smsd_cuda.unavailable_reason()
    random.seed(1)
    parts = ["C", "N", "O", "C(C)", "C(=O)", "c1ccccc1", "S", "C(F)"]
    molecules = ["C" + "".join(random.choices(parts, k=random.randint(3, 9)))
                 for _ in range(220)]
    ours = found(module, molecules[:200], molecules[180:])
    os.environ["SMSD_DISABLE_GPU"] = "1"
    assert ours == found(module, molecules[:200], molecules[180:])
    assert sum(len(hits) for each in ours for hits in each) > 1000
