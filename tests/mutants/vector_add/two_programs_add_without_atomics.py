"""One program adds `x` to the zeros of the result, another adds `y`; both load, add and store.

Happened in a kernel that split a sum over programs: one of them overwrites what the other has added. One after the
other, as in the interpreter, it gives the right answer.
"""
# expect: race
# hint: in one program

import torch
import triton
import triton.language as tl


@triton.jit
def accumulate_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    source = x_ptr if tl.program_id(1) == 0 else y_ptr
    term = tl.load(source + offsets, mask=mask, other=0.0)
    so_far = tl.load(out_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, so_far + term, mask=mask)


def vector_add(x, y):
    out = torch.zeros_like(x)
    n = x.numel()
    accumulate_kernel[(triton.cdiv(n, 256), 2)](x, y, out, n, BLOCK_SIZE=256)
    return out
