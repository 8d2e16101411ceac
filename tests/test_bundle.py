"""Taking an answer along: from a file as it is, from a module by following the names that it uses."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from course_lib.checking.bundle import bundle_file
from course_lib.checking.collect import bundle_function, bundle_kernel
from course_lib.checking.source import CannotBundle

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


def test_an_alias_comes_along(module: ModuleType) -> None:
    bundle = bundle_function(module.other_name, "vector_add")
    assert result_of(bundle.source, bundle.name, 1) == module.answer(1)


def test_a_line_of_the_bundle_is_known_by_its_place_in_the_file(module: ModuleType) -> None:
    bundle = bundle_function(module.answer, "answer")
    number = next(i for i, text in enumerate(bundle.source.splitlines(), 1) if "Plan().blocks(n)" in text)
    line = bundle.line(number)
    wanted = next(i for i, text in enumerate(MODULE.splitlines(), 1) if "Plan().blocks(n)" in text)
    assert (line.origin, line.line) == ("written.py", wanted)
    assert line.text.startswith("return Plan()")


KINDS = {
    "a class without methods": """
class Config:
    BLOCK = 64
def answer(): return Config.BLOCK, Config().BLOCK
""",
    "a class and its base": """
class Base:
    def one(self): return SIZE
class Derived(Base):
    two = 2
SIZE = 7
def answer(): return Derived().one() + Derived.two
""",
    "dataclasses, and an instance of one": """
from dataclasses import dataclass, field
@dataclass
class Plan:
    block: int = 32
    sizes: list = field(default_factory=lambda: [1, 2])
@dataclass(frozen=True, slots=False)
class Frozen:
    plan: Plan
PLAN = Frozen(Plan(64))
def answer(): return PLAN.plan.block, PLAN.plan.sizes, Plan().block
""",
    "named tuples": """
from collections import namedtuple
from typing import NamedTuple
Point = namedtuple("Point", "x y", defaults=[5])
class Tile(NamedTuple):
    rows: int
    columns: int = 16
    def size(self): return self.rows * self.columns
TILE = Tile(4)
def answer(): return tuple(Point(1)), TILE.size(), tuple(TILE)
""",
    "an enumeration and a member": """
from enum import Enum, IntEnum
class Mode(Enum):
    FAST = 1
    SAFE = "s"
class Level(IntEnum):
    HIGH = 3
MODE = Mode.SAFE
def answer(level=Level.HIGH): return MODE is Mode.SAFE, MODE.value, Mode.FAST.value, level + 1
""",
    "plain objects": """
from types import SimpleNamespace
class Cache:
    def __init__(self, size): self.size = size
    def get(self): return self.size
CACHE, SPACE = Cache(9), SimpleNamespace(a=1, b=(2, None))
get = CACHE.get
def answer(): return CACHE.get(), SPACE.a, SPACE.b, get()
""",
    "decorators of libraries": """
import functools, torch
@functools.lru_cache(maxsize=None)
def square(n): return n * n + OFFSET
@functools.cache
def cube(n): return n ** 3
OFFSET = 1
@torch.no_grad()
def answer(): return square(3), cube(2), torch.is_grad_enabled()
""",
    "a decorator of one's own": """
import functools
def twice(function):
    @functools.wraps(function)
    def inner(*args): return 2 * function(*args)
    return inner
def thrice(function):
    def inner(*args): return 3 * function(*args)
    return inner
@twice
def two(): return 1
@thrice
def three(): return 1
@thrice
def answer(): return two() + three()
""",
    "partial functions": """
from functools import partial
def add(x, y, z=0): return x + y + z
add_two = partial(add, 2, z=SIZE) if (SIZE := 5) else None
def answer(): return add_two(1)
answer = partial(answer)
""",
    "lambdas": """
cdiv = lambda a, b: (a + b - 1) // b
table = {"up": lambda n: n + STEP, "down": lambda n: n - STEP}
first, second = (lambda: 1), (lambda: 2)
STEP = 10
def scaled(by): return lambda n: (
    n * by
    + STEP
)
fivefold = scaled(5)
answer = lambda n=3: (cdiv(n, 2), table["up"](n), table["down"](n), first(), second(), fivefold(n))
""",
    "closures over plain data": """
def make(block, sizes=(1,)):
    def launch(n): return n * block + sum(sizes)
    return launch
small, large = make(2), make(64, sizes=[5, 6])
block = 1000
def answer(): return small(1), large(1), block
""",
    "closures that call each other": """
def make():
    def down(n): return "end" if n == 0 else down(n - 1)
    def start(n): return down(n)
    return start
answer = (lambda start: lambda: start(3))(make())
""",
    "defaults that changed since": """
SIZE = 64
def one(n=SIZE, *, other=SIZE): return n, other
def made():
    for size in (1, 2):
        def two(n=size): return n
        yield two
a, b = made()
def answer(): return one(), a(), b()
""",
    "a name redefined, with the old meaning kept": """
def helper(): return "old"
old = helper
def helper(): return "new" + old()
def answer(): return helper(), old()
""",
    "functions in a dict and in a list": """
def up(n): return n + 1
def down(n): return n - 1
TABLE = {"up": up, "both": [up, down]}
def answer(): return TABLE["up"](1), [step(1) for step in TABLE["both"]]
""",
    "annotations of many kinds": """
from typing import Annotated, Callable, Optional, Union
import torch
class Config:
    block: "int" = 3
Number = Union[int, float]
Odd = Annotated[int, object()]
def inner(f: Callable[[int], Number], c: Config, o: Optional[Odd] = None) -> Optional[Config]:
    n: Odd = f(c.block)
    return n
def answer(x: torch.Tensor | None = None): return inner(lambda n: n + 1, Config())
""",
    "names looked up in globals()": """
BLOCK, OTHER = 64, 3
def answer(): return globals()["BLOCK"], globals().get("OTHER")
""",
    "recursion": """
def answer(n=3): return 1 if n == 0 else n * answer(n - 1)
""",
    "a name that the answer shadows": """
def vector_add(x): return x + 1
def mine(): return vector_add(1)
answer = mine
""",
    "odd values": """
import math, torch
VALUES = (1 + 2j, ..., range(3), torch.Size([2, 3]), torch.float16, math, -math.inf, b"x", frozenset({1}), {1: {2}})
def answer(): return [v for v in VALUES if v is not math], VALUES[5].pi
""",
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_answer_may_use_comes_along(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "written.py"
    path.write_text(KINDS[kind])
    module = load(path, "written_for_a_test")
    bundle = bundle_function(module.answer, "vector_add")
    assert result_of(bundle.source, bundle.name) == module.answer(), bundle.source


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import torch\nW = torch.ones(3)\ndef answer(): return W", "`answer` uses `W`, a Tensor"),
        ("import torch\nTABLE = {'w': [torch.ones(3)]}\ndef answer(): return TABLE", "`answer` uses a Tensor"),
        ("LOOP = []\nLOOP.append(LOOP)\ndef answer(): return LOOP", "refers to itself"),
        ("f = open('/dev/null')\ndef answer(): return f", "import it from a file"),
        ("exec('def made(): pass')\ndef answer(): return made()", "made by exec"),
        ("class L(list): pass\nL1 = L([1])\ndef answer(): return L1", "`L1`, a L"),
    ],
)
def test_what_cannot_come_along_is_named(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "written.py"
    path.write_text(text)
    with pytest.raises(CannotBundle, match=words):
        bundle_function(load(path, "written_for_a_test").answer, "answer")


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

from helpers_of_a_test import halved

OFFSET = tl.constexpr(7)


@triton.jit
def shifted(x):
    return halved(x) + OFFSET


@triton.jit
def shift_kernel(x_ptr):
    tl.store(x_ptr, shifted(tl.load(x_ptr)))
"""


def test_a_kernel_travels_under_its_own_name_with_its_helpers_and_constants(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A helper from another file is imported there, too: a kernel is found by its function's module, not by its class's."""
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "helpers_of_a_test.py").write_text("import triton\n\n@triton.jit\ndef halved(x):\n    return x / 2\n")
    path = tmp_path / "shifting.py"
    path.write_text(KERNEL)
    module = load(path, "shifting")
    bundle = bundle_kernel(module.shift_kernel)
    assert bundle.name == "shift_kernel"
    assert "from helpers_of_a_test import halved" in bundle.source
    path.with_name("rebuilt.py").write_text(bundle.source)
    rebuilt = load(path.with_name("rebuilt.py"), "rebuilt")
    assert rebuilt.OFFSET.value == 7
    assert type(rebuilt.shift_kernel) is type(module.shift_kernel)
    assert bundle.line(bundle.source.splitlines().index("    return halved(x) + OFFSET") + 1).line == 12


@pytest.mark.parametrize("value", [len, lambda x: x, 3, None])
def test_only_a_kernel_is_taken_as_one(value: Any) -> None:
    with pytest.raises(CannotBundle, match=r"decorated with @triton\.jit"):
        bundle_kernel(value)
