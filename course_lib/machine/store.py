"""Results that are kept on disk, found again by all that they were made from. A place for speed alone: it may be deleted.

    <user cache folder>/from-warps-to-tiles/compiled/<key>.json.gz, or $COURSE_STATE_DIR/compiled/<key>.json.gz

What cannot be read counts as not there, and where nothing can be written nothing is kept.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import zlib
from pathlib import Path
from typing import Any

from course_lib.files import write_whole

MOST = 400
"""How many results are kept, about 20 kB each; those that were not asked for longest go first."""


def key_of(*parts: Any) -> str:
    """A name for what plain data describes: the same for the same data, in any process.

    >>> key_of("sm_90", {"a": 1, "b": 2}) == key_of("sm_90", {"b": 2, "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def digest(path: Path) -> str:
    """A name for a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def load(key: str) -> dict[str, Any] | None:
    """The result that was saved under this key, or None."""
    path = _folder() / f"{key}.json.gz"
    try:
        record = json.loads(gzip.decompress(path.read_bytes()))
        os.utime(path)
    except (OSError, EOFError, ValueError, zlib.error):
        return None
    return record


def save(key: str, record: dict[str, Any]) -> None:
    """Keep a result. A reader sees all of it or nothing."""
    folder = _folder()
    with contextlib.suppress(OSError):  # a full or read-only disk costs time later, nothing else
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / f"{key}.json.gz", gzip.compress(json.dumps(record).encode(), compresslevel=4))
        by_age = sorted(folder.glob("*.json.gz"), key=lambda path: path.stat().st_mtime)
        for path in by_age[:-MOST]:
            path.unlink()


def _folder() -> Path:
    if chosen := os.environ.get("COURSE_STATE_DIR"):
        return Path(chosen) / "compiled"
    import platformdirs

    return Path(platformdirs.user_cache_dir("from-warps-to-tiles", appauthor=False)) / "compiled"
