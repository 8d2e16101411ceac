"""Every exercise notebook runs unsolved, and then every solution passes. (nbval compares the lessons' outputs.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import verify
from tools.build import ROOT

SOURCES = sorted((ROOT / "lessons").glob("*.exercises.md"))


def test_there_are_exercises() -> None:
    assert SOURCES


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_unsolved_every_check_says_not_done_yet_and_solved_it_passes(path: Path) -> None:
    assert verify.faults(path) == []


@pytest.mark.parametrize(
    ("written", "instead", "told"),
    [
        ("2.0 * x", "3.0 * x", "00_broken.exercises.md, solved: double answers scaled."),
        ('check("double", double)', 'check("double", duble)', ", unsolved: a cell raised an error:"),
    ],
)
def test_what_a_notebook_answers_wrongly_is_told(tmp_path: Path, written: str, instead: str, told: str) -> None:
    path = tmp_path / "00_broken.exercises.md"
    source = (ROOT / "lessons" / "00_start_here.exercises.md").read_text(encoding="utf-8")
    assert written in source
    path.write_text(source.replace(written, instead), encoding="utf-8")
    (fault,) = verify.faults(path)
    assert told in fault
