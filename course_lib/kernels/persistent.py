"""The persistent softmax of lesson 09: a fixed number of programs, each of which loops over rows; and the naive form.

`persistent_softmax(x)` starts as many programs as the GPU runs at once. How many that are follows from what the compiled
kernel needs (registers, shared memory, threads) and from what a multiprocessor has; so it is compiled before it is launched.

Not here: columns that lie apart, and rows longer than a block. `softmax.py` has those.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from course_lib.kernels.softmax import exponential, widened
from course_lib.machine.occupancy import Resources, programs_by_resource
from course_lib.machine.specs import ARCHITECTURES, Architecture

MOST_STAGES = 4
"""Rows that a program deals with at once: it computes one while the others are on their way."""
LARGEST_BLOCK = 128 * 1024
"""Bytes of a row's block in the format that it is computed in: more find no room in the registers of one program."""
PROGRAMS_WITHOUT_GPU = 4
"""Programs at once in Triton's interpreter, which runs one after another anyway."""


def naive_softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of a matrix in five operations of PyTorch; on a GPU, each is a kernel, or several.

    >>> naive_softmax(torch.zeros(2, 4))[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    maximum = x.amax(dim=1)
    shifted = x - maximum[:, None]
    numerator = torch.exp(shifted)
    denominator = numerator.sum(dim=1)
    return numerator / denominator[:, None]


@triton.jit(do_not_specialize=["n_rows"])
def persistent_kernel(x, out, x_row_stride, out_row_stride, n_rows, n_cols, BLOCK_SIZE: tl.constexpr, NUM_STAGES: tl.constexpr):
    """Of P programs, number p computes the rows p, p + P, p + 2P, …; a block holds a row.

    Rows are counted in 64 bits, since so are offsets. The kernel is compiled once for any number of rows.
    """
    col = tl.arange(0, BLOCK_SIZE)
    mask = col < n_cols
    first = tl.program_id(0).to(tl.int64)
    for row in tl.range(first, n_rows, tl.num_programs(0), num_stages=NUM_STAGES):
        values = widened(tl.load(x + row * x_row_stride + col, mask=mask, other=float("-inf")))
        power = exponential(values - tl.max(values, axis=0))
        result = power * (1.0 / tl.sum(power, axis=0))
        tl.store(out + row * out_row_stride + col, result.to(out.dtype.element_ty), mask=mask)


@dataclass(frozen=True)
class Choice:
    """How rows of one length are computed: lanes of a block, warps of a program, and stages of its loop."""

    block_size: int
    num_warps: int
    num_stages: int


def choose(n_cols: int, itemsize: int, most_shared: int) -> Choice:
    """The choice for rows of `n_cols` elements of `itemsize` bytes, with `most_shared` bytes of shared memory for a program.

    Each stage but the first keeps a row there, next to a number of each warp: as many stages as find room.

    >>> choose(1000, 4, most_shared=99 * 1024), choose(16384, 4, most_shared=99 * 1024)
    (Choice(block_size=1024, num_warps=4, num_stages=4), Choice(block_size=16384, num_warps=32, num_stages=2))
    """
    block_size = triton.next_power_of_2(n_cols)
    num_warps = min(32, max(4, block_size // 512))
    rows_ahead = max(0, most_shared - 8 * num_warps) // (block_size * itemsize)
    return Choice(block_size, num_warps, num_stages=1 + min(MOST_STAGES - 1, rows_ahead))


def persistent_softmax(x: torch.Tensor) -> torch.Tensor:
    """Softmax of each row of a matrix, as `torch.softmax(x, 1)` computes it; a new, contiguous tensor.

    `x` is fp16, bf16, fp32 or fp64; the elements of a row lie side by side, and rows anywhere. A row has up to 32768 elements,
    16384 in fp64. Runs on the current stream of `x`'s GPU, or in Triton's interpreter.

    Raises `TypeError` for what is no such tensor, and `ValueError` for other shapes, strides and places, and where a gradient
    would be lost.

    >>> from course_lib import trace
    >>> trace(persistent_softmax, torch.zeros(6, 4)).result[5].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    _check(x)
    x = x.resolve_neg()  # torch.imag of a conjugate holds the negatives of what lies in memory
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return out
    n_rows, n_cols = x.shape
    with torch.cuda.device_of(x):  # Triton compiles for the current GPU, and launches there
        key = _Specialisation.of(x)
        if key not in _known:
            _known[key] = _find_out(x, out)
        how, at_once = _known[key]
        arguments = (x, out, x.stride(0), out.stride(0), n_rows, n_cols, how.block_size, how.num_stages)
        persistent_kernel[(min(n_rows, at_once),)](*arguments, num_warps=how.num_warps)
    return out


class _Specialisation(NamedTuple):
    """All that what is compiled depends on: one entry for each, or a later call gets the number of an earlier one.

    Triton compiles a kernel anew for every GPU, dtype, and constant; and for numbers that are 1 or multiples of 16, and
    addresses that are multiples of 16. `out` is always contiguous, and begins at one.
    """

    device: torch.device
    dtype: torch.dtype
    n_cols: int
    row_stride: int
    address: int

    @classmethod
    def of(cls, x: torch.Tensor) -> _Specialisation:
        return cls(x.device, x.dtype, x.shape[1], x.stride(0), x.data_ptr() % 16)


_known: dict[_Specialisation, tuple[Choice, int]] = {}
"""The choice for a specialisation, and how many of its programs run at once. Compiled kernels are kept by Triton alone."""


def _find_out(x: torch.Tensor, out: torch.Tensor) -> tuple[Choice, int]:
    """Choose for `x`, compile, ask what that needs, and see how many programs of it run at once on the current GPU."""
    n_rows, n_cols = x.shape
    if interpreted():
        return choose(n_cols, x.element_size(), most_shared=0), PROGRAMS_WITHOUT_GPU
    sm = _architecture(x)
    how = choose(n_cols, x.element_size(), sm.max_shared_per_block)
    arguments = (x, out, x.stride(0), out.stride(0), n_rows, n_cols, how.block_size, how.num_stages)
    return how, programs_at_once(arguments, how.num_warps, sm)


def programs_at_once(arguments: tuple[Any, ...], num_warps: int, sm: Architecture) -> int:
    """How many programs of a launch of `persistent_kernel` with these arguments run at once on the current GPU.

    `sm` is what its multiprocessors have.
    """
    compiled = persistent_kernel.warmup(*arguments, num_warps=num_warps, grid=(1,))
    compiled._init_handles()  # loads it onto the GPU: only then its registers are known
    needs = Resources(compiled.n_regs, compiled.metadata.shared, num_warps * sm.warp_size)
    # It has been loaded, so one program fits at least, even where `_architecture` had to guess.
    fitting = max(1, min(programs_by_resource(needs, sm).values()))
    gpu = torch.cuda.get_device_properties(torch.cuda.current_device())
    return fitting * gpu.multi_processor_count


def _architecture(x: torch.Tensor) -> Architecture:
    """What a multiprocessor of `x`'s GPU has: where its generation is not known here, what the last one before it has."""
    if torch.version.hip is not None:
        name = torch.cuda.get_device_properties(x.device).gcnArchName.partition(":")[0]
        return ARCHITECTURES.get(name, ARCHITECTURES["gfx90a"])
    major, minor = torch.cuda.get_device_capability(x.device)
    known = [int(target.removeprefix("sm_")) for target in ARCHITECTURES if target.startswith("sm_")]
    return ARCHITECTURES[f"sm_{max(number for number in known if number <= max(10 * major + minor, min(known)))}"]


def interpreted() -> bool:
    """Whether the kernel runs in Triton's interpreter; Triton decides that where `@triton.jit` is written."""
    return not isinstance(persistent_kernel, triton.JITFunction)


def _check(x: torch.Tensor) -> None:
    """Raise for what `persistent_softmax` cannot do, and say what to do instead."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"persistent_softmax takes a torch tensor, not a {type(x).__name__}: torch.as_tensor makes one")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(
            f"persistent_softmax takes fp16, bf16, fp32 or fp64, not {x.dtype}: convert it, for example by x.float()"
        )
    if x.layout != torch.strided:
        raise TypeError(f"persistent_softmax takes dense tensors, not {x.layout}: convert it by x.to_dense()")
    if x.dim() != 2:
        raise ValueError(f"persistent_softmax takes a matrix, and x has {x.dim()} dimensions: x.view(-1, n_cols) makes one")
    n_cols = x.shape[1]
    if n_cols > 1 and x.stride(1) != 1:
        raise ValueError(f"the elements of a row lie {x.stride(1)} apart: x.contiguous() puts them side by side")
    if triton.next_power_of_2(n_cols) * max(4, x.element_size()) > LARGEST_BLOCK:
        raise ValueError(
            f"a row of {n_cols} elements does not fit into one block of {LARGEST_BLOCK // max(4, x.element_size())}: "
            "course_lib.kernels.softmax.softmax takes rows of any length"
        )
    if x.device.type == "cpu" and not interpreted():
        raise ValueError('x is on the CPU, and kernels are compiled for the GPU in this process: move it by x.to("cuda")')
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("persistent_softmax has no backward pass here: give it x.detach(), or call it under torch.no_grad()")
