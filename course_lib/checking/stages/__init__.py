"""The stages of a check. Each is one function with one signature: `stage(work) -> list[Finding]`.

A stage reads what earlier stages left in `Work`, adds its own, and returns what it found; an empty list lets the next
one run. `FLOWS` has them in their order, for each kind of exercise. A stage that needs what this machine lacks notes a
`Skipped` in `work.skipped`.
"""

from __future__ import annotations

from course_lib.catalog.model import WorksOn
from course_lib.checking.stages.cases import run
from course_lib.checking.stages.code import compiled_code
from course_lib.checking.stages.compiler import compiler
from course_lib.checking.stages.gpu import gpu
from course_lib.checking.stages.interpreter import interpret
from course_lib.checking.stages.memory import traffic, use_of_memory
from course_lib.checking.stages.rules import rules, run_by_rules
from course_lib.checking.stages.threads import exchange, use_of_threads
from course_lib.checking.stages.values import values
from course_lib.checking.stages.work import Stage

FLOWS: dict[WorksOn, tuple[tuple[str, Stage], ...]] = {
    "gpu": (
        ("interpreter", interpret),
        ("compiler", compiler),
        ("memory", use_of_memory),
        ("values", values),
        ("traffic", traffic),
        ("compiled code", compiled_code),
        ("gpu", gpu),
    ),
    "threads": (("run", run), ("threads", use_of_threads), ("values", values), ("exchange", exchange)),
    "numbers": (("run", run_by_rules), ("rules", rules), ("values", values)),
}
"""The flow of a check, in order, by what the exercise works on.

The compiler comes before the judges: what it refuses has no meaning that could be judged, whatever the interpreter made of it.
"""
