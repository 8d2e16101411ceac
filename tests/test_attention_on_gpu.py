"""The finished attention on a GPU, against torch's: lengths, formats, strides, and the two ways to load keys and values.

python -m pytest tests/test_attention_on_gpu.py -rs
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from course_lib.kernels import attention as module
from course_lib.kernels.attention import Plan, attention, launch

pytestmark = pytest.mark.gpu
INF, NAN = float("inf"), float("nan")
TOLERANCE = {torch.float32: 1e-4, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Of fp32 products, three in tf32 stand for each one: a few units of 1e-6 for each score."""
DTYPES = [pytest.param(dtype, id=str(dtype)[6:]) for dtype in TOLERANCE]


def numbers(*shape: int, dtype: torch.dtype = torch.float16) -> torch.Tensor:
    torch.manual_seed(sum(shape))
    return torch.randn(shape, device="cuda").to(dtype)


def expected(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, scale: float | None = None
) -> torch.Tensor:
    """The formula in fp64; a query that gives weight to no key gets zeros."""
    scores = q.double() @ k.double().transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[2:], dtype=torch.bool, device="cuda").triu(1), -INF)
    weights = torch.softmax(scores, -1)
    weights[(scores == -INF).all(-1)] = 0
    return (weights @ v.double()).to(q.dtype)


def assert_attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, scale: float | None = None
) -> None:
    got = attention(q, k, v, causal=causal, scale=scale)
    assert got.is_contiguous() and got.shape == q.shape and got.dtype == q.dtype
    tolerance = TOLERANCE[q.dtype]
    want = expected(q, k, v, causal, scale)
    torch.testing.assert_close(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "lengths", [(1, 1), (16, 16), (63, 65), (128, 128), (129, 127), (200, 1), (1, 500), (513, 1000)], ids=str
)
@pytest.mark.parametrize("head_dim", [64, 128])
def test_lengths(head_dim: int, lengths: tuple[int, int], dtype: torch.dtype, causal: bool) -> None:
    n_queries, n_keys = lengths
    q, k, v = (numbers(2, 3, length, head_dim, dtype=dtype) for length in (n_queries, n_keys, n_keys))
    assert_attention(q, k, v + 1, causal)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("head_dim", [1, 16, 20, 40, 96, 192, 200, 256])
def test_head_dims(head_dim: int, dtype: torch.dtype) -> None:
    q, k, v = (numbers(1, 2, length, head_dim, dtype=dtype) for length in (150, 140, 140))
    assert_attention(q, k, v - 1, causal=True)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "heads behind the rows": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "one head for all": lambda x: x[:, :1].expand_as(x),
    "one batch for all": lambda x: x[:1].expand_as(x),
    "one row for all": lambda x: x[:, :, :1].expand_as(x),
    "a part of wider rows": lambda x: torch.cat([x, x + 1], 3)[..., : x.shape[3]],
    "an odd part of wider rows": lambda x: torch.cat([x, x + 1], 3)[..., 1 : x.shape[3] + 1],
    "columns that lie apart": lambda x: torch.stack([x, x + 1], 4)[..., 0],
    "rows and columns exchanged": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
    "a sign that torch keeps for later": lambda x: torch.imag(torch.complex(x.float(), x.float()).conj()),
}


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str) -> None:
    q, k, v = (VIEWS[view](numbers(2, 3, length, 64)) for length in (100, 150, 150))
    assert_attention(q, k, v * 2)


def test_one_of_three_projections() -> None:
    """Queries, keys and values of all heads beside each other, as one matrix product makes them."""
    q, k, v = numbers(2, 100, 3 * 4 * 64).view(2, 100, 3, 4, 64).permute(2, 0, 3, 1, 4)
    assert_attention(q, k, v)


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.0, -0.2, 1e-5])
@pytest.mark.parametrize("dtype", DTYPES)
def test_scale(scale: float, dtype: torch.dtype) -> None:
    q, k, v = (numbers(1, 2, 130, 32, dtype=dtype) for _ in range(3))
    assert_attention(q, k + 0.5, v + 1, causal=True, scale=scale)


@pytest.mark.parametrize("lengths", [(0, 5), (5, 0), (0, 0)], ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_lengths_of_0(lengths: tuple[int, int], causal: bool) -> None:
    q, k = (numbers(2, 3, length, 64) for length in lengths)
    assert_attention(q, k, k, causal)


def test_a_block_of_minus_infinity_at_the_start_leaves_no_trace() -> None:
    q, k, v = (numbers(1, 1, 300, 64, dtype=torch.float32) for _ in range(3))
    q = q.abs()
    k[:, :, :200, 3] = -INF
    assert_attention(q, k, v)
    k[..., 3] = -INF
    assert attention(q, k, v).eq(0).all()


@pytest.mark.parametrize("described", [False, True], ids=["pointers", "descriptors"])
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("block_n", [32, 128])
def test_plans(block_n: int, causal: bool, described: bool) -> None:
    q, k, v = (numbers(2, 2, length, 64) for length in (333, 222, 222))
    if described and not module._describable(k, v):
        pytest.skip("this GPU has no unit for copying tiles")
    out = torch.full_like(q, NAN)
    launch(q, k, v, out, causal, 0.125, Plan(64, block_n, 4, 2, described))
    torch.testing.assert_close(out, expected(q, k, v, causal), rtol=2e-3, atol=2e-3)


def test_a_tail_is_not_read_from_the_next_head() -> None:
    q, k, v = (numbers(1, 2, 100, 64) for _ in range(3))
    v[:, 1] = NAN
    got = attention(q, k, v)
    torch.testing.assert_close(got[:, 0], expected(q, k, v)[:, 0], rtol=2e-3, atol=2e-3)


def test_more_heads_than_a_grid_has_along_y() -> None:
    q, k, v = (numbers(70_000, 1, 3, 16) for _ in range(3))
    assert_attention(q, k, v)


def test_more_elements_than_an_int32_counts() -> None:
    q, k, v = (torch.empty(2, 260, 33_000, 128, device="cuda", dtype=torch.float16)[:, :, :200].normal_() for _ in range(3))
    assert (q.shape[0] - 1) * q.stride(0) + (q.shape[1] - 1) * q.stride(1) > 2**31
    got = attention(q, k, v)
    torch.testing.assert_close(got[1, 250:], expected(q[1:, 250:], k[1:, 250:], v[1:, 250:])[0], rtol=2e-3, atol=2e-3)


def test_rows_that_lie_more_than_an_int32_apart() -> None:
    wide = torch.empty(150, 2**24 + 64, device="cuda", dtype=torch.float16)
    x = wide[:, -64:].normal_()[None, None]
    assert_attention(x, x, x, causal=True)


def test_no_call_spoils_a_later_one() -> None:
    for dtype in (torch.float16, torch.float32, torch.bfloat16, torch.float16):
        for length in (128, 1, 77, 128):
            x = numbers(1, 1, length, 64, dtype=dtype)
            assert_attention(x, x, x + 1)
            assert_attention(x, x, x + 1, causal=True)


def test_captured_in_a_graph() -> None:
    q, k, v = (numbers(1, 2, 300, 64) for _ in range(3))
    attention(q, k, v)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        got = attention(q, k, v)
    for seed in range(3):
        torch.manual_seed(seed)
        q.normal_()
        graph.replay()
        torch.testing.assert_close(got, expected(q, k, v), rtol=2e-3, atol=2e-3)


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_a_gpu_that_is_not_the_current_one() -> None:
    q, k, v = (numbers(1, 2, 100, 64).to("cuda:1") for _ in range(3))
    assert torch.cuda.current_device() == 0
    assert_attention(q, k, v)
