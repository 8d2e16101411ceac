"""Launchers that ask for a GPU, as people write them: all must work on the CPU, interpreted and compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from course_lib.checking.assumptions import broken_assumption
from course_lib.checking.check import check_file
from course_lib.checking.findings import Report

DOUBLE = """
import torch, triton, triton.language as tl
from triton.runtime import driver

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2 * x, mask=mask)

def double(x):
    out = torch.empty_like(x)
    HERE
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""


@pytest.fixture
def judged(tmp_path: Path) -> Callable[[str], Report]:
    def judge(source: str) -> Report:
        path = tmp_path / "answer_file.py"
        path.write_text(source)
        return check_file("double", path, seed=0)

    return judge


PROPERTIES = 'driver.active.utils.get_device_properties(x.device.index)["multiprocessor_count"]'


@pytest.mark.parametrize(
    "line",
    [
        "assert x.is_cuda and out.is_cuda and not x.is_cpu",
        "assert x.device.type == 'cuda' and x.device == out.device == torch.device('cuda:0') and str(x.device) == 'cuda:0'",
        "assert x.device == driver.active.get_active_torch_device()",
        "assert x.device == torch.device('cuda', torch.cuda.current_device()) and x.get_device() == 0",
        "assert x.to('cuda') is x and x.cuda() is x and x.to(x.device) is x",
        "out = torch.empty(x.shape, dtype=x.dtype, device='cuda:0'); assert out.is_cuda",
        "out = torch.empty(x.shape, dtype=x.dtype, device=x.get_device()); assert out.is_cuda",
        "torch.set_default_device('cuda'); out = torch.empty(x.shape, dtype=x.dtype)",
        "with torch.device('cuda'): out = torch.empty(x.shape, dtype=x.dtype)",
        "assert torch.cuda.is_available() and torch.cuda.device_count() == 1; torch.cuda.synchronize(x.device)",
        "with torch.cuda.device(x.device), torch.cuda.device_of(x), torch.cuda.stream(torch.cuda.Stream()): pass",
        "assert torch.cuda.get_device_properties(x.device).multi_processor_count == " + PROPERTIES,
        "assert torch.cuda.get_device_capability() >= (7, 5); print(torch.cuda.get_device_name())",
        "assert torch.cuda.current_stream().cuda_stream == driver.active.get_current_stream(x.device.index)",
        "assert driver.active.get_current_target().backend == 'cuda' and driver.active.get_current_target().warp_size == 32",
        "assert driver.active.get_device_interface().get_device_capability() == driver.active.get_device_capability(0)",
        "assert torch.accelerator.current_accelerator().type == x.device.type",
        "from course_lib import device; assert device().torch_device == x.device.type",
    ],
)
def test_a_launcher_that_asks_for_the_gpu_works(judged: Callable[[str], Report], line: str) -> None:
    report = judged(DOUBLE.replace("HERE", line))
    assert report.passed, report


@pytest.mark.parametrize(
    "line",
    [
        "DEVICE = driver.active.get_active_torch_device()",
        "DEVICE = torch.device('cuda' if torch.cuda.is_available() else 'cpu'); DEVICE = torch.zeros(1, device=DEVICE).device",
        "DEVICE = torch.device(f'cuda:{torch.cuda.current_device()}')",
    ],
)
def test_a_module_that_asks_for_the_gpu_works(judged: Callable[[str], Report], line: str) -> None:
    report = judged(DOUBLE.replace("@triton.jit", line + "\n\n@triton.jit").replace("HERE", "assert x.device == DEVICE"))
    assert report.passed, report


OCCUPANCY = """
    device = x.device.index
    properties = driver.active.utils.get_device_properties(device)
    compiled = double_kernel.warmup(x, out, x.numel(), BLOCK=64, num_warps=8, grid=(1,))
    compiled._init_handles()
    per_register = properties["max_num_regs"] // (compiled.n_regs * properties["warpSize"] * compiled.metadata.num_warps)
    assert compiled.metadata.shared <= properties["max_shared_mem"] and compiled.n_spills == 0
    assert per_register >= 1
    compiled[triton.cdiv(x.numel(), 64), 1, 1](x, out, x.numel(), 64)
    return out
"""


def test_a_kernel_compiled_beforehand_tells_its_needs_and_is_launched(judged: Callable[[str], Report]) -> None:
    report = judged(DOUBLE[: DOUBLE.index("    HERE")] + OCCUPANCY)
    assert report.passed, report
    report = judged(DOUBLE[: DOUBLE.index("    HERE")] + OCCUPANCY.replace(", x.numel(), 64)", ", x.numel())"))
    assert report.findings[0].kind == "crash"
    assert "all its 4 arguments" in report.findings[0].message


def test_what_only_a_compiled_kernel_knows_is_no_verdict(judged: Callable[[str], Report]) -> None:
    report = judged(DOUBLE.replace("HERE", "double_kernel.warmup(x, out, 3, BLOCK=64, grid=(1,)).asm['ptx']"))
    assert not report.passed and not report.judged
    assert "`asm`" in report.findings[0].message


def test_what_does_not_compile_beforehand_does_not_compile(judged: Callable[[str], Report]) -> None:
    source = DOUBLE[: DOUBLE.index("    HERE")] + OCCUPANCY
    report = judged(source.replace("    mask = ", "    some = [i for i in range(3)]\n    mask = "))
    assert report.findings[0].kind == "does_not_compile"
    assert report.findings[0].source is not None and report.findings[0].source.text.startswith("some =")


KEPT = """
    key = KEY
    if key not in kept:
        kept[key] = double_kernel.warmup(x, out, x.numel(), BLOCK=64, grid=(1,))
    kept[key][triton.cdiv(x.numel(), 64), 1, 1](x, out, x.numel(), 64)
    return out

kept = {}
"""


def test_a_compiled_kernel_that_is_kept_is_held_to_what_it_was_compiled_for(judged: Callable[[str], Report]) -> None:
    source = DOUBLE[: DOUBLE.index("    HERE")] + KEPT
    for key in ("x.numel()", "(x.dtype, x.numel() == 1, x.numel() % 16 == 0)"):
        assert (report := judged(source.replace("KEY", key))).passed, report
    report = judged(source.replace("KEY", "64"))
    assert report.findings[0].kind == "crash"
    assert "`n` was 1, which is compiled as a constant, and is 2" in report.findings[0].message
    assert report.hint is not None and "Let Triton look" in report.hint


X = torch.zeros(64)
BROKEN: list[tuple[object, object, str | None]] = [
    (32, 48, None),
    (33, 32, None),
    (33, 34, None),
    (32, 33, "a multiple of 16 (32), and is 33"),
    (0, 1, "a multiple of 16 (0), and is 1"),
    (1, 1, None),
    (1, 2, "1, which is compiled as a constant, and is 2"),
    (2, 1, None),
    (3, 2**31, "a number of 32 bits, and is a number of 64 bits"),
    (1.0, 2.5, None),
    (True, False, None),
    (None, None, None),
    (1.0, 2, "a float, and is a number of 32 bits"),
    (X, X[4:], None),
    (X[1:], X, None),
    (X, X[1:], "a tensor that begins at a multiple of 16 bytes, and begins elsewhere"),
    (torch.float32, X[1:], "a tensor that begins at a multiple of 16 bytes, and begins elsewhere"),
    (X, X.half(), "a tensor of float32, and is a tensor of float16"),
]


@pytest.mark.parametrize(("then", "now", "words"), BROKEN)
def test_what_a_compiled_kernel_takes_for_granted(then: object, now: object, words: str | None) -> None:
    found = broken_assumption({"a": then, "b": 5}, {"a": now, "b": 5}, (), ())
    assert found == (f"`a` was {words}" if words else None)


def test_constants_are_compared_by_value_and_what_is_not_specialised_by_type() -> None:
    assert broken_assumption({"B": 64}, {"B": 128}, ("B",), ()) == "`B` was the constant 64, and is 128"
    assert broken_assumption({"B": 64}, {"B": 64}, ("B",), ()) is None
    assert broken_assumption({"n": 64}, {"n": 3}, (), ("n",)) is None
    assert broken_assumption({"n": 64}, {"n": 2**40}, (), ("n",)) is not None
