"""Kernels that the compiler's tests ask for, right and wrong ones; not tests themselves."""

import triton
import triton.language as tl

SCALE: tl.constexpr = tl.constexpr(3)


@triton.jit
def doubled_sum(x):
    y = 2 * x
    return tl.sum(y)


@triton.jit
def sum_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    total = doubled_sum(x)
    tl.store(out_ptr, total)


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


@triton.jit
def row_sums_kernel(x_ptr, out_ptr, stride, n_rows, BLOCK: tl.constexpr, STAGES: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0), num_stages=STAGES):
        x = tl.load(x_ptr + row * stride + offsets)
        tl.store(out_ptr + row, tl.sum(x))


@triton.jit
def matmul_kernel(a_ptr, b_ptr, c_ptr, K, M: tl.constexpr, N: tl.constexpr, BLOCK_K: tl.constexpr):
    rows, columns, ks = tl.arange(0, M), tl.arange(0, N), tl.arange(0, BLOCK_K)
    total = tl.zeros((M, N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        a = tl.load(a_ptr + rows[:, None] * K + (k + ks)[None, :])
        b = tl.load(b_ptr + (k + ks)[:, None] * N + columns[None, :])
        total = tl.dot(a, b, total)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], total)


@triton.jit
def two_sums_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    x = tl.load(x_ptr + tl.arange(0, BLOCK))
    first = tl.sum(x)
    second = tl.sum(x * x)
    tl.store(out_ptr, first)
    tl.store(out_ptr + 1, second)


@triton.jit
def centred_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, x - tl.max(x))


@triton.jit
def scaled_kernel(x_ptr, KIND: tl.constexpr, PAIR: tl.constexpr, FACTOR: tl.constexpr = SCALE):
    lanes = tl.arange(0, 32)
    tl.store(x_ptr + lanes, (tl.load(x_ptr + lanes) * FACTOR + PAIR[1]).to(KIND))


@triton.jit
def unnamed_kernel(x_ptr):
    y = undefined_name  # noqa: F821
    tl.store(x_ptr, y)


@triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def tuned_kernel(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, 1.0, mask=offsets < n)


def plain(x):
    return x


def undecorated(x_ptr):
    tl.store(x_ptr, 1.0)


wrapped_kernel = triton.jit(undecorated)
