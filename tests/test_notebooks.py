"""Every exercise notebook runs unsolved, and every solution passes. (nbval compares the lessons' outputs.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import verify
from tools.build import ROOT

SOURCES = sorted((ROOT / "lessons").glob("*.exercises.md"))


def test_there_are_exercises() -> None:
    assert SOURCES


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_unsolved_nothing_raises_and_every_check_says_not_done_yet(path: Path) -> None:
    assert verify.blanks_are_not_done(path) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_solved_every_check_passes(path: Path) -> None:
    assert verify.solutions_pass(path) == []
