"""What beginners write, and whether the report says what to do about it, whatever the versions' own messages are."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib import catalog
from course_lib.checking.advice import GENERAL
from course_lib.checking.check import check_file
from course_lib.checking.explain import Trouble, of_error, of_timeout
from course_lib.checking.findings import Report
from course_lib.checking.notebook import bundle_notebook
from course_lib.checking.reading import Text

ROOT = Path(__file__).parents[1]

ANSWER = """
import torch, triton, triton.language as tl

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2.0 * x, mask=mask)

def double(x):
    out = torch.empty_like(x)
    n = x.numel()
    double_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)
    return out
"""

LOAD, STORE = "tl.load(x_ptr + offsets, mask=mask, other=0.0)", "tl.store(out_ptr + offsets, 2.0 * x, mask=mask)"
LAUNCH = "double_kernel[(triton.cdiv(n, 128),)](x, out, n, BLOCK_SIZE=128)"

MISTAKES: dict[str, tuple[str, str, str, str]] = {
    # what: (what stands there, what is written instead, the kind, words of the hint)
    "no grid": (LAUNCH, "double_kernel(x, out, n, BLOCK_SIZE=128)", "crash", "`kernel[grid](…)`"),
    "a number as grid": ("[(triton.cdiv(n, 128),)]", "[triton.cdiv(n, 128)]", "crash", "a tuple"),
    "no jit": ("@triton.jit\n", "", "crash", "`@triton.jit`"),
    "an argument left out": ("(x, out, n, BLOCK_SIZE", "(x, out, BLOCK_SIZE", "crash", "every argument"),
    "a constant left out": (", n, BLOCK_SIZE=128)", ", n)", "crash", "every argument"),
    "tensors exchanged": ("(x, out, n,", "(out, x, n,", "input_changed", "in the kernel's order"),
    "a tensor as number": ("n = x.numel()", "n = torch.tensor(x.numel())", "crash", "x.numel()"),
    "an indexed pointer": (LOAD, "x_ptr[offsets]", "crash", "`tl.load(x_ptr + offsets)`"),
    "assignment to a pointer": (STORE, "out_ptr[offsets] = 2.0 * x", "crash", "`tl.store(out_ptr + offsets, value)`"),
    "a pointer computed with": (LOAD, "2 * x_ptr", "crash", "`tl.load` it"),
    "a load without offsets": ("tl.load(x_ptr + offsets,", "tl.load(x_ptr,", "crash", "offsets"),
    "a store without offsets": ("tl.store(out_ptr + offsets,", "tl.store(out_ptr,", "crash", "offsets"),
    "a store the wrong way round": ("out_ptr + offsets, 2.0 * x,", "2.0 * x, out_ptr + offsets,", "crash", "pointers first"),
    "a loop over a tile": (STORE, "for one in x:\n        pass", "crash", "looped over"),
    "range for arange": ("tl.arange(0, BLOCK_SIZE)", "tl.range(0, BLOCK_SIZE)", "crash", "`tl.arange(0, BLOCK_SIZE)`"),
    "torch in a kernel": ("2.0 * x", "torch.mul(x, 2.0)", "crash", "only functions of `tl`"),
    "NumPy in a kernel": ("2.0 * x", "np.add(x, x)", "does_not_compile", "NumPy"),
    "a misspelt name": ("2.0 * x", "2.0 * y", "crash", "spelt"),
    "if on a tile": (STORE, f"if mask:\n        {STORE}", "does_not_compile", "`tl.where`"),
    "a choice by a tile": ("2.0 * x", "(2.0 * x if x > 0 else x + x)", "does_not_compile", "`tl.where`"),
    "a loop while a tile": (STORE, f"while x < 0:\n        x += 1\n    {STORE}", "crash", "`tl.where`"),
    "math in a kernel": ("2.0 * x", "math.sqrt(4.0) * x", "does_not_compile", "`math.exp` is `tl.exp`"),
    "Python's abs of a tile": ("2.0 * x", "2.0 * abs(x)", "crash", "`tl.abs(x)`"),
    "a power of a tile": ("2.0 * x", "2.0 * x ** 1", "crash", "`x * x` for a square"),
    "Python's sum of a tile": ("2.0 * x", "x + sum(x)", "crash", "`tl.sum(x, axis=0)`"),
    "a tile as Python's float": ("2.0 * x", "2.0 * float(x)", "crash", "`tl.cast(x, tl.float32)`"),
    "a length as Python's float": ("2.0 * x", "2.0 * x + 0.0 * float(n)", "does_not_compile", "`tl.cast(x, tl.float32)`"),
    "the truth of a sum": (STORE, f"if bool(tl.sum(x)):\n        x = x + 0\n    {STORE}", "does_not_compile", "`x != 0`"),
    "the root of a whole number": ("2.0 * x", "tl.sqrt(4) * x", "crash", "`tl.sqrt` takes fp32"),
    "the root of a length": ("2.0 * x", "tl.sqrt(n) * x", "crash", "`tl.cast(n, tl.float32)`"),
    "the sum of a number": ("2.0 * x", "tl.sum(2.0) * x", "crash", "`tl.sum` takes tiles"),
    "the sum of a length": ("2.0 * x", "tl.sum(n + 1) * x", "does_not_compile", "`tl.sum` takes tiles"),
    "a returned value": (STORE, "return 2.0 * x", "does_not_compile", "`tl.store`"),
    "a block of 100": ("128", "100", "crash", "power of two"),
    "no store": (STORE, "pass", "unwritten", "`tl.store(out_ptr + offsets, value, mask=mask)`"),
    "a value taken in the launcher": ("n = x.numel()", "n = x.numel() + 0 * int(x[:1].sum())", "torch_compute", "the kernel"),
    "an item": ("n = x.numel()", "n = x.numel() if n_is(x) else 0", "torch_compute", "no need of values"),
    "printing without text": (STORE, f"print(x)\n    {STORE}", "does_not_compile", '`print("x", x)`'),
    "a method of a length that may be 1": ("< n\n", "< n.to(tl.int64)\n", "does_not_compile", "`tl.cast(n, tl.int64)`"),
    "the dtype of a length that may be 1": (
        "< n\n",
        "< tl.zeros([1], n.dtype) + n\n",
        "does_not_compile",
        "becomes a constant",
    ),
    "a length that may be 1 in a promise": ("< n\n", "< tl.multiple_of(n, 1)\n", "does_not_compile", "becomes a constant"),
    "a question": ("n = x.numel()", "n = int(input())", "crash", "`input()`"),
}


MASKED = "tl.load(x_ptr + offsets, mask=mask, other=0.0)"
SLIPS: dict[str, tuple[str, str, str, str, str]] = {
    # what: (the exercise, what stands in its solution, what is written instead, the kind, words of the hint)
    "a program for each element": ("double", "(triton.cdiv(n, BLOCK_SIZE),)", "(n,)", "idle_programs", "counts blocks"),
    "a result stored by x's strides": (
        "copy_rows",
        "tl.store(out_ptr + row * n_cols + columns",
        "tl.store(out_ptr + row * row_stride + columns * column_stride",
        "race",
        "strides of its own",
    ),
    "a result stored by its columns only": (
        "copy_rows",
        "tl.store(out_ptr + row * n_cols + columns",
        "tl.store(out_ptr + columns",
        "race",
        "strides of its own",
    ),
    "rows that lie one element apart": (
        "copy_rows",
        "tl.store(out_ptr + row * n_cols + columns",
        "tl.store(out_ptr + row + columns",
        "race",
        "strides of its own",
    ),
    "tl.cdiv in the launcher": ("double", "triton.cdiv", "tl.cdiv", "crash", "`triton.cdiv(…)`"),
    "tl.zeros in the launcher": ("double", "torch.empty_like(x)", "tl.zeros(x.shape, tl.float32)", "crash", "`torch.zeros(…)`"),
    "tl.arange in the launcher": ("double", "n = x.numel()", "n = tl.arange(0, 8)", "crash", "`torch.arange(…)`"),
    "tl.next_power_of_2": ("copy_rows", "triton.next", "tl.next", "crash", "`triton.next_power_of_2(…)`"),
    "one number for arange": ("double", "tl.arange(0, ", "tl.arange(", "crash", "`tl.arange(0, BLOCK_SIZE)`"),
    "three numbers for arange": ("double", "tl.arange(0, BLOCK_SIZE)", "tl.arange(0, BLOCK_SIZE, 1)", "crash", "(start, end)"),
    "no axis": ("double", "axis=0", "", "crash", "`tl.program_id(axis=0)`"),
    "offsets beside the pointer": ("double", "x_ptr + offsets, mask", "x_ptr, offsets, mask", "crash", "x_ptr + offsets"),
    "a misspelt keyword": ("double", "mask=mask, other", "masks=mask, other", "crash", "`pointer`, `mask`, `other`"),
    "too many arguments": (
        "double",
        "x_ptr, out_ptr, n, BLOCK",
        "x_ptr, out_ptr, BLOCK",
        "crash",
        "This one gives `x`, `out`, `n`",
    ),
    "a misspelt function": ("double", "tl.program_id", "tl.programid", "crash", "`tl.program_id`"),
    "a function that there is not": ("double", "tl.store(", "tl.write(", "crash", "`tl.store`"),
    "a misspelt function of torch": ("double", "empty_like", "emtpy_like", "crash", "`torch.empty_like`"),
    "a misspelt module": ("double", "import torch\n", "import torch\nimport trition\n", "crash", "`import triton`"),
    "a method that there is not": ("double", "x.numel()", "x.len()", "crash", "`x.numel()`"),
    "the length of a pointer": ("double", "< n\n", "< len(x_ptr)\n", "crash", "A pointer is an address"),
    "numel of a pointer": ("double", "< n\n", "< x_ptr.numel()\n", "crash", "A pointer is an address"),
    "the shape of a pointer": ("double", "< n\n", "< x_ptr.shape[0]\n", "crash", "A pointer is an address"),
    "a number loaded": ("vector_scale", "a * x", "tl.load(a) * x", "crash", "use it as it is"),
    "flip without its axis": ("reverse", "x, mask=mask)", "tl.flip(x), mask=mask)", "crash", "`tl.flip(x, dim=None)`"),
    "a cast of torch's": ("double", "2.0 * x", "x.double()", "crash", "`x.to(tl.float32)`"),
    "an element of a pointer": (
        "program_ids",
        "tl.store(out_ptr + pid, pid)",
        "out_ptr[pid] = pid",
        "crash",
        "tl.store(out_ptr",
    ),
    "two pointers added": ("vector_add", "x + y, mask", "x_ptr + y_ptr, mask", "crash", "`tl.load` it"),
    "a load forgotten": ("reverse", "tl.load(x_ptr + n - 1 - offsets, mask=mask, other=0.0)", "x_ptr", "crash", "`tl.load` it"),
    "a stride not called": ("copy_rows", "x.stride(0)", "x.stride", "crash", "brackets are missing"),
    "a length not called": ("double", "x.numel()", "x.numel", "crash", "brackets are missing"),
    "a fraction as grid": ("double", "triton.cdiv(n, BLOCK_SIZE)", "n / BLOCK_SIZE", "crash", "rounds up"),
    "a number as grid": ("program_ids", "[(n,)]", "[n]", "crash", "`kernel[(n_programs,)](…)`"),
    "a shape as length": ("double", "x.numel()", "x.shape", "crash", "`x.shape[0]`"),
    "an axis too many": ("double", "x.numel()", "x.shape[1]", "crash", "for each axis"),
    "the launcher's own name in brackets": (
        "program_ids",
        "program_ids_kernel[",
        "program_ids[",
        "crash",
        "`program_ids_kernel[grid]",
    ),
    "a block for no elements": (
        "double",
        "[(triton.cdiv(n, BLOCK_SIZE),)](x, out, n, BLOCK_SIZE=BLOCK_SIZE)",
        "[(1,)](x, out, n, BLOCK_SIZE=triton.next_power_of_2(n))",
        "crash",
        "one lane at least",
    ),
    "blocks of no elements": (
        "double",
        "BLOCK_SIZE = 128",
        "BLOCK_SIZE = triton.next_power_of_2(n)",
        "crash",
        "one lane at least",
    ),
    "another exercise's function": ("double", "def double(x)", "def double(x, y)", "crash", "`double(x)`"),
    "bare arange": ("double", "tl.arange", "arange", "crash", "`tl.arange`"),
    "math not imported": ("double", "triton.cdiv(n, BLOCK_SIZE)", "math.ceil(n / BLOCK_SIZE)", "crash", "`import math`"),
    "a constant that is no argument": ("double", ", BLOCK_SIZE: tl.constexpr", "", "crash", "BLOCK_SIZE: tl.constexpr"),
    "a length that is no argument": ("double", "out_ptr, n,", "out_ptr,", "crash", "in the kernel's order"),
    "a misspelt constant": ("double", "pid * BLOCK_SIZE", "pid * BLOCKSIZE", "crash", "Did you mean `BLOCK_SIZE`?"),
    "a helper without its argument": (
        "double",
        "    pid = tl.program_id(axis=0)\n",
        "    pid = place()\n",
        "crash",
        "`place` has the arguments `axis`",
    ),
    "a misspelt variable": ("double", "mask=mask, other", "mask=maks, other", "crash", "`mask`"),
    "a number in another's place": (
        "vector_scale",
        "(x, out, a, n,",
        "(x, out, n, a,",
        "load_out_of_bounds",
        "in the kernel's order",
    ),
    "offsets in bytes": ("vector_add", "x_ptr + offsets", "x_ptr + 4 * offsets", "load_out_of_bounds", "not bytes"),
    "counted back from the start": ("reverse", "x_ptr + n - 1 - offsets", "x_ptr - offsets", "load_out_of_bounds", "n − 1 − i"),
    "not reversed at all": ("reverse", "x_ptr + n - 1 - offsets", "x_ptr + offsets", "unchanged", "not reversed"),
    "what a launch returns": ("double", "double_kernel[(", "out = double_kernel[(", "wrong_type", "A launch returns nothing"),
    "a kernel returned": ("double", "return out", "return double_kernel", "wrong_type", "`torch.empty_like(x)`"),
    "a kernel that is not started": (
        "double",
        "(x, out, n, BLOCK_SIZE=BLOCK_SIZE)\n    return out",
        "\n    return double_kernel[(1,)]",
        "no_kernel",
        "round brackets",
    ),
    "whole numbers": ("vector_scale", "empty_like(x)", "empty_like(x, dtype=torch.int32)", "wrong_dtype", "dtype"),
}


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))


def judged(tmp_path: Path, instead: dict[str, str]) -> Report:
    text = f"import numpy as np\ndef n_is(x):\n    return x.numel() == 0 or x[0].item() < 9\n{ANSWER}"
    for there, written in instead.items():
        assert there in text
        text = text.replace(there, written)
    path = tmp_path / "answer.py"
    path.write_text(text)
    return check_file("double", path, seed=0)


@pytest.mark.parametrize("what", MISTAKES)
def test_the_hint_says_what_to_do(what: str, tmp_path: Path) -> None:
    there, written, kind, words = MISTAKES[what]
    report = judged(tmp_path, {there: written})
    assert not report.passed
    assert (report.findings[0].kind, words in (report.hint or "")) == (kind, True), report


HELPER = "import triton, triton.language as tl\n@triton.jit\ndef place(axis):\n    return tl.program_id(axis)\n\n"


def solved(exercise: str) -> str:
    """The worked solution of an exercise."""
    notebook = ROOT / "solutions" / f"{catalog.find(exercise).lesson}.ipynb"
    return bundle_notebook(notebook, exercise).source


@pytest.mark.parametrize("what", SLIPS)
def test_the_hint_fits_the_slip(what: str, tmp_path: Path) -> None:
    exercise, there, written, kind, words = SLIPS[what]
    text = solved(exercise)
    assert there in text
    path = tmp_path / "answer.py"
    path.write_text(HELPER + text.replace(there, written))
    report = check_file(exercise, path, seed=0)
    assert not report.passed
    assert (report.findings[0].kind, words in (report.hint or "")) == (kind, True), report
    assert GENERAL["crash"] != report.hint


@pytest.mark.parametrize(
    ("name", "in_kernel", "words"),
    [
        ("F", False, "`import torch.nn.functional as F`"),
        ("tl", True, "`import triton.language as tl`"),
        ("np", True, "nothing of torch, NumPy"),
        ("sorted", True, "functions of `tl`"),
        ("trition", False, "Did you mean `triton`?"),
        ("PLACSE", False, "Did you mean `PLACES`?"),
        ("decimals", False, "Did you mean `decimal`?"),
        ("pirnt", False, "Did you mean `print`?"),
        ("cdiv", False, "`triton.cdiv(…)`"),
        ("cdiv", True, "`tl.cdiv`"),
    ],
)
def test_a_name_that_is_not_there_leads_to_its_import_or_to_the_nearest(name: str, in_kernel: bool, words: str) -> None:
    text = Text("import decimal\nPLACES = 3\ndef double(x): ...")
    for message in (f"name '{name}' is not defined", f"{name} is not defined"):
        trouble = Trouble(message, "", "double", in_kernel, text, "double", clues={"language": name == "cdiv"})
        assert words in (of_error(trouble) or "")


@pytest.mark.parametrize(
    ("loop", "grid", "waiting", "words"),
    [
        (True, (9999, 1, 1), False, None),
        (False, (9999, 1, 1), False, "9999"),
        (False, (9, 1, 1), True, "waits"),
        (False, (9, 1, 1), False, "tiles"),
    ],
)
def test_only_where_there_is_a_loop_it_may_not_end(loop: bool, grid: tuple[int, ...], waiting: bool, words: str | None) -> None:
    body = "    while offsets < n:\n        pass" if loop else "    pass"
    text = Text(f"@triton.jit\ndef helper():\n{body}\n@triton.jit\ndef kernel():\n    helper()")
    told = of_timeout(text, "kernel", grid, waiting)
    assert (told is None) == (words is None)
    assert told is None or words in told


@pytest.mark.parametrize(
    ("launch", "found"),
    [
        ("k[g](x, out, n, a)", ("n", "a")),
        ("k[g](out, x, a, n)", ("out", "x_ptr")),
        ("k[g](x, out, a, n)", None),
        ("k[g](x, x, a, n)", None),
        ("k[g](*both, n, a)", None),
        ("k[g](x, out, 2, n)", None),
    ],
)
def test_arguments_count_as_exchanged_only_by_their_names(launch: str, found: tuple[str, str] | None) -> None:
    exchanged = Text(f"@triton.jit\ndef k(x_ptr, out_ptr, a, n): ...\n{launch}").exchanged()
    assert (exchanged and exchanged[1:]) == found


@pytest.mark.parametrize(
    ("exercise", "there", "written", "shown"),
    [
        ("vector_add", "x + y", "x - y", [", with x[0] = ", ", y[0] = "]),
        ("vector_scale", "a * x", "a + x", [", with x[0] = ", ", a = "]),
        ("reverse", "n - 1 - offsets", "(offsets + 1) % n", []),
        ("program_ids", "pid, pid", "pid, pid * pid", []),
        ("stable_softmax", "share.to", "(0.5 * share).to", []),  # one row's shares move on with its scores, and depend on all
    ],
)
def test_a_wrong_element_is_shown_with_what_it_is_made_of(
    exercise: str, there: str, written: str, shown: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "answer.py"
    path.write_text(solved(exercise).replace(there, written))
    report = check_file(exercise, path, seed=0)
    assert ": got " in repr(report)
    for text in (repr(report), report._repr_html_()):
        assert [words in text for words in shown] == [True] * len(shown)
        assert bool(shown) == (", with " in text)


def test_an_operation_of_torch_is_named_as_it_is_written(tmp_path: Path) -> None:
    report = judged(tmp_path, {"return out": "out += x[:1].sum().item()\n    return out"})
    assert "`.item()`" in report.findings[0].message and "`+=`" in report.findings[0].message
    assert "_local_scalar_dense" not in repr(report)


def test_numbers_from_before_the_call_are_said_to_be_so(tmp_path: Path) -> None:
    table = {"@triton.jit": "TABLE = 2.0 * torch.ones(4096)\n\n@triton.jit", "(x, out, n,": "(x, out, TABLE, n,"}
    report = judged(tmp_path, table | {"(x_ptr, out_ptr,": "(x_ptr, out_ptr, table,", "2.0 * x,": "tl.load(table) * x,"})
    assert report.findings[0].kind == "computed_outside"
    assert report.findings[0].message == "`table` holds numbers that were not made in this call, by torch or a kernel"


def test_a_gpu_is_named_as_people_know_it(tmp_path: Path) -> None:
    report = judged(tmp_path, {STORE: f"if mask:\n        {STORE}"})
    assert "a T4 (sm_75)" in report.findings[0].message


def test_what_a_kernel_prints_is_shown_with_its_program_and_in_short(tmp_path: Path) -> None:
    report = judged(tmp_path, {STORE: f'tl.device_print("x", x)\n    {STORE}'})
    assert report.passed
    first = report.printed.splitlines()[0]
    assert first.startswith("(0, 0, 0)") and "..." in first


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ("tl.load(x_ptr.to(tl.pointer_type(tl.int64)) + offsets, mask=mask, other=0)", "no whole element"),
        (
            "tl.load((x_ptr.to(tl.pointer_type(tl.int8)) + 4 * offsets + 1).to(tl.pointer_type(tl.float32)), mask, 0.0)",
            "no whole element",
        ),
        ("tl.load(x_ptr.to(tl.pointer_type(tl.int8)) + 4 * offsets, mask=offsets <= n, other=0)", "1 element past the end"),
    ],
)
def test_pointers_to_another_type_are_reported_in_the_tensors_elements(load: str, words: str, tmp_path: Path) -> None:
    report = judged(tmp_path, {LOAD: load})
    assert report.findings[0].kind == "load_out_of_bounds"
    assert words in report.findings[0].message
