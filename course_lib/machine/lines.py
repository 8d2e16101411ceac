"""Machine code that names lines of the kernel: what is done to PTX before NVIDIA's assembler reads it.

Runs in processes in which Triton compiles. Not here: reading the machine code and its lines (`instructions.py`).
"""

from __future__ import annotations

import re

from triton.backends.nvidia.compiler import CUDABackend

from course_lib.checking.inside import ANSWER_FILE


def give_each_instruction_a_line_of_the_kernel() -> None:
    """Let machine code name lines of the kernel, as far as ptxas lets it.

    Two things stand in the way. `tl.sum` is a function in Triton's library, and where the PTX does not say what it was
    inlined into, ptxas keeps the library's line. And LLVM counts the lines of inline assembly on from the kernel's own. The
    line numbers in the PTX are therefore changed before ptxas reads them; the instructions are not.
    """
    make_cubin = CUDABackend.make_cubin
    CUDABackend.make_cubin = lambda self, source, *rest: make_cubin(self, with_lines_of(source, ANSWER_FILE), *rest)


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
