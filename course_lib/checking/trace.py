"""`trace`: run a function once in a process of its own, and see every element that its kernels touched."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from course_lib.checking import sandbox
from course_lib.checking.collect import bundle_function, described
from course_lib.checking.events import Trace
from course_lib.checking.stages.failures import failure_finding
from course_lib.errors import PlainError


class TraceError(PlainError, RuntimeError):
    """The traced function did not come to its end; the message says why and where."""


def trace(function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Trace:
    """Call `function(*arguments, **keywords)` in the interpreter and return what its kernels did to memory.

    The arguments are copied: the traced call changes nothing here, and a stray access is noted (`Event.outside`), not
    carried out. `Trace.result` is the returned tensor. Tensors, numbers, strings, dtypes and tuples of these can be passed.

    Raises `source.CannotBundle` if the function cannot be taken along, and `TraceError` if it did not return.
    """
    if not callable(function):
        raise TraceError(
            f"trace calls the function itself: give it the function and its arguments, trace(double, x) instead of "
            f"trace(double(x)). It got {described(function)}."
        )
    name = getattr(function, "__name__", "traced")
    bundle = bundle_function(function, name)
    if keywords:
        arguments = inspect.signature(function).bind(*arguments, **keywords).args
    outcome = sandbox.run(bundle, [arguments], variations=False)
    if outcome.failure is not None:
        finding = failure_finding(outcome.failure, bundle, None)
        where = f" at {finding.source.origin}, line {finding.source.line}: {finding.source.text}" if finding.source else ""
        raise TraceError(f"{name} could not be traced: {finding.message}{where}")
    return replace(outcome.calls[0].trace, arguments=arguments, printed=outcome.printed)
