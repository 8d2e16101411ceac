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
from course_lib.checking.inside import ANSWER_FILE, OnTheCpu, Whereabouts, load_answer, load_arrays, save
from course_lib.machine.specs import ARCHITECTURES


class DoesNotCompile(Exception):
    """A launch that a GPU's compiler refuses: on which target, in which kernel, on which line, and why."""

    def __init__(self, target: int | str, kernel: str, line: int | None, reason: str) -> None:
        super().__init__(reason)
        self.details = {"target": target, "kernel": kernel, "line": line}


class NamedGpu:
    """A driver that answers which GPU to compile for, and nothing else. Each target has kernels of its own."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int | str:
        return self.target.arch

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
        driver.set_active(NamedGpu(GPUTarget("cuda", target, 32)))
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
    save("compiled.json", json.dumps({"compiled": compiled, "undecided": undecided}).encode(), request["key"])


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
                raise refusal(error, kernel, target, here) from error
            for one in result if isinstance(result, list) else [result]:
                _must_fit(one, _name(kernel), target, here)
            compiled.append(f"{_name(kernel)} for sm_{target}")

        return launch

    KernelInterface.__getitem__ = lambda kernel, grid: launcher(kernel, grid)


def _must_fit(compiled: Any, name: str, target: int, line: int | None) -> None:
    if reason := too_much_shared(compiled.metadata.shared, f"sm_{target}"):
        raise DoesNotCompile(target, name, line, reason)


def too_much_shared(shared: int, target: str) -> str | None:
    """Why a program cannot run that needs `shared` bytes of shared memory, if it cannot."""
    architecture = ARCHITECTURES.get(target)
    if architecture is None or shared <= architecture.max_shared_per_block:
        return None
    most = architecture.max_shared_per_block
    return f"it needs {shared} bytes of shared memory, and the GPU has {most}; make the block or num_stages smaller"


def refusal(error: Exception, kernel: Any, target: int | str, launched: int | None = None) -> Exception:
    """The innermost reason for a refusal, and the line of the answer that it concerns: in the kernel, or that of the launch.

    The compiler's own trouble (a cache that cannot be written, a tool that is missing) is returned as it is.
    """
    if isinstance(error, OSError) or str(error).startswith("Cannot find"):
        return error
    located: BaseException = error
    while isinstance(located.__cause__, CompilationError):
        located = located.__cause__
    line = None
    if isinstance(located, CompilationError):
        line = _line_in_answer(located.src, getattr(located.node, "lineno", None))
    text = getattr(located, "error_message", None) or str(located.args[0] if located.args else located)
    if isinstance(error, (KeyError, TypeError)):  # the call itself does not fit the kernel
        line = line or launched
    # Triton builds a function of this name to bind a launch's arguments.
    reason = _plain(str(text)).replace("dynamic_func()", f"{_name(kernel)}()")
    return DoesNotCompile(target, _name(kernel), line, reason)


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
