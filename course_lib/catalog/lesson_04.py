"""Lesson 04: pointers, strides, masks: reading and writing exactly what is yours."""

from __future__ import annotations

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import (
    LENGTHS,
    MATRICES,
    SPECIAL_LENGTHS,
    drawn_lengths,
    drawn_shapes,
    matrix,
    straddle_columns,
    straddle_diagonal,
    straddle_length,
    two_vectors,
    vector,
)
from course_lib.catalog.model import Exercise, Hint, Lesson, Quiz, Tolerance

NAME = "04_loads_stores_masks"

ELEMENT_OFFSET = Quiz(
    name="element_offset",
    lesson=NAME,
    question=(
        "`x` is contiguous with 3 rows and 5 columns, and `t = x.t()`. How many elements behind the first one does `t[3, 2]` "
        "lie in memory?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: 3 * torch.empty(3, 5).t().stride(0) + 2 * torch.empty(3, 5).t().stride(1),
    explanation=(
        "x has the strides (5, 1), so t has (1, 5): 3 · 1 + 2 · 5 = 13. It is the element x[2, 3], in the same place: "
        "transposing moves no data."
    ),
    wrong=(
        wrong(17, "That is 3 · 5 + 2 · 1, with x's strides. Transposing exchanges them."),
        wrong(11, "3 · 3 + 2 is the offset in a contiguous 5 × 3 matrix. t is a view: no element was moved."),
        wrong(52, "Offsets count elements here, not bytes."),
    ),
    hints=(
        Hint("Transposing moves no data. Which element of x is t[3, 2]?"),
        Hint("x.stride() is (5, 1). What is t.stride()?"),
        Hint("Row 3 times the row stride plus column 2 times the column stride: 3 · 1 + 2 · 5."),
    ),
)

MASKED_LANES = Quiz(
    name="masked_lanes",
    lesson=NAME,
    question=(
        "n = 21 elements, blocks of 8. In the last program, which lanes are masked off? Lanes are counted from 0 within the "
        "block."
    ),
    form="a list of lane numbers",
    accepts=is_list,
    expected=lambda: [lane for lane in range(8) if 2 * 8 + lane >= 21],
    any_order=True,
    explanation=(
        "The last program is number 2 and stands for the offsets 16 to 23. Lanes 5, 6 and 7 stand for 21, 22 and 23, which "
        "are not below n."
    ),
    wrong=(
        wrong([21, 22, 23], "Those are the offsets. Which places within the block of 8 are they?"),
        wrong([0, 1, 2, 3, 4], "Those are the lanes that work: their offsets are below 21."),
        wrong([6, 7], "Offset 21 is not below 21: its lane is masked too."),
    ),
    hints=(
        Hint("How many programs are there, and at which offset does the last one begin?"),
        Hint("Its offsets are 16 to 23. Which of them are not below 21?"),
        Hint("Lane = offset − 16."),
    ),
)

WRAPPED_OFFSET = Quiz(
    name="wrapped_offset",
    lesson=NAME,
    question=(
        "A matrix has rows of 2**30 elements. A kernel computes `row * row_stride` with two int32 numbers, for row 3. Which "
        "offset comes out?"
    ),
    form="one whole number (it may be negative)",
    accepts=is_whole,
    expected=lambda: torch.tensor(3, dtype=torch.int32) * torch.tensor(2**30, dtype=torch.int32),
    explanation=(
        "3 · 2**30 is 3221225472, past the largest int32, 2**31 − 1. What comes out is 2**32 less: −1073741824. The address "
        "lies before the start of the matrix, and nobody is told."
    ),
    wrong=(
        wrong(3 * 2**30, "That is the right offset, and it needs 33 bits with a sign. int32 has 32."),
        wrong(2**31 - 1, "Integers do not stop at the largest value; they wrap around."),
        wrong(2**30, "Almost: the sign is missing. 3 · 2**30 − 2**32."),
    ),
    hints=(
        Hint("What is the largest int32? Is 3 · 2**30 larger?"),
        Hint("int32 keeps the lowest 32 bits and reads the top one as a sign: from 2**31 on, numbers come out 2**32 smaller."),
        Hint("3 · 2**30 − 2**32."),
    ),
)

SECTORS_TOUCHED = Quiz(
    name="sectors_touched",
    lesson=NAME,
    question=(
        "32 lanes load fp32 elements: lane i takes element i · s, and the first one begins a sector of 32 bytes. How many "
        "sectors do they touch for s = 1, 2, 4, 8 and 16?"
    ),
    form="a list of five whole numbers",
    accepts=lambda value: is_list(value, 5),
    expected=lambda: [len({lane * s * 4 // 32 for lane in range(32)}) for s in (1, 2, 4, 8, 16)],
    explanation=(
        "A sector holds 8 fp32 elements. With s = 1 the 32 lanes fill 4 sectors; each doubling spreads them over twice as "
        "many, until every lane has a sector of its own. Then 1024 bytes move for 128 that are used."
    ),
    wrong=(
        wrong([1, 2, 4, 8, 16], "Those are lines of 128 bytes. A sector has 32."),
        wrong([4, 8, 16, 32, 64], "32 lanes can't touch more than 32 sectors: each element lies in one."),
        wrong([1, 1, 1, 1, 1], "One instruction, but it needs every sector that one of its lanes points into."),
    ),
    hints=(
        Hint("How many fp32 elements does a sector of 32 bytes hold?"),
        Hint("Which element does lane 31 take, and how far from the first is it in bytes?"),
        Hint("Count the different values of (lane · s · 4) // 32 for the 32 lanes."),
    ),
)


VECTOR_ADD = Exercise(
    name="vector_add",
    lesson=NAME,
    signature="vector_add(x, y)",
    statement="Return `x + y` for two contiguous 1-D fp32 tensors of the same length, which may be any length.",
    reference=lambda x, y: x + y,
    make_inputs=two_vectors,
    cases=(*LENGTHS, *SPECIAL_LENGTHS),
    drawn=drawn_lengths,
    straddle=straddle_length,
    tolerance=Tolerance(rtol=1e-6, atol=1e-7),
    hints=(
        Hint(
            "Two tensors in, one out: three pointers, one set of offsets, one mask.",
            frozenset({"no_kernel", "mismatch", "scaled", "constant", "shifted", "periodic"}),
        ),
        Hint(
            "A mask belongs on every load and on the store, and it is `offsets < n`.",
            frozenset({"load_out_of_bounds:unmasked", "store_out_of_bounds:unmasked", "tail"}),
        ),
        Hint(
            "It takes `triton.cdiv(n, BLOCK_SIZE)` programs, and each one's offsets begin at `pid * BLOCK_SIZE`: for `x`, for "
            "`y` and for the result.",
            frozenset(
                {
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "unwritten:gaps",
                    "first_block_only",
                    "race:same",
                    "race:overlap",
                    "race:spill",
                }
            ),
        ),
        Hint(
            "Write the sum to a new tensor and leave `x` and `y` as they are.",
            frozenset({"input_changed", "unwritten:input", "torch_compute", "wrong_type", "wrong_dtype"}),
        ),
        Hint(
            "Load both tensors and add them, in one program: the sum needs no place in memory before it is complete.",
            frozenset({"nan:fresh", "uninitialized", "race:read", "read_back"}),
        ),
        Hint(
            "`other=0.0` says what the masked lanes hold. Are they lanes that the store leaves out as well? It should have the "
            "same mask as the loads.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "`x = tl.load(x_ptr + offsets, mask=mask, other=0.0)`, the same for `y`, and then "
            "`tl.store(out_ptr + offsets, x + y, mask=mask)`."
        ),
    ),
)

COPY_ROWS = Exercise(
    name="copy_rows",
    lesson=NAME,
    signature="copy_rows(x)",
    statement=(
        "Return a contiguous copy of the 2-D fp32 tensor `x`, which has at least one element and may have any strides: "
        "transposed, sliced, or expanded with stride 0. The kernel does the copying; leave `contiguous` and `clone` alone."
    ),
    reference=lambda x: x.clone(),
    make_inputs=matrix,
    cases=MATRICES,
    drawn=drawn_shapes,
    straddle=straddle_columns,
    torch_may="allocate",
    contiguous=True,
    hints=(
        Hint(
            "One program a row: the grid is `(n_rows,)`, and a row begins at `x_ptr + row * row_stride`.",
            frozenset(
                {
                    "no_kernel",
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "load_out_of_bounds:program",
                    "store_out_of_bounds:program",
                }
            ),
        ),
        Hint(
            "Don't assume that a row's elements are neighbours: column j lies `j * column_stride` elements further. Pass both "
            "strides, `x.stride(0)` and `x.stride(1)`.",
            frozenset({"load_out_of_bounds:strides", "mismatch", "shifted", "periodic", "constant"}),
        ),
        Hint(
            "A lane that is on stands for a row below n_rows and a column below n_cols, and its element of `x` lies at "
            "`row * x.stride(0) + column * x.stride(1)`. Is a bound missing in the mask, or are the strides exchanged?",
            frozenset({"load_out_of_bounds:masked", "store_out_of_bounds:masked"}),
        ),
        Hint(
            "The result has strides of its own, and it is contiguous: its element (i, j) lies at `i * n_cols + j`, whatever "
            "the strides of `x` are.",
            frozenset({"transposed", "store_out_of_bounds", "unwritten:gaps", "race", "race:same", "race:overlap"}),
        ),
        Hint(
            "`torch.empty_like(x)` keeps x's odd strides; `torch.empty(x.shape, dtype=x.dtype, device=x.device)` is "
            "contiguous.",
            frozenset({"wrong_layout", "wrong_shape", "store_out_of_bounds:strides"}),
            asked=False,
        ),
        Hint(
            "A block that covers a row has `triton.next_power_of_2(n_cols)` lanes. The spare ones need a mask, "
            "`columns < n_cols`, on the load and on the store: without it a row spills into the next.",
            frozenset({"load_out_of_bounds:unmasked", "store_out_of_bounds:unmasked", "race:spill"}),
        ),
        Hint(
            "A row can be longer than any block size that you write down. Let the block cover it, with "
            "`triton.next_power_of_2(n_cols)` lanes, or loop over it, and let load and store move on together.",
            frozenset({"unwritten:row_ends", "unwritten", "tail", "first_block_only"}),
        ),
        Hint(
            "The kernel can read `x` as it lies there, if it knows the strides. No copy by torch is needed.",
            frozenset({"torch_compute:copy"}),
            asked=False,
        ),
        Hint(
            "With the mask `columns < n_cols`, `tl.load` from `x_ptr + row * row_stride + columns * column_stride`, and "
            "`tl.store` to `out_ptr + row * n_cols + columns`."
        ),
    ),
)

REVERSE = Exercise(
    name="reverse",
    lesson=NAME,
    signature="reverse(x)",
    statement="Return the elements of the contiguous 1-D fp32 tensor `x` in reverse order.",
    reference=lambda x: x.flip(0),
    make_inputs=vector,
    cases=(*LENGTHS, *SPECIAL_LENGTHS),
    drawn=drawn_lengths,
    straddle=straddle_length,
    torch_may="allocate",
    hints=(
        Hint(
            "Element i of the result is element n − 1 − i of x. Turn around either the load's offsets or the store's.",
            frozenset(
                {
                    "no_kernel",
                    "constant",
                    "torch_compute",
                    "mismatch",
                    "load_out_of_bounds:masked",
                    "load_out_of_bounds:below",
                    "store_out_of_bounds:masked",
                    "store_out_of_bounds:below",
                }
            ),
        ),
        Hint(
            "If each block comes out reversed but the blocks are in the old order, you turned round within the block: count "
            "back from n − 1, not from BLOCK_SIZE − 1.",
            frozenset({"periodic", "shifted", "tail", "first_block_only"}),
        ),
        Hint(
            "The result is `x` as it is, and not reversed: one side must count from the end, the load's offsets or the "
            "store's. (Both, and it is turned round twice.)",
            frozenset({"unchanged"}),
        ),
        Hint(
            "Lanes past the end have n − 1 − i below 0: the mask `offsets < n` must guard the load and the store.",
            frozenset(f"{access}_out_of_bounds:{how}" for access in ("load", "store") for how in ("before", "unmasked")),
        ),
        Hint(
            "It takes `triton.cdiv(n, BLOCK_SIZE)` programs, and each one's offsets begin at `pid * BLOCK_SIZE`.",
            frozenset(
                {
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "unwritten:gaps",
                    "race:same",
                    "race:overlap",
                    "race:spill",
                }
            ),
        ),
        Hint(
            "Read from `x` and write to a new tensor. In place, a program would overwrite what another one has not read yet.",
            frozenset({"input_changed", "unwritten:input", "race:read", "read_back", "overtaken_load"}),
        ),
        Hint(
            "Turn offsets round, and the mask stays with the lanes that have an element. A tile that is flipped brings its "
            "masked lanes to the front.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "`x = tl.load(x_ptr + n - 1 - offsets, mask=mask, other=0.0)`, and `tl.store(out_ptr + offsets, x, mask=mask)`, "
            "with `mask = offsets < n`."
        ),
    ),
)

DIAGONAL = Exercise(
    name="diagonal",
    lesson=NAME,
    signature="diagonal(x)",
    statement=(
        "Return the main diagonal of the 2-D fp32 tensor `x`, which has at least one element and may have any strides: a 1-D "
        "tensor of min(M, N) values."
    ),
    reference=lambda x: x.diagonal().clone(),
    make_inputs=matrix,
    cases=MATRICES,
    drawn=drawn_shapes,
    straddle=straddle_diagonal,
    torch_may="allocate",
    hints=(
        Hint("Element k of the result is x[k, k]. Where does it lie in memory?", frozenset({"no_kernel", "torch_compute"})),
        Hint(
            "x[k, k] lies at k · row_stride + k · column_stride from the start.",
            frozenset(
                {
                    "mismatch",
                    "transposed",
                    "shifted",
                    "constant",
                    "reversed",
                    "periodic",
                    "load_out_of_bounds:strides",
                }
            ),
        ),
        Hint(
            "The diagonal has min(M, N) elements: that is the length of the result, the bound of the mask, and what the grid "
            "is made for.",
            frozenset(
                {
                    "wrong_shape",
                    "tail",
                    "load_out_of_bounds:masked",
                    "load_out_of_bounds:unmasked",
                    "store_out_of_bounds",
                    "store_out_of_bounds:masked",
                    "store_out_of_bounds:unmasked",
                }
            ),
        ),
        Hint(
            "It can be longer than one block: `triton.cdiv(n, BLOCK_SIZE)` programs, and `pid * BLOCK_SIZE` in the offsets.",
            frozenset(
                {
                    "first_block_only",
                    "race",
                    "race:overlap",
                    "race:spill",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "unwritten:no_program",
                }
            ),
        ),
        Hint(
            "The result is a new tensor, made with `torch.empty(n, dtype=x.dtype, device=x.device)`; the kernel writes to it.",
            frozenset({"wrong_dtype", "wrong_type", "input_changed", "unwritten:input", "unwritten:elsewhere"}),
        ),
        Hint(
            "`k = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)`, `tl.load` from `x_ptr + k * (row_stride + column_stride)`, "
            "`tl.store` to `out_ptr + k`, both with the mask `k < n`."
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Loads, stores and masks",
    minutes=40,
    items=(
        ELEMENT_OFFSET,
        MASKED_LANES,
        WRAPPED_OFFSET,
        SECTORS_TOUCHED,
        VECTOR_ADD,
        COPY_ROWS,
        REVERSE,
        DIAGONAL,
    ),
)
