"""Lesson 14: a matrix product that competes: the order of tiles, fp16 factors and fp32 sums."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import torch

from course_lib.catalog.forms import is_list, wrong
from course_lib.catalog.inputs import arranged, rounded
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance
from course_lib.checking.events import Trace
from course_lib.machine.tile_order import Tile, in_groups, rows_and_columns

NAME = "14_matmul"

TILE_OF_PROGRAM = Quiz(
    name="tile_of_program",
    lesson=NAME,
    question=(
        "A result has 5 rows and 6 columns of tiles. Programs take them in groups of 2 rows: down through the group, then "
        "the next column. Which tiles do program 17 and program 27 take?"
    ),
    form="a list of four whole numbers: row and column of the tile of program 17, then of program 27",
    accepts=lambda value: is_list(value, 4),
    expected=lambda: [number for program in (17, 27) for number in in_groups(5, 6, 2)[program]],
    explanation=(
        "A group of 2 rows has 12 tiles. Program 17 is number 5 of the second group: row 2 + 5 % 2, column 5 // 2. The third "
        "group has one row only, row 4, and 27 is number 3 in it."
    ),
    wrong=(
        wrong([3, 2, 5, 1], "The second is in a row of tiles that does not exist: the last group is one row high, not two."),
        wrong([2, 5, 4, 3], "That is row by row. In a group of two rows, every second program goes down."),
        wrong([3, 2, 4, 1], "Program 27 is number 3 of a group that is one row high. How far along is it then?"),
        wrong([2, 3, 3, 4], "Row first, then column, for each of the two programs."),
        wrong([1, 2, 0, 3], "Within the group, yes. Which rows of the matrix does the group have?"),
    ),
    hints=(
        Hint("How many tiles has a group of 2 rows? Which group is program 17 in, and which number has it there?"),
        Hint("Number q of a group of height h takes its row q % h and the column q // h."),
        Hint("The first two groups have 12 programs each. What is left for the third, how high is it, and who begins it?"),
    ),
)

TILES_IN_FLIGHT = Quiz(
    name="tiles_in_flight",
    lesson=NAME,
    question=(
        "A result has 16 × 16 tiles, and 32 programs run at once. In how many rows of tiles of `a` and columns of tiles of "
        "`b`, together, do the first 32 programs read? First row by row, then in groups of 8 rows."
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [sum(rows_and_columns(in_groups(16, 16, group)[:32])) for group in (1, 8)],
    explanation=(
        "Row by row, 32 programs are two whole rows: 2 rows of `a`, and all 16 columns of `b`. In groups of 8 they are 8 rows "
        "high and 4 columns wide. Both times they read 64 tiles in a step; the others are the same tiles again."
    ),
    wrong=(
        wrong([2, 12], "With the groups, yes. Row by row, the columns of `b` count as well as the rows of `a`."),
        wrong([64, 12], "With the groups, yes. Row by row, many of the 64 that they ask for are the same ones."),
        wrong([12, 18], "Both are right, the other way round: row by row first, then in groups."),
        wrong([32, 32], "Each program needs one row and one column. But how many *different* ones are they?"),
        wrong([64, 64], "That is what they ask for. Several of them ask for the same."),
        wrong([17, 12], "32 programs, not 16: they fill two rows of 16 tiles."),
        wrong([16, 4], "Those are the columns of `b`. The rows of `a` count as well."),
        wrong([2, 8], "Those are the rows of `a`. The columns of `b` count as well."),
        wrong([18, 16], "8 rows, yes. How many columns do 32 programs fill, if each column takes 8 of them?"),
    ),
    hints=(
        Hint("Draw 16 × 16 squares and number the first 32 in both ways."),
        Hint("Row by row, they fill two rows from end to end. In groups of 8, each column takes 8 of them."),
        Hint("2 + 16, and 8 + 32 / 8."),
    ),
)


# --- matmul_grouped -----------------------------------------------------------------------------------------------------

LARGEST_TILE = 64
LONG = 4099
"""A K that is longer than loops with an end of their own would reach by chance."""
AT_ONCE = 16
"""How many programs are taken to run at the same time."""
LARGE = 12
"""So many rows and columns of tiles a result must have for the order to be judged."""
MANY = (17, 13)
"""So many a case has for that: prime numbers, so that the last group is lower than the others, whatever their height; and more
than the least, lest an order that is kept to for small results alone be all that is seen."""
MOST_APART = 11.5
"""In how many rows and columns of tiles, together, `AT_ONCE` programs may have theirs, on average. Of 17 × 13 tiles, groups of
2 to 8 rows have 9 to 11.1, row by row has 15."""


def _factors(
    generator: torch.Generator, m: int, n: int, k: int, layout: str = "rows", values: str = "normal"
) -> tuple[torch.Tensor, torch.Tensor]:
    """An m×k and a k×n matrix in fp16, of values with at most 10 binary digits, whose sums fp32 adds exactly in any order.

    "large" values add up to more than fp16 holds along the first half of K, and the second half takes that away again.
    "a transposed" and the like are views with the strides exchanged; "sliced" matrices skip rows and columns of larger ones.
    """
    a, b = rounded(generator, m, k, step=2.0**-7), rounded(generator, k, n, step=2.0**-7)
    if values == "large":
        half = k // 2
        a[:, :half] += 128
        a[:, half : 2 * half] -= 128
        a, b = a.round(), (b + 64).round()
    turned = {"rows": "", "a transposed": "a", "b transposed": "b", "both transposed": "ab"}
    layouts = ["sliced"] * 2 if layout == "sliced" else ["transposed" if x in turned[layout] else "rows" for x in "ab"]
    return arranged(a.half(), layouts[0]), arranged(b.half(), layouts[1])


def _straddle(block: int) -> tuple[Params, ...]:
    """Each dimension just shorter and just longer than a block, or two; all of them whole blocks, for which Triton compiles
    the kernel anew, as they are multiples of 16; and many tiles, whose order can be seen."""
    if block > LARGEST_TILE:
        return ({"m": 2, "n": 3, "k": block + 1},) if block <= 1024 else ()
    tall, wide = (count * block for count in MANY)
    sizes = [(2 * block + 1, block + 1, 3), (block - 1, 2 * block + 1, 7), (block, block, 2 * block), (tall, wide - 1, 5)]
    return tuple({"m": m, "n": n, "k": k} for m, n, k in sizes)


def _drawn(numbers: random.Random) -> tuple[Params, ...]:
    """One shape that nobody knows beforehand."""
    return ({name: numbers.randint(2, 70) for name in ("m", "n", "k")},)


def _near_each_other(trace: Trace) -> str | None:
    """Whether each program has one tile, and those that run at the same time have tiles in few rows and columns of tiles."""
    order: list[Tile] = []
    for program, places in _written(trace):
        rows, columns = np.divmod(places, trace.result.shape[1])
        height, width = np.ptp(rows) + 1, np.ptp(columns) + 1
        if height * width != len(places):
            return f"program {program} writes {len(places)} elements that are not one tile; each program is to compute one tile"
        if max(height, width) > LARGEST_TILE:
            return f"the tile of program {program} is {height} × {width}; asked is for {LARGEST_TILE} × {LARGEST_TILE} at most"
        order.append((int(rows.min()), int(columns.min())))
    if not order or min(rows_and_columns(order)) < LARGE:
        return None
    starts = range(0, len(order) - AT_ONCE + 1, AT_ONCE)
    apart = sum(sum(rows_and_columns(order[start : start + AT_ONCE])) for start in starts) / len(starts)
    if apart <= MOST_APART:
        return None
    return (
        f"of {AT_ONCE} programs that follow each other, the tiles lie in {apart:.1f} rows and columns of tiles together, on "
        f"average; at most {MOST_APART} are asked for, and in groups of 4 rows it would be about 9"
    )


def _written(trace: Trace) -> Iterator[tuple[int, np.ndarray]]:
    """Of each program that wrote to the result, in the order of programs, its number and the places that it wrote to."""
    found: dict[tuple[int, ...], list[np.ndarray]] = {}
    for event in trace.writes(trace.result):
        found.setdefault((event.launch, *event.program[::-1]), []).append(trace.view(event).offset + event.elements)
    for number, program in enumerate(sorted(found)):
        places = np.unique(np.concatenate(found[program]))
        if len(places):
            yield number, places


MATMUL_GROUPED = Exercise(
    name="matmul_grouped",
    lesson=NAME,
    points=3,
    signature="matmul_grouped(a, b)",
    statement=(
        "Return the matrix product `a @ b` of two 2-D fp16 tensors, M × K and K × N, of any sizes from 1 on and any strides: "
        "a contiguous fp16 matrix, summed in fp32 and rounded once. One program for each tile, and a tile of at most "
        f"{LARGEST_TILE} × {LARGEST_TILE}, in an order that keeps them near each other: {AT_ONCE} programs that follow each "
        f"other have their tiles in at most {MOST_APART} rows and columns of tiles together, on average, where the result has "
        f"{LARGE} × {LARGE} tiles or more."
    ),
    reference=lambda a, b: (a.double() @ b.double()).half(),
    make_inputs=_factors,
    cases=(
        {"m": 1, "n": 1, "k": 1},
        {"m": 3, "n": 5, "k": 7},
        {"m": 17, "n": 33, "k": 31},
        {"m": 33, "n": 17, "k": 65, "layout": "a transposed"},
        {"m": 15, "n": 35, "k": 18, "layout": "b transposed"},
        {"m": 31, "n": 19, "k": 33, "layout": "both transposed"},
        {"m": 18, "n": 21, "k": 35, "layout": "sliced"},
        {"m": 2, "n": 3, "k": 1031},
        {"m": 131, "n": 2, "k": 3},
        {"m": 2, "n": 131, "k": 3},
        {"m": 21, "n": 18, "k": 130, "values": "large"},
    ),
    long=({"m": 2, "n": 3, "k": LONG},),
    straddle=_straddle,
    drawn=_drawn,
    # Products of two factors with 10 digits are multiples of 2**-14, and sums stay below 2**10: 24 digits, which fp32 has. So
    # every order of adding gives the same sum, and what is left is one rounding to fp16.
    tolerance=Tolerance(rtol=1e-6),
    torch_may="allocate",
    contiguous=True,
    also=_near_each_other,
    hints=(
        Hint(
            "One program a tile of the result, on a grid of one axis: `(triton.cdiv(M, BLOCK) * triton.cdiv(N, BLOCK),)`. The "
            "kernel works out its tile's row and column from its number.",
            frozenset(
                {"no_kernel", "torch_compute", "wrong_type", "constant", "unwritten:no_program", "unwritten:one_program"}
            ),
        ),
        Hint(
            "One program, one tile. A group is GROUP rows of tiles, from end to end: GROUP · n_cols programs, if there are "
            "n_cols columns of tiles. Program p is in group p // (GROUP · n_cols), number q = p % (GROUP · n_cols) in it, and "
            "takes the group's row q % GROUP, column q // GROUP.",
            frozenset({"not_as_asked", "transposed"}),
        ),
        Hint(
            "Each tile is to get one program, and only one. The grid has one axis, with a program for each tile. A group "
            "has GROUP · n_cols programs, and its rows begin at `first`, the number of the group times GROUP. The last "
            "group may have fewer rows than GROUP: its height is `min(n_rows - first, GROUP)`, and both the row and the "
            "column are counted with that height.",
            frozenset(
                {"unwritten", "unwritten:tail", "unwritten:gaps", "unwritten:row_ends", "race", "race:same", "idle_programs"}
            )
            | {f"{access}_out_of_bounds:program" for access in ("load", "store")},
        ),
        Hint(
            "Each load has two masks, joined by `&`: rows below M and columns below K for `a`, rows below K and columns "
            "below N for `b`. The store has rows below M and columns below N. K's mask moves with the loop. (The masks are "
            "right? Then look at the strides: each matrix has two of its own, the one of its rows first.)",
            frozenset({"race:spill"})
            | {f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked")},
        ),
        Hint(
            "Lanes past the end of K are multiplied and added like any other: give them `other=0.0`, in both factors.",
            frozenset({"undefined_lanes", "nan"}),
        ),
        Hint(
            "The accumulator is `tl.zeros((BLOCK_M, BLOCK_N), tl.float32)` and stays fp32 through the loop: `accumulator = "
            "tl.dot(a, b, accumulator)`. It becomes fp16 after the loop, once.",
            frozenset({"mismatch", "mismatch:near", "nan", "first_block_only", "periodic", "read_back"}),
        ),
        Hint(
            f"K may be any length, here {LONG}. Does the loop end at K, or at a number of your own?",
            frozenset({"mismatch", "mismatch:near", "nan", "constant", "scaled", "first_block_only", "tail", "periodic"}),
            case=f"k={LONG}",
            asked=False,
        ),
        Hint(
            "In this case sums go beyond 65504, the largest fp16 number, and come back. fp32 holds them; does anything in your "
            "loop round to fp16? `tl.dot` has an `out_dtype`, and `.to(tl.float16)` belongs behind the loop.",
            frozenset({"nan", "mismatch", "mismatch:near"}),
            case="large",
        ),
        Hint(
            "Element (i, j) of a matrix lies at `i * stride(0) + j * stride(1)`. Pass both strides of `a` and `b`, and mind "
            "which index counts rows.",
            frozenset({"shifted", "reversed", "load_out_of_bounds:strides", "wrong_shape"}),
        ),
        Hint(
            "`tl.dot` wants tiles of at least 16 in each dimension, K too, and the tiles must fit into shared memory. Each "
            "side is a power of two.",
            frozenset({"does_not_compile"}),
        ),
        Hint(
            "The result is new and contiguous: `torch.empty((M, N), dtype=a.dtype, device=a.device)`. It has fp16 elements, "
            "like `a`.",
            frozenset({"wrong_dtype", "wrong_layout", "input_changed"}),
            asked=False,
        ),
        Hint(
            "Nearly the answer: `first = p // (GROUP * n_cols) * GROUP`, `height = min(n_rows - first, GROUP)`, and the tile "
            "is in row `first + p % (GROUP * n_cols) % height`, column `p % (GROUP * n_cols) // height`. All else is as in "
            "lesson 07."
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Matmul",
    minutes=40,
    items=(TILE_OF_PROGRAM, TILES_IN_FLIGHT, MATMUL_GROUPED),
)
