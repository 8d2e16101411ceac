"""The shape of what is asked: exercises, quizzes and their hints, as frozen values.

Nothing here judges or draws. A lesson's module (`lesson_04.py`, …) fills these values in; `course_lib.catalog` puts
the lessons in order. Only torch is imported, never Triton, so the catalogue can be read anywhere.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from course_lib.checking.events import Trace
from course_lib.checking.findings import Finding
from course_lib.checking.launch_code import LaunchCode

Params = Mapping[str, Any]
"""What makes one case: the keyword arguments of `Exercise.make_inputs`, for example ``{"n": 129}``."""


Result = torch.Tensor | float | Sequence[float]
"""What a reference returns. An exercise about threads or numbers may return one number, or a sequence of them."""
WorksOn = Literal["gpu", "threads", "numbers"]


@dataclass(frozen=True)
class Hint:
    """One step of help, from a nudge to nearly the answer.

    `diagnoses` names the findings that this hint fits: a kind, or a kind and its pattern as in "unwritten:tail" (see
    `course_lib.checking.findings`). `case`, a regular expression, narrows it to cases in whose label it is found, and `message`
    to findings in whose message it is found. A report shows the hint that fits its finding most narrowly, of several the first.
    `hint(name)` walks through those that are `asked` for, in order; the others concern what the exercise gives, and only
    reports show them.
    """

    text: str
    diagnoses: frozenset[str] = frozenset()
    case: str = ""
    message: str = ""
    asked: bool = True


@dataclass(frozen=True)
class Tolerance:
    """Largest accepted difference: ``|got − want| ≤ atol + rtol·|want|``; zero for both means bit for bit.

    A result in fp16 or bf16 has been rounded, and unless both are zero, it may be off by one unit in its last place besides.
    """

    rtol: float = 0.0
    atol: float = 0.0

    def of(self, dtype: torch.dtype) -> Tolerance:
        """The tolerance of a result of this dtype.

        >>> Tolerance(rtol=1e-5).of(torch.float16).rtol == 1e-5 + 2**-10
        True
        """
        if dtype not in (torch.float16, torch.bfloat16) or self == Tolerance():
            return self
        limits = torch.finfo(dtype)
        return Tolerance(self.rtol + limits.eps, self.atol + limits.tiny * limits.eps)


@dataclass(frozen=True)
class Exercise:
    """A function to be written, and everything needed to judge it.

    `reference` is evaluated on inputs that the answer never sees. `make_inputs(generator, **params)` returns the
    positional arguments of one case. `cases` are fixed parameters; `straddle(block)` adds cases around the block size
    that the answer turns out to use, so that no choice of block escapes a partial tile.

    `works_on` chooses how it is judged (`checking.stages.FLOWS`): "gpu" is for Triton kernels, "threads" for kernels of the
    thread simulator (`machine/warp.py`), "numbers" for plain Python or torch, of which nothing but the result is judged, and
    that it keeps to `forbids`.
    """

    name: str
    lesson: str
    signature: str
    statement: str
    reference: Callable[..., Result]
    make_inputs: Callable[..., tuple[Any, ...]]
    cases: tuple[Params, ...]
    hints: tuple[Hint, ...]
    works_on: WorksOn = "gpu"
    straddle: Callable[[int], tuple[Params, ...]] = lambda block: ()
    tolerance: Tolerance = Tolerance()
    torch_may: Literal["allocate", "copy"] = "copy"
    """What the launcher may leave to torch: only allocation and views, or also copies (`clone`, `contiguous`)."""
    targets: tuple[int, ...] = (75, 80, 90)
    """The compute capabilities that every launch must compile for: 75 is sm_75."""
    max_reads: float | None = None
    """How many times the kernels may read each element of an argument, or None for no limit."""
    contiguous: bool = False
    """Whether the result must be contiguous."""
    zeros_may_stay: bool = False
    """Whether elements of the result that no kernel has written may be zeros of the launcher's, as the counts of what is not
    there; and where an argument has no element, whether no kernel need be launched."""
    long: tuple[Params, ...] = ()
    """Cases longer than any end that an answer may have set itself. They are interpreted like the others, but compiled, and run
    on a GPU, only if they launch a kernel that no other case does: for an answer whose tile covers them, a compiler would take
    minutes over what shorter ones have shown already."""
    drawn: Callable[[random.Random], tuple[Params, ...]] = lambda numbers: ()
    """Further cases, drawn anew for every seed, so that nobody can know all sizes beforehand."""
    also: Callable[[Trace], str | None] = lambda trace: None
    """What else the statement asks of the kernels: None if a call's trace shows it, or a sentence that says what is amiss."""
    n_threads: Callable[..., int] = lambda *arguments: 0
    """How many threads the block must have for these arguments; 0 for any number. For exercises about threads."""
    forbids: frozenset[str] = frozenset()
    """Parts of names of torch's operations that the answer may not use: "softmax" rules out `_softmax` and `_log_softmax`, by
    which torch knows them inside, and `softmax.out`. What hides in operators of its own, threads or processes is refused then,
    too. "tolist" and "numpy" stand for taking the values out."""
    compiled_code: Callable[[Trace, tuple[LaunchCode, ...]], Finding | None] | None = None
    """What the statement asks of the compiled code, if it does: given a call's trace and what its launches were compiled to for
    one GPU, launch by launch, None or a finding of the kind "compiled_code"."""
    points: int = 1
    """What it is worth where it is graded: 1 for one idea, 2 for a kernel that joins several, 3 for a lesson's main work."""

    kind: Literal["exercise"] = "exercise"

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the function's arguments, as in its signature."""
        return tuple(re.findall(r"\w+", self.signature.partition("(")[2]))


@dataclass(frozen=True)
class Wrong:
    """A wrong answer to a quiz that is worth a reply of its own."""

    matches: Callable[[Any], bool]
    diagnosis: str
    reply: str


@dataclass(frozen=True)
class Quiz:
    """A prediction or a number to give. `expected()` computes the answer, so that no result is typed in."""

    name: str
    lesson: str
    question: str
    form: str
    """What an answer looks like, for example ``"a list of integers"``; shown when the answer has another form."""
    accepts: Callable[[Any], bool]
    """Whether a value has the right form (before it is compared with the expected one)."""
    expected: Callable[[], Any]
    explanation: str
    hints: tuple[Hint, ...]
    wrong: tuple[Wrong, ...] = ()
    any_order: bool = False
    """Whether the answer is a list in which the order means nothing. `expected` and `wrong` give it in rising order."""
    points: int = 1
    """What it is worth where it is graded."""

    kind: Literal["quiz"] = "quiz"


@dataclass(frozen=True)
class Lesson:
    """One notebook: its file stem, title, how long it takes in minutes, and what it asks, in order."""

    name: str
    title: str
    minutes: int
    items: tuple[Exercise | Quiz, ...]
    written: bool = True
    """Whether the notebook is there. What an unwritten lesson asks can be checked, but learners are not sent to it yet."""
