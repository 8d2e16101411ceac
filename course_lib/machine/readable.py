"""A compiler's intermediate texts without the marks of places that it keeps for debuggers. Pure."""

from __future__ import annotations

import re


def readable(name: str, text: str) -> str:
    """The text of one form ("ttir", "ttgir", "llir" or "ptx") as people read it: the code alone.

    >>> readable("ttir", '#loc = loc("k.py":3:0)\\n%x = tt.load %p : !tt.ptr<f32> loc(#loc)\\n')
    '%x = tt.load %p : !tt.ptr<f32>\\n'
    """
    return _WITHOUT[name](text)


def _mlir(text: str) -> str:
    nested = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
    return re.sub(rf" loc{nested}", "", re.sub(r"^#loc.*\n", "", text, flags=re.MULTILINE))


def _llvm(text: str) -> str:
    return re.sub(r",? !dbg !\d+|^!.*(\n|$)", "", text, flags=re.MULTILINE).rstrip("\n") + "\n"


def _ptx(text: str) -> str:
    code = re.sub(r"^\s*\.section\s+\.debug.*", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"^(\s*\.(loc|file)\b.*|\s*\$L__(tmp|func)\w*:.*)\n", "", code, flags=re.MULTILINE)


_WITHOUT = {"ttir": _mlir, "ttgir": _mlir, "llir": _llvm, "ptx": _ptx}
