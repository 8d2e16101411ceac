"""The judge is right both ways: every wrong answer kept here is refused for its reason, every right one passes.

tests/mutants/<exercise>/<what_is_wrong>.py are wrong answers; each says in a line `# expect: kind` what must be found, and
some in a line `# hint: words` which words the hint must have, and in `# line: words` which the line of code that it shows.
tests/variants/<exercise>/<how>.py are right answers, each written in another way.

With many seeds: `pytest -m slow tests/test_judge.py`.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import torch

from course_lib import catalog
from course_lib.catalog.model import Exercise
from course_lib.checking import sandbox
from course_lib.checking.check import check_file
from course_lib.checking.findings import KINDS, Report
from tools.lint_course import expected_kinds

HERE = Path(__file__).parent
EXERCISES = [item.name for item in catalog.items() if isinstance(item, Exercise)]
MUTANTS = sorted(HERE.glob("mutants/*/*.py"))
VARIANTS = sorted(HERE.glob("variants/*/*.py"))
SEED = 0
MORE_SEEDS = 20

WITHOUT_A_LINE = {
    "computed_outside",
    "forbidden",
    "idle_programs",
    "killed",
    "no_block",
    "no_kernel",
    "not_as_asked",
    "overwritten",
    "torch_compute",
    "undefined_value",
    "unwritten",
    "wrong_dtype",
    "wrong_layout",
    "wrong_shape",
    "wrong_type",
}
"""Kinds that are not about one line of the answer, or whose line cannot always be known. Only a kernel's stores have lines, so
wrong values have one in exercises about kernels only.
"""
MISLEADING = [
    ("row_softmax/blocks_normalised_by_themselves", 495185),
    ("row_softmax/online_sum_not_rescaled", 140891),
    ("row_softmax/online_sum_scaled_the_wrong_way_round", 23406),
]
"""Seeds with which some case is wrong in places that look like a pattern."""
SLOW_KINDS = {"timeout"}
"""Kinds that take as long as an answer may: these mutants are judged once, and are given less time."""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))


def kinds_of(mutant: Path) -> set[str]:
    """What a mutant must be refused for: any one of these kinds."""
    kinds = set(expected_kinds(mutant.read_text(encoding="utf-8")))
    assert kinds, f"{mutant} has no line `# expect: kind`"
    return kinds


def named(path: Path) -> str:
    return f"{path.parent.name}-{path.stem}"


def must_be_refused(path: Path, seed: int) -> Report:
    report = check_file(path.parent.name, path, seed=seed)
    assert not report.passed, f"{named(path)} is wrong and passed with seed {seed}"
    assert report.judged
    assert report.findings[0].kind in kinds_of(path), f"seed {seed}\n{report!r}"
    return report


def must_pass(path: Path, seed: int) -> None:
    report = check_file(path.parent.name, path, seed=seed)
    assert report.passed, f"{named(path)} is right and was refused with seed {seed}\n{report!r}"
    assert not {"interpreter", "compiler", "memory", "values"} & {skipped.stage for skipped in report.skipped}


@pytest.mark.parametrize("name", EXERCISES)
def test_every_exercise_has_wrong_and_right_answers_to_be_judged(name: str) -> None:
    counts = Counter(path.parent for path in MUTANTS + VARIANTS)
    assert counts[HERE / "mutants" / name] >= 8
    assert counts[HERE / "variants" / name] >= 3


@pytest.mark.parametrize("name", EXERCISES)
def test_a_statement_says_how_tensors_lie_and_that_matrices_have_columns(name: str) -> None:
    exercise = catalog.exercise(name)
    made = [exercise.make_inputs(torch.Generator().manual_seed(0), **case) for case in exercise.cases]
    tensors = [value for arguments in made for value in arguments if isinstance(value, torch.Tensor)]
    if tensors:
        contiguous = all(tensor.is_contiguous() for tensor in tensors)
        apart = bool(re.search("any strides|rows `x.stride\\(0\\)` apart", exercise.statement))
        assert contiguous == (" contiguous 1-D " in exercise.statement) != apart
    matrices = [tensor for tensor in tensors if tensor.dim() > 1]
    assert all(tensor.shape[1] for tensor in matrices)
    assert not matrices or re.search("at least one|from 1 on", exercise.statement)


@pytest.mark.parametrize("name", EXERCISES)
def test_the_wrong_answers_of_an_exercise_are_wrong_in_different_ways(name: str) -> None:
    kinds = [kinds_of(path) for path in MUTANTS if path.parent.name == name]
    assert len(set().union(*kinds)) >= 4
    assert all(kind in KINDS for alternatives in kinds for kind in alternatives)


@pytest.mark.parametrize("path", MUTANTS, ids=named)
def test_a_wrong_answer_is_refused_for_its_reason(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if kinds_of(path) & SLOW_KINDS:
        monkeypatch.setattr(sandbox, "Limits", partial(sandbox.Limits, cpu_seconds=2.0))
    report = must_be_refused(path, SEED)
    finding = report.findings[0]
    text, page = repr(report), report._repr_html_()
    assert text.startswith(f"{path.parent.name}: not right yet")
    assert path.parent.name in page
    assert KINDS[finding.kind][1:] in text
    assert report.hint, "nothing is said about what to do"
    for words in re.findall(r"^# hint: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
        assert words in report.hint
    if finding.source is None:
        valued = "values" in report.stages and catalog.exercise(path.parent.name).works_on != "gpu"
        assert finding.kind in WITHOUT_A_LINE or "Unsupported function" in finding.message or valued
    else:
        lines = path.read_text(encoding="utf-8").splitlines()
        for words in re.findall(r"^# line: (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE):
            assert words in finding.source.text
        assert finding.source.origin == path.name
        assert finding.source.text == lines[finding.source.line - 1].strip() != ""
        assert f"{path.name}, line {finding.source.line}" in text
        assert f"{path.name}, line {finding.source.line}" in page


@pytest.mark.parametrize(("name", "seed"), MISLEADING)
def test_what_few_cases_look_like_by_chance_is_no_diagnosis(name: str, seed: int) -> None:
    must_be_refused(HERE / "mutants" / f"{name}.py", seed)


@pytest.mark.parametrize("path", VARIANTS, ids=named)
def test_a_right_answer_passes_however_it_is_written(path: Path) -> None:
    must_pass(path, SEED)


@pytest.mark.slow
@pytest.mark.parametrize("path", [path for path in MUTANTS if not kinds_of(path) & SLOW_KINDS], ids=named)
def test_no_seed_lets_a_wrong_answer_by(path: Path) -> None:
    for seed in random.SystemRandom().sample(range(10**6), MORE_SEEDS):
        must_be_refused(path, seed)


@pytest.mark.slow
@pytest.mark.parametrize("path", VARIANTS, ids=named)
def test_no_seed_refuses_a_right_answer(path: Path) -> None:
    for seed in random.SystemRandom().sample(range(10**6), MORE_SEEDS):
        must_pass(path, seed)
