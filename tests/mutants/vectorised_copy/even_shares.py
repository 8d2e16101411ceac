"""Each program has an equal share of n, and so begins at any element."""
# expect: compiled_code

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    share = tl.cdiv(n, tl.num_programs(0))
    first = tl.program_id(0) * share
    end = tl.minimum(first + share, n)
    for start in tl.range(first, end, BLOCK_SIZE):
        offsets = start + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + offsets, mask=offsets < end, other=0.0)
        tl.store(out_ptr + offsets, x, mask=offsets < end)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(8,)](x, out, n, BLOCK_SIZE=1024)
    return out
