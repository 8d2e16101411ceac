"""A problem, an ability: the values that the doctor deals in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["stops", "limits", "note"]

RUN, COMPILE, TIME, NOTEBOOKS, WIDGETS = "run", "compile", "time", "notebooks", "widgets"
"""What a machine may be able to do; the first three are also the names of the trials that show it."""

REINSTALL = "pip install -c constraints.txt -e ."


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong here. `blocks` names the abilities that it takes away (RUN, COMPILE, …).

    "stops": lessons cannot run; "limits": they run, but something is missing; "note": worth knowing, no harm now.
    """

    code: str
    what: str
    cure: str
    severity: Severity
    blocks: frozenset[str] = frozenset()

    @property
    def label(self) -> str:
        """What the cure is called: a note is a thing to know, and its cure advice."""
        return "advice" if self.severity == "note" else "cure"

    def __str__(self) -> str:
        return f"{self.severity}: {self.what} {self.label.capitalize()}: {self.cure}"


@dataclass(frozen=True)
class Ability:
    """One line of the doctor's table: whether something can be done here, and why (not)."""

    what: str
    works: bool
    why: str
