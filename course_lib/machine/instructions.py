"""Machine code as values: from the text of a disassembler or of AMD's assembler to instructions, counts and listings. Pure.

NVIDIA's machine code is read from `nvdisasm -gi -c`, its PTX and AMD's code from the assembly that LLVM writes. Not here:
calling tools (`tools.py`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from course_lib.checking.findings import SourceLine
from course_lib.machine.specs import ARCHITECTURES

KINDS: dict[str, tuple[str, ...]] = {
    "shuffle": ("SHFL", "ds_bpermute", "ds_permute", "ds_swizzle", "v_permlane16", "v_permlane32", "v_permlanex16", "shfl"),
    "warp reduction": ("REDUX", "CREDUX", "redux"),
    "barrier": ("BAR", "s_barrier", "bar", "barrier"),
    "async copy": ("LDGSTS", "UBLKCP", "UTMALDG", "UTMASTG", "global_load_lds", "cp.async.global"),
    "shared load": ("LDS", "LDSM", "ds_read", "ds_read2", "ds_load", "ld.shared", "ldmatrix"),
    "shared store": ("STS", "STSM", "ds_write", "ds_write2", "ds_store", "st.shared", "stmatrix"),
    "global load": ("LDG", "LD", "global_load", "buffer_load", "flat_load", "ld.global"),
    "global store": ("STG", "ST", "global_store", "buffer_store", "flat_store", "st.global"),
    "local memory": ("LDL", "STL", "scratch_load", "scratch_store", "ld.local", "st.local"),
    "atomic": (
        "ATOM",
        "ATOMG",
        "ATOMS",
        "RED",
        "REDG",
        "global_atomic",
        "buffer_atomic",
        "flat_atomic",
        "ds_add",
        "atom",
        "red",
    ),
    "matrix": (
        *(
            "HMMA",
            "IMMA",
            "DMMA",
            "BMMA",
            "QMMA",
            "OMMA",
            "HGMMA",
            "IGMMA",
            "QGMMA",
            "UTCHMMA",
            "UTCQMMA",
            "UTCIMMA",
            "UTCOMMA",
        ),
        *("v_mfma", "v_smfmac", "v_wmma"),
        *("mma", "wgmma.mma_async", "tcgen05.mma"),
    ),
}
"""What an instruction is for, by the beginning of its opcode; the first kind that fits counts. All else is "other".

Those of NVIDIA's machine code are in capitals, those of PTX and AMD's code are not. Sources: CUDA Binary Utilities,
"Instruction Set Reference"; PTX ISA; AMD, "Instinct MI300 (CDNA 3) Instruction Set Architecture".
"""


_MOVING = ("async copy", "shared load", "shared store", "global load", "global store", "local memory")
_AMD_WIDTHS = {
    "dwordx4": 16,
    "dwordx3": 12,
    "dwordx2": 8,
    "ushort": 2,
    "sshort": 2,
    "short": 2,
    "ubyte": 1,
    "sbyte": 1,
    "byte": 1,
}
_BITS = re.compile(r"[bfsu]?(8|16|32|64|96|128|256)", re.IGNORECASE)


@dataclass(frozen=True)
class Instruction:
    """One machine instruction. `opcode` is "LDG.E.128", `predicate` "@!P0" or "", `labels` the names of places to jump to.

    `line` is the line of the kernel that it came from, where the compiler kept one.
    """

    opcode: str
    operands: str
    predicate: str = ""
    labels: tuple[str, ...] = ()
    line: SourceLine | None = None

    @property
    def kind(self) -> str:
        """What it is for: a key of `KINDS`, or "other".

        >>> Instruction("SHFL.BFLY", "PT, R5, R2, 0x10, 0x1f").kind, Instruction("v_add_f32_dpp", "v2, v2, v2").kind
        ('shuffle', 'shuffle')
        """
        if self.opcode.endswith("_dpp"):  # an addition, say, whose operand comes from another lane
            return "shuffle"
        if self.opcode.startswith("buffer_load") and "lds" in self.operands.split():  # straight into shared memory
            return "async copy"
        return next((kind for kind, opcodes in KINDS.items() if any(_has(self.opcode, opcode) for opcode in opcodes)), "other")

    @property
    def width(self) -> int | None:
        """How many bytes each lane moves, if this loads, stores or copies; None for any other instruction.

        A bulk copy (TMA) moves a whole tile for the program, and counts as a cache line, 128 bytes.

        >>> [Instruction(opcode, "").width for opcode in ("LDG.E.128", "STG.E.U16", "LDG.E", "UTMALDG.1D", "FADD")]
        [16, 2, 4, 128, None]
        >>> [Instruction(opcode, "").width for opcode in ("ld.global.v4.b32", "buffer_load_dwordx4", "global_store_short")]
        [16, 16, 2]
        """
        if self.kind not in _MOVING:
            return None
        if self.opcode.startswith(("UTMA", "UBLKCP", "cp.async.bulk")):
            return 128
        if self.opcode.startswith("cp.async"):
            return int(self.operands.split(",")[2], 0)
        parts = re.split(r"[._]", self.opcode)
        vector = next((int(part[1:]) for part in parts if re.fullmatch(r"v[248]", part)), 1)
        bits = next((int(found[1]) for part in parts if (found := _BITS.fullmatch(part))), 32)
        return next((_AMD_WIDTHS[part] for part in parts if part in _AMD_WIDTHS), vector * bits // 8)

    def matches(self, wanted: str) -> bool:
        """Whether the opcode is the wanted one and has its modifiers, in any order; AMD's go on after "_".

        >>> load = Instruction("LDG.E.128", "R4, [R2.64]")
        >>> load.matches("LDG"), load.matches("LDG.128"), load.matches("LD"), load.matches("LDG.64")
        (True, True, False, False)
        """
        return _has(self.opcode.casefold(), wanted.casefold())

    def __str__(self) -> str:
        return f"{self.predicate:>5} {self.opcode} {self.operands}".rstrip()


def _has(opcode: str, wanted: str) -> bool:
    name, *modifiers = opcode.split(".")
    wanted_name, *asked = wanted.split(".")
    return (name == wanted_name or name.startswith(f"{wanted_name}_")) and set(asked) <= set(modifiers)


def count(instructions: Iterable[Instruction], wanted: str) -> int:
    """How many instructions have this opcode, such as "SHFL" or "LDG.128"."""
    return sum(instruction.matches(wanted) for instruction in instructions)


def count_kinds(instructions: Iterable[Instruction]) -> dict[str, int]:
    """How many instructions there are of each kind, in the order of `KINDS`; kinds that do not occur are left out."""
    found = Counter(instruction.kind for instruction in instructions)
    return {kind: found[kind] for kind in (*KINDS, "other") if found[kind]}


def listing(instructions: Iterable[Instruction]) -> str:
    """The code as text, with a comment wherever the source line changes."""
    lines: list[str] = []
    last: SourceLine | None = None
    for instruction in instructions:
        lines += [f"{label}:" for label in instruction.labels]
        if instruction.line is not None and instruction.line != last:
            last = instruction.line
            lines.append(f"// {last.origin}, line {last.line}: {last.text}")
        lines.append(f"  {instruction}")
    return "\n".join(lines) + "\n"


LineOf = Callable[[str, int], SourceLine | None]
"""From a file's name and a line's number to the line as its author knows it."""

_SASS = re.compile(r"\s*/\*[0-9a-f]{4,}\*/\s+(?:(@!?\w+)\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_SASS_LINE = re.compile(r'\s*//## File "([^"]*)", line (\d+)')
_SASS_LABEL = re.compile(r"(\.L_\w+):")


def read_sass(disassembly: str, line_of: LineOf) -> tuple[Instruction, ...]:
    """The instructions in what `nvdisasm -gi -c` prints, without the NOPs that fill up the end.

    Places come innermost first: a line, then the line that it was inlined at, and so on; the first that is known counts.
    """
    instructions: list[Instruction] = []
    line: SourceLine | None = None
    labels: tuple[str, ...] = ()
    places_begin = True
    for text in disassembly.splitlines():
        if place := _SASS_LINE.match(text):
            if places_begin:
                line, places_begin = None, False
            line = line or line_of(place[1].rsplit("/", 1)[-1], int(place[2]))
            continue
        places_begin = True
        if label := _SASS_LABEL.match(text):
            labels += (label[1],)
        elif found := _SASS.match(text):
            predicate, opcode, operands = found.groups()
            instructions.append(Instruction(opcode, operands, predicate or "", labels, line))
            labels = ()
    while instructions and instructions[-1].opcode == "NOP":
        instructions.pop()
    return tuple(instructions)


_PTX_FILE = re.compile(r'\s*\.file\s+(\d+)\s+(?:"[^"]*"\s+)?"(?:[^"]*/)?([^"/]+)"')
_PTX_PLACE = re.compile(r"\s*\.loc\s+(\d+)\s+(\d+)")
_PTX = re.compile(r"\s*(@!?%\w+\s+)?([a-z]\w*(?:[.:]+\w+)*)\s*([^;]*);")


def read_ptx(ptx: str, line_of: LineOf) -> tuple[Instruction, ...]:
    """The instructions in PTX as LLVM writes it for Triton, inline assembly among them. Labels are left out."""
    files = {int(found[1]): found[2] for text in ptx.splitlines() if (found := _PTX_FILE.match(text))}
    instructions: list[Instruction] = []
    line: SourceLine | None = None
    for text in ptx.splitlines():
        if place := _PTX_PLACE.match(text):
            line = line_of(files.get(int(place[1]), ""), int(place[2]))
        elif found := _PTX.match(text):
            instructions.append(Instruction(found[2], found[3].strip(), (found[1] or "").strip(), line=line))
    return tuple(instructions)


_AMD_PLACE = re.compile(r"([^\s\[:;]+):(\d+):\d+")
_AMD_LABEL = re.compile(r"(\.LBB\w+):")
_AMD = re.compile(r"\t([a-z]\w*)\s*(.*?)\s*(?:;.*)?$")


def read_amdgcn(assembly: str, line_of: LineOf) -> tuple[Instruction, ...]:
    """The instructions in the assembly that LLVM writes for an AMD GPU."""
    instructions: list[Instruction] = []
    line: SourceLine | None = None
    labels: tuple[str, ...] = ()
    code = re.search(r"^\.Lfunc_begin0:$(.*?)^\.Lfunc_end0:$", assembly, re.DOTALL | re.MULTILINE)
    for text in (code[1] if code else "").splitlines():
        if text.startswith("\t.loc\t"):  # its comment names the place, and those that it was inlined into
            places = (line_of(file, int(number)) for file, number in _AMD_PLACE.findall(text))
            line = next(filter(None, places), line)
        elif label := _AMD_LABEL.match(text):
            labels += (label[1],)
        elif text.startswith("\t.section"):  # the kernel's description and other data follow
            break
        elif found := _AMD.match(text):
            instructions.append(Instruction(found[1], found[2], labels=labels, line=line))
            labels = ()
    return tuple(instructions)


def resources(usage: str, target: str) -> tuple[int, int, int]:
    """From `cuobjdump --dump-resource-usage`: registers, spilled 32-bit values, bytes of static shared memory of a kernel.

    From sm_90 on, a kernel that uses shared memory is said to use the system's reserve as well, which is left out here.

    >>> resources("  REG:32 STACK:16 SHARED:1152 LOCAL:0 CONSTANT[0]:544 TEXTURE:0 SURFACE:0 SAMPLER:0", "sm_90")
    (32, 4, 128)
    """
    found = {name: int(number) for name, number in re.findall(r"\b(REG|STACK|SHARED|LOCAL):(\d+)", usage)}
    counted = ARCHITECTURES[target].shared_reserve if int(target.removeprefix("sm_")) >= 90 else 0
    return found["REG"], (found["STACK"] + found["LOCAL"]) // 4, max(0, found["SHARED"] - counted)


def amd_resources(assembly: str) -> tuple[int, int, int]:
    """The same from the metadata in AMD's assembly: vector registers of both kinds together, those spilled, static LDS."""
    names = "vgpr_count|vgpr_spill_count|group_segment_fixed_size"
    found = {name: int(number) for name, number in re.findall(rf"^\s*\.({names}):\s*(\d+)", assembly, re.MULTILINE)}
    return found["vgpr_count"], found["vgpr_spill_count"], found["group_segment_fixed_size"]
