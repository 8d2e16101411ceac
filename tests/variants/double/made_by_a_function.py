"""The launcher is made by a function, takes its kernel from a dictionary, and launches on the current stream."""

import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)


KERNELS = {"double": double_kernel}


def launcher(what, block):
    def launch(x):
        out = torch.empty(x.shape, dtype=x.dtype, device=x.get_device())
        with torch.cuda.stream(torch.cuda.current_stream()):
            KERNELS[what][(triton.cdiv(x.numel(), block),)](x, out, x.numel(), BLOCK=block)
        return out

    return launch


double = launcher("double", block=128)
