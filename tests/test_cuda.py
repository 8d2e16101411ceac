"""CUDA C++ without a GPU: live where NVRTC is installed, from recorded listings where it is not; and beside Triton."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

import pytest
import torch

from course_lib.machine import cuda
from course_lib.machine.compiled import CannotCompile, Compiled, compile_for
from course_lib.machine.cuda import LISTINGS, SOURCES, NeedsCudaExtra, compile_cuda, cuda_source, has_nvrtc, launch_cuda
from course_lib.machine.specs import ARCHITECTURES

NVIDIA = [target for target, architecture in ARCHITECTURES.items() if architecture.vendor == "nvidia"]
needs_nvrtc = pytest.mark.skipif(not has_nvrtc(), reason="needs NVRTC: pip install -e '.[cuda]'")
TRITON = """
import triton, triton.language as tl

@triton.jit
def sum_kernel(numbers_ptr, sum_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    numbers = tl.load(numbers_ptr + offsets, mask=offsets < n, other=0.0)
    tl.store(sum_ptr, tl.sum(numbers))
"""


@pytest.fixture(params=["live", "recorded"])
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """With NVRTC, and as if there were none."""
    if request.param == "recorded":
        monkeypatch.setattr(cuda, "has_nvrtc", lambda: False)
    elif not has_nvrtc():
        pytest.skip("needs NVRTC: pip install -e '.[cuda]'")
    return request.param


def compiled(name: str, target: str) -> Compiled:
    return compile_cuda(cuda_source(name), name, target, threads=SOURCES[name])


@pytest.mark.parametrize("target", NVIDIA)
def test_a_warp_sum_is_five_shuffles(compiler: str, target: str):
    found = compiled("warp_sum", target)
    assert found.count("SHFL.BFLY") == found.count("SHFL") == 5
    assert {"barrier", "shared load", "shared store"}.isdisjoint(found.kinds())
    assert (found.num_warps, found.shared, found.spills) == (1, 0, 0)


@pytest.mark.parametrize("target", NVIDIA)
def test_a_block_sum_goes_through_shared_memory_and_two_barriers(compiler: str, target: str):
    found = compiled("block_sum", target)
    kinds = {name: number for name, number in found.kinds().items() if name != "other"}
    assert kinds == {
        "shuffle": 5 + 2,
        "barrier": 2,
        "shared load": 2,
        "shared store": 2,
        "global load": 1,
        "global store": 1,
    }
    assert (found.num_warps, found.shared) == (4, 4 * 4 + 4)
    shuffling = {one.line.text for one in found.instructions if one.kind == "shuffle" and one.line}
    assert shuffling == {"value += __shfl_xor_sync(0xffffffff, value, distance);"}


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_tl_sum_compiles_to_the_same_kinds_of_instruction(compiler: str, target: str, tmp_path: Path):
    path = tmp_path / "sum_beside_cuda.py"
    path.write_text(TRITON)
    spec = importlib.util.spec_from_file_location("sum_beside_cuda", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules["sum_beside_cuda"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    numbers = torch.empty(128, device="meta")
    for name, block, num_warps in (("warp_sum", 32, 1), ("block_sum", 128, 4)):
        by_hand = compiled(name, target).kinds()
        by_triton = compile_for(
            module.sum_kernel, numbers, numbers, 100, BLOCK=block, num_warps=num_warps, target=target
        ).kinds()
        assert set(by_triton) == set(by_hand), name
        assert by_triton["shuffle"] == by_hand["shuffle"], name
        assert by_triton["global load"] == by_triton["global store"] == 1, name


def test_recorded_listings_say_what_they_are(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cuda, "has_nvrtc", lambda: False)
    found = compiled("block_sum", "sm_90")
    assert found.provenance.startswith("NVRTC 13")
    assert "recorded on 20" in found.provenance
    assert "pip install -e '.[cuda]'" in found.provenance


def test_there_is_a_listing_of_each_source_as_it_is_now():
    """After a change to a source: python -m tools.record_cuda."""
    listings = json.loads(LISTINGS.read_text())
    wanted = {(name, target, cuda.store.key_of(cuda_source(name), name, target)) for name in SOURCES for target in NVIDIA}
    assert {(one["kernel"], one["target"], one["key"]) for one in listings} == wanted


def test_other_source_needs_nvrtc(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cuda, "has_nvrtc", lambda: False)
    with pytest.raises(NeedsCudaExtra, match=r"pip install -e '\.\[cuda\]'.*warp_sum, block_sum"):
        compile_cuda(cuda_source("warp_sum") + "\n", "warp_sum")


def test_nothing_is_run_without_a_gpu(compiler: str, monkeypatch: pytest.MonkeyPatch):
    found = compiled("warp_sum", "sm_90")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(RuntimeError, match="torch finds none here"):
        launch_cuda(found)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    if compiler == "recorded":
        with pytest.raises(NeedsCudaExtra, match="a recorded listing cannot be run"):
            launch_cuda(found)


def test_what_is_not_cuda_is_told():
    with pytest.raises(ValueError, match="NVIDIA's GPUs only, not for gfx942"):
        compile_cuda("", "kernel", target="gfx942")
    with pytest.raises(ValueError, match="unknown target 'sm_42'"):
        compile_cuda("", "kernel", target="sm_42")
    with pytest.raises(ValueError, match="no CUDA source called 'warp_max'; there are warp_sum, block_sum"):
        cuda_source("warp_max")


@needs_nvrtc
def test_live_and_recorded_code_agree(monkeypatch: pytest.MonkeyPatch):
    """To the instruction with the NVRTC that recorded them, in kind and order with any other."""
    live = compiled("block_sum", "sm_90")
    monkeypatch.setattr(cuda, "has_nvrtc", lambda: False)
    recorded = compiled("block_sum", "sm_90")
    kinds = [[one.kind for one in code.instructions if one.kind != "other"] for code in (live, recorded)]
    assert kinds[0] == kinds[1]
    if recorded.provenance.startswith(f"{live.provenance},"):
        assert live.instructions == recorded.instructions
        assert (live.registers, live.shared, live.ptx) == (recorded.registers, recorded.shared, recorded.ptx)


@needs_nvrtc
def test_refused_source_is_told_with_its_line():
    source = 'extern "C" __global__ void kernel(float *x)\n{\n    x[0] = y;\n}\n'
    with pytest.raises(CannotCompile, match=r'identifier "y" is undefined\n  kernel\.cu, line 3: x\[0\] = y;'):
        compile_cuda(source, "kernel")
    with pytest.raises(CannotCompile, match='the source defines no `extern "C" __global__ void other'):
        compile_cuda(source.replace("y", "1.0f"), "other")
