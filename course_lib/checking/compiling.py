"""Compiling every launch of an answer for GPUs that this machine does not have.

The answer's launcher is called again on the same inputs, in a process in which Triton compiles. Each launch goes through
Triton's own path, so dtypes, divisibility by 16, arguments equal to 1, constants and launch options are what they would be
on a GPU; only the last step, the launch itself, is left out. A driver that merely names the GPU stands in for a real one.

Runs inside the worker's process (`worker.py`). Writes `compiled.json`, or lets `worker.main` describe the error.
"""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from triton.backends.compiler import GPUTarget
from triton.compiler.errors import CompilationError
from triton.runtime.driver import driver
from triton.runtime.jit import JITFunction, KernelInterface

from course_lib.checking import wire
from course_lib.checking.inside import ANSWER_FILE, OnTheCpu, Whereabouts, load_answer, load_arrays

SHARED_LIMITS = {75: 64 * 1024, 80: 163 * 1024, 86: 99 * 1024, 89: 99 * 1024, 90: 227 * 1024, 100: 227 * 1024, 120: 99 * 1024}
"""Most shared memory of one thread block, in bytes, by compute capability.

Source: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
"""


class DoesNotCompile(Exception):
    """A launch that a GPU's compiler refuses: on which target, in which kernel, on which line, and why."""

    def __init__(self, target: int, kernel: str, line: int | None, reason: str) -> None:
        super().__init__(reason)
        self.details = {"target": target, "kernel": kernel, "line": line}


class _NamedGpu:
    """A driver that answers which GPU to compile for, and nothing else. Each target has kernels of its own."""

    def __init__(self, capability: int) -> None:
        self.capability = capability

    def get_current_target(self) -> GPUTarget:
        return GPUTarget("cuda", self.capability, 32)

    def get_current_device(self) -> int:
        return self.capability

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


def run(request: dict[str, Any], where: Whereabouts) -> None:
    """Compile every launch that the answer makes on every case, for every target in turn."""
    compiled: list[str] = []
    _compile_instead_of_launching(compiled)
    answer = load_answer(Path(ANSWER_FILE).resolve(), request["answer"])
    arrays = load_arrays()
    undecided = None
    for target in request["targets"]:
        driver.set_active(_NamedGpu(target))
        for number, values in enumerate(request["cases"]):
            where.case = number
            where.write()
            try:
                with OnTheCpu():
                    answer(*wire.unpack(values, arrays, poison=0.0))
            except DoesNotCompile:
                raise
            except Exception as error:
                # Outside a launch, the launcher itself may stumble over results that were never computed.
                undecided = f"{type(error).__name__}: {error}"
    request["save"]("compiled.json", json.dumps({"compiled": compiled, "undecided": undecided}).encode())


def _compile_instead_of_launching(compiled: list[str]) -> None:
    """Let `kernel[grid](…)` compile, check that the result fits the GPU, and return."""

    def launcher(kernel: Any, grid: Any) -> Any:
        def launch(*args: Any, **kwargs: Any) -> None:
            target = driver.active.get_current_device()
            caller = sys._getframe(1)
            here = caller.f_lineno if Path(caller.f_code.co_filename).name == ANSWER_FILE else None
            try:
                result = kernel.warmup(*args, grid=(1,), **kwargs)
            except Exception as error:
                if isinstance(error, OSError) or str(error).startswith("Cannot find"):
                    raise  # the compiler's own trouble: a cache that cannot be written, a tool that is missing
                raise explained(error, kernel, target, here) from error
            for one in result if isinstance(result, list) else [result]:
                _must_fit(one, _name(kernel), target, here)
            compiled.append(f"{_name(kernel)} for sm_{target}")

        return launch

    KernelInterface.__getitem__ = lambda kernel, grid: launcher(kernel, grid)


def _must_fit(compiled: Any, name: str, target: int, line: int | None) -> None:
    shared, most = compiled.metadata.shared, SHARED_LIMITS.get(target)
    if most is not None and shared > most:
        reason = f"it needs {shared} bytes of shared memory, and the GPU has {most}; make the block or num_stages smaller"
        raise DoesNotCompile(target, name, line, reason)


def explained(error: Exception, kernel: Any, target: int, launched: int | None = None) -> DoesNotCompile:
    """The innermost reason for a refusal, and the line of the answer that it concerns: in the kernel, or that of the launch."""
    located: BaseException = error
    while isinstance(located.__cause__, CompilationError):
        located = located.__cause__
    line = None
    if isinstance(located, CompilationError):
        line = _line_in_answer(located.src, getattr(located.node, "lineno", None))
    text = getattr(located, "error_message", None) or str(located.args[0] if located.args else located)
    if isinstance(error, (KeyError, TypeError)):  # the call itself does not fit the kernel
        line = line or launched
    return DoesNotCompile(target, _name(kernel), line, _plain(str(text)))


def _plain(text: str) -> str:
    """A compiler's message without Python's wrapping, without addresses, and no longer than it need be."""
    wrapped = re.fullmatch(r"\w+\((['\"])(.*)\1\)", text.strip(), re.DOTALL)
    text = re.sub(r" (object )?at 0x[0-9a-f]+|of type object", "", wrapped[2] if wrapped else text.strip())
    first, *rest = text.split(". ")
    return text if len(text) < 200 or not rest else first


def _line_in_answer(source: str | None, line: int | None) -> int | None:
    """Where line `line` of a function's source stands in the answer's file."""
    if source is None or line is None:
        return None
    head = source.split("\n", 1)[0].strip()
    with suppress(OSError):
        for number, text in enumerate(Path(ANSWER_FILE).read_text(encoding="utf-8").splitlines(), 1):
            if text.strip() == head:
                return number + line - 1
    return None


def _name(kernel: Any) -> str:
    while not isinstance(kernel, JITFunction) and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return getattr(getattr(kernel, "fn", kernel), "__name__", "kernel")
