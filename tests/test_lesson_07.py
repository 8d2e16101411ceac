"""What lesson 07 shows of masks, precision, matrix units and traffic. And its quizzes agree with what runs."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch

from course_lib import catalog, compile_for, trace
from course_lib.catalog.model import Exercise
from course_lib.checking.check import check_file
from course_lib.figures import draw_k_walk, draw_tile_mask
from course_lib.machine.compiled import CannotCompile, Compiled
from course_lib.machine.roofline import roofline
from tools import sources
from tools.build import ROOT

LESSON = ROOT / "lessons" / "07_tiles_and_dot.md"
HEADER = "import torch\nimport triton\nimport triton.language as tl\n\nDEVICE = 'cpu'\n"
TURNING = """


def turned_by_trans(x):
    return symmetric(turned_by_trans_kernel, x)


def turned_by_address(x):
    return symmetric(turned_by_address_kernel, x)
"""
SAMPLES = {"outer": (torch.arange(3.0), torch.arange(2.0)), "transpose": (torch.arange(12.0).reshape(3, 4),)}


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The functions of the lesson, as a module."""
    cells = [cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code"]
    functions = [ast.unparse(node) for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)]
    path = tmp_path_factory.mktemp("lesson") / "functions_of_lesson_07.py"
    path.write_text(HEADER + "\n\n".join(function for function in functions if "draw" not in function) + TURNING)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- tiles and masks --------------------------------------------------------------------------------------------------


def test_the_quiz_on_lanes_agrees_with_the_trace_and_the_picture(lesson: ModuleType) -> None:
    traced = trace(lesson.add_bias, torch.randn(5, 7), torch.randn(7))
    assert torch.equal(traced.result, traced.arguments[0] + traced.arguments[1])
    stored = {event.program[:2]: len(event.elements) for event in traced.writes("out_ptr")}
    expected = catalog.quiz("tile_lanes").expected()
    assert [stored[program] for program in ((0, 0), (0, 1), (1, 0), (1, 1))] == expected
    for program, lanes in stored.items():
        picture = draw_tile_mask(5, 7, 4, 4, *program)
        assert f": {lanes} lanes on, {16 - lanes} off" in picture.alt


@pytest.mark.parametrize("name", ["turned_by_trans", "turned_by_address"])
def test_a_tile_is_turned_in_shared_memory_however_it_is_written(lesson: ModuleType, name: str) -> None:
    x = torch.randn(50, 50)
    assert torch.equal(trace(getattr(lesson, name), x).result, x + x.t())
    compiled = compile_for(getattr(lesson, f"{name}_kernel"), torch.float32, torch.float32, 64, BLOCK=32, target="sm_80")
    assert compiled.count("LDG") == compiled.count("LDG.128") == 4
    assert compiled.shared >= 32 * 32 * 4 and compiled.count("STS") and compiled.count("LDS") and compiled.count("BAR")


# --- products ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "n", "k"), [(5, 11, 7), (50, 70, 50), (33, 17, 512)])
def test_the_product_is_exact_for_whole_numbers(lesson: ModuleType, m: int, n: int, k: int) -> None:
    a, b = lesson.whole(m, k), lesson.whole(k, n)
    assert torch.equal(trace(lesson.product, a, b).result, a @ b)


def test_the_quiz_on_steps_agrees_with_the_trace_and_the_picture(lesson: ModuleType) -> None:
    steps, last = catalog.quiz("k_steps").expected()
    loads = trace(lesson.product, lesson.whole(16, 50), lesson.whole(50, 16)).reads("a_ptr")
    assert (len(loads), len(loads[-1].elements)) == (steps, 16 * last)
    assert f"{last} of 16 exist" in draw_k_walk(16, 16, 50, 16, 16, 16, step=steps - 1).alt
    with pytest.raises(ValueError, match=f"there is no step {steps}"):
        draw_k_walk(16, 16, 50, 16, 16, 16, step=steps)


def test_an_unmasked_end_of_k_passes_with_multiples_of_the_block_only(lesson: ModuleType) -> None:
    for k, right in ((512, True), (16, True), (50, False)):
        a, b = lesson.whole(33, k), lesson.whole(k, 17)
        traced = trace(lesson.unmasked_k, a, b)
        assert torch.equal(traced.result, a @ b) == right
        assert any(len(event.outside) for event in traced.events) != right


def test_dot_takes_no_k_below_16(lesson: ModuleType) -> None:
    f32 = torch.float32
    with pytest.raises(CannotCompile, match="K >= 16"):
        compile_for(lesson.one_tile_kernel, f32, f32, f32, 5, 11, 7, M=16, N=16, K=8, target="sm_80")
    compile_for(lesson.one_tile_kernel, f32, f32, f32, 5, 11, 7, M=16, N=16, K=16, target="sm_80")


def test_a_sum_in_half_precision_overflows(lesson: ModuleType) -> None:
    fours = torch.full((16, 4099), 4.0, dtype=torch.float16)
    arguments = fours, fours.t().contiguous()
    assert trace(lesson.sum_in_fp32, *arguments).result[0, 0] == 16 * 4099
    assert trace(lesson.sum_in_fp16, *arguments).result[0, 0] == float("inf")


# --- precision and units ----------------------------------------------------------------------------------------------


def test_the_quiz_on_tf32_agrees_with_the_interpreter(lesson: ModuleType) -> None:
    a, b = torch.zeros(16, 50), torch.zeros(50, 16)
    a[0, 0], b[0, 0] = 4097, 1
    assert trace(lesson.precise, a, b, "tf32").result[0, 0] == catalog.quiz("tf32_product").expected() == 4096
    assert trace(lesson.precise, a, b, "ieee").result[0, 0] == 4097


@pytest.mark.parametrize("k", [50, 2000])
def test_the_bound_on_tf32_holds_and_torchs_default_tolerance_does_not(lesson: ModuleType, k: int) -> None:
    generator = torch.Generator().manual_seed(k)
    a, b = torch.randn(16, k, generator=generator), torch.randn(k, 16, generator=generator)
    want = a.double() @ b.double()
    error = (trace(lesson.precise, a, b, "tf32").result - want).abs()
    assert (error <= 2**-9 * (a.abs().double() @ b.abs().double())).all()
    assert (error > 1e-5 + 1.3e-6 * want.abs()).any()


def units(lesson: ModuleType, target: str, dtype: torch.dtype, precision: str) -> Compiled:
    arguments = {"SIZE": 64, "PRECISION": precision, "target": target}
    return compile_for(lesson.precise_kernel, dtype, dtype, torch.float32, 512, **arguments)


@pytest.mark.parametrize(
    ("target", "unit"), [("sm_75", None), ("sm_80", "mma.sync"), ("sm_90", "wgmma.mma_async")], ids=["75", "80", "90"]
)
def test_matrix_units_are_used_for_fp16_and_tf32_and_not_for_ieee(lesson: ModuleType, target: str, unit: str | None) -> None:
    for dtype, precision in ((torch.float16, "tf32"), (torch.float32, "tf32"), (torch.float32, "ieee")):
        compiled = units(lesson, target, dtype, precision)
        on_units = unit is not None and precision != "ieee"
        assert ("mma" in compiled.ptx) == on_units
        assert unit is None or (unit in compiled.ptx) == on_units
        assert (compiled.count("FFMA") > 0) == (not on_units)


# --- traffic ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", [16, 32])
def test_traffic_follows_from_the_tile(lesson: ModuleType, block: int) -> None:
    m, n, k = 80, 70, 50
    moved = trace(lesson.product, lesson.whole(m, k), lesson.whole(k, n), block).traffic()
    assert moved["a_ptr"]["read"] == 4 * m * k * -(-n // block)
    assert moved["b_ptr"]["read"] == 4 * n * k * -(-m // block)
    assert moved["c_ptr"]["written"] == 4 * m * n


def test_the_quiz_on_reads_agrees_with_the_trace(lesson: ModuleType) -> None:
    a, b = lesson.whole(64, 64), lesson.whole(64, 64)
    read = [trace(lesson.product, a, b, block).traffic()["a_ptr"]["read"] / (4 * a.numel()) for block in (16, 32)]
    assert read == catalog.quiz("reads_of_a").expected()


@pytest.mark.parametrize(
    ("block", "dtype", "bound"), [(16, "fp32", "memory"), (64, "fp32", "compute"), (256, "tf32", "memory")]
)
def test_what_bounds_a_product_by_what_its_tiles_ask_for(block: int, dtype: str, bound: str) -> None:
    n = 4096
    assert roofline(2 * n**3, 4 * (2 * n**3 // block + n * n), gpu="H200", dtype=dtype).bound == bound


# --- exercises --------------------------------------------------------------------------------------------------------


def exercise(name: str) -> Exercise:
    return catalog.exercise(name)


@pytest.mark.parametrize("name", SAMPLES)
def test_references_are_what_torch_says(name: str) -> None:
    expected = {"outer": torch.outer, "transpose": lambda x: x.t()}[name]
    assert torch.equal(exercise(name).reference(*SAMPLES[name]), expected(*SAMPLES[name]))


def test_a_transpose_that_stores_its_elements_twice_is_not_as_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second store writes the same values, so nothing but the count can tell."""
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))
    answer = (ROOT / "tests/variants/transpose/turned_by_the_store.py").read_text()
    lines = answer.splitlines(keepends=True)
    store = next(line for line in lines if "tl.store" in line)
    path = tmp_path / "twice.py"
    path.write_text(answer.replace(store, store + store))
    (finding,) = check_file("transpose", path, seed=0).findings
    assert finding.kind == "not_as_asked" and "written once" in finding.message
