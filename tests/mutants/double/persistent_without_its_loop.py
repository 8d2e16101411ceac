"""As many programs as the GPU has multiprocessors, and each does one block: the loop over further blocks is missing."""
# expect: unwritten

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def double(x):
    out = torch.empty_like(x)
    most = torch.cuda.get_device_properties(x.device).multi_processor_count
    double_kernel[(min(most, triton.cdiv(x.numel(), 2048)),)](x, out, x.numel(), BLOCK_SIZE=2048)
    return out
