"""Whether the function that a notebook's Python holds is the one that its author has just written.

A cell that raises before its `def`, or that defines another name now, leaves an older function in place, silently.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence

from course_lib.errors import cells

ALIKE = 0.85
"""How much of two names must be the same for one to be the other, misspelt."""


def note(function: object) -> str | None:
    """What to say about a function that a later cell seems to have been meant to define anew; None outside a notebook."""
    number = cells().get(getattr(getattr(function, "__code__", None), "co_filename", ""))
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if number is None or shell is None:
        return None
    name, inputs = getattr(function, "__name__", ""), shell.user_ns.get("In", [])[: shell.execution_count]
    later = later_version(name, number, inputs)
    if later is None:
        return None
    return (
        f"`{name}` was judged as cell In[{number}] defined it. Cell In[{later}], which was run later, did not define it anew: "
        "did it raise an error, or does it define another name?"
    )


def later_version(name: str, number: int, inputs: Sequence[str]) -> int | None:
    """The newest cell after cell `number` that should have defined `name`, going by its text; None if there is none.

    `inputs` are the cells' texts by number. A cell does that says ``def name``, also with the name misspelt.

    >>> later_version("f", 1, ["", "def f(x): return x", "def f(x) return 2 * x", "f(1)"])
    2
    """
    for later in range(len(inputs) - 1, number, -1):
        if difflib.get_close_matches(name, re.findall(r"^\s*def (\w+)", inputs[later], re.MULTILINE), cutoff=ALIKE):
            return later
    return None
