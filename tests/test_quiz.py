"""A quiz takes an answer in any form in which somebody may give it, and says what is wrong with one that it cannot take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from course_lib.checking.quiz import quiz

SCHEDULE = [[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]]

RIGHT: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a list": ("first_kernel_elements", ([8, 9],)),
    "several values": ("first_kernel_elements", (8, 9)),
    "another order": ("first_kernel_elements", ([9, 8],)),
    "several values in another order": ("first_kernel_elements", (9, 8)),
    "a set": ("first_kernel_elements", ({9, 8},)),
    "a tuple": ("first_kernel_elements", ((8, 9),)),
    "a range": ("first_kernel_elements", (range(8, 10),)),
    "a generator": ("first_kernel_elements", ((n for n in (8, 9)),)),
    "a tensor": ("first_kernel_elements", (torch.tensor([8, 9]),)),
    "whole floats": ("first_kernel_elements", (torch.tensor([8.0, 9.0]),)),
    "an array": ("first_kernel_elements", (np.array([8, 9]),)),
    "NumPy's numbers": ("first_kernel_elements", ([np.int64(8), np.int32(9)],)),
    "a function": ("first_kernel_elements", (lambda: [8, 9],)),
    "a number": ("past_the_end", (2,)),
    "a whole float": ("past_the_end", (2.0,)),
    "a tensor of one number": ("past_the_end", (torch.tensor(2),)),
    "NumPy's number": ("past_the_end", (np.int64(2),)),
    "a pair": ("owner_of_element", ((3, 1),)),
    "a pair as two values": ("owner_of_element", (3, 1)),
    "lists of lists": ("row_schedule", (SCHEDULE,)),
    "tuples of ranges": ("row_schedule", (tuple(range(p, 10, 4) for p in range(4)),)),
    "a list of sets": ("row_schedule", ([set(rows) for rows in SCHEDULE],)),
    "four lists": ("row_schedule", tuple(SCHEDULE)),
}

OTHERWISE: dict[str, tuple[str, tuple[Any, ...], str, str]] = {
    "nothing": ("past_the_end", (), "not_done", "Replace the `...`"),
    "dots": ("past_the_end", (...,), "not_done", "one whole number"),
    "dots in a list": ("first_kernel_elements", ([8, ...],), "not_done", "Replace the `...`"),
    "a number for a list": ("first_kernel_elements", (8,), "wrong_form", "a list of element numbers"),
    "a text": ("first_kernel_elements", ("8, 9",), "wrong_form", "the text '8, 9'"),
    "None": ("past_the_end", (None,), "wrong_form", "you gave None"),
    "a set where order counts": ("owner_of_element", ({3, 1},), "wrong_form", "set has no order"),
    "a list for a number": ("past_the_end", ([2],), "wrong_form", "one whole number"),
    "half a number": ("past_the_end", (2.5,), "wrong_form", "one whole number"),
    "truth": ("past_the_end", (True,), "wrong_form", "one whole number"),
    "a wrong answer with a reply": ("first_kernel_elements", ([11, 10, 9, 8],), "wrong_answer", "all its offsets"),
    "a wrong answer": ("past_the_end", (7,), "wrong_answer", "not it yet"),
    "a list with one wrong number": ("programs_needed", ([1, 1, 1, 2, 3],), "wrong_answer", "4 of 5 are right"),
    "a function that raises": ("past_the_end", (lambda: 1 / 0,), "crash", "ZeroDivisionError"),
}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))


@pytest.mark.parametrize("how", RIGHT)
def test_a_right_answer_passes_in_whatever_form(how: str) -> None:
    name, answers = RIGHT[how]
    report = quiz(name, *answers)
    assert report.passed, report
    assert report.note


def test_a_reply_that_fits_the_answer_needs_no_hint_besides() -> None:
    assert quiz("first_kernel_elements", [8, 9, 10, 11]).hint is None
    assert quiz("first_kernel_elements", [1, 9]).hint is not None


@pytest.mark.parametrize("how", OTHERWISE)
def test_any_other_answer_gets_a_reply_that_helps(how: str) -> None:
    name, answers, kind, words = OTHERWISE[how]
    report = quiz(name, *answers)
    assert not report.passed
    assert report.findings[0].kind == kind
    assert words in repr(report)
