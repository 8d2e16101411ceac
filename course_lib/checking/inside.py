"""What every kind of worker needs inside its process: the answer, its cases, and a note of where it is just now."""

from __future__ import annotations

import hmac
import importlib.util
import io
import json
import mmap
import os
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ANSWER_FILE = "answer.py"

POSITION = struct.Struct("<qqqqqq")
"""Where a worker is: case, launch, program x y z, line. −1 where it does not apply."""


POISONS = ("nan", "high", "low", "zero")
"""What fills memory that an answer may not rely on. The interpreter's `max` and `min` skip NaN, so one kind is not enough."""
VARIATIONS = (*POISONS, "backward", "shuffled", "reordered", "measured", "tuning1", "tuning2", "tuning3", "deaf")
"""The ways in which one call may be run; the first is always. See `recorder.Variation`."""


class Whereabouts:
    """A small file in shared memory that tells the parent where this process was, even if it dies."""

    def __init__(self, path: Path) -> None:
        path.write_bytes(bytes(POSITION.size))
        descriptor = os.open(path, os.O_RDWR)
        self.memory = mmap.mmap(descriptor, POSITION.size)
        os.close(descriptor)
        self.case = self.launch = self.line = -1
        self.program = (-1, -1, -1)
        self.grid = (0, 0, 0)
        """The grid of the last launch. Unlike the rest it stays in this process."""
        self.renew: Callable[[], None] = lambda: None
        """Called when a case begins: its time starts anew."""
        self.write()

    def begin(self, case: int) -> None:
        """A case begins."""
        self.case, self.launch, self.line, self.program, self.grid = case, -1, -1, (-1, -1, -1), (0, 0, 0)
        self.write()
        self.renew()

    def write(self) -> None:
        POSITION.pack_into(self.memory, 0, self.case, self.launch, *self.program, self.line)


def content_of(path: Path, limit: int) -> bytes | None:
    """The beginning of a regular file, at most `limit` bytes; None if there is none. Does not wait for a pipe's other end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        return file.read(limit)


def case_under_way(folder: Path) -> int:
    """The case that the worker of this folder says it is at; −1 if it says nothing."""
    written = content_of(folder / "where.bin", POSITION.size) or b""
    return int(POSITION.unpack(written)[0]) if len(written) == POSITION.size else -1


def call_once(kernel_call: Callable[[], Any], **_: Any) -> list[float]:
    """Takes the place of Triton's `do_bench`, where there is nothing to measure."""
    kernel_call()
    return [0.0, 0.0, 0.0]


def load_answer(path: Path, name: str) -> Any:
    """The function called `name` from the bundled module."""
    spec = importlib.util.spec_from_file_location("answer", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["answer"] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


Save = Callable[[str, bytes], None]


def saver(folder: Path, key: bytes) -> Save:
    """A function that writes a result into a folder, with a signature that takes the key.

    The key itself can be found nowhere afterwards, so that a result forged without the worker's own code is told apart.
    """
    signature = hmac.new(key, digestmod="sha256")

    def save(file: str, content: bytes) -> None:
        signed = signature.copy()
        signed.update(content)
        (folder / "saving").write_bytes(signed.digest() + content)
        os.replace(folder / "saving", folder / file)

    return save


def save_call(file: str, header: dict[str, Any], arrays: dict[str, np.ndarray], save: Save) -> None:
    """Write down a call that ended: its header as JSON, and its arrays, in one signed file."""
    content = io.BytesIO()
    np.savez(content, header=np.frombuffer(json.dumps(header).encode(), dtype=np.uint8), **arrays)  # type: ignore[arg-type]
    save(file, content.getvalue())


def load_arrays(path: Path = Path("inputs.npz")) -> dict[str, np.ndarray]:
    """The arrays that the cases of a request refer to."""
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)
