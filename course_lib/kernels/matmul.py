"""Matrix product, finished: what lesson 14 arrives at, for any sizes, strides and 16- or 32-bit format.

`matmul(a, b)` computes a · b, a tile of the result for each program, with sums in fp32. Programs that run at the same time
have tiles that lie near each other (`grouped`), so that they find each other's rows of `a` and columns of `b` in the L2 cache.
On GPUs that have a unit for copying tiles (from sm_90), 16-bit tiles come through it, by tensor descriptors, wherever those can
be had.

Not here: the backward pass, batches, products that a long K spreads over several programs (split-K), and fused epilogues.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

# --- the kernel -----------------------------------------------------------------------------------------------------


@triton.jit
def matmul_kernel(
    a,
    b,
    out,
    M,
    N,
    K,
    a_row_stride,
    a_inner_stride,
    b_inner_stride,
    b_col_stride,
    DESCRIBED: tl.constexpr,
    A_TURNED: tl.constexpr,
    B_TURNED: tl.constexpr,
    EVEN_K: tl.constexpr,
    PRECISION: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
):
    """One tile of the contiguous `out` for each program.

    If DESCRIBED, `a` and `b` are descriptors of tiles, of the transposed matrix if it is TURNED, and the strides are not used.
    If EVEN_K, BLOCK_K divides K.
    """
    tile_row, tile_col = grouped(tl.program_id(0), tl.cdiv(M, BLOCK_M), tl.cdiv(N, BLOCK_N), GROUP)
    rows = tile_row * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tile_col * BLOCK_N + tl.arange(0, BLOCK_N)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    if DESCRIBED:
        for start in tl.range(0, K, BLOCK_K):
            a_tile = described(a, tile_row * BLOCK_M, start, A_TURNED)
            b_tile = described(b, start, tile_col * BLOCK_N, B_TURNED)
            accumulator = tl.dot(a_tile, b_tile, accumulator)
    else:
        # Rows and columns behind the last are copies of others: loads need no mask for them, and they are not stored.
        inner = tl.arange(0, BLOCK_K)
        a_tiles = a + tile(rows % M, a_row_stride, inner, a_inner_stride)
        b_tiles = b + tile(inner, b_inner_stride, cols % N, b_col_stride)
        a_step = tl.cast(a_inner_stride, tl.int64) * BLOCK_K
        b_step = tl.cast(b_inner_stride, tl.int64) * BLOCK_K
        for start in tl.range(0, K, BLOCK_K):
            if EVEN_K:
                a_tile = tl.load(a_tiles)
                b_tile = tl.load(b_tiles)
            else:
                a_tile = tl.load(a_tiles, mask=(inner < K - start)[None, :], other=0.0)
                b_tile = tl.load(b_tiles, mask=(inner < K - start)[:, None], other=0.0)
            accumulator = tl.dot(a_tile, b_tile, accumulator, input_precision=PRECISION)
            a_tiles += a_step
            b_tiles += b_step
    inside = (rows < M)[:, None] & (cols < N)[None, :]
    tl.store(out + tile(rows, N, cols, 1), accumulator.to(out.dtype.element_ty), mask=inside)


@triton.jit
def grouped(program, n_rows, n_cols, GROUP: tl.constexpr):
    """The row and column of a program's tile: down GROUP rows of tiles, then the next column. The last group may be lower."""
    per_group = GROUP * n_cols
    first = program // per_group * GROUP
    height = tl.minimum(n_rows - first, GROUP)
    return first + program % per_group % height, program % per_group // height


@triton.jit
def tile(rows, row_stride, cols, col_stride):
    """Offsets of a tile's elements, in 64 bits: a row may begin anywhere."""
    return rows[:, None].to(tl.int64) * row_stride + cols[None, :].to(tl.int64) * col_stride


@triton.jit
def described(x, row, col, TURNED: tl.constexpr):
    """The tile of a descriptor at an element of the matrix, with zeros outside of it."""
    if TURNED:
        return x.load([col, row]).T
    else:
        return x.load([row, col])


# --- which way to compute it ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plan:
    """Rows and columns of a tile, its steps along K, rows of tiles in a group, warps, stages of the loop, and descriptors."""

    block_m: int
    block_n: int
    block_k: int
    group: int
    num_warps: int
    num_stages: int
    described: bool = False


@dataclass(frozen=True)
class Abilities:
    """What a plan depends on: multiprocessors, bytes of shared memory for a program, matrix units for 16 bits, tile copying."""

    sms: int
    shared: int
    matrix_units: bool
    descriptors: bool


WITHOUT_GPU = Abilities(sms=1, shared=0, matrix_units=False, descriptors=False)
INTERPRETED = Plan(32, 32, 32, 2, 4, 2)
"""Small tiles, since the interpreter computes the empty parts of large ones as well."""
DESCRIBED = (
    Plan(128, 256, 64, 8, 8, 3, True),
    Plan(128, 128, 64, 8, 4, 4, True),
    Plan(64, 128, 64, 8, 4, 4, True),
    Plan(64, 64, 64, 8, 4, 4, True),
)
BY_POINTERS = (
    Plan(128, 256, 64, 8, 8, 3),
    Plan(128, 128, 64, 8, 8, 3),
    Plan(128, 128, 32, 8, 4, 4),
    Plan(64, 64, 32, 8, 4, 4),
)
IN_TF32 = (Plan(128, 128, 32, 8, 8, 3), Plan(64, 64, 32, 8, 4, 2))
ON_ORDINARY_UNITS = (Plan(128, 64, 16, 8, 8, 3), Plan(64, 64, 16, 8, 4, 2))
"""Where nothing multiplies tiles: fp32 in full, and GPUs older than sm_80."""


ENOUGH = 7 / 8
"""The share of multiprocessors that must get a tile. Smaller tiles would keep all of them busy, but less well."""


def plan(m: int, n: int, dtype: torch.dtype, described: bool, gpu: Abilities) -> Plan:
    """A plan for a result of m × n: the largest tiles of which nearly every multiprocessor gets one, or else the smallest.

    >>> h200 = Abilities(sms=132, shared=232448, matrix_units=True, descriptors=True)
    >>> plan(4096, 4096, torch.float16, True, h200).block_n, plan(256, 256, torch.float16, True, h200).block_n
    (256, 64)
    """
    if dtype == torch.float32:
        plans = IN_TF32 if gpu.matrix_units and _precision() == "tf32" else ON_ORDINARY_UNITS
    elif gpu.matrix_units:
        plans = DESCRIBED if described else BY_POINTERS
    else:
        plans = ON_ORDINARY_UNITS
    fitting = [how for how in plans if _shared(how, dtype) <= gpu.shared] or [plans[-1]]
    enough = [how for how in fitting if triton.cdiv(m, how.block_m) * triton.cdiv(n, how.block_n) >= ENOUGH * gpu.sms]
    return enough[0] if enough else fitting[-1]


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The matrix product a · b of an M × K and a K × N matrix; new and contiguous, in the format of both.

    `a` and `b` are fp16, bf16 or fp32, of any sizes and strides, on one device. Sums are in fp32, and rounded once. fp32 is
    multiplied as `torch.set_float32_matmul_precision` says: in full, unless it allows tf32. Runs on the current stream of the
    matrices' GPU, or in Triton's interpreter.

    There is no backward pass. Raises `TypeError` for what are no such tensors, and `ValueError` for other shapes, for tensors
    that Triton cannot reach, and where a gradient would be lost.

    >>> from course_lib import trace
    >>> trace(matmul, torch.tensor([[1.0, 2.0]]), torch.tensor([[10.0], [100.0]])).result.tolist()
    [[210.0]]
    """
    _check(a, b)
    a, b = a.resolve_neg(), b.resolve_neg()  # torch.imag of a conjugate holds the negatives of what lies in memory
    out = torch.empty((a.shape[0], b.shape[1]), dtype=a.dtype, device=a.device)
    if not a.shape[1]:
        return out.zero_()
    if not out.numel():
        return out
    launch(a, b, out, choose(a, b))
    return out


def choose(a: torch.Tensor, b: torch.Tensor) -> Plan:
    """The plan for the product of two matrices on their GPU."""
    if interpreted():
        return INTERPRETED
    gpu = abilities(a.device)
    return plan(a.shape[0], b.shape[1], a.dtype, gpu.descriptors and _describable(a) and _describable(b), gpu)


def launch(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, how: Plan) -> Any:
    """Write the product into the contiguous `out` by one plan; returns what Triton compiled for it, if anything."""
    arguments, options = call(a, b, out, how)
    n_programs = triton.cdiv(out.shape[0], how.block_m) * triton.cdiv(out.shape[1], how.block_n)
    with torch.cuda.device_of(a):  # Triton compiles for the current GPU, and launches there
        return matmul_kernel[(n_programs,)](*arguments, **options)


def call(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor, how: Plan) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of `matmul_kernel` for one plan, and its constants and options."""
    (M, K), N = a.shape, b.shape[1]
    turned = [x.stride(1) != 1 for x in (a, b)]
    given = [a, b]
    if how.described:
        blocks = ([how.block_m, how.block_k], [how.block_k, how.block_n])
        given = [
            TensorDescriptor.from_tensor(x.T, block[::-1]) if turn else TensorDescriptor.from_tensor(x, block)
            for x, turn, block in zip((a, b), turned, blocks, strict=True)
        ]
    options = {
        "DESCRIBED": how.described,
        "A_TURNED": turned[0],
        "B_TURNED": turned[1],
        "EVEN_K": K % how.block_k == 0,
        "PRECISION": _precision(),
        "BLOCK_M": how.block_m,
        "BLOCK_N": how.block_n,
        "BLOCK_K": how.block_k,
        "GROUP": how.group,
        "num_warps": how.num_warps,
        "num_stages": how.num_stages,
    }
    return (*given, out, M, N, K, *a.stride(), *b.stride()), options


def interpreted() -> bool:
    """Whether the kernel runs in Triton's interpreter; Triton decides that where `@triton.jit` is written."""
    return not isinstance(matmul_kernel, triton.JITFunction)


@functools.cache
def abilities(device: torch.device) -> Abilities:
    """What a GPU is able to do, as far as plans are concerned."""
    properties = triton.runtime.driver.active.utils.get_device_properties(device.index or 0)
    sms, shared = properties["multiprocessor_count"], properties["max_shared_mem"]
    if torch.version.hip is not None:
        return Abilities(sms, shared, matrix_units=True, descriptors=False)
    capability = torch.cuda.get_device_capability(device)
    return Abilities(sms, shared, matrix_units=capability >= (8, 0), descriptors=capability >= (9, 0))


def _shared(how: Plan, dtype: torch.dtype) -> int:
    """Bytes of shared memory for the tiles that a program has at once, and a little for what watches over them."""
    return how.num_stages * (how.block_m + how.block_n) * how.block_k * dtype.itemsize + 256


def _precision() -> str:
    """How fp32 is multiplied on matrix units, if at all."""
    return "ieee" if torch.version.hip is not None or torch.get_float32_matmul_precision() == "highest" else "tf32"


def _describable(x: torch.Tensor) -> bool:
    """Whether a descriptor can be had of a matrix: 16-bit elements lie side by side along rows or columns, and each row or
    column begins at a multiple of 16 bytes."""
    if x.itemsize != 2 or x.data_ptr() % 16:
        return False
    outer, inner = x.stride() if x.stride(1) == 1 else x.stride()[::-1]
    return inner == 1 and outer > 0 and outer * x.itemsize % 16 == 0


def check_tensor(function: str, name: str, x: torch.Tensor) -> None:
    """Raise if an argument of `function` is no dense tensor of a format that matrix units take."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{function} takes torch tensors, and {name} is a {type(x).__name__}: torch.as_tensor makes one")
    if x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        raise TypeError(f"{function} takes fp16, bf16 or fp32, and {name} is {x.dtype}: convert it, for example by .float()")
    if x.layout != torch.strided:
        raise TypeError(f"{function} takes dense tensors, and {name} is {x.layout}: convert it by .to_dense()")


def _check(a: torch.Tensor, b: torch.Tensor) -> None:
    """Raise for what `matmul` cannot do, and say what to do instead."""
    for name, x in (("a", a), ("b", b)):
        check_tensor("matmul", name, x)
        if x.dim() != 2:
            raise ValueError(
                f"matmul takes matrices, and {name} has {x.dim()} dimensions: .view(-1, {name}.shape[-1]) makes one"
            )
    if a.dtype != b.dtype:
        raise TypeError(f"a and b have one format, not {a.dtype} and {b.dtype}")
    if a.device != b.device:
        raise ValueError(f"a and b are in one place, not on {a.device} and {b.device}")
    if a.shape[1] != b.shape[0]:
        raise ValueError(f"a has {a.shape[1]} columns and b has {b.shape[0]} rows; for a product there are as many")
    if torch.is_grad_enabled() and (a.requires_grad or b.requires_grad):
        raise ValueError("matmul has no backward pass here: give it a.detach() and so on, or call it under torch.no_grad()")
    if a.device.type == "cpu" and not interpreted():
        raise ValueError('a is on the CPU, and kernels are compiled for the GPU in this process: move it by a.to("cuda")')
