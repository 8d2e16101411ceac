"""The stages of a check. Each is one function with one signature: `stage(work) -> list[Finding]`.

A stage reads what earlier stages left in `Work`, adds its own, and returns what it found; an empty list lets the next
one run. `STAGES` is the flow. A stage that needs what this machine lacks notes a `Skipped` in `work.skipped`.
"""

from __future__ import annotations

from course_lib.checking.stages.compiler import compiler
from course_lib.checking.stages.gpu import gpu
from course_lib.checking.stages.interpreter import interpret
from course_lib.checking.stages.memory import traffic, use_of_memory
from course_lib.checking.stages.values import values
from course_lib.checking.stages.work import Stage

STAGES: tuple[tuple[str, Stage], ...] = (
    ("interpreter", interpret),
    ("compiler", compiler),
    ("memory", use_of_memory),
    ("values", values),
    ("traffic", traffic),
    ("gpu", gpu),
)
"""The flow of a check, in order.

The compiler comes before the judges: what it refuses has no meaning that could be judged, whatever the interpreter made of it.
"""
