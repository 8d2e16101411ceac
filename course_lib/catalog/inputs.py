"""Makers of test inputs that several exercises share.

Values are random, distinct and of both signs, so that a shifted, transposed or constant answer cannot pass by luck.
"""

from __future__ import annotations

from typing import Any

import torch

from course_lib.catalog.model import Params


def floats(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Standard-normal fp32 values of the given shape, made with `generator`."""
    return torch.randn(shape, generator=generator, dtype=torch.float32)


def vector(generator: torch.Generator, n: int) -> tuple[torch.Tensor]:
    """One vector of `n` values."""
    return (floats(generator, n),)


def two_vectors(generator: torch.Generator, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Two vectors of `n` values."""
    return floats(generator, n), floats(generator, n)


def matrix(generator: torch.Generator, m: int, n: int, layout: str = "rows") -> tuple[torch.Tensor]:
    """An `m`×`n` matrix in one of several memory layouts.

    "rows" is row-major; "transposed" is a view with the strides exchanged; "sliced" skips every other row and column of
    a larger matrix; "row expanded" repeats one row with stride 0, "column expanded" one column.
    """
    makers: dict[str, Any] = {
        "rows": lambda: floats(generator, m, n),
        "transposed": lambda: floats(generator, n, m).t(),
        "sliced": lambda: floats(generator, 2 * m, 2 * n)[::2, 1::2],
        "row expanded": lambda: floats(generator, 1, n).expand(m, n),
        "column expanded": lambda: floats(generator, m, 1).expand(m, n),
    }
    return (makers[layout](),)


LENGTHS: tuple[Params, ...] = tuple({"n": n} for n in (1, 2, 3, 17, 31, 127, 128, 129, 1000, 1023, 1024, 1025, 2051, 0))
"""Lengths of a vector: one, primes, both sides of the usual block sizes, and none at all."""


def straddle_length(block: int) -> tuple[Params, ...]:
    """Lengths on both sides of one and of two blocks: B−1, B, B+1, 2B+1 (up to 2¹⁶ elements)."""
    return tuple({"n": n} for n in (block - 1, block, block + 1, 2 * block + 1) if 0 < n <= 2**16 + 1)


MATRICES: tuple[Params, ...] = (
    {"m": 1, "n": 1},
    {"m": 1, "n": 7},
    {"m": 7, "n": 1},
    {"m": 3, "n": 5},
    {"m": 5, "n": 3, "layout": "transposed"},
    {"m": 4, "n": 6, "layout": "sliced"},
    {"m": 3, "n": 5, "layout": "row expanded"},
    {"m": 5, "n": 3, "layout": "column expanded"},
    {"m": 33, "n": 65},
    {"m": 17, "n": 129, "layout": "transposed"},
    {"m": 2, "n": 1030},
    {"m": 130, "n": 3, "layout": "sliced"},
)
"""Shapes of a matrix: single rows and columns, tall, wide, and each memory layout."""


def straddle_columns(block: int) -> tuple[Params, ...]:
    """Matrices whose rows are just shorter and just longer than one block (up to 2¹³ columns)."""
    sizes = [n for n in (block - 1, block + 1, 2 * block + 1) if 0 < n <= 2**13 + 1]
    return tuple({"m": 3, "n": n, "layout": layout} for n in sizes for layout in ("rows", "transposed"))


def straddle_diagonal(block: int) -> tuple[Params, ...]:
    """Square matrices whose diagonal is just shorter and just longer than a block; stride 0 keeps them small in memory.

    Around a long block only one, for an answer that takes a program for each row and reads it all.
    """
    sizes = [case["n"] for case in straddle_length(block) if block <= 1024 or case["n"] == block + 1]
    return tuple({"m": n, "n": n, "layout": "row expanded"} for n in sizes)


# --- rows: reductions and softmax -----------------------------------------------------------------------------------


def rounded(generator: torch.Generator, *shape: int, step: float = 2.0**-12) -> torch.Tensor:
    """Standard-normal fp32 values rounded to multiples of `step`, a power of two.

    With so few digits fp32 adds thousands of them exactly, in whatever order, so that a sum can be held to its last digits.
    """
    return torch.round(floats(generator, *shape) / step) * step


def arranged(values: torch.Tensor, layout: str) -> torch.Tensor:
    """The matrix `values` in one of the memory layouts of `matrix`; an expanded one repeats its first row or column."""
    m, n = values.shape
    if layout == "sliced":
        larger = torch.full((2 * m, 2 * n), 7.0)
        larger[::2, 1::2] = values
        return larger[::2, 1::2]
    makers: dict[str, Any] = {
        "rows": lambda: values,
        "transposed": lambda: values.t().contiguous().t(),
        "row expanded": lambda: values[:1].contiguous().expand(m, n),
        "column expanded": lambda: values[:, :1].contiguous().expand(m, n),
    }
    return makers[layout]()


ROWS: tuple[Params, ...] = (
    {"m": 1, "n": 1},
    {"m": 1, "n": 7},
    {"m": 7, "n": 1},
    {"m": 3, "n": 5},
    {"m": 5, "n": 3, "layout": "transposed"},
    {"m": 4, "n": 6, "layout": "sliced"},
    {"m": 3, "n": 5, "layout": "row expanded"},
    {"m": 5, "n": 3, "layout": "column expanded"},
    {"m": 37, "n": 6},
    {"m": 5, "n": 64},
    {"m": 4, "n": 129},
    {"m": 2, "n": 1030, "layout": "transposed"},
    {"m": 2, "n": 2051},
    {"m": 0, "n": 5},
)
"""Shapes for work along rows: one element, many rows, none at all, long rows, and each memory layout."""


def straddle_rows(block: int) -> tuple[Params, ...]:
    """Rows just shorter, just as long and just longer than a block, or than two; and for small blocks as many rows.

    Up to 2¹³ + 1 columns. Around long blocks there are fewer cases, since each costs an answer whose block covers a row another
    compilation.
    """
    lengths = (block - 1, block, block + 1, 2 * block + 1) if block <= 1024 else (block - 1, block + 1)
    cases: list[Params] = [{"m": 2, "n": n} for n in lengths if 0 < n <= 2**13 + 1]
    return (*cases, {"m": block + 1, "n": 3}) if block <= 64 else tuple(cases)
