"""The machine code of an answer's launches, for exercises that ask something of it: as plain values, and how they are made.

`Reader` runs inside the worker's process, beside the compiler (`compiling.py`), and leaves plain data; `launch_codes` reads
that back in the learner's. What an exercise asks of the code is its own business (`Exercise.machine_code`).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from typing import Any

from course_lib.checking.findings import SourceLine
from course_lib.checking.inside import ANSWER_FILE
from course_lib.machine import tools
from course_lib.machine.instructions import Instruction, read_sass


@dataclass(frozen=True)
class LaunchCode:
    """What a launch was compiled to: the kernel, the threads of a program, and how often each opcode stands in the code.

    Opcodes have all their modifiers, such as "LDG.E.128". They are counted for each line of the answer, and under None where
    the compiler kept no line.
    """

    kernel: str
    threads: int
    opcodes: Mapping[SourceLine | None, Mapping[str, int]]

    def widths(self, kinds: tuple[str, ...], line: SourceLine) -> frozenset[int]:
        """How many bytes a lane moves in the instructions of these kinds (`instructions.KINDS`) that came from a line.

        The compiler may move an instruction to another line's; where a line has none of these kinds, all lines count.
        """
        return self._widths(kinds, self.opcodes.get(line, {})) or self._widths(
            kinds, {opcode: number for codes in self.opcodes.values() for opcode, number in codes.items()}
        )

    @staticmethod
    def _widths(kinds: tuple[str, ...], opcodes: Mapping[str, int]) -> frozenset[int]:
        found = (Instruction(opcode, "") for opcode in opcodes)
        return frozenset(one.width for one in found if one.kind in kinds and one.width is not None)


class Reader:
    """Has the machine code of launches read, each only once, while others are still being compiled."""

    def __init__(self, pool: Executor) -> None:
        self.pool = pool
        self.listings: dict[str, Future[dict[str, dict[str, int]]]] = {}
        self.launches: list[tuple[int, int, str, int, str]] = []

    def note(self, target: int, case: int, compiled: Any) -> None:
        """Note a launch, in the order of launches. `compiled` is Triton's compiled kernel."""
        cubin = compiled.asm["cubin"]
        key = hashlib.sha256(cubin).hexdigest()
        if key not in self.listings:
            self.listings[key] = self.pool.submit(_opcodes, cubin)
        self.launches.append((target, case, compiled.metadata.name, 32 * compiled.metadata.num_warps, key))

    def told(self) -> dict[str, Any]:
        """All that was noted, as plain data. Raises `tools.ToolError` if code cannot be read."""
        return {"launches": self.launches, "listings": {key: listing.result() for key, listing in self.listings.items()}}


def _opcodes(cubin: bytes) -> dict[str, dict[str, int]]:
    """How often each opcode occurs, by the number of the answer's line; 0 stands for no line."""

    def line_of(file: str, number: int) -> SourceLine | None:
        return SourceLine(file, number, "") if file == ANSWER_FILE else None

    found: dict[str, Counter[str]] = {}
    for one in read_sass(tools.disassemble(cubin), line_of):
        found.setdefault(str(one.line.line if one.line else 0), Counter())[one.opcode] += 1
    return {line: dict(opcodes) for line, opcodes in found.items()}


def launch_codes(told: Mapping[str, Any], line_of: Callable[[int], SourceLine]) -> dict[tuple[int, int], tuple[LaunchCode, ...]]:
    """From what `Reader` told: the code of each launch in order, by target and case. Raises `ValueError` for another form."""
    listings = {
        key: {
            line_of(int(line)) if int(line) > 0 else None: {str(opcode): int(number) for opcode, number in opcodes.items()}
            for line, opcodes in listing.items()
        }
        for key, listing in told["listings"].items()
    }
    found: dict[tuple[int, int], tuple[LaunchCode, ...]] = {}
    for target, case, kernel, threads, key in told["launches"]:
        place = (int(target), int(case))
        found[place] = (*found.get(place, ()), LaunchCode(str(kernel), int(threads), listings[key]))
    return found
