"""cudaq-qec-cu12 for jit_packages.py: its decoder of sparse codes, whose
kernel waits at some hundred barriers of the whole grid."""


def qec():
    import cudaq_qec
    import numpy as np
    random = np.random.default_rng(1)
    checks, bits, rate = 12, 24, 0.05
    code = np.zeros((checks, bits), dtype=np.uint8)
    for bit in range(bits):
        code[random.choice(checks, 3, replace=False), bit] = 1
    decoder = cudaq_qec.get_decoder(
        "nv-qldpc-decoder", code, use_osd=True, max_iterations=30,
        error_rate_vec=np.full(bits, rate), use_sparsity=True)
    for _ in range(10):
        error = (random.random(bits) < rate).astype(np.uint8)
        syndrome = code @ error % 2
        found = np.array(decoder.decode(syndrome.astype(float).tolist()).result)
        found = (found > 0.5).astype(np.uint8)
        np.testing.assert_array_equal(code @ found % 2, syndrome)
        assert found.sum() <= error.sum()
