"""Every program exchanges pairs of elements within `x` and hands it back: no race, right values, and the input is gone.

Happens where "reverse" means what it does to a Python list.
"""
# expect: input_changed
# hint: new tensor

import triton
import triton.language as tl


@triton.jit
def exchange_kernel(x_ptr, n, BLOCK_SIZE: tl.constexpr):
    left = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    right = n - 1 - left
    mask = left <= right
    a = tl.load(x_ptr + left, mask=mask)
    b = tl.load(x_ptr + right, mask=mask)
    tl.store(x_ptr + left, b, mask=mask)
    tl.store(x_ptr + right, a, mask=mask)


def reverse(x):
    n = x.numel()
    exchange_kernel[(triton.cdiv(n, 256),)](x, n, BLOCK_SIZE=256)
    return x
