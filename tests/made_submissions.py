"""A class that was made up: submissions of every kind that is handed in, and what each must come to.

`make(folder, SMALL)` writes them and says what is expected: by the submission's name, the status of each exercise.
"""

from __future__ import annotations

import ast
import base64
import json
import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from test_cheats import CHEATS

from tools.lint_course import expected_kinds

HERE = Path(__file__).parent
QUICK = (
    "double",
    "vector_add",
    "vector_scale",
    "program_ids",
    "reverse",
    "leaky_relu",
    "shift_right",
    "stable_softmax",
    "warp_max",
)
"""Exercises that take about a second to judge."""
WRONG_CHEATS = (
    "end well",
    "exit well",
    "import the checker",
    "import the references",
    "find the key in its callers",
    "find the observer in a traceback",
    "replace what writes results",
    "kill the first process",
    "kill all there are",
    "leave folders for results",
    "rename the folder away",
    "change the course",
    "an error of half a character",
)
CRASHES = (
    "import ctypes; ctypes.string_at(0)",
    "import os; os.abort()",
    "raise SystemExit(0)",
    "raise KeyboardInterrupt",
    "raise ValueError('\\x1b[31m<script>alert(1)</script>')",
    "return nothing",
)
LARGE = 50 * 2**20
"""Bytes of outputs in a large notebook."""

Expected = dict[str, dict[str, str]]
Maker = Callable[[int, str], tuple[str, bytes, dict[str, str]]]
"""Given a number and a student's name: the file, its content, and what is expected of it."""


def make(folder: Path, counts: Mapping[str, int]) -> Expected:
    """Write so many submissions of each kind, and say what each must come to."""
    expected: Expected = {}
    for kind, count in counts.items():
        for number in range(count):
            name, content, verdicts = MAKERS[kind](number, f"{kind} {number:02}")
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            expected[name] = verdicts
    return expected


# --- answers ------------------------------------------------------------------------------------------------------------


def right(number: int) -> tuple[str, str]:
    """An exercise, and the text of a right answer to it."""
    return _answer(number, {name: sorted((HERE / "variants" / name).glob("*.py")) for name in QUICK})


def wrong(number: int) -> tuple[str, str]:
    """An exercise, and the text of a wrong answer to it, which is judged at once."""
    slow = {"timeout", "not_done", "no_verdict", "cannot_bundle"}
    kept = {
        name: [path for path in sorted((HERE / "mutants" / name).glob("*.py")) if not slow & _kinds(path)] for name in QUICK
    }
    return _answer(number, kept)


def _kinds(path: Path) -> set[str]:
    return set(expected_kinds(path.read_text(encoding="utf-8")))


def _answer(number: int, paths: Mapping[str, list[Path]]) -> tuple[str, str]:
    name = QUICK[number % len(QUICK)]
    return name, paths[name][number // len(QUICK) % len(paths[name])].read_text(encoding="utf-8")


def doubling(lines: str) -> str:
    """A right answer to `double` but for these lines, which come first in it."""
    head, _, body = (HERE / "variants/double/persistent.py").read_text(encoding="utf-8").partition("def double(x):\n")
    return f"{head}def double(x):\n    {lines}\n{body}"


# --- files ----------------------------------------------------------------------------------------------------------------


def notebook(sources: Iterable[str], **more: Any) -> dict[str, Any]:
    """A notebook with a cell of text, and these code cells."""
    cells: list[dict[str, Any]] = [{"cell_type": "markdown", "id": "words", "metadata": {}, "source": ["# Mine\n", "by me"]}]
    for number, text in enumerate(sources):
        outputs = [{"output_type": "stream", "name": "stdout", "text": ["<b>printed</b>\n"]}]
        cells.append(
            {
                "cell_type": "code",
                "id": f"cell-{number}",
                "metadata": {},
                "execution_count": number,
                "outputs": outputs,
                "source": text.splitlines(keepends=True),
            }
        )
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {"kernelspec": {"name": "python3"}}, "cells": cells, **more}


def in_cells(name: str, text: str) -> list[str]:
    """An answer as a learner writes it in a notebook: each statement in a cell of its own, and a check at the end."""
    lines, cells, end = text.splitlines(), [], 0
    for node in ast.parse(text).body:
        assert node.end_lineno is not None
        cells.append("\n".join(lines[end : node.end_lineno]))
        end = node.end_lineno
    return ["%matplotlib inline\nfrom course_lib import check", *cells, f'check("{name}", {name})']


def _bytes(content: Any) -> bytes:
    return json.dumps(content, indent=1).encode()


def _file(answer: Callable[[int], tuple[str, str]], status: str) -> Maker:
    """A maker of Python files with one answer each."""

    def made(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
        name, text = answer(number)
        return f"{student}.py", text.encode(), {name: status}

    return made


def _notebook(answer: Callable[[int], tuple[str, str]], status: str, path: str) -> Maker:
    """A maker of notebooks with one answer each; `path` may name the student and the exercise."""

    def made(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
        name, text = answer(number)
        return path.format(student=student, name=name), _bytes(notebook(in_cells(name, text))), {name: status}

    return made


def _unsolved(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    name = QUICK[number % len(QUICK)]
    blank = f"def {name}(*arguments):\n    # YOUR CODE HERE\n    raise NotImplementedError()"
    return f"{student}.ipynb", _bytes(notebook([blank, f"check('{name}', {name})"])), {name: "not done yet"}


def _cheating(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    return f"{student}.py", CHEATS[WRONG_CHEATS[number % len(WRONG_CHEATS)]].source().encode(), {"double": "wrong"}


def _crashing(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    return f"{student}.py", doubling(CRASHES[number % len(CRASHES)]).encode(), {"double": "wrong"}


def _endless(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    return f"{student}.py", doubling("while True: pass").encode(), {"double": "wrong"}


def _not_a_notebook(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    junk = random.Random(number).randbytes(3000)
    contents = (
        junk,
        b"PK\x03\x04" + junk,
        b"[1, 2]",
        b'{"cells": 7}',
        b'{"a":' * 10**5,
        b"<html>Sign in</html>",
        b'{"cells": [null, 3]}',
    )
    return f"{student}.{'ipynb' if number % 4 else 'py'}", contents[number % len(contents)], {}


def _empty(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    return f"{student}.{'py' if number % 2 else 'ipynb'}", b"" if number % 3 else b" \n", {}


def _large(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    name, text = right(number)
    picture = base64.b64encode(random.Random(number).randbytes(LARGE // 4 * 3)).decode()
    large = notebook(in_cells(name, text))
    large["cells"][1]["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": {"image/png": picture}}]
    return f"{student}.ipynb", _bytes(large), {name: "passed"}


def _damaged(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    name, text = right(number)
    damages: tuple[Callable[[dict[str, Any]], object], ...] = (
        lambda book: book.update(metadata=[None, 3]),
        lambda book: (book.pop("nbformat"), book.pop("nbformat_minor"), book.pop("metadata")),
        lambda book: [cell.update(metadata="gone", outputs=None, id=7) for cell in book["cells"]],
        lambda book: book["cells"].insert(1, {"cell_type": "code", "source": None}),
        lambda book: [cell.update(source="".join(cell["source"]).replace("\n", "\r\n")) for cell in book["cells"]],
        lambda book: (book.update(nbformat="four"), book["cells"].append({"cell_type": {}, "source": [1]})),
    )
    book = notebook(in_cells(name, text))
    damages[number % len(damages)](book)
    return f"{student}.ipynb", b"\xef\xbb\xbf" * (number % 2) + _bytes(book), {name: "passed"}


def _copied(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    """A wrong and a right answer in one notebook, with the same cells' ids; the last definition counts."""
    name, text = right(number)
    _, other = wrong(number)
    passes = number % 2 == 0
    first, last = (other, text) if passes else (text, other)
    book = notebook([*in_cells(name, first), *in_cells(name, last)])
    for cell in book["cells"]:
        cell["id"] = "the-same"
    return f"{student}.ipynb", _bytes(book), {name: "passed" if passes else "wrong"}


def _failing_beside(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    """A right answer, and cells that raise, cannot be read by Python, or would end the program."""
    name, text = right(number)
    beside = (
        "1 / 0",
        "def unfinished(:\n    pass",
        "raise SystemExit",
        "assert False",
        "import nothing_that_is_there",
        "while True:\n    pass",
    )
    cells = in_cells(name, text)
    return f"{student}.ipynb", _bytes(notebook([cells[0], beside[number % len(beside)], *cells[1:], *beside])), {name: "passed"}


def _old(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    name, text = right(number)
    cells = [{"cell_type": "code", "language": "python", "input": source, "outputs": []} for source in in_cells(name, text)]
    return (
        f"{student}.ipynb",
        _bytes({"nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": cells}]}),
        {name: "passed"},
    )


def _from_windows(number: int, student: str) -> tuple[str, bytes, dict[str, str]]:
    name, text = right(number)
    return f"{student}.py", b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(), {name: "passed"}


MAKERS: dict[str, Maker] = {
    "right": _file(right, "passed"),
    "right notebook": _notebook(right, "passed", "{student}/mine.ipynb"),
    "wrong": _file(wrong, "wrong"),
    "wrong notebook": _notebook(wrong, "wrong", "{student}/{name}/mine.ipynb"),
    "unsolved": _unsolved,
    "cheating": _cheating,
    "crashing": _crashing,
    "endless": _endless,
    "not a notebook": _not_a_notebook,
    "empty": _empty,
    "large": _large,
    "damaged": _damaged,
    "copied": _copied,
    "failing beside": _failing_beside,
    "old": _old,
    "from Windows": _from_windows,
}
SMALL = dict.fromkeys(MAKERS, 1) | {"large": 0}
CLASS = {
    "right": 35,
    "right notebook": 30,
    "wrong": 35,
    "wrong notebook": 30,
    "unsolved": 9,
    "cheating": 13,
    "crashing": 8,
    "endless": 4,
    "not a notebook": 8,
    "empty": 4,
    "large": 2,
    "damaged": 6,
    "copied": 6,
    "failing beside": 6,
    "old": 2,
    "from Windows": 2,
}
assert sum(CLASS.values()) == 200
