"""PTX whose instructions name lines of the kernel, also where a library's function was inlined or assembly written. Pure."""

from __future__ import annotations

import re


def with_lines_of(ptx: str, file: str) -> str:
    """PTX in which each `.loc` of code inlined into `file` names the innermost line of `file` that it came from.

    >>> with_lines_of('.loc 2 293 36 // standard.py:293:36 @[ answer.py:21:19 ]\\n.file 1 "/tmp/answer.py"', "answer.py")
    '.loc 1 21 19 // standard.py:293:36 @[ answer.py:21:19 ]\\n.file 1 "/tmp/answer.py"'
    """
    number = re.search(rf'\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"(?:[^"]*/)?{re.escape(file)}"', ptx)
    if number is None:
        return ptx
    place = re.compile(rf"\.loc(\s+)\d+ \d+ \d+(\s*//.*?(?<!\S){re.escape(file)}:(\d+):(\d+))")
    ptx = place.sub(rf".loc\g<1>{number[1]} \g<3> \g<4>\g<2>", ptx)
    return re.sub(r"// begin inline asm\n.*?// end inline asm", _with_its_first_place, ptx, flags=re.DOTALL)


def _with_its_first_place(assembly: re.Match[str]) -> str:
    places = 0

    def first(place: re.Match[str]) -> str:
        nonlocal places
        places += 1
        return place[0] if places == 1 else ""

    return re.sub(r"^\s*\.loc\s.*\n", first, assembly[0], flags=re.MULTILINE)
