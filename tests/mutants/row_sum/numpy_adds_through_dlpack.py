"""NumPy looks at the same memory by way of DLPack and adds up the rows; the kernel stores its sums, one a launch."""
# expect: torch_compute

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def store_kernel(out_ptr, row, value):
    tl.store(out_ptr + row, value)


def row_sum(x):
    out = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    for row, total in enumerate(np.from_dlpack(x).sum(axis=1, dtype=np.float64)):
        store_kernel[(1,)](out, row, float(total))
    return out
