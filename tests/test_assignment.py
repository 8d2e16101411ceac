"""`course assignment`: what it writes and refuses to overwrite; and nbgrader itself, from the source to the feedback."""

from __future__ import annotations

import csv
import os
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat import NotebookNode
from typer.testing import CliRunner

from course_lib import assignment, catalog
from course_lib.__main__ import app

ROOT = Path(__file__).resolve().parents[1]
NAME = "03_programs_and_grids"


def graded_cells(notebook: NotebookNode) -> dict[str, NotebookNode]:
    return {c.metadata.nbgrader.grade_id: c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade")}


def test_every_lesson_with_exercises_becomes_a_source_with_the_catalogues_points(tmp_path: Path) -> None:
    lessons = [path.stem for path in sorted((ROOT / "solutions").glob("*.ipynb"))]
    assert lessons
    assignment.write(lessons, tmp_path)
    for name in lessons:
        source = nbformat.read(tmp_path / "source" / name / f"{name}.ipynb", as_version=4)
        nbformat.validate(source)
        asked = {cell_id.removeprefix("check-"): cell for cell_id, cell in graded_cells(source).items()}
        assert asked
        assert {item: cell.metadata.nbgrader.points for item, cell in asked.items()} == {
            item: catalog.find(item).points for item in asked
        }
        assert all(cell.metadata.nbgrader.locked and "assert report, report" in cell.source for cell in asked.values())
        plain = nbformat.read(tmp_path / "plain" / f"{name}.ipynb", as_version=4)
        assert any("raise NotImplementedError()" in cell.source for cell in plain.cells)
        assert not [c for n in (source, plain) for c in n.cells if c.cell_type == "markdown" and "](../" in c.source]


def test_nothing_is_overwritten_without_being_told(tmp_path: Path) -> None:
    assignment.write(["00"], tmp_path)
    mine = tmp_path / "source" / "00_start_here" / "00_start_here.ipynb"
    mine.write_text("my own")
    (tmp_path / "nbgrader_config.py").write_text("my own")
    with pytest.raises(assignment.CannotAssign, match=r"already.*00_start_here\.ipynb.*--force"):
        assignment.write(["04", "00"], tmp_path)
    assert mine.read_text() == "my own" and not (tmp_path / "source" / "04_loads_stores_masks").exists()
    assignment.write(["00"], tmp_path, force=True)
    assert graded_cells(nbformat.read(mine, as_version=4)) and (tmp_path / "nbgrader_config.py").read_text() == "my own"


def test_nothing_is_half_written(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file where a folder must be")
    with pytest.raises(assignment.CannotAssign, match="cannot be written"):
        assignment.write(["00", "04"], tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "plain"]


@pytest.mark.parametrize(
    ("lesson", "said"),
    [
        ("04_loads_store_mask", "Did you mean 04_loads_stores_masks"),
        ("77", "There are: 00_start_here"),
        ("16", "has no exercise notebook"),
    ],
)
def test_a_lesson_that_cannot_be_assigned_is_named(lesson: str, said: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["assignment", lesson, "--to", str(tmp_path / "class")])
    assert result.exit_code == 2 and said in result.output.replace("\n", " ") and not (tmp_path / "class").exists()


def test_an_installed_package_says_that_the_exercises_are_in_the_clone(tmp_path: Path) -> None:
    with pytest.raises(assignment.CannotAssign, match="clone"):
        assignment.write(["04"], tmp_path / "class", clone=tmp_path)


def nbgrader(folder: Path, *arguments: str) -> str:
    """Run a command of nbgrader's; what it says."""
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "HOME": str(folder)}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def hand_in(folder: Path, student: str, answers: dict[str, str]) -> None:
    """The released notebook as a student hands it in, with these cells for the blanks."""
    notebook = nbformat.read(folder / "release" / NAME / f"{NAME}.ipynb", as_version=4)
    for cell in notebook.cells:
        cell.source = answers.get(cell.metadata.get("nbgrader", {}).get("grade_id", ""), cell.source)
    handed_in = folder / "submitted" / student / NAME / f"{NAME}.ipynb"
    handed_in.parent.mkdir(parents=True)
    nbformat.write(notebook, handed_in)


def test_nbgrader_gives_each_answer_its_points_and_feedback_without_secrets(tmp_path: Path) -> None:
    pytest.importorskip("nbgrader", reason="nbgrader is not installed (the extra `teach`)")
    assignment.write([NAME], tmp_path)
    nbgrader(tmp_path, "generate_assignment", NAME)
    released = (tmp_path / "release" / NAME / f"{NAME}.ipynb").read_text()
    assert "for_feedback" not in released and "BEGIN SOLUTION" not in released and "raise NotImplementedError()" in released

    source = nbformat.read(tmp_path / "source" / NAME / f"{NAME}.ipynb", as_version=4)
    right = {c.metadata.nbgrader.grade_id: c.source for c in source.cells if c.metadata.get("nbgrader", {}).get("solution")}
    assert set(right) == {"program_ids", "vector_scale", "row_schedule"}
    hand_in(tmp_path, "solved", right)
    half = {"vector_scale": right["vector_scale"].replace("a * x", "a * x + 1"), "program_ids": right["program_ids"]}
    assert half["vector_scale"] != right["vector_scale"]
    hand_in(tmp_path, "half", half)
    hand_in(
        tmp_path, "broken", {"program_ids": "def program_ids(n:", "vector_scale": "raise SystemExit", "row_schedule": "1/0"}
    )
    said = nbgrader(tmp_path, "autograde", NAME)
    assert "Autograding" in said or "Converting" in said
    assert "cannot be converted" not in said, "a report that is a cell's value is taken for points"
    nbgrader(tmp_path, "generate_feedback", NAME)
    nbgrader(tmp_path, "export", "--to=grades.csv")

    with (tmp_path / "grades.csv").open() as file:
        scores = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in csv.DictReader(file)}
    assert scores == {"solved": (3, 3), "half": (1, 3), "broken": (0, 3)}
    pages = {student: (tmp_path / "feedback" / student / NAME / f"{NAME}.html").read_text() for student in scores}
    assert "vector_scale: not right yet" in pages["half"] and "row_schedule: not done yet" in pages["half"]
    for page in pages.values():
        text = re.sub(r"<[^>]+>", "", page)
        assert not re.search(r"seed=|--seed|expected -?[\d.]+|got -?[\d.]+", text)
        assert "The same inputs again" not in text
