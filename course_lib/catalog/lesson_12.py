"""Lesson 12: bugs that were reported in public, made small. Each exercise is one of them, to be mended."""

from __future__ import annotations

import math

import torch

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import MANY_PROGRAMS, arranged, drawn_lengths, floats, rounded, scores, straddle_length
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance

NAME = "12_case_files"

_OUTSIDE = frozenset(f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("masked", "unmasked"))
_WRONG = frozenset({"mismatch", "mismatch:part", "mismatch:near", "constant", "scaled", "nan", "tail", "first_block_only"})
_WRONG_PLACES = frozenset({"shifted", "periodic", "reversed", "transposed"})

_LOWEST = torch.finfo(torch.float32).min
"""The lowest finite number of fp32."""
_TURNS = 33
"""More turns than a loop over blocks would have by chance, or by a power of two."""


def _many_turns(block: int) -> tuple[Params, ...]:
    """A row of just so many blocks, if they are not long: none is made for an answer whose block covers a row."""
    return ({"m": 1, "n": _TURNS * block, "blocks": _TURNS},) if block <= 256 else ()


# --- case_zero_padding ----------------------------------------------------------------------------------------------


def _log_sums_of(
    generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "near 0", blocks: int = 0
) -> tuple[torch.Tensor]:
    """Scores as a loss is given; in "masked" ones the first row is the lowest finite bf16 number throughout, and "equal" ones
    are the same in all of a row, so that its sum is as large as its length. `blocks` says how many of the answer's are in a
    row."""
    if values == "equal":
        return (arranged(floats(generator, m, 1).repeat(1, n), layout),)
    if values == "masked":
        x = floats(generator, m, n)
        x[0] = torch.finfo(torch.bfloat16).min
        return (arranged(x, layout),)
    return scores(generator, m, n, layout, values)


CASE_ZERO_PADDING = Exercise(
    name="case_zero_padding",
    lesson=NAME,
    signature="case_zero_padding(x)",
    statement=(
        "Return the logarithm of the sum of `exp` over each row of the 2-D fp32 tensor `x` of any strides: one number for each "
        "row. `x` has at least one column and any number of rows, also 0, and all its values are finite."
    ),
    reference=lambda x: torch.logsumexp(x.double(), dim=1).float(),
    make_inputs=_log_sums_of,
    cases=(
        {"m": 1, "n": 1},
        {"m": 3, "n": 5},
        {"m": 3, "n": 7, "values": "masked"},
        {"m": 6, "n": 13, "values": "far from 0"},
        {"m": 3, "n": 8, "values": "far from 0"},
        {"m": 5, "n": 3, "layout": "transposed"},
        {"m": 4, "n": 6, "layout": "sliced"},
        {"m": 3, "n": 5, "layout": "row expanded"},
        {"m": 2, "n": 129},
        {"m": 2, "n": 1030, "values": "far from 0"},
        {"m": 2, "n": 1030, "values": "equal"},
        {"m": MANY_PROGRAMS, "n": 3},
        {"m": 0, "n": 5},
    ),
    straddle=lambda block: (
        *({"m": 2, "n": n} for n in (block - 1, block + 1) if 0 < n <= 2**12 + 1),
        *_many_turns(block),
    ),
    drawn=lambda numbers: ({"m": numbers.randint(3, 7), "n": numbers.randint(20, 60), "values": "far from 0"},),
    tolerance=Tolerance(rtol=1e-5, atol=1e-5),
    torch_may="allocate",
    hints=(
        Hint(
            "Follow a spare lane through the kernel as found: what does it hold after the load, in the maximum, after `exp`, "
            "and in the sum? Both reductions must not notice it.",
            _WRONG,
        ),
        Hint(
            "Taking the spare lanes out of the sum is half a mend. In a row far below 0, a maximum of 0 makes every `exp` 0, "
            "and there is no logarithm of that. So does a padding that is merely low; and so does no maximum at all.",
            _WRONG,
            case="far|masked",
        ),
        Hint(
            "`other=` is a promise to the *next* operation: here that is `tl.max`, and its identity is −∞. Without `other`, a "
            "spare lane may hold anything.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "The row begins at `row * row_stride`, and its elements lie `column_stride` apart. Spare lanes are masked off.",
            frozenset({"race", "unwritten", "unwritten:gaps", "unwritten:tail"})
            | _OUTSIDE
            | {f"{access}_out_of_bounds:{how}" for access in ("load", "store") for how in ("strides", "program")}
            | _WRONG_PLACES,
        ),
        Hint(
            'Nearly the answer: `other=-float("inf")` on the load. Then `exp` makes 0 of the spare lanes, and the sum needs '
            "nothing more.",
        ),
    ),
)


# --- case_partial_warp ----------------------------------------------------------------------------------------------

EPSILON = 1e-6
"""What keeps a row of zeros from being divided by 0."""


def _one_value_each(generator: torch.Generator, n_threads: int, values: str = "normal") -> tuple[tuple[float, ...], int]:
    """A value for each thread, none of them near 0; squares of those "around 0.001" are about as large as `EPSILON`."""
    numbers = torch.randn(n_threads, generator=generator, dtype=torch.float64)
    numbers += numbers.sign() / 4
    return tuple((numbers * (1e-3 if values == "around 0.001" else 1)).tolist()), n_threads


def _normalised(values: tuple[float, ...], n_threads: int) -> list[float]:
    mean_square = math.fsum(value * value for value in values) / n_threads
    return [value / math.sqrt(mean_square + EPSILON) for value in values]


CASE_PARTIAL_WARP = Exercise(
    name="case_partial_warp",
    lesson=NAME,
    signature="case_partial_warp(values, n_threads)",
    statement=(
        "One block of `n_threads` threads, any number from 1 to 1024, normalises `values`, of which each thread has one: "
        f"return for each thread its value divided by the root of (the mean of all squares + {EPSILON:g})."
    ),
    works_on="threads",
    n_threads=lambda values, n_threads: n_threads,
    reference=_normalised,
    make_inputs=_one_value_each,
    cases=(
        *({"n_threads": n} for n in (32, 1, 2, 20, 31, 33, 48, 64, 96, 180, 225, 1024)),
        {"n_threads": 40, "values": "around 0.001"},
    ),
    drawn=lambda numbers: tuple({"n_threads": numbers.randint(low, high)} for low, high in ((66, 127), (130, 300))),
    tolerance=Tolerance(rtol=1e-5),
    hints=(
        Hint(
            "How many warps does a block of 180 threads have, and how many does the kernel as found ask for their sums? A warp "
            "that is not full is a warp: round up, `(thread.n_threads + 31) // 32`.",
            _WRONG - {"tail", "first_block_only", "mismatch:part"},
        ),
        Hint(
            "Rounded up, and for some sizes still wrong in the last threads? With 33 threads, the last warp has one lane. "
            "What two warps have left in `partial`, it cannot add up alone: let warp 0 do it, and tell the others.",
            frozenset({"mismatch:part", "tail", "first_block_only"}),
        ),
        Hint(
            "The sum is that of all squares, and the mean divides it by `thread.n_threads`. Dividing by the threads of the "
            "whole warps makes two mistakes that nearly cancel.",
            frozenset({"mismatch:near"}),
        ),
        Hint(
            f"For values near 0, what is added to the mean counts. {EPSILON:g} is added once, to the mean, under the root: "
            f"`math.sqrt(mean + {EPSILON:g})`. The sum and the root are too early and too late.",
            frozenset({"scaled", "mismatch", "mismatch:part", "mismatch:near"}),
            case="around 0.001",
        ),
        Hint(
            "Where two threads meet in shared memory, a barrier must stand in between, for *every* thread: one after `partial` "
            "is written, and one after `total` is.",
            frozenset({"shared_race", "stuck"}),
        ),
        Hint(
            "In `partial`, only as many places are written as there are warps; lane `i` reads `partial[i]` if there is a warp "
            "`i`, and else has 0. And `total` is there after a barrier that *every* thread comes by.",
            frozenset({"undefined_value", "undefined_value:unwritten"}),
        ),
        Hint(
            "A partner exists if `thread.index ^ distance` is below `thread.n_threads`. The function `sum_of_lanes` of the "
            "kernel as found takes care of that.",
            frozenset({"undefined_value:lane"}),
        ),
        Hint(
            "The block has `n_threads` threads, and each takes `values[thread.index]`; what others have, it gets from them. "
            "Each returns its number, and `run_block(…).results` is what the answer returns.",
            frozenset({"not_as_asked", "no_block", "computed_outside", "wrong_shape", "wrong_type", "crash"}),
        ),
    ),
)


# --- case_online_sum ------------------------------------------------------------------------------------------------


def _long_rows(
    generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "near 0", blocks: int = 0
) -> tuple[torch.Tensor]:
    """Rows whose elements lie side by side, though the rows may lie apart ("wider"); "rising" ones have each block above the
    last, "equal" ones the same number throughout. Of "lowest" ones, the first is the lowest finite number of fp32 throughout,
    and the others are about −100,000. `blocks` says how many of the answer's are in a row."""
    x = 3 * floats(generator, m, n)
    if values == "rising":
        x += torch.linspace(-200, 200, n)
    elif values == "equal":
        x = floats(generator, m, 1).repeat(1, n)
    elif values == "far from 0":
        x += torch.tensor([300.0, -300.0, 0.0]).repeat(m)[:m, None]
    elif values == "lowest":
        x -= 1e5
        x[0] = _LOWEST
    if layout == "wider":
        wider = torch.full((m, n + 6), 7.0)
        wider[:, 3 : n + 3] = x
        return (wider[:, 3 : n + 3],)
    return (x,)


CASE_ONLINE_SUM = Exercise(
    name="case_online_sum",
    lesson=NAME,
    signature="case_online_sum(x)",
    statement=(
        "Return the softmax of each row of the 2-D fp32 tensor `x`, whose rows may be longer than a block. Read each element "
        "at most twice: once for the maximum and the sum, and once for the result. `x` has at least one column and any number "
        "of rows, also 0, and all its values are finite; the elements of a row lie side by side, and rows `x.stride(0)` apart."
    ),
    reference=lambda x: torch.softmax(x.double(), dim=1).float(),
    make_inputs=_long_rows,
    cases=(
        {"m": 1, "n": 1},
        {"m": 2, "n": 5},
        {"m": 3, "n": 9, "values": "far from 0"},
        {"m": 3, "n": 64},
        {"m": 2, "n": 65},
        {"m": 2, "n": 130, "values": "equal"},
        {"m": 3, "n": 200, "layout": "wider"},
        {"m": 3, "n": 200, "values": "rising"},
        {"m": 3, "n": 70, "values": "lowest"},
        {"m": 2, "n": 300},
        {"m": MANY_PROGRAMS, "n": 3},
        {"m": 0, "n": 5},
    ),
    straddle=lambda block: (
        *({"m": 2, "n": n} for n in (block - 1, 2 * block, 2 * block + 1) if 0 < n <= 2**11 + 1),
        *_many_turns(block),
    ),
    drawn=lambda numbers: ({"m": numbers.randint(2, 5), "n": numbers.randint(140, 260)},),
    tolerance=Tolerance(rtol=1e-4, atol=1e-9),
    torch_may="allocate",
    max_reads=2,
    hints=(
        Hint(
            "Each lane's sum is measured from that lane's own maximum. Before sums are added, all must be measured from the "
            "same one: each by its own factor, inside `tl.sum`.",
            _WRONG | _WRONG_PLACES,
        ),
        Hint(
            "A sum that was measured from `best`, measured from `largest` instead, is `total * tl.exp(best - largest)`: the "
            "larger maximum makes it smaller. The other way round, `exp` soon overflows.",
            frozenset({"mismatch", "scaled", "nan"}),
        ),
        Hint(
            "Where one element of a lane is larger than all before, the lane's sum so far is rescaled, *and* its maximum is "
            "the new one from then on.",
            frozenset({"nan"}),
            case="rising|far",
        ),
        Hint(
            "−∞ − (−∞) is NaN: that is what lanes that see no element compute if their maximum begins at −∞. The lowest finite "
            "number, `-3.4028234663852886e38`, does not do that.",
            frozenset({"nan"}),
            case="n=([1-9]|[1-5][0-9])\\b",
        ),
        Hint(
            "A maximum must begin at or below all that `x` may hold. A number that is merely low is above some rows: all their "
            "`exp` are 0, and so is the sum. The lowest finite number of fp32 is `-3.4028234663852886e38`.",
            frozenset({"nan", "mismatch", "mismatch:part", "scaled"}),
            case="lowest",
        ),
        Hint(
            "How many turns does the loop make? A row may have any number of blocks: `tl.range(0, n_cols, BLOCK_SIZE)`.",
            _WRONG | {"unwritten", "unwritten:tail", "unwritten:row_ends", "unwritten:gaps"},
            case="blocks",
        ),
        Hint(
            "One pass finds the maximum and the sum, a second one writes. A third pass is what the running sum is to save.",
            frozenset({"too_much_traffic"}),
        ),
        Hint(
            'Both passes mask what lies behind the row\'s end, the load with `other=-float("inf")`. Rows of `x` lie '
            "`x.stride(0)` apart.",
            frozenset({"undefined_lanes", "race", "race:spill", "read_back", "unwritten", "unwritten:row_ends"})
            | _OUTSIDE
            | {"load_out_of_bounds:strides", "load_out_of_bounds:program"},
        ),
        Hint(
            "Nearly the answer: `largest = tl.max(best, axis=0)`, and then `denominator = tl.sum(total * tl.exp(best - "
            "largest), axis=0)`.",
        ),
    ),
)


# --- case_wrapped_offsets -------------------------------------------------------------------------------------------


def _states(generator: torch.Generator, n: int, stride: int, states: int) -> tuple[torch.Tensor, int]:
    """`n` numbers of states below `states`, the first and the last of them among them, and the stride."""
    index = torch.randint(0, states, (n,), generator=generator, dtype=torch.int32)
    index[: n // 3 : 3], index[-1:] = 0, states - 1
    return index, stride


CASE_WRAPPED_OFFSETS = Exercise(
    name="case_wrapped_offsets",
    lesson=NAME,
    signature="case_wrapped_offsets(index, stride)",
    statement=(
        "States lie one after another in memory, `stride` elements apart. For each number in the contiguous 1-D int32 tensor "
        "`index`, of any length, also 0, return where that state begins: an int64 tensor, counted in elements. `stride` is a "
        "Python integer from 1 on, and numbers of states are not negative; both are below 2³¹."
    ),
    reference=lambda index, stride: index.long() * stride,
    make_inputs=_states,
    cases=(
        {"n": 1, "stride": 3, "states": 2},
        {"n": 7, "stride": 1, "states": 100},
        {"n": 17, "stride": 131_072, "states": 16_384},
        {"n": 17, "stride": 131_072, "states": 24_901},
        {"n": 33, "stride": 2**20 + 1, "states": 2**31 - 1},
        {"n": 33, "stride": 16, "states": 2**31 - 1},
        {"n": 5, "stride": 2**31 - 1, "states": 2**20},
        {"n": 33, "stride": 2**31 - 1, "states": 2**31 - 1},
        {"n": 128, "stride": 4096, "states": 600_000},
        {"n": 129, "stride": 4096, "states": 3_000_000},
        {"n": 1000, "stride": 1, "states": 2**31 - 1},
        {"n": 0, "stride": 16, "states": 5},
    ),
    straddle=lambda block: tuple({**case, "stride": 131_072, "states": 24_901} for case in straddle_length(block)),
    drawn=lambda numbers: tuple({**case, "stride": 131_072, "states": 40_000} for case in drawn_lengths(numbers)),
    hints=(
        Hint(
            "The result has 64 bits, and the product was made before it was stored. With how many bits?",
            _WRONG | _WRONG_PLACES,
        ),
        Hint(
            "Widen a factor, and not the product: `.to(tl.int64)` of a number that has wrapped keeps the wrapped number.",
            frozenset({"mismatch", "mismatch:part"}),
        ),
        Hint(
            "An argument that is 1 is compiled as a constant, and a constant has no `.to()`. Widen the loaded numbers, and not "
            "the stride.",
            frozenset({"does_not_compile", "crash"}),
        ),
        Hint(
            "The product of two numbers of 31 bits has up to 62, and each of them counts. fp64 has 53 bits for digits, so it "
            "is no cure either.",
            frozenset({"mismatch", "mismatch:part", "mismatch:near"}),
            case="stride=2147483647, states=2147483647",
        ),
        Hint(
            "fp32 has 24 bits for digits, so it is no cure. And unsigned, the product wraps at 2³² instead.",
            frozenset({"mismatch", "mismatch:near"}),
            case="states=(24901|2147483647|3000000|40000)",
        ),
        Hint(
            "Keep the masks, on the load and on the store, and as many programs as there are blocks.",
            frozenset({"unwritten", "unwritten:tail", "unwritten:one_program", "undefined_lanes"}) | _OUTSIDE,
        ),
        Hint("Nearly the answer: `index.to(tl.int64) * stride`."),
    ),
)


# --- case_transposed_view -------------------------------------------------------------------------------------------


def _any_matrix(
    generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "near 0"
) -> tuple[torch.Tensor]:
    """A matrix of any layout; "far from 0", its numbers reach from below −100 to above 100, whose `exp` is 0 or infinite."""
    x = 3 * floats(generator, m, n)
    if values == "far from 0":
        x += 100 * x.sign()
    if layout == "part of a row":
        wider = torch.full((m, n + 5), 7.0)
        wider[:, 2 : n + 2] = x
        return (wider[:, 2 : n + 2],)
    return (arranged(x, layout),)


CASE_TRANSPOSED_VIEW = Exercise(
    name="case_transposed_view",
    lesson=NAME,
    signature="case_transposed_view(x)",
    statement=(
        "Return x · sigmoid(x), element by element, of the 2-D fp32 tensor `x` of any strides. The result may have any "
        "strides, too. `x` has at least one row and one column, and all its values are finite."
    ),
    reference=lambda x: torch.nn.functional.silu(x.double()).float(),
    make_inputs=_any_matrix,
    cases=(
        {"m": 1, "n": 1},
        {"m": 3, "n": 5},
        {"m": 5, "n": 3, "layout": "transposed"},
        {"m": 4, "n": 7, "layout": "transposed"},
        {"m": 3, "n": 6, "layout": "part of a row"},
        {"m": 4, "n": 6, "layout": "sliced"},
        {"m": 3, "n": 5, "layout": "row expanded"},
        {"m": 5, "n": 3, "layout": "column expanded"},
        {"m": 4, "n": 7, "values": "far from 0"},
        {"m": 33, "n": 20},
        {"m": 20, "n": 70, "layout": "transposed"},
        {"m": MANY_PROGRAMS, "n": 3},
    ),
    straddle=lambda block: tuple(
        {"m": 2, "n": n, "layout": layout}
        for n in (block - 1, block + 1)
        if 0 < n <= 2**11 + 1
        for layout in ("rows", "transposed")
    ),
    drawn=lambda numbers: (
        {"m": numbers.randint(2, 20), "n": numbers.randint(21, 60), "layout": "transposed"},
        {"m": numbers.randint(2, 20), "n": numbers.randint(2, 60), "layout": "part of a row"},
    ),
    tolerance=Tolerance(rtol=1e-5, atol=1e-6),
    hints=(
        Hint(
            "The kernel as found asks where the elements of `x` lie, and takes for granted where those of the result lie. What "
            "does `torch.empty_like` do about strides?",
            _WRONG | _WRONG_PLACES,
        ),
        Hint(
            "A result has two strides of its own. They are those of `x` only where `x` fills its memory: not for a part of a "
            "wider matrix, nor for one that was expanded.",
            frozenset({"race", "race:same", "race:overlap", "race:spill", "write_twice", "unwritten", "unwritten:gaps"})
            | {"unwritten:tail", "unwritten:row_ends"}
            | {f"store_out_of_bounds:{how}" for how in ("masked", "unmasked", "strides", "program")},
        ),
        Hint(
            "`x.stride(1) == 1` says that neighbours in a row lie side by side. It does not say that rows do. Ask "
            "`x.is_contiguous()`, or pass the strides.",
            frozenset({"mismatch", "mismatch:part", "load_out_of_bounds:strides", "load_out_of_bounds:program", "crash"}),
            case="part of a row|sliced|expanded",
        ),
        Hint(
            "`exp(100)` is infinite in fp32. Only 1/(1 + exp(−x)) bears that, as 1/∞ is 0; ∞/∞ is NaN.",
            frozenset({"nan", "mismatch", "mismatch:part"}),
            case="far from 0",
        ),
        Hint(
            "Spare lanes are masked off, on the load and on the store.",
            frozenset({"load_out_of_bounds:masked", "load_out_of_bounds:unmasked", "undefined_lanes"}),
        ),
        Hint(
            "Nearly the answer: pass `*out.stride()` as well, and store to `out_ptr + row * out_row_stride + columns * "
            "out_column_stride`. Or make the result contiguous, `torch.empty(x.shape, dtype=x.dtype, device=x.device)`.",
        ),
    ),
)


# --- case_local_mask ------------------------------------------------------------------------------------------------


def _rows_and_factors(
    generator: torch.Generator, m: int, n: int, layout: str = "rows", blocks: int = 0
) -> tuple[torch.Tensor, torch.Tensor]:
    """An m×n matrix whose rows may lie apart ("wider"), and a factor for each row, none of them near 1. `blocks` says how many
    of the answer's are in a row."""
    x, factors = floats(generator, m, n), floats(generator, m)
    if layout == "wider":
        wider = torch.full((m, n + 6), 7.0)
        wider[:, 3 : n + 3] = x
        x = wider[:, 3 : n + 3]
    return x, 2 + factors.abs()


CASE_LOCAL_MASK = Exercise(
    name="case_local_mask",
    lesson=NAME,
    signature="case_local_mask(x, factors)",
    statement=(
        "Multiply each row of the 2-D fp32 tensor `x` by its number in the 1-D fp32 tensor `factors`, and return the product. "
        "`x` stays as it is. It has at least one row and one column; the elements of a row lie side by "
        "side, and rows `x.stride(0)` apart. `factors` is contiguous, and has a number for each row."
    ),
    reference=lambda x, factors: x * factors[:, None],
    make_inputs=_rows_and_factors,
    cases=(
        {"m": 1, "n": 1},
        {"m": 3, "n": 5},
        {"m": 3, "n": 8},
        {"m": 3, "n": 12},
        {"m": 2, "n": 12, "layout": "wider"},
        {"m": 4, "n": 16},
        {"m": 5, "n": 29, "layout": "wider"},
        {"m": MANY_PROGRAMS, "n": 3},
        {"m": 2, "n": 130},
    ),
    straddle=lambda block: (
        *({"m": 3, "n": n} for n in (block - 1, block + 1, 2 * block + 1) if 0 < n <= 2**11 + 1),
        *([{"m": 1, "n": MANY_PROGRAMS * block + 1, "blocks": MANY_PROGRAMS + 1}] if block <= 128 else []),
    ),
    drawn=lambda numbers: ({"m": numbers.randint(2, 6), "n": 2 * numbers.randint(9, 40) + 1},),
    tolerance=Tolerance(rtol=1e-6),
    hints=(
        Hint(
            "`n_cols` counts the columns of the row. What do the lanes count that are compared with it? In the first block of "
            "a row both begin at 0. Pointers and mask go by the same columns, in which the block's beginning is added once; "
            "and the load needs the mask as much as the store.",
            _OUTSIDE
            | {f"{access}_out_of_bounds:{how}" for access in ("load", "store") for how in ("program", "strides")}
            | {"race", "race:read", "race:overlap", "race:same", "undefined_lanes"},
        ),
        Hint(
            "Give the columns of the row a name, `columns = tl.program_id(axis=1) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)`, "
            "and make both of it: the pointers and the mask.",
            _WRONG | _WRONG_PLACES | {"race:spill"},
        ),
        Hint(
            "Are whole blocks missing? `triton.cdiv(n_cols, BLOCK_SIZE)` of them cover the row. Parts of blocks? Then the mask "
            "leaves out columns that the row has: `columns < n_cols` is right in each block, the first as well as the last.",
            frozenset({"unwritten", "unwritten:row_ends", "unwritten:tail", "unwritten:gaps", "unwritten:nothing"})
            | {"unwritten:input", "unwritten:elsewhere", "unchanged"},
        ),
        Hint(
            "The caller still needs `x`. The launcher as found writes to a copy: `out = x.clone()`.",
            frozenset({"input_changed"}),
            asked=False,
        ),
        Hint(
            "Nearly the answer: `mask = columns < n_cols`, on the load and on the store, at `x_ptr + row * row_stride + "
            "columns`.",
        ),
    ),
)


# --- case_lost_update -----------------------------------------------------------------------------------------------


def _additions(
    generator: torch.Generator, m: int, n: int, places: str = "some twice", values: str = "near 1", blocks: int = 0
) -> tuple[torch.Tensor, torch.Tensor, int]:
    """m places below n, and a value for each. "distinct" ones are all different, "one" are all the same. Of "huge and tiny"
    values, an odd place gets the huge ones and an even place the tiny ones, so that fp32 still adds them exactly. `blocks` says
    how many of the answer's there are."""
    index = torch.randint(0, n, (m,), generator=generator, dtype=torch.int32)
    if places == "distinct":
        index = torch.randperm(n, generator=generator)[:m].int()
    elif places == "one":
        index[:] = n // 2
    numbers = rounded(generator, m)
    if values == "huge and tiny":
        numbers *= torch.where(index % 2 == 1, 2.0**40, 2.0**-40)
    return index, numbers, n


def _added(index: torch.Tensor, values: torch.Tensor, n: int) -> torch.Tensor:
    return torch.zeros(n, dtype=torch.float64).index_add(0, index.long(), values.double()).float()


CASE_LOST_UPDATE = Exercise(
    name="case_lost_update",
    lesson=NAME,
    signature="case_lost_update(index, values, n)",
    statement=(
        "Return an fp32 vector of `n` sums: sum number i adds up those `values` whose `index` is i, and is 0 if there is none. "
        "`index` is a contiguous 1-D int32 tensor of numbers from 0 to n − 1, in which a number may stand any number of times; "
        "`values` is as long, contiguous, and fp32. Both may have any length, also 0; `n` is at least one."
    ),
    reference=_added,
    make_inputs=_additions,
    cases=(
        {"m": 1, "n": 1},
        {"m": 5, "n": 9, "places": "distinct"},
        {"m": 6, "n": 4},
        {"m": 7, "n": 3, "places": "one"},
        {"m": 64, "n": 70, "places": "distinct"},
        {"m": 65, "n": 20},
        {"m": 200, "n": 50},
        {"m": 130, "n": 7, "places": "one"},
        {"m": 40, "n": 12, "values": "huge and tiny"},
        {"m": 10, "n": 300},
        {"m": 0, "n": 6},
    ),
    straddle=lambda block: (
        *({"m": case["n"], "n": 17} for case in straddle_length(block) if case["n"] <= 2**11 + 1),
        *([{"m": MANY_PROGRAMS * block + 1, "n": 17, "blocks": MANY_PROGRAMS + 1}] if block <= 128 else []),
    ),
    drawn=lambda numbers: ({"m": numbers.randint(33, 300), "n": numbers.randint(5, 90)},),
    tolerance=Tolerance(rtol=1e-5),
    torch_may="allocate",
    zeros_may_stay=True,
    hints=(
        Hint(
            "Two lanes, or two programs, with the same place: both load the old sum, both store theirs, and one of the two is "
            "lost. Load, add and store must be one step: `tl.atomic_add(pointers, values, mask=…)`.",
            frozenset({"race", "race:read", "race:same", "race:overlap", "race:spill", "write_twice", "overtaken_load"})
            | {"read_back", "program_order", "reordered"},
        ),
        Hint(
            "A barrier holds the threads of *one* program together. Other programs don't wait there, and two lanes that store "
            "to one place still store both.",
            frozenset({"race:read", "overtaken_load", "write_twice"}),
        ),
        Hint(
            "An atomic adds to what is there. Somebody must have put zeros there before: `torch.zeros`.",
            frozenset({"uninitialized", "nan", "nan:fresh", "unwritten", "unwritten:gaps", "overwritten", "unwritten:nothing"}),
        ),
        Hint(
            "Each value is added once, to its own place. Is it an addition, of all values, in fp32? `atomic_xchg` and "
            "`atomic_max` are one step as well, and do something else.",
            _WRONG | _WRONG_PLACES,
        ),
        Hint(
            "fp32 has a point that floats: it holds 10¹² as well as 10⁻¹², each with 24 bits. Whole numbers of 32 bits do not, "
            "whatever they are multiplied with before. Add the values as they are.",
            _WRONG,
            case="huge",
        ),
        Hint(
            "A ticket says who came first, and not that this one's next line is carried out first: by then others may have "
            "added, and `tl.atomic_xchg` puts its value in the place of theirs. Let the sums begin at 0, and let all add.",
            frozenset({"race:replaced"}),
        ),
        Hint(
            "Spare lanes add nothing: the mask belongs on the two loads and on the atomic.",
            frozenset({"undefined_lanes"}) | _OUTSIDE | {"store_out_of_bounds:program", "load_out_of_bounds:program"},
        ),
        Hint(
            "Nearly the answer: `tl.atomic_add(out_ptr + index, value, mask=mask)` in place of the last two lines, on a result "
            "from `torch.zeros`.",
        ),
    ),
)


# --- case_read_back -------------------------------------------------------------------------------------------------


def _rows_of_numbers(generator: torch.Generator, m: int, n: int, layout: str = "rows", blocks: int = 0) -> tuple[torch.Tensor]:
    """Rows whose elements lie side by side, though the rows may lie apart ("wider"). `blocks` says how many of the answer's are
    in a row."""
    x = floats(generator, m, n)
    if layout == "wider":
        wider = torch.full((m, n + 6), 7.0)
        wider[:, 3 : n + 3] = x
        return (wider[:, 3 : n + 3],)
    return (x,)


def _differences_of_squares(x: torch.Tensor) -> torch.Tensor:
    squares = x.double() ** 2
    return torch.cat([squares[:, :1], squares.diff(dim=1)], dim=1).float()


CASE_READ_BACK = Exercise(
    name="case_read_back",
    lesson=NAME,
    signature="case_read_back(x)",
    statement=(
        "Return, for the 2-D fp32 tensor `x`, the square of each element minus the square of the element before it in its row; "
        "the first element of a row has none before it, so there it is the square alone. `x` has at least one column and any "
        "number of rows, also 0; the elements of a row lie side by side, and rows `x.stride(0)` apart."
    ),
    reference=_differences_of_squares,
    make_inputs=_rows_of_numbers,
    cases=(
        {"m": 1, "n": 1},
        {"m": 1, "n": 2},
        {"m": 3, "n": 5},
        {"m": 4, "n": 8},
        {"m": 3, "n": 7, "layout": "wider"},
        {"m": 2, "n": 33},
        {"m": 2, "n": 300, "layout": "wider"},
        {"m": MANY_PROGRAMS, "n": 3},
        {"m": 0, "n": 5},
    ),
    straddle=lambda block: (
        *({"m": 2, "n": n} for n in (block - 1, block + 1) if 0 < n <= 2**11 + 1),
        *_many_turns(block),
    ),
    drawn=lambda numbers: ({"m": numbers.randint(2, 9), "n": numbers.randint(9, 90), "layout": "wider"},),
    tolerance=Tolerance(rtol=1e-5, atol=1e-5),
    torch_may="allocate",
    hints=(
        Hint(
            "A lane needs what its neighbour has. Through memory, the way is: store, *wait for all*, load. What waits for all "
            "is a `tl.debug_barrier()` between the two, or the end of a kernel. Or take another way: who can compute the "
            "neighbour's square without asking it?",
            frozenset({"read_back", "overtaken_load"}),
        ),
        Hint(
            "Neighbours of a tile may lie in different threads, also in one warp, so neither `num_warps=1` nor `volatile=True` "
            "makes a thread wait for another.",
            frozenset({"read_back"}),
        ),
        Hint(
            "The element before is the one at `columns - 1` of the *same* row. Column 0 has none, and loads nothing: that is a "
            "matter for the mask. `tl.where` comes too late for it.",
            _OUTSIDE | _WRONG_PLACES | {f"load_out_of_bounds:{how}" for how in ("before", "below", "program", "strides")},
        ),
        Hint(
            "First square, then subtract: x² − before², and not (x − before)². And the element before is the one at "
            "`columns - 1` of the same row; column 0 has none, and there 0 is subtracted.",
            _WRONG,
        ),
        Hint(
            "If one kernel leaves squares for another one, all of them must be there: which are written, and by whom?",
            frozenset({"uninitialized", "unwritten", "unwritten:gaps", "race", "race:read", "race:same", "undefined_lanes"}),
        ),
        Hint(
            "Nearly the answer: load the element before from `x` itself, with the mask `mask & (columns > 0)` and `other=0.0`, "
            "and square it: nothing needs to be stored in between.",
        ),
    ),
)


# --- case_kernel_cache ----------------------------------------------------------------------------------------------


def _batches(generator: torch.Generator, m: int, n: int, starts: str = "at 0", dtype: str = "fp32") -> tuple[torch.Tensor]:
    """Rows that begin at a multiple of 16 bytes ("at 0"), or some elements later ("late"); "wider" ones lie n + 16 apart, and
    "wider, late" ones begin late as well. What is a multiple of 8 and not of 16 is the distance of rows that are "8 wider", and
    the beginning of those that are "8 bytes late"."""
    values = 3 * floats(generator, m, n).to({"fp32": torch.float32, "fp16": torch.float16}[dtype])
    further, first = {"8 wider": (8, 0), "8 bytes late": (0, 8 // values.element_size())}.get(
        starts, (16 if "wider" in starts else 0, 3 if "late" in starts else 0)
    )
    apart = n + further
    memory = torch.full((first + m * apart,), 7.0, dtype=values.dtype)
    rows = memory.as_strided((m, n), (apart, 1), first)
    rows.copy_(values)
    return (rows,)


_OTHER_ARGUMENTS = "compiled for other arguments"

CASE_KERNEL_CACHE = Exercise(
    name="case_kernel_cache",
    lesson=NAME,
    signature="case_kernel_cache(x)",
    statement=(
        "Return the softmax of each row of the 2-D tensor `x`, fp32 or fp16, in the dtype of `x`. Calls of any kind may follow "
        "one another. `x` has at least one row and one column; the elements of a row lie side by side, and rows `x.stride(0)` "
        "apart; `x` may begin anywhere in its memory."
    ),
    reference=lambda x: torch.softmax(x.double(), dim=1).to(x.dtype),
    make_inputs=_batches,
    cases=(
        {"m": 3, "n": 32},
        {"m": 4, "n": 32},
        {"m": 3, "n": 32, "dtype": "fp16"},
        {"m": 3, "n": 29},
        {"m": 3, "n": 32, "starts": "wider"},
        {"m": 3, "n": 32, "starts": "late"},
        {"m": 3, "n": 32, "starts": "wider, late"},
        {"m": 5, "n": 29, "starts": "wider"},
        {"m": 3, "n": 29, "dtype": "fp16", "starts": "late"},
        {"m": 6, "n": 24},
        {"m": 5, "n": 32, "starts": "8 wider"},
        {"m": 5, "n": 32, "starts": "8 bytes late"},
        {"m": 3, "n": 1},
        {"m": 3, "n": 1, "starts": "wider"},
        {"m": MANY_PROGRAMS, "n": 2},
    ),
    straddle=lambda block: ({"m": 2, "n": block + 1},) if block <= 2**10 else (),
    drawn=lambda numbers: (
        {"m": numbers.randint(2, 6), "n": numbers.randint(65, 120)},
        {"m": numbers.randint(2, 6), "n": 80, "starts": numbers.choice(("late", "wider", "wider, late"))},
    ),
    tolerance=Tolerance(rtol=1e-4, atol=1e-9),
    torch_may="allocate",
    hints=(
        Hint(
            "List what a kernel is compiled for: dtypes, constants, whether numbers are 1 or multiples of 16, and whether "
            "tensors begin at a multiple of 16 bytes. Which of these is not in the key?",
            frozenset({"crash"}),
            message=_OTHER_ARGUMENTS,
        ),
        Hint(
            "Strides and addresses count. Two tensors of the same shape and dtype may differ in both, and one that is "
            "contiguous may begin anywhere.",
            frozenset({"crash"}),
            case="wider|late",
            message=_OTHER_ARGUMENTS,
        ),
        Hint(
            "Keep numbers, and no results: the caller still has the last one.",
            frozenset({"overwritten", "unwritten", "unwritten:nothing", "input_changed"}),
        ),
        Hint(
            "The kernel as found is right: its masks, its `other`, and the two row strides. Only the launcher has to change.",
            _WRONG
            | _WRONG_PLACES
            | _OUTSIDE
            | {"no_kernel", "torch_compute"}
            | {"undefined_lanes", "race", "load_out_of_bounds:strides", "load_out_of_bounds:program", "does_not_compile"},
        ),
        Hint(
            "Triton keeps compiled kernels by all that they depend on. `softmax_rows_kernel[(n_rows,)](…)` asks it, each time; "
            "then nothing of your own must be kept.",
        ),
    ),
)


# --- quizzes --------------------------------------------------------------------------------------------------------

TELLTALE_VALUE = Quiz(
    name="telltale_value",
    lesson=NAME,
    question=(
        "A row of scores, all near −300. The kernel should give something near −298, and gives 1.0986, which is the logarithm "
        "of 3. The block has `next_power_of_2(n_cols)` lanes, and at most 16. How many columns may the row have? List all."
    ),
    form="a list of numbers of columns",
    accepts=is_list,
    any_order=True,
    expected=lambda: [n for n in range(1, 17) if 2 ** (n - 1).bit_length() - n == 3],
    explanation=(
        "exp(1.0986) is 3: three lanes held a 0, and beside it the scores vanish. So the block has three lanes to spare: "
        "8 − 5, or 16 − 13. A wrong value that you can explain is as good as a line number."
    ),
    wrong=(
        wrong([5], "That is one. Which other block has three lanes to spare?"),
        wrong([13], "That is one. Which other block has three lanes to spare?"),
        wrong([3], "Three is the number of *spare* lanes: what are they spare of?"),
        wrong([1, 5, 13], "One column fits a block of one lane, and nothing is spare."),
    ),
    hints=(
        Hint("The sum of what is exp(1.0986) = 3? Which lanes can give a 1 each?"),
        Hint("exp(0 − 0) = 1 from each spare lane, and exp(−300 − 0) = 0 from each score. So three lanes are spare."),
        Hint("Blocks of 1, 2, 4, 8 and 16 lanes: 8 − 3 = 5 is one, and 16 − 3 another. 4 − 3 = 1 would have a block of 1."),
    ),
)

THREADS_COUNTED = Quiz(
    name="threads_counted",
    lesson=NAME,
    question=(
        "Every element of a normalised row is 1.0607 times what it should be, in a block of 180 threads that hold one element "
        "each. Each element is divided by the root of a mean of squares: by √(sum / 180). About how many threads' squares are "
        "in that sum, if all are of about the same size?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: 180 * 8 // 9,
    explanation=(
        "1.0607² = 1.125 = 9/8. So the sum has 8/9 of what it should have: 160 of 180 threads. 160 is 5 · 32, the threads of "
        "five whole warps. And 20 are left."
    ),
    wrong=(
        wrong(170, "180 / 1.0607. But the root was taken: which factor of the *sum* makes 1.0607 of a root?"),
        wrong(180, "Then the factor would be 1."),
        wrong(20, "Those are the ones that are missing."),
        wrong(202, "Then the elements would be too small. They are too large, so the divisor is too small."),
    ),
    hints=(
        Hint("A result that is too large was divided by too little. How much too little is the root, and the sum below it?"),
        Hint("The root is too small by 1.0607, so the sum is by 1.0607² = 1.125."),
        Hint("180 / 1.125"),
    ),
)

FIRST_WRAPPED = Quiz(
    name="first_wrapped",
    lesson=NAME,
    question=(
        "States lie 131072 = 2**17 elements apart, and a kernel computes `index * stride` with 32 bits. Which is the lowest "
        "number of a state whose offset comes out wrong?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: 2**31 // 2**17,
    explanation="16384 · 2**17 = 2**31, which is one more than the largest int32. It comes out as −2**31.",
    wrong=(
        wrong(16383, "16383 · 2**17 is still below 2**31."),
        wrong(16385, "That one is wrong, too. The one before it?"),
        wrong(32768, "int32 has a sign: it holds numbers below 2**31, not 2**32."),
        wrong(2**31, "That is the offset. Which state has it?"),
    ),
    hints=(
        Hint("Which is the smallest number that int32 cannot hold?"),
        Hint("2**31. Which state begins there, if states are 2**17 apart?"),
        Hint("2**31 / 2**17"),
    ),
)

WRONG_BLOCKS = Quiz(
    name="wrong_blocks",
    lesson=NAME,
    question=(
        "Rows of 20 columns are computed block by block. A program moves its pointers to its block, and masks the *lanes*: "
        "`tl.arange(0, BLOCK_SIZE) < 20`. For which of the blocks 4, 8, 16, 32 and 64 does some lane leave its row?"
    ),
    form="a list of block sizes",
    accepts=is_list,
    any_order=True,
    expected=lambda: [block for block in (4, 8, 16, 32, 64) if block < 20 and 20 % block],
    explanation=(
        "A block of 32 or 64 covers the row alone, and there the mask is right. A block of 4 fits five times. Of 8, the third "
        "block should have 4 lanes, and has 8, all of them below 20. Of 16, the second should have 4, and has 16."
    ),
    wrong=(
        wrong([4, 8, 16], "Blocks of 4 fit exactly: 20 = 5 · 4. No lane is too many, with or without a mask."),
        wrong([32, 64], "There is one block, which begins at column 0. So lanes and columns are the same."),
        wrong([8], "And 16? Its second block begins at column 16."),
        wrong([16], "And 8? Its third block begins at column 16."),
        wrong([8, 16, 32, 64], "With 32 or 64 there is one block, and its lanes are the columns."),
        wrong([], "In the first block the mask is right. Is there a second one, and does it fit?"),
    ),
    hints=(
        Hint("Where does the last block begin, and how many of its lanes have a column?"),
        Hint("The mask leaves on all lanes below 20. In a block of 8 or 16 these are all lanes."),
        Hint("Wrong are blocks that are shorter than the row, and do not fit into it a whole number of times."),
    ),
)

NO_TEST_SEES = Quiz(
    name="no_test_sees",
    lesson=NAME,
    question=(
        "A kernel adds values to places of a vector by a load, an addition and a store. Each lane does that for its own value. "
        "Four tests: (1) `index = arange(64)`; (2) `index = zeros(64)`; (3) `index = randperm(64)`; (4) "
        "`index = randint(0, 64, (64,))`. Which of them can never fail, on whatever GPU?"
    ),
    form="a list of numbers from 1 to 4",
    accepts=is_list,
    any_order=True,
    expected=lambda: [1, 3],
    explanation=(
        "In (1) and (3) no two lanes have the same place, so nobody meets anybody. In (2) all do. In (4), 64 numbers are drawn "
        "from 64: that none of them comes twice is next to impossible."
    ),
    wrong=(
        wrong([1], "A permutation is in disorder, but does any place come twice?"),
        wrong([3], "And a permutation that is in order?"),
        wrong([1, 3, 4], "64 numbers drawn at random from 64: is each of them different?"),
        wrong([2, 4], "Those are the ones that can fail. Which cannot?"),
        wrong([], "What if no two lanes have the same place?"),
    ),
    hints=(
        Hint("What must two lanes have in common to lose an update?"),
        Hint("The same place. In which tests does no place come twice?"),
        Hint("A permutation has each number once, and `arange` is one."),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Case files",
    minutes=60,
    items=(
        TELLTALE_VALUE,
        THREADS_COUNTED,
        FIRST_WRAPPED,
        WRONG_BLOCKS,
        NO_TEST_SEES,
        CASE_ZERO_PADDING,
        CASE_PARTIAL_WARP,
        CASE_ONLINE_SUM,
        CASE_WRAPPED_OFFSETS,
        CASE_TRANSPOSED_VIEW,
        CASE_LOCAL_MASK,
        CASE_LOST_UPDATE,
        CASE_READ_BACK,
        CASE_KERNEL_CACHE,
    ),
)
