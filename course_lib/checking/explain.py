"""What to do about an error or a run that did not end: from its message, the line, and what the answer's text says.

Pure. A rule looks at a `Trouble` and returns advice, or None; the first that has something to say counts. Messages that mean
the same wherever they come from are in `advice.MESSAGES`.

Not here: what a message leaves out and only the worker's process knows (`clues.py`).
"""

from __future__ import annotations

import builtins
import difflib
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from course_lib.checking import advice
from course_lib.checking.reading import Text


@dataclass(frozen=True)
class Trouble:
    """An error as a rule sees it.

    `line` is the text of the answer's innermost line, `function` the name of the function that it stands in, or empty if the
    error came before any line of the answer; `in_kernel` says whether a program was running. `answer` is the name of the judged
    function, `asked` how the exercise calls it, such as "vector_add(x, y)". `clues` are those of `clues.clues`.
    """

    message: str
    line: str
    function: str
    in_kernel: bool
    text: Text
    answer: str
    asked: str = ""
    clues: dict[str, Any] = field(default_factory=dict)


def of_error(trouble: Trouble) -> str | None:
    """The advice for an error, or None if nothing is known about it."""
    found = (rule(trouble) for rule in RULES)
    return next((text for text in found if text), None) or advice.for_message(trouble.message) or _in_the_language(trouble)


def of_timeout(text: Text, kernel: str | None, grid: tuple[int, ...], waiting: bool) -> str | None:
    """The advice for an answer that was stopped within `kernel`, or in its launcher if None; None if a loop may be at fault."""
    programs = math.prod(grid) if kernel else 0
    if text.has_loop(kernel):
        return None
    if programs >= MANY:
        return (
            f"There is no loop in this kernel: what takes so long is the number of programs, {programs}. One program handles a "
            "whole block, so the grid counts blocks, `(triton.cdiv(n, BLOCK_SIZE),)`, and not elements."
        )
    if waiting:
        return "There is no loop in the answer: it waits for something. Does it sleep, or take a lock?"
    return "There is no loop in the answer: one line of it takes that long. How large are its tiles and tensors?"


MANY = 1000
"""So many programs take the interpreter seconds."""


# --- calls --------------------------------------------------------------------------------------------------------

_CALL = re.compile(r"(?:\w+\.)*(\w+)\(\) (?:missing|got|takes)")
_EXAMPLES = {
    "arange": "`tl.arange(0, BLOCK_SIZE)`",
    "program_id": "`tl.program_id(axis=0)`",
    "num_programs": "`tl.num_programs(axis=0)`",
    "load": "`tl.load(x_ptr + offsets, mask=mask, other=0.0)`",
    "store": "`tl.store(out_ptr + offsets, value, mask=mask)`",
    "where": "`tl.where(condition, x, y)`",
    "zeros": "`tl.zeros([BLOCK_SIZE], tl.float32)`",
    "sum": "`tl.sum(x, axis=0)`",
}
_IN_PYTHON = {
    "cdiv": "`triton.cdiv(…)`",
    "next_power_of_2": "`triton.next_power_of_2(…)`",
    "zeros": "`torch.zeros(…)`",
    "zeros_like": "`torch.zeros_like(x)`",
    "full": "`torch.full(…)`",
    "arange": "`torch.arange(…)`",
}


def _wrong_call(trouble: Trouble) -> str | None:
    """Arguments that are missing, too many, or called something else."""
    if not (match := _CALL.match(trouble.message)):
        return None
    name = match[1]
    if name == trouble.clues.get("called"):
        return _of_the_language(trouble, name)
    if trouble.asked and not trouble.function:  # raised by the call of the answer itself
        mine = f"{name}({', '.join(trouble.text.parameters(name))})" if name in trouble.text.functions else name
        return f"The exercise calls your function as `{trouble.asked}`, and this one is `{mine}`. Is it the right function?"
    if name not in trouble.text.functions:
        return None
    parameters = trouble.text.parameters(name)
    if trouble.in_kernel or not trouble.text.is_kernel(name):
        return f"`{name}` has the arguments {_listed(parameters)}. A call gives each of them, once."
    launch = next((one for one in trouble.text.launches() if one.kernel == name), None)
    given = f" This one gives {_listed(launch.given)}." if launch and launch.given else ""
    return (
        f"A launch gives every argument of its kernel, in the kernel's order, `tl.constexpr` ones by name. `{name}` has "
        f"{_listed(parameters)}.{given}"
    )


def _of_the_language(trouble: Trouble, name: str) -> str:
    """How a function of Triton's language is called; with all its keywords where one was unknown."""
    wanted = f"It is called as `{trouble.clues['signature']}`"
    if "unexpected keyword" in trouble.message:
        wanted = f"The arguments of `tl.{name}` are {_listed(trouble.clues['parameters'])}"
    return wanted + (f": {_EXAMPLES[name]}." if name in _EXAMPLES else ".")


def _listed(names: list[str] | tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _for_kernels_only(trouble: Trouble) -> str | None:
    """A function of Triton's language that was called in Python."""
    by_hook = re.search(r"`tl\.(\w+)` was called outside a kernel", trouble.message)
    if not by_hook and "Did you forget to add @triton.jit" not in trouble.message:
        return None
    called = by_hook or re.search(r"\btl\.(\w+)\(", trouble.line)
    name = called[1] if called else ""
    if trouble.function in trouble.text.functions and trouble.function != trouble.answer:
        return f"Put `@triton.jit` above `{trouble.function}`, and start it with `{trouble.function}[grid](…)`."
    instead = f" Here, in Python, write {_IN_PYTHON[name]}." if name in _IN_PYTHON else " The launcher has torch's instead."
    return f"The functions of `tl` are for kernels.{instead}"


# --- names --------------------------------------------------------------------------------------------------------

_IMPORTS = {
    **{name: f"import {name}" for name in "math numpy torch triton os sys random functools itertools".split()},
    "tl": "import triton.language as tl",
    "np": "import numpy as np",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
    "libdevice": "from triton.language.extra import libdevice",
}
"""How what is known by these names is imported."""
_FOR_KERNELS = {"tl", "triton", "libdevice"}
_ELSEWHERE = {
    ("triton.language", "next_power_of_2"): "`triton.next_power_of_2(…)`, in the launcher",
    ("triton.language", "relu"): "`tl.maximum(x, 0.0)`",
    ("triton.language", "pow"): "`x * x` for a square, or `tl.exp(y * tl.log(x))`",
    ("triton.language", "mean"): "`tl.sum(x, axis=0) / n`",
    ("triton", "ceil_div"): "`triton.cdiv(n, BLOCK_SIZE)`",
    **{("a tensor", name): "`x.numel()`" for name in ("len", "length", "count", "num_elements")},
}
_SHORT = {"triton.language": "tl", "a tensor": "x"}


def _unknown_in_module(trouble: Trouble) -> str | None:
    """`tl.programid`, `x.lenght()`: a module or a tensor has no such name."""
    clues = trouble.clues
    if "module" not in clues:
        return None
    module, name, near = clues["module"], clues["name"], clues["near"]
    short = _SHORT.get(module, module)
    if instead := _ELSEWHERE.get((module, name)):
        return f"There is no `{short}.{name}`. Write {instead}."
    if near:
        return f"There is no `{short}.{name}`. Did you mean {' or '.join(f'`{short}.{one}`' for one in near)}?"
    return f"There is no `{short}.{name}`." + (
        " A kernel has what `tl` offers: `tl.load`, `tl.store`, `tl.where`, `tl.sum`, `tl.exp`, …" if short == "tl" else ""
    )


def _unknown_module(trouble: Trouble) -> str | None:
    if not (match := re.match(r"No module named '([^']+)'", trouble.message)):
        return None
    near = trouble.clues.get("near")
    return (
        f"Did you mean `import {near[0]}`?"
        if near
        else f"`{match[1]}` is not installed here; an answer needs torch and triton."
    )


def _unknown_name(trouble: Trouble) -> str | None:
    """A variable that does not exist: where it may have been meant to come from."""
    if not (match := re.fullmatch(r"name '(\w+)' is not defined|(\w+) is not defined", trouble.message)):
        return None  # the one is Python's message, the other that of Triton's compiler
    name = match[1] or match[2]
    if trouble.in_kernel and name not in _FOR_KERNELS and name in _IMPORTS.keys() | _BUILTINS:
        return advice.TL_ONLY
    if name in _IMPORTS:
        rounding = " To round up, `triton.cdiv(n, BLOCK_SIZE)` needs none." if "ceil" in trouble.line else ""
        return f"`{_IMPORTS[name]}` is missing.{rounding}"
    if trouble.clues.get("language") and (trouble.in_kernel or name in _IN_PYTHON):
        return f"In a kernel it is `tl.{name}`." if trouble.in_kernel else f"Here, in Python, write {_IN_PYTHON[name]}."
    functions = trouble.text.functions
    mine = trouble.text.names_set_in(trouble.function) if trouble.function in functions else set[str]()
    if name in mine:
        return None
    others = [one for one in functions if one != trouble.function and name in trouble.text.names_set_in(one)]
    near = difflib.get_close_matches(name, mine | functions.keys(), n=1)
    if trouble.in_kernel and (others or (name.isupper() and not near)):
        where = f"`{name}` is set in `{others[0]}`. " if others else ""
        declared = f"{name}: tl.constexpr" if name.isupper() else name
        return (
            f"{where}A kernel knows its own arguments only: add `{declared}` to the first line of `{trouble.function}`, and "
            "give it in the launch."
        )
    if near:
        return f"Did you mean `{near[0]}`?"
    if others:
        return f"`{name}` is set in `{others[0]}`, and only that function knows it."
    known = difflib.get_close_matches(name, trouble.text.names_set_outside() | _IMPORTS.keys() | _BUILTINS, n=1, cutoff=0.75)
    return f"Did you mean `{known[0]}`?" if known else None


_BUILTINS = {name for name in dir(builtins) if name[0].islower()}


# --- sizes and pointers -------------------------------------------------------------------------------------------

_NUMBER = "'(?:int|float|bool|str|NoneType)' object has no attribute '(?:type|dtype|handle)'"


def _size_of_a_pointer(trouble: Trouble) -> str | None:
    """`len(x_ptr)`, `x_ptr.numel()`, `x_ptr.shape[0]` in a kernel."""
    asked = re.search(r"\blen\((\w+)\)|(\w+)\.(?:numel|size|stride|shape)\b", trouble.line)
    if not trouble.in_kernel or not asked or trouble.function not in trouble.text.functions:
        return None
    pointer = (asked[1] or asked[2]) in trouble.text.parameters(trouble.function)
    if pointer and re.search("no len|not callable|out of range|no attribute|not subscr", trouble.message):
        return SIZE_OF_A_POINTER
    return None


SIZE_OF_A_POINTER = (
    "A pointer is an address; it knows neither how many elements there are nor their strides. Let the launcher pass these "
    "numbers, `x.numel()` or `x.stride(0)`, as arguments."
)


def _number_as_pointer(trouble: Trouble) -> str | None:
    """`tl.load(a)` of a number."""
    number = re.search(rf"{_NUMBER}|Unsupported ptr type (?:triton\.language\.)?[a-z]+\d+ in", trouble.message)
    if trouble.in_kernel and trouble.clues.get("called") in ("load", "store") and number:
        return "Only what a pointer points at is loaded and stored. A number arrives in a kernel as a number: use it as it is."
    return None


_NO_FRACTION = r"Expected dtype \[.*\] but got|numpy data itemsize \(64 bits\) exceeds|must be floating-point-like"


def _whole_number(trouble: Trouble) -> str | None:
    """`tl.sqrt(2)`, `tl.exp(n)`, or a tile in fp16: not what functions of real numbers take."""
    if not re.search(_NO_FRACTION, trouble.message):
        return None
    return (
        f"{_called(trouble)} takes fp32 and fp64 only. A constant is written as `2.0`; a whole number becomes a fraction with "
        "`tl.cast(n, tl.float32)`, a tile with `x.to(tl.float32)`. What depends on sizes only, the launcher can compute, with "
        "`math.sqrt(n)`, and pass."
    )


_OF_TILES = frozenset(
    "sum max min argmax argmin xor_sum reduce_or cumsum cumprod softmax sort flip dot trans permute reshape view ravel "
    "broadcast_to expand_dims join interleave split gather histogram".split()
)
_NO_TILE = (
    "'(?:int|float|bool|constexpr)' object has no attribute '(?:type|dtype|handle|shape|numel)'|"
    "'(?:constexpr_type|dtype)' object has no attribute '(?:numel|shape|scalar|is_block)'|"
    "invalid axis 0. Expected 0 <= axis < 0"
)


def _number_as_tile(trouble: Trouble) -> str | None:
    """`tl.sum(2)`, `tl.max(n)`."""
    name = _name_called(trouble)
    if name not in _OF_TILES or not re.search(_NO_TILE, trouble.message):
        return None
    return (
        f"`tl.{name}` takes tiles, and a single number is none: use it as it is. A tile that holds it in every lane is "
        "`tl.full([BLOCK_SIZE], value, tl.float32)`."
    )


def _name_called(trouble: Trouble) -> str | None:
    """The function of Triton's language that an error is about: as it is known, or the only one that the line computes with."""
    on_the_line = {*re.findall(r"\btl\.(\w+)\(", trouble.line)} - {"load", "store"}
    return trouble.clues.get("called") or (on_the_line.pop() if len(on_the_line) == 1 else None)


def _called(trouble: Trouble) -> str:
    name = _name_called(trouble)
    return f"`tl.{name}`" if name else "This function"


_FOR_TILES = {
    "abs": "`tl.abs(x)`",
    "pow": "`x * x` for a square, or `tl.exp(y * tl.log(x))`",
    "round": "`tl.floor(x + 0.5)`",
    "float": "`tl.cast(x, tl.float32)`",
    "int": "`tl.cast(x, tl.int32)`",
    "bool": "`x != 0`",
    "len": "the constant that the tile was made with, such as `BLOCK_SIZE`",
    "sum": "`tl.sum(x, axis=0)`",
    "max": "`tl.max(x, axis=0)`",
    "min": "`tl.min(x, axis=0)`",
    "any": "`tl.max(mask.to(tl.int32), axis=0) == 1`",
    "all": "`tl.min(mask.to(tl.int32), axis=0) == 1`",
}
_NOT_FOR_TILES = (
    r"bad operand type for|__round__|has no len\(\)|is not iterable|lanes is no single number|for \*\* or pow|'__pow__'|"
    r"\w+\(\) argument must be|\w+ is not defined$|requires at least 2 values"
)


def _python_on_a_tile(trouble: Trouble) -> str | None:
    """`abs(x)`, `sum(x)`, `float(n)`, `x ** 2` in a kernel."""
    if not trouble.in_kernel or not re.search(_NOT_FOR_TILES, trouble.message):
        return None
    called = (name for name in _FOR_TILES if re.search(rf"(?<![.\w]){name}\(", trouble.line))
    if (name := next(called, "pow" if "**" in trouble.line else None)) is None:
        return None
    if trouble.message.endswith(" is not defined") and not trouble.message.startswith(f"{name} "):
        return None  # another name
    written = "`**`" if f"{name}(" not in trouble.line else f"`{name}`"
    return f"Python's {written} is not for tiles, nor for what a kernel has computed. Write {_FOR_TILES[name]}."


def _method_of_torch(trouble: Trouble) -> str | None:
    """`x.double()` in a kernel."""
    if trouble.in_kernel and (match := re.search(r"'tensor' object has no attribute '(\w+)'", trouble.message)):
        cast = " Another type is `x.to(tl.float32)`." if match[1] in _CASTS else ""
        return f"In a kernel, a tile is no tensor of torch: it has no `.{match[1]}`. Use the functions of `tl`.{cast}"
    return None


_CASTS = {"double", "float", "half", "int", "long", "type", "astype"}


def _called_without_brackets(trouble: Trouble) -> str | None:
    """`n = x.numel`, `x.stride`: a method that was not called."""
    if "'builtin_function_or_method'" in trouble.message and "'scalar'" not in trouble.message:
        return "A method was not called: its brackets are missing. Write `x.numel()`, `x.stride(0)`."
    return None


def _subscripted_function(trouble: Trouble) -> str | None:
    """`launcher[grid](…)`, or a kernel that is none."""
    if "'function' object is not subscriptable" not in trouble.message:
        return None
    called = re.search(r"(\w+)\[", trouble.line)
    if called and called[1] == trouble.answer:
        kernels = [name for name in trouble.text.functions if trouble.text.is_kernel(name)]
        meant = difflib.get_close_matches(called[1], kernels, n=1, cutoff=0)
        return f"`{called[1]}` is the launcher. A grid belongs to a kernel{f': `{meant[0]}[grid](…)`' if meant else ''}."
    return None


def _empty_block(trouble: Trouble) -> str | None:
    """A block that was fitted to no elements at all."""
    no_lanes = "arange's end argument must be greater than the start argument" in trouble.message
    if no_lanes or ("by zero" in trouble.message and "cdiv" in trouble.line):
        return (
            "A block has one lane at least, also where there are no elements: return early for those, or let the grid have no "
            "program, as `triton.cdiv(0, BLOCK_SIZE)` does."
        )
    return None


def _argument_of_a_grid(trouble: Trouble) -> str | None:
    """`meta["BLOCK_SIZE"]` in a grid that is a function, where the kernel has no such argument."""
    key = re.fullmatch(r"'(\w+)'", trouble.message)
    kernel = next((launch.kernel for launch in trouble.text.launches()), None)
    if (
        trouble.in_kernel
        or not key
        or kernel is None
        or not re.search(r"lambda|\b(?:meta|args)\[", trouble.line, re.IGNORECASE)
    ):
        return None
    return (
        f"A grid that is a function is given the kernel's arguments, by their names in the kernel. `{kernel}` has "
        f"{_listed(trouble.text.parameters(kernel))}; `{key[1]}` is none of them."
    )


def exchanged(text: Text) -> str | None:
    """The advice for a launch that seems to give its arguments in another order than its kernel has them, else None."""
    if (found := text.exchanged()) is None:
        return None
    launch, given, meant = found
    return (
        f"The launch gives `{given}` where `{launch.kernel}` has `{meant}`. A launch gives its arguments in the kernel's "
        f"order: {_listed(text.parameters(launch.kernel))}."
    )


def _exchanged(trouble: Trouble) -> str | None:
    return exchanged(trouble.text)


LEFT_OUT_BY_A_LOOP = (
    "A program goes on as long as there is a next block for it: `for block in tl.range(pid, n_blocks, tl.num_programs(0))`. "
    "Does the loop's end round up, and is its step the number of programs in the grid?"
)

SHOWS_AN_EXCHANGE = frozenset(
    "load_out_of_bounds store_out_of_bounds input_changed unwritten uninitialized timeout "
    "first_block_only tail shifted reversed unchanged transposed scaled periodic constant nan mismatch".split()
)
"""Kinds of finding that exchanged arguments come to."""


def _in_the_language(trouble: Trouble) -> str | None:
    """An error from within a function of Triton's language, of which nothing else is known."""
    if (name := trouble.clues.get("called")) is None:
        return None
    return (
        f"The error comes from `tl.{name}`. {_of_the_language(trouble, name)} Does each argument have the kind that it takes?"
    )


Rule = Callable[[Trouble], str | None]


def _axis_too_many(trouble: Trouble) -> str | None:
    """An axis that a tensor does not have. Other tuples have other reasons to end."""
    if "tuple index out of range" in trouble.message and re.search(r"\.(shape|stride|size)\b", trouble.line):
        return "A shape has a number for each axis, counted from 0: a vector has `x.shape[0]` only."
    return None


RULES: tuple[Rule, ...] = (
    _for_kernels_only,
    _wrong_call,
    _size_of_a_pointer,
    _python_on_a_tile,
    _unknown_in_module,
    _unknown_module,
    _unknown_name,
    _number_as_pointer,
    _whole_number,
    _number_as_tile,
    _method_of_torch,
    _called_without_brackets,
    _subscripted_function,
    _empty_block,
    _axis_too_many,
    _argument_of_a_grid,
    _exchanged,
)
