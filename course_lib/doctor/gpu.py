"""Which GPUs this machine has, asked without importing torch or Triton and without starting CUDA.

NVIDIA's management library (NVML) answers in some milliseconds, and unlike `cuInit` leaves later forks alone. AMD's
driver lists its devices as files.

Not here: whether torch can use them (`facts.py`), and what follows from it (`course_lib.device`).
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

KFD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True)
class Gpu:
    """One GPU. `arch` is Triton's name of its architecture, such as "sm_90" or "gfx942"; None where nobody says."""

    vendor: Literal["nvidia", "amd"]
    name: str
    arch: str | None


@dataclass(frozen=True)
class Gpus:
    """What `find_gpus` found: the devices that programs may see, the driver, and the newest CUDA that it supports."""

    devices: tuple[Gpu, ...] = ()
    driver: str | None = None
    driver_cuda: str | None = None


def find_gpus(environ: Mapping[str, str] = os.environ) -> Gpus:
    """The GPUs that a program started with `environ` may use, NVIDIA's first.

    >>> find_gpus({"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""})
    Gpus(devices=(), driver=None, driver_cuda=None)
    """
    chosen = environ.get("CUDA_VISIBLE_DEVICES")
    found = Gpus() if hidden(chosen) else _nvidia(chosen)
    if found.devices:
        return found
    amd_choices = (environ.get(f"{prefix}_VISIBLE_DEVICES") for prefix in ("HIP", "ROCR", "CUDA"))
    return found if any(map(hidden, amd_choices)) else Gpus(_amd(KFD_NODES, Path("/dev/kfd")))


def hidden(chosen: str | None) -> bool:
    """Whether a …_VISIBLE_DEVICES variable of this value hides every GPU.

    >>> hidden(None), hidden(""), hidden("-1"), hidden("0,1")
    (False, True, True, False)
    """
    return chosen is not None and chosen.split(",")[0].strip() in ("", "-1")


def _nvidia(chosen: str | None) -> Gpus:
    try:
        nvml = ctypes.CDLL("nvml.dll" if os.name == "nt" else "libnvidia-ml.so.1")
    except OSError:
        # Some containers and boards have the device but not this library: then there is a GPU without a name.
        return Gpus((Gpu("nvidia", "NVIDIA GPU", None),)) if Path("/dev/nvidia0").exists() else Gpus()
    if nvml.nvmlInit_v2() != 0:
        return Gpus()
    try:
        count = ctypes.c_uint()
        if nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) != 0:
            return Gpus()
        picked = range(count.value) if chosen is None else chosen.split(",")
        devices = tuple(gpu for which in picked if (gpu := _nvidia_device(nvml, str(which).strip())))
        return Gpus(devices, _text(nvml.nvmlSystemGetDriverVersion), _cuda_version(nvml))
    finally:
        nvml.nvmlShutdown()


def _nvidia_device(nvml: ctypes.CDLL, which: str) -> Gpu | None:
    handle = ctypes.c_void_p()
    if which.isdigit():
        status = nvml.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(which)), ctypes.byref(handle))
    else:  # a UUID, of a GPU or of a slice of one
        status = nvml.nvmlDeviceGetHandleByUUID(which.encode(), ctypes.byref(handle))
    if status != 0:
        return None
    major, minor = ctypes.c_int(), ctypes.c_int()
    known = nvml.nvmlDeviceGetCudaComputeCapability(handle, ctypes.byref(major), ctypes.byref(minor)) == 0
    name = _text(nvml.nvmlDeviceGetName, handle) or "NVIDIA GPU"
    return Gpu("nvidia", name, f"sm_{major.value}{minor.value}" if known else None)


def _cuda_version(nvml: ctypes.CDLL) -> str | None:
    version = ctypes.c_int()
    if nvml.nvmlSystemGetCudaDriverVersion_v2(ctypes.byref(version)) != 0:
        return None
    return f"{version.value // 1000}.{version.value % 1000 // 10}"


def _text(function: ctypes._NamedFuncPointer, *arguments: ctypes.c_void_p) -> str | None:
    buffer = ctypes.create_string_buffer(96)
    return buffer.value.decode(errors="replace") if function(*arguments, buffer, 96) == 0 else None


def _amd(nodes: Path, door: Path) -> tuple[Gpu, ...]:
    if not os.access(door, os.R_OK | os.W_OK):
        return ()
    archs = []
    for properties in sorted(nodes.glob("*/properties")):
        try:
            values = dict(line.split(None, 1) for line in properties.read_text().splitlines() if " " in line)
        except OSError:
            continue
        if arch := gfx_name(int(values.get("gfx_target_version", "0"))):
            archs.append(arch)
    return tuple(Gpu("amd", f"AMD {arch}", arch) for arch in archs)


def gfx_name(version: int) -> str | None:
    """LLVM's name for a `gfx_target_version` of the AMD driver; None for 0, which is a CPU.

    >>> gfx_name(90402), gfx_name(90010), gfx_name(110000), gfx_name(0)
    ('gfx942', 'gfx90a', 'gfx1100', None)
    """
    major, minor, stepping = version // 10000, version // 100 % 100, version % 100
    return f"gfx{major}{minor:x}{stepping:x}" if version else None
