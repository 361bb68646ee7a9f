"""RAPIDS for jit_packages.py: cuVS and cuML, compared with numpy and
scikit-learn."""


def check_cuvs(np):
    from cuvs.cluster.kmeans import KMeansParams, fit
    from cuvs.distance import pairwise_distance
    from cuvs.neighbors import brute_force
    from pylibraft.common import device_ndarray

    random = np.random.default_rng(0)
    data, asked = (random.random((count, 32)).astype(np.float32)
                   for count in (2000, 50))
    squares = ((asked[:, None] - data[None]) ** 2).sum(-1)
    # cuVS keeps none of its arguments.
    there, asked_there = device_ndarray(data), device_ndarray(asked)
    out = device_ndarray.empty(squares.shape, dtype=np.float32)
    pairwise_distance(asked_there, there, out, metric="sqeuclidean")
    np.testing.assert_allclose(out.copy_to_host(), squares, atol=1e-4)
    index = brute_force.build(there, metric="sqeuclidean")
    found = brute_force.search(index, asked_there, 10)[1].copy_to_host()
    np.testing.assert_array_equal(found, np.argsort(squares, 1)[:, :10])
    # Its kernel asks for all of the 48 KiB of shared memory that there are.
    centers, inertia, _ = fit(KMeansParams(n_clusters=5, max_iter=20), there)
    centers = centers.copy_to_host()
    nearest = ((data[:, None] - centers[None]) ** 2).sum(-1).min(1)
    np.testing.assert_allclose(inertia, nearest.sum(), rtol=1e-2)


def check_models(np):
    import cuml
    from sklearn import cluster, datasets, decomposition, linear_model
    from sklearn import neighbors, svm
    from sklearn.metrics import adjusted_rand_score, silhouette_score

    def data(made):
        return made[0].astype(np.float32), made[1].astype(np.float32)

    def ours(model, *made):
        model.output_type = "numpy"
        return model.fit(*made)

    x, y = data(datasets.make_regression(300, 8, noise=0.5, random_state=0))
    for name, options in (("LinearRegression", {}), ("Ridge", {"alpha": 1.0}),
                          ("Lasso", {"alpha": 0.5})):
        host = getattr(linear_model, name)(**options).fit(x, y)
        np.testing.assert_allclose(
            ours(getattr(cuml, name)(**options), x, y).coef_, host.coef_,
            atol=1e-2, rtol=1e-4)
    np.testing.assert_allclose(
        abs(ours(cuml.PCA(n_components=3), x).components_),
        abs(decomposition.PCA(3).fit(x).components_), atol=1e-4)

    x, y = data(datasets.make_classification(300, 8, n_informative=5,
                                             random_state=0))
    for model, host in (
            (cuml.LogisticRegression(), linear_model.LogisticRegression()),
            (cuml.svm.SVC(C=1.0, gamma=0.1), svm.SVC(C=1.0, gamma=0.1))):
        same = ours(model, x, y).predict(x) == host.fit(x, y).predict(x)
        assert same.mean() > 0.99, (model, same.mean())
    forest = ours(cuml.ensemble.RandomForestClassifier(
        n_estimators=5, max_depth=4, random_state=0, n_streams=1),
        x, y.astype(np.int32))
    assert (forest.predict(x) == y).mean() > 0.85

    x, y = data(datasets.make_blobs(300, 4, centers=4, random_state=1))
    groups = ours(cuml.KMeans(n_clusters=4, random_state=0), x).labels_
    assert adjusted_rand_score(groups, y) == 1
    groups = ours(cuml.DBSCAN(eps=1.0, min_samples=5), x).labels_
    assert adjusted_rand_score(
        groups, cluster.DBSCAN(eps=1.0, min_samples=5).fit(x).labels_) == 1
    far, near = ours(cuml.neighbors.NearestNeighbors(n_neighbors=5),
                     x).kneighbors(x)
    host_far, host_near = neighbors.NearestNeighbors(
        n_neighbors=5).fit(x).kneighbors(x)
    np.testing.assert_allclose(far, host_far, atol=1e-3)
    np.testing.assert_array_equal(near, host_near)
    flat = cuml.UMAP(n_neighbors=10, n_epochs=50, random_state=1,
                     output_type="numpy").fit_transform(x)
    assert silhouette_score(flat, y) > 0.5


def rapids():
    import numpy as np
    check_cuvs(np)
    check_models(np)
