"""In which order the programs of a matrix product take the tiles of the result, and what that leaves to the L2 cache. Pure.

A tile is its row and its column of tiles. It needs a row of tiles of `a` and a column of tiles of `b`, so programs that run at
the same time share what they need if their tiles lie in few rows and few columns.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence

Tile = tuple[int, int]


def in_groups(n_rows: int, n_cols: int, group: int = 1) -> list[Tile]:
    """The tile of each program: down through `group` rows of tiles, then the next column; the last group may be lower.

    One row is a group of its own if `group` is 1: the order is row by row then.

    >>> in_groups(3, 2, group=2)
    [(0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (2, 1)]
    """
    tiles = []
    for program in range(n_rows * n_cols):
        first = program // (group * n_cols) * group
        height = min(n_rows - first, group)
        tiles.append((first + program % (group * n_cols) % height, program % (group * n_cols) // height))
    return tiles


def rows_and_columns(tiles: Iterable[Tile]) -> tuple[int, int]:
    """In how many rows of tiles, and in how many columns, these tiles lie.

    >>> rows_and_columns([(0, 0), (1, 0), (1, 5)])
    (2, 2)
    """
    rows, columns = zip(*tiles, strict=True)
    return len(set(rows)), len(set(columns))


def fetched(order: Sequence[Tile], at_once: int, steps: int, room: float, a_size: float = 1, b_size: float = 1) -> float:
    """How much comes from memory, if the L2 cache has `room` and drops what nobody has asked for longest.

    `at_once` programs run together, and take the `steps` along K together; then come the next ones. In each step each of
    them asks for a block of `a`, of `a_size`, and a block of `b`, of `b_size`; all three sizes are in one unit. A real GPU is
    less orderly: programs end one by one, and its cache knows more than one rule.

    >>> fetched(in_groups(4, 4), at_once=4, steps=1, room=100)
    8
    >>> fetched(in_groups(4, 4), at_once=4, steps=1, room=0), fetched(in_groups(4, 4, group=2), at_once=4, steps=1, room=4)
    (32, 12)
    """
    held: OrderedDict[Hashable, float] = OrderedDict()
    used = total = 0.0 if isinstance(a_size + b_size, float) else 0
    for first in range(0, len(order), at_once):
        for step in range(steps):
            for row, column in order[first : first + at_once]:
                for block, size in ((("a", row, step), a_size), (("b", step, column), b_size)):
                    if block in held:
                        held.move_to_end(block)
                        continue
                    total += size
                    used += size
                    held[block] = size
                    while used > room and held:
                        used -= held.popitem(last=False)[1]
    return total
