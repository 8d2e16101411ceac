"""How autotuned kernels are judged: a choice is kept for as long as the `key` is the same, as on a GPU."""

from __future__ import annotations

from pathlib import Path

import pytest

from course_lib.checking.check import check_file
from course_lib.checking.findings import Report

PRUNED = """
import torch, triton, triton.language as tl

def covering(configs, arguments, **options):
    return [config for config in configs if config.kwargs["BLOCK_SIZE"] >= min(arguments["n"], 16384)]

SIZES = [triton.Config({"BLOCK_SIZE": size}) for size in (64, 1024, 16384)]

@triton.autotune(SIZES, key=KEY, prune_configs_by={"early_config_prune": covering})
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

def double(x):
    out = torch.empty_like(x)
    double_kernel[GRID](x, out, x.numel())
    return out
"""
ONE_PROGRAM = "(triton.cdiv(x.numel(), 16384),)"
AS_MANY_AS_NEEDED = 'lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)'

MEASURED = """
import torch, triton, triton.language as tl

@triton.autotune([triton.Config({"BLOCK_SIZE": size}) for size in (64, 128)], key=["n"])
@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n
    tl.atomic_add(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

def double(x):
    out = torch.zeros_like(x)
    double_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)](x, out, x.numel())
    return out
"""


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))


def judged(folder: Path, source: str, key: str = "", grid: str = "") -> Report:
    path = folder / "answer.py"
    path.write_text(source.replace("KEY", key).replace("GRID", grid))
    return check_file("double", path, seed=0)


def test_a_choice_that_pruning_rules_out_later_is_kept_where_the_key_lacks_what_pruning_looks_at(tmp_path: Path) -> None:
    report = judged(tmp_path, PRUNED, "[]", ONE_PROGRAM)
    assert report.findings[0].kind == "unwritten"
    assert "ran with BLOCK_SIZE=64, chosen in an earlier call" in report.findings[0].details[0]
    assert report.hint is not None and "`key` has to name" in report.hint


@pytest.mark.parametrize(("key", "grid"), [('["n"]', ONE_PROGRAM), ("[]", AS_MANY_AS_NEEDED)])
def test_a_key_that_names_it_is_right_and_so_is_any_where_pruning_is_for_speed_alone(
    key: str, grid: str, tmp_path: Path
) -> None:
    assert judged(tmp_path, PRUNED, key, grid).passed


def test_what_goes_wrong_by_measuring_has_a_hint_of_its_own(tmp_path: Path) -> None:
    report = judged(tmp_path, MEASURED)
    assert "run for autotuning" in report.findings[0].details[0]
    assert report.hint is not None and "`reset_to_zero`" in report.hint


def test_what_goes_wrong_with_another_configuration_has_a_hint_of_its_own(tmp_path: Path) -> None:
    source = MEASURED.replace("zeros_like", "empty_like").replace("tl.atomic_add", "tl.store").replace("(64, 128)", "(64, 32)")
    report = judged(
        tmp_path, source.replace('lambda meta: (triton.cdiv(x.numel(), meta["BLOCK_SIZE"]),)', "(x.numel() // 64 + 1,)")
    )
    assert report.hint is not None and "Every configuration" in report.hint
