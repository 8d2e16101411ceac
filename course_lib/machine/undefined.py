"""`UNDEFINED`: what stands in the warp simulator for a value that CUDA does not define."""

from __future__ import annotations

from typing import Any


class UndefinedValue(ArithmeticError):
    """A thread's way depends on an undefined value."""


class Undefined:
    """Arithmetic passes it on; to compare it, or to turn it into a number, is an error.

    >>> 2 * UNDEFINED + 1
    UNDEFINED
    """

    __array_ufunc__ = None  # NumPy leaves arithmetic with it to the methods here

    def _passed_on(self, *others: Any) -> Undefined:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _passed_on
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __neg__ = __abs__ = _passed_on

    def _refused(self, *others: Any) -> Any:
        raise UndefinedValue(
            "a thread compares or branches on a value that CUDA does not define: one from a lane that did not take part, "
            "or from shared memory that was not written, or not safely. (`maximum` and `minimum` pass it on.)"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = __index__ = _refused

    def __repr__(self) -> str:
        return "UNDEFINED"


UNDEFINED = Undefined()


def maximum(left: Any, right: Any) -> Any:
    """The larger of two values; undefined if one of them is.

    >>> maximum(2, 3), maximum(2, UNDEFINED)
    (3, UNDEFINED)
    """
    return UNDEFINED if left is UNDEFINED or right is UNDEFINED else max(left, right)


def minimum(left: Any, right: Any) -> Any:
    """The smaller of two values; undefined if one of them is."""
    return UNDEFINED if left is UNDEFINED or right is UNDEFINED else min(left, right)
