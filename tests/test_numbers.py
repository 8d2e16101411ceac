"""Exercises whose answer is plain Python or torch: what may come back, what is forbidden, and what is compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from course_lib import catalog
from course_lib.catalog.model import Exercise, Hint, Lesson, Tolerance
from course_lib.checking.check import check_file
from course_lib.checking.findings import Report
from course_lib.checking.plain_numbers import Numbers, as_numbers
from course_lib.machine.undefined import UNDEFINED


def matrix(generator: torch.Generator, m: int, n: int) -> tuple[Any, ...]:
    return (torch.randn(m, n, generator=generator),)


def exercise(name: str, signature: str, reference: Callable[..., Any], **more: Any) -> Exercise:
    given: dict[str, Any] = {
        "lesson": "99_test",
        "statement": "",
        "make_inputs": lambda generator, n: (n, n + 0.5),
        "cases": tuple({"n": n} for n in (3, 1, 7)),
        "hints": (Hint("Look again."),),
        "works_on": "numbers",
    }
    return Exercise(name=name, signature=f"{name}({signature})", reference=reference, **{**given, **more})


EXERCISES = (
    exercise(
        "stable",
        "x",
        lambda x: torch.softmax(x, dim=1),
        make_inputs=matrix,
        cases=({"m": 2, "n": 3}, {"m": 3, "n": 7}, {"m": 0, "n": 3}),
        tolerance=Tolerance(1e-5, 1e-7),
        forbids=frozenset({"softmax", "logsumexp", "_local_scalar_dense", "tolist", "numpy"}),
    ),
    exercise("whole", "n, x", lambda n, x: 3 * n),
    exercise("real", "n, x", lambda n, x: x / n, tolerance=Tolerance(1e-9)),
    exercise("several", "n, x", lambda n, x: [n, x]),
)
STABLE = """
import torch

def stable(x):
    e = torch.exp(x - x.amax(dim=1, keepdim=True))
    return e / e.sum(dim=1, keepdim=True)
"""


@pytest.fixture(autouse=True)
def _own_course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setattr(catalog, "LESSONS", (Lesson("99_test", "Test", 1, EXERCISES),))


def judged(tmp_path: Path, name: str, text: str) -> Report:
    path = tmp_path / "answer.py"
    path.write_text(text)
    return check_file(name, path, seed=0)


def test_no_kernel_is_asked_for_and_nothing_is_compiled(tmp_path: Path) -> None:
    report = judged(tmp_path, "stable", STABLE)
    assert report.passed
    assert (report.stages, report.skipped) == (("run", "rules", "values"), ())


@pytest.mark.parametrize(
    ("there", "instead", "kind", "words"),
    [
        ("e / e.sum(dim=1, keepdim=True)", "torch.softmax(x, dim=1)", "forbidden", "`softmax`"),
        ("e / e.sum(dim=1, keepdim=True)", "torch.log_softmax(x, dim=1).exp()", "forbidden", "log_softmax"),
        ("e / e.sum(dim=1, keepdim=True)", "(x - x.logsumexp(dim=1, keepdim=True)).exp()", "forbidden", "logsumexp"),
        ("    e = ", "    x -= 1\n    e = ", "input_changed", "`x`"),
        ("return e / e", "return e / 2 / e", "scaled", "0.5 times"),
        ("return e", "return 1.0 * e.double()", "wrong_dtype", "float64"),
        ("return e / e.sum(dim=1, keepdim=True)", "return [e / e.sum(dim=1, keepdim=True)]", "wrong_type", "a list"),
        ("return e / e.sum(dim=1, keepdim=True)", "return e.to_sparse()", "wrong_type", "a torch tensor was expected"),
        ("return e / e.sum(dim=1, keepdim=True)", "return e.sum(dim=1)", "wrong_shape", "(2,)"),
        ("return e / e", "return torch.empty_like(e) + e / e", "nan", "NaN"),
        ("torch.exp(x", "torch.exq(x", "crash", "exq"),
        ("    e = ", "    raise NotImplementedError()\n    e = ", "not_done", "blank"),
    ],
)
def test_wrong_tensors_are_told_with_the_reason(tmp_path: Path, there: str, instead: str, kind: str, words: str) -> None:
    assert STABLE.count(there) == 1
    report = judged(tmp_path, "stable", STABLE.replace(there, instead))
    assert [finding.kind for finding in report.findings] == [kind]
    assert words in repr(report)


DIVISION = "e / e.sum(dim=1, keepdim=True)"
DISGUISES = {
    "as a method": "x.softmax(1)",
    "of torch.nn": "torch.nn.Softmax(dim=1)(x)",
    "with the sign changed": "torch.nn.functional.softmin(-x, 1)",
    "of torch.special": "torch.special.softmax(x, 1)",
    "by its inner name": "torch._softmax(x, 1, False)",
    "by its operator": "torch.ops.aten._softmax.default(x, 1, False)",
    "by a name that is put together": "getattr(torch, 'soft' + 'max')(x, 1)",
    "into a tensor that is there": "torch.softmax(x, 1, out=torch.empty_like(x))",
    "that forgives rows of −inf": "torch._safe_softmax(x, 1)",
    "in a script": "torch.jit.script(scripted)(x)",
    "row by row": "torch.vmap(lambda row: torch.softmax(row, 0))(x)",
    "in an operator of one's own": "hidden(x)",
    "compiled": "torch.compile(torch.softmax)(x, 1)",
    "in another thread": "ThreadPoolExecutor(1).submit(torch.softmax, x, 1).result()",
    "in another process": "e / e.sum(1, keepdim=True) if subprocess.run(['true']) else e",
    "as a derivative": "torch.func.grad(lambda y: torch.logsumexp(y, 1).sum())(x)",
    "in NumPy": "torch.from_numpy(np.from_dlpack(e) / np.from_dlpack(e).sum(1, keepdims=True))",
    "in Python": "torch.tensor([[value / sum(row) for value in row] for row in e.tolist()]).reshape(x.shape)",
    "value by value": "e / torch.tensor([[float(row.sum())] for row in e]).reshape(-1, 1)",
}
"""Ways to a softmax that are not to be gone, in place of the division."""
BEFORE = """
import subprocess
import numpy as np
import torch
from concurrent.futures import ThreadPoolExecutor

def scripted(x: torch.Tensor):
    return torch.softmax(x, 1)

@torch.library.custom_op("tests::hidden", mutates_args=())
def hidden(x: torch.Tensor) -> torch.Tensor:
    return torch.softmax(x, 1)
"""


@pytest.mark.parametrize("disguise", DISGUISES)
def test_what_is_forbidden_is_known_by_any_name(tmp_path: Path, disguise: str) -> None:
    report = judged(tmp_path, "stable", BEFORE + STABLE.replace(DIVISION, DISGUISES[disguise]))
    assert [finding.kind for finding in report.findings] == ["forbidden"], report


@pytest.mark.parametrize("change", ["x -= 1", "x[0] = 2", "torch.exp(x, out=x)", "y = x.view(-1); y.mul_(3)"])
def test_the_line_that_changes_an_input_is_named(tmp_path: Path, change: str) -> None:
    report = judged(tmp_path, "stable", STABLE.replace("    return", f"    {change}\n    return"))
    assert [finding.kind for finding in report.findings] == ["input_changed"]
    assert report.findings[0].source is not None and report.findings[0].source.text == change
    assert "by torch." in repr(report)


def test_what_is_printed_is_not_computed_with(tmp_path: Path) -> None:
    printed = STABLE.replace("    return", "    print(e, f'{e.sum()} {e.sum():.3f} {e}')\n    return")
    report = judged(tmp_path, "stable", printed)
    assert report.passed, report
    assert "tensor(" in report.printed


def test_what_is_compiled_is_judged_by_what_it_computes(tmp_path: Path) -> None:
    report = judged(tmp_path, "stable", STABLE.replace("def stable", "@torch.compile\ndef stable"))
    assert report.passed, report


def test_a_copy_without_elements_is_no_copy_of_itself(tmp_path: Path) -> None:
    report = judged(tmp_path, "stable", STABLE.replace(DIVISION, f"({DIVISION}).double().float().clone()"))
    assert report.passed, report


def test_a_result_that_is_used_again_is_noticed(tmp_path: Path) -> None:
    kept = STABLE.replace("def stable", "kept = torch.zeros(1000)\n\ndef stable").replace(
        "return e / e.sum(dim=1, keepdim=True)",
        "out = kept[: x.numel()].view(x.shape)\n    out.copy_(e / e.sum(dim=1, keepdim=True))\n    return out",
    )
    assert [finding.kind for finding in judged(tmp_path, "stable", kept).findings] == ["overwritten"]


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("whole", "3 * n"),
        ("whole", "float(3 * n)"),
        ("whole", "torch.tensor(3 * n)"),
        ("real", "x / n"),
        ("real", "__import__('numpy').float64(x / n)"),
        ("several", "(n, x)"),
        ("several", "torch.tensor([n, x])"),
    ],
)
def test_a_number_may_come_in_any_form(tmp_path: Path, name: str, result: str) -> None:
    report = judged(tmp_path, name, f"import torch\n\ndef {name}(n, x):\n    return {result}\n")
    assert report.passed, report


@pytest.mark.parametrize(
    ("name", "result", "kind", "words"),
    [
        ("whole", "3 * n + 1", "mismatch", "With n=1: the number is wrong.\n  got 4, expected 3"),
        ("whole", "str(3 * n)", "wrong_type", "a str, '3'; a number was expected"),
        ("whole", "None", "wrong_type", "is the `return` missing?"),
        ("whole", "True", "wrong_type", "a bool, True"),
        ("whole", "[3 * n]", "wrong_type", "a list of 1 number; a number was expected"),
        ("whole", "10 ** 400", "mismatch", "got inf, expected 3"),
        ("real", "x / n / 8", "scaled", "in every case the number is 0.125 times what it should be"),
        ("whole", "6 * n if n > 1 else 3", "mismatch", "With n=3: the number is wrong"),
        ("real", "float('nan')", "nan", "got nan"),
        ("real", "torch.ones(2, 2)", "wrong_type", "a tensor of shape (2, 2); a number was expected"),
        ("several", "n", "wrong_type", "a single number; a list of numbers was expected"),
        ("several", "[n]", "wrong_shape", "has 1 number; expected were 2"),
        ("several", "[n, n]", "mismatch", "element 1: got 1, expected 1.5"),
    ],
)
def test_wrong_numbers_are_told_with_the_reason(tmp_path: Path, name: str, result: str, kind: str, words: str) -> None:
    report = judged(tmp_path, name, f"import torch\n\ndef {name}(n, x):\n    return {result}\n")
    assert [finding.kind for finding in report.findings] == [kind]
    assert words in repr(report)
    assert report.hint


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (3, Numbers("number", (3.0,))),
        (np.int32(3), Numbers("number", (3.0,))),
        (torch.tensor(2.5), Numbers("number", (2.5,))),
        (range(3), None),
        ((1, torch.tensor(2)), Numbers("list", (1.0, 2.0))),
        ([], Numbers("list", ())),
        ([[1]], None),
        ("1", None),
        (False, None),
        (1 + 2j, None),
    ],
)
def test_numbers_are_recognised(value: Any, numbers: Numbers | None) -> None:
    assert as_numbers(value) == numbers


def test_undefined_numbers_keep_their_places() -> None:
    found = as_numbers((1.0, UNDEFINED))
    assert found is not None and found.undefined == (1,)
    assert found.tensor.isnan().tolist() == [False, True]
