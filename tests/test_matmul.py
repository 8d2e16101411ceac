"""The matrix product in Triton's interpreter, compiled for many GPUs, and its launcher's choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from course_lib.checking.trace import trace
from course_lib.kernels import matmul as module
from course_lib.kernels.matmul import (
    BY_POINTERS,
    IN_TF32,
    INTERPRETED,
    ON_ORDINARY_UNITS,
    Abilities,
    Plan,
    matmul,
    matmul_kernel,
    plan,
)
from course_lib.machine.compiled import Compiled, compile_for

H200 = Abilities(sms=132, shared=232448, matrix_units=True, descriptors=True)
A100 = Abilities(sms=108, shared=166912, matrix_units=True, descriptors=False)
RTX_4090 = Abilities(sms=128, shared=101376, matrix_units=True, descriptors=False)
T4 = Abilities(sms=40, shared=65536, matrix_units=False, descriptors=False)


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape))).to(dtype)


def computed(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """What `matmul` returns in Triton's interpreter, which runs in a process of its own."""
    return trace(matmul, a, b).result


def assert_product(got: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> None:
    assert got.is_contiguous() and got.dtype == a.dtype
    want = a.double() @ b.double()
    rounding = torch.finfo(a.dtype).eps * want.abs()
    assert ((got.double() - want).abs() <= rounding + 1e-6 * (a.double().abs() @ b.double().abs())).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("shape", [(1, 1, 1), (33, 31, 32), (3, 70, 65), (130, 5, 7), (64, 64, 64)], ids=str)
def test_any_sizes(shape: tuple[int, int, int], dtype: torch.dtype) -> None:
    m, n, k = shape
    a, b = numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype)
    assert_product(computed(a, b), a, b)


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3), (5, 3, 0)], ids=str)
def test_empty_matrices(shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    got = computed(numbers(m, k), numbers(k, n))
    assert got.shape == (m, n) and not got.any()


VIEWS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "turned": lambda x: x.T.contiguous().T,
    "every other row and column": lambda x: x.repeat_interleave(2, 0).repeat_interleave(2, 1)[::2, 1::2],
    "one row for all": lambda x: x[:1].expand(x.shape),
    "one column for all": lambda x: x[:, :1].expand(x.shape),
}


@pytest.mark.parametrize("view", VIEWS)
def test_any_strides(view: str) -> None:
    a, b = numbers(35, 20), numbers(20, 41)
    for left, right in ((VIEWS[view](a), b), (a, VIEWS[view](b))):
        assert_product(computed(left, right), left, right)


def of_the_negatives(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return matmul(torch._neg_view(a), b)


def test_a_tensor_that_holds_the_negatives_of_what_lies_in_memory() -> None:
    a, b = numbers(5, 6), numbers(6, 7)
    assert_product(trace(of_the_negatives, a, b).result, -a, b)


def test_a_sum_that_fp16_could_not_hold() -> None:
    """1024 ones and 3072 more: in fp16, 2048 + 1 is 2048."""
    a, b = torch.ones(2, 4095, dtype=torch.float16), torch.ones(4095, 3, dtype=torch.float16)
    assert (computed(a, b) == 4096).all()  # 4095 in fp16, rounded once


def test_programs_go_down_a_group_of_tiles_before_the_next_column() -> None:
    a, b = numbers(5 * 32, 8), numbers(8, 3 * 32)
    tiles = {}
    for event in trace(matmul, a, b).events:
        if event.kind == "store":
            first = int(event.elements[0])
            tiles[event.program[0]] = (first // b.shape[1] // 32, first % b.shape[1] // 32)
    assert INTERPRETED.group == 2
    assert [tiles[program] for program in range(15)] == [
        *((row, col) for col in range(3) for row in (0, 1)),
        *((row, col) for col in range(3) for row in (2, 3)),
        *((4, col) for col in range(3)),
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (([[1.0]], torch.ones(1, 1)), TypeError, "torch.as_tensor"),
        ((torch.ones(3, 3), torch.ones(3, 3, dtype=torch.int32)), TypeError, r"b is torch.int32.*\.float\(\)"),
        ((torch.ones(3, 3).to_sparse(), torch.ones(3, 3)), TypeError, "to_dense"),
        ((torch.ones(3, 3), torch.ones(3)), ValueError, "b has 1 dimensions"),
        ((torch.ones(3, 3), torch.ones(3, 3).half()), TypeError, "one format, not torch.float32 and torch.float16"),
        ((torch.ones(3, 4), torch.ones(3, 4)), ValueError, "a has 4 columns and b has 3 rows"),
        ((torch.ones(3, 3), torch.ones(3, 3, requires_grad=True)), ValueError, "detach"),
    ],
    ids=["a list", "integers", "sparse", "a vector", "two formats", "lengths along K", "a gradient"],
)
def test_what_is_no_product_is_refused(arguments: tuple[Any, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        matmul(*arguments)


# --- plans ----------------------------------------------------------------------------------------------------------


def test_plans_fit_into_shared_memory_and_follow_the_gpu() -> None:
    for gpu in (H200, A100, RTX_4090, T4):
        for dtype in (torch.float16, torch.bfloat16, torch.float32):
            for described in {False, gpu.descriptors and dtype.itemsize == 2}:
                for size in (16, 512, 2048, 4096, 16384):
                    how = plan(size, size, dtype, described, gpu)
                    assert module._shared(how, dtype) <= gpu.shared
                    assert how.described == described
    assert plan(4096, 4096, torch.float16, False, T4) in ON_ORDINARY_UNITS


def test_small_results_get_small_tiles() -> None:
    sizes = [how.block_m * how.block_n for how in (plan(n, n, torch.float16, True, H200) for n in (256, 1024, 2048, 4096))]
    assert sizes == sorted(sizes) and sizes[0] < sizes[-1]


def test_fp32_goes_by_what_torch_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plan(4096, 4096, torch.float32, False, A100) in ON_ORDINARY_UNITS
    monkeypatch.setattr(torch, "get_float32_matmul_precision", lambda: "high")
    assert plan(4096, 4096, torch.float32, False, A100) in IN_TF32
    assert module._precision() == "tf32"


@pytest.mark.parametrize(
    ("x", "possible"),
    [
        (torch.ones(16, 24).half(), True),
        (torch.ones(16, 24).half().T, True),
        (torch.ones(16, 24), False),
        (torch.ones(16, 25).half(), False),
        (torch.ones(16, 25).half()[:, :24], False),
        (torch.ones(16, 48).half()[:, ::2], False),
        (torch.ones(16, 48).half()[:, 8:32], True),
        (torch.ones(16, 48).half()[:, 1:25], False),
        (torch.ones(1, 24).half().expand(16, 24), False),
    ],
)
def test_descriptors_are_had_of_whole_vectors_side_by_side(x: torch.Tensor, possible: bool) -> None:
    assert module._describable(x) == possible


def compiled(how: Plan, dtype: torch.dtype, target: str) -> Compiled:
    """One plan by pointers, as it is compiled for contiguous matrices of 4096 × 4096."""
    a, b, out = (torch.empty(4096, 4096, dtype=dtype, device="meta") for _ in range(3))
    arguments, options = module.call(a, b, out, how)
    return compile_for(matmul_kernel, *arguments, target=target, **options)


CODE = [
    (BY_POINTERS[0], torch.float16, "sm_90", "HGMMA"),
    (BY_POINTERS[2], torch.float16, "sm_80", "HMMA"),
    (BY_POINTERS[3], torch.bfloat16, "sm_80", "HMMA"),
    (ON_ORDINARY_UNITS[1], torch.float16, "sm_75", "FFMA"),
    (ON_ORDINARY_UNITS[0], torch.float32, "sm_90", "FFMA"),
]


@pytest.mark.parametrize(("how", "dtype", "target", "instruction"), CODE, ids=str)
def test_it_compiles_to_the_units_that_there_are_without_spills(
    how: Plan, dtype: torch.dtype, target: str, instruction: str
) -> None:
    made = compiled(how, dtype, target)
    assert made.count(instruction) > 0
    assert made.spills == 0
    assert made.shared <= module._shared(how, dtype)
