"""From Warps to Tiles: the names that a learner uses.

Import this before Triton: it decides whether kernels are interpreted here, and Triton asks only while it is imported.
It costs some milliseconds and imports neither torch nor Triton; the names in `_LAZY` come when first used.

>>> import course_lib
>>> course_lib.device().mode in ("gpu", "interpreter")
True
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

from course_lib.checking.guard import watch as _watch

# These two are not lazy: their names are also their modules' names, and Python sets `course_lib.progress` to the module
# when that is first imported. Imported here, the function has the last word.
from course_lib.device import device
from course_lib.device import prepare as _prepare
from course_lib.progress import hint, progress

if TYPE_CHECKING:
    from course_lib.checking.check import check
    from course_lib.checking.quiz import quiz
    from course_lib.checking.trace import trace
    from course_lib.machine.compiled import compile_for
    from course_lib.machine.occupancy import occupancy
    from course_lib.words import glossary

__all__ = ["check", "compile_for", "device", "glossary", "hint", "occupancy", "progress", "quiz", "trace"]

_LAZY = {
    "check": "course_lib.checking.check",
    "quiz": "course_lib.checking.quiz",
    "trace": "course_lib.checking.trace",
    "compile_for": "course_lib.machine.compiled",
    "occupancy": "course_lib.machine.occupancy",
    "glossary": "course_lib.words",
}

_DECISION = _prepare()
if _DECISION.interprets:
    _watch()


class TritonCameFirst(UserWarning):
    """Triton was imported before course_lib, so kernels cannot be interpreted in this process."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it offers {', '.join(__all__)}")
    if _DECISION.too_late:
        warnings.warn(
            "Triton was imported before course_lib, so kernels that you run here are compiled, and there is no GPU. "
            "Restart the kernel (Kernel > Restart Kernel…, or Runtime > Restart session) and import course_lib above triton.",
            TritonCameFirst,
            stacklevel=2,
        )
    value = globals()[name] = getattr(import_module(_LAZY[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
