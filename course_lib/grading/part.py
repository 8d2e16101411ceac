"""One of several jobs that share the submissions among them, as the jobs of a Slurm array do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from course_lib.errors import PlainError

Item = TypeVar("Item")


class WrongPart(PlainError, ValueError):
    """The text of --part names no part."""


@dataclass(frozen=True)
class Part:
    """Part `number` of `count`, counted from 1."""

    number: int
    count: int

    def of(self, items: Sequence[Item]) -> Sequence[Item]:
        """Each `count`-th item: long ones that are neighbours come to different jobs.

        >>> [Part(number, 3).of("abcdefgh") for number in (1, 2, 3)]
        ['adg', 'beh', 'cf']
        """
        return items[self.number - 1 :: self.count]


def part(text: str) -> Part:
    """The part that a text names. Raises `WrongPart`.

    >>> part("2/8")
    Part(number=2, count=8)
    """
    named = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if named is None or not 1 <= int(named[1]) <= int(named[2]):
        raise WrongPart(f"--part {text} names no part. Give --part 1/8 to --part 8/8 to eight jobs.")
    return Part(int(named[1]), int(named[2]))
