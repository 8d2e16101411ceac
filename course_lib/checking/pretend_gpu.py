"""A made-up GPU, so that a launcher that asks for one runs on the CPU as well.

Launchers ask torch and Triton: is there a GPU, is this tensor on it, how many multiprocessors does it have, how many registers
does the kernel need. `install` lets both reply, in this process, as on a machine with one GPU; under a `PretendGpu`, tensors
say that they are on it, and what is asked for there lies in the CPU's memory. Kernels that are really compiled tell what they
really need.

Not here: interpreting (`interpreting.py`) and compiling (`compiling.py`).
"""

from __future__ import annotations

import inspect
import struct
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
import torch.utils._device
from torch.overrides import TorchFunctionMode
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime.driver import driver

from course_lib.checking.assumptions import broken_assumption
from course_lib.device import Device
from course_lib.machine.specs import ARCHITECTURES

KIB = 1024
LIMITS = {
    int(target.removeprefix("sm_")): (one.max_shared_per_block, one.max_warps * one.warp_size)
    for target, one in ARCHITECTURES.items()
    if one.vendor == "nvidia"
}
"""Most shared memory of a thread block in bytes, and most threads of a multiprocessor, by compute capability."""
USUAL = 90
"""The compute capability where nothing is compiled."""
_LIKE_ALL = ARCHITECTURES[f"sm_{USUAL}"]
REGISTERS = _LIKE_ALL.registers
"""Registers of a multiprocessor, for every compute capability above."""
THREADS, WARP = _LIKE_ALL.max_threads_per_block, _LIKE_ALL.warp_size
"""Most threads of a thread block, and threads of a warp; likewise."""
MULTIPROCESSORS = 4
"""Fewer than any GPU has: a kernel that starts as many programs as fit must then go round its loop in small cases, too."""

GPU, CPU = torch.device("cuda", 0), torch.device("cpu")


def install(capability: int = USUAL) -> None:
    """From now on this process seems to have one GPU, of this compute capability (90 is sm_90)."""
    driver.set_active(_Driver(capability))
    for name, stand_in in _torch_cuda(capability).items():
        setattr(torch.cuda, name, stand_in)
    for name, reply in {"is_available": True, "device_count": 1, "current_accelerator": GPU, "current_device_index": 0}.items():
        setattr(torch.accelerator, name, _always(reply))
    torch.utils._device.DeviceContext.__init__ = _begin_device_context  # type: ignore[method-assign]
    Device.torch_device = "cuda"  # type: ignore[assignment, method-assign]
    if knobs.runtime.interpret:
        _warm_up_without_compiling()


# --- tensors ------------------------------------------------------------------------------------------------------


class PretendGpu(TorchFunctionMode):
    """While it is entered, tensors of the CPU say that they are on the GPU, and what is asked for there is made here."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in _ON_THE_GPU and args[0].device == CPU:
            return _ON_THE_GPU[func]
        if func is torch.Tensor.cuda:
            return args[0]
        if func is torch.device:
            return func(*args, **(kwargs or {}))
        named = {name: _on_the_cpu(value) for name, value in (kwargs or {}).items()}
        if isinstance(named.get("device"), int):
            named["device"] = CPU
        return func(*map(_on_the_cpu, args), **named)


_ON_THE_GPU = {
    torch.Tensor.device.__get__: GPU,
    torch.Tensor.is_cuda.__get__: True,  # type: ignore[attr-defined]
    torch.Tensor.is_cpu.__get__: False,  # type: ignore[attr-defined]
    torch.Tensor.get_device: 0,
}


def _on_the_cpu(value: Any) -> Any:
    if isinstance(value, str) and value.split(":")[0] == "cuda":
        return CPU
    return CPU if isinstance(value, torch.device) and value.type == "cuda" else value


def _begin_device_context(self: torch.utils._device.DeviceContext, device: Any) -> None:
    """`with torch.device("cuda"):` and `torch.set_default_device("cuda")` act beneath a `PretendGpu`."""
    TorchFunctionMode.__init__(self)
    self.device = torch.device(_on_the_cpu(device))
    self.prev_mode = None


# --- torch.cuda ---------------------------------------------------------------------------------------------------


def _always(reply: Any) -> Any:
    return lambda *_, **__: reply


def _torch_cuda(capability: int) -> dict[str, Any]:
    """What stands in for functions and classes of `torch.cuda`."""
    shared, threads = LIMITS[capability]
    properties = SimpleNamespace(
        name=f"made-up GPU (sm_{capability})",
        major=capability // 10,
        minor=capability % 10,
        multi_processor_count=MULTIPROCESSORS,
        max_threads_per_multi_processor=threads,
        regs_per_multiprocessor=REGISTERS,
        warp_size=WARP,
        shared_memory_per_block=48 * KIB,
        shared_memory_per_block_optin=shared,
        shared_memory_per_multiprocessor=shared + KIB,
        L2_cache_size=32 * KIB**2,
        total_memory=16 * KIB**3,
    )
    stream = SimpleNamespace(cuda_stream=0, device=GPU, synchronize=_always(None), wait_stream=_always(None))
    return {
        "is_available": _always(True),
        "is_initialized": _always(True),
        "init": _always(None),
        "device_count": _always(1),
        "current_device": _always(0),
        "set_device": _always(None),
        "device": _always(nullcontext()),
        "device_of": _always(nullcontext()),
        "synchronize": _always(None),
        "get_device_name": _always(properties.name),
        "get_device_capability": _always((properties.major, properties.minor)),
        "get_device_properties": _always(properties),
        "current_stream": _always(stream),
        "default_stream": _always(stream),
        "Stream": _always(stream),
        "stream": _always(nullcontext()),
    }


# --- Triton's driver ----------------------------------------------------------------------------------------------


class _Driver:
    """What Triton and launchers ask a driver; see triton/backends/nvidia/driver.py. Nothing is launched by it."""

    def __init__(self, capability: int) -> None:
        self.capability = capability
        self.utils = _Utils(capability)
        self.launched: set[str] = set()
        """Kernels that were compiled beforehand and have been launched; it is for others to forget them."""
        self.launcher_cls = partial(_Launcher, self.launched)

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, WARP)

    def get_device_capability(self, device: Any = None) -> tuple[int, int]:
        return self.capability // 10, self.capability % 10

    def get_current_device(self) -> int:
        return 0

    def set_current_device(self, device: int) -> None:
        pass

    def get_current_stream(self, device: Any = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return GPU

    def get_device_interface(self) -> Any:
        return torch.cuda


class _Utils:
    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_device_properties(self, device: Any) -> dict[str, int]:
        return {
            "max_shared_mem": LIMITS[self.capability][0],
            "max_num_regs": REGISTERS,
            "multiprocessor_count": MULTIPROCESSORS,
            "warpSize": WARP,
        }

    def load_binary(self, name: str, binary: bytes, shared: int, device: int) -> tuple[object, object, int, int, int]:
        """The module, the function, registers of a thread, spilled registers, most threads."""
        return object(), object(), _registers(binary), 0, THREADS

    def unload_module(self, module: object) -> None:
        pass


def _registers(cubin: bytes) -> int:
    """Registers of a thread, from the attribute EIATTR_REGCOUNT of a cubin's section .nv.info, as cuobjdump shows it."""
    at = cubin.index(b"\x04\x2f\x08\x00")  # how it is stored, which attribute, and how many bytes follow
    _, count = struct.unpack_from("<II", cubin, at + 4)
    return int(count)


class _Launcher:
    """Takes the place of the last step of a launch: sees to it that a kernel gets all its arguments, and runs nothing."""

    def __init__(self, launched: set[str], source: Any, metadata: Any) -> None:
        self.launched, self.kernel, self.parameters = launched, source.fn.__name__, len(source.signature)

    def __call__(
        self, x: int, y: int, z: int, stream: Any, function: Any, packed: Any, metadata: Any, enter: Any, leave: Any, *args: Any
    ) -> None:
        _all_given(self.parameters, args)
        self.launched.add(self.kernel)


def _all_given(parameters: int, args: tuple[Any, ...]) -> None:
    if len(args) != parameters:
        raise TypeError(
            f"a kernel that was compiled beforehand is launched with all its {parameters} arguments, those that are "
            f"tl.constexpr too; {len(args)} were given"
        )


# --- kernel.warmup(…) in the interpreter -----------------------------------------------------------------------------


class _Uncompiled:
    """What `kernel.warmup(…)` returns where nothing is compiled: the needs of a large kernel, and a way to launch it."""

    refusal: type[Exception]

    def __init__(self, kernel: Any, arguments: dict[str, Any], num_warps: int = 4, num_stages: int = 3) -> None:
        self.kernel, self.arguments = kernel, arguments
        self.name = kernel.__name__
        self.n_regs = min(255, REGISTERS // (WARP * num_warps))
        self.n_spills = 0
        self.n_max_threads = THREADS
        self.metadata = SimpleNamespace(
            name=self.name, shared=16 * KIB, num_warps=num_warps, num_stages=num_stages, num_ctas=1, warp_size=WARP
        )

    def _init_handles(self) -> None:
        pass

    def __getitem__(self, grid: Any) -> Any:
        def launch(*args: Any, stream: Any = None) -> None:
            _all_given(len(self.kernel.arg_names), args)
            self._compiled_for(dict(zip(self.kernel.arg_names, args, strict=True)))
            self.kernel[grid[0], grid[1], grid[2]](*args)  # a compiled kernel takes all three

        return launch

    def _compiled_for(self, arguments: dict[str, Any]) -> None:
        """Raise if a launch breaks what this kernel was compiled for: on a GPU nobody looks."""
        parameters = inspect.signature(self.kernel.fn).parameters
        constants = [name for name, one in parameters.items() if "constexpr" in str(one.annotation)]
        plain, anywhere = (self._named(f"do_not_specialize{what}") for what in ("", "_on_alignment"))
        if broken := broken_assumption(self.arguments, arguments, constants, plain, anywhere):
            raise RuntimeError(
                f"a kernel that was compiled for other arguments is launched: {broken}. On a GPU nobody looks: it may crash, "
                "or write wrong numbers"
            )

    def _named(self, option: str) -> list[str]:
        """The arguments that an option of `@triton.jit` lists, by name or by position."""
        return [self.kernel.arg_names[one] if isinstance(one, int) else one for one in self.kernel.kwargs.get(option) or ()]

    def __getattr__(self, name: str) -> Any:
        raise self.refusal(f"only a kernel that was really compiled has `{name}`")


def _warm_up_without_compiling() -> None:
    from triton.runtime.interpreter import InterpretedFunction

    from course_lib.checking.hooks import CannotInterpret

    _Uncompiled.refusal = CannotInterpret  # once an answer runs, this module can no longer import it
    run = InterpretedFunction.run
    if hasattr(run, "__wrapped__"):
        return

    def run_or_pretend(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if not warmup:
            return run(self, *args, grid=grid, warmup=False, **kwargs)
        arguments = dict(zip(self.arg_names, args, strict=False)) | {
            name: kwargs[name] for name in self.arg_names if name in kwargs
        }
        return _Uncompiled(self, arguments, **{name: kwargs[name] for name in ("num_warps", "num_stages") if name in kwargs})

    run_or_pretend.__wrapped__ = run  # type: ignore[attr-defined]
    InterpretedFunction.run = run_or_pretend
