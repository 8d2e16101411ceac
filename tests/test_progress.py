"""Progress is kept, survives restarts and bad files, and shows itself."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from course_lib import catalog, state
from course_lib.checking.check import check_file
from course_lib.progress import hint, progress, record, table
from course_lib.state import Entry, StateNote, load

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The progress file of this test, in a folder of its own that is not there yet."""
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))
    state._note_once.cache_clear()
    return tmp_path / "state" / "progress.json"


def noted(action: Callable[[], Any]) -> str:
    """The one note that an action gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    (note,) = [str(warning.message) for warning in caught if issubclass(warning.category, StateNote)]
    return note


# --- keeping --------------------------------------------------------------------------------------------------------


def test_an_attempt_is_counted_and_a_solution_stays_solved() -> None:
    record("vector_add", False)
    assert load()["vector_add"] == Entry(solved=False, first_solved=None, attempts=1)
    record("vector_add", True)
    solved = load()["vector_add"]
    assert (solved.solved, solved.attempts) == (True, 2)
    assert solved.first_solved is not None
    record("vector_add", False)
    assert load()["vector_add"] == Entry(solved=True, first_solved=solved.first_solved, attempts=3)


WRONG = "import torch\n\ndef double(x):\n    return 2 * x\n"


def test_a_failing_replay_is_no_attempt_and_a_passing_one_counts(tmp_path: Path) -> None:
    wrong, right = tmp_path / "wrong.py", ROOT / "tests" / "variants" / "double"
    wrong.write_text(WRONG)
    assert not check_file("double", wrong, seed=0).passed
    assert load() == {}
    assert not check_file("double", wrong).passed
    assert load()["double"].attempts == 1
    assert check_file("double", next(right.glob("*.py")), seed=0).passed
    assert load()["double"].solved


def test_the_date_is_that_of_the_first_solution(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import course_lib  # noqa: F401

    module = sys.modules["course_lib.progress"]
    monkeypatch.setattr(module, "_today", lambda: "2026-01-01")
    record("double", True)
    monkeypatch.setattr(module, "_today", lambda: "2026-02-02")
    record("double", True)
    assert json.loads(file.read_text())["exercises"]["double"]["first_solved"] == "2026-01-01"


def test_progress_survives_a_restart() -> None:
    code = "from course_lib.progress import record; record('double', True)"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert load()["double"].solved


def test_two_kernels_that_write_at_once_lose_nothing() -> None:
    code = "import sys; from course_lib.progress import record\n"
    code += "for _ in range(25): record(sys.argv[1], False); record('both', False)"
    running = [subprocess.Popen([sys.executable, "-c", code, name], cwd=ROOT) for name in ("one", "two", "three")]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    assert {name: entry.attempts for name, entry in load().items()} == {"one": 25, "two": 25, "three": 25, "both": 75}


def test_a_write_that_fails_halfway_leaves_the_old_file(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record("double", True)
    before = file.read_text()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert "No space left" in noted(lambda: record("reverse", True))
    monkeypatch.undo()
    assert file.read_text() == before
    assert sorted(path.name for path in file.parent.iterdir()) == ["progress.json", "progress.lock"]


def test_the_users_state_folder_is_used_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COURSE_STATE_DIR")
    assert state.state_file().parts[-2:] == ("from-warps-to-tiles", "progress.json")


# --- bad files ------------------------------------------------------------------------------------------------------

DAMAGED = {
    "empty": b"",
    "cut off": b'{"schema": 1, "exercises": {"dou',
    "not text": b"\xff\xfe\x00\x01",
    "another JSON": b"[1, 2]",
    "no schema": b'{"exercises": {}}',
    "no exercises": b'{"schema": 1}',
    "an entry of another type": b'{"schema": 1, "exercises": {"double": true}}',
    "a field of another type": b'{"schema": 1, "exercises": {"double": {"attempts": "3"}}}',
    "nested without end": b"[" * 100_000,
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_a_damaged_file_is_set_aside_with_a_note_and_progress_goes_on(file: Path, kind: str) -> None:
    file.parent.mkdir()
    file.write_bytes(DAMAGED[kind])
    note = noted(lambda: record("double", True))
    assert "damaged" in note
    assert load()["double"].solved
    assert (file.parent / "progress.json.damaged").read_bytes() == DAMAGED[kind]


def test_a_second_damaged_file_does_not_replace_the_first(file: Path) -> None:
    file.parent.mkdir()
    for content in ("first", "second"):
        file.write_text(content)
        noted(load)
    names = sorted(path.name for path in file.parent.iterdir() if "damaged" in path.name)
    assert names == ["progress.json.damaged", "progress.json.damaged-2"]


def test_a_folder_in_place_of_the_file_is_set_aside(file: Path) -> None:
    file.mkdir(parents=True)
    noted(lambda: record("double", True))
    assert load()["double"].solved


def test_unknown_fields_and_names_of_other_versions_are_no_damage(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"schema": 1, "exercises": {"gone": {"solved": true, "colour": "red"}}}')
    assert load() == {"gone": Entry(solved=True)}
    assert progress().solved == 0


def test_a_file_of_a_later_version_is_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"schema": 99, "exercises": "elsewhere"}')
    assert "later version" in noted(lambda: record("double", True))
    assert file.read_text() == '{"schema": 99, "exercises": "elsewhere"}'


def test_where_nothing_can_be_written_progress_is_kept_in_memory_with_one_note(file: Path) -> None:
    file.parent.write_text("a file where the folder should be")

    def several() -> None:
        record("double", True)
        record("double", False)
        hint("double")

    assert "only until this Python ends" in noted(several)
    assert load()["double"].attempts == 2
    assert progress().solved == 1
    assert hint("double").startswith("Hint 2")


def test_memory_reaches_the_file_once_it_can_be_written(file: Path) -> None:
    file.parent.write_text("in the way")
    noted(lambda: record("double", True))
    file.parent.unlink()
    record("reverse", True)
    assert json.loads(file.read_text())["exercises"].keys() == {"double", "reverse"}
    file.unlink()
    assert load() == {}  # what the file has taken over is not kept twice


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may read and write everything")
def test_an_unreadable_file_is_left_alone(file: Path) -> None:
    file.parent.mkdir()
    file.write_text('{"schema": 1, "exercises": {}}')
    file.chmod(0)
    assert "Permission denied" in noted(lambda: record("double", True))
    assert file.exists()


def test_an_unreadable_file_is_left_alone_simulated(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record("reverse", True)

    def denied(self: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", denied)
        assert "Permission denied" in noted(lambda: record("double", True))
    assert load().keys() == {"reverse", "double"}


def test_a_lock_that_is_never_released_does_not_stop_the_course(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import filelock

    monkeypatch.setattr(state, "LOCK_SECONDS", 0.05)
    file.parent.mkdir()
    with filelock.FileLock(file.with_suffix(".lock")):
        assert "only until this Python ends" in noted(lambda: record("double", True))


# --- hints ----------------------------------------------------------------------------------------------------------


def test_hints_come_one_after_another_and_then_all_again() -> None:
    texts = [step.text for step in catalog.find("double").hints if step.asked]
    for number, text in enumerate(texts, 1):
        assert hint("double") == f"Hint {number} of {len(texts)} for `double`: {text}"
    for _ in range(2):
        last = hint("double")
        assert "the last hint" in last
        assert "solutions/00_start_here.ipynb" in last
        assert all(text in last for text in texts)
    assert load()["double"].hints == len(texts)


def test_where_nothing_is_solved_for_you_no_hint_says_so() -> None:
    for _ in range(4):
        last = hint("block_or_threads")
    assert "the last hint" in last
    assert "solutions/" not in last


WRITTEN = [item for lesson in catalog.LESSONS if lesson.written for item in lesson.items if item.kind == "exercise"]


LAST_STEP = dict.fromkeys(
    "double program_ids vector_scale vector_add copy_rows reverse diagonal row_softmax row_log_softmax".split(), "tl.store"
) | {"warp_max": "run_block", "block_sum": "run_block", "vectorised_copy": "tl.store"}
"""What the last hint of an exercise must show: it is nearly the answer."""


@pytest.mark.parametrize("exercise", WRITTEN, ids=lambda exercise: exercise.name)
def test_hints_run_to_nearly_the_answer_and_leave_out_what_is_given(exercise: catalog.Exercise) -> None:
    asked = [step.text for step in exercise.hints if step.asked]
    assert len(asked) >= 3
    assert exercise.name not in LAST_STEP or LAST_STEP[exercise.name] in asked[-1]
    assert len(set(asked)) == len(asked)
    given = {"double": "empty_like", "vector_scale": "empty_like", "program_ids": "torch.empty"}.get(exercise.name)
    assert given is None or not any(given in text for text in asked)


def test_hints_and_attempts_do_not_disturb_each_other() -> None:
    hint("double")
    record("double", True)
    hint("double")
    assert (load()["double"].hints, load()["double"].attempts, load()["double"].solved) == (2, 1, True)


def test_a_hint_prints_without_quotation_marks_and_as_markdown() -> None:
    given = hint("double")
    assert isinstance(given, str)
    assert repr(given) == str(given) == given._repr_markdown_()  # type: ignore[attr-defined]


def test_an_unknown_name_lists_the_nearest_and_is_not_remembered(file: Path) -> None:
    with pytest.raises(LookupError, match="vector_add"):
        hint("vector_ad")
    assert not file.exists()


# --- the table ------------------------------------------------------------------------------------------------------

LESSON: Any = SimpleNamespace(
    name="04_x",
    title="Loads & stores",
    written=True,
    items=(SimpleNamespace(name="a", kind="exercise"), SimpleNamespace(name="<b>", kind="quiz")),
)


def test_the_table_counts_and_marks() -> None:
    shown = table([LESSON], {"a": Entry(solved=True, attempts=2), "<b>": Entry(hints=1)})
    assert repr(shown).splitlines() == [
        "Solved: 1 of 2 (✓ solved, · not yet)",
        "04_x: Loads & stores (exercises 1 of 1, quizzes 0 of 1)",
        "  ✓ a (2 attempts)",
        "  · <b> (quiz, 1 hint)",
    ]


def test_the_table_in_a_notebook_says_the_same_and_is_escaped() -> None:
    html = table([LESSON], {"a": Entry(solved=True)})._repr_html_()
    assert "Solved: 1 of 2" in html and '<th style="text-align: left">✓ solved, · not yet</th>' in html
    assert "✓ a" in html
    assert "&lt;b&gt;" in html
    assert "<b>b" not in html


def test_the_table_has_every_lesson_of_the_course_that_is_written() -> None:
    shown = progress()
    written = [lesson for lesson in catalog.LESSONS if lesson.written]
    assert [lesson.name for lesson in shown.lessons] == [lesson.name for lesson in written]
    assert shown.total == sum(len(lesson.items) for lesson in written) > 0


def test_a_lesson_that_is_not_written_appears_once_something_of_it_is_solved() -> None:
    unwritten = SimpleNamespace(**(vars(LESSON) | {"written": False}))
    assert table([unwritten], {"a": Entry(attempts=1)}).lessons == ()
    assert table([unwritten], {"a": Entry(solved=True)}).summary == "Solved: 1 of 2"


def test_the_last_hint_names_no_solution_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    lessons = tuple(replace(lesson, written=False) for lesson in catalog.LESSONS)
    monkeypatch.setattr(catalog, "LESSONS", lessons)
    for _ in catalog.find("double").hints:
        hint("double")
    assert "solutions/" not in hint("double")


def test_reset_forgets_everything() -> None:
    record("double", True)
    state.reset()
    assert load() == {}
