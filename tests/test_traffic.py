"""What torch's operations move, counted as they run."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from course_lib.machine.traffic import Step, count_traffic, n_bytes

X = torch.arange(12.0).reshape(3, 4)
BYTES = X.nbytes


@pytest.mark.parametrize(
    ("function", "steps"),
    [
        (lambda x: x + 1, [Step("add", BYTES, BYTES)]),
        (lambda x: x.t()[1:].unsqueeze(0).expand(5, 3, 3), []),
        (lambda x: torch.empty_like(x), []),
        (lambda x: x.reshape(-1).view(4, 3), []),
        (lambda x: x.t().contiguous(), [Step("clone", BYTES, BYTES)]),
        (lambda x: x.t().reshape(-1), [Step("clone", BYTES, BYTES)]),
        (lambda x: x.max(dim=1).values, [Step("max", BYTES, 3 * 4 + 3 * 8)]),
        (lambda x: x.clone().mul_(2), [Step("clone", BYTES, BYTES), Step("mul_", BYTES, BYTES)]),
        (lambda x: torch.empty_like(x).copy_(x), [Step("copy_", BYTES, BYTES)]),
        (lambda x: torch.empty_like(x).fill_(1.0), [Step("fill_", 0, BYTES)]),
        (lambda x: torch.exp(x, out=torch.empty_like(x)), [Step("exp", BYTES, BYTES)]),
        (lambda x: x.half(), [Step("_to_copy", BYTES, BYTES // 2)]),
        (lambda x: x.float(), []),
        (lambda x: x - x[:, :1].expand(3, 4), [Step("sub", BYTES + 3 * 4, BYTES)]),
        (lambda x: torch.cat([x, x]), [Step("cat", 2 * BYTES, 2 * BYTES)]),
    ],
)
def test_each_operation_counts_what_goes_in_and_what_comes_out(
    function: Callable[[torch.Tensor], torch.Tensor], steps: list[Step]
) -> None:
    assert count_traffic(function, X.clone()) == steps


def test_a_step_is_what_a_picture_of_traffic_takes() -> None:
    name, read, written = Step("exp", 8, 4)
    assert (name, read, written, Step("exp", 8, 4).moved) == ("exp", 8, 4, 12)


def test_a_function_that_fails_leaves_nothing_behind() -> None:
    with pytest.raises(ZeroDivisionError):
        count_traffic(lambda x: x + 1 / 0, X)
    assert count_traffic(torch.exp, X) == [Step("exp", BYTES, BYTES)]


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (torch.ones(3, 1).expand(3, 5), 12),
        (torch.ones(1, 1).expand(3, 5), 4),
        (torch.ones(4, 6)[::2, ::3], 16),
        (torch.ones(0, 5), 0),
        (torch.ones(()), 4),
        (torch.ones(2, 3, dtype=torch.float16), 12),
        (torch.ones(7, 5, device="meta"), 140),
    ],
)
def test_what_a_stride_of_0_repeats_is_there_once(tensor: torch.Tensor, expected: int) -> None:
    assert n_bytes(tensor) == expected
