"""Two elements at a time by a cast of the pointers. An x that begins between two of them stops a GPU."""
# expect: compiled_code, load_out_of_bounds

import torch
import triton
import triton.language as tl


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    pairs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    wide = tl.pointer_type(tl.int64)
    elements: tl.constexpr = 64 // x_ptr.dtype.element_ty.primitive_bitwidth
    x = tl.load(x_ptr.to(wide) + pairs, mask=pairs < n // elements, other=0)
    tl.store(out_ptr.to(wide) + pairs, x, mask=pairs < n // elements)
    if tl.program_id(0) == 0:
        rest = n // elements * elements + tl.arange(0, 16)
        last = tl.load(x_ptr + rest, mask=rest < n, other=0.0)
        tl.store(out_ptr + rest, last, mask=rest < n)


def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    copy_kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK_SIZE=1024)
    return out
