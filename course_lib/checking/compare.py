"""Compares a result with what was expected, and recognises the shape of a difference.

Pure: tensors in, a `Mismatch` or None out. A NaN equals a NaN, an infinity equals the same infinity; everything else is
held to the tolerance, whole numbers to their last digit. The shapes of a difference that are recognised are those in
`findings.KINDS` under "values".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from course_lib.catalog.model import Tolerance
from course_lib.checking.findings import MOST_EVIDENCE

EXAMPLES = 4
PATTERN = 8
"""The fewest elements of which some can be wrong in a pattern. Of three, the last one alone is often wrong by chance."""
NEAR = 0.05
"""The largest relative difference of a result that is nearly right."""


@dataclass(frozen=True)
class Mismatch:
    """How a result differs: `kind` is the diagnosis, `count` of `total` elements are wrong.

    `examples` are the first few wrong elements as (index, got, want). `near` says that none is off by more than `NEAR`.
    """

    kind: str
    message: str
    count: int
    total: int
    examples: tuple[tuple[tuple[int, ...], float | int, float | int], ...]
    wrong: tuple[int, ...] = ()
    near: bool = False


def compare(got: torch.Tensor, want: torch.Tensor, tolerance: Tolerance) -> Mismatch | None:
    """None if `got` is `want` within the tolerance. Both must have the same shape and dtype.

    >>> compare(torch.ones(3), torch.ones(3), Tolerance()) is None
    True
    """
    if got.shape != want.shape or got.dtype != want.dtype:
        raise ValueError(f"cannot compare {got.dtype} of shape {tuple(got.shape)} with {want.dtype} of {tuple(want.shape)}")
    a, b, tolerance = _numbers(got), _numbers(want), tolerance.of(want.dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        difference = np.abs(a - b) if want.dtype.is_floating_point else _exact_difference(got, want)
        within = np.isfinite(b) & (difference <= tolerance.atol + tolerance.rtol * np.abs(b))
        close = _array(got == want) | (np.isnan(a) & np.isnan(b)) | within
    wrong = np.flatnonzero(~close)
    if not len(wrong):
        return None
    near = bool((difference <= NEAR * np.abs(b))[~close].all())
    kind, message = _diagnose(a, b, ~close, near, difference)
    shown = [tuple(map(int, np.unravel_index(i, a.shape))) for i in wrong[:EXAMPLES]]
    examples = tuple((index, _array(got)[index].item(), _array(want)[index].item()) for index in shown)
    return Mismatch(kind, message, len(wrong), a.size, examples, tuple(wrong[:MOST_EVIDENCE].tolist()), near)


def _numbers(tensor: torch.Tensor) -> np.ndarray:
    return _array(tensor.to(torch.float64))


def _array(tensor: torch.Tensor) -> np.ndarray:
    """The values, with one axis at least; bf16, which NumPy has not, as fp32."""
    values = tensor.detach().cpu() if tensor.dim() else tensor.detach().cpu().reshape(1)
    return (values.float() if values.dtype == torch.bfloat16 else values).numpy()


def _exact_difference(got: torch.Tensor, want: torch.Tensor) -> np.ndarray:
    """How far apart whole numbers are: beyond 2⁵³, fp64 takes neighbours for equal."""
    return np.abs(_array(got).astype(object) - _array(want).astype(object)).astype(np.float64)


Recogniser = Callable[[np.ndarray, np.ndarray, np.ndarray], str | None]


def _diagnose(got: np.ndarray, want: np.ndarray, wrong: np.ndarray, near: bool, difference: np.ndarray) -> tuple[str, str]:
    """The first recogniser that explains the difference, with its message."""
    for kind, recognise in RECOGNISERS.items():
        if not (near and kind in BY_PLACES) and (message := recognise(got, want, wrong)):
            return kind, message
    count = int(wrong.sum())
    how_many = "the only element is" if got.size == 1 else f"{count} of {got.size} elements {'is' if count == 1 else 'are'}"
    if np.isnan(want[wrong]).all():
        return "mismatch", f"{how_many} {'a number' if count == 1 else 'numbers'} where NaN was expected"
    largest = np.nanmax(difference[wrong])
    return "mismatch", f"{how_many} wrong{f'; the largest difference is {largest:.4g}' if count > 1 else f', by {largest:.4g}'}"


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=1e-5, atol=1e-7, equal_nan=True))


def _uniform(values: np.ndarray) -> bool:
    return bool(np.all(values == values.flat[0]))


def _nan(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    count = int((np.isnan(got) & ~np.isnan(want)).sum())
    return f"{count} of {got.size} elements are NaN where a number was expected" if count else None


def _constant(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    numbers = want[np.isfinite(want)]
    if got.size > 2 and _uniform(got) and numbers.size and not _uniform(numbers):
        return f"every element is {got.flat[0]:.6g}"
    return None


def _scaled(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    factor = _factor(got, want)
    if factor and abs(factor - 1) > 1e-5:
        return f"every element is {factor:.4g} times what it should be"
    rows: list[int] = np.flatnonzero(wrong.any(axis=1)).tolist() if got.ndim == 2 and len(got) > 1 else []
    factors = [_factor(got[row], want[row]) for row in rows]
    if factors and all(factor and abs(factor - 1) > 1e-5 for factor in factors):
        which = "each row" if len(rows) == len(got) else "each wrong row"
        listed = [f"{factor:.4g} times" for factor in factors[:2]] + ["…"] * (len(rows) > 2)
        return f"{which} is a multiple of the right one: {', '.join(listed)}"
    return None


def _factor(got: np.ndarray, want: np.ndarray) -> float | None:
    """What `want` must be multiplied with to give `got`; None if nothing, or if so few numbers would always have a factor."""
    usable = np.isfinite(want) & np.isfinite(got) & (want != 0)
    if usable.sum() < 3 or not (usable | (want == 0)).all() or _uniform(want):
        return None
    factor = float(np.median(got[usable] / want[usable]))
    return factor if _same(got, factor * want) else None


def _reversed(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    if _same(got, want):
        return None  # nearly right where they stand: equal numbers, which look the same from both ends
    if got.size > 2 and _same(got.reshape(-1), want.reshape(-1)[::-1]):
        return "the right elements are there, from back to front"
    if got.ndim == 2 and got.shape[1] > 2 and _same(got, want[:, ::-1]):
        return "each row is there, from back to front"
    return None


def _transposed(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    if got.ndim != 2 or min(got.shape) < 2 or _same(got, want):
        return None
    for candidate in (want.T.reshape(got.shape), want.reshape(want.shape[::-1]).T):
        if _same(got, candidate):
            return "the elements are there, but rows and columns are exchanged"
    return None


def _shifted(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    a, b = got.reshape(-1), want.reshape(-1)
    for step in range(1, min(a.size - 3, 64) + 1):
        if _telling(b[:-step]) and _same(a[step:], b[:-step]):
            return f"every element stands {step} place{'s' if step > 1 else ''} too far back"
        if _telling(b[step:]) and _same(a[:-step], b[step:]):
            return f"every element stands {step} place{'s' if step > 1 else ''} too far forward"
    return None


def _telling(values: np.ndarray) -> bool:
    """Whether it is no chance if other numbers are the same as these: three are different, zeros aside."""
    return len(np.unique(values[np.abs(values) > 1e-6])) > 2


def _first_block_only(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    start = _suffix(wrong.reshape(-1))
    if start is None or got.size - start < start:
        return None
    return f"the first {start} elements are right, and all {got.size - start} after them are wrong"


def _tail(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    start = _suffix(wrong.reshape(-1))
    if start is not None and got.size - start <= start:  # more than half is no tail: the first elements are right by luck
        left = got.size - start
        which = "the last element is" if left == 1 else f"the last {left} of {got.size} elements are"
        return f"{which} wrong; all before {'it' if left == 1 else 'them'} are right"
    if wrong.ndim == 2:
        columns = np.asarray(wrong.any(axis=0))
        start = _suffix(columns)
        if start is not None and wrong[:, columns].all():
            return f"in every row the columns from {start} on are wrong; all before them are right"
    return None


def _suffix(wrong: np.ndarray) -> int | None:
    """Where the wrong elements begin, if they are exactly the last ones. One right element is luck, not a beginning."""
    start = int(np.argmax(wrong))
    return start if len(wrong) >= PATTERN and start > 1 and wrong[start:].all() else None


def _periodic(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> str | None:
    places = np.flatnonzero(wrong.reshape(-1))
    steps = np.unique(np.diff(places))
    if wrong.size < PATTERN or len(places) < 3 or len(steps) != 1 or steps[0] == 1:
        return None
    if places[0] < steps[0] and places[-1] + steps[0] >= wrong.size:  # from one end to the other
        return f"one element in {int(steps[0])} is wrong: {int(places[0])}, {int(places[1])}, {int(places[2])}, …"
    return None


RECOGNISERS: dict[str, Recogniser] = {
    "nan": _nan,
    "constant": _constant,
    "scaled": _scaled,
    "reversed": _reversed,
    "transposed": _transposed,
    "shifted": _shifted,
    "first_block_only": _first_block_only,
    "tail": _tail,
    "periodic": _periodic,
}
"""Tried in this order: the most specific explanation first."""

BY_PLACES = frozenset({"first_block_only", "tail", "periodic"})
"""Kinds that go by which elements are wrong. Where all are nearly right, it is chance which of them exceed the tolerance."""
