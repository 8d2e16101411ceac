"""Answers as learners write them: in the cells of a notebook, whose kernel must live on whatever they do."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import nbclient
import nbformat
import pytest

from course_lib.checking import sandbox

IMPORTS = """
import course_lib, json
import torch, triton, triton.language as tl
from course_lib import check, trace

def say(report):
    finding = report.findings[0] if report.findings else None
    source = finding and finding.source
    print(json.dumps({"passed": report.passed, "kind": finding and finding.kind, "text": repr(report),
                      "origin": source and source.origin, "line": source and source.text,
                      "program": finding and finding.program, "count": finding and finding.count,
                      "seconds": report.seconds}))
"""

ADD = """
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)

def vector_add(x, y):
    out = torch.empty_like(x)
    add_kernel[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)
    return out
"""

CHECK = "say(check('vector_add', vector_add, seed=0))"


@dataclass
class Notebook:
    """A live notebook kernel; `run` executes one cell and returns what it printed last, as JSON."""

    client: nbclient.NotebookClient
    cells: int = 0

    def execute(self, source: str, *tags: str) -> nbformat.NotebookNode:
        cell = nbformat.v4.new_code_cell(source, metadata={"tags": list(tags)})
        self.client.nb.cells.append(cell)
        done = self.client.execute_cell(cell, self.cells)
        self.cells += 1
        return done

    def error(self, source: str) -> str:
        """What the notebook shows of the error that the cell raises."""
        outputs = self.execute(source, "raises-exception").outputs
        shown = "\n".join(next(output.traceback for output in outputs if output.output_type == "error"))
        return re.sub(r"\x1b\[[\d;]*m", "", shown)

    def run(self, source: str) -> Any:
        done = self.execute(source)
        text = "".join(o.get("text", "") for o in done.outputs if o.output_type == "stream" and o.name == "stdout")
        return json.loads(text.strip().splitlines()[-1]) if text.strip().startswith(("{", "[")) else text


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    client = nbclient.NotebookClient(
        nbformat.v4.new_notebook(), timeout=90, resources={"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    )
    with client.setup_kernel():
        live = Notebook(client)
        live.run(IMPORTS)
        yield live


def test_redefining_only_the_kernel_changes_the_verdict(notebook: Notebook) -> None:
    assert notebook.run(ADD + CHECK)["passed"]
    kernel = ADD.split("def vector_add")[0].replace("x + y", "x - y")
    assert notebook.run(kernel + CHECK)["kind"] == "mismatch"
    assert notebook.run(ADD + CHECK)["passed"]


@pytest.mark.parametrize("change", [("    out =", "    out = = "), ("def vector_add", "def vector_ad")])
def test_a_definition_that_was_not_made_anew_is_told(notebook: Notebook, change: tuple[str, str]) -> None:
    notebook.run(ADD)
    told = "print(json.dumps([check('vector_add', vector_add).note]))"
    assert notebook.run(told) == [None]
    number = notebook.cells
    notebook.execute(ADD.replace(*change), "raises-exception")
    [note] = notebook.run(told)
    assert note is not None and f"as cell In[{number - 1}] defined it. Cell In[{number + 1}]" in note
    notebook.run(ADD)
    assert notebook.run(told) == [None]


def test_a_report_names_the_cell_and_the_line(notebook: Notebook) -> None:
    told = notebook.run(ADD.replace("tl.load(y_ptr + offsets, mask=mask)", "tl.load(y_ptr + offsets)") + CHECK)
    assert told["kind"] == "load_out_of_bounds"
    assert told["line"] == "y = tl.load(y_ptr + offsets)"
    assert told["origin"].startswith("cell In[")


def test_helpers_constants_and_imports_come_along(notebook: Notebook) -> None:
    notebook.run(
        "from math import ceil\nfrom functools import partial\nSIZE = 128\nBLOCK = tl.constexpr(128)\nKIND = torch.float32"
    )
    notebook.run(
        "@triton.jit\ndef place(BLOCK_SIZE: tl.constexpr):\n    return tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)"
    )
    told = notebook.run(
        """
@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n):
    offsets = place(BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask, other=0.0) + tl.load(y_ptr + offsets, mask, other=0.0), mask)

def vector_add(x, y):
    out = torch.empty(x.shape, dtype=KIND, device=x.device)
    add_kernel[(ceil(x.numel() / SIZE),)](x, y, out, x.numel())
    return out
"""
        + CHECK
    )
    assert told["passed"], told["text"]


def test_a_closure_and_an_alias_come_along(notebook: Notebook) -> None:
    notebook.run(ADD)
    told = notebook.run(
        """
renamed_kernel = add_kernel
def make(block):
    def launch(x, y):
        out = torch.empty_like(x)
        renamed_kernel[(triton.cdiv(x.numel(), block),)](x, y, out, x.numel(), BLOCK=block)
        return out
    return launch
say(check('vector_add', make(32), seed=0))
"""
    )
    assert told["passed"], told["text"]


KERNEL = ADD.split("def vector_add")[0]
WRITTEN = {
    "constants in a class": [
        "class Config:\n    BLOCK = 64",
        ADD.replace("64", "Config.BLOCK"),
    ],
    "a dataclass, a named tuple and an enumeration": [
        "from dataclasses import dataclass\nfrom typing import NamedTuple\nfrom enum import Enum",
        "@dataclass\nclass Plan:\n    block: int = 16\nPLAN = Plan(32)",
        "class Tile(NamedTuple):\n    size: int\nTILE = Tile(PLAN.block)\nclass Mode(Enum):\n    SAFE = 64",
        ADD.replace(", 64)", ", TILE.size)").replace("BLOCK=64", "BLOCK=PLAN.block if TILE.size < Mode.SAFE.value else 1"),
    ],
    "a class that is defined anew": [
        "class Config:\n    BLOCK = 'none'",
        "class Config:\n    BLOCK = 64",
        ADD.replace("64", "Config.BLOCK"),
    ],
    "decorators": [
        "import functools\n@functools.lru_cache\ndef blocks(n):\n    return triton.cdiv(n, 64)",
        ADD.replace("triton.cdiv(x.numel(), 64)", "blocks(x.numel())").replace(
            "def vector_add", "@torch.no_grad()\ndef vector_add"
        ),
    ],
    "a partial function": [
        "from functools import partial",
        ADD.replace("def vector_add(x, y)", "def add(block, x, y)").replace("64", "block"),
        "vector_add = partial(add, 32)",
    ],
    "configurations in a list": [
        "CONFIGS = [triton.Config({'BLOCK': size}, num_warps=warps) for size, warps in ((64, 4), (128, 8))]",
        "CONFIGS.append(triton.Config({'BLOCK': 32}, pre_hook=lambda arguments: None))",
        ADD.replace("@triton.jit", "@triton.autotune(configs=CONFIGS, key=['n'])\n@triton.jit")
        .replace("(triton.cdiv(x.numel(), 64),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)")
        .replace(", BLOCK=64)", ")"),
    ],
    "heuristics": [
        "cover = lambda arguments: triton.next_power_of_2(max(1, arguments['n'] // 2))",
        ADD.replace("@triton.jit", "@triton.heuristics({'BLOCK': cover})\n@triton.jit")
        .replace("(triton.cdiv(x.numel(), 64),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)")
        .replace(", BLOCK=64)", ")"),
    ],
    "kernels in a dict": [
        KERNEL,
        "KERNELS = {'add': add_kernel}",
        ADD.split("\n\n")[1].replace("add_kernel", "KERNELS['add']"),
    ],
    "a kernel made by a call": [
        KERNEL.replace("@triton.jit\n", ""),
        "kernel = triton.jit(add_kernel)",
        ADD.split("\n\n")[1].replace("add_kernel", "kernel"),
    ],
    "a helper that is defined anew": [
        "@triton.jit\ndef combined(x, y):\n    return x - y",
        ADD.replace("x + y,", "combined(x, y),"),
        "@triton.jit\ndef combined(x, y):\n    return x + y",
    ],
    "other names for Triton's language": [
        "import triton.language as T\nfrom triton.language import constexpr",
        ADD.replace("tl.constexpr", "T.constexpr").replace("tl.", "T."),
        ADD.replace("tl.constexpr", "constexpr"),
    ],
    "functions of Triton's language, imported by name": [
        "@triton.jit\ndef place(size: tl.constexpr):\n    return tl.program_id(0) * size + tl.arange(0, size)",
        ADD.replace("tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "place(BLOCK)"),
        "vector_add(torch.ones(3), torch.ones(3))",
        "from triton.language import program_id, arange, load, store",
        ADD.replace("tl.pro", "pro").replace("tl.arange", "arange").replace("tl.load", "load").replace("tl.store", "store"),
    ],
    "annotations of one's own": [
        "class Vector: pass\nfrom typing import Annotated\nVector2 = Annotated[torch.Tensor, object()]",
        ADD.replace("def vector_add(x, y):", "def vector_add(x: Vector2, y: 'Vector') -> Vector:"),
    ],
    "the device in a global": [
        "from course_lib import device\nDEVICE = device().torch_device\nWHERE = torch.device(DEVICE)",
        ADD.replace(
            "    out = torch.empty_like(x)",
            "    assert x.device.type == WHERE.type == DEVICE\n    out = torch.empty(x.shape, device=DEVICE)",
        ),
    ],
    "a constant looked up in globals()": [
        "BLOCK = tl.constexpr(64)",
        ADD.replace("BLOCK=64", "BLOCK=globals()['BLOCK']"),
    ],
}


@pytest.mark.parametrize("what", WRITTEN)
def test_a_right_answer_passes_whatever_it_is_made_of(notebook: Notebook, what: str) -> None:
    for cell in WRITTEN[what]:
        notebook.run(cell)
    told = notebook.run(CHECK)
    assert told["passed"], told["text"]


CANNOT = {
    "a function made by exec": ("exec('def made(x, y): return x + y')\nsay(check('vector_add', made))", "exec"),
    "a global tensor": ("W = torch.ones(3)\ndef vector_add(x, y): return x + W\nsay(check('vector_add', vector_add))", "`W`"),
    "a kernel": (ADD + "say(check('vector_add', add_kernel))", "launches it"),
    "a result": (ADD + "say(check('vector_add', vector_add(torch.ones(3), torch.ones(3))))", "without calling"),
    "None": ("say(check('vector_add', None))", "function itself"),
    "an end of the notebook": ("def vector_add(x, y): exit()\nsay(check('vector_add', vector_add))", "ends with `return`"),
    "an open file": ("f = open('/dev/null')\ndef vector_add(x, y): return f\nsay(check('vector_add', vector_add))", "`f`"),
}


@pytest.mark.parametrize("what", CANNOT)
def test_what_cannot_be_bundled_is_named_with_what_to_do(notebook: Notebook, what: str) -> None:
    source, word = CANNOT[what]
    told = notebook.run(source)
    assert told["kind"] == "cannot_bundle"
    assert word in told["text"]


def test_a_kernel_under_a_timing_magic_is_named_with_what_to_do(notebook: Notebook) -> None:
    notebook.run("%%time\n" + ADD)
    told = notebook.run(CHECK)
    assert told["kind"] == "cannot_bundle"
    assert "%%time" in told["text"]


STORE = "    tl.store("
DEADLY = {
    "an endless loop": ("while True:\n        mask = offsets < n", "timeout", "mask = offsets < n"),
    "memory without end": (
        "hoard = []\n    while True:\n        hoard.append(bytearray(10_000_000))",
        "memory_limit",
        "hoard.append(bytearray(10_000_000))",
    ),
    "a segmentation fault": ("import ctypes\n    ctypes.string_at(0)", "killed", "ctypes.string_at(0)"),
    "a kill": (
        "import os, signal\n    os.kill(os.getpid(), signal.SIGKILL)",
        "killed",
        "y = tl.load(y_ptr + offsets, mask=mask)",
    ),
    "an exit": ("import os\n    os._exit(0)", "killed", "y = tl.load(y_ptr + offsets, mask=mask)"),
}


def test_no_answer_is_waited_for_longer_than_fifteen_seconds() -> None:
    assert sandbox.Limits().wall_seconds + sandbox.GRACE < 15


@pytest.mark.parametrize("what", DEADLY)
def test_the_notebook_lives_on_after(notebook: Notebook, what: str) -> None:
    code, kind, line = DEADLY[what]
    told = notebook.run(ADD.replace(STORE, f"    {code}\n{STORE}", 1) + CHECK)
    assert told["kind"] == kind
    assert told["program"] == [0, 0, 0]
    assert told["text"].startswith("vector_add: not right yet") and "program (0, 0, 0)" in told["text"]
    assert told["line"] in (line, "while True:")
    assert notebook.run(ADD + CHECK)["passed"]


@pytest.mark.parametrize(
    ("code", "kind", "count"),
    [
        (ADD.replace("tl.load(x_ptr + offsets, mask=mask)", "tl.load(x_ptr + offsets)"), "load_out_of_bounds", 63),
        (ADD.replace("x + y, mask=mask", "x + y"), "store_out_of_bounds", 63),
    ],
)
def test_a_missing_mask_is_counted_and_placed(notebook: Notebook, code: str, kind: str, count: int) -> None:
    told = notebook.run(code + CHECK)
    assert (told["kind"], told["count"], told["program"]) == (kind, count, [0, 0, 0])
    assert f"{count} elements past the end" in told["text"]


def test_calling_a_stray_kernel_directly_raises_and_the_notebook_lives_on(notebook: Notebook) -> None:
    told = notebook.run(
        ADD.replace("x + y, mask=mask", "x + y")
        + """
try:
    vector_add(torch.ones(10), torch.ones(10))
except Exception as error:
    print(json.dumps([type(error).__name__, str(error)]))
"""
    )
    assert "54 elements" in told[1] and "out_ptr" in told[1]
    assert notebook.run("print(1 + 1)").strip() == "2"


RAISES = {
    "an unknown exercise": (
        "check('vector_ad', vector_add)",
        "UnknownName: There is no exercise",
        ["check('vector_ad', vector_add)"],
    ),
    "an unknown quiz": (
        "course_lib.quiz('past_the_en', 2)",
        "Did you mean 'past_the_end'?",
        ["course_lib.quiz('past_the_en', 2)"],
    ),
    "an unknown hint": ("course_lib.hint('past_the_en')", "UnknownName: ", ["course_lib.hint('past_the_en')"]),
    "arguments the wrong way round": (
        "check(vector_add, 'vector_add')",
        'WrongCall: The name of the exercise comes first: check("vector_add", vector_add).',
        ["check(vector_add, 'vector_add')"],
    ),
    "no function": (
        "check('double')",
        "WrongCall: check needs your function as well",
        ["check('double')"],
    ),
    "a trace of a result": ("trace(torch.ones(3))", "TraceError: trace calls the function itself", ["trace(torch.ones(3))"]),
    "what cannot be traced along": ("trace(print)", "CannotBundle: ", ["trace(print)"]),
    "a trace that fails": (
        "trace(vector_add, 1, 2)",
        "TraceError: vector_add could not be traced",
        ["trace(vector_add, 1, 2)"],
    ),
    "a launch without a grid": (
        "add_kernel(1, 2, 3)",
        "TypeError: `add_kernel` was called without a grid",
        ["add_kernel(1, 2, 3)"],
    ),
    "a launch with a number as grid": (
        "add_kernel[1](1, 2, 3, 4, 8)",
        "TypeError: the grid must be a tuple",
        ["add_kernel[1]"],
    ),
    "a launch without an argument": ("add_kernel[(1,)](1, 2)", "TypeError: add_kernel() missing", ["add_kernel[(1,)](1, 2)"]),
    "a stray access": (
        ADD.replace("x + y, mask=mask", "x + y") + "vector_add(torch.ones(9), torch.ones(9))",
        "StrayAccess: program (0, 0, 0) of add_kernel",
        ["vector_add(torch.ones(9), torch.ones(9))", "add_kernel[", "tl.store(out_ptr + offsets, x + y)"],
    ),
    "an error in a kernel": (
        ADD.replace("BLOCK=64", "BLOCK=60") + "vector_add(torch.ones(9), torch.ones(9))",
        "ValueError: arange's range must be a power of 2",
        ["vector_add(torch.ones(9), torch.ones(9))", "add_kernel[", "tl.arange(0, BLOCK)"],
    ),
}


@pytest.mark.parametrize("what", RAISES)
def test_an_error_shows_its_message_and_the_learners_lines_only(notebook: Notebook, what: str) -> None:
    notebook.run(ADD)
    source, message, lines = RAISES[what]
    shown = notebook.error(source)
    assert message in shown
    assert [line for line in lines if line not in shown] == []
    assert shown.count("\n    ") == len(lines)
    assert "cell In[" in shown and "course_lib/" not in shown and "triton/" not in shown


def test_an_assertion_of_a_report_shows_all_of_it(notebook: Notebook) -> None:
    wrong = ADD.replace("x + y, mask=mask", "x + y")
    shown = notebook.error(wrong + "assert (report := check('vector_add', vector_add)), report")
    assert "AssertionError: vector_add: not right yet" in shown
    assert "tl.store(out_ptr + offsets, x + y)" in shown and "Hint: " in shown
    assert notebook.run(ADD + "assert (report := check('vector_add', vector_add)), report\nprint([report.cases])")[0] > 10


def test_a_trace_takes_keywords(notebook: Notebook) -> None:
    told = notebook.run(ADD + "print(json.dumps([trace(vector_add, torch.ones(3), y=torch.ones(3)).result.tolist()]))")
    assert told == [[2.0, 2.0, 2.0]]


def test_a_trace_shows_reads_writes_and_strays(notebook: Notebook) -> None:
    told = notebook.run(
        ADD
        + """
x, y = torch.ones(100), torch.ones(100)
seen = trace(vector_add, x, y)
print(json.dumps({"traffic": seen.traffic(), "reads": len(seen.reads(x)), "writes": len(seen.writes(seen.result)),
                  "named": len(seen.reads("y_ptr")), "total": seen.result.sum().item()}))
"""
    )
    assert told["traffic"]["x_ptr"] == {"read": 400, "written": 0}
    assert told["traffic"]["out_ptr"] == {"read": 0, "written": 400}
    assert (told["reads"], told["writes"], told["named"], told["total"]) == (2, 2, 2, 200.0)
