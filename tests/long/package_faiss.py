"""faiss-gpu for jit_packages.py and whole_wheels.py: nearest neighbours by every
kind of index that it has for GPUs, compared with its own for the host."""


def same_neighbours(np, faiss, index, base, queries, same=1.0):
    resources = faiss.StandardGpuResources()
    if not index.is_trained:
        index.train(base)
    index.add(base)
    wanted, numbers = index.search(queries, 5)
    got, found = faiss.index_cpu_to_gpu(resources, 0, index).search(queries, 5)
    assert (found == numbers).mean() >= same, (found == numbers).mean()
    np.testing.assert_allclose(got, wanted, atol=1e-4)


def faiss():
    import faiss as module
    import numpy as np

    assert module.get_num_gpus() == 1
    random = np.random.default_rng(0)
    base = random.standard_normal((1000, 32)).astype(np.float32)
    queries = random.standard_normal((20, 32)).astype(np.float32)
    for index in (module.IndexFlatL2(32), module.IndexFlatIP(32)):
        same_neighbours(np, module, index, base, queries)
    for kind in ("IVF16,Flat", "IVF16,SQ8", "IVF16,SQfp16", "IVF8,PQ4"):
        # Those that are equally far come in any order.
        same_neighbours(np, module, module.index_factory(32, kind), base,
                        queries, 0.95)

    def centres(gpu):
        kmeans = module.Kmeans(32, 8, niter=5, gpu=gpu, seed=1)
        kmeans.train(base)
        return kmeans.centroids
    np.testing.assert_allclose(centres(True), centres(False), atol=1e-4)
    resources = module.StandardGpuResources()
    for metric in (module.METRIC_L2, module.METRIC_INNER_PRODUCT,
                   module.METRIC_L1, module.METRIC_Linf):
        np.testing.assert_array_equal(
            module.knn_gpu(resources, queries, base, 4, metric=metric)[1],
            module.knn(queries, base, 4, metric=metric)[1])
    bits = random.integers(0, 256, (500, 16)).astype(np.uint8)
    index = module.IndexBinaryFlat(128)
    index.add(bits)
    np.testing.assert_array_equal(
        module.GpuIndexBinaryFlat(resources, index).search(bits[:9], 3)[0],
        index.search(bits[:9], 3)[0])
