"""Judge every answer that is kept for the judge's tests, and put the scores into README.md (`make scoreboard`).

    python -m tools.scoreboard                  judge all with one seed, then write the table
    python -m tools.scoreboard vector_add       these exercises only; README.md stays as it is
    python -m tools.scoreboard --seeds 20       judge each answer with 20 random seeds; README.md stays as it is
    python -m tools.scoreboard --check          run nothing; do the table's counts agree with the files on disk?

A mutant (tests/mutants/<exercise>/*.py) must be refused with a diagnosis that its line `# expect: kinds` declares, a variant
(tests/variants/<exercise>/*.py) must be accepted. Every wrong verdict is named, none is written into README.md, and the
exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import torch

from course_lib import catalog
from course_lib.checking.check import check_file
from course_lib.checking.findings import Report
from tools import markers
from tools.build import ROOT
from tools.lint_course import Course, answer_files, expected_kinds

SEED = 0
BEGIN, END = "<!-- scoreboard -->", "<!-- /scoreboard -->"
COLUMNS = (
    "exercise",
    "mutants",
    "refused",
    "with the declared diagnosis",
    "right variants",
    "accepted",
    "median seconds of a right check",
)


class ScoreboardError(RuntimeError):
    """README.md has no place for the scoreboard."""


@dataclass
class Score:
    """How one exercise's answers were judged. `seconds` has one number for each right variant that was accepted."""

    exercise: str
    mutants: int = 0
    refused: int = 0
    diagnosed: int = 0
    variants: int = 0
    accepted: int = 0
    seconds: list[float] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def counts(self) -> tuple[str, ...]:
        """The cells of the table that do not depend on the machine."""
        numbers = (self.mutants, self.refused, self.diagnosed, self.variants, self.accepted)
        return (self.exercise, *(str(number) for number in numbers))


def answers(course: Course, folder: str, exercise: str) -> list[Path]:
    """The "mutants" or "variants" of an exercise."""
    return [path for path in answer_files(course.root, folder).get(exercise, []) if path.suffix == ".py"]


def judge(course: Course, exercise: str, seed: int) -> Score:
    """Judge all answers of one exercise, one after the other."""
    score = Score(exercise)
    for path in answers(course, "mutants", exercise):
        report = check_file(exercise, path, seed=seed)
        expected = expected_kinds(path.read_text(encoding="utf-8"))
        refused = report.judged and not report.passed
        diagnosed = refused and report.findings[0].kind in expected
        score.mutants += 1
        score.refused += refused
        score.diagnosed += diagnosed
        if not diagnosed:
            instead = f", not as {' or '.join(expected)}" if refused else ""
            score.faults.append(f"{path.relative_to(course.root)} is {_verdict(report)}{instead} (seed {seed})")
    for path in answers(course, "variants", exercise):
        report = check_file(exercise, path, seed=seed)
        score.variants += 1
        score.accepted += report.passed
        if report.passed:
            score.seconds.append(report.seconds)
        else:
            score.faults.append(f"{path.relative_to(course.root)} is {_verdict(report)} (seed {seed})")
    return score


def on_disk(course: Course) -> list[Score]:
    """The scores that the answers on disk must have."""
    scores = []
    for exercise in course.exercises:
        mutants, variants = (len(answers(course, what, exercise.name)) for what in ("mutants", "variants"))
        scores.append(Score(exercise.name, mutants, mutants, mutants, variants, variants))
    return scores


def total(scores: Iterable[Score]) -> Score:
    """The scores of all exercises together."""
    everything = Score("**all**")
    for score in scores:
        everything.mutants += score.mutants
        everything.refused += score.refused
        everything.diagnosed += score.diagnosed
        everything.variants += score.variants
        everything.accepted += score.accepted
        everything.seconds += score.seconds
    return everything


def table(scores: list[Score], conditions: str) -> str:
    """The scoreboard in Markdown: a row for each exercise, one for all, and under what conditions it was made."""
    rows = [COLUMNS, ("---", *["--:"] * (len(COLUMNS) - 1))]
    for score in [*scores, total(scores)]:
        rows.append((*score.counts, f"{statistics.median(score.seconds):.1f}" if score.seconds else ""))
    return "\n".join([*(f"| {' | '.join(row)} |" for row in rows), "", conditions])


def counts_in(text: str) -> list[tuple[str, ...]]:
    """The counts of a table made by `table`, without its times."""
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines() if line.startswith("|")]
    return [row[:-1] for row in rows[2:]]


def conditions(seed: int) -> str:
    """What the times and verdicts depend on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    versions = f"Triton {version('triton')} and torch {version('torch').split('+')[0]}"
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
    return f"Judged with {versions}, one check at a time on {cores} cores and {gpu}, seed {seed}. Made by `make scoreboard`."


def placed(readme: str, board: str) -> str:
    """README.md's text with the scoreboard in its place. Raises `ScoreboardError`."""
    before, _, after = _parts(readme)
    return f"{before}{BEGIN}\n{board}\n{END}{after}"


def out_of_step(readme: str, course: Course) -> list[str]:
    """What README.md's counts and the answers on disk disagree about. Raises `ScoreboardError`."""
    shown = {row[0]: row for row in counts_in(_parts(readme)[1])}
    scores = on_disk(course)
    wanted = {score.exercise: score.counts for score in [*scores, total(scores)]}
    faults = []
    for name in [*wanted, *(name for name in shown if name not in wanted)]:
        if shown.get(name) != wanted.get(name):
            there, files = (" | ".join(counts[name][1:]) if name in counts else "nothing" for counts in (shown, wanted))
            faults.append(f"README.md says {there} for {name}, and the files say {files}. Run `make scoreboard`.")
    return faults


def main(arguments: list[str] | None = None, course: Course | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.scoreboard", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("exercises", nargs="*", help="judge these only, and leave README.md alone")
    parser.add_argument("--seed", type=int, default=SEED, help=f"the seed of the inputs ({SEED})")
    parser.add_argument("--seeds", type=int, metavar="N", help="judge each answer with N random seeds; leave README.md alone")
    parser.add_argument("--check", action="store_true", help="compare the counts in README.md with the files; run nothing")
    options = parser.parse_args(arguments)
    course = course or Course(ROOT, catalog.LESSONS)
    names = [exercise.name for exercise in course.exercises]
    if unknown := sorted(set(options.exercises) - set(names)):
        parser.error(f"no exercise is called {', '.join(unknown)}; there are {', '.join(names)}")
    readme = course.root / "README.md"
    try:
        if options.check:
            return _told(out_of_step(readme.read_text(encoding="utf-8"), course), "README.md agrees with the files.")
        writes = not options.exercises and not options.seeds
        if writes:
            _parts(readme.read_text(encoding="utf-8"))  # before all the work, see whether there is a place for the result
        seeds = sorted(random.SystemRandom().sample(range(10**6), options.seeds)) if options.seeds else [options.seed]
        scores, faults = _judge_all(course, options.exercises or names, seeds)
        board = table(scores, conditions(options.seed))
        if not options.seeds:
            print(f"\n{board}\n")
        if writes and not faults:
            readme.write_text(placed(readme.read_text(encoding="utf-8"), board), encoding="utf-8")
    except ScoreboardError as error:
        return _told([str(error)], "")
    return _told(faults, "Every verdict is right.")


def _told(faults: list[str], otherwise: str) -> int:
    print("\n".join(faults) or otherwise)
    return 1 if faults else 0


def _judge_all(course: Course, names: list[str], seeds: list[int]) -> tuple[list[Score], list[str]]:
    """The scores of each exercise with the last seed, and all wrong verdicts."""
    print(f"Seeds: {', '.join(map(str, seeds))}", flush=True)
    scores, faults = [], []
    with _state_of_its_own():
        _warm_up(course, names)
        for name in names:
            by_seed = [judge(course, name, seed) for seed in seeds]
            wrong = [fault for score in by_seed for fault in score.faults]
            one = by_seed[-1]
            answers = f"{one.mutants} mutants and {one.variants} right variants, {len(seeds)} seed{'s' * (len(seeds) > 1)}"
            print(f"{name}: {answers}: {len(wrong)} wrong verdicts", flush=True)
            scores.append(one)
            faults += wrong
    return scores, faults


@contextmanager
def _state_of_its_own() -> Iterator[None]:
    """Touch no learner's progress, and find no kernel compiled already: a learner's answer is new each time."""
    before = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="course-scoreboard-", ignore_cleanup_errors=True) as scratch:
        os.environ |= {"COURSE_STATE_DIR": f"{scratch}/state", "TRITON_CACHE_DIR": f"{scratch}/cache"}
        try:
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _warm_up(course: Course, names: list[str]) -> None:
    """Judge one right answer, so that the processes that answers run in are there when the clock starts."""
    for name in names:
        for path in answers(course, "variants", name)[:1]:
            check_file(name, path, seed=SEED)
            return


def _verdict(report: Report) -> str:
    if report.passed:
        return "accepted"
    return f"refused as {report.findings[0].kind}" if report.judged else "not judged"


def _parts(readme: str) -> tuple[str, str, str]:
    """What stands before, between and after the markers."""
    found = markers.parts(readme, BEGIN, END)
    if found is None:
        raise ScoreboardError(f"README.md needs the lines {BEGIN} and {END}, once each, where the scoreboard is to stand.")
    return found


if __name__ == "__main__":
    sys.exit(main())
