"""Taking an answer along: from a file as it is, from a module by following the names that it uses."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course_lib.checking.bundle import CannotBundle, bundle_file, bundle_function, bundle_kernel

MODULE = '''
import math
import math as m
from collections import namedtuple
from dataclasses import dataclass
import torch

SIZE, SIZES = 128, {"a": (1, 2.5), "b": [float("inf"), None, True]}
KIND = torch.float16
unused = object()


@dataclass(frozen=True)
class Plan:
    block: int = SIZE

    def blocks(self, n):
        return math.ceil(n / self.block)


def even(n):
    return n == 0 or odd(n - 1)


def odd(n):
    return n != 0 and even(n - 1)


def decorate(function):
    return function


@decorate
def answer(n, default=SIZE):
    """Uses n, and a local called unused."""
    unused = [m.floor(n) for n in range(3)]

    def inner():
        return SIZES["a"][1] + len(unused)

    return Plan().blocks(n) + inner() + default, even(4), KIND


other_name = answer
'''


def load(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def result_of(source: str, name: str, *arguments: Any) -> Any:
    namespace: dict[str, Any] = {"__name__": "alone"}
    sys.modules["alone"] = ModuleType("alone")
    exec(compile(source, "answer.py", "exec"), namespace)
    return namespace[name](*arguments)


@pytest.fixture
def module(tmp_path: Path) -> ModuleType:
    path = tmp_path / "written.py"
    path.write_text(MODULE)
    return load(path, "written_for_a_test")


def test_a_function_takes_along_all_it_uses_and_nothing_else(module: ModuleType) -> None:
    bundle = bundle_function(module.answer, "answer")
    assert result_of(bundle.source, "answer", 300) == module.answer(300)
    assert "namedtuple" not in bundle.source
    assert "object()" not in bundle.source


def test_an_alias_is_called_by_the_name_that_is_asked_for(module: ModuleType) -> None:
    bundle = bundle_function(module.other_name, "vector_add")
    assert result_of(bundle.source, "vector_add", 1) == module.answer(1)


def test_a_line_of_the_bundle_is_known_by_its_place_in_the_file(module: ModuleType) -> None:
    bundle = bundle_function(module.answer, "answer")
    number = next(i for i, text in enumerate(bundle.source.splitlines(), 1) if "Plan().blocks(n)" in text)
    line = bundle.line(number)
    wanted = next(i for i, text in enumerate(MODULE.splitlines(), 1) if "Plan().blocks(n)" in text)
    assert (line.origin, line.line) == ("written.py", wanted)
    assert line.text.startswith("return Plan()")


def test_the_same_name_with_two_meanings_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    factory = "def make(block):\n    def helper(): return block\n    return helper\n"
    path.write_text(factory + "a, b = make(1), make(2)\ndef answer(): return a() + b()\n")
    with pytest.raises(CannotBundle, match="two different things"):
        bundle_function(load(path, "twice").answer, "answer")


def test_a_file_is_taken_as_it_is_and_not_run(tmp_path: Path) -> None:
    path = tmp_path / "answer_file.py"
    path.write_text("raise SystemExit('run')\ndef double(x): return x\n")
    bundle = bundle_file(path, "double")
    assert bundle.source == path.read_text()
    assert bundle.line(2).origin == "answer_file.py"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"def double(x:\n", "line 1"),
        (b"def other(x): return x\n", "does not define"),
        (b"\xff\xfe\x00", "cannot be read"),
        (b"def double(x):\n\treturn 1\n        return 2\n", "line 3"),
        (b"double = \x00", "Python cannot read"),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "bad.py"
    path.write_bytes(content)
    with pytest.raises(CannotBundle, match=words) as caught:
        bundle_file(path, "double")
    assert "bad.py" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CannotBundle, match="cannot be read"):
        bundle_file(tmp_path / "nowhere.py", "double")


KERNEL = """
import triton
import triton.language as tl

OFFSET = tl.constexpr(7)


@triton.jit
def shifted(x):
    return x + OFFSET


@triton.jit
def shift_kernel(x_ptr):
    tl.store(x_ptr, shifted(tl.load(x_ptr)))
"""


def test_a_kernel_travels_under_its_own_name_with_its_helpers_and_constants(tmp_path: Path):
    path = tmp_path / "shifting.py"
    path.write_text(KERNEL)
    module = load(path, "shifting")
    bundle = bundle_kernel(module.shift_kernel)
    assert bundle.name == "shift_kernel"
    path.with_name("rebuilt.py").write_text(bundle.source)
    rebuilt = load(path.with_name("rebuilt.py"), "rebuilt")
    assert rebuilt.OFFSET.value == 7
    assert type(rebuilt.shift_kernel) is type(module.shift_kernel)
    assert bundle.line(bundle.source.splitlines().index("    return x + OFFSET") + 1).line == 10


@pytest.mark.parametrize("value", [len, lambda x: x, 3, None])
def test_only_a_kernel_is_taken_as_one(value: Any):
    with pytest.raises(CannotBundle, match=r"decorated with @triton\.jit"):
        bundle_kernel(value)
