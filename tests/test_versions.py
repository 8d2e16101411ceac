"""What kernels are made of, once each: a right answer that uses it passes with every supported Triton that has it."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest

from course_lib.checking.check import check_file

TRITON = tuple(int(part) for part in version("triton").split(".")[:2])

ANSWER = """
import torch, triton, triton.language as tl
import triton.language as T
from triton.language import load, where

TWO = tl.constexpr(2)

@triton.jit
def add(a, b):
    return a + b

@triton.jit
def larger(a, b):
    if a > b:
        return a
    return b

@triton.jit
def larger_of(a, b):
    return larger(a, b)

@triton.jit
def double_kernel(x_ptr, out_ptr, n, {star}BLOCK: {constexpr}):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
{body}

def double(x):
    out = torch.{fresh}_like(x)
    double_kernel[lambda meta: ({programs},)](x, out, x.numel(), BLOCK={block})
    return out
"""
LOAD = "x = tl.load(x_ptr + offsets, mask=mask, other=0.0)"
STORE = "tl.store(out_ptr + offsets, y, mask=mask)"
PAIRS = f"{LOAD}\npairs = tl.broadcast_to(x[:, None], (BLOCK, 2))"
ONE_PROGRAM = {"programs": "1 if x.numel() else 0"}

KERNELS: dict[str, tuple[str, dict[str, str]]] = {
    "a loop with a runtime bound": (
        """
        for start in tl.range(0, n, BLOCK):
            offsets = start + tl.arange(0, BLOCK)
            x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
            tl.store(out_ptr + offsets, 2 * x, mask=offsets < n)""",
        ONE_PROGRAM,
    ),
    "a while": (
        """
        while tl.min(offsets) < n:
            x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
            tl.store(out_ptr + offsets, 2 * x, mask=offsets < n)
            offsets += BLOCK""",
        ONE_PROGRAM,
    ),
    "and on tiles": (f"{LOAD}\ny = 2 * x\nmask = (offsets < n) and (offsets >= 0)\n{STORE}", {}),
    "a helper": (f"{LOAD}\ny = add(x, x)\n{STORE}", {}),
    "a constant before a tile": (f"{LOAD}\ny = TWO * x\n{STORE}", {}),
    "names without tl": (LOAD.replace("tl.load", "load") + f"\ny = where(x == x, 2 * x, x)\n{STORE}", {}),
    "a constexpr under another name": (f"{LOAD}\ny = 2 * x\n{STORE}", {"constexpr": "T.constexpr"}),
    "a reduction whose helper branches": (f"{PAIRS}\ny = tl.reduce(pairs, 1, larger_of) * 2\n{STORE}", {}),
    "a flip back and forth": (f"{LOAD}\ny = 2 * tl.flip(tl.flip(x, 0), 0)\n{STORE}", {}),
    "pairs of elements as one": (
        """
        x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
        tl.store(out_ptr + offsets, 2 * x, mask=mask)
        pair = tl.program_id(0) * (BLOCK // 2) + tl.arange(0, BLOCK // 2)
        whole = pair < n // 2
        two = tl.load(x_ptr.to(tl.pointer_type(tl.int64)) + pair, mask=whole, other=0)
        tl.store(x_ptr.to(tl.pointer_type(tl.int64)) + pair, two, mask=whole & (n < 0))""",
        {},
    ),
    "two stores by the same lanes": (f"{LOAD}\ny = x\n{STORE}\ny = 2 * x\n{STORE}", {}),
    "a sum": (f"{PAIRS}\ny = tl.sum(pairs, axis=1)\n{STORE}", {}),
    "a maximum": (f"{PAIRS}\ny = 2 * tl.max(pairs, axis=1)\n{STORE}", {}),
    "a reduction of its own": (f"{PAIRS}\ny = tl.reduce(pairs, 1, add)\n{STORE}", {}),
    "a scan": (
        f"{PAIRS}\nlast = tl.cumsum(pairs, axis=1)\ny = tl.max(tl.abs(last), axis=1)\ny = tl.where(x < 0, -y, y)\n{STORE}",
        {},
    ),
    "join and split": (f"{LOAD}\na, b = tl.split(tl.join(x, x))\ny = a + b\n{STORE}", {}),
    "a dot": (
        """
        r = tl.arange(0, 16)
        offsets = tl.program_id(0) * BLOCK + r[:, None] * 16 + r[None, :]
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        usual = tl.abs(x) < 1e38  # an infinity would meet the zeros beside it
        two = tl.where(r[:, None] == r[None, :], 2.0, 0.0)
        y = tl.dot(tl.where(usual, x, 0.0), two, input_precision="ieee")
        tl.store(out_ptr + offsets, tl.where(usual, y, 2 * x), mask=offsets < n)""",
        {"block": "256"},
    ),
    "atomic additions": (
        f"{LOAD}\ntl.atomic_add(out_ptr + offsets, x, mask=mask)\ntl.atomic_add(out_ptr + offsets, x, mask=mask)",
        {"fresh": "zeros"},
    ),
    "a pointer chosen among two": (f"{LOAD}\nout_ptr = tl.where(n > 0, out_ptr, x_ptr)\ny = 2 * x\n{STORE}", {}),
    "block pointers": (
        """
        first = tl.program_id(0) * BLOCK
        x = tl.load(tl.make_block_ptr(x_ptr, (n,), (1,), (first,), (BLOCK,), (0,)), boundary_check=(0,))
        tl.store(tl.make_block_ptr(out_ptr, (n,), (1,), (first,), (BLOCK,), (0,)), 2 * x, boundary_check=(0,))""",
        {},
    ),
    "a chained comparison": (f"{LOAD}\nmask = 0 <= offsets < n\ny = 2 * x\n{STORE}", {}),
    "a chained comparison below a `not`": (f"{LOAD}\nmask = not (n <= offsets < 2 * n + BLOCK)\ny = 2 * x\n{STORE}", {}),
    "keyword-only arguments": (f"{LOAD}\ny = 2 * x\n{STORE}", {"star": "*, "}),
    "atomic stores by two programs": (
        """
        offsets = tl.program_id(0) // 2 * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)
        tl.atomic_store(out_ptr + offsets, 2 * x, mask=offsets < n)""",
        {"programs": "2 * triton.cdiv(x.numel(), meta['BLOCK'])"},
    ),
}

FROM_3_9 = {
    "a chained comparison",
    "a chained comparison below a `not`",
    "keyword-only arguments",
    "atomic stores by two programs",
}
UNTIL_3_8 = {"block pointers"}


def source(what: str) -> str:
    body, options = KERNELS[what]
    lines = [line.removeprefix("    " * 2) for line in body.strip("\n").splitlines()]
    holes = {"star": "", "constexpr": "tl.constexpr", "fresh": "empty", "block": "64"}
    holes["programs"] = "triton.cdiv(x.numel(), meta['BLOCK'])"
    return ANSWER.format(body="\n".join(f"    {line}" for line in lines), **(holes | options))


@pytest.mark.parametrize("what", KERNELS)
def test_a_right_answer_passes_with_each_triton_that_has_what_it_uses(what: str, tmp_path: Path) -> None:
    if what in FROM_3_9 and TRITON < (3, 9):
        pytest.skip("new in Triton 3.9")
    if what in UNTIL_3_8 and TRITON > (3, 8):
        pytest.skip("gone in Triton 3.9")
    path = tmp_path / "answer_file.py"
    path.write_text(source(what))
    report = check_file("double", path, seed=0)
    assert report.passed, report
    assert {skip.stage for skip in report.skipped} <= {"gpu"}


@pytest.mark.parametrize("what", sorted(FROM_3_9 | UNTIL_3_8))
def test_what_this_triton_lacks_is_refused(what: str, tmp_path: Path) -> None:
    if (what in FROM_3_9) == (TRITON >= (3, 9)):
        pytest.skip("this Triton has it")
    path = tmp_path / "answer_file.py"
    path.write_text(source(what))
    report = check_file("double", path, seed=0)
    assert report.judged and not report.passed
    assert report.findings[0].kind in ("crash", "does_not_compile")
