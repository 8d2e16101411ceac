"""Compiling one kernel for a GPU that this machine does not have, and handing over all that the compiler made of it.

Runs inside the worker's process (`checking/worker.py`), in which Triton compiles. The arguments are described, not sent:
a tensor is its dtype, the alignment of its address and its size, which is all that Triton's own launch asks of it.
Writes `assembled.json`, or lets `worker.main` describe the error. Not here: reading the machine code (`instructions.py`).

    launch   {"target": "sm_90", "layer": 1, "arguments": […], "keywords": {"BLOCK": …, "num_warps": …}}
    result   {"kernel", "target", "threads", "num_stages", "dynamic_shared", "made_by",
              "stages": {"ttir": …, "ttgir": …, "llir": …, "ptx" or "amdgcn": …}, "binary": base64, "files": {path: sha256}}
"""

from __future__ import annotations

import base64
import json
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.backends.nvidia.compiler import CUDABackend
from triton.runtime.driver import driver

from course_lib.checking.compiling import CompilerUnavailable, DoesNotCompile, explained, own_trouble
from course_lib.checking.inside import ANSWER_FILE, Whereabouts, load_answer
from course_lib.machine import store
from course_lib.machine.lines import with_lines_of
from course_lib.machine.specs import ARCHITECTURES

TEXTS = ("ttir", "ttgir", "llir", "ptx", "amdgcn")
BINARIES = ("cubin", "hsaco")


@dataclass(frozen=True)
class Pointer:
    """Stands in for a tensor. `address` matters only modulo 16."""

    dtype: torch.dtype
    address: int
    bytes: int

    def data_ptr(self) -> int:
        return self.address

    def ptr_range(self) -> int:
        """AMD's backend asks for this: offsets into less than 2 GiB fit its buffer instructions."""
        return self.bytes


class NamedGpu:
    """A driver that answers which GPU to compile for, and nothing else."""

    def __init__(self, target: GPUTarget) -> None:
        self.target = target

    def get_current_target(self) -> GPUTarget:
        return self.target

    def get_current_device(self) -> int:
        return 0

    def get_current_stream(self, device: int | None = None) -> int:
        return 0

    def get_active_torch_device(self) -> torch.device:
        return torch.device("cpu")


def run(request: dict[str, Any], where: Whereabouts) -> None:
    """Compile the kernel as the request's `launch` says."""
    launch = request["launch"]
    os.environ["TRITON_CACHE_DIR"] = str(Path.cwd() / "triton-cache")  # a result of this run alone
    _give_each_instruction_a_line_of_the_kernel()
    driver.set_active(NamedGpu(_gpu_target(launch["target"])))
    before = set(sys.modules)
    kernel = _layer(load_answer(Path(ANSWER_FILE).resolve(), request["answer"]), launch["layer"])
    files = dict(_files_of(set(sys.modules) - before - {"answer"}))
    compiled = _compiled(kernel, launch)
    result = {
        "kernel": compiled.metadata.name,
        "target": launch["target"],
        "threads": compiled.metadata.num_warps * compiled.metadata.target.warp_size,
        "num_stages": compiled.metadata.num_stages,
        "dynamic_shared": compiled.metadata.shared,
        "made_by": f"Triton {triton.__version__}",
        "stages": {name: _without_folders(compiled.asm[name]) for name in TEXTS if name in compiled.asm},
        "binary": next(base64.b64encode(compiled.asm[name]).decode() for name in BINARIES if name in compiled.asm),
        "files": files,
    }
    request["save"]("assembled.json", json.dumps(result).encode())


def _gpu_target(name: str) -> GPUTarget:
    if name.startswith("sm_"):
        return GPUTarget("cuda", int(name.removeprefix("sm_")), 32)
    return GPUTarget("hip", name, ARCHITECTURES[name].warp_size)


def _layer(kernel: Any, layer: int) -> Any:
    """The object that was passed: a kernel's decorators lie around it like shells, and `layer` counts them from inside."""
    layers = [kernel]
    while hasattr(layers[-1], "fn"):
        layers.append(layers[-1].fn)
    return layers[-1 - layer]


def _compiled(kernel: Any, launch: dict[str, Any]) -> Any:
    arguments = [_value(one) for one in launch["arguments"]]
    keywords = {name: _value(one) for name, one in launch["keywords"].items()}
    try:
        result = kernel.warmup(*arguments, grid=(1,), **keywords)
    except Exception as error:
        raise _refusal(error, kernel) from error
    if isinstance(result, list):
        advice = "pass the kernel inside, its `.fn`, with the constants of one of them"
        raise DoesNotCompile(f"it is autotuned over {len(result)} configurations; {advice}")
    needed, most = result.metadata.shared, ARCHITECTURES[launch["target"]].max_shared_per_block
    if needed > most:
        advice = "make the block or num_stages smaller"
        raise DoesNotCompile(f"it needs {needed} bytes of shared memory, and the GPU has {most}; {advice}")
    return result


def _refusal(error: Exception, kernel: Any) -> Exception:
    if own_trouble(error):
        return CompilerUnavailable(f"the compiler itself has trouble: {type(error).__name__}: {error}")
    reason, place = explained(error)
    # Triton builds a function of this name to bind a launch's arguments.
    return DoesNotCompile(reason.replace("dynamic_func()", f"{getattr(kernel, '__name__', 'kernel')}()"), **place)


def _value(described: dict[str, Any]) -> Any:
    """An argument from its description (`compiled._described`)."""
    if "pointer" in described:
        return Pointer(getattr(torch, described["pointer"]), described["address"], described["bytes"])
    if "tuple" in described:
        return tuple(_value(item) for item in described["tuple"])
    if "dtype" in described:
        return tl.dtype(described["dtype"])
    return described["value"]


def _files_of(modules: set[str]) -> Iterator[tuple[str, str]]:
    """The source files that came along with the kernel, each with a digest of its content."""
    for name in sorted(modules):
        path = getattr(sys.modules[name], "__file__", None)
        if path and path.endswith(".py"):
            yield path, store.digest(Path(path))


def _without_folders(text: str) -> str:
    """The text with the paths of this run and of Triton's installation cut short: they say nothing about the code."""
    packages = os.path.dirname(os.path.dirname(triton.__file__))
    return re.sub(rf"({re.escape(os.getcwd())}|{re.escape(packages)})/*", "", text)


def _give_each_instruction_a_line_of_the_kernel() -> None:
    """Let machine code name lines of the kernel, as far as ptxas lets it.

    Two things stand in the way. `tl.sum` is a function in Triton's library, and where the PTX does not say what it was
    inlined into, ptxas keeps the library's line. And LLVM counts the lines of inline assembly on from the kernel's own. The
    line numbers in the PTX are therefore changed before ptxas reads them; the instructions are not.
    """
    make_cubin = CUDABackend.make_cubin
    CUDABackend.make_cubin = lambda self, source, *rest: make_cubin(self, with_lines_of(source, ANSWER_FILE), *rest)
