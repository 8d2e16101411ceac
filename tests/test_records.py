"""Recorded measurements: what is found in them, and what is refused as impossible or broken."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from course_lib import records
from course_lib.records import DATA, LeftOut, Point, Record, RecordError, load, record, save
from course_lib.shapes import Attention, Norm, Product, Rows, Shape


def point(provider: str = "ours", n: int = 1024, ms: float = 0.0128, m: int = 4096, **other: Any) -> Point:
    fields = {"dtype": "float32", "how": "cold", "low": ms * 0.9, "high": ms * 1.25, **other}
    return Point(provider=provider, shape=Rows(m, n), ms=ms, **fields)


LIGER = LeftOut(
    "liger", "float32", Rows(4096, 131072), "cold", "RuntimeError: exceeds the recommended Triton blocksize = 65536."
)
GOOD = Record(
    device="NVIDIA H200",
    peak=4800.0,
    date="2026-11-30",
    versions={"torch": "2.11.0", "triton": "3.6.0"},
    method="by hand",
    points=(point(n=2048, ms=0.02), point(), point("copy", ms=0.0096), point(how="replay", m=64, ms=0.002)),
    left_out=(LIGER,),
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "softmax-h200.json"
    save(GOOD, path)
    return path


def test_what_is_written_is_what_is_read(file: Path) -> None:
    assert load(file) == GOOD
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_file_has_a_point_a_line(file: Path) -> None:
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if '"provider"' in line]
    assert len(lines) == len(GOOD.points) + len(GOOD.left_out)
    assert json.loads(lines[0].rstrip(",")) == {
        **{"provider": "ours", "dtype": "float32", "m": 4096, "n": 2048},
        **{"how": "cold", "ms": 0.02, "low": 0.02 * 0.9, "high": 0.02 * 1.25},
    }


def test_an_interrupted_writing_leaves_what_was_there(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        save(replace(GOOD, method="by foot"), file)
    assert load(file) == GOOD


def test_points_are_selected_by_what_they_have_and_come_by_columns() -> None:
    assert [found.shape.n for found in GOOD.select(provider="ours", how="cold")] == [1024, 2048]
    assert GOOD.select(how="replay") == (GOOD.points[3],)
    assert GOOD.select(m=4096, n=1024, provider="copy") == (GOOD.points[2],)
    assert GOOD.select(dtype="bfloat16") == ()
    with pytest.raises(RecordError, match="a Rows has m, n, and no k"):
        GOOD.select(k=7)
    assert GOOD.providers == ("ours", "copy")


def test_bandwidth_counts_each_element_twice() -> None:
    found = point(ms=0.0128)
    assert found.n_bytes == 2 * 4096 * 1024 * 4
    assert found.gbps == pytest.approx((2621.44, 2621.44 / 1.25, 2621.44 / 0.9))
    assert point(dtype="bfloat16").n_bytes == found.n_bytes / 2


def test_a_share_is_of_the_copy_of_the_same_matrix() -> None:
    assert GOOD.share(GOOD.point("ours", m=4096, n=1024)) == pytest.approx(0.75)
    with pytest.raises(RecordError, match="no point for copy, float32, m = 4096, n = 2048, cold"):
        GOOD.share(GOOD.point("ours", m=4096, n=2048))


def test_a_missing_point_is_told_with_its_reason() -> None:
    with pytest.raises(RecordError, match="liger, float32, m = 4096, n = 131072, cold: RuntimeError: exceeds"):
        GOOD.point("liger", m=4096, n=131072)
    with pytest.raises(RecordError, match=r"it holds ours, copy; select\(…\) shows"):
        GOOD.point("torch", m=4096, n=1024)
    with pytest.raises(RecordError, match="2 points for ours, float32, m = 4096, cold: say more"):
        GOOD.point("ours", m=4096)


def changed(**fields: Any) -> dict[str, Any]:
    return {"provider": "ours", "dtype": "float32", "m": 64, "n": 256, "how": "host", "ms": 1, "low": 1, "high": 1} | fields


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "a figure above the peak": ({"points": [changed(how="cold", ms=2e-5, low=2e-5)]}, "6554 GB/s, and NVIDIA H200 moves 4800"),
    "quantiles that fall": ({"points": [changed(low=2)]}, r"points\[0\]: low, ms and high are positive .* \(2, 1, 1\)"),
    "no time at all": ({"points": [changed(low=0)]}, "positive milliseconds"),
    "time that is no number": ({"points": [changed(ms="1")]}, "positive milliseconds"),
    "time that never ends": ({"points": [changed(high=float("inf"))]}, "positive milliseconds"),
    "an unknown dtype": ({"points": [changed(dtype="fp32")]}, "dtype is one of float32, float16, bfloat16, not 'fp32'"),
    "an unknown way": ({"points": [changed(), changed(how="warm")]}, r"points\[1\]: how is one of cold, replay, host"),
    "half a row": ({"points": [changed(m=0.5)]}, "m is a positive integer, not 0.5"),
    "nobody": ({"points": [changed(provider="")]}, "provider is text"),
    "a field too many": ({"points": [changed(gbps=7)]}, r"points\[0\]: it is an object with dtype, high, .* and m, n or"),
    "a field too few": ({"points": [{"provider": "ours"}]}, r"points\[0\]: it is an object with dtype, high, .* and m, n or"),
    "a list in place of a point": ({"points": [[1]]}, r"not \[1\]"),
    "two points for one thing": ({"points": [changed(), changed(ms=1)]}, "two points for"),
    "no points": ({"points": []}, "there are no points"),
    "points that are no list": ({"points": {}}, "a list called 'points'"),
    "no reason": ({"left_out": [{**changed(), "reason": "x"}]}, r"left_out\[0\]: it is an object with .*reason"),
    "another calendar": ({"date": "30.11.2026"}, "date is a day such as 2026-11-30"),
    "no device": ({"device": " "}, "device is text"),
    "no peak": ({"peak": 0}, "peak is a positive number"),
    "an operation rate that is no number": ({"tflops": {"float16": "fast"}}, "tflops are an object of positive numbers"),
    "two kinds of shape": ({"points": [changed(), changed(k=3)], "tflops": {"float32": 1.0}}, "shapes of two kinds"),
    "versions as numbers": ({"versions": {"torch": 2.11}}, "versions are an object of strings"),
    "something more": ({"notes": ""}, "it is an object with device, peak, date"),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_file_is_refused_by_name(fault: str, file: Path) -> None:
    fields, message = BROKEN[fault]
    file.write_text(json.dumps(json.loads(file.read_text(encoding="utf-8")) | fields), encoding="utf-8")
    with pytest.raises(RecordError, match=f"softmax-h200.json: .*{message}"):
        load(file)


SHAPES: list[Shape] = [
    Norm(4096, 8192, "forward"),
    Norm(4096, 8192, "backward"),
    Product(4096, 4096, 4096),
    Attention(4, 16, 4096, 128, causal=True),
]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_kind_of_work_is_read_as_it_was_written(shape: Shape, tmp_path: Path) -> None:
    rates = {"float16": 989.5} if shape.flops else {}
    points = tuple(Point(name, "float16", shape, "cold", 1.0, 0.9, 1.1) for name in ("ours", "torch"))
    made = replace(GOOD, points=points, left_out=(LeftOut("peer", "float16", shape, "cold", "absent"),), tflops=rates)
    save(made, tmp_path / "some-h200.json")
    assert load(tmp_path / "some-h200.json") == made
    assert made.share(made.points[0], of="torch") == 1


def product(ms: float, how: Any = "cold", dtype: str = "float16") -> Record:
    points = (Point("ours", dtype, Product(4096, 4096, 4096), how, ms, ms, ms),)
    return replace(GOOD, points=points, left_out=(), tflops={"float16": 989.5})


def test_more_operations_than_the_units_do_are_refused() -> None:
    least = 2 * 4096**3 / 989.5e12 * 1e3
    assert product(least * 1.001).points[0].tflops[0] == pytest.approx(989.5, rel=2e-3)
    for how in ("cold", "replay"):
        with pytest.raises(RecordError, match="TFLOP/s, and NVIDIA H200 does 990 at most"):
            product(least * 0.99, how)
    assert product(least * 0.01, "host").points[0].how == "host"
    with pytest.raises(RecordError, match="tflops has no peak for bfloat16"):
        product(1.0, dtype="bfloat16")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Rows(0, 5), "m is a positive integer, not 0"),
        (lambda: Norm(3, 5, "sideways"), "direction is one of forward, backward, not 'sideways'"),
        (lambda: Product(3, 5, 2.5), "k is a positive integer, not 2.5"),
        (lambda: Attention(1, True, 5, 64, False), "heads is a positive integer, not True"),
        (lambda: Attention(1, 2, 5, 64, "no"), "causal is true or false, not 'no'"),
    ],
)
def test_there_is_no_work_of_such_a_shape(make: Callable[[], Shape], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_squares_are_found_by_their_side() -> None:
    assert [point.shape for point in product(1.0).select(side=4096)] == [Product(4096, 4096, 4096)]
    assert Product(2, 2, 3).side is None


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "a list called 'points'"), ("{}", "'points'")])
def test_a_file_that_is_no_record_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "softmax-h200.json"
    path.write_text(text)
    with pytest.raises(RecordError, match=f"softmax-h200.json.* {message}"):
        load(path)


def test_a_record_is_found_by_subject_and_gpu(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "DATA", file.parent)
    assert record("softmax", "H200") == record("softmax", "NVIDIA H200") == GOOD
    with pytest.raises(RecordError, match="no record 'softmax-t4'; there are softmax-h200"):
        record("softmax", "Tesla T4")
    file.unlink()
    with pytest.raises(RecordError, match="there are none yet"):
        record("softmax", "h200")


@pytest.mark.parametrize("path", sorted(DATA.glob("*-*.json")), ids=lambda path: path.stem)
def test_every_record_that_is_here_can_be_right(path: Path) -> None:
    found = load(path)
    assert path.stem.endswith(f"-{records.slug(found.device)}")
    assert {"torch", "triton", "python", "driver"} <= found.versions.keys()


def test_the_table_of_shares_is_that_of_the_record() -> None:
    recorded = record("softmax", "h200")
    text = Path(__file__).parents[1].joinpath("benchmarks", "README.md").read_text(encoding="utf-8")
    widths = (4096, 5000, 8192, 12345, 16384, 32768, 50257, 65536, 131072)
    for dtype in ("float32", "float16", "bfloat16"):
        points = [recorded.point("ours", dtype=dtype, m=4096, n=n) for n in widths]
        assert f"| {dtype} | " + " | ".join(f"{recorded.share(point):.3f}" for point in points) + " |" in text


def test_no_other_provider_is_faster_by_more_than_half_a_per_cent() -> None:
    recorded = record("softmax", "h200")
    for ours in recorded.select(provider="ours", m=4096, how="cold"):
        others = recorded.select(dtype=ours.dtype, m=4096, n=ours.shape.n, how="cold")
        assert ours.ms < 1.005 * min(other.ms for other in others if other.provider not in ("copy", "ours"))
