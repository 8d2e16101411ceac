"""Measuring, on a GPU: what each way of timing counts, and what it does not.

python -m pytest tests/test_bench_on_gpu.py -rs
"""

from __future__ import annotations

import time

import pytest
import torch

from course_lib.bench import COPY, CallFailed, ImpossibleFigure, compare, host_time, machine, replay
from course_lib.kernels.softmax import softmax
from course_lib.machine.specs import GPUS, MIB

pytestmark = pytest.mark.gpu


def floats(n_bytes: int) -> torch.Tensor:
    return torch.randn(n_bytes // 4, device="cuda")


def test_the_copy_that_joins_in_comes_near_to_the_peak() -> None:
    x = floats(512 * MIB)
    compared = compare({"clone": x.clone}, n_bytes=1024 * MIB, rounds=3, samples=5)
    assert 0.9 < compared.share("clone") < 1.1
    assert 0.5 * machine().peak < compared[COPY].gbps < machine().peak


def test_a_cold_call_does_not_find_its_data_in_the_cache() -> None:
    x = floats(machine().l2 // 4)
    assert compare({"clone": x.clone})["clone"].ms > 1.1 * replay(x.clone).ms


def test_launches_are_not_counted_as_work() -> None:
    x = floats(4096)

    def thirty_kernels() -> None:
        for _ in range(30):
            x.add_(1)

    assert compare({"thirty": thirty_kernels})["thirty"].ms < host_time(thirty_kernels).ms


def test_a_slow_launcher_does_not_make_a_slow_kernel() -> None:
    x = floats(4096)

    def slowly() -> None:
        until = time.perf_counter() + 400e-6
        while time.perf_counter() < until:
            pass
        x.add_(1)

    assert compare({"slowly": slowly})["slowly"].high < 0.1


def test_the_hosts_time_does_not_hold_the_works() -> None:
    x = torch.randn(4096, 4096, device="cuda")
    assert host_time(lambda: x @ x, rounds=2, samples=2).ms < 0.2 * compare({"matmul": lambda: x @ x}, rounds=2)["matmul"].ms


def test_quantiles_stand_in_order() -> None:
    x = torch.randn(64, 2048, device="cuda")
    for timing in (
        replay(lambda: softmax(x)),
        host_time(lambda: softmax(x)),
        compare({"softmax": lambda: softmax(x)})["softmax"],
    ):
        assert 0 < timing.low <= timing.ms <= timing.high


def test_a_figure_above_the_peak_is_refused() -> None:
    x = floats(64 * MIB)
    with pytest.raises(ImpossibleFigure, match="at most"):
        compare({COPY: x.clone}, n_bytes=100 * 128 * MIB)


def test_work_on_another_stream_is_not_taken_for_fast() -> None:
    x, other = floats(4096), torch.cuda.Stream()

    def elsewhere() -> torch.Tensor:
        with torch.cuda.stream(other):
            return x * 2

    with pytest.raises(CallFailed):
        replay(elsewhere)
    assert torch.cuda.current_stream() == torch.cuda.default_stream()
    assert torch.equal(x * 2, x + x)


def test_a_call_that_waits_for_the_gpu_cannot_be_replayed_and_the_next_one_can() -> None:
    x = floats(4096)
    with pytest.raises(CallFailed):
        replay(lambda: x.sum().item())
    assert replay(x.clone).ms > 0
    assert torch.randn(5, device="cuda").isfinite().all()


def test_the_peak_is_that_of_the_drivers_clock_and_bus() -> None:
    from triton.testing import get_dram_gbps

    if machine().name not in [name for gpu in GPUS.values() for name in (gpu.name, *gpu.aliases)]:
        pytest.skip("no facts about this GPU")
    assert machine().peak == pytest.approx(get_dram_gbps(), rel=0.05)
