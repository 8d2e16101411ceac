"""What beginners write, and whether the report says what to do about it, whatever the versions' own messages are."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.checking.check import check_file
from course_lib.checking.findings import Report

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
    "tensors exchanged": ("(x, out, n,", "(out, x, n,", "input_changed", "`torch.empty_like(x)`"),
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
