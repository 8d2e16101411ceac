"""The finished attention against torch's, in Triton's interpreter, and its kernel compiled for GPUs."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F

from course_lib.checking.trace import trace
from course_lib.kernels import attention as module
from course_lib.kernels.attention import LARGEST_HEAD, Plan, attention, call, launch, plan
from course_lib.machine.compiled import Compiled, compile_for
from course_lib.machine.specs import find_gpu

INF = float("inf")
TOLERANCE = {torch.float32: 1e-5, torch.float16: 2e-3}


def computed(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, scale: float | None = None
) -> torch.Tensor:
    """What `attention` returns in Triton's interpreter, which runs in a process of its own."""
    return trace(_attention, q, k, v, causal, scale).result


def _attention(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, scale: float | None = None
) -> torch.Tensor:
    return attention(q, k, v, causal=causal, scale=scale)


def launched(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, block_m: int, block_n: int) -> torch.Tensor:
    """What the kernel computes in blocks of these sizes."""
    out = torch.full_like(q, 99)
    launch(q, k, v, out, causal, q.shape[3] ** -0.5, Plan(block_m, block_n, 4, 1))
    return out


def assert_attention(
    got: torch.Tensor, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool = False, scale: float | None = None
) -> None:
    assert got.is_contiguous() and got.dtype == q.dtype
    torch.testing.assert_close(got, expected(q, k, v, causal, scale), rtol=TOLERANCE[q.dtype], atol=TOLERANCE[q.dtype])


def expected(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float | None) -> torch.Tensor:
    """The formula in fp64. torch masks before it scales on the CPU, so that a causal one with a scale of 0 is NaN there."""
    scores = q.double() @ k.double().transpose(2, 3) * (q.shape[3] ** -0.5 if scale is None else scale)
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[2:], dtype=torch.bool).triu(1), -INF)
    weights = torch.softmax(scores, -1)
    weights[(scores == -INF).all(-1)] = 0
    return (weights @ v.double()).to(q.dtype)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("n_keys", [0, 5, 9])
def test_the_formula_is_torchs(n_keys: int, causal: bool) -> None:
    q, k, v = heads(2, 2, 7, 16), heads(2, 2, n_keys, 16), heads(2, 2, n_keys, 16)
    want = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    torch.testing.assert_close(expected(q, k, v, causal, None), want, rtol=1e-5, atol=1e-5)


def heads(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    ("n_queries", "n_keys", "head_dim"), [(1, 1, 16), (5, 70, 64), (70, 5, 40), (65, 65, 1), (33, 130, 128), (3, 4, 256)]
)
def test_sizes(n_queries: int, n_keys: int, head_dim: int, dtype: torch.dtype, causal: bool) -> None:
    q, k, v = (heads(2, 2, length, head_dim, dtype=dtype) for length in (n_queries, n_keys, n_keys))
    assert_attention(computed(q, k, v + 1, causal), q, k, v + 1, causal)


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize(("block_m", "block_n"), [(16, 16), (16, 32), (32, 16), (64, 16), (16, 64)])
@pytest.mark.parametrize(("n_queries", "n_keys"), [(64, 64), (50, 65), (65, 31), (63, 48)])
def test_blocks(n_queries: int, n_keys: int, block_m: int, block_n: int, causal: bool) -> None:
    """Wherever the diagonal and the ends fall, each key is counted once, or not at all."""
    q, k, v = (heads(1, 1, length, 16) for length in (n_queries, n_keys, n_keys))
    assert_attention(trace(launched, q, k, v, causal, block_m, block_n).result, q, k, v, causal)


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "heads behind the rows": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "one head for all": lambda x: x[:, :1].expand_as(x),
    "one row for all": lambda x: x[:, :, :1].expand_as(x),
    "columns that lie apart": lambda x: torch.stack([x, x + 1], 4)[..., 0],
    "rows and columns exchanged": lambda x: x.transpose(2, 3).contiguous().transpose(2, 3),
}


@pytest.mark.parametrize("view", VIEWS)
def test_views(view: str) -> None:
    q, k, v = (VIEWS[view](heads(2, 3, length, 16)) for length in (9, 17, 17))
    assert_attention(computed(q, k, v * 2), q, k, v * 2)


def test_values_that_torch_negates_later() -> None:
    x = torch.imag(torch.complex(heads(1, 1, 9, 16), heads(1, 1, 9, 16)).conj())
    assert x.is_neg()
    assert_attention(trace(lambda y: attention(*[torch.imag(torch.complex(y, y).conj())] * 3), -x).result, x, x, x)


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.0, -0.2])
def test_scale(scale: float) -> None:
    q, k, v = (heads(1, 2, 70, 16) for _ in range(3))
    assert_attention(computed(q, k + 0.5, v + 1, True, scale), q, k + 0.5, v + 1, True, scale)


@pytest.mark.parametrize("shape", [(0, 2, 3, 16), (2, 0, 3, 16), (2, 2, 0, 16), (2, 2, 3, 0)], ids=str)
@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
def test_no_results(shape: tuple[int, ...], causal: bool) -> None:
    x = torch.empty(shape)
    assert computed(x, x, x, causal).shape == F.scaled_dot_product_attention(x, x, x, is_causal=causal).shape == shape


def test_no_keys_give_zeros() -> None:
    q, k = heads(1, 2, 3, 16), torch.empty(1, 2, 0, 16)
    assert_attention(computed(q, k, k), q, k, k)


def test_scores_of_minus_infinity_weigh_nothing_wherever_they_are() -> None:
    """The first blocks of keys, the last ones, and all of them: then there are zeros, as torch has it."""
    q, k, v = heads(1, 1, 5, 16).abs(), heads(1, 1, 200, 16), heads(1, 1, 200, 16)
    for some in (slice(0, 150), slice(100, 200), slice(0, 200)):
        low = k.clone()
        low[:, :, some, 3] = -INF
        got = computed(q, low, v)
        assert not got.isnan().any() and bool(got.any()) == (some != slice(0, 200))
        assert_attention(got, q, low, v)


def test_scores_far_from_zero() -> None:
    q, k, v = heads(1, 1, 5, 16), heads(1, 1, 70, 16), heads(1, 1, 70, 16)
    for far in (300.0, -300.0):
        q[..., 0], k[..., 0] = 10.0, 4 * far / 10
        torch.testing.assert_close(computed(q, k, v), expected(q, k, v, False, None), rtol=1e-4, atol=1e-4)


def test_causal_programs_skip_what_they_do_not_see() -> None:
    q, k, v = (heads(1, 1, length, 16) for length in (64, 64, 64))
    for causal, blocks in ((False, {0: 4, 1: 4, 2: 4, 3: 4}), (True, {0: 4, 1: 3, 2: 2, 3: 1})):
        traced = trace(launched, q, k, v, causal, 16, 16)
        assert {p: sum(event.program[0] == p for event in traced.reads(k)) for p in blocks} == blocks


def test_the_scores_never_go_to_memory() -> None:
    q, k, v = heads(1, 2, 50, 16), heads(1, 2, 200, 16), heads(1, 2, 200, 16)
    traced = trace(_attention, q, k, v)
    assert sum(len(event.elements) for event in traced.writes(traced.result)) == q.numel()
    assert sum(len(event.elements) for event in traced.events if event.kind != "load") == q.numel()


WRONG: dict[str, tuple[Callable[[torch.Tensor], object], type[Exception], str]] = {
    "a list": (lambda x: attention(x.tolist(), x, x), TypeError, "q is a list"),  # type: ignore[arg-type]
    "fp64": (lambda x: attention(x.double(), x.double(), x.double()), TypeError, "fp16, bf16 or fp32"),
    "sparse": (lambda x: attention(x, x.to_sparse(), x), TypeError, "dense"),
    "two formats": (lambda x: attention(x, x.half(), x), TypeError, "one format"),
    "three dimensions": (lambda x: attention(x, x, x[0]), ValueError, "v has 3 dimensions"),
    "two places": (lambda x: attention(x, x.to("meta"), x), ValueError, "in one place"),
    "a key without a value": (lambda x: attention(x, x, x[:, :, 1:]), ValueError, "each key has a value"),
    "other heads": (lambda x: attention(x, x[:, :1], x[:, :1]), ValueError, "expand"),
    "another head_dim": (lambda x: attention(x[..., 1:], x, x), ValueError, "differ in more than their length"),
    "a head_dim of 257": (lambda x: attention(*[x.repeat(1, 1, 1, 17)[..., :257]] * 3), ValueError, "up to 256"),
    "a gradient": (lambda x: attention(x, x, x.clone().requires_grad_()), ValueError, "no backward pass"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_cannot_be_done_is_refused(what: str) -> None:
    function, kind, words = WRONG[what]
    with pytest.raises(kind, match=words):
        function(heads(2, 2, 3, 16))


def test_the_signature_says_the_defaults_of_torch() -> None:
    parameters = inspect.signature(attention).parameters
    assert parameters["causal"].default is False and parameters["scale"].default is None


# --- compiled ---------------------------------------------------------------------------------------------------------


def compiled(head_dim: int, dtype: torch.dtype, causal: bool, target: str) -> Compiled:
    """The kernel as a plan without descriptors has it for 4096 positions of each of 16 heads."""
    units: dict[str, module.Units] = {"sm_75": "none", "gfx942": "16 bits"}
    how = plan(head_dim, dtype.itemsize, units.get(target, "tf32"))
    x = torch.empty(2, 16, 4096, head_dim, dtype=dtype, device="meta")
    arguments, options = call(x, x, x, x, causal, 0.125, how)
    return compile_for(module.attention_kernel, *arguments, **options, target=target)


def test_amds_units_take_16_bits() -> None:
    assert "mfma" in compiled(64, torch.float16, True, "gfx942").amdgcn


@pytest.mark.parametrize("causal", [False, True], ids=["all", "causal"])
@pytest.mark.parametrize("head_dim", [64, 128])
def test_sm_90_computes_both_products_on_its_matrix_units_and_spills_nothing(head_dim: int, causal: bool) -> None:
    found = compiled(head_dim, torch.float16, causal, "sm_90")
    assert "wgmma.mma_async" in found.ptx and "mma.sync" not in found.ptx
    assert found.spills == 0 and found.count("MUFU.EX2")


@pytest.mark.parametrize("gpu", ["T4", "A100", "RTX 4090"])
@pytest.mark.parametrize(
    ("head_dim", "dtype"), [(128, torch.float16), (128, torch.float32), (LARGEST_HEAD, torch.float16)], ids=str
)
def test_it_fits_on_other_gpus(head_dim: int, dtype: torch.dtype, gpu: str) -> None:
    target = find_gpu(gpu)
    assert compiled(head_dim, dtype, True, target.target).shared <= target.architecture.max_shared_per_block


def test_fp32_runs_on_matrix_units_that_take_tf32() -> None:
    assert "wgmma.mma_async" in compiled(64, torch.float32, False, "sm_90").ptx
