"""Judges what the threads of simulated blocks did (`blocks.BlockRun`). Pure: plain values in, a `Finding` or None out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from course_lib.checking.blocks import BlockRun, Origin, Waiting
from course_lib.checking.findings import Finding, SourceLine
from course_lib.checking.plain_numbers import Numbers

LineOf = Callable[[int], SourceLine]
"""From a line of the bundle to the line as its author knows it."""
WARP_SIZE = 32


def judge(blocks: Sequence[BlockRun], asked: int, results: Numbers | None, line_of: LineOf) -> Finding | None:
    """What is wrong with the runs of one call; None if nothing is.

    `asked` is how many threads the block must have, or 0 for any number; `results` is None if they are no numbers.
    """
    if not blocks:
        return Finding(
            "no_block",
            "the answer ran no block of threads",
            details=("The point is to let threads do the work: start them with `run_block(kernel, n_threads, …)`.",),
        )
    other = next((block.warp_size for block in blocks if block.warp_size != WARP_SIZE), None)
    if other is not None:
        return Finding("not_as_asked", f"the block has warps of {other} lanes; asked is for warps of {WARP_SIZE}")
    found = (_stuck(block, line_of) or _race(block, line_of) or _undecided(block, line_of) for block in blocks)
    finding = next(filter(None, found), None) or _as_asked(blocks, asked)
    return finding or (_undefined(blocks, results, line_of) if results and results.undefined else None)


def _as_asked(blocks: Sequence[BlockRun], asked: int) -> Finding | None:
    if not asked:
        return None
    if len(blocks) > 1:
        return Finding("not_as_asked", f"the answer ran {len(blocks)} blocks one after the other; one is to do the work")
    if blocks[0].threads != asked:
        has = f"{blocks[0].threads} thread{'' if blocks[0].threads == 1 else 's'}"
        return Finding("not_as_asked", f"the block has {has}; asked is for {asked}")
    return None


def _stuck(block: BlockRun, line_of: LineOf) -> Finding | None:
    if not block.stuck:
        return None
    # Where all wait at barriers they would go on, so some wait for lanes; that is the place to look at.
    there = next((one for one in block.stuck if one.what != "syncthreads"), block.stuck[0])
    return Finding(
        "stuck",
        "; ".join(f"{_counted(one)} at `{one.what}` in line {line_of(one.line).line}" for one in block.stuck),
        source=line_of(there.line),
        details=(
            "A shuffle waits for every lane that its mask names and that has not returned yet, `syncthreads` for every thread "
            "of the block.",
        ),
    )


def _counted(waiting: Waiting) -> str:
    if waiting.threads == 1:
        return f"thread {waiting.first} waits"
    return f"{waiting.threads} threads, the first of them {waiting.first}, wait"


def _race(block: BlockRun, line_of: LineOf) -> Finding | None:
    if block.race is None:
        return None
    more = f"; {block.races} places of shared memory are raced for" if block.races > 1 else ""
    return Finding("shared_race", block.race.text + more, source=line_of(block.race.line), count=block.races)


def _undecided(block: BlockRun, line_of: LineOf) -> Finding | None:
    if not block.undecided:
        return None
    return Finding(
        "undefined_value",
        "a thread compares a value that CUDA does not define, or chooses its way by it",
        pattern=block.origin.kind if block.origin else "",
        source=line_of(block.undecided),
        details=_told(block.origin, line_of),
    )


def _undefined(blocks: Sequence[BlockRun], results: Numbers, line_of: LineOf) -> Finding:
    origin = next((block.origin for block in blocks if block.origin), None)
    count = len(results.undefined)
    are = "is" if count == 1 else "are"
    some = f"{count} of {len(results.values)} results {are} undefined, first result {results.undefined[0]}"
    return Finding(
        "undefined_value",
        "the result is undefined" if results.form == "number" else some,
        pattern=origin.kind if origin else "",
        source=line_of(origin.line) if origin else None,
        count=count,
        details=_told(origin, line_of),
    )


def _told(origin: Origin | None, line_of: LineOf) -> tuple[str, ...]:
    if origin is None:
        return ()
    line = line_of(origin.line).line
    if origin.kind == "lane":
        return (f"It begins in line {line}: thread {origin.thread} asks {origin.place} of its warp, and that takes no part.",)
    return (f"It begins in line {line}: thread {origin.thread} reads `{origin.place}`, to which nothing has been written.",)


def known_alone(blocks: Sequence[BlockRun], results: Sequence[float], deaf: Mapping[int, float]) -> Finding | None:
    """What it means that results were defined although shuffles and shared memory brought nothing from other threads.

    `deaf` are those results by their place, `results` the ordinary ones. If they are the same, nobody needed to be told. If
    they are not, the answer has seen that values were undefined, and did without.
    """
    different = [place for place, value in deaf.items() if value != results[place]]
    if different:
        return Finding(
            "undefined_value",
            "a thread finds out whether a value is undefined, and goes on without it; no GPU can tell it that",
            pattern="looked_at",
        )
    if not deaf:
        return None
    total, first = len(results), min(deaf)
    which = "the result was" if total == 1 else "all results were" if len(deaf) == total else f"result {first} was"
    return Finding(
        "computed_outside",
        f"{which} the same in a run in which shuffles and shared memory brought nothing from other threads",
        pattern="alone" if any(block.exchanges for block in blocks) else "no_exchange",
        details=("Each thread may read its own values of the arguments; what others have it must get from them.",),
    )
