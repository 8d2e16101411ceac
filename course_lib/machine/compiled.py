"""`compile_for`: what Triton's compiler makes of a kernel for any GPU, on a machine that has none.

The kernel travels as source to a process that compiles (`checking/sandbox.py`, `assembling.py`), so this process stays in
the mode that it is in: interpreting in a notebook without a GPU. Results are kept on disk (`store.py`) by all that they
were made from: the source of the kernel and of all it uses, arguments, options, target, and Triton's version.

Not here: reading machine code (`instructions.py`), comparing two results (`difference.py`), occupancy (`occupancy.py`).
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from course_lib.checking import advice, sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.collect import bundle_kernel
from course_lib.checking.findings import SourceLine
from course_lib.checking.inside import ANSWER_FILE
from course_lib.checking.stages.failures import failure_finding
from course_lib.checking.wire import CannotSend
from course_lib.machine import instructions as code
from course_lib.machine import store, tools
from course_lib.machine.instructions import Instruction
from course_lib.machine.readable import readable
from course_lib.machine.specs import ARCHITECTURES, find_gpu

LIMITS = sandbox.Limits(cpu_seconds=60, wall_seconds=90, total_seconds=90)


class CannotCompile(RuntimeError):
    """A kernel that the compiler refuses for a GPU. `source` is the line that it concerns, where there is one."""

    def __init__(self, kernel: str, target: str, reason: str, source: SourceLine | None = None) -> None:
        where = f"\n  {source.origin}, line {source.line}: {source.text}" if source else ""
        super().__init__(f"{kernel} does not compile for {target}: {reason}{where}")
        self.kernel, self.target, self.reason, self.source = kernel, target, reason, source


@dataclass(frozen=True, repr=False)
class Compiled:
    """A kernel as a compiler made it for one target.

    `registers` are 32-bit registers of each thread, `spills` 32-bit values of each thread that found no register and went to
    memory, `shared` is bytes of shared memory of a program. On AMD `registers` are vector registers.
    """

    kernel: str
    target: str
    threads: int
    num_stages: int
    registers: int
    spills: int
    shared: int
    instructions: tuple[Instruction, ...]
    texts: Mapping[str, str]
    binary: bytes = field(compare=False)
    """The cubin or code object, as a driver loads it."""
    provenance: str
    """What made it, and when, if it was not made just now."""

    @property
    def num_warps(self) -> int:
        return -(-self.threads // ARCHITECTURES[self.target].warp_size)

    @property
    def ttir(self) -> str:
        """Triton's own intermediate form: tiles, not yet spread over threads."""
        return self._text("ttir")

    @property
    def ttgir(self) -> str:
        """The same for GPUs: each tile has a layout, which says which thread holds which element."""
        return self._text("ttgir")

    @property
    def llir(self) -> str:
        """LLVM's intermediate form: what one thread does."""
        return self._text("llir")

    @property
    def ptx(self) -> str:
        """NVIDIA's portable assembly."""
        return self._text("ptx")

    @property
    def sass(self) -> str:
        """The machine code of an NVIDIA GPU, with the kernel's lines."""
        return self._listing("nvidia", "sass", "amdgcn")

    @property
    def amdgcn(self) -> str:
        """The machine code of an AMD GPU, with the kernel's lines."""
        return self._listing("amd", "amdgcn", "sass")

    def count(self, opcode: str) -> int:
        """How many instructions have this opcode, with these modifiers: "SHFL", "SHFL.BFLY", "LDG.128", "v_mfma".

        Counted is what stands in the code; a loop's instructions count once, however often they run.
        """
        return code.count(self.instructions, opcode)

    def kinds(self) -> dict[str, int]:
        """How many instructions there are of each kind: "shuffle", "shared store", "barrier", … (`instructions.KINDS`)."""
        return code.count_kinds(self.instructions)

    def excerpt(self, form: str, *words: str, most: int = 4, width: int = 108) -> str:
        """The lines of one form ("ttir", "ttgir", "llir", "ptx", "sass" or "amdgcn") in which one of the words stands.

        At most the first `most`, cut to `width` characters; what is left out is counted. Without words, the first lines.

            print(c.excerpt("sass", "LDG", "STG"))
        """
        found = [line.strip() for line in str(getattr(self, form)).splitlines() if not words or any(w in line for w in words)]
        shown = [line if len(line) <= width else f"{line[: width - 1]}…" for line in found[:most]]
        rest = len(found) - most
        return "\n".join([*shown, *([f"… and {rest} more"] if rest > 0 else [])])

    def lines(self) -> dict[SourceLine, tuple[Instruction, ...]]:
        """The instructions that came from each line of the kernel, in the order of the lines."""
        known = {i.line for i in self.instructions if i.line is not None}
        ordered = sorted(known, key=lambda line: (line.origin, line.line))
        return {line: tuple(i for i in self.instructions if i.line == line) for line in ordered}

    def __repr__(self) -> str:
        warps = f"{self.num_warps} warp{'' if self.num_warps == 1 else 's'}"
        return (
            f"<{self.kernel} for {self.target}: {warps}, {self.registers} registers, {self.spills} spilled, "
            f"{self.shared} bytes of shared memory, {len(self.instructions)} instructions; {self.provenance}>"
        )

    def _text(self, name: str) -> str:
        if name not in self.texts:
            raise AttributeError(f"{self.kernel} for {self.target} has no .{name}; it has .{', .'.join(self.texts)}")
        return self.texts[name]

    def _listing(self, vendor: str, name: str, other: str) -> str:
        if ARCHITECTURES[self.target].vendor != vendor:
            raise AttributeError(
                f"{self.kernel} was compiled for {self.target}, whose machine code is in .{other}, not .{name}"
            )
        return code.listing(self.instructions)


def compile_for(
    kernel: Any,
    /,
    *arguments: Any,
    target: str = "sm_90",
    num_warps: int | None = None,
    num_stages: int | None = None,
    **constexprs: Any,
) -> Compiled:
    """Compile a kernel for a GPU as a launch with these arguments would, without a GPU.

    Pointer arguments are tensors, real or on the "meta" device, or just a torch dtype for an aligned tensor of any size.
    Numbers are specialised as in a launch: by whether they are 1, or divisible by 16. `constexprs` may hold further options
    of Triton, such as `num_ctas`. Targets are NVIDIA's sm_75 to sm_120 and AMD's gfx90a and gfx942 (`specs.ARCHITECTURES`).

        c = compile_for(add_kernel, x, y, out, n, BLOCK=1024, target="sm_80", num_warps=4)
        c.registers, c.shared, c.count("LDG.128"), print(c.sass)

    Raises `ValueError` for an unknown target, `CannotCompile` for a kernel that the compiler refuses or that needs more
    shared memory than the GPU has, `bundle.CannotBundle` and `wire.CannotSend` for what cannot be taken to the compiler.
    """
    must_know(target)
    bundle = bundle_kernel(kernel)
    options = {name: value for name, value in (("num_warps", num_warps), ("num_stages", num_stages)) if value is not None}
    launch = {
        "target": target,
        "layer": _layers(kernel),
        "arguments": [_described(value) for value in arguments],
        "keywords": {name: _described(value) for name, value in {**constexprs, **options}.items()},
    }
    key = store.key_of(bundle.source, bundle.name, bundle.sys_path, launch, _made_by())
    record = store.load(key)
    if record is None or not _unchanged(record["files"]):
        record = _assembled(bundle, launch)
        store.save(key, record)
    return from_record(record, lambda file, line: bundle.line(line) if file == ANSWER_FILE and line > 0 else None)


def from_record(record: dict[str, Any], line_of: code.LineOf) -> Compiled:
    """A `Compiled` from plain data, as `assembling.py` and `cuda.py` write it and `store.py` keeps it."""
    texts = {name: readable(name, text) for name, text in record["stages"].items() if name != "amdgcn"}
    if ARCHITECTURES[record["target"]].vendor == "amd":
        assembly = record["stages"]["amdgcn"]
        instructions = code.read_amdgcn(assembly, line_of)
        registers, spills, static = code.amd_resources(assembly)
    else:
        instructions = code.read_sass(record["disassembly"], line_of)
        registers, spills, static = code.resources(record["usage"], record["target"])
    return Compiled(
        kernel=record["kernel"],
        target=record["target"],
        threads=record["threads"],
        num_stages=record["num_stages"],
        registers=registers,
        spills=spills,
        shared=static + record["dynamic_shared"],
        instructions=instructions,
        texts=texts,
        binary=base64.b64decode(record["binary"]),
        provenance=record["made_by"],
    )


def with_machine_code(record: dict[str, Any]) -> dict[str, Any]:
    """A record for an NVIDIA GPU with what the binary tools say about its cubin; any other as it is."""
    if ARCHITECTURES[record["target"]].vendor == "amd":
        return record
    cubin = base64.b64decode(record["binary"])
    return {**record, "disassembly": tools.disassemble(cubin), "usage": tools.resource_usage(cubin)}


def must_know(target: str) -> None:
    """Raise `ValueError`, with what there is, if nothing is known about a target."""
    if target in ARCHITECTURES:
        return
    try:
        meant = f"{target} is an {find_gpu(target).target} GPU: target={find_gpu(target).target!r}"
    except ValueError:
        meant = f"there are {', '.join(ARCHITECTURES)}"
    raise ValueError(f"unknown target {target!r}; {meant}")


def _assembled(bundle: Bundle, launch: dict[str, Any]) -> dict[str, Any]:
    """Have the kernel compiled in a process of its own."""
    outcome = sandbox.run(bundle, [], mode="assemble", launch=launch, limits=LIMITS)
    if outcome.assembled is not None:
        return with_machine_code(outcome.assembled)
    failure = outcome.failure
    assert failure is not None
    if failure.kind == "does_not_compile":
        line, elsewhere = failure.details.get("line"), failure.details.get("elsewhere")
        source = SourceLine(*elsewhere) if elsewhere else bundle.line(line) if line else None
        reason = "\n  ".join(filter(None, (failure.message, advice.for_message(failure.message))))
        raise CannotCompile(bundle.name, launch["target"], reason, source)
    finding = failure_finding(failure, bundle, None, LIMITS)
    raise CannotCompile(bundle.name, launch["target"], finding.message, finding.source)


def _layers(kernel: Any) -> int:
    """How many decorators lie around the Python function."""
    depth = 0
    while hasattr(kernel, "fn"):
        kernel, depth = kernel.fn, depth + 1
    return depth


def _described(value: Any) -> dict[str, Any]:
    """What a launch asks of an argument, as plain data. A torch dtype stands for a tensor of it."""
    if isinstance(value, torch.Tensor):
        # A storage of torch's own begins at a multiple of 16 on any device; on a GPU, the true address is at hand.
        address = value.data_ptr() if value.is_cuda else value.storage_offset() * value.element_size()
        size = value.untyped_storage().nbytes()
        return {"pointer": str(value.dtype).removeprefix("torch."), "address": address % 16, "bytes": size}
    if isinstance(value, torch.dtype):
        return {"pointer": str(value).removeprefix("torch."), "address": 0, "bytes": 0}
    if isinstance(value, (tuple, list)):
        return {"tuple": [_described(item) for item in value]}
    if type(value).__module__.startswith("triton.language"):
        if type(value).__name__ == "dtype":
            return {"dtype": value.name}
        if type(value).__name__ == "constexpr":
            return _described(value.value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return {"value": value}
    raise CannotSend(
        f"a value of type {type(value).__name__} cannot be sent to the compiler; "
        "use tensors, torch dtypes, numbers, strings, Triton's dtypes, None, or tuples of these"
    )


def _made_by() -> list[str]:
    """What a result depends on besides the kernel and its launch."""
    made_by = (Path(__file__).with_name(name) for name in ("assembling.py", "lines.py"))
    return [_triton_version(), *map(store.digest, made_by)]


def _triton_version() -> str:
    for name in ("triton", "triton-windows", "pytorch-triton"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    raise CannotSend("Triton is not installed, so nothing can be compiled: `pip install triton`")


def _unchanged(files: Mapping[str, str]) -> bool:
    """Whether the files that a kernel imported are still what they were."""
    return all(os.path.isfile(path) and store.digest(Path(path)) == content for path, content in files.items())
