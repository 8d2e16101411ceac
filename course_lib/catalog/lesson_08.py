"""Lesson 08: the fused softmax, one program a row."""

from __future__ import annotations

import math

import torch

from course_lib.catalog.inputs import ROWS, arranged, drawn_rows, floats, straddle_rows
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Tolerance

NAME = "08_fused_softmax"


def _scores(generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "near 0") -> tuple[torch.Tensor]:
    """An m×n matrix of one of several kinds of `values`.

    "near 0" is moderate and of both signs. "far from 0" has rows around 300, −300 and 0: `exp` of the first overflows, of the
    second underflows. "late" rows are −inf in their first half and more. "infinite" rows have one inf, one −inf, and nothing
    but −inf; "nan" rows have a NaN each.
    """
    x = 3 * floats(generator, m, n)
    if values == "far from 0":
        x += torch.tensor([300.0, -300.0, 0.0]).repeat(m)[:m, None]
    elif values == "late":
        x[:, : n // 2 + 2] = -math.inf
    elif values == "infinite":
        x[0, n // 3], x[1, n // 3], x[2] = math.inf, -math.inf, -math.inf
    elif values == "nan":
        x[:, n // 3] = math.nan
    return (arranged(x, layout),)


def _straddle(block: int) -> tuple[Params, ...]:
    late: tuple[Params, ...] = ({"m": 2, "n": 2 * block + 1, "values": "late"},) if block <= 1024 else ()
    return (*straddle_rows(block), *late)


ROW_SOFTMAX = Exercise(
    name="row_softmax",
    lesson=NAME,
    signature="row_softmax(x)",
    statement=(
        "Return the softmax of each row of the 2-D fp32 tensor `x`, as `torch.softmax(x, -1)` does: for any number of rows, "
        "also 0, of at least one column, for any strides, for large and very negative values, and for rows with an infinity or "
        "NaN in them. Read each element at most three times."
    ),
    reference=lambda x: torch.softmax(x.double(), dim=-1).float(),
    make_inputs=_scores,
    cases=(
        *ROWS,
        {"m": 6, "n": 5, "values": "far from 0"},
        {"m": 5, "n": 64, "values": "far from 0"},
        {"m": 3, "n": 129, "values": "far from 0", "layout": "transposed"},
        {"m": 4, "n": 6, "values": "infinite"},
        {"m": 4, "n": 129, "values": "infinite"},
        {"m": 2, "n": 6, "values": "nan"},
        {"m": 2, "n": 129, "values": "nan"},
        {"m": 2, "n": 129, "values": "late"},
        {"m": 2, "n": 2051, "values": "late"},
    ),
    straddle=_straddle,
    drawn=drawn_rows,
    # `exp` on a GPU, by way of `exp2`, is off by a few units of 1e-6 for values that matter; with the maximum subtracted after
    # scaling by log2(e), 2e-5 around 300. fp16 would be off by 5e-4. The atol only covers what is too small for a float.
    tolerance=Tolerance(rtol=1e-4, atol=1e-9),
    torch_may="allocate",
    max_reads=3,
    hints=(
        Hint(
            "One program a row: load it, subtract its maximum, take `tl.exp`, divide by the sum, store. Torch only allocates.",
            frozenset(
                {
                    "no_kernel",
                    "torch_compute",
                    "wrong_shape",
                    "wrong_type",
                    "wrong_dtype",
                    "constant",
                    "mismatch",
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                }
            ),
        ),
        Hint(
            "The mask `columns < n_cols` belongs on the load and on the store: without it a row spills into the next.",
            frozenset({"race:spill"})
            | {f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked")},
        ),
        Hint(
            "Subtract the maximum of the same row before `tl.exp`: exp(89) is already infinite in fp32, and where every exp is "
            "0 you divide by 0. So the spare lanes must not raise the maximum: 0 is larger than all of a negative row. "
            '`other=-float("inf")` suits the maximum, and exp(−inf) adds nothing to the sum.',
            frozenset({"nan", "mismatch"}),
            case="far from 0",
        ),
        Hint(
            'Spare lanes take part in the maximum and in the sum: `other=-float("inf")` suits the maximum, and exp(−inf) adds '
            "nothing to the sum.",
            frozenset({"undefined_lanes", "nan"}),
        ),
        Hint(
            "Divide by the sum over the whole row, spare lanes left out. In a loop over blocks, the sum so far must be scaled "
            "by exp(old maximum − new maximum) whenever the maximum grows.",
            frozenset({"scaled", "first_block_only", "tail"}),
        ),
        Hint(
            "−inf, inf and NaN need no care in a row that fits into a block: torch's answer is what the formula gives.",
            frozenset({"mismatch", "nan", "constant"}),
            case="values=infinite",
        ),
        Hint(
            "−inf, inf and NaN need no care in a row that fits into a block: torch's answer, NaN for the whole row, is what "
            "the formula gives. Does something take NaN for a number, such as a comparison or a maximum that skips it?",
            frozenset({"mismatch", "nan", "constant"}),
            case="values=nan",
        ),
        Hint(
            "In a loop over blocks, the maximum so far is −inf until something else comes, and −inf − (−inf) is NaN. The sum "
            "so far is 0 then, whatever it is scaled by.",
            frozenset({"nan", "mismatch"}),
            case="values=late",
        ),
        Hint(
            "Element (i, j) lies at `i * row_stride + j * column_stride`, and the result has strides of its own. Write to a "
            "fresh tensor: `torch.empty(x.shape, dtype=x.dtype, device=x.device)`.",
            frozenset(
                {
                    "load_out_of_bounds:strides",
                    "store_out_of_bounds:strides",
                    "transposed",
                    "shifted",
                    "reversed",
                    "periodic",
                    "input_changed",
                    "race:same",
                    "race:overlap",
                }
            ),
        ),
        Hint(
            "A row can be longer than a block size that you write down: let the block cover it, with "
            "`triton.next_power_of_2(n_cols)` lanes, or loop over it.",
            frozenset({"unwritten:row_ends"}),
        ),
        Hint(
            "The maximum and the sum belong to a row, not to an element: let one program compute them once for all of it, and "
            "keep the numerators in a variable.",
            frozenset({"too_much_traffic", "timeout", "read_back"}),
        ),
        Hint(
            "With no rows there is no program: the grid is `(n_rows,)`.",
            frozenset({"load_out_of_bounds:masked", "load_out_of_bounds:unmasked", "store_out_of_bounds:masked"}),
            case="m=0",
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="The fused softmax",
    minutes=40,
    items=(ROW_SOFTMAX,),
    written=False,
)
