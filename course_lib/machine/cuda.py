"""CUDA C++ beside Triton: NVRTC compiles it to machine code on any machine, and a GPU runs it where there is one.

Needs the extra "cuda" (`pip install -e '.[cuda]'` in the course's folder): a few packages, and no CUDA installation. Without
it, the course's own sources (`SOURCES`) are answered from recorded listings, and each says that it is one.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from course_lib.checking.findings import SourceLine
from course_lib.machine import store
from course_lib.machine.compiled import CannotCompile, Compiled, from_record, must_know, with_machine_code
from course_lib.machine.specs import ARCHITECTURES

DATA = Path(__file__).resolve().parents[1] / "data"
LISTINGS = DATA / "cuda_listings.json"
SOURCES: Mapping[str, int] = {"warp_sum": 32, "block_sum": 128}
"""The course's own CUDA kernels, in `course_lib/data/NAME.cu`, and how many threads each is written for."""

INSTALL = "pip install -e '.[cuda]' in the course's folder"
OPTIONS = ("--generate-line-info", "--std=c++17")


class NeedsCudaExtra(ImportError):
    """CUDA C++ cannot be compiled here, and there is no recorded listing; the message says what to install."""


def cuda_source(name: str) -> str:
    """The text of one of the course's own CUDA sources, `SOURCES`."""
    if name not in SOURCES:
        raise ValueError(f"no CUDA source called {name!r}; there are {', '.join(SOURCES)}")
    return (DATA / f"{name}.cu").read_text(encoding="utf-8")


def has_nvrtc() -> bool:
    """Whether CUDA C++ can be compiled here."""
    return _nvrtc_version() is not None


def compile_cuda(source: str, kernel: str, target: str = "sm_90", threads: int = 128) -> Compiled:
    """Compile CUDA C++ for an NVIDIA GPU, without a GPU.

    `source` is the text of a file that defines `extern "C" __global__ void KERNEL(…)`; `threads` is how many threads a block
    will have, which the code itself does not say. Options are NVRTC's own, with line numbers.

        c = compile_cuda(cuda_source("block_sum"), "block_sum", target="sm_90", threads=128)
        c.count("SHFL.BFLY"), c.registers, print(c.sass)

    Without NVRTC the result is a recorded listing, if there is one for exactly this source; its `provenance` says so.
    Raises `ValueError` for an unknown target or one that is not NVIDIA's, `CannotCompile` with the compiler's message and the
    line for source that it refuses, and `NeedsCudaExtra`.
    """
    must_know(target)
    if ARCHITECTURES[target].vendor != "nvidia":
        raise ValueError(f"CUDA C++ is compiled for NVIDIA's GPUs only, not for {target}")
    file, lines = f"{kernel}.cu", source.splitlines()
    record = _compiled(source, kernel, target) if has_nvrtc() else _recorded(source, kernel, target)

    def line_of(name: str, number: int) -> SourceLine | None:
        return SourceLine(file, number, lines[number - 1].strip()) if name == file and number <= len(lines) else None

    return from_record({**record, "threads": threads}, line_of)


def launch_cuda(compiled: Compiled, *arguments: Any, blocks: int = 1) -> None:
    """Run a CUDA kernel on this machine's GPU, `blocks` blocks of `compiled.threads` threads, and wait for its end.

    A tensor is passed as its address, an `int` as CUDA's `int`, a `float` as CUDA's `float`. Raises `RuntimeError` where there
    is no GPU that torch can use. Not checked: that the arguments fit the kernel, and that it stays within its tensors.
    """
    import numpy as np
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("a CUDA kernel runs on a GPU, and torch finds none here; compile_cuda shows its code")
    if not compiled.binary:
        raise NeedsCudaExtra(f"a recorded listing cannot be run: {INSTALL}, and compile again")
    if not _importable("cuda.core"):
        raise NeedsCudaExtra(f"cuda.core is missing: {INSTALL}")
    from cuda.core import Device, LaunchConfig, ObjectCode, launch

    def passed(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value.data_ptr()
        return np.float32(value) if isinstance(value, float) else np.int32(value)

    torch.cuda.synchronize()  # what torch has begun to write on other streams must be there
    device = Device(torch.cuda.current_device())
    device.set_current()
    code = ObjectCode.from_cubin(compiled.binary)
    config = LaunchConfig(grid=blocks, block=compiled.threads)
    launch(device.default_stream, config, code.get_kernel(compiled.kernel), *map(passed, arguments))
    torch.cuda.synchronize()  # the code is unloaded when this function returns


def record(name: str, target: str, today: str) -> dict[str, Any]:
    """A listing of one of the course's sources as `LISTINGS` keeps it: compiled now, without the cubin."""
    made = _compiled(cuda_source(name), name, target)
    made_by = f"{made['made_by']}, recorded on {today}"
    return {**made, "binary": "", "made_by": made_by, "key": store.key_of(cuda_source(name), name, target)}


def _compiled(source: str, kernel: str, target: str) -> dict[str, Any]:
    """The record of a kernel that NVRTC compiled, now or before."""
    key = store.key_of("cuda", source, kernel, target, _nvrtc_version(), OPTIONS)
    found = store.load(key)
    if found is None:
        ptx, cubin = _nvrtc(source, kernel, target)
        found = with_machine_code(
            {
                "kernel": kernel,
                "target": target,
                "num_stages": 1,
                "dynamic_shared": 0,
                "stages": {"ptx": ptx},
                "binary": base64.b64encode(cubin).decode(),
                "made_by": f"NVRTC {_nvrtc_version()}",
            }
        )
        store.save(key, found)
    return found


def _recorded(source: str, kernel: str, target: str) -> dict[str, Any]:
    """The recorded listing of exactly this source."""
    listings = json.loads(LISTINGS.read_text(encoding="utf-8"))
    key = store.key_of(source, kernel, target)
    if found := next((listing for listing in listings if listing["key"] == key), None):
        return {**found, "made_by": f"{found['made_by']}; for one made here: {INSTALL}"}
    raise NeedsCudaExtra(f"compiling CUDA C++ needs NVRTC: {INSTALL}. Recorded are {', '.join(SOURCES)}, as they came.")


def _nvrtc(source: str, kernel: str, target: str) -> tuple[str, bytes]:
    """PTX and cubin of a source, through NVRTC. See "NVRTC", CUDA Toolkit documentation."""
    from cuda.bindings import nvrtc

    def checked(result: tuple[Any, ...]) -> Any:
        status, *values = result
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise RuntimeError(f"NVRTC: {nvrtc.nvrtcGetErrorString(status)[1].decode()}")
        return values[0] if values else None

    def text(size: Any, get: Any) -> bytes:
        content = bytes(checked(size(program)))
        checked(get(program, content))
        return content

    program = checked(nvrtc.nvrtcCreateProgram(source.encode(), f"{kernel}.cu".encode(), 0, [], []))
    try:
        options = [option.encode() for option in (f"--gpu-architecture={target}", *OPTIONS)]
        (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
        if status == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
            raise _refused(text(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog).decode(), source, kernel, target)
        checked((status,))
        ptx = text(nvrtc.nvrtcGetPTXSize, nvrtc.nvrtcGetPTX).decode().rstrip("\0")
        cubin = text(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN)
    finally:
        nvrtc.nvrtcDestroyProgram(program)
    if f".entry {kernel}(" not in ptx:
        raise CannotCompile(kernel, target, f'the source defines no `extern "C" __global__ void {kernel}(…)`')
    return ptx, cubin


def _refused(log: str, source: str, kernel: str, target: str) -> CannotCompile:
    found = re.search(rf"^{re.escape(kernel)}\.cu\((\d+)\): error: (.*)$", log, re.MULTILINE)
    if found is None:
        return CannotCompile(kernel, target, log.rstrip("\0\n "))
    number = int(found[1])
    return CannotCompile(kernel, target, found[2], SourceLine(f"{kernel}.cu", number, source.splitlines()[number - 1].strip()))


@cache
def _nvrtc_version() -> str | None:
    """Which NVRTC there is, such as "13.0"; None if its library cannot be loaded."""
    if not _importable("cuda.bindings"):
        return None
    from cuda.bindings import nvrtc

    try:
        _, major, minor = nvrtc.nvrtcVersion()
    except RuntimeError:  # the bindings are there, and the library they bind is not
        return None
    return f"{major}.{minor}"


def _importable(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # its parent is not there
        return False
