"""The bound is worked out with NumPy inside the kernel: to the interpreter it is a number like any other.

Happens because in the interpreter a kernel *is* Python. On a GPU there is none.
"""
# expect: does_not_compile
# hint: functions of `tl`

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def diagonal_kernel(x_ptr, out_ptr, step, n_rows, n_cols, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < int(np.minimum(int(n_rows), int(n_cols)))
    x = tl.load(x_ptr + k * step, mask=mask, other=0.0)
    tl.store(out_ptr + k, x, mask=mask)


def diagonal(x):
    n = min(x.shape)
    out = torch.empty(n, dtype=x.dtype, device=x.device)
    diagonal_kernel[(triton.cdiv(n, 256),)](x, out, sum(x.stride()), *x.shape, BLOCK_SIZE=256)
    return out
