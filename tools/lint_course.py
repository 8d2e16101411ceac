"""Lint the course: does everything that the catalogue asks exist, fit together and work?

    python -m tools.lint_course             the lessons' files, exercises, hints, mutants; then run blanks and solutions
    python -m tools.lint_course --no-run    without the runs (tests/test_notebooks.py makes the same ones)

Every rule is a function that yields messages: what, where and the cure. That built notebooks are in step with their
source is the business of tools/build.py, and that mutants are refused that of the tests.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_lib import catalog
from course_lib.catalog.model import Exercise, Lesson, Quiz
from course_lib.checking.findings import KINDS
from course_lib.checking.quiz import plain
from tools import publishing, sources, verify
from tools.build import AT_ONCE, BUILT, ROOT
from tools.sources import EXERCISES_SUFFIX, SourceError

HINTS, MUTANTS, VARIANTS = 3, 4, 2
"""The least that an exercise must have. Mutants are wrong answers to be refused, variants right ones to be passed."""


@dataclass(frozen=True)
class Course:
    """The catalogue and the files that go with it; `root` is the project's folder."""

    root: Path
    lessons: tuple[Lesson, ...]

    @property
    def exercises(self) -> list[Exercise]:
        return [item for lesson in self.lessons for item in lesson.items if isinstance(item, Exercise)]

    @property
    def quizzes(self) -> list[Quiz]:
        return [item for lesson in self.lessons for item in lesson.items if isinstance(item, Quiz)]

    def lesson_path(self, lesson: Lesson) -> Path:
        return self.root / "lessons" / f"{lesson.name}.md"

    def exercises_path(self, lesson: Lesson) -> Path:
        return self.root / "lessons" / f"{lesson.name}{EXERCISES_SUFFIX}.md"

    @cached_property
    def notebooks(self) -> dict[Path, NotebookNode]:
        """What each source of a lesson in the catalogue stands for (exercises as their solution), where it exists."""
        found = {}
        for lesson in self.lessons:
            if (path := self.lesson_path(lesson)).exists():
                found[path] = sources.read_source(path)
            if (path := self.exercises_path(lesson)).exists():
                found[path] = sources.solution_notebook(path)
        return found


def answer_files(root: Path, folder: str) -> dict[str, list[Path]]:
    """The files of tests/`folder` ("mutants" or "variants") by the exercise, which is the name of the folder they are in."""
    found: dict[str, list[Path]] = {}
    for path in sorted((root / "tests" / folder).glob("*")):
        if path.name != "__pycache__" and not path.name.startswith("."):
            inside = [file for file in sorted(path.glob("*")) if file.name != "__pycache__"]
            found[path.name] = inside if path.is_dir() else []
    return found


def expected_kinds(mutant: str) -> list[str]:
    """The kinds for any of which a mutant must be refused, by the line `# expect: kinds` of its text; empty without one.

    >>> expected_kinds("# expect: tail, mismatch")
    ['tail', 'mismatch']
    """
    line = re.search(r"^# expect: (.+)$", mutant, re.MULTILINE)
    return [kind.strip() for kind in line[1].split(",")] if line else []


Rule = Callable[[Course], Iterator[str]]


def lessons_match_the_catalogue(course: Course) -> Iterator[str]:
    """The files of lessons/ are those of the catalogue, in its order, and open with its title and time.

    A lesson that is not written yet has no files.
    """
    listed = [lesson.name for lesson in course.lessons]
    stems = {path.stem.removesuffix(EXERCISES_SUFFIX) for path in (course.root / "lessons").glob("*.md")}
    if listed != sorted(listed) or len(set(listed)) != len(listed):
        yield f"catalogue: lessons must be numbered in their order, and are {', '.join(listed)}."
    for stem in sorted(stems - set(listed)):
        yield f"lessons/{stem}.md is not in the catalogue; add it to course_lib/catalog or move the file away."
    for lesson in course.lessons:
        path = course.lesson_path(lesson)
        if not lesson.written:
            if lesson.name in stems:
                yield f"lessons/{path.name} is there, but the catalogue says that it is not written; set `written=True`."
            continue
        if not path.exists():
            yield f"lessons/{path.name} is missing, but the catalogue has {lesson.name}; write it."
            continue
        text = path.read_text(encoding="utf-8")
        if f"\n# {lesson.title}\n" not in text:
            yield f"lessons/{path.name}: the heading is not `# {lesson.title}`, as in the catalogue."
        if not re.search(rf"\b{lesson.minutes} minutes\b", text):
            yield f"lessons/{path.name}: does not say that it takes {lesson.minutes} minutes, as in the catalogue."


def every_notebook_begins_with_the_first_cell(course: Course) -> Iterator[str]:
    """What stands in each built notebook's first code cell is what pyproject.toml gives, the same for all."""
    wanted = publishing.first_cell(publishing.read(course.root))
    for path in sorted(path for folder in BUILT for path in (course.root / folder).glob("*.ipynb")):
        first = next((cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"), None)
        if first != wanted:
            yield f"{path.relative_to(course.root)} does not begin with the cell of tools/publishing.py; run `make build`."


def items_are_asked_once(course: Course) -> Iterator[str]:
    """Each exercise has one solution and one check, and each quiz one call, in their lesson and in order."""
    for lesson in filter(lambda lesson: lesson.written, course.lessons):
        yield from _exercises_of(course, lesson)
        yield from _quizzes_of(course, lesson)
    known = {item.name for lesson in course.lessons for item in lesson.items}
    for path, notebook in course.notebooks.items():
        for name in sorted({name for _, name in verify.asked(notebook)} - known):
            yield f"lessons/{path.name} asks for {name!r}, which the catalogue does not have."


def exercises_can_be_taught_and_judged(course: Course) -> Iterator[str]:
    """Each exercise has hints, wrong answers that must be refused, and right ones that must pass."""
    for exercise in course.exercises:
        if len(exercise.hints) < HINTS:
            yield f"catalogue: {exercise.name} has {len(exercise.hints)} hints; it needs {HINTS}."
        for folder, least in (("mutants", MUTANTS), ("variants", VARIANTS)):
            files = answer_files(course.root, folder).get(exercise.name, [])
            if len(files) < least:
                yield f"tests/{folder}/{exercise.name} has {len(files)} files; it needs {least}."


def quizzes_agree_with_themselves(course: Course) -> Iterator[str]:
    """A quiz accepts the form of its own answer, and calls no right answer wrong."""
    for quiz in course.quizzes:
        expected = plain(quiz.expected())
        if not quiz.accepts(expected):
            yield f"catalogue: the quiz {quiz.name} does not accept the form of its answer, {expected!r}."
        if any(wrong.matches(expected) for wrong in quiz.wrong):
            yield f"catalogue: the quiz {quiz.name} calls its own answer, {expected!r}, wrong."
        if quiz.any_order and expected != sorted(expected):
            yield f"catalogue: the quiz {quiz.name} takes any order, so its answer, {expected!r}, must be in rising order."


def answers_kept_for_tests_are_in_order(course: Course) -> Iterator[str]:
    """tests/mutants and tests/variants hold one folder an exercise; each mutant says what is wrong and is expected."""
    known = {exercise.name for exercise in course.exercises}
    for folder in ("mutants", "variants"):
        for name, files in answer_files(course.root, folder).items():
            if name not in known:
                yield f"tests/{folder}/{name} belongs to no exercise; move it away."
            for path in files:
                where = path.relative_to(course.root)
                if path.suffix != ".py":
                    yield f"{where} is no Python file; move it away."
                elif folder == "mutants":
                    yield from (f"{where}: {fault}" for fault in _mutant_faults(path.read_text(encoding="utf-8")))


def ignored_outputs_have_a_reason(course: Course) -> Iterator[str]:
    """A cell whose output is not compared says why."""
    for path, notebook in course.notebooks.items():
        for place, cell in enumerate(notebook.cells):
            ignored = "nbval-ignore-output" in cell.metadata.get("tags", [])
            where = sources.locate(path, place)
            if ignored and not str(cell.metadata.get("reason", "")).strip():
                yield f"lessons/{where}: output is ignored without a reason; add `reason: …` under its tags."
            if "reason" in cell.metadata and not ignored:
                yield f"lessons/{where}: a reason for ignoring output, but no tag nbval-ignore-output."
            if re.search(r"^ *# *NBVAL_", cell.source, re.MULTILINE):
                yield f"lessons/{where}: a comment for nbval; use tags instead."


RULES: tuple[Rule, ...] = (
    lessons_match_the_catalogue,
    every_notebook_begins_with_the_first_cell,
    items_are_asked_once,
    exercises_can_be_taught_and_judged,
    quizzes_agree_with_themselves,
    answers_kept_for_tests_are_in_order,
    ignored_outputs_have_a_reason,
)


def lint(course: Course, run: bool) -> list[str]:
    """Every fault of the course; a course in which there is nothing to look at is one."""
    if not course.exercises or not course.notebooks:
        return ["There is nothing to lint: no exercise in the catalogue, or no lesson."]
    faults = [fault for rule in RULES for fault in rule(course)]
    if run:
        paths = [path for path in course.notebooks if path.stem.endswith(EXERCISES_SUFFIX)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            runs = [pool.submit(verify.faults, path) for path in paths]
            faults += [fault for future in runs for fault in future.result()]
    return faults


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.lint_course", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--no-run", action="store_true", help="do not run the blanks and the solutions")
    options = parser.parse_args(arguments)
    course = Course(ROOT, catalog.LESSONS)
    try:
        faults = lint(course, run=not options.no_run)
    except SourceError as error:
        faults = [str(error)]
    for fault in faults:
        print(fault)
    if not faults:
        counts = f"{len(course.lessons)} lessons, {len(course.exercises)} exercises, {len(course.quizzes)} quizzes"
        print(f"{counts}: in order.")
    return 1 if faults else 0


def _exercises_of(course: Course, lesson: Lesson) -> Iterator[str]:
    wanted = [item.name for item in lesson.items if isinstance(item, Exercise)]
    path = course.exercises_path(lesson)
    if path not in course.notebooks:
        if wanted:
            yield f"lessons/{path.name} is missing, but the catalogue has {', '.join(wanted)}; write it."
        return
    notebook = course.notebooks[path]
    solved = Counter(
        sources.answered_name(notebook, place)
        for place, cell in enumerate(notebook.cells)
        if cell.cell_type == "code" and sources.has_region(cell.source)
    )
    checked = [name for function, name in verify.asked(notebook) if function == "check"]
    for name in wanted:
        for count, what in ((solved[name], "solution cells"), (checked.count(name), "checks")):
            if count != 1:
                yield f"lessons/{path.name} has {count} {what} for {name}; it needs exactly one."
    known = [name for name in dict.fromkeys(checked) if name in wanted]
    if known != [name for name in wanted if name in known]:
        yield f"lessons/{path.name} checks {', '.join(known)}, which is not the catalogue's order."
    items = {item.name for item in lesson.items}
    for answered in solved:
        if answered not in items:
            yield f"lessons/{path.name} has a solution for {answered}, which is not in its lesson of the catalogue."


def _quizzes_of(course: Course, lesson: Lesson) -> Iterator[str]:
    paths = (course.lesson_path(lesson), course.exercises_path(lesson))
    asked = Counter(
        name
        for path in paths
        if path in course.notebooks
        for function, name in verify.asked(course.notebooks[path])
        if function == "quiz"
    )
    for item in lesson.items:
        if isinstance(item, Quiz) and asked[item.name] != 1:
            yield f"lessons/{lesson.name} asks the quiz {item.name} {asked[item.name]} times; it must be once."


def _mutant_faults(text: str) -> Iterator[str]:
    if not text.startswith('"""'):
        yield "does not begin with a docstring that says what is wrong."
    expected = expected_kinds(text)
    if not expected:
        yield "has no line `# expect: kind`, with a kind of course_lib.checking.findings.KINDS."
    for kind in expected:
        if kind not in KINDS:
            yield f"expects {kind!r}, which is no kind of course_lib.checking.findings.KINDS."


if __name__ == "__main__":
    sys.exit(main())
