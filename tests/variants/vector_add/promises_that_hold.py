"""Everything that is so is told to the compiler: where a block begins, that its offsets rise, how the result lies."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    tl.assume(n >= 0)
    start = tl.multiple_of(tl.program_id(0) * BLOCK_SIZE, BLOCK_SIZE)
    offsets = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK_SIZE), BLOCK_SIZE), BLOCK_SIZE)
    quarters = tl.max_constancy(offsets // 4, 4)
    mask = quarters * 4 + offsets % 4 < n
    out_ptr = tl.multiple_of(out_ptr, 16)
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(tl.multiple_of(out_ptr + offsets, 16), total, mask=mask)


def vector_add(x, y):
    out = torch.empty_like(x)
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, out, n, BLOCK_SIZE=256)
    return out
