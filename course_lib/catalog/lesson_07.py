"""Lesson 07: tiles of two dimensions, and their products."""

from __future__ import annotations

import random

import torch

from course_lib.catalog.inputs import arranged, rounded
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Tolerance

NAME = "07_tiles_and_dot"


def _factors(
    generator: torch.Generator, m: int, n: int, k: int, layout: str = "rows", scale: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """An m×k and a k×n matrix of values with at most 10 binary digits; the first times 2**scale, the second divided by it.

    "a transposed" and the like are views with the strides exchanged; "sliced" matrices skip rows and columns of larger ones.
    """
    a, b = rounded(generator, m, k, step=2.0**-7), rounded(generator, k, n, step=2.0**-7)
    a, b = a * 2.0**scale, b * 2.0**-scale
    if layout == "sliced":
        return arranged(a, "sliced"), arranged(b, "sliced")
    turned = {"rows": "", "a transposed": "a", "b transposed": "b", "both transposed": "ab"}[layout]
    return tuple(arranged(x, "transposed" if name in turned else "rows") for name, x in (("a", a), ("b", b)))  # type: ignore[return-value]


def _straddle(block: int) -> tuple[Params, ...]:
    """Each dimension just shorter, just as long and just longer than a block, or two; the others small, to be quick.

    Around long blocks, up to 1024, only just longer: few tiles are that long.
    """
    if block > 128:
        sizes = [(block + 1, 3, 5), (3, block + 1, 5), (2, 3, block + 1)] if block <= 1024 else []
    else:
        tiles = 2 if block <= 64 else 1  # beyond a full one
        sizes = [(tiles * block + 1, block + 1, 3), (3, 2 * block + 1, 5), (block - 1, 2, 7), (2, block - 1, 3)]
        sizes += [(2, 3, block - 1), (2, 3, block + 1), (2, 3, 2 * block + 1)]
        sizes += [(block, block, block)] if block <= 32 else [(block, block, 2), (2, 3, block)]
    return tuple({"m": m, "n": n, "k": k} for m, n, k in sizes)


def _drawn(numbers: random.Random) -> tuple[Params, ...]:
    """One shape that nobody knows beforehand."""
    return ({name: numbers.randint(2, 70) for name in ("m", "n", "k")},)


MATMUL = Exercise(
    name="matmul",
    lesson=NAME,
    signature="matmul(a, b)",
    statement=(
        "Return the matrix product `a @ b` of two 2-D fp32 tensors, M × K and K × N, of any sizes from 1 on "
        "and any strides. The result is fp32."
    ),
    reference=lambda a, b: (a.double() @ b.double()).float(),
    make_inputs=_factors,
    cases=(
        {"m": 1, "n": 1, "k": 1},
        {"m": 3, "n": 5, "k": 7},
        {"m": 16, "n": 16, "k": 16},
        {"m": 17, "n": 33, "k": 31},
        {"m": 33, "n": 17, "k": 65, "layout": "a transposed"},
        {"m": 15, "n": 35, "k": 18, "layout": "b transposed"},
        {"m": 31, "n": 19, "k": 33, "layout": "both transposed"},
        {"m": 18, "n": 21, "k": 35, "layout": "sliced"},
        {"m": 2, "n": 3, "k": 131},
        {"m": 131, "n": 2, "k": 3},
        {"m": 2, "n": 131, "k": 3},
        {"m": 19, "n": 23, "k": 29, "scale": 17},
    ),
    straddle=_straddle,
    drawn=_drawn,
    # tf32 keeps 11 binary digits, and the inputs have at most 10. So a product in tf32, which is what `tl.dot` computes on a
    # GPU unless told otherwise, is exact here, and so is every partial sum in fp32, in any order, up to K of about 1000: the
    # tolerance need not grow with K. bf16 keeps 8 digits and fails; so does a sum in fp16; and factors in fp16, at scale=17.
    tolerance=Tolerance(rtol=1e-5, atol=1e-4),
    torch_may="allocate",
    hints=(
        Hint(
            "One program a tile of the result: the grid is `(cdiv(M, BLOCK_M), cdiv(N, BLOCK_N))`, and a loop over K adds up "
            "the products of a tile of `a` and a tile of `b`.",
            frozenset(
                {
                    "no_kernel",
                    "torch_compute",
                    "wrong_type",
                    "constant",
                    "tail",
                    "unwritten",
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "unwritten:row_ends",
                    "unwritten:gaps",
                }
            ),
        ),
        Hint(
            "Each load has two masks, joined by `&`: rows below M and columns below K for `a`, rows below K and columns below "
            "N for `b`. The store has rows below M and columns below N. K moves on with the loop, and its mask with it.",
            frozenset({"race:spill"})
            | {f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked")},
        ),
        Hint(
            "Lanes past the end of K are multiplied and added like any other: give them `other=0.0`, in both factors.",
            frozenset({"undefined_lanes", "nan"}),
        ),
        Hint(
            "`acc = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)` before the loop, `acc += tl.dot(a, b)` in it. The loop takes "
            "`triton.cdiv(K, BLOCK_K)` steps, the last of them partial.",
            frozenset({"mismatch", "scaled", "timeout", "first_block_only", "periodic", "wrong_dtype", "read_back"}),
        ),
        Hint(
            "Factors and sums stay in fp32: fp16 keeps 11 binary digits, and nothing above 65504.",
            frozenset({"mismatch:near", "nan", "mismatch"}),
            case="scale=",
        ),
        Hint(
            "Element (i, j) of a matrix lies at `i * stride(0) + j * stride(1)`. Pass both strides of all three matrices, and "
            "mind which index counts rows.",
            frozenset({"transposed", "shifted", "reversed", "load_out_of_bounds:strides", "wrong_shape"}),
        ),
        Hint(
            "`tl.dot` wants tiles of at least 16 in each dimension, K too, and the tiles must fit into shared memory. Small "
            "matrices use part of a tile.",
            frozenset({"does_not_compile"}),
        ),
        Hint(
            "Each tile of the result belongs to one program. Programs that share it, each with a part of K, must add with "
            "`tl.atomic_add`, to zeros.",
            frozenset({"race:read", "race:same", "nan:fresh", "uninitialized"}),
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Tiles and dot",
    minutes=40,
    items=(MATMUL,),
    written=False,
)
