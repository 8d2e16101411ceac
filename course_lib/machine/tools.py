"""NVIDIA's binary tools as Triton's wheel carries them: from a cubin to text. They need no GPU and no CUDA installation."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import tempfile
from pathlib import Path


class ToolError(RuntimeError):
    """A tool is missing or could not read what it was given; the message says which and why."""


def tool(name: str) -> Path:
    """Where a tool lies: "nvdisasm", "cuobjdump" or "ptxas". Does not import Triton."""
    found = importlib.util.find_spec("triton")
    folders = (found.submodule_search_locations if found else None) or []
    for folder in folders:
        path = Path(folder) / "backends" / "nvidia" / "bin" / (name + (".exe" if os.name == "nt" else ""))
        if path.exists():
            return path
    raise ToolError(f"{name} is missing: it comes with Triton's wheel (`pip install triton`), in backends/nvidia/bin")


def disassemble(cubin: bytes) -> str:
    """What `nvdisasm` prints about a cubin, with source lines, also of inlined functions."""
    return _run(["nvdisasm", "-gi", "-c", "-ndf"], cubin)  # without its analysis of jumps, which takes a third of the time


def resource_usage(cubin: bytes) -> str:
    """What `cuobjdump` prints about the resources of a cubin's kernels."""
    return _run(["cuobjdump", "--dump-resource-usage"], cubin)


def _run(command: list[str], cubin: bytes) -> str:
    with tempfile.TemporaryDirectory(prefix="course-cubin-") as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin)
        done = subprocess.run([str(tool(command[0])), *command[1:], str(path)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"{command[0]} could not read the compiled kernel: {done.stderr.strip() or done.returncode}")
    return done.stdout
