"""`@triton.heuristics` chooses the block, and whether it needs a mask at all."""

import torch
import triton
import triton.language as tl


@triton.heuristics(
    {
        "BLOCK_SIZE": lambda args: min(1024, triton.next_power_of_2(args["n"])) if args["n"] else 1,
        "FULL": lambda args: args["n"] % 1024 == 0,
    }
)
@triton.jit
def scale_kernel(x_ptr, out_ptr, a, n, BLOCK_SIZE: tl.constexpr, FULL: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    if FULL:
        tl.store(out_ptr + offsets, a * tl.load(x_ptr + offsets))
    else:
        mask = offsets < n
        tl.store(out_ptr + offsets, a * tl.load(x_ptr + offsets, mask=mask), mask=mask)


def vector_scale(x, a):
    out = torch.empty_like(x)
    n = x.numel()
    scale_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, out, a, n)
    return out
