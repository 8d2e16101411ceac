"""The sum is written to `x`, which is returned.

Happens to those who save an allocation; the caller's `x` is gone, and a second call gives another result.
"""
# expect: input_changed

import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    y = tl.load(y_ptr + offsets, mask=mask, other=0.0)
    tl.store(x_ptr + offsets, x + y, mask=mask)


def vector_add(x, y):
    n = x.numel()
    add_kernel[(triton.cdiv(n, 256),)](x, y, n, BLOCK_SIZE=256)
    return x
