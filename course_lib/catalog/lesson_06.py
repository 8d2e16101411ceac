"""Lesson 06: reductions, their identities, and loops over rows that are longer than a block."""

from __future__ import annotations

import torch

from course_lib.catalog.inputs import ROWS, arranged, drawn_rows, floats, rounded, straddle_rows
from course_lib.catalog.model import Exercise, Hint, Lesson, Tolerance

NAME = "06_reductions_and_loops"


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
                {"no_kernel", "torch_compute", "wrong_shape", "wrong_type", "periodic", "shifted"}
                | {"unwritten:no_program", "unwritten:one_program", "unwritten:tail"}
            ),
        ),
        Hint(
            "The mask belongs on the load: `columns < n_cols`. Choosing afterwards, with `tl.where`, is too late. A program of "
            "several rows masks its rows too, on the load and on the store.",
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
            frozenset({"no_kernel", "torch_compute", "wrong_shape", "wrong_type", "constant"}),
        ),
        Hint(
            "The mask `columns < n_cols` belongs on every load, and one on a store of several rows.",
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

LESSON = Lesson(
    name=NAME,
    title="Reductions and loops",
    minutes=40,
    items=(ROW_SUM, ROW_VARIANCE),
    written=False,
)
