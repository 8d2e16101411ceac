"""Notebooks in Google Colab and Kaggle: what the course lacks is installed beside what is there, and what was found is said.

The first cell of every notebook calls `ready` after it has installed the course alone (`pip install --no-deps`). Nothing that
is there is ever touched: the host's own torch and Triton fit its driver, and the notebook has imported other packages already.

All else that is imported here comes with Python or with any notebook (`packaging`), for the rest may not be there yet.
Not here: the first cell (`tools/publishing.py`), and what is wrong with a machine (`doctor/`).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib import invalidate_caches, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from course_lib.device import device
from course_lib.doctor.facts import TRITON_PACKAGES, find_host, triton_cache, why_unwritable

COURSE = "from-warps-to-tiles"


class CannotInstall(RuntimeError):
    """pip could not install what the course needs beside what is there."""


def ready() -> None:
    """Make a hosted notebook ready, and print what was found; does nothing elsewhere. Raises `CannotInstall`.

    Whether kernels are interpreted or run on a GPU was decided when `course_lib` was imported, before any kernel is defined.
    """
    host = find_host()
    if host is None:
        return
    there = installed()
    missing = lacking(metadata.requires(COURSE) or [], there)
    if missing:
        _install(missing, there)
    if why_unwritable(triton_cache(os.environ)):
        os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp(prefix="triton-")
    found = device()
    stopped = any(problem.severity == "stops" for problem in found.problems)
    kept = [f"{name} {there[name]}" for name in ("torch", "triton") if name in there]
    print(f"From Warps to Tiles {there[COURSE]} {'cannot run yet' if stopped else 'is ready'} in {host}.")
    print(f"Kept: {', '.join(kept)} and all else that was there. Added: {', '.join(missing) or 'nothing'}.")
    print(found if stopped else f"You need not restart anything.\n{found}")


def installed() -> dict[str, str]:
    """The version of every package that is there; of two, that which Python would import."""
    names = {one.metadata["Name"] for one in metadata.distributions()} - {None}
    return {canonicalize_name(name): metadata.version(name) for name in names}


def lacking(requirements: Iterable[str], there: Mapping[str, str]) -> list[str]:
    """Those of a package's requirements of which no version is there; Triton counts under any of its names.

    >>> lacking(["torch>=2.6", "rich; python_version > '3'", "ruff; extra == 'dev'"], {"torch": "2.11.0+cpu"})
    ['rich']
    """
    needed = []
    for line in requirements:
        wanted = Requirement(line)
        name = canonicalize_name(wanted.name)
        names = TRITON_PACKAGES if name in TRITON_PACKAGES else (name,)
        if (wanted.marker is None or wanted.marker.evaluate({"extra": ""})) and not any(one in there for one in names):
            needed.append(f"{wanted.name}{wanted.specifier}")
    return needed


def constraints(there: Mapping[str, str]) -> list[str]:
    """What keeps pip from changing a package that is there. Linux's own packages have versions that pip cannot read.

    >>> constraints({"torch": "2.11.0+cpu", "distro-info": "1.1build1"})
    ['torch==2.11.0+cpu']
    """
    return [f"{name}=={version}" for name, version in sorted(there.items()) if _readable(version)]


def _readable(version: str) -> bool:
    try:
        Version(version)
    except InvalidVersion:
        return False
    return True


def _install(requirements: list[str], there: Mapping[str, str]) -> None:
    with tempfile.TemporaryDirectory(prefix="course-install-") as scratch:
        file = Path(scratch, "there.txt")
        file.write_text("\n".join(constraints(there)), encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-c", str(file)]
        done = subprocess.run([*command, *requirements], capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotInstall(
            f"pip could not install {', '.join(requirements)} beside what is there. If it found no connection (in Kaggle: "
            f"Settings > Turn on internet), connect and run this cell again.\n{done.stderr.strip()}"
        )
    invalidate_caches()
