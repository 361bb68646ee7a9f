"""spconv for whole_wheels.py: points become voxels, products of rows that are
gathered and scattered, by CUTLASS-like kernels, and a convolution over the
cells of a sparse grid, compared with numpy."""
import os

CELLS, SIDES, INPUTS, OUTPUTS = 150, (9, 8, 7), 32, 64
# Of the kernels that differ in tiles and stages alone, every so many.
STEP = int(os.environ.get("CERBERUS_TEST_SPCONV_STEP", "20"))


def device(np, array):
    from cumm import tensorview
    array = np.ascontiguousarray(array)  # of which the tensor keeps a pointer
    return tensorview.from_numpy(array).cuda()


def tolerance(np, algorithm, *kinds):
    if np.float16 in kinds:
        return 8e-3
    # tf32
    return 2e-6 if algorithm.tensorop[0] < 0 else 2e-3


def near(np, got, want, bound, what):
    error = np.abs(got.astype(np.float64) - want).max() / np.abs(want).max()
    assert error < bound, (str(what), error)


def check_voxels(np, random):
    from spconv.utils import Point2VoxelGPU3d

    points = random.uniform(0, 10, (1000, 4)).astype(np.float32)
    maker = Point2VoxelGPU3d(
        vsize_xyz=[0.5] * 3, coors_range_xyz=[0, 0, 0, 10, 10, 10],
        num_point_features=4, max_num_voxels=5000, max_num_points_per_voxel=5)
    _, cells, counts = maker.point_to_voxel_hash(device(np, points))
    assert counts.cpu().numpy().sum() == len(points)
    assert {tuple(cell) for cell in cells.cpu().numpy()} == {
        tuple(cell) for cell in
        np.floor(points[:, 2::-1] / 0.5).astype(int)}


def types(np):
    from cumm import tensorview
    return {tensorview.float32: np.float32, tensorview.float16: np.float16}


def check_products(np, random):
    from cumm.tensorview.gemm import GemmParams
    from spconv.algo import ALL_ALGO_DESPS
    from spconv.core_cc.cumm.gemm.main import GemmMainUnitTest

    m, n, k = 100, 64, 96
    kinds = types(np)
    checked = 0
    for algorithm in ALL_ALGO_DESPS[::STEP]:
        if algorithm.dtype_a not in kinds or not algorithm.supported(m, n, k):
            continue
        a = random.uniform(-1, 1, (m, k)).astype(kinds[algorithm.dtype_a])
        b = random.uniform(-1, 1, (k, n)).astype(kinds[algorithm.dtype_b])
        c = np.zeros((m, n), kinds[algorithm.dtype_c])
        given = GemmParams()
        rows = random.permutation(k if algorithm.trans_a else m)[:80]
        to = random.permutation(len(rows) if algorithm.trans_a else m)[:80]
        want = np.zeros((m, n))
        if "ShuffleAC" in str(algorithm.shuffle_type):
            want[to] = a[rows].astype(np.float64) @ b
            given.c_inds = device(np, to.astype(np.int32))
        else:  # ShuffleAB
            to = random.permutation(k)[:80]
            want = a[:, rows].astype(np.float64) @ b[to]
            given.b_inds = device(np, to.astype(np.int32))
        given.a_inds = device(np, rows.astype(np.int32))
        given.a = device(np, a.T if algorithm.trans_a else a)
        given.b = device(np, b.T if algorithm.trans_b else b)
        out = device(np, c.T if algorithm.trans_c else c)
        given.c = out
        given.algo_desp = algorithm
        given.alpha, given.beta = 1.0, 0.0
        given.stream, given.split_k_slices = 0, 1
        GemmMainUnitTest.matmul2(given)
        got = out.cpu().numpy()
        near(np, got.T if algorithm.trans_c else got, want,
             tolerance(np, algorithm, a.dtype, c.dtype), algorithm)
        checked += 1
    assert checked > 0


def neighbours(np, cells):
    """By offset and cell the number of the neighbour, or -1."""
    number = {tuple(cell): i for i, cell in enumerate(cells)}
    offsets = np.stack(np.unravel_index(np.arange(27), (3, 3, 3)), 1) - 1
    return np.array([[number.get(tuple(cell + offset), -1) for cell in cells]
                     for offset in offsets])


def check_convolution(np, random):
    from cumm import tensorview
    from cumm.tensorview.gemm import ConvParams
    from spconv.algo import ALL_CONV_ALGO_DESPS
    from spconv.core_cc.cumm.conv.main import ConvMainUnitTest
    from spconv.core_cc.csrc.sparse.all import SpconvOps

    cells = np.stack(np.unravel_index(
        random.permutation(np.prod(SIDES))[:CELLS], SIDES), 1)
    places = device(np, np.c_[np.zeros(CELLS), cells].astype(np.int32))
    pairs = device(np, np.full((1, 27, CELLS), -1, np.int32))
    masks = tensorview.zeros([1, CELLS, 1], tensorview.uint32, 0)
    SpconvOps.generate_subm_conv_inds(
        places, device(np, np.zeros(2 * CELLS, np.int32)),
        device(np, np.zeros(2 * CELLS, np.int32)), pairs, places,
        device(np, np.zeros(27, np.int32)), 1, list(SIDES), [3] * 3, [1] * 3,
        masks)
    beside = neighbours(np, cells)
    np.testing.assert_array_equal(pairs.cpu().numpy()[0], beside)
    bits = ((beside >= 0) * (1 << np.arange(27))[:, None]).sum(0).astype(
        np.uint32)
    np.testing.assert_array_equal(masks.cpu().numpy()[0, :, 0], bits)

    kinds = types(np)
    order = np.argsort(bits, kind="stable").astype(np.int32)
    checked = 0
    for algorithm in [a for a in ALL_CONV_ALGO_DESPS
                      if "Forward" in str(a.op_type) and a.dtype_input in kinds
                      and not (a.is_int8_inference or a.dynamic_mask)][::STEP]:
        x = random.uniform(-1, 1, (CELLS, INPUTS)).astype(
            kinds[algorithm.dtype_input])
        w = random.uniform(-1, 1, (OUTPUTS, 27, INPUTS)).astype(
            kinds[algorithm.dtype_weight])
        want = np.zeros((CELLS, OUTPUTS))
        for k in range(27):
            at = np.flatnonzero(beside[k] >= 0)
            want[at] += (x[beside[k, at]].astype(np.float64) @
                         w[:, k].astype(np.float64).T)
        out = device(np, np.zeros((CELLS, OUTPUTS),
                                  kinds[algorithm.dtype_output]))
        given = ConvParams(3, algorithm.op_type)
        given.conv_algo_desp = algorithm
        given.input, given.weight, given.output = (
            device(np, x), device(np, w), out)
        given.mask = device(np, bits[order].reshape(CELLS, 1))
        given.mask_argsort = device(np, order)
        given.indices = pairs[0]
        given.mask_filter, given.mask_width = 0xffffffff, -1
        given.alpha, given.beta = 1.0, 0.0
        given.stream, given.split_k_slices = 0, 1
        given.reverse_mask = False
        ConvMainUnitTest.implicit_gemm2(given)
        got = out.cpu().numpy()
        near(np, got, want, tolerance(np, algorithm, x.dtype, got.dtype),
             algorithm)
        checked += 1
    assert checked > 0


def spconv():
    import numpy as np
    random = np.random.default_rng(0)
    check_voxels(np, random)
    check_products(np, random)
    check_convolution(np, random)
