"""What the hooks make of pointers and places, seen through `trace` and `check_file`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib.checking.check import check_file
from course_lib.checking.findings import Report
from course_lib.checking.hooks.model import Place
from course_lib.checking.recorder import Recorder, Variation

LAUNCHER = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    {body}

def double(x):
    out = torch.{fresh}_like(x)
    kernel[(triton.cdiv(x.numel(), 64),)]({x}, out, x.numel(), BLOCK=64)
    return out
"""
STORE = "tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=mask), mask=mask)"


def judge(tmp_path: Path, body: str, x: str = "x", fresh: str = "empty") -> Report:
    path = tmp_path / "answer_file.py"
    path.write_text(LAUNCHER.format(body=body.replace("\n", "\n    "), x=x, fresh=fresh))
    return check_file("double", path, seed=0)


@pytest.mark.parametrize(
    ("shape", "stride"),
    [
        ((5,), (1,)),
        ((5,), (3,)),
        ((4, 6), (12, 2)),
        ((6, 4), (1, 6)),
        ((3, 5), (0, 1)),
        ((9, 9), (2, 1)),
        ((2, 3, 4), (7, 5, 2)),
    ],
)
def test_a_place_covers_exactly_the_elements_of_its_tensor(shape: tuple[int, ...], stride: tuple[int, ...]) -> None:
    tensor = torch.zeros(200).as_strided(shape, stride, 20)
    place = Place.of(tensor)
    offsets = np.arange(-10, 120)
    addresses = (tensor.data_ptr() + 4 * offsets).astype(np.uint64)
    reached = {sum(i * step for i, step in zip(index, stride, strict=True)) for index in np.ndindex(*shape)}
    found, inside = place.locate(addresses, 4)
    assert found.tolist() == offsets.tolist()
    assert set(offsets[inside]) == reached
    pairs = {offset for offset in reached if offset + 1 in reached}
    assert set(offsets[place.locate(addresses, 8)[1]]) == pairs
    assert not place.locate(addresses + np.uint64(2), 4)[1].any()


def test_a_view_that_reaches_beyond_its_argument_does_not_own_what_lies_there() -> None:
    storage = torch.zeros(40)
    addresses = (storage.data_ptr() + 4 * np.arange(40)).astype(np.uint64)
    inside = Place.of(storage.as_strided((30,), (1,), 2), Place.of(storage[5:15:2])).locate(addresses, 4)[1]
    assert np.flatnonzero(inside).tolist() == [5, 7, 9, 11, 13]


@pytest.mark.parametrize("order", ["forward", "backward", "shuffled"])
def test_every_order_runs_each_program_once(order: str) -> None:
    recorder = Recorder(None, Variation(order=order))  # type: ignore[arg-type]
    grid = (3, 4, 5)
    programs = [recorder.order(grid, program) for program in np.ndindex(*grid)]
    assert sorted(programs) == list(np.ndindex(*grid))
    assert (programs == list(np.ndindex(*grid))) == (order == "forward")


def test_a_compare_and_swap_outside_its_tensor_is_a_finding_and_is_not_carried_out(tmp_path: Path) -> None:
    report = judge(tmp_path, f"{STORE}\ntl.atomic_cas(out_ptr + n + tl.program_id(0), 0.0, 1.0)")
    assert report.findings[0].kind == "store_out_of_bounds"
    assert "1 element past the end of `out_ptr`" in report.findings[0].message


def test_an_atomic_exchange_of_floats_hands_out_what_was_there(tmp_path: Path) -> None:
    exchange = "tl.atomic_xchg(out_ptr + offsets, tl.full((BLOCK,), 3.0, tl.float32), mask=mask)"
    again = exchange.replace("3.0", "4.0")
    result = "tl.where(before == 3.0, 2 * tl.load(x_ptr + offsets, mask=mask), before)"
    report = judge(tmp_path, f"{exchange}\nbefore = {again}\ntl.store(out_ptr + offsets, {result}, mask=mask)")
    assert report.passed, report


def test_a_pointer_made_from_a_number_is_judged_where_its_tensor_is_known_and_not_otherwise(tmp_path: Path) -> None:
    pointer = "x_ptr = x_ptr.to(tl.pointer_type(tl.float32))\n"
    report = judge(tmp_path, pointer + STORE, x="x.data_ptr()")
    assert not report.judged and report.findings[0].kind == "no_verdict"
    assert "number" in report.findings[0].message


def test_a_kernel_of_another_file_is_reported_where_the_answer_launches_it(tmp_path: Path) -> None:
    (tmp_path / "my_kernels.py").write_text(
        "import triton, triton.language as tl\n\n@triton.jit\ndef double_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):\n"
        "    offsets = tl.arange(0, BLOCK)\n    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets))\n"
    )
    path = tmp_path / "answer_file.py"
    launch = "double_kernel[(1,)](x, out, BLOCK=64)"
    path.write_text(
        "import torch\nfrom my_kernels import double_kernel\n\ndef double(x):\n    out = torch.empty_like(x)\n"
        f"    {launch}\n    return out\n"
    )
    finding = check_file("double", path, seed=0).findings[0]
    assert finding.kind == "load_out_of_bounds"
    assert finding.source is not None and finding.source.text == launch


LOCKED = """
import torch, triton, triton.language as tl

@triton.jit
def kernel(x_ptr, sums_ptr, lock_ptr, columns, row_stride, column_stride, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    part = tl.sum(tl.load(x_ptr + row * row_stride + lanes * column_stride, mask=lanes < columns, other=0.0))
    while tl.atomic_cas(lock_ptr, 0, 1) == 1:
        pass
    tl.store(sums_ptr + row, tl.load(sums_ptr + row) + part)
    tl.debug_barrier()
    tl.atomic_xchg(lock_ptr, 0)

def row_sum(x):
    sums, lock = torch.zeros(len(x), dtype=x.dtype, device=x.device), torch.zeros(1, dtype=torch.int32, device=x.device)
    kernel[(len(x), triton.cdiv(x.shape[1], 64))](x, sums, lock, x.shape[1], *x.stride(), BLOCK=64)
    return sums
"""


@pytest.mark.parametrize(
    ("there", "instead", "kind", "words"),
    [
        ("", "", "no_verdict", "a lock is always free there"),
        ("+ part", "+ 2 * part", "scaled", "2 times"),
        ("while tl.atomic_cas(lock_ptr, 0, 1) == 1:", "while tl.atomic_cas(lock_ptr, 2, 1) == 2:", "race", "matter of luck"),
    ],
)
def test_a_lock_is_neither_a_race_nor_seen_to_work(tmp_path: Path, there: str, instead: str, kind: str, words: str) -> None:
    path = tmp_path / "answer_file.py"
    path.write_text(LOCKED.replace(there, instead))
    report = check_file("row_sum", path, seed=0)
    assert not report.passed
    assert (report.findings[0].kind, report.judged) == (kind, kind != "no_verdict")
    assert words in repr(report)


PROMISED = {
    # what: (what the kernel does, and where its promises fail: None if nowhere)
    "a number": ("mask = offsets < tl.multiple_of(tl.cast(n, tl.int32), 16)\n" + STORE, "mask = offsets < tl.multiple_of("),
    "the start of a block": (
        "start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)\noffsets = start + tl.arange(0, BLOCK)\n" + STORE,
        None,
    ),
    "a pointer": ("x_ptr = tl.multiple_of(x_ptr, 64)\n" + STORE, None),
    "a pointer that does not begin there": ("x_ptr = tl.multiple_of(x_ptr + 1, 16) - 1\n" + STORE, "x_ptr = tl.multiple_of("),
    "a tile of pointers": ("x_ptr = tl.max_contiguous(tl.multiple_of(x_ptr + offsets, 16), BLOCK) - offsets\n" + STORE, None),
    "a block of offsets": ("offsets = tl.max_contiguous(tl.multiple_of(offsets, BLOCK), BLOCK)\n" + STORE, None),
    "offsets that begin elsewhere": ("offsets = tl.multiple_of(offsets + 1, 4) - 1\n" + STORE, "offsets = tl.multiple_of("),
    "offsets from back to front": (
        "back = tl.max_contiguous(n - 1 - offsets, 2)\n"
        "tl.store(out_ptr + back, 2 * tl.load(x_ptr + back, mask=mask), mask=mask)",
        "back = tl.max_contiguous(",
    ),
    "offsets that wrap around in lanes that are not stored": (
        "wrapped = tl.max_contiguous(offsets % n, BLOCK)\ntl.store(out_ptr + offsets, 2 * tl.load(x_ptr + wrapped), mask=mask)",
        None,
    ),
    "offsets that wrap around in lanes that are masked": (
        "wrapped = tl.max_contiguous(offsets % n, BLOCK)\n"
        "tl.store(out_ptr + wrapped, 2 * tl.load(x_ptr + wrapped, mask=mask), mask=mask)",
        None,
    ),
    "lanes that are said to be the same": (
        "same = tl.max_constancy(offsets, 4)\ntl.store(out_ptr + offsets, 2 * tl.load(x_ptr + same, mask=mask), mask=mask)",
        "same = tl.max_constancy(offsets, 4)",
    ),
    "lanes that are the same": (
        "group = tl.max_constancy(offsets // 4, 4)\nback = group * 4 + offsets % 4\n"
        "tl.store(out_ptr + back, 2 * tl.load(x_ptr + back, mask=mask), mask=mask)",
        None,
    ),
    "a tile of two dimensions": (
        "tile = tl.reshape(offsets, [4, BLOCK // 4])\ntile = tl.max_contiguous(tl.multiple_of(tile, [1, 16]), [1, 16])\n"
        "tl.store(out_ptr + tile, 2 * tl.load(x_ptr + tile, mask=tile < n), mask=tile < n)",
        None,
    ),
    "columns that are no neighbours": (
        "tile = tl.reshape(offsets, [4, BLOCK // 4])\ntile = tl.max_contiguous(tile, [2, 1])\n"
        "tl.store(out_ptr + tile, 2 * tl.load(x_ptr + tile, mask=tile < n), mask=tile < n)",
        "tile = tl.max_contiguous(tile, [2, 1])",
    ),
    "an assumption": ("tl.assume(n < 1000)\n" + STORE, "tl.assume(n < 1000)"),
    "an assumption that holds": ("tl.assume(n >= 0)\n" + STORE, None),
}


@pytest.mark.parametrize("what", PROMISED)
def test_a_promise_to_the_compiler_must_hold_where_it_matters(tmp_path: Path, what: str) -> None:
    body, broken = PROMISED[what]
    report = judge(tmp_path, body)
    assert report.passed == (broken is None), report
    if broken is not None:
        finding = report.findings[0]
        assert finding.kind == "false_promise" and report.hint and "Leave it out" in report.hint
        assert finding.source is not None and finding.source.text.startswith(broken)


SCANS = """
import torch, triton, triton.language as tl

@triton.jit
def combine(a, b):
    {combine}

@triton.jit
def kernel(x_ptr, out_ptr, row_stride, column_stride, columns, BLOCK: tl.constexpr):
    row, lanes = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * row_stride + lanes * column_stride, mask=lanes < columns, other=0.0)
    sums = tl.associative_scan(x, 0, combine, reverse={reverse})
    tl.store(out_ptr + row, tl.sum(tl.where(lanes == {last}, sums, 0.0)))

def row_sum(x):
    out = torch.empty(len(x), dtype=x.dtype, device=x.device)
    kernel[(len(x),)](x, out, *x.stride(), x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
"""


@pytest.mark.parametrize(
    ("combine", "kind", "reverse"),
    [
        ("return a + b", None, False),
        ("return a + b", None, True),
        ("if b == 0.0:\n        b = a\n    else:\n        b = a + b\n    return b", "does_not_compile", False),
        ("return b + a * tl.where(b > 9.0, 1.001, 1.0)", "mismatch", False),
        ("return b + a * tl.where(b > 9.0, 1.001, 1.0)", "mismatch", True),
    ],
)
def test_a_scan_that_depends_on_the_order_is_not_taken_from_left_to_right(
    tmp_path: Path, combine: str, kind: str | None, reverse: bool
) -> None:
    path = tmp_path / "answer_file.py"
    path.write_text(SCANS.format(combine=combine, reverse=reverse, last="0" if reverse else "columns - 1"))
    report = check_file("row_sum", path, seed=0)
    assert (report.findings[0].kind if report.findings else None) == kind, report


def test_what_a_loop_counts_with_is_a_scalar(tmp_path: Path) -> None:
    body = "for i in range(2, 3):\n    tl.static_assert(i.dtype == tl.int32)\n    factor = i.to(tl.float32)\n"
    assert judge(tmp_path, "factor = 0.0\n" + body + STORE.replace("2 *", "factor *")).passed


@pytest.mark.parametrize("body", ["far = offsets + 2147483600\nfar * far", "(offsets + 200).to(tl.uint8) * 17"])
def test_integers_wrap_around_as_on_a_gpu(tmp_path: Path, body: str) -> None:
    assert judge(tmp_path, f"{body}\n{STORE}").passed
