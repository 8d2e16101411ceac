"""`@triton.autotune` with three configurations; without a GPU there is nothing to measure, and any of them will do."""

import torch
import triton
import triton.language as tl


@triton.autotune(
    configs=[triton.Config({"BLOCK_SIZE": size}, num_warps=4) for size in (128, 256, 1024)],
    key=["n"],
)
@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, a * x, mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, out, a, n)
    return out
