"""Facts about GPUs, occupancy and rooflines: plain arithmetic, held against NVIDIA's own calculator and LLVM's rules."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from course_lib.machine.occupancy import Resources, occupancy
from course_lib.machine.roofline import roofline
from course_lib.machine.specs import ARCHITECTURES, GPUS, find_gpu

ONE_GPU = {gpu.target: gpu.name for gpu in GPUS.values()}
CASES = Path(__file__).with_name("occupancy_by_nvidia.csv")


def test_every_figure_of_a_gpu_has_its_source():
    for gpu in GPUS.values():
        figures = {"sms", "l2", "bandwidth", "flops"} | ({"copy_bandwidth"} if gpu.copy_bandwidth else set())
        assert set(gpu.sources) == figures, gpu.name
        assert all(len(source) > 10 for source in gpu.sources.values()), gpu.name
    assert all(architecture.sources for architecture in ARCHITECTURES.values())


def test_every_architecture_has_a_gpu_and_figures_of_a_plausible_size():
    assert {gpu.target for gpu in GPUS.values()} == set(ARCHITECTURES)
    for gpu in GPUS.values():
        assert 1e11 < gpu.bandwidth < 1e13, gpu.name
        assert 1e12 < gpu.flops["fp32"] <= gpu.flops["fp16"] < 1e16, gpu.name
        assert gpu.copy_bandwidth is None or gpu.copy_bandwidth < gpu.bandwidth, gpu.name


def test_a_gpu_is_found_as_its_driver_spells_it():
    assert find_gpu("NVIDIA H200") is find_gpu("h200") is GPUS["H200"]
    with pytest.raises(ValueError, match=r"'H300'.*T4.*H200.*MI300X"):
        find_gpu("H300")


def nvidia_cases() -> list[tuple[str, int, int, int, int]]:
    """Target, registers, shared memory, threads, and the programs that NVIDIA's calculator allows."""
    _, *rows = csv.reader(line for line in CASES.read_text().splitlines() if not line.startswith("#"))
    return [(target, *map(int, numbers)) for target, *numbers in rows]


def test_occupancy_is_what_nvidias_calculator_answers():
    cases = nvidia_cases()
    assert len(cases) > 200
    assert {target for target, *_ in cases} == {name for name, one in ARCHITECTURES.items() if one.vendor == "nvidia"}
    wrong = [case for case in cases if occupancy(Resources(*case[1:4]), ONE_GPU[case[0]]).programs_per_sm != case[4]]
    assert wrong == []


@pytest.mark.parametrize(
    ("needs", "gpu", "programs", "limiter"),
    [
        ((32, 0, 256), "T4", 4, "threads"),  # an occupancy that forgets threads would say 8
        ((32, 0, 64), "T4", 16, "threads"),
        ((16, 0, 32), "T4", 16, "programs"),
        ((64, 0, 128), "H200", 8, "registers"),
        ((65, 0, 128), "H200", 7, "registers"),  # 65 · 32 registers are rounded up to the next 256 for each warp
        ((16, 40_000, 128), "H200", 5, "shared memory"),
        ((16, 0, 32), "H200", 32, "programs"),
    ],
)
def test_the_scarcest_resource_limits(needs: tuple[int, int, int], gpu: str, programs: int, limiter: str):
    found = occupancy(Resources(*needs), gpu)
    assert (found.programs_per_sm, found.limiter) == (programs, limiter)
    assert found.limits[limiter] == min(found.limits.values())
    assert found.warps_per_sm == programs * -(-needs[2] // 32)
    assert found.programs == programs * found.gpu.sms


def test_each_block_pays_for_the_systems_share_of_shared_memory():
    assert occupancy(Resources(16, 0, 32), "H200").shared_given == 1024
    assert occupancy(Resources(16, 1, 32), "H200").shared_given == 1024 + 128
    assert "shared memory" not in occupancy(Resources(16, 0, 32), "T4").limits


def test_what_does_not_fit_at_all_is_none_and_not_an_error():
    most = ARCHITECTURES["sm_90"].max_shared_per_block
    assert occupancy(Resources(32, most, 128), "H200").programs_per_sm == 1
    for needs in (Resources(32, most + 1, 128), Resources(255, 0, 512), Resources(32, 0, 1025)):
        found = occupancy(needs, "H200")
        assert found.programs_per_sm == found.fraction == 0
        assert "no program fits" in repr(found)


@pytest.mark.parametrize(
    ("registers", "waves"),
    [(24, 8), (64, 8), (65, 7), (80, 6), (96, 5), (128, 4), (129, 3), (168, 3), (256, 2), (257, 1), (512, 1)],
)
def test_amd_waves_follow_llvms_rule(registers: int, waves: int):
    """512 registers a SIMD in units of 8, at most 8 waves (LLVM's getNumWavesPerEUWithNumVGPRs); 4 SIMDs a unit."""
    found = occupancy(Resources(registers, 0, 64), "MI300X")
    assert found.programs_per_sm == 4 * waves
    four_waves = occupancy(Resources(registers, 0, 256), "MI300X")
    assert four_waves.programs_per_sm == waves


def test_amd_groups_share_the_units_waves_and_memory():
    assert occupancy(Resources(16, 0, 64), "MI210").programs_per_sm == 32
    assert occupancy(Resources(16, 0, 128), "MI210").programs_per_sm == 16
    assert occupancy(Resources(16, 5000, 64), "MI210").programs_per_sm == 12  # 64 KiB in portions of 5120 bytes


def test_a_kernel_of_another_architecture_is_refused():
    compiled = SimpleNamespace(registers=32, shared=0, threads=128, target="sm_80")
    assert occupancy(compiled, "A100").programs_per_sm == 16
    with pytest.raises(ValueError, match=r"sm_80.*H200 is sm_90.*target='sm_90'"):
        occupancy(compiled, "H200")


@pytest.mark.parametrize("needs", [Resources(32, 0, 0), Resources(-1, 0, 32), Resources(32, -1, 32)])
def test_impossible_needs_are_refused(needs: Resources):
    with pytest.raises(ValueError, match="no program can need this"):
        occupancy(needs)


def test_a_roofline_has_its_ridge_where_the_roofs_meet():
    gpu = find_gpu("H200")
    low, high = (roofline(flops=intensity * 1e9, bytes=1e9, gpu="H200") for intensity in (1.0, 100.0))
    assert low.ridge == high.ridge == gpu.flops["fp32"] / gpu.bandwidth
    assert (low.bound, low.attainable) == ("memory", gpu.bandwidth)
    assert (high.bound, high.attainable) == ("compute", gpu.flops["fp32"])
    assert low.seconds == 1e9 / gpu.bandwidth
    assert high.seconds == 1e11 / gpu.flops["fp32"]
    at = roofline(flops=low.ridge * 1e9, bytes=1e9)
    assert at.attainable == pytest.approx(gpu.flops["fp32"])
    assert replace(at, bandwidth=at.bandwidth * 0.99).bound == "memory"


def test_a_roofline_of_the_measured_copy_is_lower():
    gpu = find_gpu("H200")
    assert gpu.copy_bandwidth is not None
    measured = roofline(1e9, 1e9, bandwidth=gpu.copy_bandwidth)
    assert measured.attainable == gpu.copy_bandwidth < roofline(1e9, 1e9).attainable


def test_a_roofline_refuses_what_has_no_meaning():
    with pytest.raises(ValueError, match=r"T4 has no figure for 'bf16'; it has fp32, fp16"):
        roofline(1.0, 1.0, gpu="T4", dtype="bf16")
    with pytest.raises(ValueError, match="moves bytes"):
        roofline(1.0, 0.0)
