"""The persistent softmax in Triton's interpreter, compiled for many GPUs, and its launcher's choices."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from course_lib.checking.trace import trace
from course_lib.kernels import persistent as module
from course_lib.kernels.persistent import PROGRAMS_WITHOUT_GPU, choose, naive_softmax, persistent_kernel, persistent_softmax
from course_lib.machine.compiled import Compiled, compile_for
from course_lib.machine.occupancy import occupancy
from course_lib.machine.specs import find_gpu

INF, NAN = float("inf"), float("nan")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3}


def computed(x: torch.Tensor) -> torch.Tensor:
    """What `persistent_softmax` returns in Triton's interpreter, which runs in a process of its own."""
    return trace(persistent_softmax, x).result


def of_the_negatives(x: torch.Tensor) -> torch.Tensor:
    return persistent_softmax(torch._neg_view(x))


def assert_softmax(got: torch.Tensor, x: torch.Tensor) -> None:
    assert got.is_contiguous()
    expected = torch.softmax(x.double(), 1).to(x.dtype)
    torch.testing.assert_close(got, expected, rtol=TOLERANCE[x.dtype], atol=1e-7, equal_nan=True)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (3, 1), (3, 5), (4, 128), (5, 781), (11, 1025), (0, 5), (5, 0)], ids=str)
def test_any_matrix(shape: tuple[int, int], dtype: torch.dtype) -> None:
    x = 3 * torch.randn(shape, generator=torch.Generator().manual_seed(7)).to(dtype)
    assert_softmax(computed(x), x)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "columns of a wider matrix": lambda x: x[:, 3:38],
    "every other row": lambda x: x[::2],
    "one row for all": lambda x: x[:1].expand(9, -1),
    "one column of many": lambda x: x[:, 7:8],
    "an odd first address": lambda x: x.flatten()[1:4001].view(40, 100),
}


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str) -> None:
    x = VIEWS[view](torch.randn(50, 100))
    assert_softmax(computed(x), x)


@pytest.mark.parametrize("special", [-INF, INF, NAN], ids=str)
def test_special_rows_are_as_torch_has_them(special: float) -> None:
    x = torch.randn(6, 70) - 300
    x[1] = special
    x[2, 3] = special
    x[3, :50] = -INF
    x[4] = 3e38
    assert_softmax(computed(x), x)


@pytest.mark.parametrize("n_rows", [1, 3, PROGRAMS_WITHOUT_GPU, 11, 50])
def test_a_fixed_number_of_programs_shares_the_rows(n_rows: int) -> None:
    """Program p has the rows p, p + P, …; there are never more programs than rows."""
    x = torch.randn(n_rows, 5)
    rows: dict[int, set[int]] = {}
    for event in trace(persistent_softmax, x).reads(x):
        rows.setdefault(event.program[0], set()).update((event.elements // 5).tolist())
    n_programs = min(n_rows, PROGRAMS_WITHOUT_GPU)
    assert rows == {program: set(range(program, n_rows, n_programs)) for program in range(n_programs)}


def test_each_element_moves_once() -> None:
    x = torch.randn(9, 781)
    seen = trace(persistent_softmax, x)
    assert sum(len(event.elements) for event in seen.reads(x)) == x.numel()
    assert sum(len(event.elements) for event in seen.events) == 2 * x.numel()


def test_a_tensor_that_holds_the_negatives_of_what_lies_in_memory() -> None:
    x = torch.randn(7, 20)
    torch.testing.assert_close(trace(of_the_negatives, x).result, torch.softmax(-x, 1))


def test_the_naive_form_is_a_softmax() -> None:
    x = torch.randn(5, 781)
    torch.testing.assert_close(naive_softmax(x), torch.softmax(x, 1))


@pytest.mark.parametrize(
    ("x", "error", "words"),
    [
        ([[1.0]], TypeError, "torch.as_tensor"),
        (torch.ones(3, 3, dtype=torch.int32), TypeError, r"x\.float\(\)"),
        (torch.ones(3, 3).to_sparse(), TypeError, "to_dense"),
        (torch.ones(3), ValueError, r"x\.view\(-1, n_cols\)"),
        (torch.ones(3, 4).t(), ValueError, r"lie 4 apart: x\.contiguous\(\)"),
        (torch.ones(3, 1).expand(3, 5), ValueError, r"x\.contiguous\(\)"),
        (torch.ones(1, 32769), ValueError, "takes rows of any length"),
        (torch.ones(1, 16385, dtype=torch.float64), ValueError, "takes rows of any length"),
        (torch.ones(3, 3, requires_grad=True), ValueError, "detach"),
    ],
    ids=["a list", "integers", "sparse", "a vector", "transposed", "expanded", "too long", "too long in fp64", "a gradient"],
)
def test_bad_input_is_told_what_to_do(x: object, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "interpreted", lambda: True)
    with pytest.raises(error, match=words):
        persistent_softmax(x)  # type: ignore[arg-type]


def test_a_tensor_on_the_cpu_of_a_machine_that_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "interpreted", lambda: False)
    with pytest.raises(ValueError, match=r'x\.to\("cuda"\)'):
        persistent_softmax(torch.ones(3, 3))


# --- compiled, without a GPU ----------------------------------------------------------------------------------------

GPUS = ["T4", "A100", "RTX 4090", "H100", "H200", "B200"]
BUILDS = [
    *((gpu, n_cols, torch.float32) for gpu in GPUS for n_cols in (1, 781, 1024, 16384, 32768)),
    *(("H200", n_cols, dtype) for n_cols in (781, 4096, 32768) for dtype in (torch.float16, torch.bfloat16)),
    *((gpu, 16384, torch.float64) for gpu in ("RTX 4090", "H200")),
]


def compiled(gpu: str, n_cols: int, dtype: torch.dtype) -> Compiled:
    """What `persistent_softmax` would launch on a GPU for contiguous rows."""
    spec = find_gpu(gpu)
    how = choose(n_cols, dtype.itemsize, spec.architecture.max_shared_per_block)
    x = torch.empty(64, n_cols, dtype=dtype, device="meta")
    constants = {"BLOCK_SIZE": how.block_size, "NUM_STAGES": how.num_stages, "num_warps": how.num_warps}
    return compile_for(persistent_kernel, x, x, n_cols, n_cols, 64, n_cols, target=spec.target, **constants)


@pytest.mark.parametrize(("gpu", "n_cols", "dtype"), BUILDS, ids=str)
def test_every_choice_compiles_fits_and_spills_nothing(gpu: str, n_cols: int, dtype: torch.dtype) -> None:
    """The longest rows fill all registers, and may spill a few."""
    code = compiled(gpu, n_cols, dtype)
    assert code.spills <= (16 if n_cols > 16384 else 0)
    assert occupancy(code, gpu=gpu).programs_per_sm >= 1


def test_the_number_of_rows_does_not_change_what_is_compiled() -> None:
    x = torch.empty(64, 100, device="meta")
    sizes = [compile_for(persistent_kernel, x, x, 100, 100, n, 100, 128, 4).sass for n in (1, 7, 64)]
    assert sizes[0] == sizes[1] == sizes[2]
