"""Two compilations side by side: which resources and which kinds of instruction differ, and where the code does. Pure."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from dataclasses import dataclass

from course_lib.machine.compiled import Compiled
from course_lib.machine.instructions import KINDS

Row = tuple[str, int, int]
"""What is counted, and how often on the left and on the right."""


@dataclass(frozen=True, repr=False)
class Difference:
    """What `compare` found. Shows itself as a table; `text` has the code."""

    left: Compiled
    right: Compiled

    @property
    def resources(self) -> tuple[Row, ...]:
        """Warps, registers, spills, shared memory and instructions of both."""
        left, right = self.left, self.right
        return (
            ("warps", left.num_warps, right.num_warps),
            ("registers", left.registers, right.registers),
            ("spilled", left.spills, right.spills),
            ("bytes of shared memory", left.shared, right.shared),
            ("instructions", len(left.instructions), len(right.instructions)),
        )

    @property
    def kinds(self) -> tuple[Row, ...]:
        """How many instructions of each kind both have; kinds that neither has are left out."""
        left, right = self.left.kinds(), self.right.kinds()
        return tuple((kind, left.get(kind, 0), right.get(kind, 0)) for kind in (*KINDS, "other") if kind in {**left, **right})

    @property
    def opcodes(self) -> tuple[Row, ...]:
        """The opcodes, with all modifiers, that one has more often than the other."""
        left, right = (Counter(i.opcode for i in one.instructions) for one in (self.left, self.right))
        return tuple((name, left[name], right[name]) for name in sorted({*left, *right}) if left[name] != right[name])

    def text(self, form: str = "code", context: int = 2) -> str:
        """A unified diff of one form: "ttir", "ttgir", "llir", "ptx", or "code" for the machine code without registers.

        Registers are numbered anew by every change, so machine code is compared by opcodes and constants.
        """
        left, right = (_lines(one, form) for one in (self.left, self.right))
        names = (f"{self.left.kernel} for {self.left.target}", f"{self.right.kernel} for {self.right.target}")
        return "\n".join(difflib.unified_diff(left, right, *names, lineterm="", n=context))

    def __repr__(self) -> str:
        rows = [("", f"{self.left.kernel}", f"{self.right.kernel}"), ("target", self.left.target, self.right.target)]
        rows += [(name, f"{left}", f"{right}") for name, left, right in (*self.resources, *self.kinds)]
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        return "\n".join(
            f"{name:<{widths[0]}}  {left:>{widths[1]}}  {right:>{widths[2]}}{'' if left == right or not name else '  *'}"
            for name, left, right in rows
        )


def compare(left: Compiled, right: Compiled) -> Difference:
    """Put two compilations side by side; rows that differ are marked with a star.

    print(compare(compile_for(kernel, x, n, num_warps=1), compile_for(kernel, x, n, num_warps=4)))
    """
    return Difference(left, right)


def _lines(compiled: Compiled, form: str) -> list[str]:
    if form != "code":
        return str(getattr(compiled, form)).splitlines()
    return [f"{i.opcode} {_REGISTER.sub('_', i.operands)}".rstrip() for i in compiled.instructions]


_REGISTER = re.compile(r"(?<![\w.])U?[RPrvs]\d+(\.reuse)?\b")
