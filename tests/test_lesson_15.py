"""What lesson 15 shows: what its kernels compute and move, on which units; its pictures and quizzes agree with what runs."""

from __future__ import annotations

import ast
import importlib.util
import itertools
import math
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
import torch.nn.functional as F

from course_lib import catalog, compile_for, trace
from course_lib.catalog.lesson_15 import PAIRS
from course_lib.checking.check import check_file
from course_lib.figures import draw_running_pair, draw_score_blocks
from course_lib.machine.traffic import count_traffic, n_bytes
from course_lib.records import record
from tools import sources
from tools.build import ROOT

LESSON = ROOT / "lessons" / "15_online_softmax_and_attention.md"
HEADER = """
import math
import torch
import triton
import triton.language as tl

from course_lib import compile_for, trace
from course_lib.machine.traffic import n_bytes

DEVICE = 'cpu'
f16 = torch.float16
"""
INF = math.inf


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions of the lesson, as a module."""
    cells = [cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code"]
    functions = [ast.unparse(node) for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)]
    path = tmp_path_factory.mktemp("lesson") / "functions_of_lesson_15.py"
    path.write_text(HEADER + "\n\n".join(function for function in functions if "draw" not in function))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def heads(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(math.prod(shape))).half()


# --- the running pair -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_cols", [1, 255, 256, 257, 1000])
def test_both_forms_are_torchs_softmax(lesson: ModuleType, n_cols: int) -> None:
    x = 3 * torch.randn(2, n_cols)
    for function in (lesson.three_passes, lesson.two_passes):
        torch.testing.assert_close(trace(function, x).result, torch.softmax(x, 1))


def test_two_loops_read_a_row_twice_and_three_loops_three_times(lesson: ModuleType) -> None:
    x = torch.randn(3, 1000)
    for function, times in ((lesson.three_passes, 3), (lesson.two_passes, 2)):
        moved = trace(function, x).traffic()
        assert moved["x_ptr"]["read"] == times * n_bytes(x) and moved["out_ptr"]["written"] == n_bytes(x)


def test_a_first_block_of_minus_infinity_is_nan_until_it_is_mended(lesson: ModuleType) -> None:
    x = torch.randn(1, 600)
    x[:, :300] = -INF
    assert trace(lesson.two_passes, x).result.isnan().all()
    assert not torch.softmax(x, 1).isnan().any()


def test_pairs_merge_in_any_order_and_grouping(lesson: ModuleType) -> None:
    row = 5 * torch.randn(60, dtype=torch.float64)
    whole = lesson.pair_of(row)
    parts = [lesson.pair_of(part) for part in row.split(16)]
    for order in itertools.permutations(parts):
        for merged in (lesson.from_left(list(order)), lesson.as_a_tree(list(order))):
            torch.testing.assert_close(merged, whole)


def test_the_pair_of_nothing_changes_nothing_but_itself(lesson: ModuleType) -> None:
    nothing, something = (torch.tensor(-INF), torch.tensor(0.0)), (torch.tensor(3.0), torch.tensor(8.0))
    assert lesson.merge(nothing, something) == lesson.merge(something, nothing) == something
    assert lesson.merge(nothing, nothing)[1].isnan()


def test_the_quiz_on_pairs_agrees_with_the_merge_in_powers_of_two(lesson: ModuleType) -> None:
    base = math.log(2)
    pairs = [(torch.tensor(base * maximum), torch.tensor(float(total))) for maximum, total in PAIRS]
    maximum, total = lesson.from_left(pairs)
    assert [round(maximum.item() / base), round(total.item())] == catalog.quiz("merged_pair").expected()


def test_a_row_is_shared_among_programs(lesson: ModuleType) -> None:
    x = 3 * torch.randn(5000)
    traced = trace(lesson.one_row, x)
    torch.testing.assert_close(traced.result, torch.softmax(x, 0))
    assert [launch.grid[0] for launch in traced.launches] == [5, 5]
    assert traced.traffic()["x_ptr"]["read"] == 2 * n_bytes(x)


def test_the_picture_of_a_pair_tells_by_how_much_the_sum_shrank() -> None:
    picture = draw_running_pair([0.0, 1.0, 3.0], 2, [(1.0, 1.37), (3.0, 1.19)])
    assert "(1, 1.4), then (3, 1.2)" in picture.alt and "× 0.14" in picture.alt
    assert "× 1" in draw_running_pair([1.0, 0.0], 1, [(1.0, 1.0), (1.0, 1.37)]).alt
    assert "(−inf, 0), then (2, 1)" in draw_running_pair([-INF, 2.0], 1, [(-INF, 0.0), (2.0, 1.0)]).alt
    with pytest.raises(ValueError, match="1 pairs are not those of 3 scores in blocks of 2"):
        draw_running_pair([1.0, 2.0, 3.0], 2, [(2.0, 1.0)])


# --- attention --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("n_queries", "n_keys"), [(1, 1), (50, 70), (32, 33), (5, 100)])
def test_one_kernel_is_torchs_attention(lesson: ModuleType, n_queries: int, n_keys: int) -> None:
    q, k, v = heads(2, 2, n_queries, 16), heads(2, 2, n_keys, 16), heads(2, 2, n_keys, 16)
    want = F.scaled_dot_product_attention(q, k, v)
    torch.testing.assert_close(trace(lesson.one_kernel, q, k, v).result, want, rtol=2e-3, atol=2e-3)
    torch.testing.assert_close(lesson.naive_attention(q, k, v), want, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize(("n", "d"), [(256, 64), (100, 16)])
def test_the_formula_of_what_four_operations_move_agrees_with_the_count(lesson: ModuleType, n: int, d: int) -> None:
    q, k, v = (heads(1, 1, n, d) for _ in range(3))
    steps = count_traffic(lesson.naive_attention, q, k, v)
    assert len(steps) == 4
    assert sum(step.read + step.written for step in steps) == lesson.moved_by_four(n, d)


def test_the_quiz_on_scores_agrees_with_what_torch_would_allocate() -> None:
    scores = torch.empty(1, 16, 4096, 4096, dtype=torch.float16, device="meta")
    assert n_bytes(scores) / 2**20 == catalog.quiz("score_mebibytes").expected()


@pytest.mark.parametrize("block_m", [16, 32, 64])
def test_each_block_of_queries_reads_all_keys_and_no_score_is_stored(lesson: ModuleType, block_m: int) -> None:
    q, k, v = heads(1, 2, 100, 16), heads(1, 2, 70, 16), heads(1, 2, 70, 16)
    traced = trace(lesson.one_kernel, q, k, v, block_m)
    moved = traced.traffic()
    assert moved["q_ptr"]["read"] == moved["out_ptr"]["written"] == n_bytes(q)
    assert moved["k_ptr"]["read"] == moved["v_ptr"]["read"] == -(-100 // block_m) * n_bytes(k)


def test_padded_keys_do_no_harm_where_there_are_none(lesson: ModuleType) -> None:
    for n_keys, right in ((64, True), (65, False)):
        q, k, v = heads(1, 1, 9, 16), heads(1, 1, n_keys, 16), heads(1, 1, n_keys, 16)
        got = trace(lesson.padded_keys, q, k, v).result
        assert torch.allclose(got, F.scaled_dot_product_attention(q, k, v), atol=2e-3) == right


def test_the_quiz_on_causal_blocks_agrees_with_the_picture() -> None:
    computed, masked = catalog.quiz("causal_blocks").expected()
    picture = draw_score_blocks(24, 24, 8, 4, causal=True)  # a quarter of 96, in quarters of the blocks
    assert f"{computed} of 18 blocks are computed, {masked} of them with a mask" in picture.alt


def test_the_picture_of_blocks_masks_the_end_of_the_keys_and_not_that_of_the_queries() -> None:
    assert "4 of 4 blocks are computed, 0 of them" in draw_score_blocks(13, 16, 8, 8).alt
    assert "4 of 4 blocks are computed, 2 of them" in draw_score_blocks(16, 13, 8, 8).alt
    with pytest.raises(ValueError, match="up to 32 queries and keys"):
        draw_score_blocks(33, 5, 8, 8)
    with pytest.raises(ValueError, match="one of 2 programs"):
        draw_score_blocks(16, 16, 8, 8, program=2)


@pytest.mark.parametrize(("target", "unit"), [("sm_80", "mma.sync"), ("sm_90", "wgmma.mma_async")])
def test_both_products_are_computed_on_matrix_units(lesson: ModuleType, target: str, unit: str) -> None:
    found = lesson.compiled(target, 64, 64, 32, 4)
    assert found.ptx.count(unit) >= 2 and found.spills == 0


def test_more_warps_share_what_would_spill(lesson: ModuleType) -> None:
    few, many = (lesson.compiled("sm_80", 128, 128, 64, num_warps) for num_warps in (4, 8))
    assert few.spills > many.spills == 0


def test_with_exp2_the_scale_and_the_maximum_are_one_instruction(lesson: ModuleType) -> None:
    f32, found = torch.float32, []
    for kernel in (lesson.weights_by_exp_kernel, lesson.weights_by_exp2_kernel):
        found.append(compile_for(kernel, f32, f32, 0.18, BLOCK=1024, num_warps=4, target="sm_90"))
    by_exp, by_exp2 = found
    assert by_exp.count("MUFU.EX2") == by_exp2.count("MUFU.EX2") == by_exp2.count("FFMA") == 8
    assert by_exp2.count("FMUL") + by_exp2.count("FADD") == 0 < by_exp.count("FMUL")


# --- the record -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_the_record_has_what_the_lesson_says_of_it(head_dim: int, causal: bool) -> None:
    recorded = record("attention", "h200")
    shape = {"seqlen": 4096, "head_dim": head_dim, "causal": causal}
    ours = recorded.point("ours", dtype="float16", **shape)
    assert recorded.share(ours, of="torch") >= 0.7 and recorded.share(ours, of="flash") > 1
    assert recorded.share(ours, of="naive") > 3


def test_a_wider_head_has_more_operations_for_each_power_and_more_of_them_a_second() -> None:
    recorded = record("attention", "h200")
    for name in ("flash", "torch", "ours"):
        narrow, wide = (recorded.point(name, dtype="float16", seqlen=4096, head_dim=d, causal=False) for d in (64, 128))
        assert wide.tflops[0] > narrow.tflops[0]


# --- exercises --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("block_size", "passes"), [(1024, True), (2048, False)])
def test_a_block_of_1024_is_the_largest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_size: int, passes: bool) -> None:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))
    answer = (ROOT / "tests/variants/online_softmax/two_loops.py").read_text()
    path = tmp_path / "answer.py"
    path.write_text(answer.replace("BLOCK_SIZE=256", f"BLOCK_SIZE={block_size}"))
    report = check_file("online_softmax", path, seed=0)
    assert report.passed == passes
    assert passes or report.findings[0].kind == "not_as_asked"
