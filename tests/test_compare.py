"""Comparing values: what is close enough, and which shape a difference has."""

from __future__ import annotations

import pytest
import torch

from course_lib.catalog.model import Tolerance
from course_lib.checking.compare import compare

EXACT = Tolerance()
WANT = torch.randn(100, generator=torch.Generator().manual_seed(7))
MATRIX = torch.randn(6, 9, generator=torch.Generator().manual_seed(8))


def wrong_from(start: int, want: torch.Tensor = WANT) -> torch.Tensor:
    got = want.clone()
    got[start:] = torch.randn(len(got[start:]), generator=torch.Generator().manual_seed(1))
    return got


def with_holes(step: int) -> torch.Tensor:
    got = WANT.clone()
    got[1::step] += 1
    return got


def wrong_columns() -> torch.Tensor:
    got = MATRIX.clone()
    got[:, 7:] += 1
    return got


SHAPES = {
    "nan": (torch.where(torch.arange(100) == 3, float("nan"), WANT), WANT),
    "constant": (torch.zeros(100), WANT),
    "scaled": (WANT * 3, WANT),
    "reversed": (WANT.flip(0), WANT),
    "transposed": (MATRIX.t().contiguous().reshape(6, 9), MATRIX),
    "shifted": (WANT.roll(1), WANT),
    "first_block_only": (wrong_from(32), WANT),
    "tail": (wrong_from(96), WANT),
    "periodic": (with_holes(4), WANT),
    "mismatch": (WANT + 1 + torch.arange(100), WANT),
}


@pytest.mark.parametrize("kind", SHAPES)
def test_the_shape_of_a_difference_is_recognised(kind: str) -> None:
    got, want = SHAPES[kind]
    found = compare(got, want, EXACT)
    assert found is not None
    assert found.kind == kind


def test_wrong_last_columns_are_a_tail() -> None:
    found = compare(wrong_columns(), MATRIX, EXACT)
    assert found is not None
    assert (found.kind, found.count) == ("tail", 12)


def test_equal_numbers_are_not_shifted() -> None:
    found = compare(torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0]), torch.zeros(5), EXACT)
    assert found is not None
    assert found.kind == "mismatch"


def test_a_few_ones_among_zeros_are_not_shifted() -> None:
    want, got = torch.zeros(28), torch.zeros(28)
    want[[3, 9, 20]], got[[1, 26]] = 1.0, 1.0
    mismatch = compare(got, want, Tolerance(rtol=1e-5))
    assert mismatch is not None and mismatch.kind == "mismatch"


@pytest.mark.parametrize("shape", [(3,), (4, 4)])
def test_equal_numbers_that_are_nearly_right_are_neither_reversed_nor_transposed(shape: tuple[int, ...]) -> None:
    """A maximum in fp16 of rows that are all the same was "in reverse order"."""
    found = compare(torch.full(shape, 1.905273), torch.full(shape, 1.905266), EXACT)
    assert found is not None
    assert found.kind == "mismatch"


def test_rows_that_are_scaled_each_in_its_own_way_are_recognised() -> None:
    want = torch.softmax(MATRIX, dim=1)
    want[2, :4] = 0
    found = compare(want * torch.arange(2.0, 8.0)[:, None], want, EXACT)
    assert found is not None
    assert found.kind == "scaled"
    assert "2 times, 3 times" in found.message


def test_rows_that_are_right_do_not_hide_that_the_others_are_scaled() -> None:
    want = torch.softmax(MATRIX, dim=1)[:2]
    found = compare(want * torch.tensor([[1.0], [0.5]]), want, EXACT)
    assert found is not None
    assert (found.kind, found.message) == ("scaled", "each wrong row is a multiple of the right one: 0.5 times")


@pytest.mark.parametrize("wrong", [slice(96, None), slice(32, None), slice(1, None, 4)])
def test_where_all_is_nearly_right_the_places_say_nothing(wrong: slice) -> None:
    got = WANT.clone()
    got[wrong] *= 1 + 0.01 * torch.rand(len(got[wrong]), generator=torch.Generator().manual_seed(2))
    found = compare(got, WANT, EXACT)
    assert found is not None
    assert (found.kind, found.near) == ("mismatch", True)


def test_a_number_where_nan_was_expected_is_said_to_be_one() -> None:
    want = torch.tensor([float("nan"), 1.0, 2.0])
    found = compare(torch.tensor([0.0, 1.0, 2.0]), want, EXACT)
    assert found is not None
    assert (found.kind, found.message) == ("mismatch", "1 of 3 elements is a number where NaN was expected")


def test_equal_numbers_are_a_multiple_of_anything_which_says_nothing() -> None:
    found = compare(torch.full((5,), -1.0), torch.full((5,), -0.75), EXACT)
    assert found is not None
    assert found.kind == "mismatch"


@pytest.mark.parametrize("wrong", [[2], [2, 3], [0, 2, 4]])
def test_a_few_elements_show_no_pattern_of_places(wrong: list[int]) -> None:
    got = WANT[:5].clone()
    got[wrong] += torch.tensor([0.5, -2.0, 0.25])[: len(wrong)]
    found = compare(got[: wrong[-1] + 1], WANT[: wrong[-1] + 1], EXACT)
    assert found is not None
    assert found.kind == "mismatch"


def test_three_wrong_elements_in_equal_steps_are_not_periodic_unless_they_go_on_to_the_end() -> None:
    got = WANT.clone()
    got[[3, 10, 17]] += 1
    found = compare(got, WANT, EXACT)
    assert found is not None
    assert found.kind == "mismatch"


def test_a_single_wrong_element_among_many_is_found() -> None:
    want = torch.randn(5000)
    got = want.clone()
    got[4321] += 1e-3
    found = compare(got, want, Tolerance(rtol=1e-5, atol=1e-6))
    assert found is not None
    assert (found.count, found.examples[0][0]) == (1, (4321,))


def test_equal_nan_and_infinities_are_equal() -> None:
    special = torch.tensor([float("nan"), float("inf"), float("-inf"), 0.0])
    assert compare(special, special.clone(), EXACT) is None


@pytest.mark.parametrize("got", [float("-inf"), 1e38, float("nan")])
def test_nothing_finite_or_opposite_is_close_to_infinity(got: float) -> None:
    assert compare(torch.tensor([got]), torch.tensor([float("inf")]), Tolerance(rtol=1e-2, atol=1.0)) is not None


def test_the_tolerance_is_relative_and_absolute() -> None:
    want = torch.tensor([1000.0, 0.0])
    assert compare(want + torch.tensor([0.5, 0.0]), want, Tolerance(rtol=1e-3)) is None
    assert compare(want + torch.tensor([0.0, 1e-3]), want, Tolerance(rtol=1e-3)) is not None
    assert compare(want + torch.tensor([0.0, 1e-3]), want, Tolerance(rtol=1e-3, atol=1e-2)) is None


def test_large_whole_numbers_are_compared_to_their_last_digit() -> None:
    """Beyond 2⁵³, fp64 takes neighbours for equal: an offset that was computed in fp64 passed."""
    want = torch.tensor([2**62 - 1, 5])
    found = compare(want.double().long(), want, EXACT)
    assert found is not None
    assert (found.count, found.examples) == (1, (((0,), 2**62, 2**62 - 1),))
    assert found.message.endswith("wrong, by 1")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_rounded_result_may_be_off_by_one_in_its_last_place(dtype: torch.dtype) -> None:
    want = torch.tensor([1.0, 1.9, 3e-3, 1e-7], dtype=dtype)
    next_one = torch.nextafter(want, torch.full_like(want, 9.0))
    after_that = torch.nextafter(next_one, torch.full_like(want, 9.0))
    assert compare(next_one, want, Tolerance(rtol=1e-4)) is None
    assert compare(after_that[:1], want[:1], Tolerance(rtol=1e-4)) is not None
    assert compare(next_one, want, Tolerance()) is not None


def test_zeros_do_not_pass_for_small_values() -> None:
    softmax = torch.softmax(torch.randn(64, 1000), dim=1)
    assert compare(torch.zeros_like(softmax), softmax, Tolerance(rtol=1e-4, atol=1e-6)) is not None


@pytest.mark.parametrize("got", [torch.zeros(99), torch.zeros(100, dtype=torch.float64)])
def test_another_shape_or_dtype_is_an_error_of_the_caller(got: torch.Tensor) -> None:
    with pytest.raises(ValueError, match="cannot compare"):
        compare(got, WANT, EXACT)
