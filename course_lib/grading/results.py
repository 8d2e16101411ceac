"""The folder of results: what is written there, and what a run that was cut short finds there when it goes on.

    run.json              the seed, drawn once, and what is graded how; only its owner can read it
    records/*.json        one record a submission (data/grade.schema.json)
    feedback/*.html       one page a student
    gradebook.csv, mistakes.png
    .gitignore            keeps all this out of a repository of Git's

Every file is written beside its place and then renamed, so that there is none by halves.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import secrets
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import filelock

from course_lib.errors import PlainError
from course_lib.files import BEING_WRITTEN, write_whole
from course_lib.grading.options import Options
from course_lib.grading.part import Part
from course_lib.grading.tasks import Task

SEED_BITS = 48
PATIENCE = 60.0
"""Seconds that a job which judges a part waits for others that begin at the same time."""


class CannotKeep(PlainError):
    """Results cannot be kept in this folder; the message says why."""


@dataclass(frozen=True)
class Results:
    """A folder of results, and the seed of its run."""

    folder: Path
    seed: int

    def record_of(self, task: Task) -> dict[str, Any] | None:
        """The record of just this task, if it has been judged; one that could not be judged counts as not there."""
        try:
            record = json.loads(self._path(task.submission).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        same = isinstance(record, dict) and record.get("digest") == task.digest
        return record if same and all(result["status"] != "not judged" for result in record["results"]) else None

    def save(self, record: dict[str, Any]) -> None:
        """Keep a record in place of an earlier one of the same submission."""
        _write(self._path(record["submission"]), json.dumps(record, indent=1, ensure_ascii=False))

    def write(self, name: str, content: str | bytes) -> Path:
        """Write a file of the results, and say where it is."""
        path = self.folder / name
        _write(path, content)
        return path

    def _path(self, submission: str) -> Path:
        return self.folder / "records" / f"{file_name(submission, apart=submission != submission.lower())}.json"


@contextlib.contextmanager
def opened(folder: Path, part: Part | None = None, options: Options | None = None) -> Iterator[Results]:
    """The results in `folder`, which is made if it is not there, for this process alone. Raises `CannotKeep`.

    With a part, processes that judge other parts may have it open as well. With options, what is there must have been graded
    with the same ones.
    """
    if folder.exists() and not folder.is_dir():
        raise CannotKeep(f"{folder} is a file. Give a folder for the results that is empty or not there yet.")
    with contextlib.ExitStack() as held:
        try:
            there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
            if there and not there & {"run.json", ".lock"}:
                raise CannotKeep(f"{folder} holds other files. Give a folder that is empty or not there yet.")
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            whole = held.enter_context(filelock.FileLock(folder / ".lock", timeout=PATIENCE if part else 0))
            for kind in ("records", "feedback"):
                (folder / kind).mkdir(mode=0o700, exist_ok=True)
            for own in [folder / f".lock-{part.number}-of-{part.count}"] if part else folder.glob(".lock-*"):
                held.enter_context(filelock.FileLock(own, timeout=0))
            seed = _seed(folder / "run.json", options)
            if not (folder / ".gitignore").exists():
                _write(folder / ".gitignore", "*\n")
            if part:
                whole.release()
            else:
                for left in folder.rglob(f"{BEING_WRITTEN}*"):
                    left.unlink()
        except filelock.Timeout as error:
            raise CannotKeep(f"Another run is writing to {folder}. Wait until it is done.") from error
        except OSError as error:
            raise CannotKeep(f"{error.filename or folder}: {error.strerror}.") from error
        yield Results(folder, seed)


def file_name(text: str, apart: bool = False) -> str:
    """A file's name for this text: the text itself where it is harmless, or else what is left of it and a digest.

    With `apart` the digest is there anyway: for names that differ in case only, which are one on some disks.

    >>> file_name("ann"), file_name("../ann b.py")
    ('ann', 'ann_b.py-1676d49298')
    """
    harmless = re.sub(r"[^\w.-]+", "_", text).strip("._-")[:40]
    return harmless if harmless == text and not apart else f"{harmless}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def _seed(path: Path, options: Options | None) -> int:
    """The seed of the run, which is drawn if there is none."""
    if not path.exists():
        _write(path, json.dumps({"version": 1, "seed": secrets.randbits(SEED_BITS)}))
    try:
        run = json.loads(path.read_text())
        seed, before = int(run["seed"]), Options(**run["options"]) if "options" in run else None
    except (ValueError, KeyError, TypeError) as error:
        raise CannotKeep(f"{path} is damaged. Give another folder, or remove this one to grade everything anew.") from error
    if options and before and (differs := options.differences(before)):
        raise CannotKeep(
            f"{path.parent} holds grades that were made otherwise: {'; '.join(differs)}. "
            "Give the options of then, or another folder: each assignment has its own."
        )
    if options and not before:
        _write(path, json.dumps(run | {"options": asdict(options)}))
    return seed


def _write(path: Path, content: str | bytes) -> None:
    """Write a file that only its owner can read, whole or not at all."""
    try:
        write_whole(path, content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise CannotKeep(f"{path} cannot be written: {error.strerror}. What was written before is kept.") from error
