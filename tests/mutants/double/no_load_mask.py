"""The store is masked, the load is not: the last block reads past the end of `x`.

The commonest first kernel of all. It passes on lengths such as 1024 and on memory that happens to be readable; on a GPU
it ends, some day, with an illegal memory access.
"""
# expect: load_out_of_bounds
# hint: offsets < n

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets)
    tl.store(out_ptr + offsets, 2.0 * x, mask=offsets < n)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)
    return out
