"""cudnn-frontend for jit_packages.py: attention forward and backward by the
graphs that NVIDIA's front end builds, over the cuDNN that the process has."""
import ctypes

BATCH, HEADS, DEPTH, SCALE = 2, 4, 16, 0.25
# Queries, keys, heads of keys, mask: where the diagonal begins, and how many
# columns stay in front of it.
CASES = [(12, 12, 4, None, None), (12, 12, 2, "top", None),
         (12, 12, 1, "top", 5), (6, 12, 4, "bottom", None),
         (6, 12, 2, "bottom", 5)]


class Memory:
    """An array on the device."""

    def __init__(self, np, values):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.np, self.shape, self.type = np, values.shape, values.dtype
        self.bytes = ctypes.c_size_t(values.nbytes)
        self.address = ctypes.c_uint64()
        assert self.driver.cuMemAlloc_v2(ctypes.byref(self.address),
                                         self.bytes) == 0
        values = np.ascontiguousarray(values)
        assert self.driver.cuMemcpyHtoD_v2(
            self.address, values.ctypes.data_as(ctypes.c_void_p),
            self.bytes) == 0

    def read(self):
        out = self.np.empty(self.shape, self.type)
        assert self.driver.cuCtxSynchronize() == 0
        assert self.driver.cuMemcpyDtoH_v2(
            out.ctypes.data_as(ctypes.c_void_p), self.address, self.bytes) == 0
        return out.astype("f8")


def strides(shape):
    out = [1]
    for size in reversed(shape[1:]):
        out.insert(0, out[0] * size)
    return out


def attention(np, q, k, v, slope, mask, window):
    """(o, stats, dq, dk, dv) in double precision."""
    groups = q.shape[1] // k.shape[1]
    wide_k, wide_v = np.repeat(k, groups, 1), np.repeat(v, groups, 1)
    scores = q @ wide_k.swapaxes(2, 3) * SCALE
    row, column = np.indices(scores.shape[2:])
    if mask == "bottom":
        row = row + k.shape[2] - q.shape[2]
    keep = np.ones(row.shape, bool) if mask is None else column <= row
    if window is not None:
        keep &= column > row - window
    scores = np.where(keep, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    stats = largest + np.log(np.exp(scores - largest).sum(-1, keepdims=True))
    weights = np.exp(scores - stats)
    change = slope @ wide_v.swapaxes(2, 3)
    change = weights * (change - (change * weights).sum(-1, keepdims=True))

    def of_groups(x):
        return x.reshape(BATCH, k.shape[1], groups, *k.shape[2:]).sum(2)
    return (weights @ wide_v, stats, change @ wide_k * SCALE,
            of_groups(change.swapaxes(2, 3) @ q * SCALE),
            of_groups(weights.swapaxes(2, 3) @ slope))


def cudnn_frontend():
    import numpy as np
    import cudnn
    driver, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
    assert driver.cuInit(0) == 0
    assert driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert driver.cuCtxSetCurrent(context) == 0
    handle = cudnn.create_handle()
    half, single = cudnn.data_type.HALF, cudnn.data_type.FLOAT
    random = np.random.default_rng(0)

    def graph():
        return cudnn.pygraph(io_data_type=half, intermediate_data_type=single,
                             compute_data_type=single, handle=handle)

    def tensor(made, array, of=half):
        return made.tensor(name="", dim=list(array.shape), data_type=of,
                           stride=strides(array.shape))

    def output(node, array, of=half):
        node.set_output(True).set_data_type(of)
        node.set_dim(list(array.shape)).set_stride(strides(array.shape))

    def run(made, memory):
        made.validate()
        made.build_operation_graph()
        made.create_execution_plans([cudnn.heur_mode.A])
        made.check_support()
        made.build_plans()
        room = Memory(np, np.zeros(made.get_workspace_size() + 16, "u1"))
        made.execute({node: one.address.value for node, one in memory.items()},
                     room.address.value, handle=handle)

    for queries, keys, heads, mask, window in CASES:
        shapes = [(BATCH, HEADS, queries, DEPTH), (BATCH, heads, keys, DEPTH),
                  (BATCH, heads, keys, DEPTH), (BATCH, HEADS, queries, DEPTH)]
        arrays = [random.standard_normal(shape).astype("f2") for shape in shapes]
        q, k, v, slope = [Memory(np, array) for array in arrays]
        how = {"attn_scale": SCALE}
        if mask is not None:
            how["use_causal_mask" + ("_bottom_right" if mask == "bottom"
                                     else "")] = True
        if window is not None:
            how["sliding_window_length"] = window
        o = Memory(np, np.zeros(shapes[0], "f2"))
        stats = Memory(np, np.zeros((*shapes[0][:3], 1), "f4"))
        made = graph()
        nodes = [tensor(made, array) for array in arrays[:3]]
        found, told = made.sdpa(q=nodes[0], k=nodes[1], v=nodes[2],
                                is_inference=False, **how)
        output(found, o)
        output(told, stats, single)
        run(made, {**dict(zip(nodes, (q, k, v))), found: o, told: stats})
        made = graph()
        nodes = [tensor(made, one) for one in (q, k, v, o, slope)]
        told = tensor(made, stats, single)
        results = made.sdpa_backward(q=nodes[0], k=nodes[1], v=nodes[2],
                                     o=nodes[3], dO=nodes[4], stats=told, **how)
        slopes = [Memory(np, np.zeros_like(array)) for array in arrays[:3]]
        for node, one in zip(results, slopes):
            output(node, one)
        run(made, {**dict(zip(nodes, (q, k, v, o, slope))), told: stats,
                   **dict(zip(results, slopes))})
        want = attention(np, *[array.astype("f8") for array in arrays], mask,
                         window)
        for got, right in zip((o, stats, *slopes), want):
            np.testing.assert_allclose(got.read(), right, rtol=2e-2, atol=1e-2)
