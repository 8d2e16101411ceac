"""The finished softmax against torch's, in Triton's interpreter, and its kernels compiled for many GPUs."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
import torch

from course_lib.checking.trace import trace
from course_lib.kernels import softmax as module
from course_lib.kernels.softmax import Plan, launch, plan, softmax
from course_lib.machine.compiled import Compiled, compile_for

INF, NAN = float("inf"), float("nan")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 1e-5, torch.float16: 2e-3}


def computed(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """What `softmax` returns in Triton's interpreter, which runs in a process of its own."""
    return trace(softmax, x, dim).result


def launched(x: torch.Tensor, kernel: str, block_size: int, rows: int, ragged: bool = False) -> torch.Tensor:
    """What one of the kernels makes of the rows of a matrix."""
    out = torch.full_like(x, 99)
    launch(x, out, Plan(kernel, block_size, 4, ragged, rows))
    return out


def expected(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """torch's softmax, computed in fp64: its fp32 sum along a first dimension is off by more than we are."""
    return torch.softmax(x.double(), dim).to(x.dtype)


def assert_softmax(got: torch.Tensor, x: torch.Tensor, dim: int = -1) -> None:
    assert got.is_contiguous()
    torch.testing.assert_close(got, expected(x, dim), rtol=TOLERANCE[x.dtype], atol=1e-7, equal_nan=True)


SHAPES = [
    ((3, 5), 1),
    ((3, 5), 0),
    ((1, 1), 1),
    ((4, 128), 1),
    ((5, 781), 1),
    ((5, 1000), 1),
    ((700, 600), 0),
    ((7,), 0),
    ((), 0),
    ((2, 3, 4), 1),
    ((2, 3, 4), -3),
    ((2, 3, 4), 2),
    ((0, 5), 1),
    ((5, 0), 1),
    ((5, 0), 0),
    ((2, 16384 + 1), 1),
    ((2, 40000), 1),
    ((40000, 2), 0),
]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(("shape", "dim"), SHAPES, ids=str)
def test_any_shape(shape: tuple[int, ...], dim: int, dtype: torch.dtype) -> None:
    x = 3 * torch.randn(shape, generator=torch.Generator().manual_seed(7)).to(dtype)
    assert_softmax(computed(x, dim), x, dim)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda x: x.t(),
    "columns of a wider matrix": lambda x: x[:, 3:38],
    "every other column": lambda x: x[:, ::2],
    "every other row": lambda x: x[::2],
    "one row for all": lambda x: x[:1].expand(9, -1),
    "one column for all": lambda x: x[:, :1].expand(-1, 9),
    "an odd first address": lambda x: x.flatten()[1:4001].view(40, 100),
}


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str, dim: int) -> None:
    x = VIEWS[view](torch.randn(50, 100))
    assert_softmax(computed(x, dim), x, dim)


PLANS = [
    ("rows", 1024, 1, False),
    ("rows", 1024, 4, False),
    ("rows", 1024, 1, True),
    ("rows", 128, 1, True),
    ("split", 128, 6, False),
    ("split", 128, 6, True),
    ("pairs", 128, 6, False),
    ("pairs", 128, 6, True),
    ("online", 128, 1, False),
]
"""Each kernel, for rows of 700 elements: its name, block size, `Plan.rows` and `Plan.ragged`."""


@pytest.mark.parametrize("special", [0.0, -INF, INF, NAN], ids=str)
@pytest.mark.parametrize("how", PLANS, ids=str)
def test_special_rows_are_as_torch_has_them(how: tuple[str, int, int, bool], special: float) -> None:
    x = torch.randn(6, 700) - 300
    x[1] += special
    x[2, 3] += special
    x[3, :500] = -INF
    x[4] = 3e38
    x[5, 699] = special
    x = x.half() if how[0] == "pairs" else x
    assert_softmax(trace(launched, x, *how).result, x)


@pytest.mark.parametrize("how", [how for how in PLANS if how[0] != "pairs" or how[3]], ids=str)
def test_rows_that_no_vector_divides(how: tuple[str, int, int, bool]) -> None:
    x = torch.randn(9, 701)
    x = x.half() if how[0] == "pairs" else x
    assert_softmax(trace(launched, x, *how).result, x)


def test_the_input_is_only_read() -> None:
    x = torch.randn(5, 300)
    assert not trace(softmax, x).writes(x)


@pytest.mark.parametrize("n_cols", [100, 781, 16384])
def test_each_element_moves_once(n_cols: int) -> None:
    """2MN elements: counted in the trace, not claimed."""
    x = torch.randn(4, n_cols)
    seen = trace(softmax, x)
    assert sum(len(event.elements) for event in seen.reads(x)) == x.numel()
    assert sum(len(event.elements) for event in seen.events) == 2 * x.numel()


@pytest.mark.parametrize(
    ("x", "dim", "error", "words"),
    [
        ([1.0], -1, TypeError, "torch.as_tensor"),
        (torch.ones(3, dtype=torch.int32), -1, TypeError, r"x\.float\(\)"),
        (torch.ones(3, 3).to_sparse(), -1, TypeError, "to_dense"),
        (torch.ones(3, 3), 2, ValueError, "from -2 to 1, not 2"),
        (torch.ones(3, requires_grad=True), -1, ValueError, "detach"),
    ],
    ids=["a list", "integers", "sparse", "a missing dimension", "a gradient"],
)
def test_bad_input_is_told_what_to_do(
    x: object, dim: int, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "interpreted", lambda: True)
    with pytest.raises(error, match=words):
        softmax(x, dim)  # type: ignore[arg-type]


def test_a_tensor_on_the_cpu_of_a_machine_that_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "interpreted", lambda: False)
    with pytest.raises(ValueError, match=r'x\.to\("cuda"\)'):
        softmax(torch.ones(3))


# --- compiled, without a GPU ----------------------------------------------------------------------------------------

WIDTHS = [16, 781, 1024, 8192, 12345, 16384, 32768, 50257, 131072]
BUILDS = [
    *(
        (n_cols, dtype, target)
        for n_cols in WIDTHS
        for dtype in (torch.float32, torch.float16)
        for target in ("sm_75", "sm_90")
    ),
    *((n_cols, torch.float64, "sm_90") for n_cols in (1024, 8192, 50257)),
    *((n_cols, torch.float32, target) for n_cols in (1024, 16384) for target in ("sm_80", "sm_89", "sm_100")),
]


def compiled(n_cols: int, dtype: torch.dtype, target: str) -> tuple[Plan, Compiled]:
    """What `softmax` would launch for contiguous rows on an NVIDIA GPU."""
    x = torch.empty(64, n_cols, dtype=dtype, device="meta")
    out, size = torch.empty_like(x), x.element_size()
    how = plan(
        n_cols,
        size,
        starts="alike" if n_cols % 16 else "aligned",
        sharing="none" if size == 8 else "rows" if target == "sm_75" else "pairs",
    )
    n_programs, kernel, numbers, constants = module.arguments(x, out, how)
    tensors = (x, out)
    if how.kernel in ("split", "pairs"):
        constants["WAIT"] = True
        tensors = (x, out, torch.empty(n_programs, dtype=torch.int64, device="meta"))
    options = {"maxnreg": how.registers} if how.registers else {}
    return how, compile_for(kernel, *tensors, *numbers, **constants, num_warps=how.num_warps, **options, target=target)


@pytest.mark.parametrize(("n_cols", "dtype", "target"), BUILDS, ids=str)
def test_every_plan_compiles_and_spills_nothing(n_cols: int, dtype: torch.dtype, target: str) -> None:
    """Programs that share a long row have few registers, so that many run at once: they may spill a few bytes."""
    how, code = compiled(n_cols, dtype, target)
    assert code.spills <= (64 if how.kernel in ("split", "pairs") else 0), how


VECTORS = [
    (1024, torch.float32, "rows"),
    (12345, torch.float32, "rows"),
    (65536, torch.float32, "split"),
    (50257, torch.float32, "split"),
    (65536, torch.float16, "pairs"),
    (50257, torch.float16, "pairs"),
]


@pytest.mark.parametrize(("n_cols", "dtype", "kind"), VECTORS, ids=str)
def test_rows_move_in_vectors(n_cols: int, dtype: torch.dtype, kind: str) -> None:
    how, code = compiled(n_cols, dtype, "sm_90")
    assert how.kernel == kind
    lanes = how.block_size * (-(-n_cols // how.block_size) if how.kernel == "rows" else 1)
    vectors = lanes * dtype.itemsize // (16 * 32 * how.num_warps)
    assert code.count("STG.E.128") == vectors
    assert code.count("LDG.E.128") - vectors in (0, 1)  # one more where the whole row may be read
    if kind == "rows" and not how.ragged:
        assert code.count("LDG") == vectors


@pytest.mark.parametrize("n_cols", [1000, 1024, 50257, 65536])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_numbers_and_constants_are_in_the_kernels_order(n_cols: int, dtype: torch.dtype) -> None:
    """A compiled kernel is given all of them by position."""
    x = torch.empty(64, n_cols, dtype=dtype, device="meta")
    sharing = "none" if dtype == torch.float64 else "pairs"
    how = plan(n_cols, dtype.itemsize, starts="alike" if n_cols % 16 else "aligned", sharing=sharing)
    _, kernel, numbers, constants = module.arguments(x, torch.empty_like(x), how)
    names = list(inspect.signature(kernel.fn).parameters)
    n_tensors = 3 if "partials" in names else 2
    assert len(names) == n_tensors + len(numbers) + len(constants)
    assert names[len(names) - len(constants) :] == list(constants)


def test_one_exponential_an_element() -> None:
    """`MUFU.EX2` is the scarce unit when elements have 16 bits."""
    how, code = compiled(16384, torch.float16, "sm_90")
    assert code.count("MUFU.EX2") == how.block_size // (32 * how.num_warps)
