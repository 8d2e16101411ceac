"""What a kernel's Python means: element by element where the compiler says so, numbers, and names however imported."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import triton.runtime.interpreter as interp

from course_lib.checking.hooks.model import state


def patch() -> None:
    """Give `and`, `or`, `not`, `min`, `max`, loops, numbers, global `constexpr`s and imported names the compiler's meaning."""
    _patch_operators_and_loops()
    _patch_index()
    _patch_constants()
    _patch_names()


# ---- and, or, not, min, max, while, for --------------------------------------------------------------------------


def _patch_operators_and_loops() -> None:
    class Transformer(interp.ASTTransformer):  # type: ignore[misc]
        def visit_Assign(self, node: ast.Assign) -> Any:
            if not _VISITS_VALUES:
                node.value = self.visit(node.value)
            return super().visit_Assign(node)

        def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
            self.generic_visit(node)
            no_arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            later: list[ast.expr] = [ast.Lambda(args=no_arguments, body=value) for value in node.values]
            return _call("_course_and" if isinstance(node.op, ast.And) else "_course_or", later)

        def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
            self.generic_visit(node)
            return _call("_course_not", [node.operand]) if isinstance(node.op, ast.Not) else node

        def visit_While(self, node: ast.While) -> ast.AST:
            self.generic_visit(node)
            node.test = _call("_course_truth", [node.test])
            return node

        def visit_For(self, node: ast.For) -> ast.AST:
            self.generic_visit(node)
            function = getattr(node.iter, "func", None)
            if getattr(function, "attr", getattr(function, "id", "")) != "static_range":
                node.iter = _call("_course_loop", [node.iter])
            return node

        def visit_Call(self, node: ast.Call) -> ast.AST:
            self.generic_visit(node)
            if isinstance(node.func, ast.Name) and node.func.id in _EXTREMES:
                node.args, node.func = [node.func, *node.args], ast.Name(id="_course_extreme", ctx=ast.Load())
            return node

    # The rewritten kernel finds the interpreter module's names among its globals.
    interp._course_and, interp._course_or, interp._course_not = _tile_and, _tile_or, _tile_not
    interp._course_extreme, interp._course_truth, interp._course_loop = _tile_extreme, _truth, _loop
    interp.FunctionRewriter.ast_transformer = Transformer()


_VISITS_VALUES = hasattr(interp.ASTTransformer, "visit_Compare")
"""Whether Triton visits the value of an assignment itself, as 3.9 does. A second visit would rewrite its comparisons twice."""


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=arguments, keywords=[])


def _is_tile(value: Any) -> bool:
    return isinstance(value, interp.tl.tensor) and value.type.is_block()


def _tile_and(*operands: Callable[[], Any]) -> Any:
    value = operands[0]()
    for operand in operands[1:]:
        if _is_tile(value):
            value = value.logical_and(operand())
        elif value:
            value = operand()
    return value


def _tile_or(*operands: Callable[[], Any]) -> Any:
    value = operands[0]()
    for operand in operands[1:]:
        if _is_tile(value):
            value = value.logical_or(operand())
        elif not value:
            value = operand()
    return value


def _tile_not(value: Any) -> Any:
    return value.__not__() if _is_tile(value) else not value


def _truth(value: Any) -> Any:
    """The condition of a `while`. Without this, the interpreter would take a tile for true, and never come to an end."""
    if _is_tile(value) and value.handle.data.size != 1:
        raise TypeError(
            f"a tile of {value.handle.data.size} lanes has no single truth value, as the condition of a `while` must"
        )
    return value


class _LoopVariable(int):
    """What a loop counts with: a number here, and a scalar where it is compiled, with `to`, `dtype` and so on."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        number = interp.tl.int32 if -(2**31) <= self < 2**31 else interp.tl.int64
        handle = interp.TensorHandle(np.array([int(self)], dtype=f"i{number.primitive_bitwidth // 8}"), number)
        return getattr(interp.tl.tensor(handle, number), name)


def _loop(values: Any) -> Any:
    """What a `for` goes through, other than a `tl.static_range`, which is unrolled."""
    return map(_LoopVariable, values) if isinstance(values, range) else values


_EXTREMES = {"min": (min, "minimum"), "max": (max, "maximum")}


def _tile_extreme(function: Any, *values: Any, **options: Any) -> Any:
    """What a kernel means by `min` or `max`, which Python would decide by the truth of a whole tile."""
    names = [name for builtin, name in _EXTREMES.values() if builtin is function]
    if not names or not any(map(_is_tile, values)):
        return function(*values, **options)
    return functools.reduce(functools.partial(getattr(interp.tl, names[0]), **options), values)


# --- numbers ------------------------------------------------------------------------------------------------------


def _patch_index() -> None:
    """Let a value of one lane be a number in Python, and say plainly that a tile is none.

    What Triton does by itself depends on its version, and on NumPy's.
    """
    patch_tensor = interp._patch_lang_tensor

    @functools.wraps(patch_tensor)
    def patched(tensor: Any, scope: Any) -> None:
        patch_tensor(tensor, scope)
        scope.set_attr(tensor, "__index__", _as_index)

    interp._patch_lang_tensor = patched


def _as_index(value: Any) -> int:
    if value.handle.data.size != 1:
        raise TypeError(f"a tile of {value.handle.data.size} lanes is no single number, as an index or a loop's bound must be")
    return int(value.handle.data.item())


# --- constants ----------------------------------------------------------------------------------------------------


def _patch_constants() -> None:
    """Let `TWO * tile` be a tile, where TWO is a `tl.constexpr`: leave it to the tile, as the compiler does."""
    for name in "add sub mul truediv floordiv mod lt le gt ge eq ne and or xor lshift rshift pow".split():
        method = getattr(interp.tl.constexpr, f"__{name}__", None)
        if method is not None:
            setattr(interp.tl.constexpr, f"__{name}__", _leaving_tiles(method))


def _leaving_tiles(method: Any) -> Any:
    @functools.wraps(method)
    def operator(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, interp.tl.tensor) else method(self, other)

    return operator


# --- names --------------------------------------------------------------------------------------------------------


def _patch_names() -> None:
    """Let a kernel call `arange` that came by `from triton.language import arange`, not only `tl.arange`."""
    language = interp.tl
    originals = {
        id(value): (module, name)
        for module in (language.core, language.math, language)
        for name, value in inspect.getmembers(module, callable)
    }
    prepare = interp._patch_lang

    @functools.wraps(prepare)
    def prepared(fn: Any) -> Any:
        # Done by the interpreter at each call of a helper, such as `tl.sum`; once a launch is enough, and faster.
        names = fn.__globals__
        if state.launch is not None and id(names) in _prepared:
            return None
        if state.launch is not None:
            _prepared[id(names)] = names
        names.setdefault("_course_language", language)  # the interpreter looks for the module among a kernel's names
        scope = prepare(fn)
        for name, value in list(names.items()):
            if id(value) in originals and (now := getattr(*originals[id(value)])) is not value:
                _renamed.append((names, name, value))
                names[name] = now
        return scope

    interp._patch_lang = prepared


_prepared: dict[int, dict[str, Any]] = {}
_renamed: list[tuple[dict[str, Any], str, Any]] = []


def forget_names() -> None:
    """A launch begins or has ended: give the names that were changed for it their values back."""
    _prepared.clear()
    while _renamed:
        names, name, value = _renamed.pop()
        names[name] = value
