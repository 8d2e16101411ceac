"""Tensors and numbers as plain data, to and from the worker's process: JSON beside raw bytes, never pickle.

A tensor travels as its whole storage and a view of it, so strides, stride 0 and sharing between arguments survive.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

GUARD = 64
"""Poisoned elements on either side of each input's storage; a multiple of 16, so alignment stays what it was."""


class CannotSend(TypeError):
    """A value that does not travel as plain data; the message says which and what does."""


@dataclass
class Parcel:
    """Values as JSON (`values`) and arrays that the JSON refers to by name."""

    values: list[Any] = field(default_factory=list)
    arrays: dict[str, np.ndarray] = field(default_factory=dict)


def pack(values: tuple[Any, ...], prefix: str) -> Parcel:
    """Tensors, numbers, strings, booleans, None and tuples of these, ready to be sent; `prefix` keeps names apart."""
    parcel = Parcel()
    names: dict[int, str] = {}

    def one(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            tensor = value.detach().cpu()
            storage = tensor.untyped_storage()
            key = storage.data_ptr() or id(storage)
            if key not in names:
                names[key] = f"{prefix}{len(names)}"
                parcel.arrays[names[key]] = torch.empty(0, dtype=torch.uint8).set_(storage).numpy().copy()
            return {
                "tensor": names[key],
                "dtype": str(tensor.dtype).removeprefix("torch."),
                "shape": list(tensor.shape),
                "stride": list(tensor.stride()),
                "offset": tensor.storage_offset(),
            }
        if isinstance(value, (tuple, list)):
            return {"tuple": [one(item) for item in value]}
        if isinstance(value, torch.dtype):
            return {"dtype": str(value).removeprefix("torch.")}
        if value is None or isinstance(value, (bool, int, float, str)):
            return {"value": value}
        raise CannotSend(
            f"a value of type {type(value).__name__} cannot be sent to the kernel's own process; "
            "use tensors, numbers, strings, dtypes, None, or tuples of these"
        )

    parcel.values = [one(value) for value in values]
    return parcel


def unpack(
    values: list[Any], arrays: dict[str, np.ndarray], poison: float | None = None, device: str = "cpu"
) -> tuple[Any, ...]:
    """The values of a `Parcel`, on fresh memory. With `poison`, each storage lies in a larger one filled with it."""
    storages: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def one(value: dict[str, Any]) -> Any:
        if "tensor" in value:
            dtype = getattr(torch, value["dtype"])
            key = (value["tensor"], dtype)
            guard = GUARD if poison is not None else 0
            if key not in storages:
                raw = torch.from_numpy(np.array(arrays[value["tensor"]]))
                whole = raw.numel() // dtype.itemsize * dtype.itemsize
                content = raw[:whole].view(dtype) if whole else torch.empty(0, dtype=dtype)
                storages[key] = torch.empty(content.numel() + 2 * guard, dtype=dtype)
                if poison is not None and dtype.is_floating_point:
                    storages[key].fill_(poison)
                storages[key][guard : guard + content.numel()] = content
                storages[key] = storages[key].to(device)
            return torch.as_strided(storages[key], value["shape"], value["stride"], value["offset"] + guard)
        if "tuple" in value:
            return tuple(one(item) for item in value["tuple"])
        if "dtype" in value:
            return getattr(torch, value["dtype"])
        return value["value"]

    return tuple(one(value) for value in values)


def once(tensor: torch.Tensor) -> torch.Tensor:
    """A view of a tensor without the repetitions that a stride of 0 makes."""
    for axis, (size, step) in enumerate(zip(tensor.shape, tensor.stride(), strict=True)):
        if step == 0 and size > 1:
            tensor = tensor.narrow(axis, 0, 1)
    return tensor


def values_of(tensor: torch.Tensor) -> np.ndarray:
    """A tensor's elements in row-major order as raw bytes."""
    flat = torch.empty(tensor.numel(), dtype=tensor.dtype)  # a contiguous tensor of one element may have any stride
    flat.view(tensor.shape).copy_(tensor.detach())
    return flat.view(torch.uint8).numpy() if flat.numel() else np.zeros(0, dtype=np.uint8)


def tensor_of(raw: np.ndarray, dtype: str, shape: list[int]) -> torch.Tensor:
    """The contiguous tensor whose `values_of` are `raw`."""
    kind = getattr(torch, dtype)
    return torch.from_numpy(np.array(raw)).view(kind).reshape(shape) if raw.size else torch.empty(shape, dtype=kind)
