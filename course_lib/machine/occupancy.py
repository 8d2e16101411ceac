"""How many programs fit on a multiprocessor at once, and which resource is the limit. Pure arithmetic, for any GPU.

A program (CUDA's block) stays on one multiprocessor from its start to its end, with all its warps, registers and shared
memory. So the resource that runs out first decides how many are there at a time.

The rules are those of NVIDIA's own calculator (cuda_occupancy.h in the CUDA Toolkit), with shared memory and L1 cache
divided as the kernel needs it, which is the driver's default. For AMD's CDNA they are LLVM's (AMDGPUBaseInfo.cpp).
Not here: kernels of several named barriers, or that use clusters of blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from course_lib.machine.specs import Architecture, Gpu, find_gpu


class HasResources(Protocol):
    """What a program of a kernel needs: 32-bit registers of each thread, bytes of shared memory, threads."""

    @property
    def registers(self) -> int: ...

    @property
    def shared(self) -> int: ...

    @property
    def threads(self) -> int: ...


@dataclass(frozen=True)
class Resources:
    """A program's needs as bare numbers, where there is no compiled kernel to ask."""

    registers: int
    shared: int
    threads: int


@dataclass(frozen=True)
class Occupancy:
    """The result: `programs_per_sm`, how many each resource alone would allow (`limits`), and the one that limits.

    `limits` is in the order "threads", "registers", "shared memory", "programs"; a resource that is not used
    is left out, and of several equally tight ones `limiter` is the first. "programs" is how many a multiprocessor can
    keep track of. `registers_given` and `shared_given` are what one program really takes, after rounding.
    """

    gpu: Gpu
    needs: Resources
    limits: Mapping[str, int]
    warps_per_program: int
    registers_given: int
    shared_given: int

    @property
    def programs_per_sm(self) -> int:
        return min(self.limits.values())

    @property
    def limiter(self) -> str:
        return min(self.limits, key=lambda resource: self.limits[resource])

    @property
    def warps_per_sm(self) -> int:
        return self.programs_per_sm * self.warps_per_program

    @property
    def fraction(self) -> float:
        """The share of the multiprocessor's places for warps that is taken: what profilers call occupancy."""
        return self.warps_per_sm / self.gpu.architecture.max_warps

    @property
    def programs(self) -> int:
        """How many programs the whole GPU runs at once."""
        return self.programs_per_sm * self.gpu.sms

    def __repr__(self) -> str:
        limits = ", ".join(f"{resource} {number}" for resource, number in self.limits.items())
        if not self.programs_per_sm:
            return f"<Occupancy on {self.gpu.name}: no program fits, for want of {self.limiter}; {limits}>"
        return (
            f"<Occupancy on {self.gpu.name}: {self.programs_per_sm} programs an SM, {self.warps_per_sm} of "
            f"{self.gpu.architecture.max_warps} warps ({self.fraction:.0%}); {self.limiter} limits; {limits}>"
        )


def occupancy(compiled: HasResources, gpu: str = "H200") -> Occupancy:
    """How many programs of a kernel fit on one multiprocessor of a GPU.

    `compiled` is what `compile_for` returns, or `Resources`. Raises `ValueError` for an unknown GPU, for a kernel that was
    compiled for another architecture (it would have other registers there), and for a program without threads.

    >>> occupancy(Resources(registers=40, shared=16384, threads=128), gpu="H200")
    <Occupancy on H200: 12 programs an SM, 48 of 64 warps (75%); registers limits; threads 16, registers 12, shared memory 13, \
programs 32>
    """
    found = find_gpu(gpu)
    target = getattr(compiled, "target", found.target)
    if target != found.target:
        raise ValueError(
            f"the kernel was compiled for {target}, and {found.name} is {found.target}: "
            f"compile it with target={found.target!r} to learn what it needs there"
        )
    needs = Resources(compiled.registers, compiled.shared, compiled.threads)
    if needs.threads < 1 or needs.registers < 0 or needs.shared < 0:
        raise ValueError(f"no program can need this: {needs}")
    architecture = found.architecture
    warps, registers, shared = _given(needs, architecture)
    return Occupancy(found, needs, programs_by_resource(needs, architecture), warps, registers * warps, shared)


def programs_by_resource(needs: Resources, architecture: Architecture) -> dict[str, int]:
    """How many programs fit on one multiprocessor by each resource alone (`Occupancy.limits`): the least of them fit.

    >>> from course_lib.machine.specs import ARCHITECTURES
    >>> programs_by_resource(Resources(registers=255, shared=0, threads=256), ARCHITECTURES["sm_75"])
    {'threads': 4, 'registers': 1, 'programs': 16}
    """
    warps, registers, shared = _given(needs, architecture)
    limits = {
        "threads": architecture.max_warps // warps if needs.threads <= architecture.max_threads_per_block else 0,
        "registers": _by_registers(architecture, needs.registers, registers, warps),
        "shared memory": _by_shared(architecture, needs.shared, shared),
        "programs": architecture.max_blocks,
    }
    return {resource: limit for resource, limit in limits.items() if limit is not None}


def _given(needs: Resources, architecture: Architecture) -> tuple[int, int, int]:
    """A program's warps, the registers that each of them takes, and the shared memory that they all take, after rounding."""
    return (
        _rounded(needs.threads, architecture.warp_size) // architecture.warp_size,
        _rounded(needs.registers * architecture.warp_size, architecture.register_unit),
        _rounded(needs.shared + architecture.shared_reserve, architecture.shared_unit),
    )


def _by_registers(architecture: Architecture, per_thread: int, per_warp: int, warps: int) -> int | None:
    """A warp's registers lie in one partition, so each partition holds a whole number of warps."""
    if per_warp == 0:
        return None
    if per_thread > architecture.max_registers_per_thread:
        return 0
    per_partition = architecture.registers // architecture.partitions // per_warp
    return per_partition * architecture.partitions // warps


def _by_shared(architecture: Architecture, wanted: int, given: int) -> int | None:
    if wanted > architecture.max_shared_per_block:
        return 0
    return architecture.shared // given if given else None


def _rounded(amount: int, unit: int) -> int:
    return -(-amount // unit) * unit
