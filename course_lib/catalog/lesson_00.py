"""Lesson 00: how to work here, and the first kernel."""

from __future__ import annotations

from course_lib.catalog.inputs import LENGTHS, straddle_length, vector
from course_lib.catalog.model import Exercise, Hint, Lesson

NAME = "00_start_here"

DOUBLE = Exercise(
    name="double",
    lesson=NAME,
    signature="double(x)",
    statement="Return a new vector with every element of the 1-D fp32 tensor `x` doubled.",
    reference=lambda x: 2 * x,
    make_inputs=vector,
    cases=LENGTHS,
    straddle=straddle_length,
    hints=(
        Hint(
            "Each program owns one block. Its elements start at `tl.program_id(0) * BLOCK_SIZE`; add "
            "`tl.arange(0, BLOCK_SIZE)` to get all of them.",
            frozenset({"first_block_only", "unwritten", "race", "shifted"}),
        ),
        Hint(
            "The last block usually reaches past the end. Build `mask = offsets < n` and give it to the load *and* to the store.",
            frozenset({"load_out_of_bounds", "store_out_of_bounds", "undefined_lanes", "tail"}),
        ),
        Hint("Load with `tl.load(x_ptr + offsets, mask=mask)`, multiply by 2, and store to `out_ptr + offsets`."),
    ),
)

LESSON = Lesson(name=NAME, title="Start here", minutes=15, items=(DOUBLE,))
