"""The finished softmax on a GPU, against torch's: shapes, dtypes, addresses, and the order in which calls come.

python -m pytest tests/test_softmax_on_gpu.py -rs
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch
import triton

from course_lib.kernels import softmax as module
from course_lib.kernels.softmax import Plan, launch

pytestmark = pytest.mark.gpu
INF, NAN = float("inf"), float("nan")
TOLERANCE = {torch.float64: 1e-12, torch.float32: 2e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
DTYPES = [pytest.param(dtype, id=str(dtype)[6:]) for dtype in TOLERANCE]


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """The second of two calls: it launches again what the first one compiled. Neither may read what the other wrote."""
    first = module.softmax(x, dim).clone()
    second = module.softmax(x, dim)
    torch.testing.assert_close(second, first, rtol=0, atol=0, equal_nan=True)
    return second


def assert_softmax(got: torch.Tensor, x: torch.Tensor, dim: int = -1) -> None:
    """Against torch in fp64 for fp32 and fp64, and in fp32 for 16 bits, which saves memory."""
    wide = x.double() if x.dtype in (torch.float32, torch.float64) else x.float()
    assert got.is_contiguous() and got.shape == x.shape
    torch.testing.assert_close(got, torch.softmax(wide, dim).to(x.dtype), rtol=TOLERANCE[x.dtype], atol=1e-7, equal_nan=True)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return (3 * torch.randn(shape, device="cuda")).to(dtype)


WIDTHS = [
    *(1, 2, 3, 15, 16, 17, 31, 33, 127, 128, 129, 255, 256, 257, 511, 512, 513, 781, 1000, 1023, 1024, 1025, 2047, 2048, 2049),
    *(4095, 4096, 5000, 8191, 8192, 8193, 12345, 16383, 16384, 16385, 32768, 32770, 50257, 65536, 65537, 131072, 131073),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", WIDTHS)
def test_width(n_cols: int, dtype: torch.dtype) -> None:
    x = numbers(37, n_cols, dtype=dtype)
    assert_softmax(softmax(x), x)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", [1048577, 3000000])
def test_very_long_rows(n_cols: int, dtype: torch.dtype) -> None:
    x = numbers(2, n_cols, dtype=dtype)
    assert_softmax(softmax(x), x)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "transposed": lambda x: x.t(),
    "columns of a wider matrix": lambda x: x[:, 3:998],
    "aligned columns of a wider matrix": lambda x: x[:, 32:992],
    "every other column": lambda x: x[:, ::2],
    "every other row": lambda x: x[::2],
    "one row for all": lambda x: x[:1].expand(900, -1),
    "one column for all": lambda x: x[:, :1].expand(-1, 900),
    "an odd first address": lambda x: x.flatten()[1:400001].view(400, 1000),
    "three dimensions": lambda x: x.view(100, 10, 1024).transpose(1, 2),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("view", VIEWS)
def test_view(view: str, dim: int, dtype: torch.dtype) -> None:
    x = VIEWS[view](numbers(1000, 1024, dtype=dtype))
    assert_softmax(softmax(x, dim), x, dim)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("first", "n_cols"), [(1, 40000), (3, 40001), (8, 40008), (1, 5000), (2, 5001)])
def test_long_rows_of_a_wider_matrix(first: int, n_cols: int, dtype: torch.dtype) -> None:
    x = numbers(20, 40064, dtype=dtype)[:, first : first + n_cols]
    assert_softmax(softmax(x), x)


@pytest.mark.parametrize("special", [-INF, INF, NAN], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_cols", [3, 700, 701, 4096, 40000, 40001])
def test_special_rows_are_as_torch_has_them(n_cols: int, dtype: torch.dtype, special: float) -> None:
    x = numbers(8, n_cols, dtype=dtype)
    x[1] = special
    x[2, 1] = special
    x[3, : n_cols - 1] = special
    x[4, n_cols // 2 :] = special
    x[5, -1] = special
    assert_softmax(softmax(x), x)


def test_rows_near_the_largest_number() -> None:
    x = torch.full((4, 5000), 3e38, device="cuda")
    x[1] *= -1
    x[2, 7] = -3e38
    assert_softmax(softmax(x), x)


ORDERS = {
    "a width that 16 divides, then one that it does not": [(128, 1024, torch.float32), (128, 781, torch.float32)],
    "fp32, then fp16": [(128, 1024, torch.float32), (128, 1024, torch.float16)],
    "fp16, then fp64": [(128, 1000, torch.float16), (128, 1000, torch.float64)],
    "one column, then many": [(128, 1, torch.float32), (128, 129, torch.float32)],
    "one row, then many": [(1, 4096, torch.float32), (500, 4096, torch.float32)],
    "long, then short, then long": [(3, 131072, torch.bfloat16), (3, 5, torch.bfloat16), (3, 65536, torch.bfloat16)],
}


@pytest.mark.parametrize("order", ORDERS)
def test_no_call_spoils_a_later_one(order: str) -> None:
    """Compiled kernels that are kept by the size of their block alone do: cases of the wrong alignment and dtype."""
    for _ in range(2):
        for n_rows, n_cols, dtype in ORDERS[order]:
            x = numbers(n_rows, n_cols, dtype=dtype)
            assert_softmax(softmax(x), x)
            transposed = numbers(n_cols, min(n_rows, 64), dtype=dtype).t()
            assert_softmax(softmax(transposed), transposed)


def test_a_call_like_an_earlier_one_is_launched_as_that_one_was() -> None:
    x = numbers(100, 1000)
    module._repeated.clear()
    module.softmax(x)
    assert len(module._repeated) == 1
    assert_softmax(softmax(numbers(100, 1000) + 1), x + 1)
    assert len(module._repeated) == 1


ALIKE: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "the same": lambda x: x[:100],
    "an odd address": lambda x: x.flatten()[1:102401].view(100, 1024),
    "other strides": lambda x: x[::2],
    "transposed": lambda x: x.flatten()[:102400].view(1024, 100).t(),
    "a sign that torch keeps for later": lambda x: torch.imag(torch.complex(x[:100], x[:100]).conj()),
    "a gradient that is not wanted": lambda x: x[:100].clone().requires_grad_(),
}


@pytest.mark.parametrize("other", ALIKE)
def test_what_differs_in_more_than_its_shape_is_not_launched_alike(other: str) -> None:
    x = numbers(200, 1024)
    assert_softmax(softmax(x[:100]), x[:100])
    y = ALIKE[other](x)
    with torch.no_grad():
        assert_softmax(softmax(y), y)
        assert_softmax(softmax(y, 0), y, 0)
    assert_softmax(softmax(x[:100]), x[:100])


def test_what_is_kept_of_earlier_launches_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_REPEATED", 3)
    for n_cols in range(1, 20):
        x = numbers(5, n_cols)
        assert_softmax(softmax(x), x)
        assert len(module._repeated) <= 3


@pytest.mark.parametrize("n_cols", [1000, 65536])
def test_a_profiler_is_told_of_every_launch(n_cols: int) -> None:
    x = numbers(64, n_cols)
    softmax(x)
    seen: list[str] = []

    def note(launched: object) -> None:
        seen.append(launched.get()["name"])  # type: ignore[attr-defined]

    hooks = triton.knobs.runtime.launch_enter_hook
    hooks.add(note)
    try:
        assert_softmax(softmax(x), x)
    finally:
        hooks.remove(note)
    assert len(seen) == 2 and len(set(seen)) == 1


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)], ids=str)
def test_no_elements(shape: tuple[int, int]) -> None:
    assert softmax(torch.empty(shape, device="cuda")).shape == shape


def test_more_rows_than_a_grid_has_along_y() -> None:
    x = numbers(70_000, 100)
    assert_softmax(softmax(x), x)


@pytest.mark.parametrize(("n_rows", "n_cols"), [(70_000, 32768), (2**21 + 3, 1025), (20_000, 131072)])
def test_more_elements_than_an_int32_counts(n_rows: int, n_cols: int) -> None:
    x = torch.empty(n_rows, n_cols, device="cuda", dtype=torch.bfloat16).normal_()
    assert x.numel() > 2**31
    got = softmax(x)
    for rows in (slice(0, 5), slice(n_rows // 2, n_rows // 2 + 5), slice(n_rows - 5, n_rows)):
        assert_softmax(got[rows].contiguous(), x[rows])


@pytest.mark.parametrize("n_cols", [1000, 4096, 65536])
def test_captured_in_a_graph(n_cols: int) -> None:
    x = numbers(64, n_cols)
    softmax(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = module.softmax(x)
    for seed in range(3):
        torch.manual_seed(seed)
        x.normal_()
        graph.replay()
        assert_softmax(got, x)


@pytest.mark.parametrize("n_cols", [1024, 65536])
def test_two_streams(n_cols: int) -> None:
    streams = [torch.cuda.Stream(), torch.cuda.Stream()]
    inputs = [numbers(2000, n_cols), numbers(1999, n_cols)]
    torch.cuda.synchronize()
    results = []
    for _ in range(5):
        for stream, x in zip(streams, inputs, strict=True):
            with torch.cuda.stream(stream):
                results.append((softmax(x), x))
    torch.cuda.synchronize()
    for got, x in results:
        assert_softmax(got, x)


def test_two_threads() -> None:
    inputs = [numbers(500, 2000 + 13 * number) for number in range(8)]
    results: dict[int, torch.Tensor] = {}

    def compute(number: int) -> None:
        results[number] = softmax(inputs[number])

    threads = [threading.Thread(target=compute, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, x in enumerate(inputs):
        assert_softmax(results[number], x)


@pytest.mark.parametrize("kernel", ["split", "pairs"])
def test_programs_that_share_a_row_finish_whatever_else_runs(kernel: str) -> None:
    """Many rows of many parts, beside another kernel that holds on to multiprocessors."""
    x = numbers(300, 131072, dtype=torch.float32 if kernel == "split" else torch.bfloat16)
    out = torch.empty_like(x)
    other, busy = torch.cuda.Stream(), numbers(4096, 4096)
    torch.cuda.synchronize()
    with torch.cuda.stream(other):
        for _ in range(10):
            busy = torch.softmax(busy @ busy, -1)
    launch(x, out, Plan(kernel, 1024, 1, rows=128))
    torch.cuda.synchronize()
    assert_softmax(out, x)


@pytest.mark.parametrize("n_cols", [64, 781, 4096, 40000])
def test_results_do_not_change_from_call_to_call(n_cols: int) -> None:
    x = numbers(512, n_cols)
    first = softmax(x)
    assert all(torch.equal(softmax(x), first) for _ in range(10))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_gpu_that_is_not_the_current_one() -> None:
    x = numbers(100, 1000).to("cuda:1")
    assert torch.cuda.current_device() == 0
    assert_softmax(softmax(x), x)
