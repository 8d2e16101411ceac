"""Lesson 03: programs, grids, and which program does what."""

from __future__ import annotations

from typing import Any

import torch

from course_lib.catalog.forms import is_list, is_lists, wrong
from course_lib.catalog.inputs import LENGTHS, SPECIAL_LENGTHS, drawn_lengths, straddle_length, vector
from course_lib.catalog.model import Exercise, Hint, Lesson, Quiz, Tolerance
from course_lib.checking.events import Trace

NAME = "03_programs_and_grids"


def _length(generator: torch.Generator, n: int) -> tuple[Any, ...]:
    return (n,)


def _vector_and_scalar(generator: torch.Generator, n: int, a: float | None = None, values: str = "normal") -> tuple[Any, ...]:
    size, sign = torch.rand(2, generator=generator).tolist()
    return *vector(generator, n, values), (0.5 + size) * (1 if sign < 0.5 else -1) if a is None else a


def _each_by_its_own(trace: Trace) -> str | None:
    writes = [event for event in trace.events if event.kind != "load"]
    for event in writes:
        number = sum(event.program)  # of a grid along one axis, whichever that is
        strangers = [int(element) for element in event.elements if element != number]
        if strangers:
            return f"program {number} writes element {strangers[0]}; each program is to write one element, its own"
    return None


PROGRAMS_NEEDED = Quiz(
    name="programs_needed",
    lesson=NAME,
    question=(
        "Blocks hold 256 elements. How many programs do tensors of 1, 255, 256, 257 and 1000 elements need, so that each "
        "element gets a lane and no program is idle?"
    ),
    form="a list of five whole numbers",
    accepts=lambda value: is_list(value, 5),
    expected=lambda: [-(-n // 256) for n in (1, 255, 256, 257, 1000)],
    explanation=(
        "Round n / BLOCK_SIZE up: that is what `triton.cdiv(n, BLOCK_SIZE)` computes, as (n + BLOCK_SIZE − 1) // BLOCK_SIZE."
    ),
    wrong=(
        wrong(
            [0, 0, 1, 1, 3],
            "That is n // BLOCK_SIZE, which rounds down: the elements of the last, partial block would get no program.",
        ),
        wrong([1, 1, 2, 2, 4], "n // BLOCK_SIZE + 1 starts one program too many when the blocks fit exactly, as for 256."),
    ),
    hints=(
        Hint("One program for 1 element. For 257 elements, how many blocks must you begin?"),
        Hint("It is n / 256, rounded up."),
        Hint("(n + 255) // 256 for each n."),
    ),
)

OWNER_OF_ELEMENT = Quiz(
    name="owner_of_element",
    lesson=NAME,
    question=(
        "A matrix of 5 rows and 7 columns is covered by the grid (5, cdiv(7, 4)): axis 0 counts rows, axis 1 counts blocks of "
        "4 columns. Which program writes the element in row 3, column 6? Give (program_id(0), program_id(1))."
    ),
    form="a pair of whole numbers, for example (0, 0)",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: (3, 6 // 4),
    explanation=(
        "Axis 0 gives the row, 3. On axis 1 program 0 has the columns 0 to 3 and program 1 has 4 to 6, so column 6 belongs to "
        "program 1."
    ),
    wrong=(
        wrong([1, 3], "Right numbers, other order: axis 0 counts the rows in this grid."),
        wrong([3, 6], "That is the element. Axis 1 counts blocks of 4 columns, not columns."),
        wrong([3, 2], "Blocks are counted from 0: columns 0 to 3 are block 0."),
    ),
    hints=(
        Hint("Axis 0 is the first number of the grid. What does it count here?"),
        Hint("Which columns does program 0 on axis 1 have? And program 1?"),
        Hint("The column's block is 6 // 4."),
    ),
)

ROW_SCHEDULE = Quiz(
    name="row_schedule",
    lesson=NAME,
    question=(
        "Ten rows, four programs. Program p takes the rows p, p + 4, p + 8, … as long as they exist. List the rows of each "
        "program."
    ),
    form="a list of four lists of row numbers",
    accepts=lambda value: is_lists(value, 4),
    expected=lambda: [list(range(p, 10, 4)) for p in range(4)],
    explanation=(
        "In a kernel this is `for row in tl.range(pid, n_rows, tl.num_programs(0))`. No program has more than one row more "
        "than another."
    ),
    wrong=(
        wrong(
            [[0, 1, 2], [3, 4, 5], [6, 7, 8], [9]],
            "Those are neighbouring rows in chunks. Here a program steps over the rows of the others.",
        ),
        wrong([[0, 4, 8], [1, 5, 9], [2, 6, 10], [3, 7, 11]], "Rows 10 and 11 do not exist: the loop ends before n_rows."),
        wrong(
            [[0, 4], [1, 5], [2, 6], [3, 7]],
            "Rows 8 and 9 are left over: a program goes on for as long as its next row exists.",
        ),
    ),
    hints=(
        Hint("Program 0 begins with row 0, program 3 with row 3. How far is a program's next row?"),
        Hint("The step is the number of programs, 4."),
        Hint("Program p has list(range(p, 10, 4))."),
    ),
)

PROGRAM_IDS = Exercise(
    name="program_ids",
    lesson=NAME,
    signature="program_ids(n)",
    statement="Return an int32 vector of length `n` in which program `i` has written its own id, `i`, to element `i`.",
    reference=lambda n: torch.arange(n, dtype=torch.int32),
    make_inputs=_length,
    cases=tuple({"n": n} for n in (1, 2, 3, 7, 16, 31, 100, 300, 0)),
    drawn=lambda numbers: ({"n": numbers.randint(20, 200)},),
    also=_each_by_its_own,
    hints=(
        Hint(
            "One program per element: the grid is `(n,)`, and no block is needed.",
            frozenset(
                {
                    "not_as_asked",
                    "no_kernel",
                    "unwritten:no_program",
                    "unwritten:one_program",
                    "unwritten:tail",
                    "store_out_of_bounds:program",
                }
            ),
        ),
        Hint(
            "`tl.program_id(axis=0)` is the number of the program that is running. It is what you store, and it says where.",
            frozenset({"race", "mismatch", "constant", "reversed", "store_out_of_bounds"}),
        ),
        Hint(
            "Programs are counted from 0: the first one writes 0, to element 0.",
            frozenset({"shifted", "unwritten"}),
        ),
        Hint(
            "Every program, number 0 as well, runs `tl.store(out_ptr + pid, pid)`: pointers and values may be single numbers.",
            frozenset({"unwritten:nothing"}),
        ),
        Hint(
            "Let torch allocate: `torch.empty(n, dtype=torch.int32, device=DEVICE)`.",
            frozenset({"wrong_dtype", "wrong_shape", "wrong_type"}),
            asked=False,
        ),
    ),
)

VECTOR_SCALE = Exercise(
    name="vector_scale",
    lesson=NAME,
    signature="vector_scale(x, a)",
    statement="Return `a * x` for a contiguous 1-D fp32 tensor `x` of any length and a number `a`.",
    reference=lambda x, a: x * a,
    make_inputs=_vector_and_scalar,
    cases=(
        *LENGTHS,
        *SPECIAL_LENGTHS,
        *({"n": 129, "a": a} for a in (0.0, 1, 2, -1.0)),
        {"n": 131, "a": 0.0, "values": "special"},
    ),
    drawn=drawn_lengths,
    straddle=straddle_length,
    tolerance=Tolerance(rtol=1e-6),
    hints=(
        Hint(
            "A Python number can be given to a kernel as it is: it arrives as a scalar, ready to be multiplied with a block.",
            frozenset({"scaled", "mismatch", "constant"}),
        ),
        Hint(
            "The number of programs is `triton.cdiv(n, BLOCK_SIZE)`. Rounding down loses the last, partial block.",
            frozenset({"unwritten:no_program", "unwritten:tail", "unwritten:one_program", "tail", "first_block_only"}),
        ),
        Hint(
            "A program's offsets begin at `tl.program_id(axis=0) * BLOCK_SIZE`; in a persistent kernel the block numbers are "
            "pid, pid + P, pid + 2P, … where P is the number of programs.",
            frozenset({"race", "race:overlap", "race:spill", "periodic", "shifted", "unwritten:gaps"}),
        ),
        Hint(
            "`mask = offsets < n`, for the load and for the store.",
            frozenset({"load_out_of_bounds:unmasked", "store_out_of_bounds:unmasked"}),
        ),
        Hint(
            "The result is as long as `x`: `torch.empty_like(x)`. The mask takes care of the block that is not full.",
            frozenset({"wrong_shape"}),
            asked=False,
        ),
        Hint(
            "The kernel ends with `tl.store(out_ptr + offsets, a * x, mask=mask)`. The launch is "
            "`vector_scale_kernel[(triton.cdiv(n, BLOCK_SIZE),)](x, out, a, n, BLOCK_SIZE=BLOCK_SIZE)`, with `n = x.numel()`."
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Programs and grids",
    minutes=35,
    items=(PROGRAMS_NEEDED, OWNER_OF_ELEMENT, ROW_SCHEDULE, PROGRAM_IDS, VECTOR_SCALE),
)
