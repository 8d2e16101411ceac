"""`check` and `check_file`: an answer goes in, a `Report` comes out.

The stages are in `stages/`, in the order in which they run; the first that finds something ends the check.
"""

from __future__ import annotations

import contextlib
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from course_lib import catalog
from course_lib.catalog.model import Exercise
from course_lib.checking import explain, sandbox, stale
from course_lib.checking.bundle import Bundle, bundle_file
from course_lib.checking.collect import bundle_function
from course_lib.checking.findings import Finding, Report
from course_lib.checking.notebook import bundle_notebook
from course_lib.checking.reading import Text
from course_lib.checking.report import choose_hint
from course_lib.checking.source import CannotBundle
from course_lib.checking.stages import FLOWS
from course_lib.checking.stages.work import Work
from course_lib.errors import PlainError
from course_lib.progress import record


class WrongCall(PlainError, TypeError):
    """`check` was given other arguments than the name of an exercise and a function."""


def check(name: str, answer: Any = ..., *, seed: int | None = None) -> Report:
    """Judge `answer`, a function, as the exercise `name`, and remember the result in the learner's progress.

    Runs in a process of its own: whatever the answer does, this one lives on. `seed` replays the inputs of an earlier
    report; a replay that fails is no attempt of its own, and in this way lessons show wrong answers. Raises
    `catalog.UnknownName` for an exercise that does not exist, and `WrongCall`; a faulty answer never raises.
    """
    if callable(name):
        called, asked = getattr(name, "__name__", "your_function"), answer if isinstance(answer, str) else "name"
        raise WrongCall(f'The name of the exercise comes first: check("{asked}", {called}).')
    if answer is ...:
        raise WrongCall(f'check needs your function as well: check("{name}", {catalog.exercise(name).name}).')
    report = _judge(name, lambda: bundle_function(answer, name), seed)
    return replace(report, answer=getattr(answer, "__name__", ""), note=stale.note(answer))


def check_file(name: str, path: Path, seed: int | None = None) -> Report:
    """Judge the function called `name` in a Python file or a notebook (.ipynb); see `check`. It is not run in this process."""
    bundle = bundle_notebook if path.suffix == ".ipynb" else bundle_file
    return replace(_judge(name, lambda: bundle(path, name), seed), file=str(path))


def judge(exercise: Exercise, make_bundle: Callable[[], Bundle], seed: int, *, use_gpu: bool = True) -> Report:
    """Judge an answer as this exercise, on the inputs that `seed` gives. Remembers nothing.

    `make_bundle` may raise `CannotBundle`, which is a finding, too. Without `use_gpu`, the stage that needs a GPU is skipped.
    """
    began = time.perf_counter()
    sandbox.warm()
    try:
        work = Work(exercise, make_bundle(), seed, use_gpu)
    except CannotBundle as problem:
        return Report.not_bundled(exercise.name, str(problem))
    findings: list[Finding] = []
    ran: list[str] = []
    try:
        with _one_thread():
            for stage_name, stage in FLOWS[exercise.works_on]:
                ran.append(stage_name)
                if findings := stage(work):
                    break
    except sandbox.SandboxError as problem:
        return Report.not_judged(exercise.name, str(problem), seed, tuple(ran))
    findings = [_advised(finding, work.bundle) for finding in findings]
    return Report(
        name=exercise.name,
        passed=not findings,
        findings=tuple(findings),
        seed=seed,
        cases=len(work.cases),
        stages=tuple(ran),
        skipped=tuple(work.skipped),
        hint=choose_hint(exercise.hints, findings),
        printed=work.printed,
        seconds=time.perf_counter() - began,
        judged=not any(finding.kind == "no_verdict" for finding in findings),
    )


def _judge(name: str, make_bundle: Callable[[], Bundle], seed: int | None) -> Report:
    if os.environ.get("COURSE_IN_WORKER"):
        raise RuntimeError('this file calls check() when it is imported; put the call under `if __name__ == "__main__":`')
    drawn = random.SystemRandom().randrange(10**6) if seed is None else int(seed)
    report = judge(catalog.exercise(name), make_bundle, drawn)
    ran = report.stages != ("bundle",)
    if report.passed or (ran and report.done and report.judged and seed is None):
        record(name, report.passed)
    return report


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch compute in one thread here: on what is small, several only wait for each other, long on a busy machine."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _advised(finding: Finding, bundle: Bundle) -> Finding:
    """A finding, with the advice to look at a launch's arguments or at a loop where these may explain it."""
    text = Text(bundle.source)
    if finding.kind in explain.SHOWS_AN_EXCHANGE and (advice := explain.exchanged(text)):
        return replace(finding, advice=advice)
    if finding.kind == "unwritten" and finding.kernel and text.asks_a_pointer_for_its_size(finding.kernel):
        return replace(finding, advice=explain.SIZE_OF_A_POINTER)
    if finding.kind == "unwritten" and finding.kernel and text.shares_out_by_a_loop(finding.kernel):
        return replace(finding, advice=explain.LEFT_OUT_BY_A_LOOP)
    return finding


if "ipykernel" in sys.modules:
    sandbox.warm()  # in a notebook, get ready while the learner still reads
