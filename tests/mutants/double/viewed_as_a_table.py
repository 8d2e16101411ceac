"""`tl.view` makes a table of the block: in which order its elements come then is the compiler's choice."""
# expect: reordered
# hint: `tl.reshape` keeps the order

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    first = tl.program_id(axis=0) * BLOCK_SIZE
    offsets = first + tl.arange(0, BLOCK_SIZE)
    x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
    table = tl.view(2 * x, (BLOCK_SIZE // 4, 4))
    places = first + tl.arange(0, BLOCK_SIZE // 4)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out_ptr + places, table, mask=places < n)


def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 1024),)](x, out, x.numel(), BLOCK_SIZE=1024)
    return out
