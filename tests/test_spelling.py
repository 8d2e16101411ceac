"""Kernels that spell Triton's language in other ways than `tl.…`: the interpreter takes what the compiler takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.checking.check import check_file

KERNEL = """
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2 * x, mask=mask)

def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""
IMPORTS = "import torch, triton\n"
USUAL = "import triton.language as tl\n"
FUTURE = "from __future__ import annotations\n"
BY_NAME = "from triton.language import arange, constexpr, load, program_id, store\n"
PLACE = "tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)"

SPELLED = {
    "by name": IMPORTS + BY_NAME + KERNEL.replace("tl.", ""),
    "by name, annotations not evaluated": FUTURE + IMPORTS + BY_NAME + KERNEL.replace("tl.", ""),
    "all names": IMPORTS + "from triton.language import *\n" + KERNEL.replace("tl.", ""),
    "another alias": IMPORTS + "import triton.language as T\n" + KERNEL.replace("tl.", "T."),
    "another alias in a string": IMPORTS
    + "import triton.language as T\n"
    + KERNEL.replace("tl.constexpr", "'T.constexpr'").replace("tl.", "T."),
    "in full": IMPORTS + KERNEL.replace("tl.", "triton.language."),
    "from triton": IMPORTS
    + "from triton import jit, language\n"
    + KERNEL.replace("tl.", "language.").replace("triton.jit", "jit"),
    "the core": IMPORTS + "import triton.language.core as tl\n" + KERNEL,
    "a helper by name": IMPORTS
    + USUAL
    + "from triton.language import arange, program_id\n\n"
    + "@triton.jit\ndef place(BLOCK: tl.constexpr):\n    return program_id(0) * BLOCK + arange(0, BLOCK)\n"
    + KERNEL.replace(PLACE, "place(BLOCK)"),
    "mathematics": IMPORTS
    + USUAL
    + "from triton.language import math\nfrom triton.language.math import abs\n"
    + KERNEL.replace("2 * x,", "x + tl.where(x < 0, -abs(x), math.abs(x)),"),
    "reductions by name": IMPORTS
    + USUAL
    + "from triton.language import sum, where, zeros, float32\n"
    + KERNEL.replace("2 * x,", "where(x == x, 2 * x, x) + 0 * sum(zeros((BLOCK,), float32), axis=0),"),
    "ranges and assertions by name": IMPORTS
    + USUAL
    + "from triton.language import multiple_of, range as steps, static_assert, static_range\n"
    + KERNEL.replace(
        "    mask =",
        "    static_assert(BLOCK == 64)\n    offsets = multiple_of(offsets, 1)\n"
        "    for _ in static_range(2):\n        for _ in steps(2):\n            tl.debug_barrier()\n    mask =",
    ),
}


@pytest.mark.parametrize("how", SPELLED)
def test_a_kernel_may_spell_the_language_as_the_compiler_knows_it(tmp_path: Path, how: str) -> None:
    path = tmp_path / "answer_file.py"
    path.write_text(SPELLED[how])
    report = check_file("double", path, seed=0)
    assert report.passed, report


@pytest.mark.parametrize("module", ["triton.language.extra", "triton.language.extra.cuda"])
def test_libdevice_cannot_be_judged_on_the_cpu(tmp_path: Path, module: str) -> None:
    path = tmp_path / "answer_file.py"
    kernel = KERNEL.replace("2 * x,", "libdevice.fma(x, 2.0, 0.0),")
    path.write_text(IMPORTS + USUAL + f"from {module} import libdevice\n" + kernel)
    report = check_file("double", path, seed=0)
    assert not report.passed and not report.judged
    assert "libdevice" in report.findings[0].message and "`fma`" in report.findings[0].message
