"""Lesson 06: reductions, their identities, and loops over rows that are longer than a block."""

from __future__ import annotations

import math
import random

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import ROWS, arranged, drawn_rows, floats, rounded, straddle_length, straddle_rows
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance
from course_lib.checking.events import Trace

NAME = "06_reductions_and_loops"

MOST_LANES = 4096
"""As many elements as a load of `long_row_sum` may take at once, however long the rows are."""


def _rows_to_add(generator: torch.Generator, m: int, n: int, layout: str = "rows") -> tuple[torch.Tensor]:
    return (arranged(rounded(generator, m, n), layout),)


def _rows_that_vary(generator: torch.Generator, m: int, n: int, layout: str = "rows", mean: float = 3.0) -> tuple[torch.Tensor]:
    """Each row spreads in its own way around a mean that is not 0, so that padding with zeros shows."""
    spread = 0.5 + torch.rand((m, 1), generator=generator)
    return (arranged(mean + spread * floats(generator, m, n), layout),)


_MASKS = frozenset(f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked"))

ROW_SUM = Exercise(
    name="row_sum",
    lesson=NAME,
    signature="row_sum(x)",
    statement=(
        "Return the sum of each row of the 2-D fp32 tensor `x`, which has at least one column and may have any number of rows, "
        "also 0, and any strides: a 1-D tensor of M values."
    ),
    reference=lambda x: x.double().sum(dim=1).float(),
    make_inputs=_rows_to_add,
    cases=ROWS,
    straddle=straddle_rows,
    drawn=drawn_rows,
    # The inputs have so few digits that every partial sum is exact in fp32 (up to 8193 columns): the order does not matter.
    tolerance=Tolerance(rtol=1e-6, atol=1e-6),
    torch_may="allocate",
    hints=(
        Hint(
            "One program a row: the grid is `(n_rows,)`, and `tl.sum(values, axis=0)` makes one number of a block.",
            frozenset(
                {"no_kernel", "torch_compute", "wrong_shape", "periodic", "shifted"}
                | {"unwritten:no_program", "unwritten:one_program", "unwritten:tail"}
            ),
        ),
        Hint(
            "The mask belongs on the load: `columns < n_cols`. Choosing afterwards, with `tl.where`, is too late. A program of "
            "several rows masks its rows too, on the load and on the store. If the masks are there, look at the addresses: "
            "does the launch give the strides in the kernel's order?",
            _MASKS,
        ),
        Hint(
            "Element (i, j) lies at `i * row_stride + j * column_stride`: pass both strides of `x` to the kernel.",
            frozenset({"load_out_of_bounds:strides", "transposed", "reversed"}),
        ),
        Hint(
            "The spare lanes are added up with the others. What must they hold so that the sum stays as it is? Say so with "
            "`other=`.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "Either the block covers the row, `BLOCK_SIZE = triton.next_power_of_2(n_cols)`, or a loop goes over it: "
            "`for start in tl.range(0, n_cols, BLOCK_SIZE)`. The accumulator starts at 0.0 for each row, and the row runs "
            "along the second axis of `x`.",
            frozenset({"mismatch", "constant", "first_block_only", "tail", "timeout"}),
        ),
        Hint(
            "Programs that share a row must add with `tl.atomic_add`, to a result that begins as zeros: load, add and store "
            "are three steps, and another program may come between them.",
            frozenset({"race", "race:read", "nan:fresh", "uninitialized"}),
        ),
        Hint(
            "Keep the sum so far in a variable, and store it once, when it is complete.",
            frozenset({"read_back", "input_changed"}),
        ),
    ),
)

ROW_VARIANCE = Exercise(
    name="row_variance",
    lesson=NAME,
    points=2,
    signature="row_variance(x)",
    statement=(
        "Return the population variance of each row of the 2-D fp32 tensor `x`: the mean of (x − mean)², divided by the number "
        "of columns and not by one less. `x` has at least one column, and may have any number of rows, also 0, any strides, "
        "and a mean far from 0. The result is 1-D, with M values."
    ),
    reference=lambda x: (x.double() - x.double().mean(dim=1, keepdim=True)).square().mean(dim=1).float(),
    make_inputs=_rows_that_vary,
    cases=(
        *ROWS,
        {"m": 4, "n": 6, "mean": 1000.0},
        {"m": 3, "n": 129, "mean": -1000.0},
        {"m": 3, "n": 2051, "mean": 1000.0},
    ),
    straddle=straddle_rows,
    drawn=drawn_rows,
    # Two passes lose about 1e-6 of the variance, at a mean of 1000 too, where the mean of squares minus the square of the mean
    # loses several percent. The atol is for rows that are all the same: there a rounded mean leaves up to 1e-9.
    tolerance=Tolerance(rtol=1e-4, atol=1e-6),
    torch_may="allocate",
    hints=(
        Hint(
            "Two reductions in one program: first the mean of the row, then the sum of the squared distances from it.",
            frozenset({"no_kernel", "torch_compute", "wrong_shape", "constant"}),
        ),
        Hint(
            "The mask `columns < n_cols` belongs on every load, and one on a store of several rows. If the masks are there, "
            "look at the addresses: does the launch give the strides in the kernel's order?",
            _MASKS,
        ),
        Hint(
            "Element (i, j) lies at `i * row_stride + j * column_stride`: pass both strides of `x` to the kernel.",
            frozenset({"load_out_of_bounds:strides", "transposed", "reversed", "shifted"}),
        ),
        Hint(
            "The variance is the mean of the squared distances from the mean. A spare lane that holds 0 adds nothing to the "
            "first sum, but `0 - mean` squared is not 0: set the distances of the spare lanes to 0 with `tl.where` before "
            "squaring.",
            frozenset({"mismatch", "nan"}),
        ),
        Hint(
            "Divide by `n_cols`: not by one less, and not by the length of the block.",
            frozenset({"scaled"}),
        ),
        Hint(
            "The mean of squares minus the square of the mean is right on paper. In fp32 both are a million where the mean is "
            "1000, and their difference has lost its digits; so it has where all of a row is the same. Subtract the mean "
            "first, then square.",
            frozenset({"mismatch", "scaled", "nan"}),
            case="mean=|column expanded",
        ),
        Hint(
            "Where a row is longer than a block, finish the mean in one loop before a second loop uses it: the mean of the "
            "whole row, not of a block. Keep sums in variables; leave `x` as it is.",
            frozenset({"mismatch:near", "read_back", "first_block_only", "tail", "input_changed", "timeout"}),
        ),
    ),
)

# --- row_max --------------------------------------------------------------------------------------------------------


def _rows_to_compare(
    generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "both signs"
) -> tuple[torch.Tensor]:
    """Rows without NaN. Those of "both signs" have a positive element each, so that only the other kinds show what a 0 does.

    "negative" rows are so all through, "very low" ones near the lowest number of fp32; of "infinite" ones one has an inf, one a
    −inf, and one nothing but −inf.
    """
    x = floats(generator, m, n)
    if values == "both signs":
        x = x.abs() if layout == "column expanded" else torch.where(x.amax(dim=1, keepdim=True) > 0, x, -x)
    if values == "negative":
        x = -1 - x.abs()
    elif values == "very low":
        x = -3e38 - 1e37 * torch.rand((m, n), generator=generator)
    elif values == "infinite":
        x[0, n // 3], x[1, n // 3], x[2] = math.inf, -math.inf, -math.inf
    return (arranged(x, layout),)


ROW_MAX = Exercise(
    name="row_max",
    lesson=NAME,
    signature="row_max(x)",
    statement=(
        "Return the largest element of each row of the 2-D fp32 tensor `x`, which has at least one column and may have any "
        "number of rows, also 0, and any strides: a 1-D tensor of M values. Values may be negative all through, very low, and "
        "infinite of either sign. None is NaN."
    ),
    reference=lambda x: x.amax(dim=1),
    make_inputs=_rows_to_compare,
    cases=(
        {"m": 3, "n": 5, "values": "negative"},
        {"m": 7, "n": 1, "values": "negative"},
        *ROWS,
        {"m": 4, "n": 6, "values": "very low"},
        {"m": 5, "n": 7, "values": "infinite"},
        {"m": 3, "n": 1031, "values": "negative", "layout": "transposed"},
        {"m": 3, "n": 2051, "values": "infinite"},
    ),
    straddle=straddle_rows,
    drawn=drawn_rows,
    torch_may="allocate",
    hints=(
        Hint(
            "One program a row: the grid is `(n_rows,)`, and `tl.max(values, axis=0)` makes one number of a block.",
            frozenset(
                {"no_kernel", "torch_compute", "wrong_shape", "wrong_dtype", "periodic", "shifted"}
                | {"unwritten:no_program", "unwritten:one_program", "unwritten:tail"}
            ),
        ),
        Hint(
            "The mask `columns < n_cols` belongs on the load. Choosing afterwards, with `tl.where`, is too late. A program of "
            "several rows masks its rows too, on the load and on the store. If the masks are there, look at the addresses: "
            "does the launch give the strides in the kernel's order?",
            _MASKS,
        ),
        Hint(
            "Element (i, j) lies at `i * row_stride + j * column_stride`: pass both strides of `x` to the kernel.",
            frozenset({"load_out_of_bounds:strides", "transposed", "reversed"}),
        ),
        Hint(
            "The spare lanes are compared with the others. What must they hold so that they never win? Say so with `other=`.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "In a row of negative numbers 0 wins. Is there a 0 that is not the row's: in `other=0.0`, in the first value of a "
            "maximum that is kept through a loop, in a result that begins as zeros?",
            frozenset({"mismatch", "constant", "first_block_only", "tail"}),
            case="values=negative",
        ),
        Hint(
            'A padding that is merely low can be higher than a whole row. Only −inf is never too high: `-float("inf")`. And '
            "the values themselves stay as they are, in fp32.",
            frozenset({"mismatch", "constant", "first_block_only", "tail", "nan"}),
            case="values=(very low|infinite)",
        ),
        Hint(
            "Either the block covers the row, `BLOCK_SIZE = triton.next_power_of_2(n_cols)`, or a loop goes over it and keeps "
            'the maximum so far: it begins with `-float("inf")`, and `tl.maximum(so_far, x)` is the larger of two. The row '
            "runs along the second axis of `x`.",
            frozenset({"mismatch", "constant", "first_block_only", "tail", "timeout", "scaled"}),
        ),
        Hint(
            'Programs that share a row meet in `tl.atomic_max`, on a result that begins as `-float("inf")`: load, compare and '
            "store are three steps, and another program may come between them.",
            frozenset({"race", "race:read", "race:same", "nan:fresh", "uninitialized"}),
        ),
        Hint(
            "Nearly the answer: `x = tl.load(x_ptr + row * row_stride + columns * column_stride, mask=mask, "
            'other=-float("inf"))`, and `tl.store(out_ptr + row, tl.max(x, axis=0))`.',
        ),
        Hint(
            "Keep the maximum so far in a variable, and store it once, when all of the row was seen.",
            frozenset({"read_back", "input_changed"}),
            asked=False,
        ),
    ),
)


# --- long_row_sum ---------------------------------------------------------------------------------------------------


def _fixed_tiles(trace: Trace) -> str | None:
    """Whether no load of any kernel takes more than `MOST_LANES` elements at once."""
    largest = max((event for event in trace.events if event.kind == "load"), key=lambda event: event.lanes, default=None)
    if largest is None or largest.lanes <= MOST_LANES:
        return None
    return (
        f"line {largest.source.line}, `{largest.source.text}`, loads a tile of {largest.lanes} elements; {MOST_LANES} are the "
        "most that may be, however long a row is. A tile lives in registers, and a program has only so many"
    )


def _straddle_long(block: int) -> tuple[Params, ...]:
    """Rows just shorter, just as long and just longer than a block or two, and of many blocks."""
    lengths = (block - 1, block, block + 1, 2 * block + 1, min(40 * block, 2**14) + 1)
    return tuple({"m": 2, "n": n} for n in lengths if 0 < n <= 2**14 + 1)


LONG_ROW_SUM = Exercise(
    name="long_row_sum",
    lesson=NAME,
    signature="long_row_sum(x)",
    statement=(
        "Return the sum of each row of the 2-D fp32 tensor `x`, as `row_sum` does, for rows that are far longer than a block: "
        f"no load may take more than {MOST_LANES} elements at once, however long a row is. `x` has at least one column, any "
        "number of rows, also 0, and any strides. The result is 1-D, with M values."
    ),
    reference=lambda x: x.double().sum(dim=1).float(),
    make_inputs=_rows_to_add,
    cases=(
        {"m": 1, "n": 1},
        {"m": 3, "n": 5},
        {"m": 5, "n": 3, "layout": "transposed"},
        {"m": 4, "n": 6, "layout": "sliced"},
        {"m": 3, "n": 5, "layout": "row expanded"},
        {"m": 37, "n": 6},
        {"m": 3, "n": 1025},
        {"m": 3, "n": 1030, "layout": "transposed"},
        {"m": 2, "n": 4096},
        {"m": 1, "n": 4097},
        {"m": 2, "n": 8209},
        {"m": 1, "n": 12345, "layout": "sliced"},
        {"m": 0, "n": 5000},
    ),
    straddle=_straddle_long,
    drawn=lambda numbers: (
        {"m": numbers.randint(2, 20), "n": numbers.randint(2, 400)},
        {"m": 2, "n": numbers.randint(5000, 9000)},
    ),
    # As in `row_sum`, every partial sum of such inputs is exact in fp32, up to 2¹⁴ + 1 columns: the order does not matter.
    tolerance=Tolerance(rtol=1e-6, atol=1e-6),
    torch_may="allocate",
    also=_fixed_tiles,
    hints=(
        Hint(
            "A loop goes over the row, one block after the other: `for start in tl.range(0, n_cols, BLOCK_SIZE)`. The block's "
            "columns are `start + tl.arange(0, BLOCK_SIZE)`.",
            frozenset({"no_kernel", "first_block_only", "timeout", "constant", "wrong_shape"}),
        ),
        Hint(
            "`triton.next_power_of_2(n_cols)` makes the block as long as the row. Write a number for `BLOCK_SIZE`, such as "
            "1024, and let a loop do the rest.",
            frozenset({"not_as_asked", "does_not_compile", "memory_limit"}),
        ),
        Hint(
            "The mask must be computed anew in each turn, from the columns of that turn: `columns < n_cols`, on the load. A "
            "program of several rows masks its rows too, on the load and on the store. If the masks are there, look at the "
            "addresses: is a stride missing, or in another's place?",
            _MASKS | {"load_out_of_bounds", "load_out_of_bounds:spread", "load_out_of_bounds:program"},
        ),
        Hint(
            "Element (i, j) lies at `i * row_stride + j * column_stride`: pass both strides of `x` to the kernel.",
            frozenset({"load_out_of_bounds:strides", "transposed", "reversed"}),
        ),
        Hint(
            "The spare lanes of the last block are added up with the others. Say with `other=` what they hold.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "How many turns does the loop make, and does each of them see elements that no other has seen? It must round up, "
            "and in each turn something is added to what was there: `total += …`, not `total = …`.",
            frozenset({"mismatch", "tail", "scaled", "mismatch:near"}),
        ),
        Hint(
            "Programs that share a row add with `tl.atomic_add`, to a result that begins as zeros. Or each stores the sum of "
            "its part, and a second kernel adds these up.",
            frozenset({"race", "race:read", "race:same", "nan:fresh", "uninitialized", "torch_compute"}),
        ),
        Hint(
            "Keep the sum so far in a variable, and store it once, when it is complete.",
            frozenset({"read_back", "input_changed"}),
        ),
        Hint(
            "One program a row, on the grid `(n_rows,)`.",
            frozenset({"unwritten:no_program", "unwritten:one_program", "unwritten:tail", "unwritten", "periodic", "shifted"}),
            asked=False,
        ),
        Hint(
            "Nearly the answer: `total = tl.zeros([BLOCK_SIZE], tl.float32)` before the loop, "
            "`total += tl.load(x_ptr + row * row_stride + columns * column_stride, mask=columns < n_cols, other=0.0)` in it, "
            "and `tl.store(out_ptr + row, tl.sum(total, axis=0))` behind it.",
        ),
    ),
)


# --- histogram ------------------------------------------------------------------------------------------------------


def _values_to_count(generator: torch.Generator, n: int, bins: int, values: str = "mixed") -> tuple[torch.Tensor, int]:
    """n int32 values around the range of the bins, some of them outside. "extreme" ones have both ends of int32 among them,
    "one bin" ones are all the same, and "last bin" ones reach just to the end of the range."""
    beyond = max(1, bins // 4)
    x = torch.randint(-beyond, bins + beyond, (n,), generator=generator, dtype=torch.int32)
    if values == "one bin":
        x[:] = bins // 2
    elif values == "last bin":
        x = torch.randint(max(0, bins - 3), bins, (n,), generator=generator, dtype=torch.int32)
    elif values == "extreme":
        x[::3], x[1::7] = 2**31 - 1, -(2**31)
    return x, bins


def _counts(x: torch.Tensor, bins: int) -> torch.Tensor:
    return torch.bincount(x[(x >= 0) & (x < bins)].long(), minlength=bins).to(torch.int32)


def _lengths_to_count(numbers: random.Random) -> tuple[Params, ...]:
    """Two lengths and numbers of bins that nobody knows beforehand."""
    return tuple({"n": numbers.randint(33, 2000), "bins": numbers.randint(3, 40)} for _ in range(2))


HISTOGRAM = Exercise(
    name="histogram",
    lesson=NAME,
    points=2,
    signature="histogram(x, bins)",
    statement=(
        "Count how often each of the values 0, 1, …, bins − 1 occurs in the contiguous 1-D int32 tensor `x`, of any length, "
        "also 0. Return an int32 tensor of `bins` counts; `bins` is at least 1, and at most some hundred. Values below 0 and "
        "from `bins` on are counted nowhere."
    ),
    reference=_counts,
    make_inputs=_values_to_count,
    cases=(
        {"n": 1, "bins": 1},
        {"n": 5, "bins": 4},
        {"n": 7, "bins": 3, "values": "one bin"},
        {"n": 31, "bins": 8},
        {"n": 128, "bins": 16},
        {"n": 129, "bins": 7, "values": "last bin"},
        {"n": 50, "bins": 130},
        {"n": 1000, "bins": 5, "values": "extreme"},
        {"n": 1025, "bins": 33},
        {"n": 2051, "bins": 257},
        {"n": 0, "bins": 6},
    ),
    straddle=lambda block: tuple({**case, "bins": 5} for case in straddle_length(block)),
    drawn=_lengths_to_count,
    torch_may="allocate",
    zeros_may_stay=True,
    hints=(
        Hint(
            "Which program takes which elements of `x` is as in `vector_add`. What is new is where the counts go: a pointer "
            "may be made of values that were just loaded, `out_ptr + x`.",
            frozenset({"no_kernel", "torch_compute", "wrong_shape", "computed_outside"}),
        ),
        Hint(
            "Load, add 1 and store are three steps, and another program, or another lane, may come between them. "
            "`tl.atomic_add(out_ptr + x, 1, mask=…)` is one.",
            frozenset(
                {"race", "race:read", "race:same", "race:overlap", "race:spill", "read_back", "write_twice", "overtaken_load"}
            ),
        ),
        Hint(
            "`x` itself is the address, so its value must be checked: which values have a bin, and which do not? "
            "`(x >= 0) & (x < bins)` belongs on the atomic. Where a block covers the bins, its spare lanes have none either.",
            frozenset(
                {"store_out_of_bounds"}
                | {f"store_out_of_bounds:{mask}" for mask in ("masked", "unmasked", "before", "below", "program")}
            ),
        ),
        Hint(
            "The mask `offsets < n` belongs on the load of `x`.",
            frozenset({f"load_out_of_bounds:{mask}" for mask in ("masked", "unmasked")}),
        ),
        Hint(
            "Counts are added to what is there, so there must be zeros before the first program begins: `torch.zeros`, with "
            "`dtype=torch.int32`.",
            frozenset({"uninitialized", "nan:fresh", "wrong_dtype", "unwritten", "overwritten"}),
        ),
        Hint(
            "The spare lanes of the last block hold `other`, and that is a value, too. Their mask belongs on the atomic as "
            "well, or `other` must be a value without a bin, such as −1. (`tl.histogram` has a `mask=`.)",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "Each element adds 1, to its own bin, once. What lies outside the range adds nothing, not even at the ends, nor do "
            "the spare lanes of the last block. And is all of `x` seen, by `triton.cdiv(n, BLOCK_SIZE)` programs or by a loop?",
            frozenset(
                {
                    "mismatch",
                    "mismatch:near",
                    "scaled",
                    "constant",
                    "first_block_only",
                    "tail",
                    "shifted",
                    "reversed",
                    "periodic",
                }
            ),
        ),
        Hint(
            "With no elements there is nothing to count, and the answer is all zeros. `triton.next_power_of_2(0)` is 0: a "
            "block of no lanes does not compile.",
            frozenset({"crash", "does_not_compile", "no_kernel"}),
            case="n=0",
            asked=False,
        ),
        Hint(
            "Nearly the answer: `x = tl.load(x_ptr + offsets, mask=offsets < n, other=-1)`, and "
            "`tl.atomic_add(out_ptr + x, 1, mask=(x >= 0) & (x < bins))`.",
            frozenset({"not_as_asked", "timeout"}),
        ),
    ),
)


# --- quizzes --------------------------------------------------------------------------------------------------------

WIDTHS = (3, 4, 5, 8)


def _maximum_with_zeros(row: torch.Tensor) -> float:
    """The maximum of a row whose block, of the next power of two, is padded with zeros."""
    spare = 2 ** (len(row) - 1).bit_length() - len(row)
    return float(torch.nn.functional.pad(row, (0, spare)).max())


SURVIVING_WIDTHS = Quiz(
    name="surviving_widths",
    lesson=NAME,
    question=(
        "A matrix is negative all through. A program takes the maximum of a row, in a block of `next_power_of_2(n_cols)` lanes "
        "and with `other=0.0`. It has 3, 4, 5 or 8 columns. For which of these does the right maximum come out?"
    ),
    form="a list of numbers of columns",
    accepts=is_list,
    expected=lambda: [n for n in WIDTHS if _maximum_with_zeros(-torch.ones(n)) < 0],
    any_order=True,
    explanation=(
        "Rows of 4 and 8 fill their block, so there is no spare lane. In the other blocks at least one lane holds 0, which is "
        "larger than anything in the row. A test on powers of two alone never sees it, nor one on numbers of both signs."
    ),
    wrong=(
        wrong([], "A row that fills its block has no spare lane. Which of these widths are powers of two?"),
        wrong([3, 5], "Those are the ones that have spare lanes: 0 is larger than all of a negative row."),
        wrong([3, 4, 5, 8], "What do the spare lanes hold? 0 is larger than all of a negative row."),
    ),
    hints=(
        Hint("How many lanes has the block in each of the four cases?"),
        Hint("The blocks have 4, 4, 8 and 8 lanes. Spare ones hold 0."),
        Hint("Only where there is no spare lane does the row's own maximum win."),
    ),
)

LOOP_TURNS = Quiz(
    name="loop_turns",
    lesson=NAME,
    question=(
        "`for start in tl.range(0, n_cols, BLOCK_SIZE)`, with rows of 1000 columns and blocks of 256. How many turns does the "
        "loop make, and how many lanes are masked off in the last one?"
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [len(range(0, 1000, 256)), len(range(0, 1000, 256)) * 256 - 1000],
    explanation=(
        "The turns begin at 0, 256, 512 and 768. The last stands for the columns 768 to 1023, of which 1000 to 1023 do not "
        "exist: 24 lanes."
    ),
    wrong=(
        wrong([3, 232], "Three blocks are full. The 232 columns behind them take a turn of their own."),
        wrong([4, 232], "232 is the number of lanes that work in the last turn. The others are masked."),
        wrong([3, 24], "Where does the loop stop? 768 is below 1000, so there is a fourth turn."),
    ),
    hints=(
        Hint("At which `start` does each turn begin, and which is the last that is below 1000?"),
        Hint("The turns begin at 0, 256, 512 and 768."),
        Hint("The last turn stands for the columns 768 to 1023."),
    ),
)

VARIANCE_OF_PADDING = Quiz(
    name="variance_of_padding",
    lesson=NAME,
    question=(
        "A row has five columns, and all of them are 2. So its variance is 0. The kernel has loaded it into a block of 8 with "
        "`other=0.0`, computes the mean as `tl.sum(x) / n_cols`, and then `tl.sum((x - mean) * (x - mean)) / n_cols`. Which "
        "number comes out, times 10?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: round(10 * (8 - 5) * 2**2 / 5),
    explanation=(
        "The mean is right: 10 / 5 = 2. But then the three spare lanes hold 0 − 2, and each adds 4 to the sum of squares: 12 / "
        "5 = 2.4, and times 10 that is 24."
    ),
    wrong=(
        wrong(0, "It should. But what do the three spare lanes hold after `x - mean`?"),
        wrong(15, "The kernel divides by `n_cols`, which is 5; the block has 8 lanes."),
        wrong(120, "That is the sum of squares, times 10. It is divided by `n_cols`."),
        wrong(12, "Squared: 0 − 2 gives 4 in each of the three lanes."),
    ),
    hints=(
        Hint("Is the mean right? Zeros add nothing to the sum, and it is divided by 5."),
        Hint("After `x - mean` the five lanes hold 0. What do the three spare ones hold?"),
        Hint("Three times (0 − 2)², divided by 5, times 10."),
    ),
)

LOST_UPDATES = Quiz(
    name="lost_updates",
    lesson=NAME,
    question=(
        "A counter in memory holds 0. Two programs run on a GPU. One loads the counter, adds 3 and stores the sum; the other "
        "does so with 4. Which values can it hold in the end?"
    ),
    form="a list of whole numbers",
    accepts=is_list,
    expected=lambda: sorted({3 + 4, 3, 4}),
    any_order=True,
    explanation=(
        "If one has stored before the other loads, it is 7. If both load the 0 first, the one that stores last wins, with 3 or "
        "with 4, and what the other added is lost."
    ),
    wrong=(
        wrong([7], "That is what comes out if one has finished before the other begins. Who promises that?"),
        wrong([3, 4], "They may also run one after the other, and then nothing is lost."),
        wrong([0, 3, 4, 7], "Each of them stores at least its own number, so 0 does not stay."),
        wrong([4, 7], "The one with 4 may load first and store last, or the one with 3."),
        wrong([3, 7], "The one with 3 may load first and store last, or the one with 4."),
    ),
    hints=(
        Hint("Each program takes three steps. In which orders can the six steps come?"),
        Hint("What if both have loaded before either has stored?"),
        Hint("Then the one that stores last wins, whichever it is. And if they do not overlap, both numbers count."),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Reductions and loops",
    minutes=40,
    items=(
        SURVIVING_WIDTHS,
        LOOP_TURNS,
        VARIANCE_OF_PADDING,
        LOST_UPDATES,
        ROW_SUM,
        ROW_MAX,
        LONG_ROW_SUM,
        ROW_VARIANCE,
        HISTOGRAM,
    ),
)
