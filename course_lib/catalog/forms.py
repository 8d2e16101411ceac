"""Forms that the answer to a quiz can have, and a short way to write down a wrong answer worth a reply.

A quiz's answer arrives as plain Python: whole numbers, strings, and lists of these (see `course_lib.checking.quiz.plain`).
"""

from __future__ import annotations

from typing import Any

from course_lib.catalog.model import Wrong


def is_whole(value: Any) -> bool:
    """A whole number (True and False are none)."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_list(value: Any, length: int | None = None) -> bool:
    """A list of whole numbers, of the given length if there is one."""
    return isinstance(value, list) and all(map(is_whole, value)) and length in (None, len(value))


def is_lists(value: Any, length: int) -> bool:
    """A list of `length` lists of whole numbers."""
    return isinstance(value, list) and len(value) == length and all(map(is_list, value))


def wrong(answer: Any, reply: str) -> Wrong:
    """The reply to exactly this wrong answer."""
    return Wrong(lambda value: value == answer, "wrong_answer", reply)
