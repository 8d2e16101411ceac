"""Lesson 01: from CUDA's threads and warps to Triton's tiles."""

from __future__ import annotations

import math
import random
from typing import Any

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance

NAME = "01_from_warps_to_tiles"
WARP_SIZE = 32


def _numbers(generator: torch.Generator, n: int, values: str = "normal") -> tuple[float, ...]:
    """`n` random numbers; "negative" ones are all below 0, "infinite" ones all −∞."""
    if values == "infinite":
        return (-math.inf,) * n
    numbers = torch.randn(n, generator=generator, dtype=torch.float64)
    return tuple((-numbers.abs() - 1 if values == "negative" else numbers).tolist())


def _lanes(generator: torch.Generator, n: int, values: str = "normal") -> tuple[Any, ...]:
    return (_numbers(generator, n, values),)


def _values_and_threads(generator: torch.Generator, n: int, n_threads: int) -> tuple[Any, ...]:
    return _numbers(generator, n), n_threads


def _drawn_blocks(numbers: random.Random) -> tuple[Params, ...]:
    n_threads = numbers.randint(66, 500)
    return {"n": n_threads, "n_threads": n_threads}, {"n": numbers.randint(3, 900), "n_threads": numbers.randint(34, 300)}


def _butterfly_reach(lane: int, distances: tuple[int, ...]) -> list[int]:
    """The lanes whose values a lane has after exchanges over these distances."""
    reached = {lane}
    for distance in distances:
        reached |= {other ^ distance for other in reached}
    return sorted(reached)


LANES_REACHED = Quiz(
    name="lanes_reached",
    lesson=NAME,
    question=(
        "Lanes have exchanged over the distances 16 and 8, and each has added what it got. Of which lanes does the sum in "
        "lane 3 now hold the values?"
    ),
    form="a list of lane numbers, for example [3, 4]",
    accepts=is_list,
    expected=lambda: _butterfly_reach(3, (16, 8)),
    any_order=True,
    explanation=(
        "With distance 16, lane 3 got 3 ^ 16 = 19. With distance 8 it got from lane 3 ^ 8 = 11, and lane 11 had by then added "
        "lane 27. Every exchange doubles what a lane knows: 2, 4, 8, 16, 32."
    ),
    wrong=(
        wrong([3, 11, 19], "Lane 11 had already added something when it gave its sum away. From whom?"),
        wrong([11, 19], "Lane 3 has kept its own value, too. And lane 11 gave more than its own."),
        wrong([3, 19], "That is after the first exchange. In the second one, lane 3 gets the sum of lane 3 ^ 8."),
        wrong([3, 19, 24], "The second partner is 3 ^ 8: lane numbers are combined bit by bit, and distances don't add up."),
    ),
    hints=(
        Hint("After the exchange over 16, which two lanes' values does lane 3 have?"),
        Hint("Its next partner is lane 3 ^ 8 = 11. Which two lanes' values does that one have?"),
        Hint("Lane 11 has its own value and that of lane 11 ^ 16 = 27."),
    ),
)

WHO_HOLDS_THE_SUM = Quiz(
    name="who_holds_the_sum",
    lesson=NAME,
    question=(
        "In how many of the 32 lanes is the sum of all at the end: with `shfl_xor` over 16, 8, 4, 2, 1, and with `shfl_down` "
        "over the same distances?"
    ),
    form="two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [WARP_SIZE, 1],
    explanation=(
        "`shfl_xor` pairs the lanes, and both add: in the end all have everything. With `shfl_down` values only travel towards "
        "lane 0, and only lane 0 ends up with all of them. If one thread needs the sum, either will do."
    ),
    wrong=(
        wrong([32, 32], "With `shfl_down` lane 31 never hears of any other lane: none is higher."),
        wrong([1, 1], "With `shfl_xor` both lanes of a pair get the other one's value."),
        wrong([1, 32], "The other way round."),
        wrong([32, 16], "Lane 15 has added lane 31, but then only lanes above it: it never hears of lane 0."),
    ),
    hints=(
        Hint("With `shfl_xor`, is there anything that makes one lane different from another?"),
        Hint("With `shfl_down`, values travel from higher lanes to lower ones. Which lane can have heard of lane 0?"),
        Hint("Only lane 0 itself has the value of lane 0."),
    ),
)

EARLY_READS = Quiz(
    name="early_reads",
    lesson=NAME,
    question=(
        "Take away the first barrier of `block_sum_kernel`, with 128 threads. Lane i of warp 0 reads `partial[i]`, for i "
        "below 4. Of which elements can it happen that the read comes before the write?"
    ),
    form="a list of element numbers, for example [0, 1]",
    accepts=is_list,
    expected=lambda: [warp for warp in range(4) if warp != 0],
    any_order=True,
    explanation=(
        "`partial[0]` is written and read by the same thread, and a thread's own steps are in order. The others are written by "
        "warps 1, 2 and 3, and nothing says how far those have come."
    ),
    wrong=(
        wrong([0, 1, 2, 3], "One of these is written by the very thread that reads it, and a thread's own steps are in order."),
        wrong([0], "`partial[0]` is written by lane 0 of warp 0, and read by the same thread: that one is in order."),
        wrong([], "Warps do not wait for each other by themselves."),
    ),
    hints=(
        Hint("For each element: which thread writes it, and which one reads it?"),
        Hint("`partial[2]` is written by warp 2. What makes warp 0 wait for that?"),
        Hint("Only `partial[0]` is written and read by one and the same thread."),
    ),
)

LOST_MAXIMUM = Quiz(
    name="lost_maximum",
    lesson=NAME,
    question="Three lanes hold −5, −2 and −9; the other 29 have no value and begin with 0. What does the maximum come to?",
    form="one whole number",
    accepts=is_whole,
    expected=lambda: max([-5, -2, -9] + [0] * 29),
    explanation=(
        "The idle lanes take part, and their 0 is larger than every value. The right start is −∞, which no value is smaller "
        "than."
    ),
    wrong=(
        wrong(-2, "It should be. But 29 lanes give a 0, and the maximum is taken over all 32."),
        wrong(-9, "That is the smallest. And the lanes without a value take part as well."),
    ),
    hints=(
        Hint("The butterfly asks every lane, whether it has a value or not."),
        Hint("Which is larger: −2 or 0?"),
        Hint("max(−5, −2, −9, 0, 0, …)"),
    ),
)

SHUFFLES_OF_A_WARP = Quiz(
    name="shuffles_of_a_warp",
    lesson=NAME,
    question=(
        "A block of 128 threads, as in `block_sum.cu`: each warp adds up its 32 lanes, and then the 4 partial sums are added "
        "up by a butterfly over 4 lanes. How many `SHFL` instructions does a warp need for that?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: int(math.log2(32) + math.log2(4)),
    explanation=(
        "32 lanes take 5 exchanges, since 2 · 2 · 2 · 2 · 2 = 32, and 4 lanes take 2. You can count them in the listing."
    ),
    wrong=(
        wrong(5, "That is for the 32 lanes. The partial sums must be added up as well."),
        wrong(10, "Four lanes need fewer exchanges than 32: how often do you have to double 1 to get 4?"),
        wrong(28, "That is what the 4 warps do together. One listing serves all of them: asked is what one warp runs."),
        wrong(22, "That counts the 4 warps together. One listing serves all warps: each runs the same instructions."),
        wrong(9, "Four sums need no 4 exchanges: every exchange doubles what a lane knows."),
        wrong(8, "Four sums need no 3 exchanges: every exchange doubles what a lane knows."),
    ),
    hints=(
        Hint("How many exchanges do 32 lanes need?"),
        Hint("And 4 lanes? Each exchange halves the distance, from half of the lanes down to 1."),
        Hint("5 + 2."),
    ),
)

DECISIONS = ("you", "compiler", "hardware")
WHO_DECIDES = Quiz(
    name="who_decides",
    lesson=NAME,
    question=(
        "In Triton, who decides these: (1) how many elements a tile has; (2) which thread holds which element; (3) where the "
        "barriers stand; (4) which multiprocessor runs a program; (5) how many programs there are; (6) which warp's "
        "instruction "
        'comes next? "you", "compiler" or "hardware", for each.'
    ),
    form='a list of six words, each "you", "compiler" or "hardware"',
    accepts=lambda value: isinstance(value, list) and len(value) == 6 and all(one in DECISIONS for one in value),
    expected=lambda: ["you", "compiler", "compiler", "hardware", "you", "hardware"],
    explanation=(
        "Tiles, the grid and the algorithm are yours. Threads, shared memory and barriers within a program are the compiler's. "
        "Which program runs where and which warp is next is found out by the hardware, while it runs."
    ),
    wrong=(
        wrong(
            ["you", "you", "compiler", "hardware", "you", "hardware"],
            "Which thread holds which element is what you never said: Triton's kernel has no thread index.",
        ),
        wrong(
            ["you", "compiler", "you", "hardware", "you", "hardware"],
            "You wrote no barrier in `sum_kernel`, and there were some in its code.",
        ),
        wrong(
            ["you", "compiler", "compiler", "compiler", "you", "hardware"],
            "A program goes to whichever multiprocessor has room, and that is known only while the kernel runs.",
        ),
        wrong(
            ["you", "compiler", "compiler", "hardware", "you", "compiler"],
            "The compiler orders the instructions of a warp. Which of several warps goes on is decided at every tick.",
        ),
        wrong(
            ["compiler", "compiler", "compiler", "hardware", "compiler", "hardware"],
            "The tile's length and the grid stand in your own code: `BLOCK_SIZE` and the square brackets of the launch.",
        ),
    ),
    hints=(
        Hint("What stands in your code is yours: look through `sum_kernel` and its launch."),
        Hint("What can only be known while the kernel runs is the hardware's; two of the six are."),
        Hint("Threads and barriers are what the compiler takes over."),
    ),
)

WARP_MAX = Exercise(
    name="warp_max",
    lesson=NAME,
    signature="warp_max(lanes)",
    statement=(
        "One warp of 32 threads: lane `i` has the value `lanes[i]`, and lanes from `len(lanes)` on have none. Return what "
        "each of the 32 lanes holds at the end: the maximum of all values, in every lane. A lane reads no value but its own."
    ),
    works_on="threads",
    n_threads=lambda lanes: WARP_SIZE,
    reference=lambda lanes: [max(lanes)] * WARP_SIZE,
    make_inputs=_lanes,
    cases=(
        *({"n": n} for n in (32, 1, 2, 3, 16, 17, 20, 31)),
        *({"n": n, "values": "negative"} for n in (32, 1, 5, 16, 31)),
        {"n": 9, "values": "infinite"},
    ),
    tolerance=Tolerance(rtol=1e-6),
    drawn=lambda numbers: tuple({"n": numbers.randint(4, 30), "values": values} for values in ("normal", "negative")),
    hints=(
        Hint(
            "Take `warp_sum_kernel` from the lesson as your pattern. What must be done with the two values instead of adding "
            "them?",
            frozenset({"no_block", "scaled", "mismatch"}),
        ),
        Hint(
            "Every lane takes part in every exchange, so it needs a value even where `lanes` has none for it: one that can "
            "never be the maximum. (0 can, when all others are negative.)",
            frozenset({"undefined_value", "undefined_value:lane", "crash"}),
        ),
        Hint(
            "The identity of the maximum is −∞, in Python `float('-inf')`; of the sum it is 0.",
            frozenset({"mismatch", "constant", "nan"}),
            case="negative|infinite",
        ),
        Hint(
            "All 32 lanes are to hold the maximum. Five exchanges with `shfl_xor`, over 16, 8, 4, 2 and 1, bring it to each; "
            "with `shfl_down` it reaches lane 0 only.",
            frozenset({"mismatch:part", "first_block_only", "tail", "periodic", "shifted"}),
        ),
        Hint(
            "Start one warp: `run_block(warp_max_kernel, 32, lanes)`, and return its `.results`, all 32 of them.",
            frozenset({"not_as_asked", "wrong_shape", "wrong_type"}),
        ),
    ),
)

BLOCK_SUM = Exercise(
    name="block_sum",
    lesson=NAME,
    points=2,
    signature="block_sum(values, n_threads)",
    statement=(
        "One block of `n_threads` threads, any number from 1 to 1024, adds up `values`, of which there may be more or fewer "
        "than threads. Thread `t` reads `values[t]`, `values[t + n_threads]`, … and no others. Return the total that thread "
        "0 holds."
    ),
    works_on="threads",
    n_threads=lambda values, n_threads: n_threads,
    reference=lambda values, n_threads: math.fsum(values),
    make_inputs=_values_and_threads,
    cases=(
        *({"n": n, "n_threads": n} for n in (32, 64, 128, 1, 2, 3, 17, 31, 33, 48, 180, 1024)),
        *(
            {"n": n, "n_threads": n_threads}
            for n, n_threads in ((20, 32), (40, 64), (5, 128), (0, 96), (5, 1), (100, 32), (300, 128), (1000, 48), (2100, 1000))
        ),
    ),
    drawn=_drawn_blocks,
    tolerance=Tolerance(rtol=1e-5, atol=1e-5),
    hints=(
        Hint(
            "Three steps: each thread adds up its own values; each warp its lanes, by five shuffles; and then the warps' "
            "sums are added up, by way of shared memory.",
            frozenset({"no_block", "timeout"}),
        ),
        Hint(
            "The first step is a loop: `for i in range(thread.index, len(values), thread.n_threads)`. It also serves threads "
            "that have no value: theirs is 0.",
            frozenset({"crash", "mismatch", "computed_outside"}),
        ),
        Hint(
            "`thread.n_threads // 32` leaves out the last warp if that is not full: round up, `(thread.n_threads + 31) // 32`.",
            frozenset({"mismatch"}),
            case=r"^n=(1|2|3|17|31), n_threads=\1$",
        ),
        Hint(
            "From the second warp on, a sum reaches thread 0 through shared memory only. Does every warp leave its sum "
            "there, also the last one, and does the last step read them all?",
            frozenset({"mismatch"}),
            case=r"^n=(\d+), n_threads=\1$",
        ),
        Hint(
            "In a warp that is not full, the partner `thread.index ^ distance` may not exist. Add what came only if the "
            "partner is below `thread.n_threads`.",
            frozenset({"undefined_value:lane"}),
        ),
        Hint(
            "In the last step, lane `i` reads `partial[i]` if there is a warp `i`, and else has 0.",
            frozenset({"undefined_value:unwritten", "undefined_value"}),
        ),
        Hint(
            "Warp 0 must not read a partial sum before its warp has written it: `yield thread.syncthreads()` between the two. "
            "Without the `yield`, nobody waits.",
            frozenset({"shared_race"}),
        ),
        Hint(
            "One block, of exactly as many threads as asked: `run_block(block_sum_kernel, n_threads, values)`. Its "
            "`.results[0]` is what thread 0 returned.",
            frozenset({"not_as_asked", "wrong_type", "wrong_shape"}),
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="From warps to tiles",
    minutes=40,
    items=(
        LANES_REACHED,
        WHO_HOLDS_THE_SUM,
        LOST_MAXIMUM,
        EARLY_READS,
        SHUFFLES_OF_A_WARP,
        WHO_DECIDES,
        WARP_MAX,
        BLOCK_SUM,
    ),
)
