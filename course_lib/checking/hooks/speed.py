"""What the interpreter does in vain, left out: that saves a quarter of the time of a check."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import triton.runtime.interpreter as interp


def patch() -> None:
    """Leave it out from now on."""
    options = interp.interpreter_builder.options
    # Triton looks for integers that overflow by eleven operations on tiles, and tells of them in debug mode only.
    interp.interpreter_builder.options = replace(options, sanitize_overflow=options.sanitize_overflow and options.debug)
    interp._get_np_dtype = _remembering(interp._get_np_dtype)


def _remembering(original: Any) -> Any:
    """NumPy's type for one of Triton's, which makes the whole table anew each time."""
    known: dict[str, np.dtype] = {}

    @functools.wraps(original)
    def numpys(tritons: Any) -> np.dtype:
        name = tritons.scalar.name
        if name not in known:
            known[name] = original(tritons)
        return known[name]

    return numpys
