"""n - n % 16 is divisible by 16, but the compiler does not see it."""
# expect: compiled_code
# hint: sees through

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    whole = n - n % 16
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
    copy_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK_SIZE=1024)
    return out
