"""Softmax, finished: what lessons 08 and 09 arrive at, for any shape, stride and floating-point dtype.

`softmax(x, dim)` chooses among four kernels. Each reads every element from memory once and writes it once, but for the last:

| kernel                  | a row is held by                              | for                                        |
|-------------------------|-----------------------------------------------|--------------------------------------------|
| `rows_kernel`           | one program, or a part of one                 | rows of up to `WIDEST` elements            |
| `ragged_rows_kernel`    | one program                                   | the same, if rows begin at odd addresses   |
| `split_rows_kernel`     | several programs, which exchange two numbers  | longer rows, on NVIDIA's GPUs              |
| `split_pairs_kernel`    | the same, in half the registers               | the same, for 16-bit elements              |
| `online_rows_kernel`    | one program, block after block, twice         | longer rows anywhere else                  |

"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
import triton
import triton.language as tl

LOG2_E: tl.constexpr = tl.constexpr(1.4426950408889634)
"""exp(x) is 2 to the power of x · log₂ e, and powers of two are what the hardware computes."""
VECTOR_BYTES = 16
"""What one thread loads at most by one instruction."""
WIDEST = 16384
"""The longest row that one program holds in its registers."""
LONGEST_SPLIT = 2**24
"""The longest row that programs share."""
FEW_ROWS = 256
"""So few rows leave much of a GPU idle: each may have more warps."""
MOST_STRIDED = 512
"""The longest row whose elements may lie apart; of longer ones a contiguous copy is made first."""


# --- kernels --------------------------------------------------------------------------------------------------------


@triton.jit
def exponential(x):
    """exp(x) of a tile, for fp64 as exactly as that allows."""
    if x.dtype == tl.float64:
        return tl.exp(x)
    else:
        return tl.exp2(x * LOG2_E)


@triton.jit
def widened(x):
    """A tile in the format that is computed in: fp32, or fp64 for fp64."""
    if x.dtype == tl.float64:
        return x
    else:
        return x.to(tl.float32)


@triton.jit
def finite(maximum):
    """A maximum that can be subtracted: 0 for the maximum of nothing, which is −inf."""
    return tl.where(maximum == float("-inf"), 0.0, maximum)


@triton.jit
def rows_kernel(
    x,
    out,
    x_row_stride,
    x_col_stride,
    out_row_stride,
    out_col_stride,
    n_rows,
    n_cols,
    ROWS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
):
    """Each program computes ROWS whole rows, from a tile of ROWS × BLOCK_SIZE; BLOCK_SIZE is at least `n_cols`."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.arange(0, BLOCK_SIZE)[None, :].to(tl.int64)
    mask = col < n_cols
    if ROWS > 1:
        mask = mask & (row < n_rows)
    values = widened(tl.load(x + row * x_row_stride + col * x_col_stride, mask=mask, other=float("-inf")))
    power = exponential(values - tl.max(values, axis=1)[:, None])
    result = power * (1.0 / tl.sum(power, axis=1))[:, None]
    tl.store(out + row * out_row_stride + col * out_col_stride, result.to(out.dtype.element_ty), mask=mask)


@triton.jit
def ragged_rows_kernel(x, out, row_stride, n_cols, VECTOR: tl.constexpr, BLOCK_SIZE: tl.constexpr, BLOCKS: tl.constexpr):
    """One row for each program, beginning at any element (`divided`). Rows of `x` and of `out` are equally far apart.

    A row is held in as many blocks as it needs, not in one of the next power of two: at 5000 columns that would be 8192.
    """
    start = tl.program_id(0).to(tl.int64) * row_stride
    head, middle, end, end_mask = divided(start, n_cols, VECTOR)
    aligned = tl.multiple_of(start + head, VECTOR)
    middle = tl.multiple_of(middle, VECTOR)
    lanes = tl.arange(0, BLOCK_SIZE)

    end_values = widened(tl.load(x + start + end, mask=end_mask, other=float("-inf")))
    blocks = ()
    for block in tl.static_range(BLOCKS):
        col = block * BLOCK_SIZE + lanes
        blocks = blocks + (tl.load(x + aligned + col, mask=col < middle, other=float("-inf")),)
    highest = widened(blocks[0])
    for block in tl.static_range(1, BLOCKS):
        highest = tl.maximum(highest, widened(blocks[block]))
    maximum = tl.maximum(tl.max(highest, axis=0), tl.max(end_values, axis=0))

    powers = ()
    for block in tl.static_range(BLOCKS):
        powers = powers + (exponential(widened(blocks[block]) - maximum),)
    end_power = exponential(end_values - maximum)
    totals = powers[0]
    for block in tl.static_range(1, BLOCKS):
        totals += powers[block]
    scale = 1.0 / (tl.sum(totals, axis=0) + tl.sum(end_power, axis=0))

    for block in tl.static_range(BLOCKS):
        col = block * BLOCK_SIZE + lanes
        tl.store(out + aligned + col, (powers[block] * scale).to(out.dtype.element_ty), mask=col < middle)
    tl.store(out + start + end, (end_power * scale).to(out.dtype.element_ty), mask=end_mask)


@triton.jit
def divided(start, n_cols, VECTOR: tl.constexpr):
    """A row that begins at element `start`, divided into a middle that is loaded in vectors, and two ends.

    A vector of VECTOR elements must begin at a multiple of its size, as the tensor itself does. So up to VECTOR − 1 elements
    at each end of a row do not fill one. Returns how many there are before the middle and in it, and the columns of both ends
    as a tile with its mask.
    """
    head = tl.minimum((VECTOR - start % VECTOR) % VECTOR, n_cols).to(tl.int32)
    middle = (n_cols - head) // VECTOR * VECTOR
    lane = tl.arange(0, 2 * VECTOR)
    end = tl.where(lane < VECTOR, lane, head + middle + lane - VECTOR)
    return head, middle, end, tl.where(lane < VECTOR, end < head, end < n_cols)


@triton.jit
def split_rows_kernel(
    x,
    out,
    partials,
    x_row_stride,
    out_row_stride,
    n_cols,
    n_parts,
    VECTOR: tl.constexpr,
    MAX_PARTS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    WAIT: tl.constexpr,
):
    """`n_parts` programs share a row; each holds BLOCK_SIZE elements of it, and tells the others their maximum and their sum.

    `partials` has an int64 for each part of each row, zero at first, and never zero once it is written (`packed`). GPUs
    start programs in order, so the others of a row run by now or will soon. None promises that, though: a program that has
    waited long enough reads the whole row itself. So no program depends on another one, and in Triton's interpreter, where
    they run one after another, each but the last of a row does so.

    With a VECTOR above 1, rows begin at any element (`divided`); the first part has both ends. Both strides are then equal.
    """
    row = (tl.program_id(0) // n_parts).to(tl.int64)
    part = tl.program_id(0) % n_parts
    col = part * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    start = row * x_row_stride
    if VECTOR > 1:
        head, middle, end, end_mask = divided(start, n_cols, VECTOR)
        end_mask = end_mask & (part == 0)
        end_values = widened(tl.load(x + start + end, mask=end_mask, other=float("-inf")))
        aligned = tl.multiple_of(start + head, VECTOR)
        source, target, mask = x + aligned, out + aligned, col < tl.multiple_of(middle, VECTOR)
    else:
        source, target, mask = x + start, out + row * out_row_stride, col < n_cols
    values = widened(tl.load(source + col, mask=mask, other=float("-inf")))
    maximum = tl.max(values, axis=0)
    if VECTOR > 1:
        maximum = tl.maximum(maximum, tl.max(end_values, axis=0))
    power = exponential(values - finite(maximum))
    total = tl.sum(power, axis=0)
    if VECTOR > 1:
        total += tl.sum(exponential(end_values - finite(maximum)), axis=0)
    told = packed(maximum, total)
    row_max, row_sum = exchanged(told, partials, row, part, x + start, n_cols, n_parts, MAX_PARTS, WAIT)
    # A part of −inf alone has powers of 0, and no maximum to compare with the row's.
    scale = exponential(tl.where(maximum == float("-inf"), row_max, maximum) - row_max) / row_sum
    tl.store(target + col, (power * scale).to(out.dtype.element_ty), mask=mask)
    if VECTOR > 1:
        end_result = exponential(end_values - row_max) / row_sum
        tl.store(out + start + end, end_result.to(out.dtype.element_ty), mask=end_mask)


@triton.jit
def split_pairs_kernel(
    x,
    out,
    partials,
    x_row_stride,
    out_row_stride,
    n_cols,
    n_parts,
    zero,
    nought,
    VECTOR: tl.constexpr,
    MAX_PARTS: tl.constexpr,
    BLOCK_SIZE: tl.constexpr,
    WAIT: tl.constexpr,
):
    """`split_rows_kernel` for 16-bit elements, which stay in pairs until they are needed: half as many registers hold a row.

    Without vectors, `n_cols` and both strides are even. `zero` and `nought` are 0, which the compiler does not know: so it
    cannot see that a pair is the same one as before, and does not keep what it unpacked, in twice as many registers.
    """
    row = (tl.program_id(0) // n_parts).to(tl.int64)
    part = tl.program_id(0) % n_parts
    pair = part * (BLOCK_SIZE // 2) + tl.arange(0, BLOCK_SIZE // 2)
    start = row * x_row_stride
    if VECTOR > 1:
        head, middle, end, end_mask = divided(start, n_cols, VECTOR)
        end_mask = end_mask & (part == 0)
        end_values = widened(tl.load(x + start + end, mask=end_mask, other=float("-inf")))
        aligned = tl.multiple_of(start + head, VECTOR)
        source, target, mask = x + aligned, out + aligned, pair < tl.multiple_of(middle, VECTOR) // 2
    else:
        source, target, mask = x + start, out + row * out_row_stride, pair < n_cols // 2
    source = source.to(tl.pointer_type(tl.int32), bitcast=True)
    target = target.to(tl.pointer_type(tl.int32), bitcast=True)
    nothing: tl.constexpr = -8323200 if x.dtype.element_ty == tl.bfloat16 else -67044352  # a pair of −inf
    pairs = tl.load(source + pair, mask=mask, other=nothing)
    low, high = unpacked(pairs, x.dtype.element_ty)
    maximum = tl.max(tl.maximum(low, high), axis=0)
    if VECTOR > 1:
        maximum = tl.maximum(maximum, tl.max(end_values, axis=0))
    low, high = unpacked(pairs ^ zero, x.dtype.element_ty)
    total = tl.sum(exponential(low - finite(maximum)) + exponential(high - finite(maximum)), axis=0)
    if VECTOR > 1:
        total += tl.sum(exponential(end_values - finite(maximum)), axis=0)
    told = packed(maximum, total)
    row_max, row_sum = exchanged(told, partials, row, part, x + start, n_cols, n_parts, MAX_PARTS, WAIT)
    scale = 1.0 / row_sum
    low, high = unpacked(pairs ^ nought, x.dtype.element_ty)
    result = paired(exponential(low - row_max) * scale, exponential(high - row_max) * scale, x.dtype.element_ty, WAIT)
    tl.store(target + pair, result, mask=mask)
    if VECTOR > 1:
        end_result = exponential(end_values - row_max) * scale
        tl.store(out + start + end, end_result.to(out.dtype.element_ty), mask=end_mask)


@triton.jit
def unpacked(pairs, FORMAT: tl.constexpr):
    """The two 16-bit floats in each int32, as fp32."""
    if FORMAT == tl.bfloat16:  # the upper half of an fp32
        low, high = (pairs << 16).to(tl.float32, bitcast=True), (pairs & -65536).to(tl.float32, bitcast=True)
    else:
        low = pairs.to(tl.int16).to(FORMAT, bitcast=True).to(tl.float32)
        high = (pairs >> 16).to(tl.int16).to(FORMAT, bitcast=True).to(tl.float32)
    return low, high


@triton.jit
def paired(low, high, FORMAT: tl.constexpr, COMPILED: tl.constexpr):
    """Two fp32 as 16-bit floats in one int32."""
    if COMPILED:  # one instruction, from sm_80 on
        convert: tl.constexpr = "cvt.rn.bf16x2.f32 $0, $2, $1;" if FORMAT == tl.bfloat16 else "cvt.rn.f16x2.f32 $0, $2, $1;"
        pairs = tl.inline_asm_elementwise(convert, "=r,r,r", [low, high], dtype=tl.int32, is_pure=True, pack=1)
    else:
        lower = low.to(FORMAT).to(tl.uint16, bitcast=True).to(tl.int32)
        pairs = lower | (high.to(FORMAT).to(tl.uint16, bitcast=True).to(tl.int32) << 16)
    return pairs


@triton.jit
def exchanged(told, partials, row, part, x_row, n_cols, n_parts, MAX_PARTS: tl.constexpr, WAIT: tl.constexpr):
    """Tell the other programs of a row what this one found; the maximum and the sum of the whole row."""
    tl.atomic_xchg(partials + row * n_parts + part, told, sem="relaxed")
    others = tl.arange(0, MAX_PARTS)
    heard = waited_for(partials + row * n_parts + tl.minimum(others, n_parts - 1), WAIT)
    row_max, row_sum = combined(heard, others < n_parts)
    if tl.min((heard != 0).to(tl.int32), axis=0) == 0:
        row_max, row_sum = whole_row(x_row, n_cols, 128)
    return row_max, row_sum


@triton.jit
def packed(maximum, total):
    """A maximum and a sum of powers (both fp32) as one int64, which other programs see as a whole or not at all.

    It is never 0: the sum is at least 1, or NaN, or the maximum is −inf.
    """
    return (maximum.to(tl.int32, bitcast=True).to(tl.int64) << 32) | total.to(tl.uint32, bitcast=True).to(tl.int64)


@triton.jit
def combined(told, mask):
    """The maximum and the sum of a row, from what its parts told."""
    maxima = tl.where(mask, (told >> 32).to(tl.int32).to(tl.float32, bitcast=True), float("-inf"))
    sums = tl.where(mask, told.to(tl.uint32).to(tl.float32, bitcast=True), 0.0)
    row_max = tl.max(maxima, axis=0)
    return row_max, tl.sum(sums * exponential(maxima - finite(row_max)), axis=0)


@triton.jit
def waited_for(places, WAIT: tl.constexpr):
    """What stands at these addresses once none is zero; or, after some milliseconds, what stands there then."""
    if WAIT:
        told = tl.inline_asm_elementwise(
            """
            {
            .reg .pred again;
            .reg .b32 tries;
            mov.b32 tries, 0;
            LOOK: ld.relaxed.gpu.global.b64 $0, [$1];
            add.u32 tries, tries, 1;
            setp.lt.u32 again, tries, 10000;
            setp.eq.and.s64 again, $0, 0, again;
            @again bra LOOK;
            }""",
            "=l,l",
            [places],
            dtype=tl.int64,
            is_pure=False,
            pack=1,
        )
    else:
        told = tl.load(places)
    return told


@triton.jit
def whole_row(row, n_cols, BLOCK_SIZE: tl.constexpr):
    """The maximum of a row, and the sum of the powers of what its elements are below it."""
    maximum = float("-inf")
    total = 0.0
    for start in range(0, n_cols, BLOCK_SIZE):
        col = start + tl.arange(0, BLOCK_SIZE)
        values = widened(tl.load(row + col, mask=col < n_cols, other=float("-inf")))
        higher = tl.maximum(maximum, tl.max(values, axis=0))
        total = total * exponential(maximum - finite(higher)) + tl.sum(exponential(values - finite(higher)), axis=0)
        maximum = higher
    return maximum, total


@triton.jit
def online_rows_kernel(x, out, x_row_stride, out_row_stride, n_cols, BLOCK_SIZE: tl.constexpr):
    """One row for each program, of any length: once through it for its maximum and sum, once more for the result.

    Each lane of the tile keeps a maximum and a sum of its own, so that lanes need not meet until the row is through.
    """
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK_SIZE)
    accumulated: tl.constexpr = tl.float64 if x.dtype.element_ty == tl.float64 else tl.float32
    maximum = tl.full((BLOCK_SIZE,), float("-inf"), accumulated)
    total = tl.zeros((BLOCK_SIZE,), accumulated)
    for start in range(0, n_cols, BLOCK_SIZE):
        col = start + lanes
        values = widened(tl.load(x + row * x_row_stride + col, mask=col < n_cols, other=float("-inf")))
        higher = tl.maximum(maximum, values)
        total = total * exponential(maximum - finite(higher)) + exponential(values - finite(higher))
        maximum = higher
    row_max = tl.max(maximum, axis=0)
    scale = 1.0 / tl.sum(total * exponential(maximum - finite(row_max)), axis=0)
    for start in range(0, n_cols, BLOCK_SIZE):
        col = start + lanes
        values = widened(tl.load(x + row * x_row_stride + col, mask=col < n_cols, other=float("-inf")))
        tl.store(
            out + row * out_row_stride + col,
            (exponential(values - row_max) * scale).to(out.dtype.element_ty),
            mask=col < n_cols,
        )


# --- which kernel, and how it is launched ---------------------------------------------------------------------------


Sharing = Literal["none", "rows", "pairs"]
Starts = Literal["aligned", "alike", "anywhere"]
"""Where rows begin: at multiples of 16 elements (and so do they end); as far from one in `x` as in `out`; or neither."""


@dataclass(frozen=True)
class Plan:
    """How rows of one length are computed."""

    kernel: Literal["rows", "split", "pairs", "online"]
    block_size: int
    num_warps: int
    ragged: bool = False
    """Whether rows begin at any element, the same one in `x` as in `out`, and their middles are loaded in vectors."""
    rows: int = 1
    """Rows of each program ("rows"), or programs of each row ("split", "pairs")."""
    registers: int | None = None
    """The most registers that a thread may have, so that more programs run at once; None leaves it to the compiler."""


@functools.cache
def plan(
    n_cols: int,
    itemsize: int,
    *,
    starts: Starts = "aligned",
    strided: bool = False,
    sharing: Sharing = "none",
    few: bool = False,
) -> Plan:
    """The plan for rows of `n_cols` elements of `itemsize` bytes, as it proved fastest on an H200 (benchmarks/softmax.py).

    `starts`: where rows begin. `strided`: whether elements of a row lie apart, and those of neighbouring rows side by side.
    `sharing`: what programs may share (`_sharing`). `few`: whether there are at most `FEW_ROWS` rows.

    >>> plan(1000, 4, starts="alike")
    Plan(kernel='rows', block_size=128, num_warps=1, ragged=True, rows=1, registers=None)
    """
    block_size = max(triton.next_power_of_2(n_cols), 16)
    if strided:
        rows = max(1, min(32, WIDEST // block_size))
        return Plan("rows", block_size, num_warps=min(16, max(1, rows * block_size // 512)), rows=rows)
    widest = {8: WIDEST // 2, 4: WIDEST * 2}.get(itemsize, WIDEST)
    if block_size > widest and sharing == "none":
        return Plan("online", 8192 if itemsize < 8 else 2048, 8)
    if block_size > widest:
        parts = triton.cdiv(n_cols, 4096)
        ragged = starts == "alike"
        if sharing == "pairs" and itemsize == 2 and starts != "anywhere":
            return Plan("pairs", 4096, 1, ragged, rows=parts, registers=88 if n_cols <= 65536 else 80)
        registers = {"aligned": 168, "alike": 176, "anywhere": None}[starts]
        return Plan("split", 4096, 1, ragged, rows=parts, registers=registers)
    if starts == "alike" and n_cols > 512:
        num_warps = triton.next_power_of_2(triton.cdiv(n_cols, 32 * (56 if itemsize > 2 else 112)))
        registers = 144 if num_warps == 4 and n_cols > 8192 else None
        return Plan("rows", 32 * num_warps * VECTOR_BYTES // itemsize, num_warps, ragged=True, registers=registers)
    if few and block_size <= 4096:
        return Plan("rows", block_size, max(1, block_size // 512))
    if block_size <= 512 and itemsize == 2:
        return Plan("rows", block_size, 2, rows=1024 // block_size)
    if block_size <= 256:
        return Plan("rows", block_size, 4, rows=min(4, 512 // block_size))
    if block_size <= 4096:
        return Plan("rows", block_size, max(2, block_size // 1024))
    if itemsize == 2:
        return Plan("rows", block_size, 8, registers={8192: 64, 16384: 80}[block_size])
    return Plan("rows", block_size, min(32, block_size // 512))


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """Softmax along `dim`, as `torch.softmax` computes it: exp(x − max) over its sum; a new, contiguous tensor like `x`.

    `x` has any shape and strides, and is fp16, bf16, fp32 or fp64; it is computed in fp32, fp64 in fp64. A row of −inf alone,
    or with +inf or NaN in it, becomes NaN. Runs on the current stream of `x`'s GPU, or in Triton's interpreter.

    Raises `TypeError` for what is not such a tensor, `ValueError` for a `dim` that it does not have, for a tensor that
    Triton cannot reach, and where a gradient would be lost.

    >>> from course_lib import trace
    >>> trace(softmax, torch.zeros(2, 4)).result[0].tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    key = _key(x, dim)
    repeated = _repeated.get(key)
    out = repeated(x, key[-1]) if repeated else None
    return _first(x, _checked(x, dim), key) if out is None else out


def _key(x: torch.Tensor, dim: int) -> tuple[Any, ...]:
    """All that `_first` depends on, so that what it launched can be launched again; empty for what is never repeated.

    The plan and the compiled kernel depend on shape, strides, dtype and GPU, and on whether addresses are multiples of 16:
    Triton compiles a kernel anew where one of them makes a difference, and a kernel compiled for the others gives wrong
    results or fails.
    """
    if type(x) is not torch.Tensor or x.layout is not torch.strided or x.requires_grad or x.is_neg() or not x.is_cuda:
        return ()
    device = torch.cuda.current_device()
    if x.get_device() != device:  # a repeated launch goes to the current GPU
        return ()
    return x.shape, x.stride(), x.dtype, dim, x.data_ptr() % VECTOR_BYTES, device


def _first(x: torch.Tensor, dim: int, key: tuple[Any, ...]) -> torch.Tensor:
    """The softmax along `dim`, counted from the front; the launch is kept by its `key`, if it needs no copies of `x`."""
    x = x.resolve_neg()
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    if x.numel() == 0:
        return out
    if x.dim() > 2 and dim < x.dim() - 1:
        last = softmax(x.movedim(dim, -1).contiguous())
        return last.movedim(-1, dim).contiguous()
    if dim == 0 and x.dim() == 2:
        rows, out_rows = x.t(), out.t()
    else:
        n_cols = x.shape[-1] if x.dim() else 1
        rows, out_rows = x.reshape(-1, n_cols), out.view(-1, n_cols)
    launched = _launch(rows, out_rows)
    if key and launched and (rows.data_ptr(), out.data_ptr() % VECTOR_BYTES) == (x.data_ptr(), 0):
        if len(_repeated) >= MOST_REPEATED:
            _repeated.clear()
        _repeated[key] = replace(launched, contiguous=x.is_contiguous())
    return out


def _checked(x: torch.Tensor, dim: int) -> int:
    """`dim` counted from the front. Raises for what `softmax` cannot do."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"softmax takes a torch tensor, not a {type(x).__name__}: torch.as_tensor makes one")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        raise TypeError(f"softmax takes fp16, bf16, fp32 or fp64, not {x.dtype}: convert it, for example by x.float()")
    if x.layout != torch.strided:
        raise TypeError(f"softmax takes dense tensors, not {x.layout}: convert it by x.to_dense()")
    n_dims = max(x.dim(), 1)
    if not -n_dims <= dim < n_dims:
        raise ValueError(f"x has {x.dim()} dimensions, so dim is from {-n_dims} to {n_dims - 1}, not {dim}")
    if x.device.type == "cpu" and not interpreted():
        raise ValueError('x is on the CPU, and kernels are compiled for the GPU in this process: move it by x.to("cuda")')
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError("softmax has no backward pass here: give it x.detach(), or call it under torch.no_grad()")
    return dim % n_dims


def interpreted() -> bool:
    """Whether kernels of this module run in Triton's interpreter; Triton decides that where `@triton.jit` is written."""
    return not isinstance(rows_kernel, triton.JITFunction)


def _launch(x: torch.Tensor, out: torch.Tensor) -> Repeated | None:
    """Write the softmax of each row of the matrix `x` into `out`, which is contiguous, or its transpose is.

    Returns how the same is done again, if no copy of either was needed.
    """
    n_cols = x.shape[1]
    if n_cols <= MOST_STRIDED and x.stride(0) == out.stride(0) == 1:
        return launch(x, out, plan(n_cols, x.element_size(), strided=True))
    original = x
    if n_cols > 1 and x.stride(1) != 1:
        x = x.contiguous()
    rows = out if out.stride(1) == 1 or n_cols == 1 else torch.empty_like(x)
    sharing = "none" if x.element_size() == 8 or n_cols > LONGEST_SPLIT else _sharing(x.device)
    few = x.shape[0] <= FEW_ROWS
    launched = launch(x, rows, plan(n_cols, x.element_size(), starts=_starts(x, rows), sharing=sharing, few=few))
    if rows is not out:
        out.copy_(rows)
    return launched if x is original and rows is out else None


def _starts(x: torch.Tensor, out: torch.Tensor) -> Starts:
    if all(number % 16 == 0 for number in (x.shape[1], x.stride(0), out.stride(0), x.data_ptr(), out.data_ptr())):
        return "aligned"
    alike = x.stride(0) == out.stride(0) and x.data_ptr() % VECTOR_BYTES == out.data_ptr() % VECTOR_BYTES == 0
    return "alike" if alike else "anywhere"


@functools.cache
def _sharing(device: torch.device) -> Sharing:
    """What programs may share on a device: rows, also as pairs of 16-bit elements, or nothing.

    Waiting for each other is written in PTX, NVIDIA's machine language, and converting pairs is an instruction of sm_80.
    """
    if interpreted() or torch.version.hip is not None:
        return "none"
    return "pairs" if torch.cuda.get_device_capability(device) >= (8, 0) else "rows"


@dataclass(frozen=True, slots=True)
class Repeated:
    """A launch that can be made again, of the compiled kernel itself, for tensors like the first ones (`_key`).

    Going by `kernel[grid](…)` each time, Triton finds out again what it must have compiled for these arguments: that takes
    longer than a small softmax. What is called here is what Triton itself calls in the end, in all versions from 3.6 to 3.9.
    """

    run: Callable[..., None]
    function: Any
    metadata: Any
    stream: Callable[[int], int]
    """The current stream of a GPU, by the GPU's number."""
    n_programs: int
    numbers: tuple[int, ...]
    """The arguments after the tensors; a compiled kernel is given its constants, too, and ignores them."""
    with_partials: bool
    contiguous: bool = False
    """Whether `x` is known to be, so that the result can be made like it, which is faster."""

    @classmethod
    def of(cls, compiled: Any, n_programs: int, numbers: tuple[int, ...], with_partials: bool) -> Repeated:
        """A launch of a kernel that Triton compiled, and has launched before."""
        stream = triton.runtime.driver.active.get_current_stream
        return cls(compiled.run, compiled.function, compiled.packed_metadata, stream, n_programs, numbers, with_partials)

    def __call__(self, x: torch.Tensor, device: int) -> torch.Tensor | None:
        """The result, computed on the current GPU, whose number is `device`; None if this launch is not like the first one."""
        out = torch.empty_like(x) if self.contiguous else torch.empty(x.shape, dtype=x.dtype, device=x.device)
        address = out.data_ptr()
        hooks = triton.knobs.runtime
        if address % VECTOR_BYTES or hooks.launch_enter_hook.calls or hooks.launch_exit_hook.calls:
            return None  # a profiler is told of launches that go by Triton's own way
        numbers = self.numbers
        if self.with_partials:
            partials = torch.zeros(self.n_programs, dtype=torch.int64, device=x.device)
            numbers = (partials.data_ptr(), *numbers)
        stream = self.stream(device)
        self.run(self.n_programs, 1, 1, stream, self.function, self.metadata, None, None, None, x.data_ptr(), address, *numbers)
        return out


MOST_REPEATED = 4096
"""As many launches are kept; then all are forgotten, and kept anew."""
_repeated: dict[tuple[Any, ...], Repeated] = {}


def launch(x: torch.Tensor, out: torch.Tensor, how: Plan) -> Repeated | None:
    """Write the softmax of each row of the matrix `x` into `out` by one plan; both have elements of a row side by side.

    Only "rows" takes any strides, and what is ragged needs equal ones. Returns how to do it again, if it ran on a GPU.
    """
    n_programs, kernel, numbers, constants = arguments(x, out, how)
    options = {"num_warps": how.num_warps, "maxnreg": how.registers} if how.registers else {"num_warps": how.num_warps}
    shared = how.kernel in ("split", "pairs")
    partials = [torch.zeros(n_programs, dtype=torch.int64, device=x.device)] if shared else []
    with torch.cuda.device_of(x):  # Triton launches on the current GPU, which need not be the one that `x` is on
        compiled = kernel[(n_programs,)](x, out, *partials, *numbers, **constants, **options)
    if interpreted():
        return None
    return Repeated.of(compiled, n_programs, (*numbers, *constants.values()), shared)


def arguments(x: torch.Tensor, out: torch.Tensor, how: Plan) -> tuple[int, Any, tuple[int, ...], dict[str, int]]:
    """How many programs a plan takes, of which kernel; its numbers (after its tensors), and its constants, as it has them."""
    n_rows, n_cols = x.shape
    vector = VECTOR_BYTES // x.element_size() if how.ragged else 1
    block = {"BLOCK_SIZE": how.block_size}
    if how.kernel == "rows" and how.ragged:
        constants = {"VECTOR": vector, **block, "BLOCKS": triton.cdiv(n_cols, how.block_size)}
        return n_rows, ragged_rows_kernel, (x.stride(0), n_cols), constants
    if how.kernel == "rows":
        strides = (*x.stride(), *out.stride())
        return triton.cdiv(n_rows, how.rows), rows_kernel, (*strides, n_rows, n_cols), {"ROWS": how.rows, **block}
    strides = (x.stride(0), out.stride(0))
    if how.kernel == "online":
        return n_rows, online_rows_kernel, (*strides, n_cols), block
    constants = {"VECTOR": vector, "MAX_PARTS": triton.next_power_of_2(how.rows), **block, "WAIT": not interpreted()}
    if how.kernel == "split":
        return n_rows * how.rows, split_rows_kernel, (*strides, n_cols, how.rows), constants
    return n_rows * how.rows, split_pairs_kernel, (*strides, n_cols, how.rows, 0, 0), constants
