"""The `course` command: exit codes, messages without tracebacks, JSON."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import nbformat
import pytest
from typer.testing import CliRunner, Result

from course_lib.__main__ import app
from course_lib.doctor import facts as facts_module
from course_lib.doctor import trial
from course_lib.doctor.facts import Facts

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))


def course(*arguments: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, arguments, input=stdin)


@pytest.fixture
def verdict(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A checker that finds what the test puts into this dictionary, and notes what it was asked."""
    said: dict[str, Any] = {"passed": True, "judged": True}

    class FakeReport(SimpleNamespace):
        def __repr__(self) -> str:
            return f"the report [bold]on[/bold] {self.name}"

    def check_file(name: str, path: Path, seed: int | None) -> FakeReport:
        said["asked"] = (name, path, seed)
        if "raises" in said:
            raise said["raises"]
        return FakeReport(name=name, passed=said["passed"], judged=said["judged"])

    def as_json(report: FakeReport) -> dict[str, Any]:
        return {"name": report.name, "passed": report.passed}

    for module, function in (("check", check_file), ("report", as_json)):
        fake = ModuleType(f"course_lib.checking.{module}")
        setattr(fake, function.__name__, function)
        monkeypatch.setitem(sys.modules, fake.__name__, fake)
    return said


@pytest.fixture
def answer(tmp_path: Path) -> Path:
    path = tmp_path / "answer.py"
    path.write_text("def double(x): return x")
    return path


# --- check ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passed", "judged", "code"),
    [(True, True, 0), (False, True, 1), (False, False, 2)],
    ids=["passed", "failed", "no verdict"],
)
def test_the_exit_code_is_the_verdict(verdict: dict[str, Any], answer: Path, passed: bool, judged: bool, code: int) -> None:
    verdict.update(passed=passed, judged=judged)
    result = course("check", "double", str(answer))
    assert result.exit_code == code
    assert result.stdout == "the report [bold]on[/bold] double\n"


def test_name_file_and_seed_reach_the_checker(verdict: dict[str, Any], answer: Path) -> None:
    course("check", "double", str(answer), "--seed", "7")
    assert verdict["asked"] == ("double", answer, 7)


def test_json_is_all_that_standard_output_gets(verdict: dict[str, Any], answer: Path) -> None:
    result = course("check", "double", str(answer), "--json")
    assert json.loads(result.stdout) == {"name": "double", "passed": True}


def test_a_fault_of_the_checker_is_no_verdict(verdict: dict[str, Any], answer: Path) -> None:
    verdict["raises"] = KeyError("inside")
    result = course("check", "double", str(answer))
    assert result.exit_code == 2
    assert "The checker itself failed" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "dubble", "answer.py"), "Did you mean 'double'?"),
        (("check", "double", "no-such-file.py"), "no-such-file.py does not exist"),
        (("check", "double", "."), "is a folder"),
        (("check", "double"), "Missing argument"),
        (("check", "double", "x.py", "--seed", "many"), "--seed"),
        (("hint", "dubble"), "Did you mean 'double'?"),
        (("chek",), "check"),
    ],
)
def test_bad_usage_ends_with_2_and_a_message(verdict: dict[str, Any], arguments: tuple[str, ...], message: str) -> None:
    result = course(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.output
    assert "asked" not in verdict


def test_exchanged_arguments_are_told_as_such() -> None:
    done = course("check", "../ans.py", "double")
    assert done.exit_code == 2
    assert "course check double ../ans.py" in done.output


def test_a_file_without_the_function_says_what_it_has(tmp_path: Path) -> None:
    path = tmp_path / "typo.py"
    path.write_text("def duble(x): return x")
    done = course("check", "double", str(path))
    assert done.exit_code == 1
    assert "does not define a function called `double`" in done.output and "`duble`" in done.output


def test_bad_usage_is_json_too_where_json_was_asked_for() -> None:
    result = course("check", "dubble", "answer.py", "--json")
    assert result.exit_code == 2
    assert "Did you mean" in json.loads(result.stdout)["error"]


# --- hint and progress ----------------------------------------------------------------------------------------------


def test_hint_prints_the_next_one_each_time() -> None:
    assert course("hint", "double").stdout.startswith("Hint 1 of ")
    assert course("hint", "double").stdout.startswith("Hint 2 of ")


def test_progress_shows_what_is_solved() -> None:
    from course_lib.progress import record

    record("double", True)
    shown = course("progress").stdout
    assert "Solved: 1 of" in shown
    assert "✓ double" in shown


def test_reset_asks_first() -> None:
    from course_lib.progress import progress, record

    record("double", True)
    assert course("progress", "--reset", stdin="n\n").exit_code != 0
    assert progress().solved == 1
    assert course("progress", "--reset", stdin="y\n").exit_code == 0
    assert progress().solved == 0


# --- doctor ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, Facts]:
    """The machine that the doctor sees, healthy unless the test puts another here."""
    seen = {"facts": Facts()}

    def gather(asked: Any, before: Any, trials: Any = None) -> Facts:
        return replace(seen["facts"], trials=trials or {})

    monkeypatch.setattr(facts_module, "gather", gather)
    monkeypatch.setattr(trial, "make_trials", lambda which: dict.fromkeys(which))
    return seen


def test_a_healthy_machine_ends_with_0(machine: dict[str, Facts]) -> None:
    result = course("doctor")
    assert result.exit_code == 0
    assert "No problems found." in result.stdout
    assert "tried just now" in result.stdout


def test_a_machine_that_cannot_run_lessons_ends_with_1_and_the_cure(machine: dict[str, Facts]) -> None:
    machine["facts"] = Facts(versions={**Facts().versions, "triton": "3.6.0", "numpy": "2.4.0"})
    result = course("doctor")
    assert result.exit_code == 1
    assert "pip install 'numpy<2.4'" in result.stdout
    assert "Lessons cannot run yet." in result.stdout


def test_without_a_gpu_the_doctor_says_why_triton_may_find_no_driver(machine: dict[str, Facts]) -> None:
    machine["facts"] = Facts()
    told = course("doctor").output
    assert "0 active drivers ([])" in told and "above triton" in told


def test_a_limit_does_not_stop_lessons(machine: dict[str, Facts]) -> None:
    machine["facts"] = Facts(compiler=None, cache_error="/home: Read-only file system")
    result = course("doctor")
    assert result.exit_code == 0
    assert "TRITON_CACHE_DIR" in result.stdout
    assert "C compiler" in result.stdout


def test_no_trial_is_made_without_torch(machine: dict[str, Facts], monkeypatch: pytest.MonkeyPatch) -> None:
    machine["facts"] = Facts(versions={**Facts().versions, "torch": None})
    result = course("doctor")
    assert result.exit_code == 1
    assert "tried just now" not in result.stdout


def test_the_doctor_works_where_torch_and_triton_cannot_be_imported() -> None:
    """It is called just then, so it must not need them itself."""
    code = (
        "import sys; sys.modules['torch'] = sys.modules['triton'] = None\n"
        "from course_lib.doctor import trial; trial.make_trials = lambda which: {'run': 'ImportError: no torch'}\n"
        "from course_lib.__main__ import main; sys.argv = ['course', 'doctor']; main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (1, "")
    assert "ImportError: no torch" in done.stdout


def test_a_missing_package_is_named_with_the_next_command() -> None:
    code = "import sys; sys.modules['torch'] = None; sys.argv = ['course', 'hint', 'double']\n"
    code += "from course_lib.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr == "torch is not installed. Next: course doctor\n"


def test_notes_are_plain_lines_on_standard_error(tmp_path: Path) -> None:
    (tmp_path / "in_the_way").write_text("")
    environment = {**os.environ, "COURSE_STATE_DIR": str(tmp_path / "in_the_way")}
    command = [sys.executable, "-m", "course_lib", "hint", "double"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0
    assert done.stdout.startswith("Hint 1")
    assert done.stderr.startswith("note: Progress is kept only until this Python ends")
    assert len(done.stderr.splitlines()) == 1


# --- the whole way --------------------------------------------------------------------------------------------------

RIGHT = """
import torch, triton, triton.language as tl

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)

def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK_SIZE=64)
    return out
"""


@pytest.mark.parametrize(("change", "code"), [(("", ""), 0), (("2 *", "3 *"), 1)], ids=["right", "wrong"])
def test_a_file_is_judged_and_the_attempt_remembered(answer: Path, change: tuple[str, str], code: int) -> None:
    from course_lib.state import load

    answer.write_text(RIGHT.replace(*change) if change[0] else RIGHT)
    result = course("check", "double", str(answer), "--json")
    assert (result.exit_code, json.loads(result.stdout)["passed"]) == (code, code == 0)
    assert (load()["double"].attempts, load()["double"].solved) == (1, code == 0)


def test_a_notebook_is_judged_as_if_it_had_been_run(tmp_path: Path) -> None:
    cells = [RIGHT.replace("2 *", "3 *"), "check('double', double)\nraise SystemExit", "%matplotlib inline\n" + RIGHT]
    path = tmp_path / "my answers.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells]), path)
    assert course("check", "double", str(path)).exit_code == 0
    nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in reversed(cells)]), path)
    result = course("check", "double", str(path), "--seed", "7")
    assert result.exit_code == 1
    assert "my answers.ipynb, code cell 3, line 8:  tl.store(" in result.stdout
    assert f"The same inputs again: `course check double '{path}' --seed 7`" in result.stdout


def test_what_a_library_says_of_itself_is_not_taken_for_the_answer_s(answer: Path) -> None:
    says = (
        "import warnings\nwarnings.warn('mine')\nwarnings.warn_explicit('old', UserWarning, 'x.py', 1, 'triton.language.core')"
    )
    answer.write_text(says + RIGHT.replace("2 *", "3 *"))
    printed = course("check", "double", str(answer)).stdout.partition("What it printed")[2]
    assert "UserWarning: mine" in printed
    assert "old" not in printed
