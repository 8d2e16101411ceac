"""A folder of submissions, read: whose each file is, and the text of its answer. Nothing of it is run here.

Layouts, which may be mixed:

    FOLDER/ann.ipynb                   a file a student
    FOLDER/ann/softmax.ipynb           a folder a student, with one file or several
    FOLDER/ann/04_loads/softmax.ipynb  nbgrader's: submitted/STUDENT/ASSIGNMENT/FILE; FOLDER may be the one above `submitted`
"""

from __future__ import annotations

import io
import json
import os
import stat
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from course_lib.errors import PlainError

ARCHIVE = "an archive; unpack it"
PAGE = "a page, not the notebook itself; hand in the file that ends in .ipynb"
OTHER = "not a notebook or Python file"
OTHERS = dict.fromkeys((".zip", ".7z", ".rar", ".tar", ".gz", ".tgz"), ARCHIVE) | dict.fromkeys((".html", ".htm", ".pdf"), PAGE)
"""What is said of files that are neither a notebook nor a Python file, by their suffixes."""
NOTHING = "nothing handed in"
Kind = Literal["notebook", "python", "other"]
KINDS: dict[str, Kind] = {".ipynb": "notebook", ".py": "python"}
MOST_BYTES = 2**28
"""Larger files are not read."""
MOST_CODE = 200_000
"""Characters of code in a submission; more are not judged. The longest lesson's notebook has 40 000."""


class NoSubmissions(PlainError):
    """There is nothing to grade; the message says where it was looked for."""


@dataclass(frozen=True)
class Submission:
    """A file that was handed in: its path in the folder, with slashes, whose it is, and the texts of its code cells.

    A Python file is one cell. `problem` says why a file could not be read; then there are no cells. `beside` says that it is
    such a file beside others of the student's that are notebooks or Python files: nothing is asked of it.
    """

    name: str
    student: str
    kind: Kind
    cells: tuple[str, ...] = ()
    problem: str | None = None
    beside: bool = False


def students_folder(folder: Path) -> Path:
    """The folder whose files and folders are the students': `folder` itself, or nbgrader's `submitted` in it."""
    return folder / "submitted" if (folder / "submitted").is_dir() else folder


def read_folder(folder: Path) -> list[Submission]:
    """All submissions in a folder, by their names. Raises `NoSubmissions`."""
    if not folder.is_dir():
        what = "is a file, not a folder" if folder.exists() else "does not exist"
        raise NoSubmissions(f"{folder} {what}. Give the folder that holds the submissions.")
    folder = students_folder(folder)
    found = [_read(folder, path) for path in sorted(_files(folder))]
    by_student: dict[str, list[Submission]] = {}
    for submission in found:
        by_student.setdefault(submission.student, []).append(submission)
    if not found:
        raise NoSubmissions(f"{folder} holds no submission: no notebook (.ipynb), no Python file, no student's folder.")
    return sorted((one for some in by_student.values() for one in _seen_together(some)), key=lambda one: one.name)


def _seen_together(submissions: list[Submission]) -> list[Submission]:
    """A student's files. What is neither a notebook nor a Python file counts if there are none of these."""
    has_answers = any(one.kind != "other" for one in submissions)
    return [replace(one, beside=has_answers and one.kind == "other") for one in submissions]


def _files(folder: Path, depth: int = 0) -> Iterator[Path]:
    """Files that may be submissions, and folders of students that hold none."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "__")):
            continue
        if path.is_symlink() or not path.is_dir():
            yield path
        elif depth < 2:
            inside = list(_files(path, depth + 1)) if os.access(path, os.R_OK | os.X_OK) else []
            yield from inside or ([path] if depth == 0 else [])


def _read(folder: Path, path: Path) -> Submission:
    parts = [_printable(part) for part in path.relative_to(folder).parts]
    student = parts[0] if len(parts) > 1 or path.is_dir() else Path(parts[0]).stem
    name, kind = "/".join(parts), KINDS.get(path.suffix.lower(), "other")
    try:
        if path.is_symlink():
            raise _Unreadable("a link, which is not followed")
        if path.is_dir():
            raise _Unreadable(NOTHING if os.access(path, os.R_OK | os.X_OK) else "a folder that cannot be opened")
        if kind == "other":
            raise _Unreadable(OTHERS.get(path.suffix.lower(), OTHER))
        content = _content(path)
        cells = _notebook(content) if kind == "notebook" else (_python(content),)
        if sum(map(len, cells)) > MOST_CODE:
            raise _Unreadable(f"more than {MOST_CODE} characters of code")
        return Submission(name, student, kind, cells)
    except _Unreadable as problem:
        return Submission(name, student, kind, problem=str(problem))


class _Unreadable(Exception):
    """Why a file cannot be read."""


def _content(path: Path) -> bytes:
    """The bytes of a regular file. Links are not followed: they may lead to what is not the student's."""
    try:
        number = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise _Unreadable(f"cannot be opened: {error.strerror}") from error
    with open(number, "rb") as file:
        status = os.fstat(number)
        if not stat.S_ISREG(status.st_mode):
            raise _Unreadable("not a regular file")
        if status.st_size > MOST_BYTES:
            raise _Unreadable(f"larger than {MOST_BYTES // 2**20} MB")
        return file.read()


def _python(content: bytes) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        text = content.decode(encoding)
    except (SyntaxError, UnicodeDecodeError) as error:
        raise _Unreadable("not text") from error
    if "\0" in text:
        raise _Unreadable("not text")
    if not text.strip():
        raise _Unreadable("empty")
    return _lines(text)


def _notebook(content: bytes) -> tuple[str, ...]:
    """The code cells of a notebook, in their order, without what else it holds; damage to that does no harm."""
    if not content.strip():
        raise _Unreadable("empty")
    if content.startswith(b"PK\x03\x04"):
        raise _Unreadable(ARCHIVE)
    try:
        read = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise _Unreadable("not a notebook: it is not JSON") from error
    if isinstance(read, dict) and "cells" not in read and isinstance(read.get("worksheets"), list):  # nbformat 3 and older
        cells = [cell for sheet in read["worksheets"] if isinstance(sheet, dict) for cell in _list(sheet.get("cells"))]
    else:
        cells = _list(read.get("cells")) if isinstance(read, dict) else []
    if not isinstance(read, dict) or not ("cells" in read or "worksheets" in read):
        raise _Unreadable("not a notebook: it holds no cells")
    texts = [_source(cell) for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    if not any(text.strip() for text in texts):
        raise _Unreadable("a notebook without code")
    return tuple(texts)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _source(cell: dict[str, Any]) -> str:
    """A cell's text: a string or a list of lines, in nbformat 3 by the name of `input`."""
    written = cell.get("source", cell.get("input", ""))
    lines = written if isinstance(written, list) else [written]
    return _lines("".join(line for line in lines if isinstance(line, str)))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _printable(name: str) -> str:
    """A file's name as text that can be shown and written; what is no text in it becomes a question mark."""
    text = os.fsencode(name).decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
