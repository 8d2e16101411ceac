"""An answer in a notebook's file: the lines that it needs are taken, as if all cells had been run in their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest

from course_lib.checking.notebook import bundle_notebook
from course_lib.checking.source import CannotBundle


def written(folder: Path, *cells: str) -> Path:
    path = folder / "mine.ipynb"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Mine"), *map(nbformat.v4.new_code_cell, cells)])
    nbformat.write(notebook, path)
    return path


def result_of(path: Path, *arguments: Any) -> Any:
    bundle = bundle_notebook(path, "answer")
    namespace: dict[str, Any] = {"__name__": "alone"}
    exec(compile(bundle.source, "answer.py", "exec"), namespace)
    return namespace[bundle.name](*arguments)


CELLS = {
    "of two definitions the last counts": (
        ["def answer(): return helper() - 1", "def helper(): return 1", "def answer(): return helper() + 1"],
        2,
    ),
    "a helper that is defined anew counts": (
        ["def helper(): return 1", "def answer(): return helper()", "def helper(): return 2"],
        2,
    ),
    "checks and experiments are not run": (
        ["def answer(): return 1", "check('answer', answer)\nanswer(1, 2)\nx = answer(3)\nassert False\nraise SystemExit"],
        1,
    ),
    "what is called on a module is not run": (["import math\nmath.nothing()\ndef answer(): return math.floor(1.5)"], 1),
    "lines of IPython's own": (
        [
            "%matplotlib inline\n!ls\nimport math\nmath?",
            "%%time\ndef answer():\n    return math.floor(2.5)",
            "%%bash\ndef answer(: rm",
        ],
        2,
    ),
    "what is changed after it is defined": (
        [
            "SIZES = []\nclass C: pass",
            "SIZES.append(1)\nfor size in (2, 3):\n    SIZES.append(size)\nC.more = 4\nSIZES += [5]",
            "UNUSED = []\nUNUSED.append(nothing)\ndef answer(): return SIZES + [C.more]",
        ],
        [1, 2, 3, 5, 4],
    ),
    "conditions, decorators, defaults and annotations": (
        [
            "from functools import cache\nfrom typing import Any",
            "try:\n    import nothing\nexcept ImportError:\n    nothing = None",
            "if nothing is None:\n    BLOCK = 64\nelse:\n    BLOCK = 32",
            "@cache\ndef blocks(n: Any = BLOCK) -> Any: return n",
            "def answer(): return blocks()",
        ],
        64,
    ),
    "annotations that are not evaluated": (
        ["x = 1", "from __future__ import annotations\ndef answer(n: Nothing = x): return n"],
        1,
    ),
    "all names of a module": (["from math import *", "def answer(): return floor(1.5)"], 1),
    "two statements in a line": (["a = 1; b = 2", "def answer(): return a + b"], 3),
    "a blank line at a cell's start": (["\n\nA = 3\n", "\n\n\ndef answer(): return A"], 3),
}


@pytest.mark.parametrize("what", CELLS)
def test_a_function_is_taken_from_cells(tmp_path: Path, what: str) -> None:
    cells, wanted = CELLS[what]
    assert result_of(written(tmp_path, *cells)) == wanted


def test_only_what_is_needed_is_taken(tmp_path: Path) -> None:
    bundle = bundle_notebook(
        written(tmp_path, "import math, json\nA = 1", "def answer():\n    B = 1\n    return A", "B = 2"), "answer"
    )
    assert bundle.source == "A = 1\ndef answer():\n    B = 1\n    return A\n"


def test_a_line_is_known_by_its_cell(tmp_path: Path) -> None:
    path = written(tmp_path, "import math", "\nA = 1\n\n@str\ndef other(): pass\n\ndef answer():\n    # why\n    return A\n")
    bundle = bundle_notebook(path, "answer")
    places = [bundle.line(number) for number in range(1, bundle.source.count("\n") + 1)]
    assert [(place.origin, place.line, place.text) for place in places] == [
        ("mine.ipynb, code cell 2", 2, "A = 1"),
        ("mine.ipynb, code cell 2", 7, "def answer():"),
        ("mine.ipynb, code cell 2", 8, "# why"),
        ("mine.ipynb, code cell 2", 9, "return A"),
    ]


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["A = 1", "def answer(:\n    pass"], "mine.ipynb, code cell 2, line 1"),
        (["def other(): pass\nother.answer = 1"], "No code cell of mine.ipynb defines a function called `answer`"),
    ],
)
def test_what_is_wrong_with_a_notebook_is_named(tmp_path: Path, cells: list[str], words: str) -> None:
    with pytest.raises(CannotBundle, match=words):
        bundle_notebook(written(tmp_path, *cells), "answer")


def test_a_file_that_is_no_notebook_is_named(tmp_path: Path) -> None:
    (tmp_path / "mine.ipynb").write_text("def answer(): pass")
    with pytest.raises(CannotBundle, match="cannot be read as a notebook"):
        bundle_notebook(tmp_path / "mine.ipynb", "answer")
