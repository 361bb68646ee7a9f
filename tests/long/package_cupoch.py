"""cupoch for whole_wheels.py: clouds of points, compared with numpy and scipy.

Not tried: spheres, whose triangles cupoch writes behind the end of their array,
which the emulator reports."""


def check_clouds(np, cph, cloud, points):
    from scipy.spatial import cKDTree
    random = np.random.default_rng(1)
    turn = np.eye(4, dtype=np.float32)
    turn[:3, :3] = np.linalg.qr(random.standard_normal((3, 3)))[0]
    turn[:3, 3] = 1, 2, 3
    moved = cloud(points)
    moved.transform(turn)
    np.testing.assert_allclose(np.array(moved.points.cpu()),
                               points @ turn[:3, :3].T + turn[:3, 3], atol=1e-5)
    cells = np.floor((points - (points.min(0) - 0.125)) / 0.25).astype(int)
    cell = np.unique(cells, axis=0, return_inverse=True)[1].ravel()
    means = np.stack([np.bincount(cell, points[:, k]) / np.bincount(cell)
                      for k in range(3)], 1)
    thinned = np.array(cloud(points).voxel_down_sample(0.25).points.cpu())
    assert len(thinned) == len(means)
    assert cKDTree(means).query(thinned)[0].max() < 1e-5
    tree = cph.geometry.KDTreeFlann()
    tree.set_geometry(cloud(points))
    for query in random.uniform(-1, 1, (5, 3)).astype(np.float32):
        found = tree.search_knn_vector_3f(query, 7)[1]
        assert (sorted(np.array(found)) ==
                sorted(cKDTree(points).query(query, 7)[1]))
    sphere = points / np.linalg.norm(points, axis=1, keepdims=True)
    around = cloud(sphere)
    around.estimate_normals(cph.geometry.KDTreeSearchParamKNN(20))
    normals = np.array(around.normals.cpu())
    assert abs((normals * sphere).sum(1)).min() > 0.99


def cupoch():
    import cupoch as cph
    import numpy as np
    random = np.random.default_rng(0)

    def cloud(points):
        made = cph.geometry.PointCloud()
        made.points = cph.utility.Vector3fVector(points.astype(np.float32))
        return made

    points = random.uniform(-1, 1, (2000, 3)).astype(np.float32)
    check_clouds(np, cph, cloud, points)
    heaps = np.concatenate([random.normal(middle, 0.05, (150, 3))
                            for middle in ((0, 0, 0), (2, 0, 0), (0, 3, 0))])
    labels = np.array(cloud(heaps).cluster_dbscan(0.3, 5).cpu())
    assert (labels == np.repeat(labels[::150], 150)).all()
    assert len(set(labels)) == 3
    flat = np.c_[random.uniform(-1, 1, (500, 2)),
                 random.normal(0.5, 0.001, 500)]
    plane, inside = cloud(np.r_[flat, points[:100]]).segment_plane(0.01, 3, 200)
    np.testing.assert_allclose(np.array(plane) / plane[2], [0, 0, 1, -0.5],
                               atol=1e-2)
    assert len(np.array(inside.cpu())) >= 490
    turn = np.eye(4, dtype=np.float32)
    turn[:2, :2] = [[np.cos(0.05), -np.sin(0.05)], [np.sin(0.05), np.cos(0.05)]]
    turn[:3, 3] = 0.02, -0.01, 0.03
    found = cph.registration.registration_icp(
        cloud(points), cloud(points @ turn[:3, :3].T + turn[:3, 3]), 0.2,
        np.eye(4, dtype=np.float32),
        cph.registration.TransformationEstimationPointToPoint())
    np.testing.assert_allclose(found.transformation, turn, atol=1e-4)
