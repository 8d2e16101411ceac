"""Layouts in TTGIR: which lane of which warp holds which element of a tile. Pure; read from the compiler's own text.

Only blocked layouts are here, those of loads, stores and elementwise work. The layouts of matrix units (`nvidia_mma`,
`amd_mfma`), of shared memory, and linear ones are not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Blocked:
    """A blocked layout: each thread holds `size_per_thread` neighbours, a warp `threads_per_warp` such groups, and so on.

    `order` names the axes, the one whose neighbours come first at the front: (1, 0) is row-major for threads.
    """

    size_per_thread: tuple[int, ...]
    threads_per_warp: tuple[int, ...]
    warps_per_program: tuple[int, ...]
    order: tuple[int, ...]

    @property
    def tile(self) -> tuple[int, ...]:
        """The shape that all threads cover once. A larger tile repeats it, a smaller one gives elements to several threads."""
        return tuple(map(math.prod, zip(self.size_per_thread, self.threads_per_warp, self.warps_per_program, strict=True)))

    def owners(self, shape: tuple[int, ...]) -> np.ndarray:
        """For each element of a tile of this shape, (warp, lane, register): an array of shape `shape + (3,)`.

        Of several threads that hold the same element, the first is named.

        >>> Blocked((2,), (4,), (2,), (0,)).owners((16,))[:, 0]
        array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1])
        """
        index = np.indices(shape)
        warp, lane, register, repeat = (np.zeros(shape, dtype=int) for _ in range(4))
        warps = lanes = registers = repeats = 1  # of the axes so far, the fastest first
        for axis in self.order:
            size, along, across = self.size_per_thread[axis], self.threads_per_warp[axis], self.warps_per_program[axis]
            group = index[axis] // size
            register += index[axis] % size * registers
            lane += group % along * lanes
            warp += group // along % across * warps
            repeat += group // (along * across) * repeats
            registers, lanes, warps = registers * size, lanes * along, warps * across
            repeats *= -(-shape[axis] // self.tile[axis])
        register += repeat * registers
        return np.stack([warp, lane, register], axis=-1)


def blocked_layouts(ttgir: str) -> Mapping[str, Blocked]:
    """The blocked layouts that a kernel's TTGIR defines, by name.

    >>> line = "#blocked = #ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    >>> blocked_layouts(line)["blocked"].tile
    (512,)
    """
    return {
        name: Blocked(*(_numbers(body, field) for field in ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")))
        for name, body in re.findall(r"^#(\w+) = #ttg\.blocked<\{(.*?)\}>", ttgir, re.MULTILINE)
    }


def _numbers(body: str, field: str) -> tuple[int, ...]:
    found = re.search(rf"\b{field} = \[([\d, ]*)\]", body)
    if found is None:
        raise ValueError(f"this layout has no {field}: {body}")
    return tuple(int(number) for number in found[1].split(","))
