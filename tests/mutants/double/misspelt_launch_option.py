"""`num_wraps=4`: the interpreter drops a keyword that it does not know, a real launch does not.

Happens to launch options because nothing that one can see depends on them.
"""
# expect: does_not_compile
# hint: launch option

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2.0 * x, mask=mask)


def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128, num_wraps=4)
    return out
