"""The observer of a notebook's own process: it stops the first access outside a tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from course_lib.checking.hooks.model import Access, LaunchState, Place, Program, Promise, StrayAccess


class Guard:
    """Raises at the first access outside a tensor; otherwise the interpreter behaves as it always does."""

    def launch_begins(self, launch: LaunchState) -> None:
        pass

    def launch_ends(self, launch: LaunchState) -> None:
        pass

    def order(self, grid: Program, program: Program) -> Program:
        return program

    def program_begins(self, launch: LaunchState, program: Program) -> None:
        pass

    def poison(self, dtype: np.dtype) -> Any:
        return np.zeros((), dtype=dtype)

    def barrier(self) -> None:
        pass

    def broken_promise(self, promise: Promise, certain: bool) -> None:
        pass

    def swapped(self) -> None:
        pass

    def tuning(self, configurations: int) -> int:
        return 0

    def measures(self) -> bool:
        return False

    def outdated(self, kernel: str, chosen: dict[str, Any]) -> None:
        pass

    def reorders(self) -> bool:
        return False

    def bounds(self, tensor: torch.Tensor) -> Place | None:
        return None

    def stranger(self) -> None:
        pass

    def note(self, what: str) -> None:
        pass

    def access(self, launch: LaunchState, access: Access) -> None:
        stray = access.active & ~access.inside
        if not stray.any():
            return
        name, tensor = launch.tensors[access.view]
        first = int(access.offsets[stray][0])
        number = int(stray.sum())
        verb = {"load": "read", "store": "write", "atomic": "update"}[access.kind]
        # The three lines that tell a learner what happened, which tensor it was, and what to do.
        raise StrayAccess(
            f"program {access.program} of {launch.kernel}, line {access.frame.f_lineno}: tried to {verb} {number} "
            f"element{'s' if number > 1 else ''} outside {name}, which has shape {tuple(tensor.shape)}; "
            f"the first at offset {first}. Is a mask missing, or a stride wrong?"
        )
