"""The launch stands under `device_of`; how long the blocks are is a heuristic of the length."""

import torch
import triton
import triton.language as tl


def covering(arguments):
    return min(triton.next_power_of_2(max(arguments["n"], 1)), 1024)


@triton.heuristics({"BLOCK_SIZE": covering})
@triton.jit
def diagonal_kernel(x_ptr, out_ptr, step, n, BLOCK_SIZE: tl.constexpr):
    k = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = k < n
    tl.store(out_ptr + k, tl.load(x_ptr + k * step, mask=mask, other=0.0), mask=mask)


def diagonal(x):
    n = min(x.shape)
    with torch.cuda.device_of(x):
        out = x.new_empty(n)
        diagonal_kernel[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, out, sum(x.stride()), n)
    return out
