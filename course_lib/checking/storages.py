"""The memory behind a call's tensors: whose it is, what it should hold, and which of it was never written.

Runs inside the worker's process. A storage is numbered when it is first seen, and kept alive, so that no two share an address.
"""

from __future__ import annotations

import ctypes
import zlib
from typing import Any

import numpy as np
import torch

from course_lib.checking.events import IntArray
from course_lib.checking.hooks import Place

SMALL = 64
"""Most bytes that a launcher may bring in from Python, say as `torch.tensor([0])`: enough for counters and locks."""


class Storages:
    """All storages that one call has met."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.arguments: dict[int, int] = {}
        """The position of the call's argument that lies in a storage."""
        self.places: dict[int, list[Place]] = {}
        self.contents: dict[int, int] = {}
        """A checksum of what a storage held when torch or a kernel had last written to it."""
        self.unwritten: dict[int, np.ndarray] = {}
        """Of a fresh storage, which bytes nothing has been written to."""
        self.older: set[int] = set()
        """Storages from before this call. What they held then is not to be used."""
        self.copies: dict[int, torch.Tensor] = {}
        """The tensor that a storage is a whole copy of, element by element."""
        self.stored: set[int] = set()
        """Storages that kernels have written to."""
        self.keep: list[torch.Tensor] = []

    def number(self, tensor: torch.Tensor) -> int:
        """The number of a tensor's storage; −1 if it has none."""
        address = tensor.untyped_storage().data_ptr()
        if address == 0:
            return -1
        if address not in self.numbers:
            self.numbers[address] = len(self.numbers)
            self.keep.append(tensor)
        return self.numbers[address]

    def copied(self, copy: torch.Tensor, original: torch.Tensor) -> None:
        """Note that a tensor was made as a copy of another one, element by element."""
        if copy.numel():
            self.copies[self.number(copy)] = original

    def source(self, tensor: torch.Tensor) -> torch.Tensor | None:
        """What a tensor was copied from, over copies that no kernel has written to; None if it is no copy."""
        source = None
        while (made := self.copies.get(self.number(tensor))) is not None and made.shape == tensor.shape:
            source = tensor = made
            if self.number(tensor) in self.stored:
                break
        return source

    def argument(self, position: int, tensor: torch.Tensor) -> None:
        """Note that this tensor is the call's argument at `position`."""
        number = self.number(tensor)
        self.arguments.setdefault(number, position)
        self.places.setdefault(number, []).append(Place.of(tensor))
        self.remember(tensor)

    def is_argument(self, tensor: torch.Tensor) -> bool:
        return self.number(tensor) in self.arguments

    def bounds(self, tensor: torch.Tensor) -> Place | None:
        """The argument that a view of it may not reach beyond. Where several share a storage, any of them may be meant."""
        places = self.places.get(self.number(tensor), [])
        return places[0] if len(places) == 1 else None

    # -- contents -------------------------------------------------------------------------------------------------

    def remember(self, tensor: torch.Tensor) -> None:
        """What this tensor's storage holds now is as it should be."""
        self.contents[self.number(tensor)] = _checksum(tensor)

    def adopted(self, tensor: torch.Tensor) -> bool:
        """Take in a storage that this call has not met, as a launcher may keep memory for its next call."""
        number = self.number(tensor)
        if number < 0 or number in self.contents or self.as_remembered(tensor):
            return False
        self.older.add(number)
        self.unwritten[number] = np.ones(tensor.untyped_storage().nbytes(), dtype=np.bool_)
        self.remember(tensor)
        return True

    def is_older(self, tensor: torch.Tensor) -> bool:
        return self.number(tensor) in self.older

    def is_new(self, tensor: torch.Tensor) -> bool:
        """Whether this call has not met a tensor's storage: it was made before, or outside of torch."""
        return self.number(tensor) not in self.contents

    def as_remembered(self, tensor: torch.Tensor) -> bool:
        """Whether a storage holds what was last remembered, or is new and small."""
        number = self.number(tensor)
        if number < 0:
            return True
        if number not in self.contents:
            return tensor.untyped_storage().nbytes() <= SMALL
        return self.contents[number] == _checksum(tensor)

    # -- fresh memory ---------------------------------------------------------------------------------------------

    def fresh(self, tensor: torch.Tensor, poison: str) -> None:
        """Fill a fresh tensor with what no answer may rely on."""
        number = self.number(tensor)
        if number < 0:
            return
        if tensor.dtype == torch.bool:
            tensor.fill_(poison == "high")
        elif not tensor.is_complex():
            limits = torch.finfo(tensor.dtype) if tensor.is_floating_point() else torch.iinfo(tensor.dtype)
            tensor.fill_(poison_value(poison, limits))
        self.unwritten[number] = np.ones(tensor.untyped_storage().nbytes(), dtype=np.bool_)

    def known(self, tensor: torch.Tensor) -> None:
        """Torch has written to this tensor's storage."""
        self.unwritten.pop(self.number(tensor), None)

    def never_written(self, tensor: torch.Tensor, elements: IntArray) -> int:
        """How many of these elements of a fresh tensor nothing was written to."""
        unwritten = self.unwritten.get(self.number(tensor))
        return 0 if unwritten is None else int(unwritten[_bytes(tensor, elements)].sum())

    def written(self, tensor: torch.Tensor, elements: IntArray) -> None:
        """A kernel has written to these elements."""
        self.stored.add(self.number(tensor))
        unwritten = self.unwritten.get(self.number(tensor))
        if unwritten is not None:
            first = _bytes(tensor, elements)
            for byte in range(tensor.element_size()):
                unwritten[first + byte] = False


def poison_value(kind: str, limits: Any) -> Any:
    """The poison for a dtype with these limits (an `iinfo` or `finfo`): NaN or a huge value, an extreme integer, or zero."""
    if kind == "zero":
        return 0
    if isinstance(limits, (np.iinfo, torch.iinfo)):
        return limits.max if kind == "high" else limits.min
    return {"nan": float("nan"), "high": float(limits.max) / 2, "low": float(limits.min) / 2}[kind]


def _bytes(tensor: torch.Tensor, elements: IntArray) -> IntArray:
    """The first byte of each element within the storage."""
    return (elements + int(tensor.storage_offset())) * tensor.element_size()


def _checksum(tensor: torch.Tensor) -> int:
    storage = tensor.untyped_storage()
    size = storage.nbytes()
    return zlib.crc32((ctypes.c_char * size).from_address(storage.data_ptr())) if size else 0
