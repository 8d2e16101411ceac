"""The matrix product on a GPU: values against fp64, every plan, views, and calls that could spoil later ones.

python -m pytest tests/test_matmul_on_gpu.py -rs
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch

from course_lib.kernels import matmul as module
from course_lib.kernels.matmul import BY_POINTERS, DESCRIBED, IN_TF32, ON_ORDINARY_UNITS, Plan, launch, matmul

pytestmark = pytest.mark.gpu
ROUNDING = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-22}
DTYPES = [pytest.param(dtype, id=str(dtype)[6:]) for dtype in ROUNDING]


@pytest.fixture(autouse=True)
def _in_full_precision() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
    yield
    torch.set_float32_matmul_precision(before)


def numbers(*shape: int, dtype: torch.dtype = torch.float16, device: str = "cuda") -> torch.Tensor:
    generator = torch.Generator(device).manual_seed(sum(shape))
    return torch.randn(shape, device=device, generator=generator).to(dtype)


def assert_product(got: torch.Tensor, a: torch.Tensor, b: torch.Tensor, rounding: float | None = None) -> None:
    """As exact as fp32 sums, rounded once at the end: the error of a sum is measured by the sum of its terms' sizes.

    The smallest numbers of a format are equally far apart, so they are rounded by as much, whatever their size.
    """
    assert got.is_contiguous() and got.dtype == a.dtype and got.device == a.device
    want = a.double() @ b.double()
    sizes = a.double().abs() @ b.double().abs()
    smallest = torch.finfo(a.dtype).tiny * torch.finfo(a.dtype).eps
    allowed = (rounding or ROUNDING[a.dtype]) * want.abs() + (rounding or 2.0**-19) * sizes + smallest
    assert ((got.double() - want).abs() <= allowed).all()


SHAPES = [
    (1, 1, 1),
    (1, 5, 3),
    (16, 16, 16),
    (17, 33, 31),
    (128, 256, 64),
    (129, 257, 65),
    (127, 255, 63),
    (1000, 1000, 1000),
    (1024, 1024, 1024),
    (4096, 8, 4096),
    (8, 4096, 777),
    (3000, 2000, 1),
    (2311, 3001, 499),
    (4096, 4096, 512),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_any_shape(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, n, k = shape
    a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
    assert_product(matmul(a, b), a, b)


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3), (5, 3, 0), (0, 0, 0)], ids=str)
def test_empty_matrices(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    got = matmul(numbers(m, k), numbers(k, n))
    assert got.shape == (m, n) and not got.any()


PLANS = [*DESCRIBED, *BY_POINTERS, *IN_TF32, *ON_ORDINARY_UNITS]


@pytest.mark.parametrize("how", PLANS, ids=str)
def test_every_plan_on_shapes_that_its_tiles_do_not_divide(how: Plan) -> None:
    if how.described and not module.abilities(torch.device("cuda", 0)).descriptors:
        pytest.skip("this GPU copies no tiles")
    dtype = torch.float32 if how in (*IN_TF32, *ON_ORDINARY_UNITS) else torch.float16
    for m, n, k in ((2 * how.block_m + 8, 3 * how.block_n - 8, how.block_k + 8), (40, 24, 8), (1200, 1200, 4 * how.block_k)):
        a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
        out = torch.full((m, n), float("nan"), dtype=dtype, device="cuda")
        launch(a, b, out, how)
        assert_product(out, a, b)


LAYOUTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "rows": lambda x: x,
    "turned": lambda x: x.T.contiguous().T,
    "every other row": lambda x: x.repeat_interleave(2, 0)[::2],
    "every other column": lambda x: x.repeat_interleave(2, 1)[:, ::2],
    "an odd first address": lambda x: torch.cat([x.new_zeros(1), x.flatten()])[1:].view(x.shape),
    "one row for all": lambda x: x[:1].expand(x.shape),
    "one column for all": lambda x: x[:, :1].expand(x.shape),
    "the negatives": lambda x: torch._neg_view(x),
}


PAIRS = [*((name, "rows") for name in LAYOUTS), *(("rows", name) for name in LAYOUTS), ("turned", "turned")]


@pytest.mark.parametrize(("a_layout", "b_layout"), PAIRS)
def test_any_strides(a_layout: str, b_layout: str) -> None:
    a, b = LAYOUTS[a_layout](numbers(520, 264)), LAYOUTS[b_layout](numbers(264, 392))
    assert_product(matmul(a, b), a, b)


def test_fp32_in_tf32_if_torch_allows_it() -> None:
    a, b = numbers(700, 500, dtype=torch.float32), numbers(500, 300, dtype=torch.float32)
    exact = matmul(a, b)
    torch.set_float32_matmul_precision("high")
    coarse = matmul(a, b)
    assert_product(coarse, a, b, rounding=2.0**-10)
    assert not torch.equal(exact, coarse)


def test_large_sums_are_kept_in_fp32() -> None:
    """4096 products of 8 · 8: a sum in fp16 would stop at 65504."""
    a, b = numbers(64, 4096).sign() * 8, numbers(4096, 64).sign() * 8
    assert_product(matmul(a, b), a, b)
    ones = torch.ones(64, 8192, device="cuda", dtype=torch.float16)
    assert (matmul(ones, ones.T) == 8192).all()


def test_elements_beyond_int32() -> None:
    a = torch.zeros(2**16 + 5, 2**15 + 8, device="cuda", dtype=torch.float16)
    a[-3:] = numbers(3, 2**15 + 8)
    b = numbers(2**15 + 8, 24)
    assert_product(matmul(a, b)[-3:].contiguous(), a[-3:], b)
    assert_product(matmul(b.T, a.T)[:, -3:].contiguous(), b.T, a.T[:, -3:])
    odd = a[:, :-1]
    assert_product(matmul(odd, b[:-1])[-3:].contiguous(), odd[-3:], b[:-1])


def test_a_result_beyond_int32() -> None:
    a, b = numbers(2**16 + 5, 16), numbers(16, 2**15 + 8)
    got = matmul(a, b)
    assert_product(got[-3:].contiguous(), a[-3:], b)


def test_no_call_spoils_a_later_one() -> None:
    for _ in range(2):
        for shape in ((1024, 1024, 1024), (1023, 1025, 1023), (1024, 1024, 1000), (1, 1024, 1024), (1024, 1, 1024)):
            for dtype in (torch.float16, torch.bfloat16):
                m, n, k = shape
                a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
                assert_product(matmul(a, b), a, b)


def test_captured_in_a_graph() -> None:
    a, b = numbers(1000, 512), numbers(512, 1000)
    matmul(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = matmul(a, b)
    a.normal_()
    graph.replay()
    assert_product(got, a, b)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_second_gpu_that_is_not_the_current_one() -> None:
    for device in ("cuda:0", "cuda:1", "cuda:0"):
        a, b = numbers(1000, 520, device=device), numbers(520, 1000, device=device)
        assert torch.cuda.current_device() == 0
        assert_product(matmul(a, b), a, b)


def test_matrices_on_the_cpu_are_refused() -> None:
    with pytest.raises(ValueError, match="on the CPU"):
        matmul(torch.ones(3, 3), torch.ones(3, 3))
    with pytest.raises(ValueError, match="in one place"):
        matmul(torch.ones(3, 3, device="cuda"), torch.ones(3, 3))


def test_plans_fit_into_shared_memory() -> None:
    gpu = module.abilities(torch.device("cuda", 0))
    for dtype in ROUNDING:
        for m, n in ((4096, 4096), (64, 64)):
            described = gpu.descriptors and dtype != torch.float32
            how = module.plan(m, n, dtype, described, gpu)
            a, b = numbers(m, 512, dtype=dtype), numbers(512, n, dtype=dtype)
            compiled = launch(a, b, torch.empty(m, n, dtype=dtype, device="cuda"), how)
            assert compiled.metadata.shared <= gpu.shared
            assert compiled.n_spills == 0
