"""Lesson 05: arithmetic lane by lane, and `tl.where`, which chooses between two values that both exist."""

from __future__ import annotations

import math
import random

import torch

from course_lib.catalog.forms import is_list, wrong
from course_lib.catalog.inputs import (
    LENGTHS,
    SPECIAL,
    SPECIAL_LENGTHS,
    drawn_lengths,
    floats,
    straddle_length,
    vector,
)
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance

NAME = "05_elementwise_and_where"

_VALUES = frozenset({"mismatch", "constant", "scaled", "first_block_only", "tail", "periodic", "unchanged"})
_STRAYS = frozenset(f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked"))
_LAUNCH = frozenset(
    {
        "no_kernel",
        "unwritten:nothing",
        "unwritten:no_program",
        "unwritten:one_program",
        "unwritten:tail",
        "unwritten:gaps",
        "race:same",
        "race:overlap",
        "race:spill",
    }
)
_NEW_TENSOR = frozenset({"input_changed", "unwritten:input", "race:read"})


HALF_ARITHMETIC = Quiz(
    name="half_arithmetic",
    lesson=NAME,
    question=(
        "Each lane of the fp16 tile `x` holds 2048. Which number is in `x + 1`, and which one in `x.to(tl.float32) + 1`?"
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [int(torch.tensor(2048.0, dtype=dtype) + 1) for dtype in (torch.float16, torch.float32)],
    explanation=(
        "A Python number takes the type of the tile, so `x + 1` is an fp16 sum. fp16 has 11 significant bits: behind 2048 "
        "comes 2050, and 2049 is rounded to 2048. fp32 has room for it."
    ),
    wrong=(
        wrong([2049, 2049], "The 1 has no say in the type: `x + 1` is fp16, which has 11 significant bits. Is there a 2049?"),
        wrong([2050, 2049], "2049 lies in the middle between 2048 and 2050. A tie is rounded to the one whose last bit is 0."),
        wrong([2048, 2048], "Converting to fp32 comes before the addition here, and fp32 has 24 significant bits."),
    ),
    hints=(
        Hint("Of which type is the sum of an fp16 tile and a Python number?"),
        Hint("fp16 has 11 significant bits. From 2048 = 2**11 on, how far apart are two neighbours?"),
        Hint("fp16 knows 2048 and 2050, and nothing between them; 2049 goes to the one whose last bit is 0."),
    ),
)

CHOSEN_OR_WEIGHTED = Quiz(
    name="chosen_or_weighted",
    lesson=NAME,
    question=(
        "`x` is the tile (2, 0, −1, inf). How many NaN are there in `tl.where(x > 0, tl.log(x), 0.0)`, and how many in "
        "`(x > 0).to(tl.float32) * tl.log(x)`?"
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: _nan_counts(torch.tensor([2.0, 0.0, -1.0, math.inf])),
    explanation=(
        "log(0) is −inf and log(−1) is NaN, in both. `tl.where` leaves these two lanes with 0 and forgets the logarithm. A "
        "product cannot forget: 0 · (−inf) is NaN, and so is 0 · NaN. (1 · inf is inf.)"
    ),
    wrong=(
        wrong([0, 1], "0 · NaN is NaN. And what is 0 · (−inf)?"),
        wrong([0, 0], "Multiplying by 0 does not make 0 of everything: 0 · NaN is NaN, and so is 0 · inf."),
        wrong([1, 2], "log(−1) is NaN, but `tl.where` does not take it: −1 > 0 is false, and that lane gets 0."),
        wrong(
            [2, 2],
            "`tl.where` computes both sides in all lanes, and then takes one of the two. What it leaves leaves no trace.",
        ),
        wrong([0, 3], "Is 1 · inf a NaN? The lane of inf has the weight 1."),
    ),
    hints=(
        Hint("Write down `tl.log(x)` for the four lanes first."),
        Hint("log 2, −inf, NaN, inf. Now take them with `where`, and multiply them by 1, 0, 0, 1."),
        Hint("0 · (−inf) and 0 · NaN are NaN. `where` chooses 0 in both lanes."),
    ),
)


def _nan_counts(x: torch.Tensor) -> list[int]:
    """NaN in the chosen and in the weighted logarithm of `x`."""
    chosen = torch.where(x > 0, x.log(), 0.0)
    return [int(values.isnan().sum()) for values in (chosen, (x > 0).float() * x.log())]


GUARDED_BY_WHERE = Quiz(
    name="guarded_by_where",
    lesson=NAME,
    question=(
        "`x` has 5 elements, and `lanes` is `tl.arange(0, 8)`. Which offsets does `tl.where(lanes > 0, tl.load(x_ptr + lanes - "
        "1, mask=lanes < 5), 0.0)` read?"
    ),
    form="a list of whole numbers",
    accepts=is_list,
    expected=lambda: [lane - 1 for lane in range(8) if lane < 5],
    any_order=True,
    explanation=(
        "The mask lets lanes 0 to 4 read, and they read the offsets −1 to 3. What `tl.where` does with lane 0 afterwards comes "
        "too late: the load has read what lies in front of `x`."
    ),
    wrong=(
        wrong([0, 1, 2, 3], "That would be so if `where` were an `if`. The load is done first, for every lane of its mask."),
        wrong([0, 1, 2, 3, 4], "Lane i reads at i − 1."),
        wrong([-1, 0, 1, 2, 3, 4, 5, 6], "Lanes 5, 6 and 7 are masked off: they read nothing."),
    ),
    hints=(
        Hint("Which lanes does the mask of the load leave on?"),
        Hint("`tl.where` is given two tiles that are there already. When was the load done?"),
        Hint("Lanes 0 to 4 read, each at its own number minus 1."),
    ),
)

GELU_BYTES = Quiz(
    name="gelu_bytes",
    lesson=NAME,
    question=(
        "`0.5 * x * (1 + torch.erf(x * c))` is five operations: two products with a number, `erf`, a sum with a number, and a "
        "product of two vectors. `x` has 1000 fp32 elements. How many bytes do the five read and write, all together? And how "
        "many one kernel that does it all?"
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=lambda: [(4 * 2 + 3) * 1000 * 4, 2 * 1000 * 4],
    explanation=(
        "Four of the operations read a vector and write one; the last product reads two and writes one. That is 4 · 2 + 3 = 11 "
        "vectors of 4000 bytes. One kernel reads `x` and writes the result: two vectors."
    ),
    wrong=(
        wrong([40000, 8000], "Nearly: the last product has two vectors to read, not one."),
        wrong([20000, 4000], "Count what is written as well."),
        wrong([11000, 2000], "Those are elements. Each has 4 bytes."),
        wrong([44000, 12000], "One kernel loads `x` once: it stays in registers, however often the formula uses it."),
    ),
    hints=(
        Hint(
            "Write the five operations down one below the other. How many vectors does each read, and how many does it write?"
        ),
        Hint("A number such as 0.5 is no vector and costs no traffic. The product of two vectors reads both."),
        Hint("Four times 2 vectors, and once 3. Each vector is 1000 · 4 bytes. One kernel: one in, one out."),
    ),
)


# --- leaky_relu -----------------------------------------------------------------------------------------------------


def _with_slope(generator: torch.Generator, n: int, values: str = "normal", slope: float = 0.1) -> tuple[torch.Tensor, float]:
    """A vector that begins with a positive and a negative value: where both occur, no single factor explains a wrong answer."""
    (x,) = vector(generator, n, values)
    x[:2] = x[:2].abs() * torch.tensor([1.0, -1.0])[:n]
    return x, slope


def _drawn_slopes(numbers: random.Random) -> tuple[Params, ...]:
    return tuple(
        {**case, "slope": round(numbers.uniform(low, low + 1), 3)}
        for case, low in zip(drawn_lengths(numbers), (-2, 1.1), strict=True)
    )


LEAKY_RELU = Exercise(
    name="leaky_relu",
    lesson=NAME,
    signature="leaky_relu(x, slope)",
    statement=(
        "Return `x` where it is above 0, and `slope * x` elsewhere, for a contiguous 1-D fp32 tensor of any length and any "
        "number `slope`, a Python float. Infinities and NaN go through, as in torch's `leaky_relu`."
    ),
    reference=lambda x, slope: torch.where(x > 0, x, slope * x),
    make_inputs=_with_slope,
    cases=(
        *LENGTHS,
        {"n": 129, "slope": 1.5},
        {"n": 129, "slope": -0.5},
        {"n": 131, "slope": 0.25, "values": "special"},
        {"n": 131, "slope": 2.0, "values": "special"},
    ),
    drawn=_drawn_slopes,
    straddle=straddle_length,
    tolerance=Tolerance(rtol=1e-6, atol=1e-7),
    torch_may="allocate",
    hints=(
        Hint(
            "One tile in, one tile out: load, compute, store. `slope` is one number for all lanes; pass it to the kernel as it "
            "is.",
            _LAUNCH | {"torch_compute", "crash", "wrong_shape"},
        ),
        Hint(
            "Compute both values for every lane, and let `tl.where(condition, where_true, where_false)` choose. The condition "
            "is about the value, `x > 0`, and each lane has its own.",
            _VALUES,
        ),
        Hint(
            "Is it `slope` that is multiplied with, and does the sign of `x` decide? The larger of `x` and `slope * x` is the "
            "one that is asked for only as long as the slope is at most 1.",
            frozenset({"mismatch", "unchanged", "tail", "periodic", "first_block_only"}),
            case="slope=(1|2|-)",
        ),
        Hint(
            "A weight of 0 does not switch a value off: 0 · inf is NaN. And `tl.maximum` and `tl.minimum` drop a NaN. "
            "`tl.where(x > 0, …)` does neither.",
            frozenset({"nan", "mismatch"}),
            case="values=special",
        ),
        Hint(
            "An `if` asks one number, and here each lane has an answer of its own. The interpreter takes the first branch for "
            "the whole tile, a compiler refuses. `tl.where` takes a tile as its condition.",
            frozenset({"does_not_compile"}),
        ),
        Hint(
            "`slope` comes as fp32, and so does `x`. What is computed in between should be no narrower.",
            frozenset({"mismatch:near"}),
            asked=False,
        ),
        Hint("Write to a new tensor, `torch.empty_like(x)`: the caller still needs `x`.", _NEW_TENSOR, asked=False),
        Hint("A mask belongs on the load and on the store, and it is `offsets < n`.", _STRAYS | {"undefined_lanes"}),
        Hint("Nearly the answer: `tl.store(out_ptr + offsets, tl.where(x > 0, x, slope * x), mask=mask)`."),
    ),
)


# --- safe_divide ----------------------------------------------------------------------------------------------------


def _to_divide(generator: torch.Generator, n: int, values: str = "normal") -> tuple[torch.Tensor, torch.Tensor]:
    """Numerators and denominators, about every fourth of which is a zero, of either sign.

    "tiny" denominators are anything down to 1e-30; "special" has every pair of values in `SPECIAL`, and others.
    """
    a, b = floats(generator, n), floats(generator, n)
    if values == "tiny":
        b *= 10.0 ** (-30 * torch.rand(n, generator=generator))
    places = torch.randperm(n, generator=generator)
    b[places[: (n + 2) // 4]] = torch.tensor([0.0, -0.0]).repeat(n)[: (n + 2) // 4]
    if values == "special":
        pairs = torch.cartesian_prod(torch.tensor(SPECIAL), torch.tensor(SPECIAL))
        a[places[: len(pairs)]], b[places[: len(pairs)]] = pairs.T
    return a, b


SAFE_DIVIDE = Exercise(
    name="safe_divide",
    lesson=NAME,
    signature="safe_divide(a, b)",
    statement=(
        "Return 0 where `b` is 0, and `a / b` elsewhere, for two contiguous 1-D fp32 tensors of the same length, which may be "
        "any length. Where `b` is 0.0 or −0.0 the result is 0 whatever `a` is, also for 0/0, inf/0 and NaN/0. Everywhere else "
        "it is what torch gives for `a / b`, infinities and NaN included. The sign of a zero does not matter."
    ),
    reference=lambda a, b: torch.where(b == 0, 0.0, a / b),
    make_inputs=_to_divide,
    cases=(*LENGTHS, {"n": 40, "values": "tiny"}, {"n": 1000, "values": "tiny"}, {"n": 131, "values": "special"}),
    drawn=drawn_lengths,
    straddle=straddle_length,
    # The GPU's division is off by up to two units in the last place (CUDA C++ Programming Guide, "Mathematical Functions").
    tolerance=Tolerance(rtol=1e-6, atol=1e-37),
    torch_may="allocate",
    hints=(
        Hint(
            "Two tensors in, one out, one mask. Nothing bad happens when a lane divides by 0: it gets an infinity or a NaN, "
            "and you need not keep it.",
            _LAUNCH | {"torch_compute", "crash", "wrong_shape"},
        ),
        Hint(
            "Where is the quotient, and where is the 0? `tl.where(b == 0, 0.0, …)` decides by `b`, which tells exactly where "
            "the 0 is asked for.",
            _VALUES | {"reversed", "shifted"},
        ),
        Hint(
            "Look at the order: what is chosen last, stays. A 0 that is put into `a` is divided afterwards, and 0 / 0 is NaN; "
            "a NaN that is multiplied by 0 is still one. Divide first, then choose.",
            frozenset({"nan"}),
        ),
        Hint(
            "Don't look at the quotient to see whether `b` was 0: NaN and infinity also come out where `b` is not 0, and there "
            "they are asked for. And is a NaN in `b` a zero?",
            frozenset({"mismatch", "nan"}),
            case="values=special",
        ),
        Hint(
            "Only 0 counts as 0. A tiny number in `b` is a number, and something added to `b` to be on the safe side changes "
            "every quotient.",
            frozenset({"mismatch", "mismatch:near", "constant"}),
            case="values=tiny",
        ),
        Hint(
            "An `if` asks one number, and each lane has a `b` of its own. `tl.where` takes a tile as its condition.",
            frozenset({"does_not_compile"}),
        ),
        Hint("Nearly right is not enough: divide in fp32, by `b` itself.", frozenset({"mismatch:near"}), asked=False),
        Hint(
            "The 0 is an element of the result as well: somebody must store it. The mask of the store is `offsets < n`, and "
            "says nothing about `b`.",
            frozenset({"unwritten", "unwritten:gaps"}),
            asked=False,
        ),
        Hint(
            "A lane that did not load holds nothing that you could rely on, not even for a product with 0. Load it, or say "
            "with `other=` what it holds.",
            frozenset({"undefined_lanes"}),
            asked=False,
        ),
        Hint(
            "Write to a new tensor, `torch.empty_like(a)`: the caller still needs `a` and `b`.",
            _NEW_TENSOR,
            asked=False,
        ),
        Hint("Both loads and the store need the mask `offsets < n`.", _STRAYS),
        Hint("Nearly the answer: `tl.store(out_ptr + offsets, tl.where(b == 0, 0.0, a / b), mask=mask)`."),
    ),
)


# --- shift_right ----------------------------------------------------------------------------------------------------


def _to_shift(generator: torch.Generator, n: int, values: str = "normal") -> tuple[torch.Tensor]:
    """A vector as `vector` makes it; an "endless first" one begins with an infinity."""
    if values != "endless first":
        return vector(generator, n, values)
    x = floats(generator, n)
    x[:1] = math.inf
    return (x,)


SHIFT_RIGHT = Exercise(
    name="shift_right",
    lesson=NAME,
    signature="shift_right(x)",
    statement=(
        "Return the elements of the contiguous 1-D fp32 tensor `x`, of any length, one place further back: element 0 of the "
        "result is 0, element i is `x[i - 1]`, and the last element of `x` is left out. Nothing outside of `x` is read, and "
        "the kernel writes every element of the result, the first one too."
    ),
    reference=lambda x: torch.cat([x.new_zeros(min(1, len(x))), x[:-1]]),
    make_inputs=_to_shift,
    cases=(*LENGTHS, *SPECIAL_LENGTHS, {"n": 21, "values": "endless first"}),
    drawn=drawn_lengths,
    straddle=straddle_length,
    torch_may="allocate",
    hints=(
        Hint(
            "Lane for lane: element i of the result comes from offset i − 1 of `x`, and the store goes to offset i. Only one "
            "element of the whole result comes from nowhere.",
            _LAUNCH | {"torch_compute", "torch_compute:copy", "crash", "unchanged", "wrong_shape", "constant"},
        ),
        Hint(
            "Of offset 0 the load would go to −1. `tl.where` cannot prevent that: by the time that it chooses, the load has "
            "been done. What keeps a lane from loading is the load's own mask.",
            frozenset(f"load_out_of_bounds:{pattern}" for pattern in ("before", "below")),
        ),
        Hint(
            "Past the end there are lanes, too. A load that reads needs both bounds: `(offsets > 0) & (offsets < n)`.",
            frozenset({"load_out_of_bounds:masked", "load_out_of_bounds:unmasked", "load_out_of_bounds:program"}),
        ),
        Hint(
            "The store has a mask of its own: its offsets, wherever they begin, must be below n.",
            frozenset(f"store_out_of_bounds:{pattern}" for pattern in ("masked", "unmasked")),
        ),
        Hint(
            "The lane of element 0 reads nothing, but it is stored. `other=` says what it holds.",
            frozenset({"undefined_lanes"}),
        ),
        Hint(
            "The first element of the whole result is 0, and no other: ask for `offsets > 0`, not for the first lane of a "
            "block. At the end of a block the next one goes on with the block's last element.",
            frozenset({"periodic", "mismatch", "first_block_only", "tail"}),
        ),
        Hint("`x[i - 1]`, not `x[i + 1]`: which way does the load's offset move?", frozenset({"shifted"}), asked=False),
        Hint(
            "A product with 0 is no 0 if the other factor is NaN or infinite. Let `other=0.0` bring it.",
            frozenset({"nan"}),
            asked=False,
        ),
        Hint(
            "Write every element of the result, also the first one, and each in one program. If you shift the store, who "
            "writes element 0?",
            frozenset({"unwritten", "uninitialized", "write_twice"}),
            asked=False,
        ),
        Hint(
            "Read from `x` and write to a new tensor. In place, a program reads what its neighbour may have overwritten.",
            _NEW_TENSOR | {"read_back"},
            asked=False,
        ),
        Hint(
            "Nearly the answer: `tl.load(x_ptr + offsets - 1, mask=(offsets > 0) & (offsets < n), other=0.0)`, stored at "
            "`out_ptr + offsets` with `mask=offsets < n`."
        ),
    ),
)


# --- gelu -----------------------------------------------------------------------------------------------------------


def _activations(generator: torch.Generator, n: int, dtype: str = "fp32", values: str = "normal") -> tuple[torch.Tensor]:
    """Values on both sides of 0 where the function bends; "wide" ones reach to some hundreds."""
    x = {"normal": 2.0, "wide": 100.0}[values] * floats(generator, n)
    return (x.to({"fp32": torch.float32, "fp16": torch.float16}[dtype]),)


GELU = Exercise(
    name="gelu",
    lesson=NAME,
    signature="gelu(x)",
    statement=(
        "Return 0.5 · x · (1 + erf(x / √2)) for a contiguous 1-D tensor of any length, fp32 or fp16, of finite values. The "
        "result has the dtype of `x`; compute in fp32. It may be off by 1e-4, and in fp16 by a unit in the last place besides: "
        "that is room for `tl.erf`, and none for the approximations by tanh or a sigmoid."
    ),
    reference=lambda x: (0.5 * x.double() * torch.special.erfc(-x.double() / math.sqrt(2))).to(x.dtype),
    make_inputs=_activations,
    cases=(
        *LENGTHS,
        {"n": 131, "values": "wide"},
        {"n": 129, "dtype": "fp16"},
        {"n": 1000, "dtype": "fp16"},
        {"n": 257, "dtype": "fp16", "values": "wide"},
    ),
    drawn=drawn_lengths,
    straddle=straddle_length,
    # Some versions' erf is off by 3e-5 (times x/2, up to 4, where erf is not yet 1); the form with tanh by up to 4.7e-4.
    tolerance=Tolerance(rtol=1e-6, atol=1e-4),
    torch_may="allocate",
    hints=(
        Hint(
            "One load, the whole formula, one store. `tl.erf` is there; the numbers can be written down: 1/√2 is "
            "0.7071067811865476.",
            _LAUNCH | {"torch_compute", "wrong_shape"},
        ),
        Hint(
            "Take the formula apart: `x` times 1/√2, `tl.erf` of that, plus 1, times `x`, times 0.5. Is a factor missing? (And "
            "the forms with tanh or a sigmoid are other functions.)",
            _VALUES,
        ),
        Hint(
            "Nearly right: this looks like the approximation by tanh, or by a sigmoid. The exercise wants `tl.erf`, and "
            "arithmetic in fp32.",
            frozenset({"mismatch:near"}),
            asked=False,
        ),
        Hint(
            "`tl.erf` and `tl.exp` take fp32 (and fp64). Convert right after the load: `.to(tl.float32)`.",
            frozenset({"crash", "does_not_compile"}),
        ),
        Hint(
            "The kernel computes in fp32, and `tl.store` converts to what the pointer points at. So allocate the result like "
            "`x`.",
            frozenset({"wrong_dtype"}),
        ),
        Hint(
            "Something overflows on the way, `tl.exp` from 89 on or a power of a large `x`, and inf / inf and inf − inf are "
            "NaN. `tl.erf` does not.",
            frozenset({"nan"}),
            case="values=wide",
            asked=False,
        ),
        Hint(
            "In fp16 something was rounded on the way. Convert first, then compute, and let the store convert back.",
            frozenset({"mismatch", "mismatch:near", "nan"}),
            case="dtype=fp16",
        ),
        Hint("Write to a new tensor, `torch.empty_like(x)`: the caller still needs `x`.", _NEW_TENSOR, asked=False),
        Hint("A mask belongs on the load and on the store, and it is `offsets < n`.", _STRAYS | {"undefined_lanes"}),
        Hint(
            "Nearly the answer: `x = tl.load(x_ptr + offsets, mask=mask, other=0.0).to(tl.float32)`, then "
            "`0.5 * x * (1.0 + tl.erf(x * 0.7071067811865476))`."
        ),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Elementwise and where",
    minutes=35,
    items=(HALF_ARITHMETIC, CHOSEN_OR_WEIGHTED, GUARDED_BY_WHERE, GELU_BYTES, LEAKY_RELU, SAFE_DIVIDE, SHIFT_RIGHT, GELU),
)
