"""LayerNorm, finished: what lesson 13 arrives at, forward and backward, for any shape, stride and floating-point dtype.

`layernorm(x, weight, bias, eps)` normalises along the last dimension, and torch's `.backward()` goes through it. Forward, a
row is read once and written once. Backward, `x` and `dy` are read once if a row of each fits into a program beside the sums of
two gradients; most longer rows are read twice.

| kernel                | what it computes                                       | for                                        |
|-----------------------|--------------------------------------------------------|--------------------------------------------|
| `rows_kernel`         | the result, and a mean and 1/σ for each row            | rows that nearly fill a power of two       |
| `blocks_kernel`       | the same, from a row in several blocks                 | other fp32 rows of up to `WIDEST` elements |
| `pairs_kernel`        | the same, from half the registers                      | 16-bit rows of up to `WIDEST_IN_PAIRS`     |
| `shifted_kernel`      | copies of a weight that begin as such rows may         | those that begin at odd addresses          |
| `long_rows_kernel`    | the same, block after block, twice through a row       | longer rows                                |
| `backward_kernel`     | dx, and partial sums over rows for dweight and dbias   | rows of up to `WIDEST_BACKWARD` elements*  |
| `row_means_kernel`    | the two means along each row that dx needs             | longer rows                                |
| `columns_kernel`      | dx from these means, and the partial sums              | longer rows                                |
| `column_sums_kernel`  | dweight and dbias, from the partial sums               | all                                        |

* and of nearly 16384 in fp32: `backward_plan`.

No two programs write to one place, and each sum is added up in an order that depends on shapes and the GPU alone. So the
backward pass gives the same bits every time.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Literal

import torch
import triton
from torch.autograd.function import once_differentiable

from course_lib.kernels.layernorm_kernels import (
    backward_kernel,
    blocks_kernel,
    column_sums_kernel,
    columns_kernel,
    long_rows_kernel,
    pairs_kernel,
    row_means_kernel,
    rows_kernel,
    shifted_kernel,
)
from course_lib.kernels.softmax import VECTOR_BYTES

WIDEST, WIDEST_IN_PAIRS = 32768, 65536
"""The longest row that one program holds in its registers, and the longest of 16-bit elements in pairs."""
WIDEST_BACKWARD = 8192
"""The longest row that one program holds together with its gradient, and with the sums of two gradients, without spilling."""
LONGEST_TILED = 1024
"""The longest row of which a program computes several at once."""
ROWS, COLUMNS, PROGRAMS = 4, 512, 8
"""Of longer rows: the tile that a program computes at once, and how many programs there are for each multiprocessor."""
RESOURCES_WITHOUT_GPU = (2, 64 * 1024)
"""Multiprocessors, and bytes of shared memory, for Triton's interpreter, which runs one program after another anyway."""


# --- which kernel, and how it is launched ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """How rows of one length are computed."""

    kernel: Literal["rows", "blocks", "pairs", "long"]
    block_size: int
    num_warps: int
    rows: int = 1
    """Rows of a tile."""
    stages: int = 1
    """Tiles that a program deals with at once (backward)."""
    programs: int = 1
    """Programs for each multiprocessor (backward)."""
    registers: int | None = None
    """The most registers that a thread may have, so that more programs run at once; None leaves it to the compiler."""
    copies: int = 1
    """Of weight and bias, each from another column on, if rows begin at odd addresses (`shifted`). Pairs then need two."""


@functools.cache
def plan(n_cols: int, itemsize: int, vector: int = 16, *, contiguous: bool = True) -> Plan:
    """The plan for the forward pass over rows of `n_cols` elements of `itemsize` bytes.

    `vector` divides all rows' beginnings and lengths; `contiguous` rows follow each other without a gap, from an address that
    is a multiple of 16. Chosen on an H200; benchmarks/README.md says what was tried.

    >>> plan(4096, 4)
    Plan(kernel='rows', block_size=4096, num_warps=16, rows=1, stages=1, programs=1, registers=None, copies=1)
    >>> plan(5000, 4, vector=8).kernel, plan(5000, 2, vector=8).kernel, plan(65537, 2, vector=1).kernel
    ('blocks', 'pairs', 'long')
    """
    block_size = max(triton.next_power_of_2(n_cols), 16)
    ragged = vector * itemsize < VECTOR_BYTES
    by_blocks = contiguous if ragged else n_cols <= 0.85 * block_size
    if itemsize == 2 and LONGEST_TILED < n_cols <= WIDEST_IN_PAIRS and (by_blocks or (n_cols > 2048 and not ragged)):
        return _pairs_plan(n_cols, copies=4 if ragged else 1)
    if block_size > WIDEST // max(1, itemsize // 4):
        return Plan("long", 16384 // itemsize, 16)
    if block_size <= LONGEST_TILED and itemsize == 2:
        return Plan("rows", block_size, 4, rows=2048 // block_size)
    if block_size <= LONGEST_TILED:
        return Plan("rows", block_size, 8, rows=4096 // block_size)
    if itemsize == 4 and by_blocks:
        return _blocks_plan(n_cols, copies=2 if ragged and n_cols > 8192 else 1)
    if itemsize == 2:
        return Plan("rows", block_size, {2048: 4, 4096: 8, 8192: 8}.get(block_size, block_size // 1024))
    num_warps = {2048: 8, 4096: 16, 8192: 16}.get(block_size, 32)
    return Plan("rows", block_size, num_warps, registers=32 if (block_size, itemsize) == (16384, 4) else None)


def _pairs_plan(n_cols: int, copies: int) -> Plan:
    """Blocks of 4 pairs for each thread, which holds up to 32."""
    fewest, most = 2 if n_cols <= 2048 else 4, 16 if n_cols <= 32768 else 32
    num_warps = min(most, max(fewest, triton.next_power_of_2(triton.cdiv(n_cols, 64 * 25))))
    held = 4 * triton.cdiv(n_cols, 256 * num_warps)
    registers = 40 if held <= 16 else 56 if held <= 28 else 64
    return Plan("pairs", 256 * num_warps, num_warps, registers=registers, copies=copies)


def _blocks_plan(n_cols: int, copies: int) -> Plan:
    """Blocks of 4 elements for each thread, which holds up to 32."""
    num_warps = min(16 if n_cols <= 16384 else 32, triton.next_power_of_2(triton.cdiv(n_cols, 32 * 28)))
    held = 4 * triton.cdiv(n_cols, 128 * num_warps)
    return Plan("blocks", 128 * num_warps, num_warps, registers=40 if held <= 20 else 64, copies=copies)


@functools.cache
def backward_plan(n_cols: int, itemsize: int, most_shared: int) -> Plan:
    """The plan for the backward pass, with `most_shared` bytes of shared memory for a program.

    Tiles that are on their way wait there, one of `x` and of `dy` each: with three stages two of both.

    >>> backward_plan(4096, 4, 227 * 1024).stages, backward_plan(8192, 4, 64 * 1024).stages
    (3, 1)
    """
    block_size = max(triton.next_power_of_2(n_cols), 16)
    nearly_full = itemsize == 4 and n_cols % 4 == 0 and 14336 < n_cols <= 16384  # it spills, and is the lesser evil
    if block_size > WIDEST_BACKWARD // max(1, itemsize // 4) and not nearly_full:
        return Plan("long", 2048 if itemsize < 8 else 1024, 8)
    if block_size <= 1024:
        return Plan("rows", block_size, 8, rows=4096 // block_size, programs=2)
    waiting = 2 * 2 * block_size * itemsize + 1024 * 8
    programs = 2 if block_size <= 2048 or (block_size == 4096 and itemsize == 2) else 1
    if programs * waiting <= most_shared:
        return Plan("rows", block_size, 4 if block_size <= 2048 else 8, stages=3, programs=programs)
    return Plan("rows", block_size, min(16, max(4, block_size // 512)), programs=2 if block_size <= 4096 else 1)


def layernorm(
    x: torch.Tensor, weight: torch.Tensor | None = None, bias: torch.Tensor | None = None, eps: float = 1e-5
) -> torch.Tensor:
    """(x − mean) / √(variance + eps) · weight + bias along the last dimension, as `torch.nn.functional.layer_norm` has it.

    `x` has any shape and strides, and is fp16, bf16, fp32 or fp64; it is computed in fp32, fp64 in fp64. The result is new,
    contiguous, and of `x`'s dtype. `weight` and `bias` have as many elements as a row; None stands for ones, and for zeros.
    Gradients go through it, once: those of gradients do not. Runs on the current stream of `x`'s GPU, or in Triton's
    interpreter.

    Raises `TypeError` for what are not such tensors, and `ValueError` for other shapes and places.

    >>> from course_lib import trace
    >>> trace(layernorm, torch.tensor([[1.0, 3.0], [7.0, 5.0]]), None, None, 3.0).result.tolist()
    [[-0.5, 0.5], [0.5, -0.5]]
    """
    _check(x, weight, bias)
    if torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in (x, weight, bias)):
        return _LayerNorm.apply(x, weight, bias, float(eps))
    return forward(_rows(x), weight, bias, float(eps)).view(x.shape)


class _LayerNorm(torch.autograd.Function):
    """`layernorm` for torch's autograd. Of a row, its mean and 1/σ are kept: 8 bytes, which save two sums over the row."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None, eps: float) -> torch.Tensor:
        rows = _rows(x)
        mean, rstd = (torch.empty(rows.shape[0], dtype=_computed(x), device=x.device) for _ in range(2))
        out = forward(rows, weight, bias, eps, mean, rstd)
        ctx.save_for_backward(x, weight, mean, rstd)
        ctx.bias_dtype = None if bias is None else bias.dtype
        return out.view(x.shape)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None, None]:
        x, weight, mean, rstd = ctx.saved_tensors
        for_x, for_weight, for_bias, _ = ctx.needs_input_grad
        dx, dweight, dbias = layernorm_backward(dy, x, weight, mean, rstd, for_x=for_x, for_parameters=for_weight or for_bias)
        if dbias is not None and ctx.bias_dtype is not None:
            dbias = dbias.to(ctx.bias_dtype)
        return dx, dweight if for_weight else None, dbias if for_bias else None, None


def layernorm_backward(
    dy: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    *,
    for_x: bool = True,
    for_parameters: bool = True,
) -> tuple[torch.Tensor | None, torch.Tensor | None, torch.Tensor | None]:
    """The gradients of `layernorm` with respect to `x`, weight and bias, from that of its result; None for what is not wanted.

    `mean` and `rstd` have the mean and 1/σ of each row, as `forward` writes them. `dx` is contiguous and of `x`'s dtype; the
    gradients of weight and bias are of the weight's, or as computed where there is no weight.
    """
    n_cols = x.shape[-1]
    rows, gradients = _rows(x), _rows(dy)
    dx = torch.empty(x.shape, dtype=x.dtype, device=x.device) if for_x else None
    parameter_dtype = _computed(x) if weight is None else weight.dtype
    if x.numel() == 0:
        dweight, dbias = torch.zeros(2, n_cols, dtype=parameter_dtype, device=x.device) if for_parameters else (None, None)
        return dx, dweight, dbias
    weight = None if weight is None else weight.contiguous()
    how = backward_plan(n_cols, x.element_size(), _resources(x.device)[1])
    with torch.cuda.device_of(x):  # Triton compiles for the current GPU, and launches there
        partials = backward(gradients, rows, weight, mean, rstd, dx, how, partial=for_parameters)
        sums = None if partials is None else column_sums(partials, parameter_dtype)
    return dx, *((None, None) if sums is None else sums)


def forward(
    x: torch.Tensor,
    weight: torch.Tensor | None,
    bias: torch.Tensor | None,
    eps: float,
    mean: torch.Tensor | None = None,
    rstd: torch.Tensor | None = None,
    how: Plan | None = None,
) -> torch.Tensor:
    """LayerNorm of each row of the matrix `x`, whose rows are contiguous; writes their means and 1/σ, if it is told where."""
    n_rows, n_cols = x.shape
    out = torch.empty(n_rows, n_cols, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return out
    vector = _vector(x, out)
    if how is None:
        starts = x.stride(0) == n_cols and x.data_ptr() % VECTOR_BYTES == out.data_ptr() % VECTOR_BYTES == 0
        how = plan(n_cols, x.element_size(), vector, contiguous=starts)
    weight, bias = (None if tensor is None else _aligned(tensor) for tensor in (weight, bias))
    n_programs, kernel, numbers, constants = arguments(x, how, vector)
    with torch.cuda.device_of(x):  # Triton compiles for the current GPU, and launches there
        if how.copies > 1:
            weight, bias = shifted(weight, bias, how.copies)
        tensors = (x, weight, bias, out, mean, rstd)
        kernel[(n_programs,)](*tensors, *numbers, EPS=eps, **constants, **_options(how))
    return out


def arguments(x: torch.Tensor, how: Plan, vector: int) -> tuple[int, Any, tuple[int, ...], dict[str, int]]:
    """How many programs a plan of the forward pass takes, of which kernel; its numbers, and its constants but for EPS."""
    n_rows, n_cols = x.shape
    constants = {"VECTOR": vector, "BLOCK_SIZE": how.block_size}
    if how.kernel == "rows":
        numbers = (x.stride(0), n_rows, n_cols)
        return triton.cdiv(n_rows, how.rows), rows_kernel, numbers, {**constants, "ROWS": how.rows}
    if how.kernel == "long":
        return n_rows, long_rows_kernel, (x.stride(0), n_cols), constants
    whole = VECTOR_BYTES // x.element_size()
    constants |= {"ENDS": vector < whole, "VECTOR": max(vector, whole), "BLOCKS": triton.cdiv(n_cols, how.block_size)}
    constants["COPIES"] = how.copies
    numbers = (x.stride(0), n_cols, _width(n_cols))
    if how.kernel == "blocks":
        return n_rows, blocks_kernel, numbers, constants
    return n_rows, pairs_kernel, (*numbers, 0, 0), constants


def shifted(weight: torch.Tensor | None, bias: torch.Tensor | None, copies: int) -> list[torch.Tensor | None]:
    """For weight and bias, a table of `copies` rows each, which begin with the elements 0, 1, … of theirs.

    Rows of a table begin at multiples of 16 elements; what stands behind a row's last element is undefined. With one copy
    for each way that rows begin, those of a row's middle would be loaded in vectors as `x` is. Fewer copies, in vectors of
    fewer elements, are faster: they leave less to be read through L1.
    """
    rows = (weight, bias)
    n_cols = next((len(row) for row in rows if row is not None), 0)
    tables = [None if row is None else row.new_empty(copies, _width(n_cols)) for row in rows]
    if n_cols:
        grid = (triton.cdiv(n_cols, 1024), copies)
        shifted_kernel[grid](*rows, *tables, n_cols, _width(n_cols), BLOCK_SIZE=1024)
    return tables


def _aligned(row: torch.Tensor) -> torch.Tensor:
    """A row whose elements lie side by side from a multiple of 16 bytes on: it may be loaded in pairs."""
    row = row.contiguous()
    return row.clone() if row.data_ptr() % VECTOR_BYTES else row


def _width(n_cols: int) -> int:
    return triton.cdiv(n_cols, 16) * 16


def _options(how: Plan) -> dict[str, int]:
    return {"num_warps": how.num_warps, **({"maxnreg": how.registers} if how.registers else {})}


def backward(
    dy: torch.Tensor,
    x: torch.Tensor,
    weight: torch.Tensor | None,
    mean: torch.Tensor,
    rstd: torch.Tensor,
    dx: torch.Tensor | None,
    how: Plan,
    *,
    partial: bool,
) -> torch.Tensor | None:
    """Write `dx` of a matrix; the partial sums of dweight and of dbias, of shape (2, P, n_cols), if they are wanted."""
    n_rows, n_cols = x.shape
    multiprocessors, _ = _resources(x.device)
    columns = triton.cdiv(n_cols, COLUMNS) if how.kernel == "long" else 1
    most = triton.cdiv(PROGRAMS * multiprocessors, columns) if how.kernel == "long" else how.programs * multiprocessors
    n_programs = min(triton.cdiv(n_rows, ROWS if how.kernel == "long" else how.rows), most)
    partials = torch.empty(2, n_programs, n_cols, dtype=mean.dtype, device=x.device) if partial else None
    tensors, strides, vector = (dy, x, weight, mean, rstd), (dy.stride(0), x.stride(0)), _vector(dy, x)
    if how.kernel == "rows":
        constants = {"VECTOR": vector, "ROWS": how.rows, "BLOCK_SIZE": how.block_size, "STAGES": how.stages}
        sizes = (n_rows, n_cols)
        backward_kernel[(n_programs,)](*tensors, dx, partials, *strides, *sizes, **constants, **_options(how))
        return partials
    means = torch.empty(2, n_rows, dtype=mean.dtype, device=x.device)
    if dx is not None:
        constants = {"VECTOR": vector, "BLOCK_SIZE": how.block_size}
        row_means_kernel[(n_rows,)](*tensors, means, *strides, n_cols, **constants, **_options(how))
    constants = {"VECTOR": vector, "ROWS": ROWS, "COLUMNS": COLUMNS}
    columns_kernel[(columns, n_programs)](*tensors, means, dx, partials, *strides, n_rows, n_cols, **constants)
    return partials


def column_sums(partials: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The sums over the middle of three dimensions."""
    n_tables, n_parts, n_cols = partials.shape
    out = torch.empty(n_tables, n_cols, dtype=dtype, device=partials.device)
    column_sums_kernel[(triton.cdiv(n_cols, 32), n_tables)](partials, out, n_parts, n_cols, ROWS=64, COLUMNS=32)
    return out


def _rows(x: torch.Tensor) -> torch.Tensor:
    """A tensor as a matrix of its rows, each of which is contiguous: a view, if `x` allows it, or a copy."""
    x = x.resolve_neg()  # torch.imag of a conjugate holds the negatives of what lies in memory
    n_cols = x.shape[-1]
    rows = x.reshape(math.prod(x.shape[:-1]), n_cols)
    return rows if n_cols == 1 or rows.stride(1) == 1 else rows.contiguous()


def _vector(*matrices: torch.Tensor) -> int:
    """The most elements, up to 16, that lengths and addresses of all rows are multiples of."""
    addresses = (matrix.data_ptr() // matrix.element_size() for matrix in matrices)
    return math.gcd(16, matrices[0].shape[1], *(matrix.stride(0) for matrix in matrices), *addresses)


def _computed(x: torch.Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


@functools.cache
def _resources(device: torch.device) -> tuple[int, int]:
    """How many multiprocessors a device has, and how many bytes of shared memory a program may have at most."""
    if interpreted():
        return RESOURCES_WITHOUT_GPU
    properties = triton.runtime.driver.active.utils.get_device_properties(device.index or 0)
    return properties["multiprocessor_count"], properties["max_shared_mem"]


def interpreted() -> bool:
    """Whether kernels of this module run in Triton's interpreter; Triton decides that where `@triton.jit` is written."""
    return not isinstance(rows_kernel, triton.JITFunction)


def _check(x: torch.Tensor, weight: torch.Tensor | None, bias: torch.Tensor | None) -> None:
    """Raise for what `layernorm` cannot do, and say what to do instead."""
    named = {"x": x} | {name: one for name, one in (("weight", weight), ("bias", bias)) if one is not None}
    for name, tensor in named.items():
        if not isinstance(tensor, torch.Tensor):
            raise TypeError(f"{name} is a torch tensor, not a {type(tensor).__name__}: torch.as_tensor makes one")
        if tensor.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            raise TypeError(f"{name} is fp16, bf16, fp32 or fp64, not {tensor.dtype}: convert it, for example by .float()")
        if tensor.layout != torch.strided:
            raise TypeError(f"{name} is a dense tensor, not {tensor.layout}: convert it by .to_dense()")
        if tensor.device != x.device:
            raise ValueError(f"{name} is on {tensor.device}, and x on {x.device}: move it by .to(x.device)")
    if x.dim() == 0:
        raise ValueError("x has no dimension to normalise along: x.view(1) has one")
    for name, tensor in named.items():
        if name != "x" and tensor.shape != x.shape[-1:]:
            raise ValueError(f"{name} has shape {tuple(tensor.shape)}, and rows of x have {x.shape[-1]} elements")
    if x.device.type == "cpu" and not interpreted():
        raise ValueError('x is on the CPU, and kernels are compiled for the GPU in this process: move it by x.to("cuda")')
