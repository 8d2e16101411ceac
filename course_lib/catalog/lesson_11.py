"""Lesson 11: what the compiler makes of a kernel: its forms, layouts, wide accesses, copies in advance, matrix units."""

from __future__ import annotations

import random
from typing import Any

import torch

from course_lib.catalog.accesses import LEFT_OVER, copied_wide
from course_lib.catalog.forms import is_list, wrong
from course_lib.catalog.inputs import floats, special
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz
from course_lib.machine.layouts import Blocked

NAME = "11_inside_the_compiler"

LAYOUT_OWNER = Quiz(
    name="layout_owner",
    lesson=NAME,
    question=(
        "A tile of 1024 elements has the layout `#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], "
        "order = [0]}>`. Which warp holds element 300, and which lane of that warp? Both are counted from 0."
    ),
    form="a list of two whole numbers: the warp, the lane",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [int(number) for number in Blocked((4,), (32,), (4,), (0,)).owners((1024,))[300, :2]],
    explanation=(
        "Each lane holds 4 neighbours, so a warp holds 4 · 32 = 128, and element 300 is the 44th after 2 whole warps: warp 2. "
        "44 // 4 = 11: lane 11. The four warps cover 512 elements, and then begin again: every lane holds 4 more."
    ),
    wrong=(
        wrong([11, 2], "The right numbers the wrong way round: the warp comes first."),
        wrong([1, 12], "With one element a lane it would be warp 9. Each lane holds 4 neighbours, and a warp 4 · 32 of them."),
        wrong([9, 12], "That is 300 // 32 and 300 % 32, as if each lane held one element. Here it holds 4 neighbours."),
        wrong([1, 11], "The lane is right. A warp holds 4 · 32 = 128 elements: how many whole ones come before element 300?"),
        wrong(
            [2, 43],
            "The warp is right. Lane 43 does not exist: each lane holds 4 neighbours, and element 300 is in one of these.",
        ),
        wrong([2, 44], "A warp has 32 lanes. Element 300 is the 44th of warp 2, and each lane holds 4 of these."),
    ),
    hints=(
        Hint("How many elements does one warp hold before the next one's begin?"),
        Hint("4 neighbours for each of 32 lanes: warp 0 has 0 to 127, warp 1 has 128 to 255."),
        Hint("Within warp 2 it is the element 300 − 256 = 44, and each lane has 4 in a row."),
    ),
)

LOAD_COUNTS = Quiz(
    name="load_counts",
    lesson=NAME,
    question=(
        "A program of 4 warps loads one tile of 1024 fp32 elements. How many load instructions stand in its code if each moves "
        "32 bits for a thread, and how many if each moves 128?"
    ),
    form="a list of two whole numbers: with 32 bits, with 128 bits",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [1024 // (4 * 32) // elements for elements in (1, 4)],
    explanation=(
        "4 warps are 128 threads, so each holds 1024 / 128 = 8 elements. One at a time that takes 8 instructions; 4 at a time, "
        "16 bytes, it takes 2. Every thread runs the same code, so that is also what stands in the listing."
    ),
    wrong=(
        wrong([2, 8], "The other way round: a wider load is one that you need fewer of."),
        wrong(
            [1024, 256], "That is how many a single thread would need. 128 threads run the same instructions, each for its own."
        ),
        wrong([32, 8], "That is for one warp. Four warps share the tile."),
        wrong([256, 64], "The tile is shared by 4 warps of 32 threads, not by 4 threads."),
        wrong([8, 1], "128 bits are 4 fp32 elements, not 8."),
    ),
    hints=(
        Hint("How many threads share the tile, and how many elements does each of them hold?"),
        Hint("A thread holds 1024 / 128 = 8 elements. An fp32 element has 32 bits."),
        Hint("8 loads of one element each, or 8 / 4 of four."),
    ),
)

WHOSE_CODE = Quiz(
    name="whose_code",
    lesson=NAME,
    question=(
        "Three kernels were compiled for sm_80: one copies a tile, one subtracts its mean, one multiplies two tiles with "
        "`tl.dot`. Which of the lists A, B and C belongs to which?"
    ),
    form='a list of three words in the order A, B, C, such as ["copy", "mean", "product"]',
    accepts=lambda value: isinstance(value, list) and sorted(map(str, value)) == ["copy", "mean", "product"],
    expected=lambda: ["mean", "product", "copy"],
    explanation=(
        "A exchanges values between lanes (shuffle) and between warps (shared memory and barriers): that is a sum, so it is "
        "the mean. B has matrix instructions, which only `tl.dot` brings. C loads and stores, and nothing else that touches "
        "another thread."
    ),
    wrong=(
        wrong(["product", "mean", "copy"], "Only `tl.dot` brings matrix instructions, and only one list has them."),
        wrong(["copy", "product", "mean"], "To copy, no lane needs another one's value. Which list has no shuffle?"),
    ),
    hints=(
        Hint("Begin with the kind of instruction that only one of the three kernels can have a use for."),
        Hint("Matrix instructions come from `tl.dot`; shuffles carry a value from one lane of a warp to another."),
        Hint("A copy needs nothing from other threads: no shuffle, no barrier, no shared memory."),
    ),
)


def _vector(generator: torch.Generator, n: int, dtype: str = "fp32", start: int = 0, values: str = "normal") -> tuple[Any]:
    """One vector of `n` values that begins `start` elements after the beginning of its storage."""
    larger = floats(generator, start + n)
    larger = special(generator, larger) if values == "special" else larger
    return (larger.to({"fp32": torch.float32, "fp16": torch.float16}[dtype])[start:],)


def _drawn(numbers: random.Random) -> tuple[Params, ...]:
    """Lengths that nobody knows beforehand: one that 16 divides and one that it does not, and one that begins elsewhere."""
    return (
        {"n": 16 * numbers.randint(300, 500)},
        {"n": 16 * numbers.randint(300, 500) + numbers.randint(1, 15)},
        {"n": 16 * numbers.randint(300, 500), "start": numbers.choice((2, 3, 5, 6, 7))},
    )


def _straddle(block: int) -> tuple[Params, ...]:
    """Lengths on both sides of one block and of two, up to 2¹⁷; and what begins elsewhere."""
    around = [n for n in (block - 1, block, block + 1, 2 * block + 1) if 0 < n <= 2**17 + 1]
    return (*({"n": n} for n in around), *({"n": n, "start": 1} for n in around[-1:]))


VECTORISED_COPY = Exercise(
    name="vectorised_copy",
    lesson=NAME,
    points=2,
    signature="vectorised_copy(x)",
    statement=(
        "Return a copy of the contiguous 1-D tensor `x` (fp32 or fp16, any length), made by loads and stores of 128 bits. "
        f"Fewer than {LEFT_OVER} elements may be copied in narrower pieces. Where `x` does not begin at a multiple of 16 "
        "bytes, any width will do."
    ),
    reference=lambda x: x.clone(),
    make_inputs=_vector,
    cases=(
        {"n": 1},
        {"n": 3},
        {"n": 16},
        {"n": 17},
        {"n": 1000},
        {"n": 1024},
        {"n": 0},
        {"n": 131, "values": "special"},
        {"n": 4096},
        {"n": 4112, "dtype": "fp16"},
        {"n": 5000},
        {"n": 5003},
        {"n": 5007, "dtype": "fp16"},
        {"n": 4111, "start": 1},
        {"n": 4128, "start": 1},
        {"n": 4128, "start": 4, "dtype": "fp16"},
        {"n": 70_001},
    ),
    drawn=_drawn,
    straddle=_straddle,
    torch_may="allocate",
    compiled_code=copied_wide,
    hints=(
        Hint(
            "First make it right for every length: programs, offsets, a mask. Then look at what it was compiled to, as the "
            "lesson does with `compile_for`.",
            frozenset({"no_kernel", "torch_compute", "first_block_only", "mismatch", "unwritten:no_program"}),
        ),
        Hint(
            "Share the tile out: BLOCK_SIZE elements over 32 · num_warps threads. Each thread must hold at least 16 bytes: 4 "
            "elements of fp32, 8 of fp16.",
            frozenset({"compiled_code:small"}),
        ),
        Hint(
            "A thread gets the neighbours of the tile at once if they are neighbours in memory: `start + tl.arange(0, "
            "BLOCK_SIZE)`, with nothing multiplied.",
            frozenset({"compiled_code:scattered"}),
        ),
        Hint(
            "The mask decides. For 16 bytes at a time the compiler must know that its bound is divisible by 16. `n` is not, "
            "but you can compute a number from it that is, in a way that the compiler sees through: something times 16. What "
            "is left over is a load of its own.",
            frozenset({"compiled_code:bound"}),
        ),
        Hint(
            "Let the whole part end at `whole = n // 16 * 16`, and mask with `offsets < whole`. One program copies the "
            "elements from `whole` to `n`, with a mask and a tile of 16. (`n - n % 16` is the same number, but not to the "
            "compiler.)",
            frozenset({"unwritten", "unwritten:tail", "unwritten:gaps", "tail"}),
        ),
        Hint(
            "Something hides what a number is divisible by: `do_not_specialize`, a start that is no product with BLOCK_SIZE, "
            "an address that went through `tl.minimum`, a bound such as `n - n % 16`. The compiler sees through a product: "
            "`n // 16 * 16`.",
            frozenset({"compiled_code:unproven"}),
            asked=False,
        ),
        Hint(
            "`tl.multiple_of` and a pointer's cast to a wider type are promises, and no GPU checks them. An `x` may begin "
            "anywhere. Promise nothing about its address: a launch tells the compiler by itself.",
            frozenset({"compiled_code:misaligned", "load_out_of_bounds:size", "store_out_of_bounds:size"}),
            asked=False,
        ),
        Hint(
            "`tl.max_constancy` is a promise, and no GPU checks it. A mask that ends within 16 bytes does not keep this one. "
            "Choose a bound that is divisible by 16 instead, and copy the rest by itself.",
            frozenset({"compiled_code:cut"}),
            asked=False,
        ),
        Hint(
            "The rest needs a mask, too: from `whole` on, only the elements below n are there.",
            frozenset(
                {"load_out_of_bounds", "store_out_of_bounds", "load_out_of_bounds:unmasked", "store_out_of_bounds:unmasked"}
            ),
            asked=False,
        ),
        Hint(
            "Nearly the answer: with `whole = n // 16 * 16` and `mask = offsets < whole`, every program does "
            "`tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask), mask=mask)`; and program 0 does the same "
            "once more for `rest = whole + tl.arange(0, 16)`, with the mask `rest < n`.",
        ),
        Hint(
            "Load and store are looked at one by one. Do both have the bound that is divisible by 16?",
            frozenset({"compiled_code"}),
            asked=False,
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Inside the compiler",
    minutes=40,
    items=(LAYOUT_OWNER, LOAD_COUNTS, WHOSE_CODE, VECTORISED_COPY),
)
