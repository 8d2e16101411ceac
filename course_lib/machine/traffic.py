"""What a chain of torch operations reads from memory and writes there, operation by operation: counted as they run.

On a GPU each of these operations is a kernel of its own, as a rule. It fetches its inputs from memory and leaves its result
there. The count takes each element of a tensor once. What an operation reads again, or finds in a cache, does not show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_MOVES_NOTHING = frozenset("empty empty_like empty_strided new_empty new_empty_strided _unsafe_view lift_fresh".split())
"""Operations that only allocate, and views that torch does not count among its views."""
_OVERWRITES = frozenset({"copy_", "fill_", "zero_"})
"""Of operations that change their first argument, those that do not read it."""


class Step(NamedTuple):
    """One operation: its name inside torch, and the bytes that it reads and writes."""

    name: str
    read: int
    written: int

    @property
    def moved(self) -> int:
        """Bytes that go over the memory bus, in either direction."""
        return self.read + self.written


def count_traffic(function: Callable[..., Any], *arguments: Any) -> list[Step]:
    """Call the function, and count what each of torch's operations in it moves.

    Views and allocations move nothing and are left out.

    >>> count_traffic(lambda x: torch.exp(x - x[0]), torch.ones(3, 5))
    [Step(name='sub', read=80, written=60), Step(name='exp', read=60, written=60)]
    """
    with _Count() as count:
        function(*arguments)
    return count.steps


def n_bytes(tensor: torch.Tensor) -> int:
    """Bytes of memory that a tensor's elements lie in; what a stride of 0 repeats is there once.

    >>> n_bytes(torch.ones(3, 1).expand(3, 5))
    12
    """
    sizes = (size for size, step in zip(tensor.shape, tensor.stride(), strict=True) if step or not size)
    return math.prod(sizes) * tensor.element_size()


class _Count(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[Step] = []

    def __torch_dispatch__(self, operation: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = operation(*args, **(kwargs or {}))
        name = operation.overloadpacket.__name__
        if not operation.is_view and name not in _MOVES_NOTHING:
            inputs = args[1:] if name in _OVERWRITES else args
            self.steps.append(Step(name, sum(map(n_bytes, _tensors(inputs))), sum(map(n_bytes, _tensors(result)))))
        return result


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    return (value for value in tree_leaves(values) if isinstance(value, torch.Tensor))
