"""The course linter, on the real catalogue and on small courses with one fault each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_lib.catalog.model import Exercise, Hint, Lesson, Quiz, Wrong
from tools import lint_course
from tools.build import as_text, plan
from tools.lint_course import Course

DOUBLE = Exercise(
    name="double",
    lesson="00_tiny",
    signature="double(x)",
    statement="",
    reference=lambda x: 2 * x,
    make_inputs=lambda generator, n: (torch.ones(n),),
    cases=({"n": 1},),
    hints=(Hint("a"), Hint("b"), Hint("c")),
)
SUM = Quiz(
    name="sum",
    lesson="00_tiny",
    question="1 + 1?",
    form="a number",
    accepts=lambda value: isinstance(value, int),
    expected=lambda: 2,
    explanation="",
    hints=(),
)
LESSON = "\n# Tiny\n\nTakes 5 minutes.\n\n```{code-cell} ipython3\nquiz('sum', ...)\n```\n"
EXERCISES = """
```{code-cell} ipython3
def double(x):
    ### BEGIN SOLUTION
    return 2 * x
    ### END SOLUTION
```

```{code-cell} ipython3
check("double", double)
```
"""
MUTANT = '"""Adds nothing."""\n# expect: mismatch, constant\n'


@pytest.fixture
def course(tmp_path: Path) -> Course:
    files = {
        "pyproject.toml": '[project]\nversion = "1.2.3"\n',
        "lessons/00_tiny.md": LESSON,
        "lessons/00_tiny.exercises.md": EXERCISES,
    }
    files |= {f"tests/mutants/double/m{i}.py": MUTANT for i in range(4)}
    files |= {f"tests/variants/double/v{i}.py": "" for i in range(2)}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Course(tmp_path, (Lesson("00_tiny", "Tiny", 5, (DOUBLE, SUM)),))


def with_items(course: Course, *items: Exercise | Quiz) -> Course:
    return Course(course.root, (replace(course.lessons[0], items=items),))


def edit(name: str, old: str, new: str) -> Callable[[Path], None]:
    def apply(root: Path) -> None:
        text = (root / name).read_text()
        assert old in text
        (root / name).write_text(text.replace(old, new))

    return apply


def test_a_course_in_order_has_no_fault(course: Course) -> None:
    assert lint_course.lint(course, run=False) == []


def test_nothing_to_lint_is_a_fault(tmp_path: Path) -> None:
    assert "nothing to lint" in lint_course.lint(Course(tmp_path, ()), run=False)[0]


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (edit("lessons/00_tiny.md", "# Tiny", "# Small"), "the heading is not `# Tiny`"),
        (edit("lessons/00_tiny.md", "5 minutes", "15 minutes"), "does not say that it takes 5 minutes"),
        (edit("lessons/00_tiny.md", "quiz('sum', ...)", "1"), "asks the quiz sum 0 times"),
        (edit("lessons/00_tiny.md", "'sum'", "'som'"), "asks for 'som'"),
        (edit("lessons/00_tiny.md", "quiz(", ":tags: [nbval-ignore-output]\nquiz("), "without a reason"),
        (edit("lessons/00_tiny.exercises.md", "double)", "double)\ncheck('double', 2)"), "2 checks for double"),
        (edit("lessons/00_tiny.exercises.md", "### BEGIN SOLUTION", "### BEGIN SOLUTION!"), "is not a marker"),
        (edit("tests/mutants/double/m0.py", "constant", "odd"), "expects 'odd', which is no kind"),
        (edit("tests/mutants/double/m0.py", "# expect", "# wants"), "has no line `# expect: kind`"),
        (edit("tests/mutants/double/m0.py", '"""Adds nothing."""', ""), "does not begin with a docstring"),
        (lambda root: (root / "tests/mutants/double/m0.py").unlink(), "tests/mutants/double has 3 files"),
        (lambda root: (root / "tests/variants/double/v0.py").unlink(), "tests/variants/double has 1 files"),
        (lambda root: (root / "tests/mutants/triple").mkdir(), "tests/mutants/triple belongs to no exercise"),
        (lambda root: (root / "lessons/00_tiny.exercises.md").unlink(), "00_tiny.exercises.md is missing"),
        (lambda root: (root / "lessons/01_more.md").write_text(LESSON), "lessons/01_more.md is not in the catalogue"),
    ],
)
def test_each_fault_is_named(course: Course, spoil: Callable[[Path], None], fault: str) -> None:
    spoil(course.root)
    try:
        faults = lint_course.lint(course, run=False)
    except lint_course.SourceError as error:
        faults = [str(error)]
    assert any(fault in text for text in faults), faults


def test_every_built_notebook_must_begin_with_the_first_cell(course: Course) -> None:
    for target in plan(course.root):
        target.path.parent.mkdir(exist_ok=True)
        target.path.write_text(as_text(target.notebook))
    assert lint_course.lint(course, run=False) == []
    for folder in ("exercises", "solutions"):
        path = course.root / folder / "00_tiny.ipynb"
        path.write_text(path.read_text().replace("COURSE_SOURCE", "SOURCE", 1))
    faults = lint_course.lint(course, run=False)
    begins = "does not begin with the cell of tools/publishing.py; run `make build`."
    assert faults == [f"{folder}/00_tiny.ipynb {begins}" for folder in ("exercises", "solutions")]


def test_an_exercise_needs_hints(course: Course) -> None:
    faults = lint_course.lint(with_items(course, replace(DOUBLE, hints=DOUBLE.hints[:2]), SUM), run=False)
    assert faults == ["catalogue: double has 2 hints; it needs 3."]


def test_a_quiz_must_accept_its_own_answer(course: Course) -> None:
    refusing = replace(SUM, accepts=lambda value: False, wrong=(Wrong(lambda value: value == 2, "", ""),))
    assert len(lint_course.lint(with_items(course, DOUBLE, refusing), run=False)) == 2


def test_a_lesson_that_is_not_written_needs_no_files_but_all_that_judges_it(course: Course) -> None:
    unwritten = Lesson("01_later", "Later", 5, (replace(DOUBLE, name="triple", lesson="01_later"),), written=False)
    course = Course(course.root, (*course.lessons, unwritten))
    needs = ["tests/mutants/triple has 0 files; it needs 4.", "tests/variants/triple has 0 files; it needs 2."]
    assert lint_course.lint(course, run=False) == needs


def test_files_of_a_lesson_that_is_said_not_to_be_written_are_a_fault(course: Course) -> None:
    course = Course(course.root, (replace(course.lessons[0], written=False),))
    assert ["set `written=True`" in fault for fault in lint_course.lint(course, run=False)] == [True]
