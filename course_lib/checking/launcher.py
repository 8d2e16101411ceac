"""Watches what an answer does around its kernels: which torch operations it calls, and what it takes out of tensors.

What runs in another thread or process is seen by none of this, so that one was started is noted as well.

Runs inside the worker's process, around one call of the answer.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from course_lib.checking.hooks.frames import answer_frame
from course_lib.checking.hooks.model import state
from course_lib.checking.recorder import Recorder

VIEWS = frozenset(
    "view _unsafe_view as_strided expand t transpose permute select slice unsqueeze squeeze detach alias diagonal "
    "unbind split split_with_sizes unfold _reshape_alias view_as_real lift_fresh is_same_size".split()
)
"""Operations that move no data."""
TURNED = frozenset("t_ transpose_ squeeze_ unsqueeze_ as_strided_ detach_".split())
"""Operations that make another view of a tensor itself."""

READS = {
    torch.Tensor.tolist: "tolist",
    torch.Tensor.numpy: "numpy",
    torch.Tensor.__array__: "numpy",
    torch.Tensor.__dlpack__: "numpy",
}
"""Ways to take a tensor's values out of torch, which no dispatch shows."""

FACTORIES = frozenset(
    {torch.empty, torch.zeros, torch.ones, torch.full, torch.arange, torch.eye, torch.linspace, torch.logspace, torch.tensor}
    | {torch.rand, torch.randn, torch.randint, torch.randperm, torch.empty_strided}
)
"""What makes a tensor on the CPU, unless it is told a device."""

PROCESSES = frozenset({"os.fork", "os.forkpty", "os.posix_spawn", "os.system", "subprocess.Popen"})
"""Python's audit events by which a process begins."""


@contextmanager
def watching(recorder: Recorder) -> Iterator[dict[str, int]]:
    """Count the torch operations that the answer itself calls, by name, and fill fresh tensors with poison."""
    operations: dict[str, int] = {}
    starts = _starts()
    starts.recorder = recorder
    threading.setprofile(starts.thread_begins)
    try:
        with _Calls(recorder, operations), _Operations(recorder, operations):
            yield operations
    finally:
        threading.setprofile(None)
        starts.recorder = None


class _Starts:
    """Notes threads and processes that are started. Nothing takes an audit hook away again, so there is one for all calls."""

    def __init__(self) -> None:
        self.recorder: Recorder | None = None
        sys.addaudithook(self._heard)

    def thread_begins(self, *event: Any) -> None:
        """Called in each new thread, as its profiler, when it enters its first function."""
        sys.setprofile(None)
        if self.recorder is not None:
            self.recorder.elsewhere.add("thread")

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.recorder is not None and event in PROCESSES:
            self.recorder.elsewhere.add("process")


_starts = functools.cache(_Starts)


class _Calls(TorchFunctionMode):
    """Sees what the dispatch does not show: values that are taken out, and tensors that were made without a device."""

    def __init__(self, recorder: Recorder, operations: dict[str, int]) -> None:
        super().__init__()
        self.recorder, self.operations = recorder, operations

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in READS and not state.copying:
            _count(self.operations, READS[func])
        if func in FACTORIES and not state.copying and (kwargs or {}).get("device") is None and not _has_default_device():
            made = func(*args, **(kwargs or {}))
            if has_strides(made) and made.numel():
                self.recorder.on_cpu[self.recorder.storages.number(made)] = answer_frame().f_lineno
            return made
        if func is torch.Tensor.__format__ and type(args[0]) is torch.Tensor:  # to be printed, as `print(x)` does by itself
            with _disable_current_modes():
                return func(*args, **(kwargs or {}))
        return func(*args, **(kwargs or {}))


class _Operations(TorchDispatchMode):
    def __init__(self, recorder: Recorder, operations: dict[str, int]) -> None:
        super().__init__()
        self.recorder, self.operations = recorder, operations

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # An operator that was registered with torch.library hides what it does: it goes by its full name.
        name = func.overloadpacket.__name__ if func.namespace == "aten" else f"{func.namespace}::{func.overloadpacket.__name__}"
        if state.copying or name in VIEWS or (name in TURNED and not self.recorder.storages.is_argument(args[0])):
            return func(*args, **kwargs)
        if not state.tuning:
            _count(self.operations, name)
        used = [value for value in (*args, *kwargs.values()) if has_strides(value)]
        for tensor in used:
            self.recorder.verify("a tensor", tensor)
        result = func(*args, **kwargs)
        storages = self.recorder.storages
        for made in (value for value in (result if isinstance(result, (tuple, list)) else [result]) if has_strides(value)):
            if func.namespace == "aten" and "empty" in name and made.numel():
                storages.fresh(made, self.recorder.variation.poison)
            else:
                storages.known(made)
            if name in ("clone", "_to_copy") and used:
                storages.copied(made, used[0])
            storages.remember(made)
            if func._schema.is_mutable and (argument := storages.arguments.get(storages.number(made))) is not None:
                self.recorder.changed.setdefault(argument, answer_frame().f_lineno)
        return result


def _has_default_device() -> bool:
    """Whether the answer has chosen a device for all that it makes."""
    return any(isinstance(mode, DeviceContext) for mode in _get_current_function_mode_stack())


def has_strides(value: Any) -> bool:
    """Whether this is a tensor whose elements lie in one storage: a sparse one has none."""
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def _count(operations: dict[str, int], name: str) -> None:
    operations[name] = operations.get(name, 0) + 1
