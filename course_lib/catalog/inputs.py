"""Makers of test inputs that several exercises share.

Values are random, distinct and of both signs, so that a shifted, transposed or constant answer cannot pass by luck.
"""

from __future__ import annotations

import math
import random
from typing import Any

import torch

from course_lib.catalog.model import Params

SPECIAL = (0.0, -0.0, math.inf, -math.inf, math.nan, 1e-40, -1e-40, 3e38, -3e38, 1.0)
"""Values that deserve a look of their own in fp32: zeros, infinities, NaN, numbers below the smallest normal one, huge ones."""


def special(generator: torch.Generator, values: torch.Tensor) -> torch.Tensor:
    """These values with `SPECIAL` ones among them, at places of their own."""
    flat = values.reshape(-1).clone()
    places = torch.randperm(flat.numel(), generator=generator)[: 2 * len(SPECIAL)]
    flat[places] = torch.tensor(SPECIAL * 2)[: len(places)]
    return flat.reshape(values.shape)


def floats(generator: torch.Generator, *shape: int) -> torch.Tensor:
    """Standard-normal fp32 values of the given shape, made with `generator`."""
    return torch.randn(shape, generator=generator, dtype=torch.float32)


def vector(generator: torch.Generator, n: int, values: str = "normal") -> tuple[torch.Tensor]:
    """One vector of `n` values; "special" ones have those of `SPECIAL` among them."""
    x = floats(generator, n)
    return (special(generator, x) if values == "special" else x,)


def two_vectors(generator: torch.Generator, n: int, values: str = "normal") -> tuple[torch.Tensor, torch.Tensor]:
    """Two vectors of `n` values; see `vector`."""
    return *vector(generator, n, values), *vector(generator, n, values)


def matrix(generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "normal") -> tuple[torch.Tensor]:
    """An `m`×`n` matrix in one of several memory layouts; `values` as in `vector`, in row-major order only.

    "rows" is row-major; "transposed" is a view with the strides exchanged; "sliced" skips every other row and column of
    a larger matrix; "row expanded" repeats one row with stride 0, "column expanded" one column; "overlapping" has the strides
    2 and 1, so that rows share most of their elements.
    """
    makers: dict[str, Any] = {
        "rows": lambda: vector(generator, m * n, values)[0].reshape(m, n),
        "overlapping": lambda: floats(generator, 2 * m + n).as_strided((m, n), (2, 1)),
        "transposed": lambda: floats(generator, n, m).t(),
        "sliced": lambda: floats(generator, 2 * m, 2 * n)[::2, 1::2],
        "row expanded": lambda: floats(generator, 1, n).expand(m, n),
        "column expanded": lambda: floats(generator, m, 1).expand(m, n),
    }
    return (makers[layout](),)


LENGTHS: tuple[Params, ...] = tuple({"n": n} for n in (1, 2, 3, 17, 31, 127, 128, 129, 1000, 1023, 1024, 1025, 2051, 0))
"""Lengths of a vector: one, primes, both sides of the usual block sizes, and none at all."""
SPECIAL_LENGTHS: tuple[Params, ...] = ({"n": 131, "values": "special"},)


def drawn_lengths(numbers: random.Random) -> tuple[Params, ...]:
    """Two lengths that nobody knows beforehand."""
    return tuple({"n": numbers.randint(33, 3000)} for _ in range(2))


MANY_PROGRAMS = 151
"""More programs than a loop over blocks, a grid or a table of results would have by chance, and more than an H100 has
multiprocessors, which are 132, or a B200, which are 148."""


def straddle_length(block: int) -> tuple[Params, ...]:
    """Lengths on both sides of one and of two blocks, B−1, B, B+1, 2B+1 (up to 2¹⁶), and of many: nine for long blocks."""
    around = [n for n in (block - 1, block, block + 1, 2 * block + 1) if 0 < n <= 2**16 + 1]
    many = MANY_PROGRAMS if block <= 1024 else 9 if block <= 2048 else 0
    return tuple({"n": n} for n in (*around, *([many * block + 1] if many else [])))


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
    {"m": 300, "n": 5},
    {"m": 9, "n": 11, "values": "special"},
)
"""Shapes of a matrix: single rows and columns, tall, wide, each memory layout, and special values.

None is empty, and the statements say so: `triton.next_power_of_2(0)` is 0, a block of no lanes does not compile, and to launch
nothing where there is nothing is asked for with vectors.
"""


def drawn_shapes(numbers: random.Random) -> tuple[Params, ...]:
    """Two shapes that nobody knows beforehand."""
    return tuple({"m": numbers.randint(2, 70), "n": numbers.randint(2, 400), "layout": layout} for layout in ("rows", "sliced"))


def straddle_columns(block: int) -> tuple[Params, ...]:
    """Matrices whose rows are just shorter and just longer than one block (up to 2¹³ columns), and many blocks long."""
    sizes = [n for n in (block - 1, block + 1, 2 * block + 1) if 0 < n <= 2**13 + 1]
    around = [{"m": 3, "n": n, "layout": layout} for n in sizes for layout in ("rows", "transposed")]
    return (*around, {"m": 2, "n": min(MANY_PROGRAMS * block, 2**12) + 1}) if block <= 512 else tuple(around)


def straddle_diagonal(block: int) -> tuple[Params, ...]:
    """Square matrices whose diagonal is just shorter and just longer than a block, or many blocks long.

    Rows that overlap keep them small in memory. Around a long block only one, for an answer that takes a program for each row
    and reads it all.
    """
    sizes = [
        case["n"] for case in straddle_length(block) if case["n"] <= 2**13 + 1 and (block <= 1024 or case["n"] == block + 1)
    ]
    return tuple({"m": n, "n": n, "layout": "overlapping"} for n in sizes)


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
        larger = values.new_full((2 * m, 2 * n), 7.0)
        larger[::2, 1::2] = values
        return larger[::2, 1::2]
    makers: dict[str, Any] = {
        "rows": lambda: values,
        "transposed": lambda: values.t().contiguous().t(),
        "row expanded": lambda: values[:1].contiguous().expand(m, n),
        "column expanded": lambda: values[:, :1].contiguous().expand(m, n),
    }
    return makers[layout]()


def scores(
    generator: torch.Generator, m: int, n: int, layout: str = "rows", values: str = "near 0", dtype: str = "fp32"
) -> tuple[torch.Tensor]:
    """An m×n matrix of one of several kinds of `values`, as a softmax is given.

    "near 0" is moderate and of both signs. "far from 0" has rows around 300, −300 and 0: `exp` of the first overflows, of the
    second underflows; "very far" has 10,000 in place of 300, which is too much for fp64 as well. "late" rows are −inf in their
    first half and more; those that are "late and low" are about −300 after that. "infinite" rows have one inf, one −inf, and
    nothing but −inf; "nan" rows have a NaN each. "wide" rows reach from about −150 to 150, so that most shares are too small
    for fp32; "huge" ones have both ends of fp32 in them, whose difference is infinite.
    """
    x = 3 * floats(generator, m, n)
    if values in ("far from 0", "very far"):
        x += torch.tensor([1.0, -1.0, 0.0]).repeat(m)[:m, None] * {"far from 0": 300.0, "very far": 1e4}[values]
    elif values == "wide":
        x *= 50
    elif values == "huge":
        x[:, 0], x[:, n // 2] = -3e38, 3e38
    elif values in ("late", "late and low"):
        x -= 300 if values == "late and low" else 0
        x[:, : n // 2 + 2] = -math.inf
    elif values == "infinite":
        x[0, n // 3], x[1, n // 3], x[2] = math.inf, -math.inf, -math.inf
    elif values == "nan":
        x[:, n // 3] = math.nan
    return (arranged(x.to({"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}[dtype]), layout),)


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
    {"m": 300, "n": 5},
    {"m": 0, "n": 5},
)
"""Shapes for work along rows: one element, many rows, none at all, long rows, and each memory layout.

None is without columns, and the statements say so: a block that is to cover such a row would have no lanes. Where there are no
rows, a grid of `(n_rows,)` has no program.
"""


def drawn_rows(numbers: random.Random) -> tuple[Params, ...]:
    """Two shapes that nobody knows beforehand."""
    return tuple({"m": numbers.randint(2, 40), "n": numbers.randint(2, 400)} for _ in range(2))


def straddle_rows(block: int) -> tuple[Params, ...]:
    """Rows just shorter and just as long as a block, just as long as two and just longer; and for small blocks as many rows.

    Up to 2¹³ + 1 columns. Around long blocks there are fewer cases, since each costs an answer whose block covers a row another
    compilation.
    """
    lengths = (block - 1, block, 2 * block, 2 * block + 1) if block <= 1024 else (block - 1, block + 1)
    cases: list[Params] = [{"m": 2, "n": n} for n in lengths if 0 < n <= 2**13 + 1]
    return (*cases, {"m": block + 1, "n": 3}) if block <= 64 else tuple(cases)
