"""What lesson 13 says of LayerNorm: its references are torch's, its quizzes agree with what runs, and nothing races."""

from __future__ import annotations

import importlib.util
import sys
from collections import defaultdict
from pathlib import Path
from types import ModuleType

import pytest
import torch
from matplotlib.text import Text

from course_lib import catalog, trace
from course_lib.checking.events import Trace
from course_lib.figures import draw_sums
from tools import sources

LESSON = Path(__file__).parents[1] / "lessons" / "13_layernorm.md"
HEADER = "import torch\nimport triton\nimport triton.language as tl\n\n\n"


@pytest.fixture(scope="module")
def lesson(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The lesson's kernels and their launchers."""
    cells = [cell.source for cell in sources.read_source(LESSON).cells if cell.cell_type == "code"]
    named = ("def normalised(", "def input_gradient(", "def racing(", "def parameter_gradients(")
    found = [next(cell for cell in cells if name in cell) for name in named]
    path = tmp_path_factory.mktemp("lesson") / "kernels_of_lesson_13.py"
    path.write_text(HEADER + "\n\n\n".join(cell.rpartition("\n\n\n")[0] for cell in found) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("eps", [1e-5, 0.5])
@pytest.mark.parametrize("mean", [0.0, 1000.0])
def test_the_references_are_torchs_in_fp64(eps: float, mean: float) -> None:
    generator = torch.Generator().manual_seed(3)
    x, weight, bias, _ = catalog.exercise("layernorm").make_inputs(generator, m=5, n=7, mean=mean)
    dy = torch.randn(5, 7, generator=generator)
    leaves = [leaf.double().requires_grad_() for leaf in (x, weight, bias)]
    result = torch.nn.functional.layer_norm(leaves[0], (7,), *leaves[1:], eps)
    torch.testing.assert_close(catalog.exercise("layernorm").reference(x, weight, bias, eps), result.float())
    dx, dweight, dbias = torch.autograd.grad(result, leaves, dy.double())
    want = torch.cat([dx, dweight[None], dbias[None]]).float()
    torch.testing.assert_close(catalog.exercise("layernorm_backward").reference(dy, x, weight, eps), want)


def test_one_pass_cannot_see_a_variance_of_one_at_a_mean_of_4096() -> None:
    step = catalog.quiz("squared_mean").expected()
    squared = torch.tensor(4096.0) ** 2
    assert (squared + 1).item() in (squared.item(), squared.item() + step)
    assert (squared + step).item() == 4096**2 + step


def test_only_the_gradients_of_parameters_change_with_other_rows(lesson: ModuleType) -> None:
    """What the quiz `sums_across_rows` says, found by changing one row and looking what else changes."""
    x, dy, weight = torch.randn(4, 6), torch.randn(4, 6), torch.randn(6)
    changed = x.clone()
    changed[3] += torch.randn(6)
    before, after = (trace(lesson.input_gradient, dy, one, weight).result for one in (x, changed))
    assert torch.equal(before[:3], after[:3]) and not torch.equal(before[3], after[3])
    sums = [trace(lesson.parameter_gradients, dy, one).result for one in (x, changed)]
    assert not torch.equal(sums[0][0], sums[1][0])
    assert catalog.quiz("sums_across_rows").expected() == [5, 6]


@pytest.mark.parametrize("n_programs", [1, 3, 9])
def test_partial_sums_are_written_once_and_read_once(lesson: ModuleType, n_programs: int) -> None:
    """As the quiz `partial_traffic` counts them: two rows a program, written and read."""
    x, dy = torch.randn(7, 10), torch.randn(7, 10)
    seen = trace(lesson.parameter_gradients, dy, x, n_programs)
    moved = [*seen.writes("parts_ptr"), *seen.reads("parts_ptr")]
    assert sum(len(event.elements) for event in moved) == 2 * 2 * n_programs * 10
    torch.testing.assert_close(seen.result[1], dy.sum(dim=0))


def most_writers(seen: Trace, name: str) -> int:
    """How many programs of one launch write to one element of a kernel's argument, at most."""
    writers: dict[tuple[int, int], set[object]] = defaultdict(set)
    for event in seen.writes(name):
        for element in event.elements:
            writers[event.launch, int(element)].add(event.program)
    return max(map(len, writers.values()))


def test_the_trace_tells_a_race_from_partial_sums(lesson: ModuleType) -> None:
    x, dy = torch.randn(7, 10), torch.randn(7, 10)
    apart = trace(lesson.parameter_gradients, dy, x)
    assert {most_writers(apart, name) for name in ("parts_ptr", "sums_ptr")} == {1}
    assert most_writers(trace(lesson.racing, dy, x, torch.ones(10), 1e-5), "sums_ptr") == 7


@pytest.mark.parametrize(("n_rows", "n_cols", "n_programs"), [(4, 1, 1), (7, 8, 3), (24, 24, 8)])
def test_sums_name_each_row_its_program_and_its_part(n_rows: int, n_cols: int, n_programs: int) -> None:
    picture = draw_sums(n_rows, n_cols, n_programs)
    words = [text.get_text() for text in picture.findobj(Text)]
    assert f"row {n_rows - 1}: program {(n_rows - 1) % n_programs}" in words
    assert f"part {n_programs - 1}" in words and f"part {n_programs}" not in words
    assert f"{n_rows} rows" in picture.alt


@pytest.mark.parametrize(
    ("n_rows", "n_cols", "n_programs"), [(3, 5, 1), (25, 5, 3), (7, 0, 3), (7, 5, 0), (5, 5, 6), (20, 5, 9)]
)
def test_sums_that_do_not_fit_are_refused(n_rows: int, n_cols: int, n_programs: int) -> None:
    with pytest.raises(ValueError, match="do not fit"):
        draw_sums(n_rows, n_cols, n_programs)
