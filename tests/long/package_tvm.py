"""Apache TVM for jit_packages.py: CUDA C++ that it writes, compiled by NVRTC to
machine code."""


def tvm():
    import numpy as np
    import tvm as module
    from tvm import te
    device = module.cuda(0)
    assert device.exist
    random = np.random.default_rng(0)

    def run(wanted, tensors, out, axes, rtol, *arrays):
        schedule = module.s_tir.Schedule(
            module.IRModule({"main": te.create_prim_func(tensors + [out])}))
        loops = schedule.get_loops(schedule.get_sblock(out.op.name))[:axes]
        block, thread = schedule.split(
            schedule.fuse(*loops) if axes > 1 else loops[0], [None, 64])
        schedule.bind(block, "blockIdx.x")
        schedule.bind(thread, "threadIdx.x")
        compiled = module.compile(schedule.mod, target=module.target.Target(
            {"kind": "cuda", "arch": "sm_80"}))
        got = module.runtime.tensor(np.zeros_like(wanted), device)
        compiled(*[module.runtime.tensor(x, device) for x in arrays], got)
        np.testing.assert_allclose(got.numpy(), wanted, rtol=rtol, atol=1e-5)

    def tensor(name, array):
        return te.placeholder(array.shape, name=name, dtype=str(array.dtype))

    a, b = random.random((2, 1000)).astype(np.float32)
    ta, tb = tensor("A", a), tensor("B", b)
    run(a * 2 + np.sin(b), [ta, tb],
        te.compute(a.shape, lambda i: ta[i] * 2 + te.sin(tb[i]), name="C"), 1,
        1e-5, a, b)
    m = random.random((60, 50)).astype(np.float32)
    n = random.random((50, 40)).astype(np.float32)
    tm, tn = tensor("M", m), tensor("N", n)
    k = te.reduce_axis((0, 50), name="k")
    run(m @ n, [tm, tn],
        te.compute((60, 40), lambda i, j: te.sum(tm[i, k] * tn[k, j], axis=k),
                   name="P"), 2, 1e-5, m, n)
    h = a.astype(np.float16)
    th = tensor("H", h)
    run(np.exp(h), [th],
        te.compute(h.shape, lambda i: te.exp(th[i].astype("float32")).astype(
            "float16"), name="E"), 1, 2e-3, h)
