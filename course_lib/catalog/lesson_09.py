"""Lesson 09: the persistent softmax, a fixed number of programs that loop over rows, and how many programs that should be."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import arranged, floats
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance
from course_lib.checking.events import Trace
from course_lib.machine.occupancy import Resources, occupancy

NAME = "09_persistent_softmax"

MOST_PROGRAMS = 64
"""As many as an answer may start, however many rows there are."""


# --- persistent_softmax ---------------------------------------------------------------------------------------------


def _rows(generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "near 0") -> tuple[torch.Tensor]:
    """An m×n matrix whose rows have their elements side by side, though they may lie apart ("wider").

    "far from 0" has rows around 300, −300 and 0: `exp` of the first overflows, of the second underflows.
    """
    x = 3 * floats(generator, m, n)
    if values == "far from 0":
        x += torch.tensor([300.0, -300.0, 0.0]).repeat(m)[:m, None]
    if layout == "wider":
        wider = torch.full((m, n + 6), 7.0)
        wider[:, 3 : n + 3] = x
        return (wider[:, 3 : n + 3],)
    return (arranged(x, layout),)


def _few_programs_that_loop(trace: Trace) -> str | None:
    n_rows = len(trace.result)
    for number, launch in enumerate(trace.launches if n_rows else ()):
        started = math.prod(launch.grid)
        few = f"{MOST_PROGRAMS} are the most that may be, however many rows there are"
        if started > MOST_PROGRAMS:
            return f"`{launch.kernel}` got {started} programs for {n_rows} rows; {few}"
        if started > n_rows:
            rows = "one row" if n_rows == 1 else f"{n_rows} rows"
            return f"`{launch.kernel}` got {started} programs for {rows}; more than rows are never needed"
        if started == 1 < n_rows:
            return f"`{launch.kernel}` got one program for {n_rows} rows; two at least are to share them"
        mine = [event for event in trace.events if event.launch == number]
        turns = Counter((event.program, event.source.line) for event in mine)
        if n_rows > MOST_PROGRAMS and max(turns.values(), default=0) < 2:
            return f"no program of `{launch.kernel}` loops: each came to its lines once, for {n_rows} rows in all"
        stored: Counter[tuple[int, int, int]] = Counter()
        for event in mine:
            stored[event.program] += len(event.elements) if event.kind != "load" else 0
        ((program, most),) = stored.most_common(1) or [((0, 0, 0), 0)]
        if most > 2 * math.ceil(n_rows / started) * sum(stored.values()) / n_rows:
            return (
                f"program {program[0]} of `{launch.kernel}` stores {most} of {sum(stored.values())} elements, and {started} "
                "programs are to share them evenly"
            )
    return None


def _straddle(block: int) -> tuple[Params, ...]:
    """Rows just shorter, just as long and just longer than a block; of long blocks fewer, as each costs a compilation."""
    lengths = (block - 1, block, block + 1) if block <= 512 else (block - 1, block + 1)
    return tuple({"m": 3, "n": n} for n in lengths if 0 < n <= 2**12 + 1)


PERSISTENT_SOFTMAX = Exercise(
    name="persistent_softmax",
    lesson=NAME,
    points=3,
    signature="persistent_softmax(x)",
    statement=(
        "Return the softmax of each row of the 2-D fp32 tensor `x`, from a fixed number of programs: at least 2 and at most "
        f"{MOST_PROGRAMS}, however many rows there are, and never more than rows. Each loops over its share of the rows, and "
        "the shares are even. `x` has at least one column and any number of rows, also 0; the elements of a row lie side by "
        "side, and rows `x.stride(0)` apart. Read each element at most three times."
    ),
    reference=lambda x: torch.softmax(x.double(), dim=-1).float(),
    make_inputs=_rows,
    cases=(
        {"m": 1, "n": 1},
        {"m": 1, "n": 7},
        {"m": 7, "n": 5},
        {"m": 3, "n": 6, "values": "far from 0"},
        {"m": 2, "n": 5, "layout": "wider"},
        {"m": 5, "n": 6, "layout": "row expanded"},
        {"m": 5, "n": 64},
        {"m": 6, "n": 61},
        {"m": 64, "n": 5},
        {"m": 65, "n": 5},
        {"m": 100, "n": 33, "layout": "wider"},
        {"m": 131, "n": 1},
        {"m": 300, "n": 5},
        {"m": 9, "n": 33, "values": "far from 0"},
        {"m": 3, "n": 1030},
        {"m": 0, "n": 5},
    ),
    straddle=_straddle,
    drawn=lambda numbers: (
        {"m": numbers.randint(66, 200), "n": numbers.randint(2, 60)},
        {"m": numbers.randint(2, 40), "n": 47},
    ),
    tolerance=Tolerance(rtol=1e-4, atol=1e-9),
    torch_may="allocate",
    max_reads=3,
    also=_few_programs_that_loop,
    hints=(
        Hint(
            "Choose a number, say `N_PROGRAMS = 8`, and start `min(N_PROGRAMS, n_rows)` programs. Whatever the number of rows, "
            "the grid stays; what grows is the number of turns that each program makes.",
            frozenset(
                {"not_as_asked", "no_kernel", "torch_compute", "wrong_type", "wrong_shape", "wrong_dtype", "idle_programs"}
            ),
        ),
        Hint(
            "Program p takes the rows p, p + P, p + 2P, … That is `for row in tl.range(tl.program_id(0), n_rows, "
            "tl.num_programs(0))`.",
            frozenset(
                {"race", "race:same", "race:overlap", "race:spill", "write_twice", "shifted", "periodic", "timeout"}
                | {f"unwritten:{pattern}" for pattern in ("tail", "gaps", "one_program", "elsewhere")}
                | {f"{access}_out_of_bounds:{how}" for access in ("load", "store") for how in ("program", "before")}
            ),
        ),
        Hint(
            "In the loop everything depends on `row`, not on `tl.program_id(0)`: the pointers of the load and those of the "
            "store. A pointer that is moved on from turn to turn has to move by all the programs' rows.",
            frozenset({"unwritten", "mismatch", "first_block_only", "periodic", "race", "input_changed"}),
        ),
        Hint(
            "Row number `row` of `x` begins at `row * x.stride(0)`, that of the result at `row * out.stride(0)`: in a part "
            "of a wider matrix the rows of `x` lie further apart. So pass both.",
            frozenset({"mismatch", "first_block_only", "reversed", "shifted"})
            | {f"{access}_out_of_bounds:{how}" for access in ("load", "store") for how in ("strides", "program")},
            case="wider|expanded",
        ),
        Hint(
            'Each turn is the softmax of lesson 08: `mask = columns < n_cols` on the load, with `other=-float("inf")`, and '
            "on the store. The maximum and the sum are those of this row alone.",
            frozenset({"undefined_lanes", "nan", "scaled", "mismatch", "tail", "constant", "read_back", "too_much_traffic"})
            | {f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked")},
        ),
        Hint(
            "A number of programs that comes of a division may be rounded down to 0, and nothing is started: it is at least 1.",
            frozenset({"unwritten:no_program"}),
            asked=False,
        ),
        Hint(
            "A row can be longer than a block size that you write down: let the block cover it, with "
            "`triton.next_power_of_2(n_cols)` lanes.",
            frozenset({"unwritten:row_ends"}),
        ),
        Hint(
            "Nearly the answer: `for row in tl.range(tl.program_id(0), n_rows, tl.num_programs(0)):`, and in it `x = "
            'tl.load(x_ptr + row * x_row_stride + columns, mask=mask, other=-float("inf"))`, `numerator = tl.exp(x - '
            "tl.max(x, axis=0))`, `tl.store(out_ptr + row * out_row_stride + columns, numerator / tl.sum(numerator, axis=0), "
            "mask=mask)`.",
        ),
    ),
)


# --- programs_per_sm ------------------------------------------------------------------------------------------------

NVIDIAS = ("T4", "A100", "RTX 3090", "RTX 4090", "H100", "H200", "B200", "RTX 5090")


def _needs(generator: torch.Generator, registers: int, shared: int, num_warps: int, gpu: str) -> tuple[int, int, int, str]:
    return registers, shared, num_warps, gpu


def _some_needs(numbers: random.Random) -> tuple[Params, ...]:
    """Needs that nobody knows beforehand, ten for each limit."""
    drawn: list[Params] = []
    for _ in range(10):
        warps = 2 ** numbers.randint(0, 5)
        gpu = numbers.choice(NVIDIAS)
        drawn += [
            {"registers": numbers.randint(16, 255), "shared": 0, "num_warps": warps, "gpu": gpu},
            {"registers": 24, "shared": numbers.randint(1, 120_000), "num_warps": warps, "gpu": gpu},
            {"registers": numbers.randint(16, 80), "shared": numbers.randint(0, 20_000), "num_warps": warps, "gpu": gpu},
        ]
    return tuple(drawn)


def _of(gpu: str, registers: int, shared: int, num_warps: int) -> Params:
    return {"registers": registers, "shared": shared, "num_warps": num_warps, "gpu": gpu}


PROGRAMS_PER_SM = Exercise(
    name="programs_per_sm",
    lesson=NAME,
    signature="programs_per_sm(registers, shared, num_warps, gpu)",
    statement=(
        "Return how many programs of a kernel fit on one multiprocessor of `gpu` at once: the least that any resource "
        "allows, a whole number that may be 0. A thread needs `registers` registers (1 to 255), a program `num_warps` warps "
        '(1 to 32) and `shared` bytes of shared memory, which may be 0. `gpu` is a name such as "H200"; '
        "`find_gpu(gpu).architecture` has what its multiprocessors have."
    ),
    works_on="numbers",
    reference=lambda registers, shared, num_warps, gpu: (
        occupancy(Resources(registers, shared, 32 * num_warps), gpu).programs_per_sm
    ),
    make_inputs=_needs,
    cases=(
        _of("H200", 32, 4128, 8),
        _of("H200", 64, 0, 4),
        _of("T4", 32, 0, 8),
        _of("T4", 31, 32, 8),
        _of("T4", 16, 0, 1),
        _of("RTX 4090", 16, 0, 1),
        _of("RTX 3090", 24, 0, 2),
        _of("A100", 65, 0, 4),
        _of("B200", 40, 0, 4),
        _of("H200", 24, 12_288, 4),
        _of("H200", 24, 113 * 1024, 4),
        _of("A100", 24, 82 * 1024, 4),
        _of("A100", 24, 81 * 1024, 4),
        _of("T4", 24, 32 * 1024, 4),
        _of("T4", 24, 1000, 4),
        _of("H100", 24, 4128, 2),
        _of("H200", 24, 227 * 1024, 4),
        _of("H200", 24, 227 * 1024 + 1, 4),
        _of("T4", 24, 64 * 1024, 4),
        _of("RTX 4090", 24, 99 * 1024 + 512, 4),
        _of("H200", 255, 0, 16),
        _of("T4", 100, 0, 32),
        _of("A100", 168, 0, 4),
        _of("H200", 200, 0, 5),
        _of("RTX 4090", 100, 0, 2),
        _of("RTX 4090", 73, 0, 4),
        _of("A100", 41, 0, 5),
        _of("RTX 4090", 57, 20_000, 2),
        _of("RTX 4090", 73, 5000, 1),
    ),
    drawn=_some_needs,
    hints=(
        Hint(
            "Four resources, and each allows some number of programs: places for warps, places for programs, registers, shared "
            "memory. The least of the four is the answer.",
            frozenset({"wrong_type", "wrong_shape", "mismatch"}),
        ),
        Hint(
            "A kernel that asks for no shared memory is not limited by it. On a T4 it really takes none, and there is "
            "nothing to divide by.",
            frozenset({"crash", "timeout"}),
        ),
        Hint(
            "Places: a multiprocessor has `sm.max_warps` for warps, and `sm.max_blocks` for programs, however small they are.",
            frozenset({"mismatch"}),
            case="registers=(16|24|31|32),.*num_warps=(1|2|8)",
        ),
        Hint(
            "Registers: a warp takes `registers` for each of its 32 threads, rounded up to a multiple of `sm.register_unit`. "
            "Each of the `sm.partitions` parts has `sm.registers // sm.partitions`, and holds whole warps.",
            frozenset({"mismatch"}),
            case="shared=0,",
        ),
        Hint(
            "Shared memory: a program takes `shared` and `sm.shared_reserve` together, rounded up to a multiple of "
            "`sm.shared_unit`, out of `sm.shared`. Each program pays the reserve anew.",
            frozenset({"mismatch"}),
            case=r"shared=[1-9]",
        ),
        Hint(
            "Nearly the answer: `per_warp = round_up(32 * registers, sm.register_unit)`, `warps = sm.partitions * "
            "(sm.registers // sm.partitions // per_warp)`, `taken = round_up(shared + sm.shared_reserve, sm.shared_unit)`; "
            "the least of `sm.max_warps // num_warps`, `sm.max_blocks`, `warps // num_warps`, and `sm.shared // taken` where "
            "`taken` is not 0.",
            frozenset({"forbidden"}),
        ),
    ),
)


# --- quizzes --------------------------------------------------------------------------------------------------------

ROWS_OF_PROGRAM = Quiz(
    name="rows_of_program",
    lesson=NAME,
    question=(
        "A GPU has 3 multiprocessors, and 2 programs of the kernel fit on each at once. So the launcher starts as many "
        "programs as the GPU runs at once, for a matrix of 20 rows. Which rows does program 4 compute?"
    ),
    form="a list of row numbers",
    accepts=is_list,
    expected=lambda: list(range(4, 20, 3 * 2)),
    explanation="3 · 2 = 6 programs run at once, so program 4 takes row 4 and then every sixth one, as long as there is one.",
    wrong=(
        wrong([4, 7, 10, 13, 16, 19], "The step is the number of programs that were started, not of multiprocessors: 3 · 2."),
        wrong([4, 10, 16, 22], "Row 22 does not exist: the loop ends before `n_rows`."),
        wrong([4, 6, 8, 10, 12, 14, 16, 18], "How many programs are there in all? 2 fit on *each* multiprocessor."),
        wrong([12, 13, 14], "Those would be neighbours. Here a program steps over the rows of all others."),
        wrong([4], "Each program goes on after its first row: it loops until there is no row left for it."),
    ),
    hints=(
        Hint("How many programs does the GPU run at once?"),
        Hint("Program 4 begins with row 4. How far on is its next row?"),
        Hint("`list(range(4, 20, 6))`"),
    ),
)

PROGRAMS_ON_T4 = Quiz(
    name="programs_on_t4",
    lesson=NAME,
    question=(
        "A T4's multiprocessor has 65536 registers, and places for 32 warps and 16 programs. A program has 8 warps of 32 "
        "threads, a thread needs 32 registers, and shared memory is plenty. How many programs fit at once?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: occupancy(Resources(registers=32, shared=0, threads=256), "T4").programs_per_sm,
    explanation=(
        "The registers would do for 65536 / (32 · 256) = 8 programs. But 8 programs have 64 warps, and there are places for "
        "32: 4 programs. The scarcest resource decides."
    ),
    wrong=(
        wrong(8, "That is what the registers allow. Are there places for that many warps, too?"),
        wrong(16, "There are places for 16 programs, if each has two warps or less. These have 8."),
        wrong(2048, "That is the number of threads that the registers would do for. A program has 256."),
        wrong(64, "The registers are shared by all threads of a program: 32 · 256 for each."),
        wrong(32, "Those are the places for warps. A program takes 8 of them."),
    ),
    hints=(
        Hint("Ask three times: how many programs do the registers allow? The places for warps? Those for programs?"),
        Hint("Registers: 65536 / (32 · 256). Places for warps: 32 / 8."),
        Hint("The least of 8, 4 and 16."),
    ),
)

BYTES_AHEAD = Quiz(
    name="bytes_ahead",
    lesson=NAME,
    question=(
        "Rows of 1000 fp32 numbers, in blocks of 1024, with `num_stages=4`. While one row is computed, the others wait in "
        "shared memory. How many bytes does a program need for them?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: (4 - 1) * 1024 * 4,
    explanation=(
        "The row that is computed lies in registers. So four stages keep three blocks in shared memory, of 1024 places each, "
        "masked or not, and 4 bytes a place."
    ),
    wrong=(
        wrong(4 * 1024 * 4, "The row of the fourth stage is just being computed, in registers."),
        wrong(3 * 1000 * 4, "The places are those of the block. The compiler does not know that the row is shorter."),
        wrong(4 * 1000 * 4, "The row that is computed lies in registers; and places are those of the block, 1024."),
        wrong(3 * 1024, "Those are places. A number in fp32 takes 4 bytes."),
    ),
    hints=(
        Hint("How many rows are on their way while one is computed?"),
        Hint("Each has the places of a block, whether a mask leaves some out or not."),
        Hint("(stages − 1) · block · 4 bytes"),
    ),
)

_CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("x = randn(96, 1024)", {"n_rows": 96, "n_cols": 1024}),
    ("x = randn(128, 781)", {"n_rows": 128, "n_cols": 781}),
    ("x = randn(128, 1024).half()", {"dtype": torch.float16}),
    ("x = randn(128, 1008)", {"n_cols": 1008}),
    ("x = randn(128, 1025)[:, 1:]", {"n_cols": 1024, "row_stride": 1025, "offset": 1}),
    ("x = randn(1, 1024)", {"n_rows": 1}),
)
FIRST_CALL: dict[str, Any] = {"n_rows": 128, "n_cols": 1024, "row_stride": None, "offset": 0, "dtype": torch.float32}
"""The call for which the kernel was compiled, in the question below."""


def later_calls() -> list[dict[str, Any]]:
    """The calls of the question `compiled_anew`, in full: shape, row stride, offset of the first element, and dtype."""
    calls = [{**FIRST_CALL, **call} for _, call in _CALLS]
    return [{**call, "row_stride": call["row_stride"] or call["n_cols"]} for call in calls]


def _specialisation(call: dict[str, Any]) -> tuple[Any, ...]:
    numbers = (call["n_rows"], call["n_cols"], call["row_stride"] or call["n_cols"])
    aligned = call["offset"] * call["dtype"].itemsize % 16 == 0
    return (call["dtype"], aligned, *((number == 1, number % 16 == 0) for number in numbers))


COMPILED_ANEW = Quiz(
    name="compiled_anew",
    lesson=NAME,
    question=(
        "A kernel takes `x`, its row stride, `n_rows` and `n_cols`, and a BLOCK_SIZE of 1024. It was compiled for "
        "`x = randn(128, 1024)` in fp32. Then come: "
        + "; ".join(f"({number}) `{call}`" for number, (call, _) in enumerate(_CALLS, 1))
        + ". Each has a block of 1024. For which must Triton compile the kernel anew?"
    ),
    form="a list of numbers from 1 to 6",
    accepts=is_list,
    any_order=True,
    expected=lambda: [
        number for number, call in enumerate(later_calls(), 1) if _specialisation(call) != _specialisation(FIRST_CALL)
    ],
    explanation=(
        "What is compiled depends on the dtype (3), on whether numbers are 1 (6) or multiples of 16 (2: 781 is none, as a row "
        "stride and as n_cols), and on whether the tensor begins at a multiple of 16 bytes (5: it begins 4 bytes late, and its "
        "rows lie 1025 apart). 96 rows and 1008 columns are multiples of 16, just as 128 and 1024 are."
    ),
    wrong=(
        wrong(
            [],
            "The block is the same. But what about the dtype, and the numbers of which the compiler knew that 16 divides them?",
        ),
        wrong([2, 3, 5], "One row: a number that is 1 is compiled as a constant."),
        wrong([2, 3, 6], "Number 5 begins 4 bytes after a multiple of 16, and its row stride is 1025."),
        wrong([3], "fp16 is another kernel, for sure. What else did the compiler take for granted, of sizes and addresses?"),
        wrong([1, 2, 3, 4, 5, 6], "96 and 1008 are multiples of 16, as 128 and 1024 are. More than that it was not told."),
        wrong([2, 3, 4, 5, 6], "1008 = 63 · 16. More than that the compiler was not told about 1024 either."),
        wrong([2, 3, 5, 6, 1], "96 = 6 · 16. More than that the compiler was not told about 128 either."),
    ),
    hints=(
        Hint("BLOCK_SIZE is one thing that is compiled in. What else is Triton told of the arguments?"),
        Hint("Dtypes; and of numbers and addresses, whether they are multiples of 16; and of numbers, whether they are 1."),
        Hint("Go through them: 96; 781; fp16; 1008; an address 4 bytes late and a stride of 1025; one row."),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="The persistent softmax",
    minutes=40,
    items=(ROWS_OF_PROGRAM, PROGRAMS_ON_T4, BYTES_AHEAD, COMPILED_ANEW, PERSISTENT_SOFTMAX, PROGRAMS_PER_SM),
)
