"""Lesson 15: the running maximum and sum of an online softmax, rows of any length, and attention."""

from __future__ import annotations

import math
import random

import torch
import torch.nn.functional as F

from course_lib.catalog.forms import is_list, is_whole, wrong
from course_lib.catalog.inputs import MANY_PROGRAMS, arranged, floats, rounded, scores
from course_lib.catalog.model import Exercise, Hint, Lesson, Params, Quiz, Tolerance
from course_lib.checking.events import Trace

NAME = "15_online_softmax_and_attention"

MOST_LANES = 1024
"""As many elements as a load of `online_softmax` may take at once, and as a program may hold of a row, however long that is."""
LONG = 16 * MOST_LANES + 27
"""Columns of a row that is longer than loops and merges with an end of their own would reach by chance."""

_MASKS = frozenset(f"{access}_out_of_bounds:{mask}" for access in ("load", "store") for mask in ("unmasked", "masked"))
_MISSING = frozenset(f"unwritten:{pattern}" for pattern in ("no_program", "one_program", "tail", "row_ends", "gaps"))


# --- online_softmax -------------------------------------------------------------------------------------------------


def _rows(generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "near 0") -> tuple[torch.Tensor, ...]:
    """Rows as `scores` makes them, or sorted ones: each block of "rising" ones has a higher maximum than all before it.

    Over a "falling" row the blocks' maxima fall by more than 88, so that exp of the difference is infinite in fp32. "lowest"
    rows have one score of −2¹²⁷, and lower ones: whatever finite number a maximum might begin with is higher, except the lowest
    of all. As a power of two it is exact also times log2(e), whether or not that is fused with a subtraction; and as the only
    one of its height it needs no sum, which a logarithm beside it would lose.
    """
    if values == "lowest":
        x = -(2.0**127) * (1.1 + 0.2 * torch.rand((m, n), generator=generator))
        x[torch.arange(m), torch.randint(n, (m,), generator=generator)] = -(2.0**127)
        return (arranged(x, layout),)
    if values not in ("rising", "falling"):
        return scores(generator, m, n, layout, values)
    return (arranged(20 * floats(generator, m, n).sort(dim=1, descending=values == "falling").values, layout),)


def _little_at_a_time(trace: Trace) -> str | None:
    """Whether no load takes more than `MOST_LANES` elements at once, and no program holds more until it stores its results.

    A program holds a row if it loads all of it before it stores, never loads it again, and was told nothing by another kernel.
    It may have several, if they are short.
    """
    largest = max((event for event in trace.events if event.kind == "load"), key=lambda event: event.lanes, default=None)
    if largest is not None and largest.lanes > MOST_LANES:
        return (
            f"line {largest.source.line}, `{largest.source.text}`, loads a tile of {largest.lanes} elements; {MOST_LANES} are "
            "the most that may be, however long a row is"
        )
    programs: dict[tuple[int, tuple[int, int, int]], list[tuple[str, int, bool]]] = {}
    if all(max(trace.view(event).shape, default=0) <= MOST_LANES for event in trace.events if trace.view(event).argument == 0):
        return None
    for event in trace.events:
        of_x = trace.view(event).argument == 0
        programs.setdefault((event.launch, event.program), []).append((event.kind, len(event.elements), of_x))
    for (launch, program), events in programs.items():
        kinds = [kind for kind, _, _ in events]
        if "store" not in kinds or not all(of_x for kind, _, of_x in events if kind == "load"):
            continue
        before, after = events[: kinds.index("store")], events[kinds.index("store") :]
        held, stored = sum(n for _, n, _ in before), sum(n for kind, n, _ in after if kind == "store")
        if all(kind != "load" for kind, _, _ in after) and min(held, stored) > MOST_LANES:
            return (
                f"program {program[0]} of `{trace.launches[launch].kernel}` loads {held} elements and then stores {stored}, so "
                f"it held a whole row in its registers; {MOST_LANES} elements are the most that may be"
            )
    return None


def _straddle_rows(block: int) -> tuple[Params, ...]:
    """Rows just shorter, just as long and just longer than a block or two, and such with a first block of −inf."""
    lengths = [n for n in (block - 1, block, block + 1, 2 * block + 1) if 0 < n <= 2 * MOST_LANES + 1]
    return (*({"m": 2, "n": n} for n in lengths), *({"m": 2, "n": n, "values": "late"} for n in lengths[-1:]))


ONLINE_SOFTMAX = Exercise(
    name="online_softmax",
    lesson=NAME,
    points=2,
    signature="online_softmax(x)",
    statement=(
        "Return the softmax of each row of the 2-D fp32 tensor `x`, as `torch.softmax(x, -1)` does, for rows that are longer "
        f"than any block: no load may take more than {MOST_LANES} elements at once, nor may a program hold more of a row, "
        "however long that is. Read each element at most twice. `x` has at least one column, any number of rows, also 0, and "
        "any strides; values may be large, very negative, infinite or NaN."
    ),
    reference=lambda x: torch.softmax(x.double(), dim=-1).float(),
    make_inputs=_rows,
    cases=(
        {"m": 1, "n": 1},
        {"m": 3, "n": 5},
        {"m": 5, "n": 3, "layout": "transposed"},
        {"m": 4, "n": 6, "layout": "sliced"},
        {"m": 3, "n": 6, "values": "far from 0"},
        {"m": 3, "n": 6, "values": "lowest"},
        {"m": MANY_PROGRAMS, "n": 3},
        {"m": 2, "n": 1024},
        {"m": 2, "n": 1025},
        {"m": 2, "n": 2051, "values": "rising"},
        {"m": 2, "n": 2111, "values": "falling"},
        {"m": 3, "n": 2060, "layout": "transposed", "values": "far from 0"},
        {"m": 3, "n": 1101, "layout": "row expanded"},
        {"m": 2, "n": 2500, "values": "late"},
        {"m": 2, "n": 2300, "values": "late and low"},
        {"m": 4, "n": 6, "values": "infinite"},
        {"m": 4, "n": 1500, "values": "infinite"},
        {"m": 2, "n": 1300, "values": "nan"},
        {"m": 0, "n": 2000},
    ),
    long=({"m": 1, "n": LONG},),
    straddle=_straddle_rows,
    drawn=lambda numbers: (
        {"m": numbers.randint(2, 12), "n": numbers.randint(2, 400)},
        {"m": 2, "n": numbers.randint(2100, 4000)},
    ),
    # As for `row_softmax`: exp by way of exp2 is off by some 1e-6, and around 300 by 2e-5. A sum is scaled anew with each block
    # that raises the maximum, which adds an ulp for each.
    tolerance=Tolerance(rtol=1e-4, atol=1e-9),
    torch_may="allocate",
    max_reads=2,
    also=_little_at_a_time,
    hints=(
        Hint(
            "One program a row, and two loops over its blocks: the first ends with the maximum and the sum of the whole row, "
            "the second loads each block once more and stores exp(x − maximum) / sum.",
            frozenset({"no_kernel", "torch_compute", "wrong_shape", "wrong_type", "wrong_dtype", "timeout", "first_block_only"})
            | {"unwritten"}
            | _MISSING,
        ),
        Hint(
            "`triton.next_power_of_2(n_cols)` makes the block as long as the row. Write a number down, such as "
            f"`BLOCK_SIZE = {MOST_LANES}`, and go over the row block by block.",
            frozenset({"not_as_asked", "does_not_compile", "memory_limit"}),
        ),
        Hint(
            "A loop for the maximum, another for the sum and a third for the result read the row three times. Keep both "
            "numbers in one loop: whenever the maximum grows, the sum so far is scaled by exp(old maximum − new maximum).",
            frozenset({"too_much_traffic"}),
        ),
        Hint(
            "The sum so far was made with the maximum so far. When a block raises it, what must the sum be multiplied by, so "
            "that it is as if made with the new one? The block's own terms are made with the new one at once. And when a turn "
            "ends, the new maximum is the old one of the next.",
            frozenset({"mismatch", "scaled", "tail", "nan", "constant"}),
        ),
        Hint(
            "A row that fits into one block needs no rescaling. What do the spare lanes hold, and does each share get divided "
            "by the sum once?",
            frozenset({"scaled", "mismatch", "tail"}),
            case=r"n=\d\b",
            asked=False,
        ),
        Hint(
            "A maximum is the highest of all that was seen, not of the last block: exp(old − new) is at most 1 then. Where the "
            "maximum may fall, it is infinite some day.",
            frozenset({"mismatch", "nan", "constant", "scaled", "first_block_only", "tail"}),
            case="values=falling",
            asked=False,
        ),
        Hint(
            "Before anything is seen the maximum is −inf and the sum 0. After a block that is −inf throughout, both are "
            'still so, and −inf − (−inf) is NaN. Subtract another number there, `tl.where(maximum == -float("inf"), 0.0, '
            "maximum)`, and keep the maximum as it is: scores of −300 may follow, beside which 0 is high.",
            frozenset({"nan", "mismatch"}),
            case="values=late",
        ),
        Hint(
            "A row of −inf alone, or one with inf or NaN in it, is NaN throughout, as torch has it. In the second loop "
            "subtract the maximum as it is, and divide by the sum as it is.",
            frozenset({"mismatch", "constant", "nan"}),
            case="values=(infinite|nan)",
            asked=False,
        ),
        Hint(
            "The maximum begins with −inf, not with 0: in a row of very negative scores every exp(x − 0) is 0. And without a "
            "maximum subtracted, exp(89) is infinite.",
            frozenset({"nan", "mismatch", "constant"}),
            case="far from 0",
        ),
        Hint(
            "These scores are −1.7 · 10³⁸ and lower. What a maximum begins with, and what spare lanes hold, must be below any "
            'score that there may be: -float("inf"), not −10,000 and not −10³⁰. Above the scores, every exp(x − maximum) is 0.',
            frozenset({"nan", "mismatch", "constant", "scaled", "tail", "first_block_only"}),
            case="values=lowest",
            asked=False,
        ),
        Hint(
            f"A row has any length, here {LONG} elements. Do the loops end at `n_cols`, or at a number of your own? And where "
            "programs share a row, are the pairs of all of them merged, however many there are?",
            frozenset({"unwritten", "mismatch", "scaled", "nan", "constant", "tail", "first_block_only"}) | _MISSING,
            case=f"n={LONG}",
            asked=False,
        ),
        Hint(
            "The mask is computed anew in each turn, from the columns of that turn, and belongs on every load and on the "
            'store. `other=-float("inf")` suits the maximum, and exp(−inf) adds nothing to the sum.',
            frozenset({"undefined_lanes", "scaled", "race:spill"}) | _MASKS,
        ),
        Hint(
            "Element (i, j) lies at `i * row_stride + j * column_stride`, and the result has strides of its own.",
            frozenset({"load_out_of_bounds:strides", "store_out_of_bounds:strides", "transposed", "shifted", "reversed"})
            | {"periodic", "race", "race:same", "race:overlap", "input_changed"},
        ),
        Hint(
            "What is stored in the first loop cannot be read again in the second one of the same program: on a GPU, a thread "
            "may not see what another one has stored. Load `x` again instead.",
            frozenset({"read_back"}),
            asked=False,
        ),
        Hint(
            'Nearly the answer: `higher = tl.maximum(maximum, tl.max(x, axis=0))`, `safe = tl.where(higher == -float("inf"), '
            "0.0, higher)`, `total = total * tl.exp(maximum - safe) + tl.sum(tl.exp(x - safe), axis=0)`, `maximum = higher`.",
        ),
        Hint(
            "With no rows there is no program: the grid is `(n_rows,)`.",
            frozenset({"load_out_of_bounds:masked", "load_out_of_bounds:unmasked", "store_out_of_bounds:masked"}),
            case="m=0",
            asked=False,
        ),
    ),
)


# --- attention ------------------------------------------------------------------------------------------------------


def _heads(
    generator: torch.Generator,
    m: int,
    n: int,
    d: int,
    b: int = 1,
    h: int = 2,
    layout: str = "rows",
    values: str = "near 0",
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """fp16 queries, keys and values of at most 11 binary digits: b batches of h heads, `m` queries and `n` keys of d elements.

    Scores "near 0" are so; "low" are all about −300, "high" all about 300, "rising" ones grow with the key's number. The
    "lowest" are −2³⁰ · √d for one key, which is as exact as in `_rows`, and lower for the others. With a "large v" scores are
    near 0, and three values add up to more than fp16 holds.

    "heads behind rows" is (batch, length, heads, d) in memory. With "keys turned", `k` has the strides of rows and elements
    exchanged; with "values turned", `v` is (d, length, heads, batch) in memory, and no axis has the stride that it has in `k`.
    """
    step = 2.0**-7
    q, k, v = (rounded(generator, b, h, length, d, step=step).clamp(-7, 7) for length in (m, n, n))
    if values in ("low", "high"):
        q[..., 0], k[..., 0] = 32.0, (300 if values == "high" else -300) * math.sqrt(d) / 32
    elif values == "rising":
        q[..., 0], k[..., 0] = 4.0, torch.arange(n) * math.sqrt(d) / 16
    elif values == "lowest":
        q[:], k[:] = 2.0**15, -(2.0**15) * (1.1 + 0.8 * torch.rand(k.shape, generator=generator))
        k[:, :, n // 2] = -(2.0**15)
    elif values == "large v":
        v = 30000 + 4000 * v
    q, k, v = q.half(), k.half(), v.half()
    if layout == "heads behind rows":
        q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    elif layout == "keys turned":
        k = k.transpose(2, 3).contiguous().transpose(2, 3)
    elif layout == "values turned":
        v = v.permute(3, 2, 1, 0).contiguous().permute(3, 2, 1, 0)
    elif layout == "one head for all":
        k, v = (x[:, :1].contiguous().expand(b, h, n, d) for x in (k, v))
    elif layout == "sliced":
        q, k, v = (torch.stack([x, x + 1], -1).repeat_interleave(2, 2)[:, :, ::2, :, 0] for x in (q, k, v))
    return q, k, v


MANY_KEYS = 2100
"""More keys than loops and merges with an end of their own would reach by chance."""


def _scores_stay(trace: Trace) -> str | None:
    """Whether fewer elements are stored than there are scores, where there are many keys for each element of a head."""
    *heads, head_dim = trace.result.shape
    keys = [view.shape for launch in trace.launches for view in launch.views if view.argument == 1]
    n_keys = max((math.prod(shape[-2:]) // head_dim for shape in keys), default=0)
    n_scores = math.prod(heads) * n_keys
    stored = sum(len(event.elements) for event in trace.events if event.kind != "load")
    if n_keys <= 8 * head_dim or stored < n_scores:
        return None
    return f"the kernels stored {stored} elements, and there are {n_scores} scores: these are to stay in the programs"


def _straddle_lengths(block: int) -> tuple[Params, ...]:
    """Queries or keys just fewer, just as many and just more than a block or two; the others few."""
    if block > 256:
        return ()
    sizes = [(3, n) for n in (block - 1, block, block + 1, 2 * block + 1)] + [(m, 3) for m in (block - 1, block + 1)]
    return tuple({"m": m, "n": n, "d": 16, "h": 1} for m, n in sizes if m > 0 and n > 0)


def _drawn_lengths(numbers: random.Random) -> tuple[Params, ...]:
    return ({"m": numbers.randint(2, 60), "n": numbers.randint(2, 150), "d": 16, "b": 2},)


ATTENTION = Exercise(
    name="attention",
    lesson=NAME,
    points=3,
    signature="attention(q, k, v)",
    statement=(
        "Return the attention of each head, softmax(q · kᵀ / √head_dim) · v, every query to all keys. `q` is (batch, heads, M, "
        "head_dim), `k` and `v` are (batch, heads, N, head_dim), all fp16, with any strides; M and N are any lengths from 1 "
        "on, and head_dim is 16, 32 or 64. All values are finite. The result is fp16 and has the shape of `q`. Scores stay in "
        "the programs: where N is more than 8 · head_dim, the kernels store fewer elements than there are scores."
    ),
    reference=lambda q, k, v: F.scaled_dot_product_attention(q.double(), k.double(), v.double()).half(),
    make_inputs=_heads,
    cases=(
        {"m": 1, "n": 1, "d": 16, "h": 1},
        {"m": 5, "n": 7, "d": 16, "b": 2, "h": 3},
        {"m": 16, "n": 16, "d": 16},
        {"m": 33, "n": 17, "d": 32},
        {"m": 67, "n": 21, "d": 64},
        {"m": 3, "n": 70, "d": 16, "values": "rising"},
        {"m": 3, "n": 69, "d": 16, "values": "low"},
        {"m": 3, "n": 69, "d": 32, "values": "high"},
        {"m": 3, "n": 71, "d": 16, "values": "lowest"},
        {"m": 3, "n": 37, "d": 16, "h": 1, "values": "large v"},
        {"m": 5, "n": 19, "d": 16, "b": 2, "h": 3, "layout": "heads behind rows"},
        {"m": 9, "n": 35, "d": 16, "b": 2, "layout": "keys turned"},
        {"m": 3, "n": 19, "d": 16, "b": 2, "layout": "values turned"},
        {"m": 70, "n": 5, "d": 16, "b": 2, "layout": "one head for all"},
        {"m": 4, "n": 37, "d": 32, "b": 2, "layout": "sliced"},
        {"m": 131, "n": 150, "d": 16, "h": 1},
        {"m": 2, "n": 150, "d": 64, "h": 1},
    ),
    long=({"m": 1, "n": MANY_KEYS, "d": 16, "h": 1},),
    straddle=_straddle_lengths,
    drawn=_drawn_lengths,
    # The inputs have so few digits that scores are exact in fp32. Weights are rounded to fp16 for the second product, each by
    # up to 2⁻¹¹ of itself, and so is the result.
    tolerance=Tolerance(rtol=1e-3, atol=2e-3),
    torch_may="allocate",
    # sm_75 has no units for products of tiles that Triton uses, and there a kernel of this size compiles for many seconds.
    targets=(80, 90),
    also=_scores_stay,
    hints=(
        Hint(
            "One program for a block of queries of one head. It loads them once, goes over the keys and values block by block, "
            "and keeps three things: the maximum and the sum of an online softmax for each query, and a tile of weighted "
            "values.",
            frozenset({"no_kernel", "torch_compute", "wrong_type", "wrong_shape", "not_as_asked", "constant", "timeout"}),
        ),
        Hint(
            "The grid has an axis for blocks of queries, `triton.cdiv(M, BLOCK_M)`, and one for `batch * heads`. From the "
            "number of the head, `i // heads` is the batch and `i % heads` the head.",
            frozenset({"unwritten", "race", "race:same", "race:overlap", "idle_programs", "periodic", "shifted"})
            | {f"{access}_out_of_bounds:program" for access in ("load", "store")}
            | _MISSING,
        ),
        Hint(
            "Each tensor brings four strides: `batch * q_batch + head * q_head + row * q_row + column * q_column`. Those of "
            "`k` and `v` need not be those of `q`, and the result, which is new, has its own as well.",
            frozenset({"mismatch", "tail", "first_block_only", "write_twice"})
            | {f"{access}_out_of_bounds:{how}" for access in ("load", "store") for how in ("strides", "program")},
            case="layout",
        ),
        Hint(
            "A key past the last one must weigh nothing. Loaded as zeros it has the score 0, and exp(0 − maximum) is not 0: "
            'set such scores to -float("inf"), with `tl.where(keys[None, :] < N, scores, -float("inf"))`.',
            frozenset({"undefined_lanes", "scaled", "mismatch:near"}),
        ),
        Hint(
            "With a single key the result is its value: nothing else may weigh anything. Keys past the last one, loaded as "
            'zeros, have the score 0, and exp(0 − maximum) is not 0. Their scores must be -float("inf"), in the maximum, in '
            "the sum and in the product.",
            frozenset({"mismatch", "scaled", "constant"}),
            case=r"\bn=1,",
            asked=False,
        ),
        Hint(
            "−inf − (−inf) is NaN. Is there a block, or a share of the keys, in which no key is real? Its maximum is −inf. "
            "And exp(old − new) is exp(−inf − new) = 0 at the start; the other way round it would be infinite, and ∞ · 0 is "
            "NaN. Or do `tl.max` and `tl.sum` go along the wrong axis? A query's keys lie along `axis=1`.",
            frozenset({"nan"}),
            asked=False,
        ),
        Hint(
            "A padded key has the score 0, and 0 is far above these: it gets all the weight. Where does the maximum begin, and "
            "what are the scores past the last key?",
            frozenset({"mismatch", "nan", "constant", "scaled", "tail", "first_block_only"}),
            case=r"values=low\b",
        ),
        Hint(
            "These scores are −4 · 10⁹ and lower. What a maximum begins with, and the scores past the last key, must be below "
            'every score that there may be: -float("inf"), not −10,000 and not −10⁶. Whatever is above the scores gets all the '
            "weight.",
            frozenset({"mismatch", "nan", "constant", "scaled", "tail", "first_block_only"}),
            case="values=lowest",
            asked=False,
        ),
        Hint(
            "Three of these values add up to more than 65504, the largest fp16 number; their mean is smaller again, once the "
            "sum has divided. The tile of weighted values is fp32 until then: does anything in the loop round it to fp16?",
            frozenset({"mismatch", "mismatch:near", "nan", "constant", "scaled", "tail", "first_block_only"}),
            case="large v",
            asked=False,
        ),
        Hint(
            f"There may be any number of keys, here {MANY_KEYS}. Does the loop end at N, or at a number of your own? And where "
            "the keys are shared among programs, are the results of all of them merged, however many there are?",
            frozenset({"mismatch", "mismatch:near", "nan", "constant", "scaled", "tail", "first_block_only"}),
            case=f"n={MANY_KEYS}",
            asked=False,
        ),
        Hint(
            "exp(300) is infinite. Subtract the maximum of the same query, over all keys seen so far, before `tl.exp`.",
            frozenset({"mismatch", "nan", "constant"}),
            case="values=high",
        ),
        Hint(
            "When a block raises a query's maximum, all that was made with the old one is scaled by exp(old − new): the sum, "
            "and the tile of weighted values as well.",
            frozenset({"mismatch", "scaled", "tail", "first_block_only"}),
        ),
        Hint(
            "Scores are divided by √head_dim, once, before the softmax. `tl.max` and `tl.sum` go over the keys: `axis=1` of a "
            "tile of queries × keys. Every query sees every key, and none beyond: keys end at N, queries at M. And the sum "
            "divides once, at the end.",
            frozenset({"mismatch", "scaled", "nan", "constant", "tail", "first_block_only"}),
            case=r"\bn=[2-9],",
        ),
        Hint(
            "`tl.dot` takes two tiles of one type: the weights are fp32, so `weights.to(tl.float16)` before the second "
            "product. Its sides are 16 at least. For q · kᵀ, load the keys turned, or use `tl.trans`.",
            frozenset({"does_not_compile", "crash"}),
            message=r"\bdot\b|dtype|[Ss]hape|operand|[Dd]imension",
        ),
        Hint(
            "The maximum, the sum and the tile of weighted values are fp32; only the result is fp16, as `q` is.",
            frozenset({"wrong_dtype", "mismatch:near"}),
            asked=False,
        ),
        Hint(
            "Masks: rows of `q` and of the result against M, rows of `k` and `v` against N. In the loop, the mask is computed "
            "anew from the keys of that turn. (The mask is right? Then look at the strides: `k` and `v` have their own.)",
            frozenset({"race:spill"}) | _MASKS,
        ),
        Hint(
            "Keep what is unfinished in variables, and store the result once, when all keys are seen.",
            frozenset({"read_back", "input_changed", "write_twice"}),
            asked=False,
        ),
        Hint(
            "Nearly the answer, in the loop: `higher = tl.maximum(maximum, tl.max(scores, axis=1))`, `weights = tl.exp(scores "
            "- higher[:, None])`, `shrink = tl.exp(maximum - higher)`, `total = total * shrink + tl.sum(weights, axis=1)`, "
            "`weighted = weighted * shrink[:, None] + tl.dot(weights.to(tl.float16), values)`, `maximum = higher`.",
        ),
    ),
)


# --- quizzes --------------------------------------------------------------------------------------------------------

PAIRS = ((3, 8), (5, 6), (2, 16))
"""The highest score of each of three blocks, and the sum of 2^(score − highest)."""


def merged_pair() -> list[int]:
    highest = max(maximum for maximum, _ in PAIRS)
    return [highest, sum(total >> (highest - maximum) for maximum, total in PAIRS)]


MERGED_PAIR = Quiz(
    name="merged_pair",
    lesson=NAME,
    question=(
        "With powers of two in place of exp, three blocks of a row have the pairs (maximum, sum) (3, 8), (5, 6) and (2, 16). "
        "What is the pair of the whole row?"
    ),
    form="a list of two whole numbers: the maximum and the sum",
    accepts=lambda value: is_list(value, 2),
    expected=merged_pair,
    explanation=(
        "The maximum is 5. The first sum was made with 3, and every term of it is 2^(5 − 3) times too large now: 8 / 4 = 2. "
        "The second stays, 6. The third is 16 / 8 = 2."
    ),
    wrong=(
        wrong([5, 30], "That adds the sums as they are. Each was made with a maximum of its own."),
        wrong([10, 30], "A maximum of maxima is the largest, not the sum."),
        wrong([5, 6], "The other two blocks count as well. How much do their terms weigh with the maximum 5?"),
        wrong([5, 166], "The other way round: a term 2^(score − 3) becomes smaller when 5 is subtracted in place of 3."),
        wrong([5, 8], "Two of the three blocks are in it. What does the other one add?"),
    ),
    hints=(
        Hint("Which number is subtracted from every score of the row in the end?"),
        Hint("A block's sum has terms 2^(score − its maximum). They are to be 2^(score − 5)."),
        Hint("2^(score − 5) is 2^(score − 3) · 2^(3 − 5): the first block's sum is multiplied by a quarter."),
    ),
)

SCORE_MEBIBYTES = Quiz(
    name="score_mebibytes",
    lesson=NAME,
    question=(
        "One batch of 16 heads, each with 4096 queries and 4096 keys. How many MiB (2²⁰ bytes) do the scores of all heads take "
        "in fp16?"
    ),
    form="one whole number",
    accepts=is_whole,
    expected=lambda: 16 * 4096 * 4096 * 2 // 2**20,
    explanation=(
        "16 · 4096 · 4096 scores of 2 bytes each. The queries themselves, with a head_dim of 64, take 8 MiB. And written once "
        "and read once is the least that the scores cost."
    ),
    wrong=(
        wrong(32, "That is one head. There are 16."),
        wrong(2**29, "That is in bytes. A MiB has 2²⁰ of them."),
        wrong(537, "That is in MB, of a million bytes each. A MiB has 2²⁰ = 1,048,576."),
        wrong(256, "Each score has two bytes."),
        wrong(1024, "A score in fp16 has two bytes, not four."),
        wrong(8, "That would be the queries, if head_dim is 64. A score belongs to a query *and* a key."),
    ),
    hints=(
        Hint("How many scores does one head have?"),
        Hint("4096 is 2¹², so one head has 2²⁴ scores."),
        Hint("16 · 2²⁴ · 2 bytes, and a MiB has 2²⁰."),
    ),
)


def causal_blocks() -> list[int]:
    """Of 96 queries and 96 keys in blocks of 32 queries and 16 keys: how many are computed, and how many of these masked."""
    seen = [(first, start) for first in range(0, 96, 32) for start in range(0, 96, 16) if start < first + 32]
    return [len(seen), sum(start + 15 > first for first, start in seen)]


CAUSAL_BLOCKS = Quiz(
    name="causal_blocks",
    lesson=NAME,
    question=(
        "Causal attention of 96 queries to 96 keys, in blocks of 32 queries and 16 keys. How many of the 18 blocks of scores "
        "have to be computed? And how many of those need a mask?"
    ),
    form="a list of two whole numbers",
    accepts=lambda value: is_list(value, 2),
    expected=causal_blocks,
    explanation=(
        "The programs need 2, 4 and 6 blocks of keys. Of each, the last two are crossed by the diagonal. The others lie below "
        "it altogether: every query of the block may see every key."
    ),
    wrong=(
        wrong([18, 18], "A block of keys that come after all queries of a program has the weight 0 throughout: skip it."),
        wrong([18, 6], "Which blocks have no key that any of its queries may see?"),
        wrong([12, 12], "In many of them every query may see every key. There is nothing to mask."),
        wrong([12, 3], "The diagonal crosses more than one block of 16 keys in a block of 32 queries."),
        wrong([9, 3], "Half of all blocks would be right if the diagonal crossed none."),
    ),
    hints=(
        Hint("Draw it: 3 rows of 6 blocks. Query i sees the keys 0 … i."),
        Hint("The first program has queries 0 … 31. Which keys does the last of these see?"),
        Hint("Program p needs 2 · (p + 1) blocks. A block needs no mask if its last key is seen by the program's first query."),
    ),
)

LESSON = Lesson(
    name=NAME,
    title="Online softmax and attention",
    minutes=45,
    items=(MERGED_PAIR, SCORE_MEBIBYTES, CAUSAL_BLOCKS, ONLINE_SOFTMAX, ATTENTION),
)
