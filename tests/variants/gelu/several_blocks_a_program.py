"""A fixed number of programs loop over the blocks; the result is converted by hand."""

import torch
import triton
import triton.language as tl


@triton.jit
def gelu_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    first = tl.program_id(0) * BLOCK_SIZE
    step = tl.num_programs(0) * BLOCK_SIZE
    for start in tl.range(first, n, step):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        mask = offsets < n
        x = tl.load(x_ptr + offsets, mask=mask)
        wide = x.to(tl.float32)
        y = wide * 0.5 + wide * 0.5 * tl.erf(wide * 0.7071067811865476)
        tl.store(out_ptr + offsets, y.to(x.dtype), mask=mask)


def gelu(x):
    out = torch.empty_like(x)
    n = x.numel()
    gelu_kernel[(min(8, triton.cdiv(n, 128)),)](x, out, n, BLOCK_SIZE=128)
    return out
