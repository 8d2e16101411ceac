"""The block's size is chosen by `triton.autotune`."""

import torch
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK_SIZE": 1024}), triton.Config({"BLOCK_SIZE": 2048}, num_warps=8)], key=["n"])
@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    whole = n // 16 * 16
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
    copy_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, out, n)
    return out
