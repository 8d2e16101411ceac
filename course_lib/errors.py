"""Errors for learners, and how a notebook shows them: the message and their own lines, without those of the machinery.

Imports nothing but the standard library.
"""

from __future__ import annotations

import sys
import sysconfig
import traceback
from pathlib import Path

_MACHINERY = (str(Path(__file__).parent), sysconfig.get_path("stdlib"), "<frozen ")
_INSTALLED = ("site-packages", "dist-packages")


class PlainError(Exception):
    """An error whose message says all that its reader needs, with what to do."""

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of every frame."""
        return rendered(self)


def rendered(error: BaseException) -> list[str]:
    """An error as lines of text: where it passed through code that is neither installed nor this course's, and its message.

    What an error was raised from counts as the error itself, as with the one that Triton's interpreter wraps around a kernel's.
    """
    links = [error]
    while (cause := links[-1].__cause__) is not None and cause not in links:
        links.append(cause)
    frames = [frame for link in links for frame in traceback.extract_tb(link.__traceback__) if _is_own(frame.filename)]
    lines = [f"{origin_of(f.filename)}, line {f.lineno}, in {f.name}\n    {f.line}" for f in frames]
    return [*dict.fromkeys(lines), f"{type(links[-1]).__name__}: {links[-1]}"]


def cells() -> dict[str, int]:
    """The notebook's cells that have been run in this Python: the name that each goes by as a file, and its number."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return dict(getattr(getattr(shell, "compile", None), "_filename_map", {}))


def origin_of(filename: str) -> str:
    """Where code comes from, in the words of its author: "cell In[3]" or a file's name."""
    number = cells().get(filename)
    return Path(filename).name if number is None else f"cell In[{number}]"


def _is_own(filename: str) -> bool:
    triton = getattr(sys.modules.get("triton"), "__file__", None)  # may have been built from source, anywhere
    machinery = (*_MACHINERY, str(Path(triton).parent)) if triton else _MACHINERY
    return not filename.startswith(machinery) and not any(folder in filename for folder in _INSTALLED)
