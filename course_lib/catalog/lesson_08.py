"""Lesson 08: the fused softmax, one program a row."""

from __future__ import annotations

import math

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import ROWS, drawn_rows, scores, straddle_rows
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance

NAME = "08_fused_softmax"


def _straddle(block: int) -> tuple[Params, ...]:
    late: tuple[Params, ...] = ({"m": 2, "n": 2 * block + 1, "values": "late"},) if block <= 1024 else ()
    return (*straddle_rows(block), *late)


ROW_SOFTMAX = Exercise(
    name="row_softmax",
    lesson=NAME,
    points=2,
    signature="row_softmax(x)",
    statement=(
        "Return the softmax of each row of the 2-D fp32 tensor `x`, as `torch.softmax(x, -1)` does: for any number of rows, "
        "also 0, of at least one column, for any strides, for large and very negative values, and for rows with an infinity or "
        "NaN in them. Read each element at most three times."
    ),
    reference=lambda x: torch.softmax(x.double(), dim=-1).float(),
    make_inputs=scores,
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
            'Divide by the sum over the whole row, and of the row alone: with `other=-float("inf")`, the exp of a spare '
            "lane is 0. (In a loop over blocks, the sum so far must be scaled by exp(old maximum − new maximum) whenever the "
            "maximum grows.)",
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
            asked=False,
        ),
        Hint(
            "In a loop over blocks, the maximum so far is −inf until something else comes, and −inf − (−inf) is NaN. The sum "
            "so far is 0 then, whatever it is scaled by.",
            frozenset({"nan", "mismatch"}),
            case="values=late",
            asked=False,
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
            asked=False,
        ),
        Hint(
            'Nearly the answer: `x = tl.load(x_ptrs, mask=mask, other=-float("inf"))`, '
            "`numerator = tl.exp(x - tl.max(x, axis=0))`, and `tl.store(out_ptrs, numerator / tl.sum(numerator, "
            "axis=0), mask=mask)`, with a block that covers the row.",
        ),
        Hint(
            "With no rows there is no program: the grid is `(n_rows,)`.",
            frozenset({"load_out_of_bounds:masked", "load_out_of_bounds:unmasked", "store_out_of_bounds:masked"}),
            case="m=0",
            asked=False,
        ),
    ),
)

ROW_LOG_SOFTMAX = Exercise(
    name="row_log_softmax",
    lesson=NAME,
    points=2,
    signature="row_log_softmax(x)",
    statement=(
        "Return the logarithm of the softmax of each row of the 2-D fp32 tensor `x`, as `torch.log_softmax(x, -1)` does: for "
        "any number of rows, also 0, of at least one column, for any strides, for values far apart and far from 0, and for "
        "rows with an infinity or NaN in them. Read each element at most twice."
    ),
    reference=lambda x: torch.log_softmax(x.double(), dim=-1).float(),
    make_inputs=scores,
    cases=(
        *ROWS,
        {"m": 6, "n": 5, "values": "far from 0"},
        {"m": 3, "n": 129, "values": "far from 0", "layout": "transposed"},
        {"m": 5, "n": 7, "values": "wide"},
        {"m": 3, "n": 129, "values": "wide"},
        {"m": 4, "n": 6, "values": "infinite"},
        {"m": 4, "n": 129, "values": "infinite"},
        {"m": 2, "n": 6, "values": "nan"},
        {"m": 2, "n": 129, "values": "late"},
        {"m": 2, "n": 2051, "values": "late"},
    ),
    straddle=_straddle,
    drawn=drawn_rows,
    # Around 300, subtracting log(Σ exp) in one number is off by half a unit in the last place of 300, 1.5e-5; in the base of
    # two by 2e-5. A sum in fp16 would be off by 5e-4, a result in fp16 by as much of its value.
    tolerance=Tolerance(rtol=2e-5, atol=5e-5),
    torch_may="allocate",
    max_reads=2,
    hints=(
        Hint(
            "Write the logarithm of the softmax down and simplify it: log(a / b) is log(a) − log(b), and log(exp(z)) is z. "
            "Here z is x − maximum. (Right for 8 columns, and wrong for 7? Then the spare lanes count in the sum.)",
            frozenset({"no_kernel", "torch_compute", "constant", "mismatch", "scaled", "wrong_shape", "wrong_type"}),
        ),
        Hint(
            "Without the maximum subtracted, `tl.exp` overflows. With it, a share can be too small for fp32; then it is 0, and "
            "log(0) is −inf, although the share's logarithm is a plain number. Take `tl.log` of the sum only: the "
            "numerator's is x − maximum.",
            frozenset({"mismatch", "nan", "first_block_only", "tail", "periodic"}),
            case="values=wide",
        ),
        Hint(
            "Subtract the maximum in both places: under `tl.exp`, and from `x` itself. exp(89) is infinite in fp32, and where "
            "every exp is 0 you take log(0). So the spare lanes must not raise the maximum either: "
            '`other=-float("inf")`.',
            frozenset({"mismatch", "nan"}),
            case="far from 0",
        ),
        Hint(
            "The maximum must be that of the row alone. With `other=0.0` the spare lanes raise it, as 0 is larger than all of "
            "a negative row, and so do other rows in the tile of a reduction without `axis`. Then every exp is 0, and so is "
            "the sum.",
            frozenset({"mismatch", "nan", "first_block_only", "tail", "periodic"}),
            case="far from 0",
            asked=False,
        ),
        Hint(
            'Spare lanes take part in the maximum and in the sum: `other=-float("inf")` suits the maximum, and exp(−inf) adds '
            "nothing to the sum.",
            frozenset({"undefined_lanes", "nan", "tail", "first_block_only"}),
        ),
        Hint(
            "The mask `columns < n_cols` belongs on the load and on the store: without it a row spills into the next.",
            frozenset({"race", "race:overlap"})
            | {f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked")},
        ),
        Hint(
            "−inf, inf and NaN need no care in a row that fits into a block: torch's answer is what the formula gives. For a "
            "score of −inf that is −inf.",
            frozenset({"mismatch", "nan", "constant"}),
            case="values=(infinite|nan|late)",
        ),
        Hint(
            "One program a row: the grid is `(n_rows,)`.",
            frozenset(
                {"unwritten", "load_out_of_bounds:program", "store_out_of_bounds:program"}
                | {f"unwritten:{pattern}" for pattern in ("no_program", "one_program", "tail", "gaps")}
            ),
            asked=False,
        ),
        Hint(
            "Element (i, j) lies at `i * row_stride + j * column_stride`, and the result has strides of its own. Write to a "
            "fresh tensor: `torch.empty(x.shape, dtype=x.dtype, device=x.device)`.",
            frozenset(
                {
                    "load_out_of_bounds:strides",
                    "store_out_of_bounds:strides",
                    "transposed",
                    "reversed",
                    "periodic",
                    "input_changed",
                }
            ),
        ),
        Hint(
            "A row can be longer than a block size that you write down: let the block cover it, with "
            "`triton.next_power_of_2(n_cols)` lanes, or loop over it.",
            frozenset({"unwritten:row_ends"}),
        ),
        Hint(
            "Keep the row in a variable: one load serves the maximum, the sum and the result.",
            frozenset({"too_much_traffic", "timeout", "read_back"}),
            asked=False,
        ),
        Hint(
            "x − maximum − log(Σ exp(x − maximum)). In a kernel the logarithm is `tl.log`. With "
            "`shifted = x - tl.max(x, axis=0)`, that is `tl.store(out_ptrs, shifted - "
            "tl.log(tl.sum(tl.exp(shifted), axis=0)), mask=mask)`.",
            frozenset({"crash"}),
        ),
    ),
)

FUSED_BYTES = Quiz(
    name="fused_bytes",
    lesson=NAME,
    question=(
        "`fused_softmax` runs on an fp32 matrix of 6 rows and 11 columns, with blocks of 16. How many bytes do its programs "
        "read and write, all together?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: 2 * 6 * 11 * 4,
    explanation=(
        "6 · 11 elements are read once and written once, with 4 bytes each. Masked lanes touch no memory, and between the load "
        "and the store everything stays in registers."
    ),
    wrong=(
        wrong(2 * 6 * 16 * 4, "That counts the 5 spare lanes of each block. A masked lane touches no memory."),
        wrong(6 * 11 * 4, "That is what is read. The result is written, too."),
        wrong(2 * 6 * 11, "That is the number of elements. Each has 4 bytes."),
        wrong(
            4 * 6 * 11 * 4,
            "Is the row read again for the sum, and for the division? There is one `tl.load` in the kernel; `x` stays in "
            "registers.",
        ),
    ),
    hints=(
        Hint("How many loads and stores are there in the kernel, and how often does each program come to them?"),
        Hint("A masked lane touches no memory. So the size of the block does not matter."),
        Hint("Each of the 6 · 11 elements is loaded once and stored once, 4 bytes each time."),
    ),
)

PADDED_DENOMINATOR = Quiz(
    name="padded_denominator",
    lesson=NAME,
    question=(
        "A row has five scores, all of them 0. Its block has 8 lanes, and somebody has written `other=0.0`. By which number "
        "does this kernel divide?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: int(torch.nn.functional.pad(torch.zeros(5), (0, 3), value=0.0).exp().sum()),
    explanation=(
        "The maximum is 0, and each of the 8 lanes holds exp(0 − 0) = 1, the three spare ones as well. The sum is 8, and each "
        "share comes out as 1/8 where 1/5 is right. With −inf, a spare lane holds exp(−inf) = 0."
    ),
    wrong=(
        wrong(5, "It should. But the three spare lanes take part in the sum: what is exp(0 − maximum)?"),
        wrong(0, "exp(0) is 1, not 0."),
        wrong(3, "Those are the spare lanes. The five scores count as well."),
    ),
    hints=(
        Hint("What is the maximum of the eight lanes?"),
        Hint("Masked lanes take part in everything but loads and stores. What do they hold after `tl.exp`?"),
        Hint("Each of the 8 lanes holds exp(0 − 0)."),
    ),
)

SPECIAL_ROWS = (
    (1.0, 2.0, 3.0, -math.inf),
    (-math.inf, -math.inf, -math.inf, -math.inf),
    (1.0, math.inf, 2.0, 3.0),
    (1.0, math.nan, 2.0, 3.0),
)

NAN_COUNTS = Quiz(
    name="nan_counts",
    lesson=NAME,
    question=(
        "Four rows of four scores: (1, 2, 3, −inf); −inf four times; (1, inf, 2, 3); (1, NaN, 2, 3). How many NaN does the "
        "softmax of each row have?"
    ),
    form="a list of four whole numbers",
    accepts=lambda value: is_list(value, 4),
    expected=lambda: torch.softmax(torch.tensor(SPECIAL_ROWS), dim=-1).isnan().sum(dim=-1).tolist(),
    explanation=(
        "exp(−inf) is 0: one −inf is a share of nothing, and harmless. If the maximum itself is infinite, then inf − inf is "
        "NaN in its own lane, the sum is NaN, and the division carries that into the whole row. So does a NaN."
    ),
    wrong=(
        wrong([1, 4, 4, 4], "−inf − 3 is −inf, and exp(−inf) is 0. That is a number."),
        wrong([0, 0, 4, 4], "The maximum of the second row is −inf, and −inf − (−inf) is NaN."),
        wrong([0, 4, 1, 1], "One lane becomes NaN first. But the sum is over all lanes, and every lane is divided by it."),
        wrong([0, 0, 0, 4], "What is inf − inf?"),
        wrong([0, 4, 1, 4], "In the third row inf − inf is NaN. It goes into the sum, and every lane is divided by that."),
    ),
    hints=(
        Hint("Go through the kernel: what is the maximum of each row, and what is left of each lane after subtracting it?"),
        Hint("exp(−inf) is 0. But inf − inf is NaN, and so is −inf − (−inf)."),
        Hint("A sum with a NaN in it is NaN, and each lane of the row is divided by the sum."),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="The fused softmax",
    minutes=40,
    items=(PADDED_DENOMINATOR, FUSED_BYTES, NAN_COUNTS, ROW_SOFTMAX, ROW_LOG_SOFTMAX),
)
