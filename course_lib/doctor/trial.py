"""Tries, in a new process, what the doctor promises: run a kernel interpreted, compile one for sm_90, launch one.

`python -m course_lib.doctor.trial run|compile|time` is the inside of that process: a bad Triton or a dead driver
ends only that. Not here: what a failure means (`diagnosis.py`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SETTINGS: dict[str, dict[str, str]] = {
    "run": {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""},
    "compile": {"TRITON_INTERPRET": "0", "TRITON_ALWAYS_COMPILE": "1"},
    "time": {"TRITON_INTERPRET": "0"},
}
SECONDS = 120


def make_trials(which: Iterable[str]) -> dict[str, str | None]:
    """Make the trials side by side: None for each that went well, else what went wrong, in a line."""
    root = str(Path(__file__).resolve().parents[2])
    started = {
        name: subprocess.Popen(
            [sys.executable, "-m", "course_lib.doctor.trial", name],
            env={**os.environ, "PYTHONPATH": root, **SETTINGS[name]},
            cwd=root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        for name in which
    }
    return {name: _wait(process) for name, process in started.items()}


def _wait(process: subprocess.Popen[str]) -> str | None:
    try:
        _, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return f"no end after {SECONDS} s"
    if process.returncode == 0:
        return None
    lines = [line for line in errors.splitlines() if line.strip()]
    return lines[-1].strip() if lines else f"the process ended with status {process.returncode}"


def _sum_kernel() -> Any:
    import triton
    import triton.language as tl

    @triton.jit
    def sum_kernel(x_ptr, n, BLOCK_SIZE: tl.constexpr):  # type: ignore[no-untyped-def]
        total = 0.0
        for start in range(0, n, BLOCK_SIZE):  # a runtime bound: what Triton 3.6 and a newer NumPy disagree about
            offsets = start + tl.arange(0, BLOCK_SIZE)
            total += tl.sum(tl.load(x_ptr + offsets, mask=offsets < n, other=0.0))
        tl.store(x_ptr, total)

    return sum_kernel


def _launch(where: str) -> None:
    import torch

    x = torch.arange(5.0, device=where)
    _sum_kernel()[(1,)](x, 5, BLOCK_SIZE=4)
    if x[0].item() != 10.0:
        raise SystemExit(f"the sum of 0, 1, 2, 3, 4 came out as {x[0].item()}")


def _compile() -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    signature = {"x_ptr": "*fp32", "n": "i32", "BLOCK_SIZE": "constexpr"}
    source = ASTSource(_sum_kernel(), signature, constexprs={"BLOCK_SIZE": 4})
    triton.compile(source, target=GPUTarget("cuda", 90, 32))


def main(name: str) -> None:
    """The inside of the process: raises if the trial goes wrong."""
    if name == "compile":
        _compile()
    else:
        _launch("cuda" if name == "time" else "cpu")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="course-trial-"):  # checks need such a folder too
        main(sys.argv[1])
