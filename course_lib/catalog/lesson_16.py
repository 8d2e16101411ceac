"""Lesson 16: questions about the whole course, each a small situation whose answer can be computed, read or chosen."""

from __future__ import annotations

from typing import Any

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.model import Hint, Lesson, Quiz, Wrong
from course_lib.machine.occupancy import Resources, occupancy
from course_lib.machine.specs import find_gpu

NAME = "16_self_check"


def _hints(nudge: str, nearly: str, back: str) -> tuple[Hint, ...]:
    """Two steps of help, and the lesson to go back to."""
    return Hint(nudge), Hint(nearly), Hint(f"Go back to lesson {back}.")


def _cdiv(a: int, b: int) -> int:
    return -(-a // b)


# --- threads and tiles ------------------------------------------------------------------------------------------------

BLOCK_OR_THREADS = Quiz(
    name="block_or_threads",
    lesson=NAME,
    question=(
        "A Triton kernel works on 10,000 elements, with `BLOCK_SIZE=1024` and `num_warps=4`, on an NVIDIA GPU. How many "
        "programs must start, how many threads does each have, and how many elements of a whole block does one thread hold?"
    ),
    form="a list of three whole numbers: programs, threads of a program, elements of a thread",
    accepts=lambda value: is_list(value, 3),
    expected=lambda: [_cdiv(10_000, 1024), 4 * 32, 1024 // (4 * 32)],
    explanation=(
        "`BLOCK_SIZE` counts elements of a tile, and `num_warps` threads: 4 · 32 = 128. So a thread holds 1024 / 128 = 8 of "
        "them. In CUDA, a block's size counts threads, and how many elements each takes is your own affair."
    ),
    wrong=(
        wrong(
            [10, 1024, 1], "That reads `BLOCK_SIZE` as CUDA's `blockDim`. Here it counts elements; `num_warps` gives threads."
        ),
        wrong([9, 128, 8], "9 · 1024 = 9216 elements. Who does the rest?"),
        wrong([10, 4, 256], "A warp is not a thread: it has 32 of them."),
        wrong([79, 128, 1], "A program takes a whole tile of 1024 elements, not one element a thread."),
        wrong([10, 128, 32], "32 is a warp's threads. The tile's 1024 elements are shared by all 128."),
    ),
    hints=_hints(
        "`BLOCK_SIZE` belongs to the tile, `num_warps` to the threads. Neither says anything about the other.",
        "Round 10,000 / 1024 up. A warp has 32 threads. The tile is divided evenly among all threads.",
        "01, From warps to tiles",
    ),
)

COMMON_GROUND = Quiz(
    name="common_ground",
    lesson=NAME,
    question=(
        "Which of these hold for a Triton program *and* for a CUDA thread block, with neither clusters nor `num_ctas`? (1) "
        "It has a number along each of up to three axes. (2) The source says which elements each thread computes. (3) It "
        "stays on one multiprocessor until it ends. (4) In which order those of one launch run is not promised. (5) Whoever "
        "writes the kernel declares its shared memory. (6) It has one thread for each element it computes."
    ),
    form="a list of numbers from 1 to 6",
    accepts=is_list,
    any_order=True,
    expected=lambda: [1, 3, 4],
    explanation=(
        "Where it runs and how it is numbered is the same, and so is what you may not rely on. (2) and (5) are CUDA's: in "
        "Triton, both are the compiler's. (6) is a habit of CUDA's first examples, and a rule of neither."
    ),
    wrong=(
        Wrong(lambda value: 2 in value, "wrong_answer", "(2): where in a Triton kernel did you ever see a thread's index?"),
        Wrong(
            lambda value: 5 in value, "wrong_answer", "(5): in Triton, shared memory is found in compiled code, not in yours."
        ),
        Wrong(
            lambda value: 6 in value, "wrong_answer", "(6): think of `BLOCK_SIZE=1024` with 4 warps, or of a loop over rows."
        ),
        wrong([1, 3], "One is missing: may program 1 wait for what program 0 has stored?"),
        wrong([1, 4], "One is missing: could a program's registers move to another multiprocessor half-way?"),
        wrong([3, 4], "One is missing: `tl.program_id(axis)` and `blockIdx.x`, `.y`, `.z`."),
    ),
    hints=_hints(
        "Ask of each: who decides this in CUDA, and who in Triton?",
        "Three hold. They are about the grid and the hardware, not about the inside.",
        "01, From warps to tiles, and 03, Programs and grids",
    ),
)

# --- programs and grids -----------------------------------------------------------------------------------------------


def _shares(rows: int, programs: int) -> list[int]:
    return [len(range(program, rows, programs)) for program in range(programs)]


SHARES_OF_ROWS = Quiz(
    name="shares_of_rows",
    lesson=NAME,
    question=(
        "1823 rows, and 1056 programs. Each runs `for row in tl.range(row_start, n_rows, row_step)`, where `row_start` is "
        "`tl.program_id(0)` and `row_step` is `tl.num_programs(0)`. How many rows does program 0 compute, how many program "
        "1055, and how many programs compute just one?"
    ),
    form="a list of three whole numbers",
    accepts=lambda value: is_list(value, 3),
    expected=lambda: [_shares(1823, 1056)[0], _shares(1823, 1056)[-1], _shares(1823, 1056).count(1)],
    explanation=(
        "After one row for each, 1823 − 1056 = 767 are left, for the programs 0 to 766. The other 289 have no second row: "
        "1055 + 1056 is past the end. Shares differ by one at most, but here that is twice the work."
    ),
    wrong=(
        wrong([2, 2, 0], "Program 1055 would have rows 1055 and 2111. How many rows are there?"),
        wrong([2, 1, 767], "767 is how many have a second row. The question is about the others."),
        wrong([2, 1, 288], "Nearly. Rows count from 0: 1823 − 1056 = 767 programs have a second row. How many do not?"),
        wrong([2, 1, 290], "Nearly. Rows count from 0: 1823 − 1056 = 767 programs have a second row. How many do not?"),
    ),
    hints=_hints(
        "Program p computes the rows p, p + 1056, p + 2 · 1056, … as long as they exist.",
        "A program has a second row if p + 1056 is below 1823. For how many p is that so?",
        "03, Programs and grids",
    ),
)

FAULTY_LINE = Quiz(
    name="faulty_line",
    lesson=NAME,
    question=(
        "Every value of `rescan_softmax_kernel` comes out right, but on a grid of 4 the rows from the fourth on are stored "
        "four times each. Which line of the kernel, counted as its comments do, is to blame?"
    ),
    form="one whole number from 1 to 8",
    accepts=lambda value: is_whole(value) and 1 <= value <= 8,
    expected=lambda: 3,
    explanation=(
        "The loop has no step, so program p computes *all* rows from p on. All programs store the same values, so no "
        "comparison of values sees it: it is only slow, and a race. `tl.range(row_start, n_rows, tl.num_programs(0))`."
    ),
    wrong=(
        wrong(1, "`row_start` is right: four programs begin with four different rows."),
        wrong(5, "Pad lanes with −inf: their exp is 0. That is as it should be."),
        wrong(6, "Subtracting the maximum is what makes it stable, and it does not say which rows are computed."),
        wrong(
            8, "The store is masked, and goes to the row that was computed. Why does another program compute that row as well?"
        ),
    ),
    hints=_hints(
        "The values are right, so load, arithmetic and store are. What else says who does which row?",
        "List the rows of program 1, as the loop gives them.",
        "09, The persistent softmax",
    ),
)

# --- memory and masks -------------------------------------------------------------------------------------------------


def _wrong_stride() -> list[int]:
    memory = torch.arange(24)
    view = memory.view(4, 6)[:, 1:5]
    wrong_place = view.storage_offset() + 2 * view.shape[1] + 3
    return [int(view[2, 3]), int(memory[wrong_place])]


WRONG_STRIDE = Quiz(
    name="wrong_stride",
    lesson=NAME,
    question=(
        "`x = torch.arange(24.0).view(4, 6)`, and a kernel is given `v = x[:, 1:5]`, which has 4 columns. Somebody thought "
        "that the row stride could be spared, and loads `v_ptr + row * n_cols + column`. Which number should the lane of row "
        "2 and column 3 get, and which one does it get?"
    ),
    form="a list of two whole numbers: the right one, the one it gets",
    accepts=lambda value: is_list(value, 2),
    expected=_wrong_stride,
    explanation=(
        "Rows of `v` still lie 6 elements apart, and `v_ptr` points at element 1: 1 + 2 · 6 + 3 = 16. With `n_cols` it becomes "
        "1 + 2 · 4 + 3 = 12, which belongs to another row, and the mask has nothing against it. A row stride is passed because "
        "a shape does not tell it."
    ),
    wrong=(
        wrong([15, 11], "The pointer of a view begins at the view's first element. What is `v[0, 0]`?"),
        wrong([16, 11], "The first is right. The wrong lane also begins at `v_ptr`, which is not `x_ptr`."),
        wrong([12, 16], "The right numbers the wrong way round: rows of `v` lie 6 elements apart, as those of `x` do."),
        wrong([16, 16], "Then `n_cols` would be as good as the stride. It is 4; how far apart do rows lie?"),
    ),
    hints=_hints(
        "Write the 24 numbers in 4 rows of 6, and draw a box around `v`.",
        "`v_ptr` points at the number 1. Add 2 · 6 + 3 for one of them, 2 · 4 + 3 for the other.",
        "04, Loads, stores and masks",
    ),
)

WIDTHS = (1, 48, 64, 100, 1000, 1024, 1025)
UNMASKED_WIDTHS = Quiz(
    name="unmasked_widths",
    lesson=NAME,
    question=(
        "One program a row, `BLOCK_SIZE = triton.next_power_of_2(n_cols)`, and *no mask anywhere*. For which of "
        f"{', '.join(map(str, WIDTHS))} columns is the softmax right and nothing else touched?"
    ),
    form="a list of numbers of columns",
    accepts=is_list,
    any_order=True,
    expected=lambda: [n for n in WIDTHS if n & (n - 1) == 0],
    explanation=(
        "`tl.arange` takes powers of two only, so a block has spare lanes unless the columns are one, too (1 is: 2⁰). A test "
        "that knows 64 and 1024 only will never miss the mask."
    ),
    wrong=(
        wrong([64, 1024], "One is missing. What is `next_power_of_2(1)`?"),
        wrong([48, 64, 1024], "48 is a multiple of 16, which makes loads wide. But the block has 64 lanes."),
        wrong([1, 48, 64, 1024], "48 is a multiple of 16, which makes loads wide. But the block has 64 lanes."),
        wrong([48, 100, 1000, 1025], "That is where masks are needed. The question is where it works without."),
        wrong(list(WIDTHS), "The block of 100 columns has 128 lanes. What do the last 28 load?"),
    ),
    hints=_hints(
        "Which of the blocks has no spare lane?",
        "The block is rounded up to a power of two. It is as long as the row when the row's length already is one.",
        "04, Loads, stores and masks, and 03 for `tl.arange`",
    ),
)

CONSEQUENCES = ("values", "strays", "both", "neither")
MASK_LEFT_OUT = Quiz(
    name="mask_left_out",
    lesson=NAME,
    question=(
        "A softmax kernel computes the *one* row of a (1, 5) matrix in a block of 8. Three versions: (A) the load is masked "
        "but has no `other`, the store is masked; (B) the load is right, the store has no mask; (C) the load has no mask, "
        'the store is masked. Say for each what goes wrong: "values" (the five results may be wrong), "strays" (memory '
        'outside of the tensors is touched), "both" or "neither".'
    ),
    form='a list of three words, each "values", "strays", "both" or "neither"',
    accepts=lambda value: isinstance(value, list) and len(value) == 3 and all(one in CONSEQUENCES for one in value),
    expected=lambda: ["values", "strays", "both"],
    explanation=(
        "(A) touches nothing that it should not, but its spare lanes hold anything, and the maximum and the sum take them "
        "in. (B) computes right values, and writes three more elements over whatever lies behind. (C) reads past the end, "
        "*and* lets what it finds there into the sum. So each of the two masks, and `other`, keeps another thing away."
    ),
    wrong=(
        wrong(["neither", "strays", "both"], "(A): a masked lane without `other` holds something undefined. Who uses it?"),
        wrong(["values", "strays", "strays"], "(C): the three stray values take part in a maximum and a sum."),
        wrong(["values", "both", "both"], "(B): the load is right, so what is stored in the five places is, too."),
        wrong(["values", "neither", "both"], "(B): three spare lanes store as well. Where to?"),
        wrong(["both", "strays", "both"], "(A): a lane that is masked off touches no memory."),
        wrong(["values", "strays", "values"], "(C): lanes 5, 6 and 7 do load, from behind the tensor."),
    ),
    hints=_hints(
        "Ask two things of each: which addresses are touched, and which lanes does the reduction see?",
        "A mask keeps a lane from memory, `other` keeps it harmless in a reduction. Which of the two is missing where?",
        "04, Loads, stores and masks, and 08, The fused softmax",
    ),
)


def _sector_bytes(stride: int) -> int:
    """The bytes of all 32-byte sectors that 32 lanes touch, in fp16, `stride` elements apart, beginning a sector."""
    return 32 * len({lane * stride * 2 // 32 for lane in range(32)})


COLUMN_BYTES = Quiz(
    name="column_bytes",
    lesson=NAME,
    question=(
        "A contiguous fp16 matrix has 1000 columns, and begins a sector of 32 bytes. How many bytes must come from memory, in "
        "whole sectors, for its first 32 elements of a *row*, and how many for the first 32 of a *column*?"
    ),
    form="a list of two whole numbers: row, column",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [_sector_bytes(1), _sector_bytes(1000)],
    explanation=(
        "In a row, 32 · 2 = 64 bytes are two full sectors. Down a column each element is in a sector of its own: 32 · 32 = "
        "1024 bytes for 64 that are wanted. No compiler can mend that; another layout or another tile can."
    ),
    wrong=(
        wrong([64, 64], "Memory hands out whole sectors. How many elements of the column share one?"),
        wrong([128, 1024], "An element of fp16 has 2 bytes."),
        wrong([2, 32], "Those are the sectors. The question is about their bytes."),
        wrong([64, 64000], "What lies between the elements is not fetched, unless it is in the same sector."),
        wrong([32, 1024], "32 elements of 2 bytes are 64: two sectors."),
        wrong([1024, 64], "The other way round: neighbours in a row lie side by side."),
    ),
    hints=_hints(
        "How far apart are neighbours of a row, in bytes, and neighbours of a column?",
        "A sector of 32 bytes holds 16 elements of fp16, if they lie side by side. In a column they are 2000 bytes apart.",
        "04, Loads, stores and masks",
    ),
)

# --- choosing and reducing --------------------------------------------------------------------------------------------

WHERE_OR_MASK = Quiz(
    name="where_or_mask",
    lesson=NAME,
    question=(
        "`keep` is true in 16 of 256 lanes. How many elements does `tl.where(keep, tl.load(x_ptr + lanes), 0.0)` read, how "
        "many does `tl.load(x_ptr + lanes, mask=keep, other=0.0)` read, and for how many lanes does `tl.where(keep, "
        "tl.exp(v), v)` say that an `exp` is computed?"
    ),
    form="a list of three whole numbers",
    accepts=lambda value: is_list(value, 3),
    expected=lambda: [256, 16, 256],
    explanation=(
        "`where` gets two finished tiles and picks, lane by lane. What it does not pick has been loaded and computed all the "
        "same. Only a mask keeps a lane from memory. (So a stray load is not mended by `where`, and neither is a division of "
        "whole numbers by 0. In floats, a / 0 raises nothing: it is inf or NaN, and `where` may throw it away.)"
    ),
    wrong=(
        wrong([16, 16, 16], "That is what an `if` for each lane would do. `where` is a function: its arguments come first."),
        wrong([16, 16, 256], "Both calls of `where` are alike: when it begins to choose, the tile has been loaded."),
        wrong([256, 16, 16], "Both calls of `where` are alike: when it begins to choose, `tl.exp(v)` is a whole tile."),
        wrong([256, 256, 256], "A lane that `mask` turns off touches no memory."),
    ),
    hints=_hints(
        "In `f(a, b)`, what is computed first?",
        "`where` chooses between two tiles that are there already. A mask is part of the load itself.",
        "05, Elementwise and where",
    ),
)

RIGHT_OTHER = Quiz(
    name="right_other",
    lesson=NAME,
    question=(
        "Spare lanes of a block must not change a result. With which `other` is that so, whatever the row holds: for a sum, a "
        "maximum, a minimum, a product, and for the softmax of the row? Nothing is done to the spare lanes after the load."
    ),
    form='a list of five texts, each "0", "1", "-inf" or "inf"',
    accepts=lambda value: isinstance(value, list) and len(value) == 5 and all(map(_is_other, value)),
    expected=lambda: ["0", "-inf", "inf", "1", "-inf"],
    explanation=(
        "Each is the identity of its operation: the value that leaves every other as it is. A softmax has two reductions, and "
        "−inf is good for both: it is the maximum's identity, and exp(−inf) is 0, the sum's."
    ),
    wrong=(
        wrong(["0", "0", "0", "0", "0"], "What is the maximum of −3 and −2 and a spare lane with 0?"),
        wrong(["0", "-inf", "inf", "1", "0"], "For a softmax, a spare lane with 0 is a score of 0: it adds exp(0 − max)."),
        wrong(["0", "inf", "-inf", "1", "-inf"], "The maximum of 5 and inf is inf. Maximum and minimum are exchanged."),
        wrong(["0", "-inf", "inf", "0", "-inf"], "What is left of a product with a 0 in it?"),
        wrong(["0", "0", "inf", "1", "-inf"], "A row can be negative all through. What is its maximum beside a 0?"),
    ),
    hints=_hints(
        "For each operation: which value v has op(v, a) = a for all a?",
        "a + 0, max(a, −inf), … and a softmax needs what is right for its maximum, and after `exp` for its sum.",
        "06, Reductions and loops, and 08, The fused softmax",
    ),
)


def _is_other(value: Any) -> bool:
    return value in ("0", "1", "-inf", "inf")


# --- softmax ----------------------------------------------------------------------------------------------------------

LINES = {
    "A": "top = tl.max(scores, axis=0)",
    "B": "columns = tl.arange(0, BLOCK_SIZE)",
    "C": "tl.store(y_ptr + row * y_row_stride + columns, powers / total, mask=columns < n_cols)",
    "D": "row = tl.program_id(0)",
    "E": "total = tl.sum(powers, axis=0)",
    "F": 'scores = tl.load(x_ptr + row * x_row_stride + columns, mask=columns < n_cols, other=-float("inf"))',
    "G": "powers = tl.exp(scores - top)",
}
"""The lines of a softmax kernel, shuffled, as the lesson shows them."""


def _before(early: str, late: str, reply: str) -> Wrong:
    """The reply to an order in which `early` does not come before `late`."""
    return Wrong(lambda value: value.index(early) > value.index(late), "wrong_answer", reply)


SOFTMAX_ORDER = Quiz(
    name="softmax_order",
    lesson=NAME,
    question="In which order do the lines A to G make a softmax of one row a program? The row comes before the columns.",
    form='the seven letters as one text, such as "ABCDEFG"',
    accepts=lambda value: isinstance(value, str) and sorted(value) == sorted(LINES),
    expected=lambda: "DBFAGEC",
    explanation=(
        "Which row, which columns; their addresses, and the load; maximum, powers, sum; division and store. Almost every "
        "kernel of this course has these steps: who am I, which elements are mine, load, compute, store."
    ),
    wrong=(
        _before("D", "B", "That may even run. But as agreed, the row comes before the columns."),
        _before("D", "F", "The load needs to know its row."),
        _before("B", "F", "The load adds `columns` to its pointer. Where do they come from?"),
        _before("F", "A", "Of what would that be the maximum? Nothing has been loaded yet."),
        _before("A", "G", "The powers are of `scores - top`, so that none of them overflows. Who knows `top` by then?"),
        _before("G", "E", "The sum is one of powers. They must have been computed."),
        _before("E", "C", "What is stored is divided by the sum."),
    ),
    hints=_hints(
        "For each line: which names does it use, and which line makes them?",
        "It begins with D and B, and ends with E and C.",
        "08, The fused softmax",
    ),
)


def _half_softmax() -> list[int]:
    powers = torch.tensor([0.0, 0.0, 13.0], dtype=torch.float16).exp()
    shares = powers / powers.sum()
    return [int(shares.isnan().sum()), int((shares == 0).sum())]


HALF_SOFTMAX = Quiz(
    name="half_softmax",
    lesson=NAME,
    question=(
        "A softmax without the maximum, all of it in fp16, whose largest number is 65504. A row has the scores 0, 0 and 13, "
        "and exp(13) is about 442,000. How many NaN come out, and how many zeros?"
    ),
    form="a list of two whole numbers: NaN, zeros",
    accepts=lambda value: is_list(value, 2),
    expected=_half_softmax,
    explanation=(
        "exp(13) is inf, so the sum is inf: 1 / inf = 0 twice, and inf / inf = NaN once. With the maximum subtracted, the "
        "powers are exp(−13) and 1, which fp16 can hold. So subtract it, and compute in fp32 besides: it costs nothing, as "
        "the memory is what takes the time."
    ),
    wrong=(
        wrong([3, 0], "What is 1 / inf?"),
        wrong([0, 2], "The zeros are right. And what is inf / inf?"),
        wrong([0, 0], "fp16 cannot hold 442,000. What does it make of it?"),
        wrong([1, 0], "The NaN is right. And 1 / inf?"),
        wrong([2, 1], "The right numbers the wrong way round."),
    ),
    hints=_hints(
        "Write down the three powers as fp16 has them, then their sum, then the three divisions.",
        "1, 1, inf; the sum is inf; so 1 / inf twice, and inf / inf.",
        "02, Softmax in PyTorch, and 08, The fused softmax",
    ),
)

# --- persistent programs and occupancy --------------------------------------------------------------------------------

NEEDS = Resources(registers=40, shared=48 * 1024, threads=8 * 32)
"""What a program of the question needs: 40 registers a thread, 48 KiB of shared memory, 8 warps."""


def _started() -> list[int]:
    gpu = find_gpu("H200")
    at_once = occupancy(NEEDS, "H200").programs_per_sm
    return [at_once, *(min(at_once * gpu.sms, rows) for rows in (300, 4096))]


PROGRAMS_STARTED = Quiz(
    name="programs_started",
    lesson=NAME,
    question=(
        "A multiprocessor of an H200 has 65,536 registers, 227 KiB of shared memory, and places for 64 warps and 32 "
        "programs; there are 132 of them. A program has 8 warps, 40 registers a thread, and 48 KiB of shared memory (and 1 "
        "KiB more, which the system takes for each). How many programs fit on a multiprocessor at once, and how many does a "
        "persistent launcher start for 300 rows, and for 4096?"
    ),
    form="a list of three whole numbers: on a multiprocessor, for 300 rows, for 4096 rows",
    accepts=lambda value: is_list(value, 3),
    expected=_started,
    explanation=(
        "Registers: 65,536 / (40 · 256) = 6. Warps: 64 / 8 = 8. Shared memory: 227 / 49 = 4, and the scarcest counts. 4 · "
        "132 = 528 run at once; of 300 rows, each has its own program, and more would have nothing to do. Of 4096, each "
        "program takes seven or eight."
    ),
    wrong=(
        wrong([6, 300, 792], "That is what the registers allow. Look at shared memory as well."),
        wrong([8, 300, 1056], "That is what the places for warps allow. The scarcest resource counts."),
        wrong([4, 528, 528], "With 300 rows, what would the last 228 programs do?"),
        wrong([4, 300, 4096], "A persistent kernel starts as many as run at once, and each goes from row to row."),
        wrong([4, 300, 512], "4096 / 8 is even, but the launcher starts as many as fit: 4 on each of 132."),
    ),
    hints=_hints(
        "Divide each resource by what one program needs of it, and round down. The smallest counts.",
        "Registers 6, warps 8, shared memory 227 // 49. Times 132, but never more than rows.",
        "09, The persistent softmax",
    ),
)

T4_CASES = (
    Resources(registers=32, shared=0, threads=4 * 32),
    Resources(registers=16, shared=1024, threads=8 * 32),
    Resources(registers=64, shared=8 * 1024, threads=8 * 32),
    Resources(registers=32, shared=80 * 1024, threads=4 * 32),
)
OUTCOMES = ("stops", "none", "too many", "right")


def published_formula(needs: Resources) -> str:
    """What the tutorial's formula makes of these needs on a T4, in a word of `OUTCOMES`."""
    if not needs.shared:
        return "stops"
    given = min(65536 // (needs.registers * needs.threads), 64 * 1024 // needs.shared)
    if not given:
        return "none"
    return "too many" if given > occupancy(needs, "T4").programs_per_sm else "right"


FORMULA_CASES = Quiz(
    name="formula_cases",
    lesson=NAME,
    question=(
        "A tutorial's launcher takes `min(NUM_REGS // (n_regs * 32 * num_warps), SIZE_SMEM // shared)` programs for each "
        "multiprocessor. On a T4 (65,536 registers, 64 KiB, places for 32 warps and 16 programs), what comes of it for: (1) "
        "32 registers, 4 warps, no shared memory; (2) 16 registers, 8 warps, 1 KiB; (3) 64 registers, 8 warps, 8 KiB; (4) 32 "
        'registers, 4 warps, 80 KiB? "stops" (Python stops with an error), "none" (it comes to 0 programs), "too many" (more '
        'than fit), or "right".'
    ),
    form='a list of four words, each "stops", "none", "too many" or "right"',
    accepts=lambda value: isinstance(value, list) and len(value) == 4 and all(one in OUTCOMES for one in value),
    expected=lambda: [published_formula(needs) for needs in T4_CASES],
    explanation=(
        "(1) divides by 0. (2) comes to 16, and 32 warps are room for 4. (3) comes to 4, and 32 warps are room for as many. "
        "(4) comes to 0, and a grid of 0 computes nothing. `course_lib.occupancy` knows all limits; a launcher also needs a "
        "way out where not one program fits."
    ),
    wrong=(
        wrong(["right", "too many", "right", "none"], "(1): `SIZE_SMEM // 0`."),
        wrong(
            ["stops", "right", "right", "none"], "(2): it comes to 16 programs of 8 warps. For how many warps is there room?"
        ),
        wrong(["stops", "too many", "right", "stops"], "(4): 65536 // 81920 raises nothing. What is it?"),
        wrong(["stops", "too many", "too many", "none"], "(3): 4 programs of 8 warps just fit the 32 places."),
        wrong(["stops", "none", "right", "none"], "(2): 65536 // 4096 = 16 and 65536 // 1024 = 64. That is not 0."),
    ),
    hints=_hints(
        "Compute both quotients for each, as Python would.",
        "Then compare with the places for warps: at most 32 // num_warps programs.",
        "09, The persistent softmax",
    ),
)

# --- measuring --------------------------------------------------------------------------------------------------------

NAIVE_PASSES = (1, 2, 2, 1, 2)
LAUNCH_US, GBPS = 5.0, 4000.0


def naive_over_fused(elements: float) -> float:
    """How many times as long the naive softmax takes, if each kernel takes its launch or its bytes, whichever is longer."""

    def microseconds(passes: int) -> float:
        return max(LAUNCH_US, passes * elements * 4 / (GBPS * 1e3))

    return sum(map(microseconds, NAIVE_PASSES)) / microseconds(2)


BOTH_ENDS = Quiz(
    name="both_ends",
    lesson=NAME,
    question=(
        "A simple model: a kernel takes 5 µs, or the time for its bytes at 4000 GB/s, whichever is longer. The fused softmax "
        "is one kernel and goes over the matrix twice (one read, one write). The naive one is five kernels, which go over it "
        "1, 2, 2, 1 and 2 times. How many times as long does the naive one take, for a tiny matrix, and for a huge one?"
    ),
    form="a list of two whole numbers: tiny, huge",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [round(naive_over_fused(64 * 256)), round(naive_over_fused(2**32))],
    explanation=(
        "Tiny: five launches against one. Huge: 8 passes against 2. So fusing pays at both ends, for two different reasons, "
        "and only where times grow with the matrix is it memory that you spare."
    ),
    wrong=(
        wrong([4, 4], "For a tiny matrix, bytes cost nothing in this model. What does?"),
        wrong([5, 5], "For a huge matrix, launches do not count any more. Count passes."),
        wrong([5, 8], "8 passes, yes. And how many has the fused one?"),
        wrong([1, 4], "For a tiny matrix each kernel takes 5 µs. How many kernels are there?"),
        wrong([4, 5], "The right numbers the wrong way round."),
    ),
    hints=_hints(
        "At each end, one of the two times can be left out.",
        "Tiny: count kernels. Huge: count passes, 1 + 2 + 2 + 1 + 2 against 1 + 1.",
        "02, Softmax in PyTorch, and 10, Measuring",
    ),
)

BOUNDS = ("launch", "memory", "wrong")
WHAT_BOUNDS = Quiz(
    name="what_bounds",
    lesson=NAME,
    question=(
        "A softmax in fp32, on a GPU whose data sheet has 4800 GB/s, where an empty kernel takes 5 µs. Four times, as somebody "
        "tells them: (1) 64 × 2048 in 6 µs; (2) 4096 × 16384 in 134 µs; (3) 4096 × 4096 in 20 µs; (4) 4096 × 16384 in 700 µs, "
        'computed op by op, which moves four times as much. What is each? "launch" (mostly the launch was timed), "memory" '
        '(the memory is busy most of the time), or "wrong" (cannot be).'
    ),
    form='a list of four words, each "launch", "memory" or "wrong"',
    accepts=lambda value: isinstance(value, list) and len(value) == 4 and all(one in BOUNDS for one in value),
    expected=lambda: ["launch", "memory", "wrong", "memory"],
    explanation=(
        "2 · M · N · 4 bytes over the time: (1) 175 GB/s, and 1 µs more than an empty kernel. (2) 4006 GB/s. (3) 6711 GB/s, "
        "above the data sheet: a warm cache, or a clock that did not wait. (4) 767 GB/s of *effective* bandwidth, but it "
        "moves four times that, 3068 GB/s: the memory is busy, with bytes that nobody needed."
    ),
    wrong=(
        wrong(["memory", "memory", "wrong", "memory"], "(1): 2 · 64 · 2048 · 4 bytes need 0.2 µs at 4800 GB/s."),
        wrong(["launch", "memory", "memory", "memory"], "(3): 2 · 4096² · 4 bytes in 20 µs. How many GB/s is that?"),
        wrong(["launch", "memory", "wrong", "launch"], "(4): five launches take 25 of the 700 µs."),
        wrong(
            ["launch", "memory", "wrong", "wrong"], "(4): 767 GB/s is low, but nothing forbids it. How much was really moved?"
        ),
        wrong(["launch", "wrong", "wrong", "memory"], "(2): 2 · 4096 · 16384 · 4 bytes in 134 µs are 4006 GB/s, below 4800."),
    ),
    hints=_hints(
        "Turn each time into GB/s first: 2 · M · N · 4 bytes over the time.",
        "Above 4800 cannot be. Close to 5 µs is the launch. And what is *moved* keeps a memory busy, needed or not.",
        "10, Measuring",
    ),
)

# --- the compiler -----------------------------------------------------------------------------------------------------

READ_PTX = Quiz(
    name="read_ptx",
    lesson=NAME,
    question=(
        "The list holds all that the kernel's PTX has of loads, shuffles, shared memory, barriers and additions. How many "
        "warps has a program, and how many elements the tile that it adds up?"
    ),
    form="a list of two whole numbers: warps, elements",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [2**2, 2 * 4 * 32 * 2**2],
    explanation=(
        "After the barrier, a butterfly over the distances 2 and 1 adds up 4 partial sums, one for each warp. Each of the 4 "
        "· 32 threads makes two loads of four elements, 8 in all: 1024. The rest is the sum of lesson 01: in the thread, in "
        "the warp, across warps."
    ),
    wrong=(
        wrong([1, 256], "With one warp, what would the shared memory and the barriers be for?"),
        wrong([2, 512], "Two shuffles after the barrier reach 2 · 2 partial sums, not 2."),
        wrong([4, 256], "`v4` means four elements in one load, and there are two loads."),
        wrong([4, 512], "There are two loads, of four elements each."),
        wrong([4, 8], "8 elements are one thread's. How many threads are there?"),
        wrong([4, 32], "32 would be one warp's lanes with one element each. Count loads, and warps."),
        wrong([5, 1280], "Five shuffles add up the 32 lanes of one warp. How many warps there are shows after the barrier."),
    ),
    hints=_hints(
        "What is added up by the shuffles before the barrier, and what by those after it?",
        "A butterfly of s steps adds up 2**s values. Before the barrier 32 lanes, after it the warps. `v4` is four elements.",
        "01, From warps to tiles, and 11, Inside the compiler",
    ),
)

WARPS = (1, 2, 4, 8, 16, 32)
NARROW_WARPS = Quiz(
    name="narrow_warps",
    lesson=NAME,
    question=(
        "A program copies a tile of 1024 fp32 elements; addresses are divisible by 16 bytes, and there is no mask. For which "
        f"`num_warps` of {', '.join(map(str, WARPS))} can a thread no longer load 128 bits at once?"
    ),
    form="a list of numbers of warps",
    accepts=is_list,
    any_order=True,
    expected=lambda: [warps for warps in WARPS if 1024 // (warps * 32) < 4],
    explanation=(
        "128 bits are 4 elements of fp32. With 8 warps, a thread still holds 1024 / 256 = 4; with 16 it holds 2, with 32 "
        "just 1. More warps are not simply better: they also make each thread's piece smaller."
    ),
    wrong=(
        wrong([8, 16, 32], "With 8 warps there are 256 threads, and 1024 / 256 = 4 elements: just enough."),
        wrong([32], "With 16 warps a thread holds 2 elements. How many bits are that?"),
        wrong([1, 2], "With few warps, a thread holds many elements, and loads them 4 at a time."),
        wrong([1, 2, 4, 8], "That is where it can. The question is where it no longer can."),
        wrong([], "A load moves what one thread holds. With 32 warps, how many elements is that?"),
    ),
    hints=_hints(
        "How many elements of fp32 are 128 bits?",
        "A thread holds 1024 / (32 · num_warps) elements.",
        "11, Inside the compiler",
    ),
)

# --- beyond -----------------------------------------------------------------------------------------------------------

TEST_ROWS = ((7.0,) * 5, (2.0, -2.0, 1.0, -1.0, 0.0), (5.0, 6.0, 7.0, 8.0, 9.0), tuple(map(float, range(1, 9))))
EPS = 1e-5


def normalised(row: tuple[float, ...], forgets_padding: bool) -> torch.Tensor:
    """The row less its mean, over its deviation, in a block of 8; with the fault, spare lanes count as −mean."""
    x = torch.tensor(row)
    spare = 8 - len(x) if forgets_padding else 0
    mean = x.mean()
    variance = (((x - mean) ** 2).sum() + spare * mean**2) / len(x)
    return (x - mean) / torch.sqrt(variance + EPS)


TESTS_THAT_SEE = Quiz(
    name="tests_that_see",
    lesson=NAME,
    question=(
        "A LayerNorm works in a block of 8 lanes and computes its variance as `tl.sum((x - mean) * (x - mean)) / n_cols`, "
        "with spare lanes that hold 0. Without weight and bias, its result is compared with torch's on four rows: (1) five "
        "times 7; (2) (2, −2, 1, −1, 0); (3) (5, 6, 7, 8, 9); (4) (1, 2, …, 8). Which of these tests see the fault?"
    ),
    form="a list of numbers from 1 to 4",
    accepts=is_list,
    any_order=True,
    expected=lambda: [
        number
        for number, row in enumerate(TEST_ROWS, 1)
        if not torch.allclose(normalised(row, forgets_padding=True), normalised(row, forgets_padding=False))
    ],
    explanation=(
        "A spare lane counts as (0 − mean)². (1): the variance is wrong, but `x - mean` is 0 and hides it. (2): the mean is "
        "0, and so is the fault. (4): there are no spare lanes. Only (3) has spare lanes, a mean and a spread. Take such "
        "rows when you set your own kernel beside torch's."
    ),
    wrong=(
        Wrong(
            lambda value: 1 in value, "wrong_answer", "(1): the variance is wrong there. But what is it that is divided by it?"
        ),
        Wrong(
            lambda value: 2 in value, "wrong_answer", "(2): what is the mean of this row, and so (0 − mean)² of a spare lane?"
        ),
        Wrong(lambda value: 4 in value, "wrong_answer", "(4): how many spare lanes does a row of 8 have?"),
    ),
    hints=_hints(
        "What does each spare lane add to the sum of squares?",
        "(0 − mean)². It shows only if there are spare lanes, the mean is not 0, and `x - mean` is not 0.",
        "13, LayerNorm, and 06 for the variance",
    ),
)


def _ones_added_up(dtype: torch.dtype) -> int:
    total = torch.zeros((), dtype=dtype)
    for _ in range(4096):
        total += 1
    return int(total)


ONES_ADDED_UP = Quiz(
    name="ones_added_up",
    lesson=NAME,
    question=(
        "A product of fp16 matrices with K = 4096, all of whose elements are 1. A kernel adds the 4096 products one after "
        "the other to an accumulator. What does it hold in the end, if it is of fp32, and if it is of fp16? From 2048 on, "
        "neighbours in fp16 are 2 apart, and a number half-way goes to the even one."
    ),
    form="a list of two whole numbers: fp32, fp16",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [_ones_added_up(torch.float32), _ones_added_up(torch.float16)],
    explanation=(
        "In fp16, 2048 + 1 lies half-way between 2048 and 2050, and goes back to 2048: the sum stands still. So inputs may "
        "be fp16, and the accumulator is `tl.zeros(…, dtype=tl.float32)`; only the store rounds, once."
    ),
    wrong=(
        wrong([4096, 4096], "fp16 can hold 4096. But does the sum get there, one step at a time?"),
        wrong([2048, 2048], "fp32 has all whole numbers up to 2**24."),
        wrong([4096, 2047], "2047 + 1 = 2048 is still exact."),
        wrong([4096, 2049], "There is no 2049 in fp16: neighbours are 2 apart there."),
        wrong([2048, 4096], "The right numbers the wrong way round."),
    ),
    hints=_hints(
        "Follow the fp16 sum: 2046, 2047, 2048, and then?",
        "2048 + 1 is rounded to fp16. Between which two numbers does it lie, and where does it go?",
        "14, Matmul, and 05 for fp16's gaps",
    ),
)

PASSES_OVER_ROWS = Quiz(
    name="passes_over_rows",
    lesson=NAME,
    question=(
        "A softmax of rows so long that no cache keeps one. How many times does each element cross the memory bus, reads and "
        "writes together: if a whole row stays in one program's registers; if blocks of a row are gone through for the "
        "maximum, again for the sum, and again for the result; and with an online softmax, which finds maximum and sum in "
        "one go?"
    ),
    form="a list of three whole numbers",
    accepts=lambda value: is_list(value, 3),
    expected=lambda: [1 + 1, 3 + 1, 2 + 1],
    explanation=(
        "One write in each case. In registers, one read is enough; block by block there are three; online, maximum and sum "
        "share one, and there are two. Attention goes one step further: the result itself is kept up to date, and the scores "
        "are never written at all."
    ),
    wrong=(
        wrong([1, 3, 2], "Those are the reads. The result is written, too."),
        wrong(
            [2, 4, 2],
            "When the online pass has the row's sum, the blocks that it began with are gone. They are read once more.",
        ),
        wrong([2, 4, 4], "Online, the maximum and the sum come out of the same pass."),
        wrong([2, 3, 3], "For the maximum, for the sum, for the result: three reads. And a write."),
        wrong([2, 6, 4], "Only the last pass writes."),
    ),
    hints=_hints(
        "Count the passes that read, and the one that writes.",
        "1, 3 and 2 reads; and each result is written once.",
        "15, Online softmax and attention",
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Self check",
    minutes=40,
    items=(
        BLOCK_OR_THREADS,
        COMMON_GROUND,
        SHARES_OF_ROWS,
        FAULTY_LINE,
        WRONG_STRIDE,
        UNMASKED_WIDTHS,
        MASK_LEFT_OUT,
        COLUMN_BYTES,
        WHERE_OR_MASK,
        RIGHT_OTHER,
        SOFTMAX_ORDER,
        HALF_SOFTMAX,
        PROGRAMS_STARTED,
        FORMULA_CASES,
        BOTH_ENDS,
        WHAT_BOUNDS,
        READ_PTX,
        NARROW_WARPS,
        TESTS_THAT_SEE,
        ONES_ADDED_UP,
        PASSES_OVER_ROWS,
    ),
)
