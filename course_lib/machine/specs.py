"""What GPUs have: facts with their sources, for models of the hardware. No GPU, no Triton, no computation.

`ARCHITECTURES` holds what every GPU of one compute capability shares, `GPUS` what one product has. Sizes are in bytes,
rates in bytes or floating-point operations a second, all of them the vendor's peak unless the source says otherwise.

NVIDIA says streaming multiprocessor (SM), warp, block and shared memory; AMD says compute unit, wavefront, workgroup and
local data share. The names here are NVIDIA's for both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

KIB, MIB = 1024, 1024**2

_CUDA_GUIDE = 'CUDA C++ Programming Guide, "Technical Specifications per Compute Capability"'
_CUDA_OCCUPANCY = "cuda_occupancy.h of the CUDA Toolkit 13.0, NVIDIA's own calculator"
_LLVM = "LLVM, AMDGPU/Utils/AMDGPUBaseInfo.cpp (getMaxWavesPerEU, getTotalNumVGPRs, getMaxWorkGroupsPerCU, …)"
_ROCM = 'ROCm documentation, "GPU hardware specifications"'


@dataclass(frozen=True)
class Architecture:
    """What one multiprocessor has, and in which portions it is given away.

    A block's warps are spread over `partitions`, each with its part of the registers. Registers are given to a warp in
    multiples of `register_unit`, shared memory to a block in multiples of `shared_unit`, after `shared_reserve` bytes that
    the system takes for itself in each block.
    """

    target: str
    warp_size: int
    max_warps: int
    max_blocks: int
    registers: int
    max_registers_per_thread: int
    register_unit: int
    shared: int
    max_shared_per_block: int
    shared_reserve: int
    shared_unit: int
    sources: tuple[str, ...]
    max_threads_per_block: int = 1024
    partitions: int = 4

    @property
    def vendor(self) -> str:
        """ "nvidia" or "amd"."""
        return "nvidia" if self.target.startswith("sm_") else "amd"


def _nvidia(capability: int, *, warps: int, blocks: int, shared: int, block_shared: int) -> Architecture:
    """An NVIDIA architecture; shared memory is given in KiB. Up to sm_75 the system reserves none of it."""
    return Architecture(
        target=f"sm_{capability}",
        warp_size=32,
        max_warps=warps,
        max_blocks=blocks,
        registers=64 * KIB,
        max_registers_per_thread=255,
        register_unit=256,
        shared=shared * KIB,
        max_shared_per_block=block_shared * KIB,
        shared_reserve=KIB if capability >= 80 else 0,
        shared_unit=128 if capability >= 80 else 256,
        sources=(_CUDA_GUIDE, _CUDA_OCCUPANCY),
    )


def _amd(target: str) -> Architecture:
    """A CDNA 2 or CDNA 3 architecture: 4 SIMDs of 512 vector registers of 64 lanes, given in units of 8; 8 waves a SIMD.

    A unit's 16 barriers for groups of several waves never run out before its 32 places for waves do.
    """
    return Architecture(
        target=target,
        warp_size=64,
        max_warps=32,
        max_blocks=32,
        registers=4 * 512 * 64,
        max_registers_per_thread=512,
        register_unit=8 * 64,
        shared=64 * KIB,
        max_shared_per_block=64 * KIB,
        shared_reserve=0,
        shared_unit=512,
        sources=(_LLVM, _ROCM),
    )


ARCHITECTURES: Mapping[str, Architecture] = {
    architecture.target: architecture
    for architecture in (
        _nvidia(75, warps=32, blocks=16, shared=64, block_shared=64),
        _nvidia(80, warps=64, blocks=32, shared=164, block_shared=163),
        _nvidia(86, warps=48, blocks=16, shared=100, block_shared=99),
        _nvidia(89, warps=48, blocks=24, shared=100, block_shared=99),
        _nvidia(90, warps=64, blocks=32, shared=228, block_shared=227),
        _nvidia(100, warps=64, blocks=32, shared=228, block_shared=227),
        _nvidia(120, warps=48, blocks=24, shared=100, block_shared=99),
        _amd("gfx90a"),
        _amd("gfx942"),
    )
}
"""By target, as `compile_for` names it."""


@dataclass(frozen=True)
class Gpu:
    """One product: its multiprocessors, its L2 cache, and its peak rates.

    `flops` is by format: "fp32" on ordinary units; "tf32", "fp16" and "bf16" on matrix units, dense, with fp32 accumulation.
    `copy_bandwidth` is what a copy was measured to reach, counting bytes read and written. `sources` names, for every
    figure, where it comes from.
    """

    name: str
    target: str
    sms: int
    l2: int
    bandwidth: float
    flops: Mapping[str, float]
    sources: Mapping[str, str]
    copy_bandwidth: float | None = None
    aliases: tuple[str, ...] = field(default=())

    @property
    def architecture(self) -> Architecture:
        return ARCHITECTURES[self.target]


def _sources(most: str, **others: str) -> dict[str, str]:
    """One source for all figures but those that have their own."""
    return {**dict.fromkeys(("sms", "l2", "bandwidth", "flops"), most), **others}


_TURING = "NVIDIA Turing GPU Architecture white paper (WP-09183-001)"
_A100 = "NVIDIA A100 Tensor Core GPU Architecture white paper, and A100 data sheet"
_GA102 = "NVIDIA Ampere GA102 GPU Architecture white paper, appendix A"
_ADA = "NVIDIA Ada GPU Architecture white paper, appendix A"
_BLACKWELL_RTX = "NVIDIA RTX Blackwell GPU Architecture white paper, appendix A"
_H100 = "NVIDIA H100 Tensor Core GPU Architecture white paper, and H100 data sheet (SXM5)"
_H200 = "NVIDIA H200 data sheet (SXM), rates without sparsity"
_H200_DRIVER = "what the driver reports for an H200 (driver 580.159, 2026-10-28)"
_B200_DRIVER = "what the driver reports for a B200 (github.com/pytorch/ao, pull request 4002)"
_MI300X = "AMD Instinct MI300X data sheet, rates without sparsity"
_MI210 = "AMD Instinct MI210 data sheet"

GPUS: Mapping[str, Gpu] = {
    gpu.name: gpu
    for gpu in (
        Gpu(
            name="T4",
            target="sm_75",
            sms=40,
            l2=4 * MIB,
            bandwidth=320e9,
            flops={"fp32": 8.1e12, "fp16": 65e12},
            sources=_sources(_TURING, bandwidth="NVIDIA T4 product brief (PB-09256-001)"),
            aliases=("Tesla T4",),
        ),
        Gpu(
            name="A100",
            target="sm_80",
            sms=108,
            l2=40 * MIB,
            bandwidth=2039e9,
            flops={"fp32": 19.5e12, "tf32": 156e12, "fp16": 312e12, "bf16": 312e12},
            sources=_sources(_A100, bandwidth="NVIDIA A100 data sheet (80 GB, SXM)"),
            aliases=("NVIDIA A100-SXM4-80GB",),
        ),
        Gpu(
            name="A100-40GB",
            target="sm_80",
            sms=108,
            l2=40 * MIB,
            bandwidth=1555e9,
            flops={"fp32": 19.5e12, "tf32": 156e12, "fp16": 312e12, "bf16": 312e12},
            sources=_sources(_A100, bandwidth="NVIDIA A100 data sheet (40 GB, SXM)"),
            aliases=("NVIDIA A100-SXM4-40GB",),
        ),
        Gpu(
            name="RTX 3090",
            target="sm_86",
            sms=82,
            l2=6 * MIB,
            bandwidth=936e9,
            flops={"fp32": 35.6e12, "tf32": 35.6e12, "fp16": 71e12, "bf16": 71e12},
            sources=_sources(_GA102),
            aliases=("NVIDIA GeForce RTX 3090",),
        ),
        Gpu(
            name="L4",
            target="sm_89",
            sms=58,
            l2=48 * MIB,
            bandwidth=300e9,
            flops={"fp32": 30.3e12, "tf32": 60e12, "fp16": 121e12, "bf16": 121e12},
            sources=_sources(
                "NVIDIA L4 data sheet, rates halved since it states them with sparsity",
                sms="deviceQuery on an L4 (github.com/bottlerocket-os/bottlerocket-kernel-kit, pull request 139)",
                l2="NVIDIA Ada GPU Architecture white paper (AD104)",
            ),
            aliases=("NVIDIA L4",),
        ),
        Gpu(
            name="RTX 4090",
            target="sm_89",
            sms=128,
            l2=72 * MIB,
            bandwidth=1008e9,
            flops={"fp32": 82.6e12, "tf32": 82.6e12, "fp16": 165.2e12, "bf16": 165.2e12},
            sources=_sources(_ADA),
            aliases=("NVIDIA GeForce RTX 4090",),
        ),
        Gpu(
            name="H100",
            target="sm_90",
            sms=132,
            l2=50 * MIB,
            bandwidth=3350e9,
            flops={"fp32": 66.9e12, "tf32": 494.7e12, "fp16": 989.4e12, "bf16": 989.4e12},
            sources=_sources(_H100),
            aliases=("NVIDIA H100 80GB HBM3",),
        ),
        Gpu(
            name="H200",
            target="sm_90",
            sms=132,
            l2=60 * MIB,
            bandwidth=4800e9,
            flops={"fp32": 67e12, "tf32": 494.5e12, "fp16": 989.5e12, "bf16": 989.5e12},
            copy_bandwidth=4240e9,
            sources=_sources(
                _H200,
                sms=_H200_DRIVER,
                l2=_H200_DRIVER,
                copy_bandwidth="measured: torch 2.11 copying 4096 × 65536 fp32 elements, cold L2, eight runs from 4225 to "
                "4254 GB/s, 2026-11-30",
            ),
            aliases=("NVIDIA H200",),
        ),
        Gpu(
            name="B200",
            target="sm_100",
            sms=148,
            l2=126 * MIB,
            bandwidth=7672e9,
            flops={"fp32": 75e12, "tf32": 1125e12, "fp16": 2250e12, "bf16": 2250e12},
            sources=_sources(
                "NVIDIA HGX B200 data sheet, an eighth of the board's rates, without sparsity",
                sms=_B200_DRIVER,
                l2="NVIDIA Blackwell Tuning Guide",
                bandwidth=f"{_B200_DRIVER}: a bus of 7680 bits at 2 × 3996 MHz",
            ),
            aliases=("NVIDIA B200",),
        ),
        Gpu(
            name="RTX 5090",
            target="sm_120",
            sms=170,
            l2=96 * MIB,
            bandwidth=1792e9,
            flops={"fp32": 104.8e12, "tf32": 104.8e12, "fp16": 209.5e12, "bf16": 209.5e12},
            sources=_sources(_BLACKWELL_RTX),
            aliases=("NVIDIA GeForce RTX 5090",),
        ),
        Gpu(
            name="MI210",
            target="gfx90a",
            sms=104,
            l2=8 * MIB,
            bandwidth=1638e9,
            flops={"fp32": 22.6e12, "fp16": 181e12, "bf16": 181e12},
            sources=_sources(_MI210, sms=_ROCM, l2=_ROCM),
            aliases=("AMD Instinct MI210",),
        ),
        Gpu(
            name="MI300X",
            target="gfx942",
            sms=304,
            l2=32 * MIB,
            bandwidth=5300e9,
            flops={"fp32": 163.4e12, "tf32": 653.7e12, "fp16": 1307.4e12, "bf16": 1307.4e12},
            sources=_sources(_MI300X, sms=_ROCM, l2=f"{_ROCM}: 8 dies of 4 MiB"),
            aliases=("AMD Instinct MI300X",),
        ),
    )
}
"""By name. `copy_bandwidth` is there where somebody measured it."""


def find_gpu(name: str) -> Gpu:
    """The GPU with this name, in any case of letters, also as its driver spells it. `ValueError` names those that are known.

    >>> find_gpu("h200").sms, find_gpu("NVIDIA GeForce RTX 4090").target
    (132, 'sm_89')
    """
    wanted = name.casefold()
    for gpu in GPUS.values():
        if wanted in (spelling.casefold() for spelling in (gpu.name, *gpu.aliases)):
            return gpu
    raise ValueError(f"no facts about a GPU called {name!r}; there are {', '.join(GPUS)}")
