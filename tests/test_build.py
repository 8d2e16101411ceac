"""The build: what a source turns into, that it does so every time alike, and how it refuses."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest

from tools import book, build, sources
from tools.lab import keep_python_version
from tools.sources import SourceError, fill_blanks

LESSON = """\
# Tiny

About 5 minutes.

```{code-cell} ipython3
print(object())
```

```{code-cell} ipython3
:tags: [raises-exception]
:name: breaks
raise ValueError("on purpose")
```
"""

EXERCISES = """\
# Exercises: Tiny

```{code-cell} ipython3
def two():
    n = 1
    ### BEGIN SOLUTION
    return n + 1
    ### END SOLUTION
```

```{code-cell} ipython3
check("two", two)
```
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "lessons").mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    (tmp_path / "lessons" / "01_tiny.md").write_text(LESSON)
    (tmp_path / "lessons" / "01_tiny.exercises.md").write_text(EXERCISES)
    return tmp_path


def write_exercises(root: Path, text: str) -> Path:
    path = root / "lessons" / "01_tiny.exercises.md"
    path.write_text(text)
    return path


def test_a_build_gives_the_same_bytes_every_time_and_is_then_in_step(root: Path) -> None:
    first = {path: path.read_bytes() for path in build.build(root)}
    again = {path: path.read_bytes() for path in build.build(root)}
    assert {path.parent.name for path in first} == {"notebooks", "exercises", "solutions"}
    assert first == again
    assert build.check(root) == []


def test_a_built_lesson_has_outputs_and_nothing_of_this_machine(root: Path) -> None:
    build.build(root)
    text = (root / "notebooks" / "01_tiny.ipynb").read_text()
    notebook = nbformat.reads(text, as_version=4)
    assert notebook.cells[2].outputs[0].text == "<object object at 0x…>\n"
    assert notebook.cells[3].outputs[0].evalue == "on purpose"
    assert [cell.id for cell in notebook.cells] == ["01-00", "setup", "01-01", "breaks"]
    assert "execution" not in notebook.cells[2].metadata
    assert "/tmp" not in text
    assert str(root) not in text


def test_exercise_and_solution_differ_only_in_the_region(root: Path) -> None:
    path = root / "lessons" / "01_tiny.exercises.md"
    exercise, solution = sources.exercise_notebook(path), sources.solution_notebook(path)
    assert exercise.cells[1].source == "def two():\n    n = 1\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    assert "### BEGIN SOLUTION\n    return n + 1\n    ### END SOLUTION" in solution.cells[1].source
    assert [cell.metadata for cell in exercise.cells] == [cell.metadata for cell in solution.cells]
    exercise.cells[1].source = solution.cells[1].source
    assert exercise == solution


def test_cells_carry_nbgraders_metadata(root: Path) -> None:
    cells = sources.exercise_notebook(root / "lessons" / "01_tiny.exercises.md").cells
    answer, judge = cells[1].metadata.nbgrader, cells[2].metadata.nbgrader
    common = {"schema_version": 3, "task": False}
    assert answer == common | {"grade_id": "two", "solution": True, "grade": False, "locked": False}
    assert judge == common | {
        "grade_id": "check-two",
        "solution": False,
        "grade": True,
        "points": 1,
        "locked": True,
    }


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def f():\n    ### BEGIN SOLUTION\n    return 1", "without '### END SOLUTION'"),
        ("def f():\n    return 1\n    ### END SOLUTION", "without '### BEGIN SOLUTION'"),
        ("def f():\n    ### BEGIN SOLUTION\n    ### BEGIN SOLUTION\n    return 1", "has not ended"),
        ("### BEGIN SOLUTION\nx = 1\n### END SOLUTION", "top level"),
        (
            "def f():\n    g(\n        ### BEGIN SOLUTION\n        1\n        ### END SOLUTION\n    )",
            "whole statements",
        ),
        ("def f():\n    # begin solution\n    return 1", "is not a marker"),
    ],
)
def test_a_region_that_cannot_be_blanked_is_refused(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fill_blanks(source)


def test_a_refusal_names_file_and_line(root: Path) -> None:
    path = write_exercises(root, EXERCISES.replace("    ### END SOLUTION\n", ""))
    with pytest.raises(SourceError, match=r"01_tiny\.exercises\.md:3: .*without '### END SOLUTION'"):
        sources.exercise_notebook(path)


def test_check_and_solution_in_one_cell_are_refused_as_nbgrader_could_not_lock_it(root: Path) -> None:
    merged = EXERCISES.replace('```\n\n```{code-cell} ipython3\ncheck("two"', '\ncheck("two"')
    with pytest.raises(SourceError, match="a cell of its own"):
        sources.solution_notebook(write_exercises(root, merged))


def test_an_unknown_cell_option_is_refused(root: Path) -> None:
    path = root / "lessons" / "01_tiny.md"
    path.write_text(LESSON.replace(":name: breaks", ":nmae: breaks"))
    with pytest.raises(SourceError, match="unknown cell option nmae"):
        sources.read_source(path)


def test_a_cell_to_be_hidden_is_folded_up_in_jupyterlab_and_in_the_book(root: Path) -> None:
    path = root / "lessons" / "01_tiny.md"
    path.write_text(LESSON.replace("[raises-exception]", "[hide-input, raises-exception]"))
    notebook = sources.read_source(path)
    code = [cell.metadata for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.get("jupyter") for cell in code] == [None, {"source_hidden": True}]
    page = book.as_html(notebook, "Tiny")
    assert page.count("<details") == 1 and page.index("object") < page.index("<details") < page.index("on purpose")


def test_a_lesson_that_raises_fails_the_build_and_names_the_line(root: Path) -> None:
    (root / "lessons" / "01_tiny.md").write_text(LESSON.replace(":tags: [raises-exception]\n", ""))
    with pytest.raises(SourceError, match=r"(?s)01_tiny\.md:9: a cell raised an error:.*ValueError: on purpose"):
        build.build(root)


def test_a_cell_that_should_raise_and_does_not_fails_the_build(root: Path) -> None:
    (root / "lessons" / "01_tiny.md").write_text(LESSON.replace("raise ValueError", "str"))
    with pytest.raises(SourceError, match="does not raise"):
        build.build(root)


def test_what_is_out_of_step_is_named_with_the_cure(root: Path) -> None:
    build.build(root)
    write_exercises(root, EXERCISES.replace("n = 1", "n = 3"))
    (root / "notebooks" / "mine.ipynb").write_text("{}")
    (root / "lessons" / "notes.txt").write_text("")
    (root / "solutions" / "01_tiny.ipynb").unlink()
    assert build.check(root) == [
        "exercises/01_tiny.ipynb is out of step: cell 2 (01-01) is not as in 01_tiny.exercises.md:3; run `make build`.",
        "solutions/01_tiny.ipynb is missing; run `make build`.",
        "lessons/notes.txt is not named NN_topic.md; rename it or move it away.",
        "notebooks/mine.ipynb has no source in lessons; rename it or move it away.",
    ]


def changed(root: Path, change: Callable[[nbformat.NotebookNode], object]) -> Path:
    """The built lesson after `change`, as JupyterLab or a person would have made it."""
    build.build(root)
    path = root / "notebooks" / "01_tiny.ipynb"
    notebook = nbformat.read(path, as_version=4)
    change(notebook)
    path.write_text(build.as_text(notebook))
    return path


CHANGES: dict[str, Callable[[nbformat.NotebookNode], object]] = {
    "outputs removed": lambda notebook: notebook.cells[2].outputs.clear(),
    "another output": lambda notebook: notebook.cells[2].outputs[0].update(text="something else"),
    "never run": lambda notebook: notebook.cells[2].update(execution_count=None),
    "an answered quiz": lambda notebook: notebook.cells[2].update(source="print(object(), 2)"),
}


@pytest.mark.parametrize("how", CHANGES)
def test_a_lesson_that_somebody_worked_in_is_told_from_a_built_one(root: Path, how: str) -> None:
    path = changed(root, CHANGES[how])
    assert not build.as_built(path)
    assert "notebooks/01_tiny.ipynb was run or changed after it was built; run `make build`." in build.check(root)
    build.build(root)
    assert build.as_built(path)


def test_another_version_of_python_is_no_change(root: Path) -> None:
    path = changed(root, lambda notebook: notebook.metadata.language_info.update(version="3.99.0"))
    assert build.as_built(path)
    assert build.check(root) == []


def test_nbval_leaves_out_a_lesson_that_somebody_worked_in_and_says_so(root: Path) -> None:
    changed(root, CHANGES["another output"])
    done = compare_outputs(root)
    assert done.returncode == 0, done.stdout
    assert "3 skipped" in done.stdout and "somebody has worked in this notebook" in done.stdout


@pytest.mark.parametrize("version", ["3.12.9", None])
def test_saving_keeps_the_python_version_of_the_file(root: Path, version: str | None) -> None:
    build.build(root)
    path = root / "exercises" / "01_tiny.ipynb"
    before = path.read_text()
    content = nbformat.reads(before, as_version=4)
    content.metadata.language_info.pop("version")
    if version:
        content.metadata.language_info.version = version
    keep_python_version(
        {"type": "notebook", "content": content}, "exercises/01_tiny.ipynb", SimpleNamespace(root_dir=str(root))
    )
    assert build.as_text(content) == before


def test_nothing_to_build_or_to_check_is_an_error(tmp_path: Path) -> None:
    for attempt in (build.build, build.check):
        with pytest.raises(SourceError, match="nothing to build"):
            attempt(tmp_path)


def test_a_learners_answer_is_not_overwritten(root: Path) -> None:
    build.build(root)
    path = root / "exercises" / "01_tiny.ipynb"
    solved = path.read_text().replace("raise NotImplementedError()", "return 2")
    path.write_text(solved)
    with pytest.raises(SourceError, match="holds an answer"):
        build.build(root)
    assert path.read_text() == solved
    build.build(root, overwrite=True)
    assert path.read_text() != solved


def test_only_the_lesson_asked_for_is_built(root: Path) -> None:
    (root / "lessons" / "02_more.md").write_text(LESSON)
    assert [path.name for path in build.build(root, ["02_more"])] == ["02_more.ipynb"]
    with pytest.raises(SourceError, match="no lesson is called 03_none; there are 01_tiny, 02_more"):
        build.build(root, ["03_none"])


def compare_outputs(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "conftest", "--nbval", "-p", "no:cacheprovider", "-c", "pyproject.toml"]
    return subprocess.run([*command, str(root / "notebooks")], cwd=build.ROOT, capture_output=True, text=True)


def test_nbval_accepts_what_the_build_stored(root: Path) -> None:
    """The build and nbval must run and clean notebooks alike."""
    build.build(root, ["01_tiny"])
    done = compare_outputs(root)
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout
