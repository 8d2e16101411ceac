"""`quiz`: a prediction or a number goes in, a `Report` comes out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from course_lib import catalog
from course_lib.catalog.model import Quiz
from course_lib.checking.findings import Finding, Report
from course_lib.progress import record


def quiz(name: str, answer: Any) -> Report:
    """Judge `answer` to the quiz `name`: a value, or a function without arguments that returns it.

    `...` stands for an answer that is still open. Raises `catalog.UnknownName` for a quiz that does not exist.
    """
    question = catalog.quiz(name)
    try:
        value = answer() if callable(answer) else answer
    except NotImplementedError:
        value = ...
    except Exception as error:
        return _report(question, Finding("crash", f"your function raised {type(error).__name__}: {error}"))
    if value is ...:
        blank = "Let your function return" if callable(answer) else "Replace the `...` by"
        return _report(question, Finding("not_done", f"{question.question} {blank} {question.form}"))
    value = plain(value)
    if not question.accepts(value):
        given = repr(value) if len(repr(value)) < 80 else f"a {type(value).__name__}"
        return _report(question, Finding("wrong_form", f"the answer should be {question.form}; you gave {given}"))
    if value == plain(question.expected()):
        record(name, True)
        return Report(name=name, passed=True, stages=("quiz",), note=question.explanation)
    record(name, False)
    reply = next((wrong.reply for wrong in question.wrong if wrong.matches(value)), "That is not it yet.")
    return _report(question, Finding("wrong_answer", reply))


def _report(question: Quiz, finding: Finding) -> Report:
    hint = question.hints[0].text if finding.kind == "wrong_answer" else None
    return Report(name=question.name, passed=False, findings=(finding,), stages=("quiz",), hint=hint)


def plain(value: Any) -> Any:
    """Numbers and (nested) lists as Python's own: NumPy and torch values and tuples become ints, floats and lists."""
    convert: Callable[[], Any] | None = getattr(value, "tolist", None)
    if convert is not None:
        return plain(convert())
    if isinstance(value, (list, tuple, range)):
        return [plain(item) for item in value]
    return value
