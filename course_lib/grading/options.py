"""What a folder of results is for: a run that goes on with it must be asked for the same, or it would undo what is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course_lib.grading.asked import in_words


@dataclass(frozen=True)
class Options:
    """All that changes verdicts or whose they are. Plain data, as it is kept in `run.json`."""

    submissions: str
    """The folder, from the root on."""
    exercises: Sequence[str] = ()
    """What every submission is asked for; empty: what each names."""
    cases: dict[str, Any] = field(default_factory=dict)
    gpu: bool = False

    def differences(self, before: Options) -> list[str]:
        """In words, what was otherwise before. A folder of submissions that is gone may have been moved.

        >>> Options("/hw", ["double"]).differences(Options("/hw", ["double"], {"double": [{"n": 5}]}))
        ['with further cases of double (now: none)']
        """
        said = []
        if self.submissions != before.submissions and Path(before.submissions).is_dir():
            said.append(f"of the submissions in {before.submissions} (now: {self.submissions})")
        if list(self.exercises) != list(before.exercises):
            said.append(f"for {_asked(before.exercises)} (now: {_asked(self.exercises)})")
        if self.cases != before.cases:
            same = "others" if set(self.cases) == set(before.cases) else ", ".join(self.cases) or "none"
            said.append(
                f"with {'further cases of ' + ', '.join(before.cases) if before.cases else 'no further cases'} (now: {same})"
            )
        if self.gpu != before.gpu:
            said.append(f"with{'' if before.gpu else 'out'} --gpu")
        return said


def _asked(exercises: Sequence[str]) -> str:
    return in_words(exercises) if exercises else "what each submission names"
