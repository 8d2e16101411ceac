"""The small file that remembers what a learner has solved: read, changed and written safely, or kept in memory.

Two kernels may write at once (a lock and an atomic rename), a damaged file is set aside, and where nothing can be
written the course goes on with one plain note. Not here: what the entries mean (`progress.py`).

    <user state folder>/from-warps-to-tiles/progress.json, or $COURSE_STATE_DIR/progress.json
    {"schema": 1, "exercises": {"reverse": {"solved": true, "first_solved": "2026-11-30", "attempts": 3, "hints": 1}}}
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from course_lib.files import write_whole

SCHEMA = 1
LOCK_SECONDS = 5.0


@dataclass(frozen=True)
class Entry:
    """What is remembered about one exercise or quiz. `first_solved` is a date like "2026-11-30"."""

    solved: bool = False
    first_solved: str | None = None
    attempts: int = 0
    hints: int = 0


State = dict[str, Entry]


class StateNote(UserWarning):
    """Something about the progress file that the learner should know; the course goes on."""


class _Damaged(ValueError):
    """The file's content is not what this course writes."""


class _Newer(ValueError):
    """The file was written by a later version of this course, whose entries must not be lost."""


def state_file() -> Path:
    """Where progress is kept: in COURSE_STATE_DIR if that is set, else in the user's state folder."""
    if chosen := os.environ.get("COURSE_STATE_DIR"):
        return Path(chosen) / "progress.json"
    import platformdirs

    return Path(platformdirs.user_state_dir("from-warps-to-tiles", appauthor=False)) / "progress.json"


def load() -> State:
    """Everything that is remembered; empty at first. A damaged file is set aside. Never raises for a bad file."""
    return _change(lambda state: state)[1]


def update(name: str, change: Callable[[Entry], Entry]) -> tuple[Entry, Entry]:
    """Change one entry, and return it as it was before and as it is now."""
    before, after = _change(lambda state: {**state, name: change(state.get(name, Entry()))})
    return before.get(name, Entry()), after[name]


def reset() -> None:
    """Forget everything."""
    _change(lambda state: {})


def _change(change: Callable[[State], State]) -> tuple[State, State]:
    path = state_file()
    memory = _memory(path)
    try:
        with _locked(path):
            before = _merged(_read_or_set_aside(path), memory)
            after = change(before)
            if after != before or memory:
                _write(path, after)
            memory.clear()
            return before, after
    except (OSError, _Newer) as error:
        _note_once(f"Progress is kept only until this Python ends: {path} cannot be used ({_reason(error)}).")
        before = _merged(_readable(path), memory)
        after = change(before)
        memory.clear()
        memory.update(after)
        return before, after


@functools.cache
def _memory(path: Path) -> State:
    """What could not be written to `path`; the one dictionary of this process that outlives a call."""
    return {}


@functools.cache
def _note_once(message: str) -> None:
    warnings.warn(message, StateNote, stacklevel=2)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    import filelock

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except NotImplementedError:  # a file system without locks: the rename is still atomic
        yield
        return
    try:
        yield
    finally:
        lock.release()


def _read(path: Path) -> State:
    try:
        text = path.read_bytes().decode("utf-8")
        return parse(json.loads(text))
    except FileNotFoundError:
        return {}
    except IsADirectoryError as error:
        raise _Damaged("it is a folder") from error
    except _Newer:
        raise
    except (ValueError, RecursionError) as error:
        raise _Damaged(str(error)) from error


def parse(content: Any) -> State:
    """Check what was read from the file, and turn it into entries.

    >>> parse({"schema": 1, "exercises": {"double": {"solved": True, "first_solved": "2026-11-30"}}})
    {'double': Entry(solved=True, first_solved='2026-11-30', attempts=0, hints=0)}
    """
    if not isinstance(content, dict) or not isinstance(content.get("schema"), int):
        raise _Damaged("it has no schema number")
    if content["schema"] > SCHEMA:
        raise _Newer("a later version of this course wrote it; update this one")
    exercises = content.get("exercises")
    if not isinstance(exercises, dict):
        raise _Damaged("it has no exercises")
    return {name: _entry(name, value) for name, value in exercises.items()}


def _entry(name: str, value: Any) -> Entry:
    kinds: dict[str, Any] = {"solved": bool, "first_solved": (str, type(None)), "attempts": int, "hints": int}
    if not isinstance(value, dict) or any(key in value and not isinstance(value[key], kinds[key]) for key in kinds):
        raise _Damaged(f"its entry for {name!r} makes no sense")
    return Entry(**{key: value[key] for key in kinds if key in value})


def _read_or_set_aside(path: Path) -> State:
    try:
        return _read(path)
    except _Damaged as error:
        aside = path.with_name(path.name + ".damaged")
        number = 2
        while aside.exists():
            aside, number = path.with_name(f"{path.name}.damaged-{number}"), number + 1
        path.rename(aside)
        _note_once(f"The progress file was damaged ({error}); it is now {aside}, and progress starts afresh.")
        return {}


def _readable(path: Path) -> State:
    try:
        return _read(path)
    except (OSError, ValueError):
        return {}


def _merged(one: State, other: State) -> State:
    return {name: _merged_entry(one.get(name, Entry()), other.get(name, Entry())) for name in {**one, **other}}


def _merged_entry(one: Entry, other: Entry) -> Entry:
    dates = [date for date in (one.first_solved, other.first_solved) if date]
    return Entry(
        solved=one.solved or other.solved,
        first_solved=min(dates, default=None),
        attempts=max(one.attempts, other.attempts),
        hints=max(one.hints, other.hints),
    )


def _write(path: Path, state: State) -> None:
    content = {"schema": SCHEMA, "exercises": {name: asdict(entry) for name, entry in sorted(state.items())}}
    write_whole(path, json.dumps(content, indent=1).encode())


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
