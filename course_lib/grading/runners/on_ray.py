"""Tasks on a Ray cluster, for classes that outgrow a machine.

Meaning is judged on any node's processors. With a GPU asked for, what has passed goes on to a node that has one, as a further
task.
Sources: docs.ray.io, "Fault Tolerance" (tasks), "Accelerator Support", "Ray Client".
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import logging
import os
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from course_lib.errors import PlainError
from course_lib.grading import records
from course_lib.grading.runners.local import MOST_SECONDS, Judge
from course_lib.grading.tasks import Task, grade, not_judged

TRIES = 3
"""How often a task is begun whose process or node is lost."""
AHEAD = 2
"""Tasks under way for each of the cluster's processors: one is judged, the next has travelled already."""
WATCH = 5.0
"""Seconds between two looks at how many processors the cluster has."""
WITHOUT_NODES = 300.0
"""Seconds that no node may be there for what is under way before the run ends; nodes may be on their way."""
START_UP = 120.0
"""Seconds that the nodes may take to say what is installed there."""

LOST = f"The process or the node that judged it was lost, {TRIES} times. Grade it again, and if that does not help, by itself."
NO_RAY = "--on ray needs Ray, which is not installed here. Next: pip install -c constraints.txt -e '.[cluster]'"
NO_CLUSTER = (
    "No Ray cluster runs on this machine. Start one with `ray start --head`, and on each further machine "
    "`ray start --address=THIS_MACHINE:6379`; for a cluster elsewhere, give --on ray://HOST:10001."
)
OTHERWISE = "Not all nodes of the cluster have what this machine has, and may judge otherwise:"
CURE = "Install the same there, or leave these nodes out."


class CannotGrade(PlainError):
    """The cluster is not there, or not fit to grade; the message says why, and what to do."""


class RayRunner:
    """A cluster: `address` is "ray" for the one that this machine is a node of, or ray://HOST:PORT for one elsewhere.

    `jobs` tasks are under way at most (0: some for each processor that the cluster has just then). `judge` is a function of a
    module, that the nodes find there. Raises `CannotGrade` where Ray is not installed.
    """

    def __init__(self, address: str, jobs: int, judge: Judge = grade) -> None:
        if importlib.util.find_spec("ray") is None:
            raise CannotGrade(NO_RAY)
        self.address = address
        self.jobs = jobs
        self.judge = judge

    def run(self, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
        """See `Runner.run`. Raises `CannotGrade`."""
        if not tasks:
            return
        import ray

        _connect(self.address)
        try:
            _see_that_nodes_agree(ray)
            yield from judged(ray, tasks, self.jobs, self.judge)
        except ConnectionError as error:
            raise CannotGrade(f"The cluster was lost ({error}). The same command goes on where this one ended.") from error
        finally:
            ray.shutdown()  # what is under way ends with its driver


@dataclass(frozen=True)
class _Turn:
    """A task that waits or is under way: what it is sent as, and how often it may still be begun."""

    task: Task
    first: dict[str, Any] | None = None
    """The record of all but the GPU's stage, once it is the GPU's turn."""
    tries: int = TRIES

    def sent(self, has_gpus: bool) -> Task:
        """The task as a node gets it. A cluster without a GPU notes the stage as skipped, as a machine without one does."""
        if self.first:
            return replace(self.task, exercises=passed(self.first))
        return replace(self.task, use_gpu=False) if has_gpus else self.task

    def whole(self, record: dict[str, Any]) -> dict[str, Any]:
        """The task's record, from the one that has come last."""
        first = self.first or record
        latest = {result["exercise"]: result for result in (*first["results"], *record["results"])}
        seconds = first["seconds"] + (record["seconds"] if self.first else 0)
        return records.record(self.task, list(latest.values()), first["notes"], seconds)


def judged(ray: Any, tasks: Sequence[Task], jobs: int, judge: Judge) -> Iterator[dict[str, Any]]:
    """See `Runner.run`; `ray` is the module, connected to a cluster."""
    # Ray itself begins nothing anew (max_retries): a task that kills its process, or eats up a node's memory, would never end.
    on_cpu = ray.remote(num_cpus=1, max_retries=0)(_judge)
    on_gpu = ray.remote(num_cpus=1, num_gpus=1, max_retries=0, max_calls=1)(_judge)  # a process sees the GPU that it began with
    has_gpus = ray.cluster_resources().get("GPU", 0) >= 1
    installed = _installed_here()
    waiting = deque(_Turn(task) for task in tasks)
    under_way: dict[Any, _Turn] = {}
    idle = 0.0
    while waiting or under_way:
        cluster = ray.cluster_resources()
        most = jobs or max(1, AHEAD * int(cluster.get("CPU", 0)))
        for turn in [waiting.popleft() for _ in range(min(len(waiting), most - len(under_way)))]:
            begin = on_gpu if turn.first else on_cpu
            under_way[begin.remote(judge, turn.sent(has_gpus), installed)] = turn
        finished, _ = ray.wait(list(under_way), timeout=WATCH)
        needed = "GPU" if all(turn.first for turn in under_way.values()) else "CPU"
        idle = 0.0 if finished or cluster.get(needed, 0) >= 1 else idle + WATCH
        if idle > WITHOUT_NODES:
            raise CannotGrade(
                f"No node with a {needed} is left. Start one; the same command then goes on where this one ended."
            )
        for reference in finished:
            turn = under_way.pop(reference)
            record = _result(ray, reference)
            if record is None and turn.tries > 1:
                waiting.append(replace(turn, tries=turn.tries - 1))
            elif record and has_gpus and turn.task.use_gpu and not turn.first and passed(record):
                waiting.appendleft(_Turn(turn.task, record))
            else:
                yield turn.whole(record or not_judged(turn.sent(has_gpus), LOST))


def passed(record: Mapping[str, Any]) -> tuple[str, ...]:
    """The exercises that were passed."""
    return tuple(result["exercise"] for result in record["results"] if result["status"] == "passed")


def _result(ray: Any, reference: Any) -> dict[str, Any] | None:
    """The record that a task has come to; None if its process or its node is gone."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:  # `grade` raises nothing: it could not even begin
        raise CannotGrade(f"A node could not judge: {error.cause or error}") from error
    except ray.exceptions.RayError:
        return None


def _judge(judge: Judge, task: Task, installed: dict[str, str]) -> dict[str, Any]:
    """What runs on a node. One that has joined later has not been asked what is installed there."""
    if differs := differences(installed, _installed_here()):
        raise CannotGrade(f"{os.uname().nodename}: {'; '.join(differs)}. {CURE}")
    end = threading.Timer(MOST_SECONDS * (1 + len(task.exercises)), os._exit, (1,))
    end.daemon = True
    end.start()
    try:
        return judge(task)
    finally:
        end.cancel()


def _connect(address: str) -> None:
    import ray

    where = "auto" if address == "ray" else address
    try:
        # Nodes may import what lies in the folder from which Ray is begun, ahead of all else; submissions may lie there.
        with tempfile.TemporaryDirectory() as empty, contextlib.chdir(empty):
            ray.init(where, logging_level=logging.WARNING, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:  # RuntimeError: other versions of Ray or Python there
        raise CannotGrade(
            NO_CLUSTER if where == "auto" and isinstance(error, ConnectionError) else f"{address}: {error}"
        ) from error


# --- what is installed --------------------------------------------------------------------------------------------------


def _ask() -> Callable[[], dict[str, str]]:
    """A function that says what is installed where it runs. Made here, it travels as a whole, and needs no course there."""

    def installed() -> dict[str, str]:
        import hashlib
        from importlib.metadata import PackageNotFoundError, version
        from importlib.util import find_spec
        from pathlib import Path

        found = {}
        for package in ("torch", "triton"):
            try:
                found[package] = version(package).partition("+")[0]  # less the build: +cpu, +cu130
            except PackageNotFoundError:
                found[package] = "missing"
        course, digest = find_spec("course_lib"), hashlib.sha256()
        if course is None or course.origin is None:
            return found | {"course_lib": "missing"}
        for file in sorted(Path(course.origin).parent.rglob("*.py")):
            digest.update(file.name.encode() + file.read_bytes())
        return found | {"course_lib": digest.hexdigest()[:10]}

    return installed


@functools.cache
def _installed_here() -> dict[str, str]:
    return _ask()()


def differences(ours: Mapping[str, str], theirs: Mapping[str, str]) -> list[str]:
    """In words, what is installed there otherwise.

    >>> differences({"torch": "2.13.0", "triton": "3.7.1"}, {"torch": "2.13.0", "triton": "3.6.0"})
    ['triton is 3.6.0, and 3.7.1 here']
    """
    return [f"{name} is {theirs[name]}, and {ours[name]} here" for name in ours if theirs[name] != ours[name]]


def _see_that_nodes_agree(ray: Any) -> None:
    """Raises `CannotGrade` with what is amiss on which node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    asked = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1:
            there = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            name = f"{node['NodeManagerHostname']} ({node['NodeManagerAddress']})"
            asked[ray.remote(num_cpus=0, scheduling_strategy=there)(_ask()).remote()] = name
    said, silent = ray.wait(list(asked), num_returns=len(asked), timeout=START_UP) if asked else ([], [])
    amiss = [f"  {asked[one]}: said nothing within {START_UP:.0f} s" for one in silent]
    for one in said:
        try:
            amiss += [f"  {asked[one]}: {what}" for what in differences(_installed_here(), ray.get(one))]
        except ray.exceptions.RayError as error:
            amiss.append(f"  {asked[one]}: {error}")
    if amiss:
        raise CannotGrade("\n".join([OTHERWISE, *sorted(amiss), CURE]))
