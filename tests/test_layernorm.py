"""The finished LayerNorm against torch's, in Triton's interpreter, and its kernels compiled for many GPUs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import pytest
import torch

from course_lib.checking.events import Trace
from course_lib.checking.trace import trace
from course_lib.kernels import layernorm as module
from course_lib.kernels.layernorm import Plan, backward, backward_plan, column_sums, forward, layernorm, plan
from course_lib.machine.compiled import Compiled, compile_for
from course_lib.machine.specs import ARCHITECTURES

TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 4e-3}
Parameter = torch.Tensor | None


def with_gradients(x: torch.Tensor, weight: Parameter, bias: Parameter, dy: torch.Tensor, eps: float) -> torch.Tensor:
    """The result and all gradients, one after the other, since a traced call returns one tensor."""
    leaves = [None if leaf is None else leaf.detach().requires_grad_() for leaf in (x, weight, bias)]
    result = layernorm(*leaves, eps)
    result.backward(dy)
    parts = [result.detach(), *(leaf.grad for leaf in leaves if leaf is not None)]
    return torch.cat([part.reshape(-1) for part in parts])


def expected(x: torch.Tensor, weight: Parameter, bias: Parameter, dy: torch.Tensor, eps: float) -> torch.Tensor:
    """What torch makes of it in fp64."""
    leaves = [None if leaf is None else leaf.detach().double().requires_grad_() for leaf in (x, weight, bias)]
    result = torch.nn.functional.layer_norm(leaves[0], x.shape[-1:], *leaves[1:], eps)
    result.backward(dy.double())
    parts = [result.detach(), *(leaf.grad for leaf in leaves if leaf is not None)]
    return torch.cat([part.reshape(-1) for part in parts])


def numbers(*shape: int, mean: float = 0.0) -> torch.Tensor:
    return mean + torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def assert_right(got: torch.Tensor, *arguments: object) -> None:
    want = expected(*arguments)  # type: ignore[arg-type]
    tolerance = TOLERANCE[got.dtype]
    torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance * max(1.0, want.abs().max().item()))


SHAPES = [(3, 5), (1, 1), (7, 1), (5, 128), (2, 781), (130, 6), (2, 3, 40), (9,)]
LONG = [
    *((3, n_cols, dtype) for n_cols in (5000, 1237, 1200) for dtype in (torch.float32, torch.float16)),
    *((9, n_cols, dtype) for n_cols in (1025, 2047) for dtype in (torch.float32, torch.float16)),
    (2, 33000, torch.float32),
    (40, 8200, torch.float16),
    (3, 16385, torch.float64),
]
"""Rows in several blocks, which begin at any element or at multiples of 8; nine of them have all remainders of 8. And rows that
are longer than a block."""


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [*((shape, dtype) for shape in SHAPES for dtype in TOLERANCE), *((shape, dtype) for *shape, dtype in LONG)],
    ids=str,
)
def test_any_shape(shape: Sequence[int], dtype: torch.dtype) -> None:
    x, dy = numbers(*shape, mean=2.0).to(dtype), numbers(*shape, mean=0.5).to(dtype)
    weight, bias = numbers(shape[-1], mean=1.0).to(dtype), numbers(shape[-1]).to(dtype)
    assert_right(trace(with_gradients, x, weight, bias, dy, 1e-5).result, x, weight, bias, dy, 1e-5)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (2, 0, 3)], ids=str)
def test_nothing_has_gradients_of_zero(shape: tuple[int, ...]) -> None:
    x, weight, bias = torch.randn(shape), torch.randn(shape[-1]), torch.randn(shape[-1])
    got = trace(with_gradients, x, weight, bias, torch.randn(shape), 1e-5).result
    torch.testing.assert_close(got, torch.zeros(2 * shape[-1]))


@pytest.mark.parametrize("n_cols", [6, 1237, 8200])
@pytest.mark.parametrize("which", ["neither", "a weight", "a bias"])
def test_weight_and_bias_may_be_missing(which: str, n_cols: int) -> None:
    x, dy, row = numbers(4, n_cols), numbers(4, n_cols, mean=1.0), numbers(n_cols)
    weight, bias = row if which == "a weight" else None, row if which == "a bias" else None
    assert_right(trace(with_gradients, x, weight, bias, dy, 1e-3).result, x, weight, bias, dy, 1e-3)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda x: x.t(),
    "columns of a wider matrix": lambda x: x[:, 3:38],
    "every other column": lambda x: x[:, ::2],
    "every other row": lambda x: x[::2],
    "one row for all": lambda x: x[:1].expand(9, -1),
    "three dimensions": lambda x: x.view(10, 2, 30).transpose(0, 1),
}


def of_views(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, dy: torch.Tensor, eps: float) -> torch.Tensor:
    """As `with_gradients`, for an `x` that keeps its strides: a leaf for torch would be made anew."""
    result = layernorm(x, weight, bias, eps)
    found = torch.autograd.grad(layernorm(x.requires_grad_(), weight, bias, eps), x, dy)[0]
    return torch.cat([result.detach().reshape(-1), found.reshape(-1)])


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str) -> None:
    x, dy = VIEWS[view](numbers(20, 30, mean=3.0)), VIEWS[view](numbers(20, 30))
    weight, bias = numbers(x.shape[-1]), numbers(x.shape[-1], mean=1.0)
    got = trace(of_views, x, weight, bias, dy, 1e-5).result
    want = expected(x, weight, bias, dy, 1e-5)[: 2 * x.numel()]
    torch.testing.assert_close(got.double(), want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_cols", [1237, 1240])
def test_weights_of_other_dtypes_that_begin_at_odd_addresses(n_cols: int) -> None:
    """Rows of 1237 elements begin anywhere, too; those of 1240 at multiples of 16 bytes."""
    x, dy = numbers(9, n_cols, mean=1.0).half(), numbers(9, n_cols).half()
    weight, bias = numbers(n_cols + 1, mean=1.0)[1:], numbers(n_cols + 3).half()[3:]
    got = trace(layernorm, x, weight, bias).result
    want = expected(x, weight, bias, dy, 1e-5)[: x.numel()].view_as(x)
    torch.testing.assert_close(got.double(), want, rtol=4e-3, atol=1e-2)


def test_vectors_and_pairs_begin_where_the_hardware_can_load_them() -> None:
    """The interpreter loads from any address."""
    numbered = torch.arange(33.0).half()
    assert module._vector(numbered[:32].view(2, 16)) == 16
    assert module._vector(numbered[1:].view(2, 16)) == 1
    odd = numbered[1:9]
    assert module._aligned(odd).data_ptr() % 16 == 0
    assert torch.equal(module._aligned(odd), odd)


def by_blocks(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, kernel: str, copies: int) -> torch.Tensor:
    return forward(x, weight, bias, 1e-5, how=Plan(kernel, 128, 4, copies=copies))


@pytest.mark.parametrize(
    ("kernel", "dtype", "copies"),
    [*(("blocks", torch.float32, copies) for copies in (1, 2, 4)), *(("pairs", torch.float16, copies) for copies in (2, 4, 8))],
    ids=str,
)
def test_ragged_rows_with_any_number_of_copies_of_their_weights(kernel: str, dtype: torch.dtype, copies: int) -> None:
    x, dy = numbers(9, 517, mean=1.0).to(dtype), numbers(9, 517)
    weight, bias = numbers(517, mean=1.0).to(dtype), numbers(517).to(dtype)
    got = trace(by_blocks, x, weight, bias, kernel, copies).result
    want = expected(x, weight, bias, dy, 1e-5)[: x.numel()].view_as(x)
    torch.testing.assert_close(got.double(), want, rtol=TOLERANCE[dtype], atol=3 * TOLERANCE[dtype])


def of_the_sum(x: torch.Tensor) -> torch.Tensor:
    leaf = x.detach().requires_grad_()
    (layernorm(leaf) * 1.0).sum().backward()
    return leaf.grad


def test_a_gradient_without_strides() -> None:
    """`sum` hands over a 1 with the strides 0 and 0. The rows of x̂ always add up to 0, so nothing depends on x."""
    x = numbers(5, 7)
    torch.testing.assert_close(trace(of_the_sum, x).result, torch.zeros(5, 7), rtol=0, atol=1e-5)


@pytest.mark.parametrize("n_cols", [1000, 5000, 33000])
def test_a_mean_far_from_zero(n_cols: int) -> None:
    """The mean of squares minus the square of the mean has no digits left here."""
    x = numbers(2, n_cols, mean=4096.0)
    want = torch.nn.functional.layer_norm(x.double(), (n_cols,)).float()
    torch.testing.assert_close(trace(layernorm, x).result, want, rtol=1e-3, atol=2e-3)


@pytest.mark.parametrize("n_cols", [7, 5000, 33000])
def test_rows_with_nan_or_infinity_are_nan_and_others_are_not(n_cols: int) -> None:
    x = numbers(4, n_cols)
    x[1, n_cols // 2], x[2, 0] = float("nan"), float("inf")
    assert trace(layernorm, x).result.isnan().all(dim=1).tolist() == [False, True, True, False]


def parameter_gradients(x: torch.Tensor, dy: torch.Tensor, kernel: str, block_size: int, rows: int) -> torch.Tensor:
    """dweight and dbias by one kind of plan."""
    how = Plan(kernel, block_size, 4, rows=rows, programs=3)
    mean, rstd = (torch.empty(x.shape[0], dtype=x.dtype, device=x.device) for _ in range(2))
    forward(x, None, None, 1e-5, mean, rstd)
    partials = backward(dy, x, None, mean, rstd, torch.empty_like(x), how, partial=True)
    assert partials is not None
    return column_sums(partials, x.dtype)


def writers(seen: Trace) -> dict[tuple[int, ...], set[tuple[int, int, int]]]:
    """Which programs wrote to each element, by the numbers of its launch, of its tensor there, and its own."""
    found: dict[tuple[int, ...], set[tuple[int, int, int]]] = defaultdict(set)
    for event in seen.events:
        if event.kind != "load":
            for element in event.elements:
                found[event.launch, event.view, int(element)].add(event.program)
    return found


@pytest.mark.parametrize(("kernel", "block_size", "rows"), [("rows", 256, 1), ("rows", 256, 4), ("long", 128, 1)])
def test_no_two_programs_write_to_one_place(kernel: str, block_size: int, rows: int) -> None:
    x, dy = numbers(50, 200), numbers(50, 200, mean=1.0)
    seen = trace(parameter_gradients, x, dy, kernel, block_size, rows)
    assert {len(programs) for programs in writers(seen).values()} == {1}
    normal = torch.nn.functional.layer_norm(x.double(), (200,))
    want = torch.stack([(dy * normal).sum(dim=0), dy.double().sum(dim=0)])
    torch.testing.assert_close(seen.result.double(), want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("n_cols", [100, 781, 4096])
def test_forward_and_backward_read_each_element_once(n_cols: int) -> None:
    x, dy = numbers(4, n_cols), numbers(4, n_cols)
    seen = trace(with_gradients, x, None, None, dy, 1e-5)
    assert sum(len(event.elements) for event in seen.reads(x)) == 2 * x.numel()
    assert sum(len(event.elements) for event in seen.reads(dy)) == dy.numel()


@pytest.mark.parametrize(
    ("x", "weight", "error", "words"),
    [
        ([1.0], None, TypeError, "torch.as_tensor"),
        (torch.ones(3, dtype=torch.int32), None, TypeError, r"\.float\(\)"),
        (torch.ones(3, 3).to_sparse(), None, TypeError, "to_dense"),
        (torch.ones(()), None, ValueError, r"x\.view\(1\)"),
        (torch.ones(2, 3), torch.ones(2), ValueError, r"weight has shape \(2,\), and rows of x have 3"),
        (torch.ones(2, 3), torch.ones(3, device="meta"), ValueError, r"weight is on meta, and x on cpu"),
        (torch.ones(2, 3), 1.0, TypeError, "weight is a torch tensor, not a float"),
    ],
    ids=["a list", "integers", "sparse", "no dimension", "another length", "elsewhere", "a number"],
)
def test_bad_input_is_told_what_to_do(
    x: object, weight: object, error: type[Exception], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "interpreted", lambda: True)
    with pytest.raises(error, match=words):
        layernorm(x, weight)  # type: ignore[arg-type]


def test_a_tensor_on_the_cpu_of_a_machine_that_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "interpreted", lambda: False)
    with pytest.raises(ValueError, match=r'x\.to\("cuda"\)'):
        layernorm(torch.ones(3))


# --- compiled, without a GPU ----------------------------------------------------------------------------------------

WIDTHS = [16, 781, 2048, 4096, 5000, 8192, 12345, 16384, 32768]


def compiled(n_cols: int, dtype: torch.dtype, target: str, backward: bool) -> tuple[Plan, Compiled]:
    """What is launched for contiguous rows, with a weight and a bias; of a longer row's backward pass, `columns_kernel`."""
    x, row = (torch.empty(shape, dtype=dtype, device="meta") for shape in ((64, n_cols), (n_cols,)))
    mean, table = torch.empty(64, device="meta"), torch.empty(2, 64, n_cols, device="meta")
    vector = module._vector(x, x)
    if not backward:
        how = plan(n_cols, dtype.itemsize, vector)
        _, kernel, numbers, constants = module.arguments(x, how, vector)
        arguments = (x, row, row, x, mean, mean, *numbers)
        constants["EPS"] = 1e-5
    else:
        how = backward_plan(n_cols, dtype.itemsize, ARCHITECTURES[target].max_shared_per_block)
        numbers = (n_cols, n_cols, 64, n_cols)
        if how.kernel == "rows":
            kernel, arguments = module.backward_kernel, (x, x, row, mean, mean, x, table, *numbers)
            constants = {"ROWS": how.rows, "BLOCK_SIZE": how.block_size, "STAGES": how.stages}
        else:
            kernel, arguments = module.columns_kernel, (x, x, row, mean, mean, mean, x, table, *numbers)
            constants = {"ROWS": module.ROWS, "COLUMNS": module.COLUMNS}
        constants["VECTOR"] = vector
    options = module._options(how) if kernel is not module.columns_kernel else {}
    return how, compile_for(kernel, *arguments, **constants, **options, target=target)


@pytest.mark.parametrize("backward", [False, True], ids=["forward", "backward"])
@pytest.mark.parametrize("target", ["sm_75", "sm_90"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["fp32", "fp16"])
@pytest.mark.parametrize("n_cols", WIDTHS)
def test_every_plan_compiles_and_hardly_spills(n_cols: int, dtype: torch.dtype, target: str, backward: bool) -> None:
    how, code = compiled(n_cols, dtype, target, backward)
    assert code.spills <= (128 if backward and how.block_size == 16384 else 32), how


@pytest.mark.parametrize("n_cols", [4096, 5000, 12345])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=["fp32", "fp16"])
def test_rows_move_in_vectors_wherever_they_begin(n_cols: int, dtype: torch.dtype) -> None:
    how, code = compiled(n_cols, dtype, "sm_90", backward=False)
    assert how.kernel == ("pairs" if dtype == torch.float16 else "rows" if n_cols == 4096 else "blocks")
    lanes = how.block_size * (-(-n_cols // how.block_size))
    vectors = lanes * dtype.itemsize // (16 * 32 * how.num_warps)
    assert code.count("STG.E.128") == vectors
    if n_cols == 12345:  # half of the copies that whole vectors of weights and biases would need
        assert (code.count("LDG.E.128"), code.count("LDG.E.64")) == (vectors, 2 * 2 * vectors)
    else:
        assert code.count("LDG.E.128") >= 3 * vectors


def test_pairs_take_half_the_registers() -> None:
    """A row of 65536 elements is held by 1024 threads, of which a multiprocessor has registers for 64 each."""
    how, code = compiled(65536, torch.float16, "sm_90", backward=False)
    assert (how.kernel, how.num_warps, how.registers) == ("pairs", 32, 64)
    assert code.spills == 0


def test_tiles_are_loaded_ahead_in_the_backward_pass() -> None:
    how, code = compiled(4096, torch.float32, "sm_90", backward=True)
    assert how.stages == 3 and code.count("LDGSTS") > 0
