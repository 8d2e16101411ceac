"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

BEING_WRITTEN = ".being-written-"
"""How the name of an unfinished file begins. A process that is killed leaves it behind."""


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read: beside its place, and then renamed.

    Raises `OSError`; what stood at `path` then stands there still, and nothing is left beside it.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=BEING_WRITTEN)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
