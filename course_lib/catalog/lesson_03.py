"""Lesson 03: programs, grids, and which program does what."""

from __future__ import annotations

from typing import Any

import torch

from course_lib.catalog.inputs import LENGTHS, floats, straddle_length
from course_lib.catalog.model import Exercise, Hint, Lesson

NAME = "03_programs_and_grids"


def _length(generator: torch.Generator, n: int) -> tuple[Any, ...]:
    return (n,)


def _vector_and_scalar(generator: torch.Generator, n: int) -> tuple[Any, ...]:
    factor = 0.5 + torch.rand((), generator=generator).item()
    return floats(generator, n), -factor


PROGRAM_IDS = Exercise(
    name="program_ids",
    lesson=NAME,
    signature="program_ids(n)",
    statement="Return an int32 vector of length `n` in which program `i` has written its own id, `i`, to element `i`.",
    reference=lambda n: torch.arange(n, dtype=torch.int32),
    make_inputs=_length,
    cases=tuple({"n": n} for n in (1, 2, 3, 7, 16, 31, 100)),
    hints=(
        Hint("A program needs no block here: `tl.program_id(0)` is a single number, and so is the address it stores to."),
        Hint(
            "Launch exactly as many programs as there are elements: the grid is `(n,)`.",
            frozenset({"unwritten", "first_block_only", "store_out_of_bounds"}),
        ),
        Hint(
            "Program `i` writes to `out_ptr + i`: add the id to the pointer, and store the same id there.",
            frozenset({"race", "shifted", "constant", "mismatch", "reversed"}),
        ),
        Hint("Allocate with `torch.empty(n, dtype=torch.int32)`.", frozenset({"wrong_dtype", "wrong_shape"})),
    ),
)

VECTOR_SCALE = Exercise(
    name="vector_scale",
    lesson=NAME,
    signature="vector_scale(x, a)",
    statement="Return `a * x` for a 1-D fp32 tensor `x` of any length and a number `a`.",
    reference=lambda x, a: x * a,
    make_inputs=_vector_and_scalar,
    cases=LENGTHS,
    straddle=straddle_length,
    hints=(
        Hint(
            "How many blocks of `BLOCK_SIZE` cover `n` elements? Round up: `triton.cdiv(n, BLOCK_SIZE)`.",
            frozenset({"unwritten", "first_block_only", "tail"}),
        ),
        Hint(
            "The last program's block may reach past the end of `x`: mask with `offsets < n`, in the load and in the store.",
            frozenset({"load_out_of_bounds", "store_out_of_bounds", "undefined_lanes"}),
        ),
        Hint(
            "Every program must work on a block of its own: `offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)`.",
            frozenset({"race", "shifted", "periodic"}),
        ),
        Hint(
            "`a` is an ordinary number: pass it to the kernel as an argument, and multiply the loaded block by it.",
            frozenset({"scaled", "mismatch"}),
        ),
    ),
)

LESSON = Lesson(name=NAME, title="Programs and grids", minutes=35, items=(PROGRAM_IDS, VECTOR_SCALE))
