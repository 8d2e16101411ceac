"""The finished LayerNorm on a GPU, against torch's: shapes, dtypes, strides, gradients, and the same bits every time.

python -m pytest tests/test_layernorm_on_gpu.py -rs
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch

from course_lib.kernels.layernorm import layernorm

pytestmark = pytest.mark.gpu
TOLERANCE = {torch.float64: 1e-11, torch.float32: 3e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
DTYPES = [pytest.param(dtype, id=str(dtype)[6:]) for dtype in TOLERANCE]
Parameter = torch.Tensor | None
NAMES = ("the result", "dx", "dweight", "dbias")


def numbers(*shape: int, dtype: torch.dtype = torch.float32, mean: float = 0.0) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return (mean + torch.randn(shape, device="cuda")).to(dtype)


def with_gradients(
    function: Callable[..., torch.Tensor], x: torch.Tensor, weight: Parameter, bias: Parameter, dy: torch.Tensor
) -> list[torch.Tensor]:
    """The result and all gradients. `x` keeps its strides."""
    leaves = [leaf.detach().requires_grad_() for leaf in (x, weight, bias) if leaf is not None]
    given = iter(leaves)
    result = function(*(None if leaf is None else next(given) for leaf in (x, weight, bias)))
    return [result.detach(), *torch.autograd.grad(result, leaves, dy)]


def of_torch(x: torch.Tensor, weight: Parameter = None, bias: Parameter = None) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias)


def assert_right(x: torch.Tensor, weight: Parameter, bias: Parameter, dy: torch.Tensor) -> None:
    """Against torch in fp64. Sums over rows are held to what is large in them: their terms cancel."""
    got = with_gradients(layernorm, x, weight, bias, dy)
    want = with_gradients(of_torch, *(None if one is None else one.double() for one in (x, weight, bias, dy)))
    names = [name for name, there in zip(NAMES, (x, x, weight, bias), strict=True) if there is not None]
    for name, one, other in zip(names, got, want, strict=True):
        tolerance = TOLERANCE[x.dtype]
        largest = max(1.0, other.abs().max().item()) if other.numel() else 1.0
        torch.testing.assert_close(
            one.double(), other, rtol=tolerance, atol=tolerance * largest, msg=lambda text, name=name: f"{name}: {text}"
        )
        assert one.is_contiguous()
        assert name == "the result" or one.dtype == {"dx": x, "dweight": weight, "dbias": bias}[name].dtype  # type: ignore[union-attr]


WIDTHS = [1, 3, 17, 128, 129, 781, 1000, 1025, 2048, 4096, 5000, 8192, 8193, 12345, 16384, 16385, 24576, 32768, 50257, 65536]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", WIDTHS)
def test_width(n_cols: int, dtype: torch.dtype) -> None:
    x, dy = numbers(337, n_cols, dtype=dtype, mean=1.0), numbers(337, n_cols, dtype=dtype, mean=0.2)
    assert_right(x, numbers(n_cols, dtype=dtype, mean=1.0), numbers(n_cols, dtype=dtype), dy)


@pytest.mark.parametrize("n_rows", [1, 2, 131, 133, 5000, 70001])
def test_number_of_rows(n_rows: int) -> None:
    x, dy = numbers(n_rows, 300, mean=1.0), numbers(n_rows, 300, mean=0.2)
    assert_right(x, numbers(300, mean=1.0), numbers(300), dy)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0)], ids=str)
def test_nothing(shape: tuple[int, int]) -> None:
    x = torch.empty(shape, device="cuda")
    row = torch.ones(shape[1], device="cuda")
    assert_right(x, row, row, x)


@pytest.mark.parametrize("n_cols", [100, 40000])
def test_missing_parameters_and_parameters_of_another_dtype(n_cols: int) -> None:
    x, dy = numbers(50, n_cols, dtype=torch.bfloat16), numbers(50, n_cols, dtype=torch.bfloat16)
    row = numbers(n_cols)
    for weight, bias in ((None, None), (row, None), (None, row), (row, row.half())):
        assert_right(x, weight, bias, dy)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda x: x.t(),
    "columns of a wider matrix": lambda x: x[:, 3:998],
    "every other column": lambda x: x[:, ::2],
    "every other row": lambda x: x[::2],
    "one row for all": lambda x: x[:1].expand(900, -1),
    "one number for all": lambda x: x[:1, :1].expand(90, 70),
    "an odd first address": lambda x: x.flatten()[1:400001].view(400, 1000),
    "three dimensions": lambda x: x.view(100, 10, 1024).transpose(1, 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("view", VIEWS)
def test_view(view: str, dtype: torch.dtype) -> None:
    """Of x, and of dy."""
    x = VIEWS[view](numbers(1000, 1024, dtype=dtype))
    n_cols = x.shape[-1]
    weight, bias = numbers(n_cols, dtype=dtype, mean=1.0), numbers(n_cols, dtype=dtype)
    other = numbers(*x.shape, dtype=dtype)
    if view != "one number for all":  # dx is then the rounding of what is exactly 0, times 300
        assert_right(x, weight, bias, other)
    assert_right(other, weight, bias, x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", [5000, 12345])
def test_odd_addresses(n_cols: int, dtype: torch.dtype) -> None:
    """Of x, and of its weight and bias, whose pairs of 16-bit elements then do not begin where words do."""
    x, odd = numbers(50, n_cols, dtype=dtype), numbers(50 * n_cols + 1, dtype=dtype)[1:].view(50, n_cols)
    weight, bias = numbers(n_cols + 1, dtype=dtype)[1:], numbers(n_cols + 3, dtype=dtype)[3:]
    assert_right(x, weight, bias, odd)
    assert_right(odd, weight, bias, x)


@pytest.mark.parametrize("n_cols", [1000, 40000])
def test_a_mean_far_from_zero(n_cols: int) -> None:
    x = numbers(50, n_cols, mean=4096.0)
    torch.testing.assert_close(layernorm(x), of_torch(x.double()).float(), rtol=1e-3, atol=2e-3)


ORDERS = {
    "a width that 16 divides, then one that it does not": [(128, 1024, torch.float32), (128, 781, torch.float32)],
    "fp32, then fp16": [(128, 1024, torch.float32), (128, 1024, torch.float16)],
    "one column, then many": [(128, 1, torch.float32), (128, 129, torch.float32)],
    "one row, then many": [(1, 4096, torch.float32), (500, 4096, torch.float32)],
    "long, then short, then long": [(3, 65536, torch.float32), (3, 5, torch.float32), (3, 65537, torch.float32)],
}


@pytest.mark.parametrize("order", ORDERS)
def test_no_call_spoils_a_later_one(order: str) -> None:
    for _ in range(2):
        for n_rows, n_cols, dtype in ORDERS[order]:
            x, dy = numbers(n_rows, n_cols, dtype=dtype), numbers(n_rows, n_cols, dtype=dtype)
            assert_right(x, numbers(n_cols, dtype=dtype, mean=1.0), numbers(n_cols, dtype=dtype), dy)


@pytest.mark.parametrize(("n_rows", "n_cols"), [(4096, 1024), (5000, 781), (300, 40000)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
def test_200_backward_passes_give_the_same_bits(n_rows: int, n_cols: int, dtype: torch.dtype) -> None:
    x, dy = numbers(n_rows, n_cols, dtype=dtype), numbers(n_rows, n_cols, dtype=dtype, mean=0.1)
    weight, bias = numbers(n_cols, dtype=dtype, mean=1.0), numbers(n_cols, dtype=dtype)
    first = with_gradients(layernorm, x, weight, bias, dy)
    different = torch.zeros((), dtype=torch.int64, device="cuda")
    for _ in range(200):
        junk = torch.full((4 * n_cols * 200,), float("nan"), device="cuda")  # partial sums are to lie in memory like this
        del junk
        again = with_gradients(layernorm, x, weight, bias, dy)
        different += sum((one != other).sum() for one, other in zip(first, again, strict=True))
    assert different.item() == 0


def test_gradients_agree_with_differences() -> None:
    leaves = [numbers(*shape, dtype=torch.float64).requires_grad_() for shape in ((4, 9), (9,), (9,))]
    assert torch.autograd.gradcheck(layernorm, leaves, nondet_tol=0.0)


def test_gradients_of_gradients_are_refused() -> None:
    x = numbers(4, 9).requires_grad_()
    (dx,) = torch.autograd.grad(layernorm(x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        dx.sum().backward()


def test_what_is_not_wanted_is_not_computed() -> None:
    x, weight = numbers(4, 9), numbers(9).requires_grad_()
    layernorm(x, weight).sum().backward()
    assert x.grad is None
    torch.testing.assert_close(weight.grad, of_torch(x).sum(dim=0), rtol=1e-4, atol=1e-5)


def test_a_stream_of_its_own() -> None:
    x, stream = numbers(4096, 4096), torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        got = layernorm(x + 1)
    stream.synchronize()
    torch.testing.assert_close(got, of_torch(x + 1), rtol=1e-4, atol=1e-4)


def test_a_graph_replays_forward_and_backward() -> None:
    x, dy = numbers(256, 1024).requires_grad_(), numbers(256, 1024)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.autograd.grad(layernorm(x), x, dy)  # compiles
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (dx,) = torch.autograd.grad(layernorm(x), x, dy)
    with torch.no_grad():
        x.copy_(numbers(256, 1024, mean=5.0))
    graph.replay()
    leaf = x.detach().requires_grad_()
    torch.testing.assert_close(dx, torch.autograd.grad(of_torch(leaf), leaf, dy)[0], rtol=1e-3, atol=1e-4)


def test_threads_do_not_disturb_each_other() -> None:
    inputs = [numbers(100, 100 * (1 + number)) for number in range(8)]
    results: dict[int, torch.Tensor] = {}

    def work(number: int) -> None:
        results[number] = layernorm(inputs[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, x in enumerate(inputs):
        torch.testing.assert_close(results[number], of_torch(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("n_cols", [4096, 40000])
def test_more_than_two_to_the_31_elements(n_cols: int) -> None:
    """Forward, and dx, of 16-bit elements: some 17 GB."""
    n_rows = 2**31 // n_cols + 8
    if torch.cuda.mem_get_info()[0] < 8 * n_rows * n_cols * 2:
        pytest.skip("not enough memory")
    x = torch.empty(n_rows, n_cols, dtype=torch.float16, device="cuda").normal_()
    leaf = x.requires_grad_()
    result = layernorm(leaf)
    dy = torch.empty_like(x).normal_()
    (dx,) = torch.autograd.grad(result, leaf, dy)
    last = x.detach()[-5:].float().requires_grad_()
    want = of_torch(last)
    torch.testing.assert_close(result[-5:].float(), want, rtol=4e-3, atol=4e-3)
    torch.testing.assert_close(dx[-5:].float(), torch.autograd.grad(want, last, dy[-5:].float())[0], rtol=4e-3, atol=4e-3)


def test_another_gpu_than_the_current_one() -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("there is one GPU")
    x = numbers(100, 1000).to("cuda:1")
    torch.testing.assert_close(layernorm(x), of_torch(x), rtol=1e-4, atol=1e-4)
