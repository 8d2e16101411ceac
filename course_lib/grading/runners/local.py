"""Tasks on this machine: some processes, each of which judges one task at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, NoReturn

from course_lib.checking import confine
from course_lib.grading.tasks import Task, grade, not_judged

Judge = Callable[[Task], dict[str, Any]]

TRIES = 2
MOST_SECONDS = 900.0
"""Seconds that one exercise may take; its limits end it long before, unless the checker hangs."""
LEAVE = 10.0
"""Seconds that a process is given to clear away what it has."""


class LocalRunner:
    """A pool of `jobs` processes (0: one a processor). One that dies costs its task only, which is tried once more.

    `judge` is a function of a module, that the processes find there.
    """

    def __init__(self, jobs: int, judge: Judge = grade) -> None:
        self.jobs = jobs or len(os.sched_getaffinity(0))
        self.judge = judge

    def run(self, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
        """See `Runner.run`."""
        waiting = deque((task, TRIES) for task in tasks)
        workers: list[_Worker] = []
        try:
            while waiting or any(worker.task for worker in workers):
                for worker in [worker for worker in workers if not worker.task][: len(waiting)]:
                    worker.give(*waiting.popleft())
                for _ in range(min(self.jobs - len(workers), len(waiting))):
                    workers.append(_Worker(self.judge))
                    workers[-1].give(*waiting.popleft())
                for worker in _ready([worker for worker in workers if worker.task]):
                    task, tries = worker.under_way
                    record = worker.take()
                    if record is None:
                        worker.end()
                        workers.remove(worker)
                    if record is None and tries > 1:
                        waiting.append((task, tries - 1))
                    else:
                        yield record or not_judged(task, LOST)
        finally:
            for worker in workers:
                worker.process.terminate()
            for worker in workers:
                worker.end()


LOST = "The process that judged it ended, twice. Grade it again; if that does not help, run: course doctor"


class _Worker:
    """A process that judges. It ends when its pipe does, or this process."""

    def __init__(self, judge: Judge) -> None:
        context = multiprocessing.get_context("spawn")  # what this process knows of other submissions is not in it
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, judge), daemon=True)
        self.process.start()
        theirs.close()
        self.task: tuple[Task, int] | None = None
        self.deadline = 0.0

    @property
    def under_way(self) -> tuple[Task, int]:
        assert self.task is not None
        return self.task

    def give(self, task: Task, tries: int) -> None:
        self.task, self.deadline = (task, tries), time.monotonic() + MOST_SECONDS * (1 + len(task.exercises))
        try:
            self.pipe.send(task)
        except BrokenPipeError:
            self.deadline = 0.0

    def take(self) -> dict[str, Any] | None:
        """The record that it has ready; None if it died or took too long."""
        self.task = None
        try:
            return self.pipe.recv() if self.pipe.poll() else None
        except (EOFError, ConnectionResetError):
            return None

    def end(self) -> None:
        """End it, and with it what it has started and written: at once, or else by force."""
        self.pipe.close()
        self.process.terminate()
        self.process.join(LEAVE)
        self.process.kill()
        self.process.join()


def _ready(workers: Sequence[_Worker]) -> list[_Worker]:
    """Those that have a record, have died or take too long; waits for the first."""
    left = max(0.0, min(worker.deadline for worker in workers) - time.monotonic())
    said = wait([worker.pipe for worker in workers], left)
    return [worker for worker in workers if worker.pipe in said or worker.deadline <= time.monotonic()]


def _leave(number: int, _: object) -> NoReturn:
    """Exit, and take what this process has started and written along, which being told so twice must not cut short."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit()


def _serve(pipe: Connection, judge: Judge) -> None:
    """Judge what comes, one after another, until nothing can come any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of Ctrl-C, the process that started this one learns, and ends it
    signal.signal(signal.SIGTERM, _leave)
    confine.end_with_parent(signal.SIGTERM)
    if not (parent := multiprocessing.parent_process()) or not parent.is_alive():
        return
    try:
        while True:
            pipe.send(judge(pipe.recv()))
    except (EOFError, BrokenPipeError):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # it leaves already
