"""The kernels of package_triton.py: Triton reads their source and looks names
up in their module, so that it is imported with it only."""
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < count
    tl.store(out + i, tl.load(x + i, mask) + tl.load(y + i, mask), mask)


@triton.jit
def softmax(out, x, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * columns
    i = tl.arange(0, BLOCK)
    mask = i < columns
    values = tl.load(x + row + i, mask, -float("inf"))
    powers = tl.exp(values - tl.max(values, 0))
    tl.store(out + row + i, powers / tl.sum(powers, 0), mask)


@triton.jit
def histogram(x, counts, count, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < count
    tl.atomic_add(counts + tl.load(x + i, mask, 0), 1, mask)


@triton.jit
def matmul(a, b, out, rows, columns, depth, BLOCK: tl.constexpr):
    i = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK))[:, None]
    j = (tl.program_id(1) * BLOCK + tl.arange(0, BLOCK))[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, depth, BLOCK):
        k = start + tl.arange(0, BLOCK)
        total += tl.dot(tl.load(a + i * depth + k[None, :]),
                        tl.load(b + k[:, None] * columns + j))
    tl.store(out + i * columns + j, total)


@triton.jit
def matmul_by_map(a, b, out, rows, columns, depth, M: tl.constexpr,
                  N: tl.constexpr, K: tl.constexpr):
    of_a = tl.make_tensor_descriptor(a, shape=[rows, depth],
                                     strides=[depth, 1], block_shape=[M, K])
    of_b = tl.make_tensor_descriptor(b, shape=[depth, columns],
                                     strides=[columns, 1], block_shape=[K, N])
    of_out = tl.make_tensor_descriptor(out, shape=[rows, columns],
                                       strides=[columns, 1],
                                       block_shape=[M, N])
    i = tl.program_id(0) * M
    j = tl.program_id(1) * N
    total = tl.zeros((M, N), tl.float32)
    for k in range(0, depth, K):
        total = tl.dot(of_a.load([i, k]), of_b.load([k, j]), total)
    of_out.store([i, j], total)


@triton.jit
def scaled_product(a, b, scales_a, scales_b, out, M: tl.constexpr,
                   N: tl.constexpr, K: tl.constexpr, A: tl.constexpr,
                   B: tl.constexpr, A_PER_BYTE: tl.constexpr,
                   B_PER_BYTE: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, M)[:, None]
    j = tl.arange(0, N)
    of_a = tl.arange(0, K // A_PER_BYTE)[None, :]
    of_b = tl.arange(0, K // B_PER_BYTE)[:, None]
    block = tl.arange(0, K // BLOCK)[None, :]
    total = tl.dot_scaled(
        tl.load(a + i * (K // A_PER_BYTE) + of_a),
        tl.load(scales_a + i * (K // BLOCK) + block), A,
        tl.load(b + j[None, :] * (K // B_PER_BYTE) + of_b),
        tl.load(scales_b + j[:, None] * (K // BLOCK) + block), B)
    tl.store(out + i * N + j[None, :], total)
