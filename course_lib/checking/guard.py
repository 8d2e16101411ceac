"""Installs the guard of `hooks/` as soon as Triton's interpreter is there, without importing Triton before its time.

Importing `hooks` imports torch and Triton, about two seconds. `watch()` puts that off: it waits, as a finder on
`sys.meta_path`, until somebody else has imported both `triton` and `triton.runtime.interpreter`.

Not here: what the guard does (`hooks/`), and whether this process interprets at all (`course_lib.device`).
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# Triton imports its interpreter halfway through its own import, so both have to have finished.
WAITED_FOR = ("triton.runtime.interpreter", "triton")


HOOKS = "course_lib.checking.hooks"


class _Watcher:
    """Finds the awaited modules as usual, but lets their loader say when it has finished."""

    def __init__(self) -> None:
        self.finished: set[str] = set()

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name not in WAITED_FOR:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            execute(module)
            self.finished.add(name)
            if self.finished.issuperset(WAITED_FOR):
                _install()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def watch() -> None:
    """Install the guard now if the interpreter is loaded already, and otherwise when it has been. Idempotent.

    >>> watch()
    """
    if all(name in sys.modules for name in WAITED_FOR):
        _install()
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


def _install() -> None:
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Watcher)]
    if (importing := sys.modules.get(HOOKS)) is not None and not hasattr(importing, "install_guard"):
        return  # whoever is just importing the hooks installs an observer of their own
    try:
        from course_lib.checking import hooks

        hooks.install_guard()
    except Exception as error:  # the guard is a kindness: without it lessons still run
        warnings.warn(
            f"Kernels run here without the guard against stray accesses ({type(error).__name__}: {error}): one that "
            "leaves its tensors can end this Python. check(…) is not concerned. See `course doctor`.",
            stacklevel=2,
        )
