"""Arithmetic intensity, and the roof that it runs into: how fast a kernel can be at best on a GPU. Pure arithmetic.

Source: Williams, Waterman and Patterson, "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
Communications of the ACM 52 (2009).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from course_lib.machine.specs import Gpu, find_gpu


@dataclass(frozen=True)
class Roofline:
    """A kernel's work under a GPU's roof: `flops` operations, `bytes` moved to and from memory."""

    gpu: Gpu
    dtype: str
    flops: float
    bytes: float
    peak: float
    """Operations a second that the GPU's units of this format can do."""
    bandwidth: float
    """Bytes a second that its memory can move."""

    @property
    def intensity(self) -> float:
        """Operations for each byte moved."""
        return self.flops / self.bytes

    @property
    def ridge(self) -> float:
        """The intensity from which on the units are the limit, and no longer the memory."""
        return self.peak / self.bandwidth

    @property
    def attainable(self) -> float:
        """Operations a second that this intensity allows at best."""
        return min(self.peak, self.intensity * self.bandwidth)

    @property
    def bound(self) -> Literal["memory", "compute"]:
        """What limits it."""
        return "memory" if self.intensity < self.ridge else "compute"

    @property
    def seconds(self) -> float:
        """The least time that the work takes; a measurement below it is wrong."""
        return max(self.flops / self.peak, self.bytes / self.bandwidth)

    def __repr__(self) -> str:
        return (
            f"<Roofline on {self.gpu.name}, {self.dtype}: {self.intensity:.3g} FLOP/byte, ridge at {self.ridge:.3g}: "
            f"bound by {self.bound}, at least {self.seconds * 1e6:.3g} µs>"
        )


def roofline(flops: float, bytes: float, gpu: str = "H200", dtype: str = "fp32", bandwidth: float | None = None) -> Roofline:
    """Where a kernel stands under a GPU's roof.

    `dtype` is a key of `Gpu.flops`: "fp32", or "tf32", "fp16", "bf16" for matrix units. `bandwidth` replaces the data
    sheet's, for example by what a copy was measured to reach. Raises `ValueError` for an unknown GPU, a format that it
    has no figure for, and for work without bytes.

    >>> roofline(flops=4 * 2**20, bytes=8 * 2**20, gpu="H200")
    <Roofline on H200, fp32: 0.5 FLOP/byte, ridge at 14: bound by memory, at least 1.75 µs>
    """
    found = find_gpu(gpu)
    if dtype not in found.flops:
        raise ValueError(f"{found.name} has no figure for {dtype!r}; it has {', '.join(found.flops)}")
    rate = found.bandwidth if bandwidth is None else bandwidth
    if flops < 0 or bytes <= 0 or rate <= 0:
        raise ValueError(f"a kernel moves bytes and does no less than no work: flops={flops}, bytes={bytes}, bandwidth={rate}")
    return Roofline(found, dtype, flops, bytes, found.flops[dtype], rate)
