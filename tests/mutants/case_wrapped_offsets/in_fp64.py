"""fp64 has 53 bits for digits, and the product up to 62."""
# expect: mismatch
# hint: 53 bits

import torch
import triton
import triton.language as tl


@triton.jit
def offsets_kernel(index_ptr, out_ptr, n, stride, BLOCK_SIZE: tl.constexpr):
    lanes = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = lanes < n
    index = tl.load(index_ptr + lanes, mask=mask, other=0)
    tl.store(out_ptr + lanes, (index.to(tl.float64) * stride).to(tl.int64), mask=mask)


def case_wrapped_offsets(index, stride):
    n = index.numel()
    out = torch.empty(n, dtype=torch.int64, device=index.device)
    offsets_kernel[(triton.cdiv(n, 128),)](index, out, n, stride, BLOCK_SIZE=128)
    return out
