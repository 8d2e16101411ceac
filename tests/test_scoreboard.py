"""tools/scoreboard.py on small folders, with a judge that reads its verdict out of the answer."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from course_lib.catalog.model import Exercise, Hint, Lesson
from course_lib.checking.findings import Finding, Report
from tools import scoreboard
from tools.lint_course import Course
from tools.scoreboard import BEGIN, END

DOUBLE = Exercise(
    name="double",
    lesson="00_tiny",
    signature="double(x)",
    statement="",
    reference=lambda x: 2 * x,
    make_inputs=lambda generator, n: (torch.ones(n),),
    cases=({"n": 1},),
    hints=(Hint("a"),),
)
README = f"# Course\n\n{BEGIN}\n{END}\n\nMore.\n"
ROWS = """\
| double | 2 | 2 | 2 | 2 | 2 | 0.5 |
| triple | 1 | 1 | 1 | 1 | 1 | 0.5 |
| **all** | 3 | 3 | 3 | 3 | 3 | 0.5 |
"""


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Course:
    files = {f"tests/mutants/double/m{i}.py": "# expect: tail, race\n# judged: race\n" for i in range(2)}
    files |= {f"tests/variants/double/v{i}.py": "# judged: passed\n" for i in range(2)}
    files |= {
        "tests/mutants/triple/m.py": "# expect: tail\n# judged: tail\n",
        "tests/variants/triple/v.py": "# judged: passed\n",
    }
    files["README.md"] = README
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(scoreboard, "check_file", judged)
    return Course(tmp_path, (Lesson("00_tiny", "Tiny", 5, (DOUBLE, replace(DOUBLE, name="triple"))),))


def judged(name: str, path: Path, seed: int) -> Report:
    assert "course-scoreboard-" in os.environ["COURSE_STATE_DIR"]
    assert path.parent.name == name
    verdict = path.read_text().rpartition("# judged: ")[2].strip()
    if verdict == "passed" or (verdict == "passed with 7" and seed == 7):
        return Report(name, True, seconds=0.5)
    kind = "tail" if verdict == "passed with 7" else verdict
    return Report(name, False, (Finding(kind, ""),), judged=kind != "no_verdict")


def test_the_table_holds_the_counts_of_the_run_and_what_was_around_it_stays(course: Course) -> None:
    state = os.environ.get("COURSE_STATE_DIR")
    assert scoreboard.main([], course) == 0
    text = (course.root / "README.md").read_text()
    assert text.startswith(f"# Course\n\n{BEGIN}\n| exercise | mutants |") and text.endswith(f"{END}\n\nMore.\n")
    assert ROWS in text
    assert "seed 0" in text and "Triton" in text
    assert os.environ.get("COURSE_STATE_DIR") == state
    assert scoreboard.main([], course) == 0
    assert (course.root / "README.md").read_text() == text
    assert scoreboard.main(["--check"], course) == 0


@pytest.mark.parametrize(
    ("file", "verdict", "said"),
    [
        ("mutants/double/m0.py", "passed", "is accepted (seed 0)"),
        ("mutants/double/m0.py", "unwritten", "is refused as unwritten, not as tail or race (seed 0)"),
        ("mutants/double/m0.py", "no_verdict", "is not judged (seed 0)"),
        ("variants/double/v0.py", "tail", "is refused as tail (seed 0)"),
        ("variants/double/v0.py", "no_verdict", "is not judged (seed 0)"),
    ],
)
def test_a_wrong_verdict_is_named_and_not_written_down(
    course: Course, capsys: pytest.CaptureFixture[str], file: str, verdict: str, said: str
) -> None:
    path = course.root / "tests" / file
    path.write_text(f"{path.read_text().partition('# judged')[0]}# judged: {verdict}\n")
    assert scoreboard.main([], course) == 1
    assert f"tests/{file} {said}" in capsys.readouterr().out
    assert (course.root / "README.md").read_text() == README


def test_the_check_finds_answers_that_came_and_went(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert scoreboard.main(["--check"], course) == 1  # no table yet
    assert scoreboard.main([], course) == 0
    (course.root / "tests/mutants/triple/m.py").unlink()
    capsys.readouterr()
    assert scoreboard.main(["--check"], course) == 1
    out = capsys.readouterr().out
    assert "README.md says 1 | 1 | 1 | 1 | 1 for triple, and the files say 0 | 0 | 0 | 1 | 1. Run `make scoreboard`." in out
    assert "double" not in out


def test_the_check_finds_an_exercise_that_is_no_more(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    assert scoreboard.main([], course) == 0
    fewer = Course(course.root, (replace(course.lessons[0], items=(DOUBLE,)),))
    assert scoreboard.main(["--check"], fewer) == 1
    assert "README.md says 1 | 1 | 1 | 1 | 1 for triple, and the files say nothing" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", f"{BEGIN}\n", f"{END}\n{BEGIN}\n", f"{README}{README}"])
def test_without_its_markers_it_says_so_before_it_judges(
    course: Course, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    (course.root / "README.md").write_text(text)
    monkeypatch.setattr(scoreboard, "check_file", None)
    for arguments in ([], ["--check"]):
        assert scoreboard.main(arguments, course) == 1
        assert f"needs the lines {BEGIN} and {END}" in capsys.readouterr().out


def test_many_seeds_and_single_exercises_leave_the_readme_alone(
    course: Course, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mutant = course.root / "tests/mutants/triple/m.py"
    mutant.write_text("# expect: tail\n# judged: passed with 7\n")
    assert scoreboard.main(["triple", "--seed", "7"], course) == 1
    assert scoreboard.main(["double"], course) == 0
    monkeypatch.setattr(scoreboard.random.SystemRandom, "sample", lambda self, population, k: [7, 3][:k])
    capsys.readouterr()
    assert scoreboard.main(["--seeds", "2"], course) == 1
    out = capsys.readouterr().out
    assert "Seeds: 3, 7" in out
    assert "double: 2 mutants and 2 right variants, 2 seeds: 0 wrong verdicts" in out
    assert "tests/mutants/triple/m.py is accepted (seed 7)" in out
    assert (course.root / "README.md").read_text() == README


def test_an_unknown_exercise_is_an_error(course: Course) -> None:
    with pytest.raises(SystemExit):
        scoreboard.main(["tripple"], course)
