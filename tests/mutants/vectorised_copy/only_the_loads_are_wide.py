"""The store keeps the mask that ends at n, and with it goes back to one element at a time."""
# expect: compiled_code
# hint: divisible by 16

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    whole = n // 16 * 16
    x = tl.load(x_ptr + offsets, mask=offsets < whole, other=0.0)
    last = tl.load(x_ptr + offsets, mask=(offsets >= whole) & (offsets < n), other=0.0)
    tl.store(out_ptr + offsets, tl.where(offsets < whole, x, last), mask=offsets < n)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK_SIZE=1024)
    return out
