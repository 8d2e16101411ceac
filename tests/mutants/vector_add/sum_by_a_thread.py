"""A thread of the launcher's own computes; the kernel copies what it left."""
# expect: computed_outside

import threading

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)


def vector_add(x, y):
    both, out = torch.empty_like(x), torch.empty_like(x)
    worker = threading.Thread(target=lambda: both.copy_(x + y))
    worker.start()
    worker.join()
    copy_kernel[(triton.cdiv(x.numel(), 256),)](both, out, x.numel(), BLOCK_SIZE=256)
    return out
