"""Lesson 00: how to work here, and the first kernel."""

from __future__ import annotations

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import LENGTHS, SPECIAL_LENGTHS, drawn_lengths, straddle_length, vector
from course_lib.catalog.model import Exercise, Hint, Lesson, Quiz

NAME = "00_start_here"

FIRST_KERNEL_ELEMENTS = Quiz(
    name="first_kernel_elements",
    lesson=NAME,
    question=(
        "`add_one` runs on 10 elements with blocks of 4, so three programs start: 0, 1 and 2. Which elements of the result "
        "does program 2 write?"
    ),
    form="a list of element numbers, for example [0, 1]",
    accepts=is_list,
    expected=lambda: [i for i in range(2 * 4, 2 * 4 + 4) if i < 10],
    any_order=True,
    explanation=(
        "Program 2 starts at 2 · 4 = 8 and its four lanes stand for 8, 9, 10 and 11. The mask `offsets < n` switches off 10 "
        "and 11, which do not exist."
    ),
    wrong=(
        wrong([8, 9, 10, 11], "Those are all its offsets. The mask lets only the ones below n = 10 through."),
        wrong([4, 5, 6, 7], "That is program 1: programs are counted from 0."),
        wrong([2, 3], "Those are places within the block. Add the place where the block begins, pid * BLOCK_SIZE."),
        wrong([0, 1], "Those are places within the block. Add the place where the block begins, pid * BLOCK_SIZE."),
    ),
    hints=(
        Hint("Programs are counted from 0. At which element does program 2 begin?"),
        Hint("Its offsets are pid * BLOCK_SIZE + [0, 1, 2, 3]. Write down the four numbers."),
        Hint("Cross out every number that is not below n = 10."),
    ),
)

PAST_THE_END = Quiz(
    name="past_the_end",
    lesson=NAME,
    question=(
        "Take the mask away from `add_one` on 10 elements with blocks of 4. How many elements past the end of the result do "
        "the three programs write together?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: -(-10 // 4) * 4 - 10,
    explanation=(
        "Three programs of 4 lanes write 12 elements, and only 10 exist. The last program writes the other 2 into whatever "
        "lies behind it."
    ),
    wrong=(
        wrong(0, "Nothing else stops a store: without a mask every lane writes."),
        wrong(4, "Only part of the last block lies past the end: its offsets are 8, 9, 10, 11."),
        wrong(12, "That is how many lanes write. How many of them lie past the end?"),
    ),
    hints=(
        Hint("How many lanes do three programs have together?"),
        Hint("Every lane writes one element now. How many elements does the result have?"),
        Hint("Lanes minus elements: 3 · 4 − 10."),
    ),
)

DOUBLE = Exercise(
    name="double",
    lesson=NAME,
    signature="double(x)",
    statement="Return a new vector with every element of the contiguous 1-D fp32 tensor `x` doubled.",
    reference=lambda x: 2 * x,
    make_inputs=vector,
    cases=(*LENGTHS, *SPECIAL_LENGTHS),
    drawn=drawn_lengths,
    straddle=straddle_length,
    hints=(
        Hint(
            "Take `add_one` from the lesson as your pattern: the same launcher, the same offsets. Only one line of the kernel "
            "computes something else.",
            frozenset({"no_kernel", "mismatch", "scaled", "constant"}),
        ),
        Hint(
            "Every program handles one block, so it takes `triton.cdiv(n, BLOCK_SIZE)` programs to cover all n elements: "
            "that rounds up.",
            frozenset({"unwritten:tail", "unwritten:one_program", "unwritten:no_program", "tail", "first_block_only"}),
            asked=False,
        ),
        Hint(
            "Every program's offsets are `pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)`. Without `pid * BLOCK_SIZE` all "
            "programs work on the same elements.",
            frozenset({"race", "race:overlap", "race:spill", "periodic", "shifted", "unwritten:gaps"}),
        ),
        Hint(
            "The last block is rarely full. Build `mask = offsets < n` and give it to the load and to the store.",
            frozenset({"load_out_of_bounds:unmasked", "store_out_of_bounds:unmasked"}),
        ),
        Hint(
            "The result is a new tensor: make it with `torch.empty_like(x)`, let the kernel write to it, and return it; `x` "
            "stays as it was.",
            frozenset({"input_changed", "wrong_type", "wrong_shape", "wrong_dtype", "unwritten:input", "unwritten:elsewhere"}),
            asked=False,
        ),
        Hint(
            "After `offsets` and `mask`, two lines are left: `x = tl.load(x_ptr + offsets, mask=mask, other=0.0)` and "
            "`tl.store(out_ptr + offsets, 2.0 * x, mask=mask)`."
        ),
    ),
)

LESSON = Lesson(name=NAME, title="Start here", minutes=15, items=(FIRST_KERNEL_ELEMENTS, PAST_THE_END, DOUBLE))
