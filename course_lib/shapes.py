"""What kinds of work are measured, and how large: the least that each must move and compute, whoever does it. Pure arithmetic.

`elements` are the elements of the dtype in question that must be read or written at least, each once. `flops` are the additions
and multiplications on matrix units that must be done at least; 0 where these are not what takes the time.

A further kind is a class here, in `SHAPES`, with names that no other has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Direction = Literal["forward", "backward"]


@dataclass(frozen=True)
class Rows:
    """A function of each row of a matrix, such as softmax: `m` rows of `n` columns, read once and written once.

    >>> Rows(4096, 1024).elements
    8388608
    """

    m: int
    n: int
    flops = 0

    def __post_init__(self) -> None:
        _check_sizes(m=self.m, n=self.n)

    @property
    def elements(self) -> int:
        return 2 * self.m * self.n

    def __str__(self) -> str:
        return f"{self.m} × {self.n}"


@dataclass(frozen=True)
class Norm:
    """LayerNorm of `m` rows of `n` columns.

    Forward reads x, weight and bias, and writes y. Backward reads dy, x and weight, and writes their three gradients.

    >>> Norm(4096, 1024, "backward").elements / Norm(4096, 1024, "forward").elements
    1.5
    """

    m: int
    n: int
    direction: Direction
    flops = 0

    def __post_init__(self) -> None:
        _check_sizes(m=self.m, n=self.n)
        if self.direction not in get_args(Direction):
            raise ValueError(f"direction is one of {', '.join(get_args(Direction))}, not {self.direction!r}")

    @property
    def elements(self) -> int:
        matrices = 2 if self.direction == "forward" else 3
        return matrices * (self.m * self.n + self.n)

    def __str__(self) -> str:
        return f"{self.m} × {self.n}, {self.direction}"


@dataclass(frozen=True)
class Product:
    """A matrix of `m` × `k` times one of `k` × `n`.

    >>> Product(4096, 4096, 4096).flops == 2 * 4096**3, Product(2, 3, 4).elements
    (True, 26)
    """

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        _check_sizes(m=self.m, n=self.n, k=self.k)

    @property
    def elements(self) -> int:
        return self.m * self.k + self.k * self.n + self.m * self.n

    @property
    def flops(self) -> int:
        return 2 * self.m * self.n * self.k

    @property
    def side(self) -> int | None:
        """The side of square matrices; None if they are not square."""
        return self.m if self.m == self.n == self.k else None

    def __str__(self) -> str:
        return f"{self.m} × {self.n} × {self.k}"


@dataclass(frozen=True)
class Attention:
    """Attention forward: q, k and v of (batch, heads, seqlen, head_dim); a causal row sees itself and the rows before it.

    >>> Attention(1, 1, 4, 64, causal=True).flops / Attention(1, 1, 4, 64, causal=False).flops
    0.625
    """

    batch: int
    heads: int
    seqlen: int
    head_dim: int
    causal: bool

    def __post_init__(self) -> None:
        _check_sizes(batch=self.batch, heads=self.heads, seqlen=self.seqlen, head_dim=self.head_dim)
        if not isinstance(self.causal, bool):
            raise ValueError(f"causal is true or false, not {self.causal!r}")

    @property
    def elements(self) -> int:
        return 4 * self.batch * self.heads * self.seqlen * self.head_dim

    @property
    def flops(self) -> int:
        """Two products for each pair of rows that see each other."""
        pairs = self.seqlen * (self.seqlen + 1) // 2 if self.causal else self.seqlen**2
        return 4 * self.batch * self.heads * pairs * self.head_dim

    def __str__(self) -> str:
        words = f"{self.batch} × {self.heads} × {self.seqlen} × {self.head_dim}"
        return f"{words}, causal" if self.causal else words


Shape = Rows | Norm | Product | Attention
SHAPES = (Rows, Norm, Product, Attention)


def _check_sizes(**sizes: object) -> None:
    for name, value in sizes.items():
        if type(value) is not int or value < 1:
            raise ValueError(f"{name} is a positive integer, not {value!r}")
