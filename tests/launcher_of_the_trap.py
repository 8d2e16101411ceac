"""A launcher that keeps compiled kernels by the size of their block alone, as many a published one does. Needs a GPU.

    python tests/launcher_of_the_trap.py 128x1024:float32 128x781:float32

Computes the softmax of a matrix for each argument, in this order, and says of each whether it was right. A call that spoils the
GPU's state ends the process, so whoever wants to see several orders starts several.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
import triton

from course_lib.kernels.persistent import persistent_kernel

kept: dict[int, Any] = {}


def softmax(x: torch.Tensor) -> torch.Tensor:
    n_rows, n_cols = x.shape
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    block_size = triton.next_power_of_2(n_cols)
    arguments = (x, out, x.stride(0), out.stride(0), n_rows, n_cols, block_size, 4)
    if block_size not in kept:
        kept[block_size] = persistent_kernel.warmup(*arguments, num_warps=8, grid=(1,))
    kept[block_size][(n_rows, 1, 1)](*arguments)
    return out


def verdict(call: str) -> str:
    shape, dtype = call.removesuffix(":t").split(":")
    n_rows, n_cols = map(int, shape.split("x"))
    torch.manual_seed(0)
    x = torch.randn(n_rows, n_cols, device="cuda").to(getattr(torch, dtype))
    x = x.t() if call.endswith(":t") else x
    try:
        got = softmax(x)
        torch.cuda.synchronize()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"
    if torch.allclose(got.double(), torch.softmax(x.double(), 1), rtol=1e-2, atol=1e-3):
        return "right"
    return "NaN" if got.isnan().any() else "wrong"


if __name__ == "__main__":
    for call in sys.argv[1:]:
        print(f"{call} {verdict(call)}", flush=True)
