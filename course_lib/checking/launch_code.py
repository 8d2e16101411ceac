"""What an answer's launches were compiled to, for exercises that ask something of it: as plain values, and how they are made.

The code is read as PTX, in which loads and stores are as wide as in the machine code (`tests/test_lesson_11.py` compares
them): the compiler has it anyway, and to have machine code disassembled takes longer than to compile it. `Reader` runs inside
the worker's process, beside the compiler (`compiling.py`), and leaves plain data; `launch_codes` reads that back in the
learner's. What an exercise asks of the code is its own business (`Exercise.compiled_code`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from course_lib.checking.findings import SourceLine
from course_lib.checking.inside import ANSWER_FILE
from course_lib.machine.instructions import read_ptx
from course_lib.machine.lines import with_lines_of

Kind = tuple[str, int]
"""What an instruction is for (`instructions.KINDS`), and how many bytes a lane moves with it; 0 if none."""


@dataclass(frozen=True)
class LaunchCode:
    """What a launch was compiled to: the kernel, the threads of a program, and how often each kind of instruction occurs.

    Instructions are counted for each line of the answer, and under None where the compiler kept no line.
    """

    kernel: str
    threads: int
    counts: Mapping[SourceLine | None, Mapping[Kind, int]]

    def widths(self, kinds: tuple[str, ...], line: SourceLine) -> frozenset[int]:
        """How many bytes a lane moves in the instructions of these kinds that came from a line.

        The compiler may give an instruction to another line; where a line has none of these kinds, all lines count.
        """
        own = frozenset(width for kind, width in self.counts.get(line, {}) if kind in kinds)
        return own or frozenset(width for counts in self.counts.values() for kind, width in counts if kind in kinds)


class Reader:
    """Notes the code of launches, and reads what several have in common once."""

    def __init__(self) -> None:
        self.listings: dict[str, list[tuple[int, str, int, int]]] = {}
        self.launches: list[tuple[int, int, str, int, str]] = []

    def note(self, target: int, case: int, compiled: Any) -> None:
        """Note a launch, in the order of launches. `compiled` is Triton's compiled kernel."""
        ptx = compiled.asm["ptx"]
        key = hashlib.sha256(ptx.encode()).hexdigest()
        if key not in self.listings:
            self.listings[key] = _counts(ptx)
        self.launches.append((target, case, compiled.metadata.name, 32 * compiled.metadata.num_warps, key))

    def told(self) -> dict[str, Any]:
        """All that was noted, as plain data."""
        return {"launches": self.launches, "listings": self.listings}


def _counts(ptx: str) -> list[tuple[int, str, int, int]]:
    """The line of the answer (0 for none), the kind and width, and the number of instructions."""

    def line_of(file: str, number: int) -> SourceLine | None:
        return SourceLine(file, number, "") if file == ANSWER_FILE else None

    code = read_ptx(with_lines_of(ptx, ANSWER_FILE), line_of)
    found = Counter((one.line.line if one.line else 0, one.kind, one.width or 0) for one in code)
    return [(*place, number) for place, number in found.items()]


def launch_codes(
    told: Mapping[str, Any], line_of: Callable[[int], SourceLine]
) -> dict[tuple[int, int], tuple[LaunchCode, ...]]:
    """From what `Reader` told: the code of each launch in order, by target and case. Raises `ValueError` for another form."""
    listings: dict[str, dict[SourceLine | None, dict[Kind, int]]] = {}
    for key, listing in told["listings"].items():
        lines = listings[key] = {}
        for line, kind, width, number in listing:
            lines.setdefault(line_of(int(line)) if int(line) > 0 else None, {})[str(kind), int(width)] = int(number)
    found: dict[tuple[int, int], tuple[LaunchCode, ...]] = {}
    for target, case, kernel, threads, key in told["launches"]:
        place = (int(target), int(case))
        found[place] = (*found.get(place, ()), LaunchCode(str(kernel), int(threads), listings[key]))
    return found
