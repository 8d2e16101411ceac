"""`quiz`: a prediction or a number goes in, a `Report` comes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from course_lib import catalog
from course_lib.catalog.model import Quiz
from course_lib.checking.findings import Finding, Report
from course_lib.progress import record


def quiz(name: str, answer: Any = ..., *more: Any) -> Report:
    """Judge `answer` to the quiz `name`: a value, or a function without arguments that returns it.

    Several values, as in ``quiz(name, 8, 9)``, count as a list of them. `...` stands for an answer that is still open. Raises
    `catalog.UnknownName` for a quiz that does not exist.
    """
    question = catalog.quiz(name)
    try:
        given = answer() if callable(answer) else [answer, *more] if more else answer
    except NotImplementedError:
        given = ...
    except Exception as error:
        return _report(question, Finding("crash", f"your function raised {type(error).__name__}: {error}"))
    value = plain(given)
    if value is ... or (isinstance(value, list) and ... in value):
        blank = "Let your function return" if callable(answer) else "Replace the `...` by"
        return _report(question, Finding("not_done", f"{question.question} {blank} {question.form}"))
    if isinstance(given, (set, frozenset)) and not question.any_order:
        return _report(question, Finding("wrong_form", f"a set has no order; the answer should be {question.form}"))
    if not question.accepts(value):
        shown = f"the text {given!r}" if isinstance(given, str) else repr(given)
        what = shown if len(shown) < 80 else f"a {type(given).__name__}"
        return _report(question, Finding("wrong_form", f"the answer should be {question.form}; you gave {what}"))
    if question.any_order:
        value = sorted(value)
    if value == plain(question.expected()):
        record(name, True)
        return Report(name=name, passed=True, stages=("quiz",), note=question.explanation)
    record(name, False)
    reply = next((wrong.reply for wrong in question.wrong if wrong.matches(value)), None)
    found = Finding("wrong_answer", reply or f"That is not it yet{_so_far(value, plain(question.expected()))}.")
    return _report(question, found, None if reply else question.hints[0].text)


def _so_far(value: Any, expected: Any) -> str:
    """How much of a list is right."""
    if not isinstance(value, list) or len(value) != len(expected) or len(value) < 3:
        return ""
    right = sum(one == other for one, other in zip(value, expected, strict=True))
    return f": {right} of {len(value)} are right" if right else ""


def _report(question: Quiz, finding: Finding, hint: str | None = None) -> Report:
    """`hint` is for a wrong answer that has no reply of its own."""
    return Report(name=question.name, passed=False, findings=(finding,), stages=("quiz",), hint=hint)


def plain(value: Any) -> Any:
    """A value in Python's own terms: whole numbers as int, and lists of them, whatever they came as.

    NumPy's and torch's values, tuples, ranges, sets and what else can be gone through become (nested) lists; a set in rising
    order. A float that is whole becomes an int.

    >>> plain((2.0, range(2), {5, 4}, torch.tensor([1, 2])))
    [2, [0, 1], [4, 5], [1, 2]]
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if value is None or isinstance(value, (bool, int, float, str, bytes, dict)):
        return value
    if isinstance(value, (set, frozenset)):
        return sorted(map(plain, value), key=lambda item: (str(type(item)), item))
    if isinstance(value, (torch.Tensor, np.ndarray, np.generic)):
        return plain(value.tolist())
    return [plain(item) for item in value] if isinstance(value, Iterable) else value
