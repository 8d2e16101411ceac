"""Where tasks are judged: on this machine's processors, or elsewhere. What grades does not know which."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from course_lib.errors import PlainError
from course_lib.grading.tasks import Task


class UnknownRunner(PlainError, ValueError):
    """The text of --on names no runner."""


class Runner(Protocol):
    """Judges tasks."""

    def run(self, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
        """The record of each task (`tasks.grade`), in whatever order they finish.

        A task whose judging fails for a reason that is not the student's (a process or a machine that is lost) is tried once
        more and then has the record `tasks.not_judged`. Closing the iterator ends all work.
        """
        ...


def runner(on: str, jobs: int) -> Runner:
    """The runner that `--on` asks for, with so many tasks at a time; 0 lets it choose. Raises `UnknownRunner`."""
    if on == "local":
        from course_lib.grading.runners.local import LocalRunner

        return LocalRunner(jobs)
    if on == "ray" or on.startswith("ray://"):
        from course_lib.grading.runners.on_ray import RayRunner

        return RayRunner(on, jobs)
    raise UnknownRunner(f"--on {on} is not known. There is: local (this machine), ray and ray://HOST:PORT (a cluster).")
