"""Lesson 04: pointers, strides, masks: reading and writing exactly what is yours."""

from __future__ import annotations

from course_lib.catalog.inputs import (
    LENGTHS,
    MATRICES,
    matrix,
    straddle_columns,
    straddle_diagonal,
    straddle_length,
    two_vectors,
    vector,
)
from course_lib.catalog.model import Exercise, Hint, Lesson

NAME = "04_loads_stores_masks"

_MASK = Hint(
    "Some lanes of the last block lie past the end. A mask such as `offsets < n` belongs in every load and every store.",
    frozenset({"load_out_of_bounds", "store_out_of_bounds", "tail"}),
)
_STRIDES = Hint(
    "Element (i, j) lies at `i * x.stride(0) + j * x.stride(1)` from the start: pass both strides to the kernel, and use both.",
    frozenset({"transposed", "mismatch", "load_out_of_bounds", "shifted", "nan"}),
)

VECTOR_ADD = Exercise(
    name="vector_add",
    lesson=NAME,
    signature="vector_add(x, y)",
    statement="Return `x + y` for two 1-D fp32 tensors of the same length, which may be any length.",
    reference=lambda x, y: x + y,
    make_inputs=two_vectors,
    cases=LENGTHS,
    straddle=straddle_length,
    hints=(
        Hint(
            "One program, one block: the offsets are `tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)`.",
            frozenset({"unwritten", "first_block_only", "race", "shifted"}),
        ),
        _MASK,
        Hint("Both inputs and the result have the same offsets and the same mask; only the base pointers differ."),
    ),
)

COPY_ROWS = Exercise(
    name="copy_rows",
    lesson=NAME,
    signature="copy_rows(x)",
    statement=(
        "Return a contiguous copy of the 2-D fp32 tensor `x`, which may have any strides: transposed, sliced, or "
        "expanded with stride 0. The kernel does the copying; leave `contiguous` and `clone` alone."
    ),
    reference=lambda x: x.clone(),
    make_inputs=matrix,
    cases=MATRICES,
    straddle=straddle_columns,
    torch_may="allocate",
    contiguous=True,
    hints=(
        Hint("Let one program copy one row: row `i` of `x` begins at `x_ptr + i * x.stride(0)`."),
        _STRIDES,
        Hint(
            "The rows have any length: either the block covers a whole row (`triton.next_power_of_2(n_cols)`), or you loop. "
            "Mask the columns with `cols < n_cols`.",
            frozenset({"store_out_of_bounds", "unwritten", "tail", "first_block_only", "race"}),
        ),
        Hint(
            "`torch.empty_like(x)` keeps odd strides. Allocate the result with `torch.empty(x.shape, dtype=x.dtype, device=x.device)`.",
            frozenset({"wrong_layout"}),
        ),
    ),
)

REVERSE = Exercise(
    name="reverse",
    lesson=NAME,
    signature="reverse(x)",
    statement="Return the elements of the 1-D fp32 tensor `x` in reverse order.",
    reference=lambda x: x.flip(0),
    make_inputs=vector,
    cases=LENGTHS,
    straddle=straddle_length,
    torch_may="allocate",
    hints=(
        Hint("Decide which side runs forwards. If you read at `offsets`, the same element is written at `n - 1 - offsets`."),
        Hint(
            "For lanes with `offsets >= n`, the address `n - 1 - offsets` is negative: it lies before the tensor. The mask is still "
            "`offsets < n`, for both the load and the store.",
            frozenset({"load_out_of_bounds", "store_out_of_bounds", "tail"}),
        ),
        Hint(
            "The last element has index `n - 1`, not `n`.",
            frozenset({"shifted", "mismatch", "load_out_of_bounds", "store_out_of_bounds", "unwritten"}),
        ),
        Hint(
            "Reversing each block on its own is not enough: block `p` of the result holds block `P - 1 - p` of `x`, shifted by the tail.",
            frozenset({"mismatch", "periodic", "reversed"}),
        ),
    ),
)

DIAGONAL = Exercise(
    name="diagonal",
    lesson=NAME,
    signature="diagonal(x)",
    statement="Return the main diagonal of the 2-D fp32 tensor `x` (any shape, any strides) as a 1-D tensor of min(M, N) elements.",
    reference=lambda x: x.diagonal().clone(),
    make_inputs=matrix,
    cases=MATRICES,
    straddle=straddle_diagonal,
    torch_may="allocate",
    hints=(
        Hint("Element (i, i) lies at `i * x.stride(0) + i * x.stride(1)`: one step along the diagonal is the sum of both strides."),
        Hint(
            "The result has min(M, N) elements, for tall and for wide matrices.",
            frozenset({"wrong_shape", "load_out_of_bounds", "unwritten"}),
        ),
        _STRIDES,
        _MASK,
    ),
)

LESSON = Lesson(
    name=NAME, title="Loads, stores and masks", minutes=40, items=(VECTOR_ADD, COPY_ROWS, REVERSE, DIAGONAL)
)
