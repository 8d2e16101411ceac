"""What the text of an answer says about it: its functions, its kernels and their arguments, its launches and its loops.

Pure: source in, plain values out. Nothing is run, and what a text says is a clue for advice, never a verdict.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard


@dataclass(frozen=True)
class Launch:
    """A launch as it is written: `kernel[grid](…)`.

    `given` are its arguments as text, `names` the positional ones whose place is known, None for what is no plain name.
    """

    kernel: str
    given: tuple[str, ...]
    names: tuple[str | None, ...]


@dataclass(frozen=True)
class Text:
    """The source of an answer, to be asked about. A source that Python cannot read holds nothing."""

    source: str

    @cached_property
    def _nodes(self) -> tuple[ast.AST, ...]:
        try:
            return tuple(ast.walk(ast.parse(self.source)))
        except (SyntaxError, ValueError):
            return ()

    @cached_property
    def functions(self) -> dict[str, ast.FunctionDef]:
        """All functions by name, kernels among them."""
        return {node.name: node for node in self._nodes if isinstance(node, ast.FunctionDef)}

    def is_kernel(self, name: str) -> bool:
        """Whether this function is decorated as `@triton.jit` decorates."""
        return name in self.functions and any("jit" in ast.unparse(node) for node in self.functions[name].decorator_list)

    def parameters(self, name: str) -> list[str]:
        """The names of a function's arguments, in order."""
        arguments = self.functions[name].args
        return [argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]

    def names_set_in(self, name: str) -> set[str]:
        """The names that a function gives a value to, its arguments among them."""
        nodes = ast.walk(self.functions[name])
        return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)} | {
            *self.parameters(name)
        }

    def names_set_outside(self) -> set[str]:
        """The names that are there for all functions: what is imported, assigned or defined at the top level."""
        tops = [node for top in self._nodes[:1] if isinstance(top, ast.Module) for node in top.body]
        imported = {
            (one.asname or one.name).split(".")[0]
            for node in tops
            for one in getattr(node, "names", ())
            if isinstance(one, ast.alias)
        }
        nodes = (target for node in tops if isinstance(node, ast.Assign) for one in node.targets for target in ast.walk(one))
        assigned = {node.id for node in nodes if isinstance(node, ast.Name)}
        return imported | assigned | {node.name for node in tops if isinstance(node, ast.FunctionDef)}

    def has_loop(self, name: str | None = None) -> bool:
        """Whether there is a loop in this function or in one that it calls by name; without a name, anywhere."""
        nodes: Iterator[ast.AST] = iter(self._nodes)
        if name in self.functions:
            nodes = (node for one in self._reached(name) for node in ast.walk(self.functions[one]))
        return any(isinstance(node, (ast.For, ast.While, ast.comprehension)) for node in nodes)

    def shares_out_by_a_loop(self, name: str) -> bool:
        """Whether a kernel has a loop that begins at its program's id: one over the blocks or rows that are its own."""
        if name not in self.functions:
            return False
        nodes = list(ast.walk(self.functions[name]))
        ids = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and "program_id" in ast.unparse(node.value)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        begins = (
            node.iter.args[0]
            for node in nodes
            if isinstance(node, ast.For) and isinstance(node.iter, ast.Call) and node.iter.args
        )
        return any("program_id" in ast.unparse(begin) or (isinstance(begin, ast.Name) and begin.id in ids) for begin in begins)

    def _reached(self, name: str) -> set[str]:
        reached, new = set[str](), {name}
        while new:
            reached |= new
            used = {node.id for one in new for node in ast.walk(self.functions[one]) if isinstance(node, ast.Name)}
            new = (used & self.functions.keys()) - reached
        return reached

    def launches(self) -> Iterator[Launch]:
        """The launches of kernels that are defined here."""
        for call in self._nodes:
            if not _is_launch(call) or not isinstance(call.func, ast.Subscript):
                continue
            if isinstance(called := call.func.value, ast.Name) and self.is_kernel(called.id):
                placed = itertools.takewhile(lambda argument: not isinstance(argument, ast.Starred), call.args)
                names = tuple(argument.id if isinstance(argument, ast.Name) else None for argument in placed)
                yield Launch(called.id, tuple(map(ast.unparse, (*call.args, *call.keywords))), names)

    def asks_a_pointer_for_its_size(self, name: str) -> bool:
        """Whether a kernel reads `numel` of one of its arguments as it is: of an address, that is 1."""
        if name not in self.functions:
            return False
        function, arguments = self.functions[name], self.parameters(name)
        asked = (node.value for node in ast.walk(function) if isinstance(node, ast.Attribute) and node.attr == "numel")
        return any(isinstance(one, ast.Name) and one.id in arguments for one in asked)

    def leaves_a_kernel_uncalled(self) -> bool:
        """Whether `kernel[grid]` stands on a line of its own, without the round brackets of a launch."""
        alone = (node.value for node in self._nodes if isinstance(node, ast.Expr) and isinstance(node.value, ast.Subscript))
        return any(isinstance(one.value, ast.Name) and self.is_kernel(one.value.id) for one in alone)

    def takes_a_launch_for_a_value(self) -> bool:
        """Whether what a launch returns, which is nothing, is returned or given a name."""
        return any(_is_launch(node.value) for node in self._nodes if isinstance(node, (ast.Assign, ast.Return)) and node.value)

    def exchanged(self) -> tuple[Launch, str, str] | None:
        """A launch that gives an argument in another one's place, going by their names: the launch, and the two.

        `x` goes by `x` and by `x_ptr`. For ``kernel[grid](x, out, n, a)`` and ``def kernel(x_ptr, out_ptr, a, n)`` it is
        ``(launch, "n", "a")``: `n` is given where the kernel has `a`.
        """
        for launch in self.launches():
            parameters = [name.removesuffix("_ptr") for name in self.parameters(launch.kernel)]
            for given, meant in zip(launch.names, parameters, strict=False):
                bare = given.removesuffix("_ptr") if given else None
                if bare != meant and bare in parameters and meant in self._given(launch):
                    return launch, str(given), self.parameters(launch.kernel)[parameters.index(meant)]
        return None

    @staticmethod
    def _given(launch: Launch) -> set[str]:
        return {name.removesuffix("_ptr") for name in launch.names if name}


def _is_launch(node: ast.AST) -> TypeGuard[ast.Call]:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript)
