"""True promises to the compiler do no harm, and n need not be specialised."""

import torch
import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * BLOCK_SIZE, BLOCK_SIZE)
    offsets = tl.max_contiguous(start + tl.arange(0, BLOCK_SIZE), BLOCK_SIZE)
    whole = n // 16 * 16
    mask = offsets < whole
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, x, mask=mask)
    if tl.program_id(0) == 0:
        rest = whole + tl.arange(0, 16)
        last = tl.load(x_ptr + rest, mask=rest < n, other=0.0)
        tl.store(out_ptr + rest, last, mask=rest < n)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 4096),)](x, out, n, BLOCK_SIZE=4096, num_warps=16)
    return out
