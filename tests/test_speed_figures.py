"""Figures of recorded measurements, on a record made by hand; and Triton's own report of the same figures."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import matplotlib.pyplot as plt
import pytest
import triton
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from course_lib.figures import draw_bandwidth, draw_share, draw_tflops, draw_times
from course_lib.figures.canvas import IDLE, Picture
from course_lib.figures.speed import STYLES
from course_lib.machine.specs import MIB
from course_lib.records import ITEMSIZE, LeftOut, Point, Record, RecordError
from course_lib.shapes import Attention, Product, Rows

WIDTHS = (256, 781, 1024, 65536)
GBPS = {"copy": 4000.0, "ours": 3900.0, "torch": 2000.0, "liger": 3800.0}


def point(provider: str, m: int, n: int, how: Any, dtype: str = "float32") -> Point:
    ms = 2 * m * n * ITEMSIZE[dtype] / GBPS[provider] * 1e-6
    return Point(provider, dtype, Rows(m, n), how, ms, ms * 0.95, ms * 1.25)


RECORD = Record(
    "NVIDIA H200",
    4800.0,
    "2026-11-30",
    {"torch": "2.11.0"},
    "made by hand",
    (
        *(point(who, 4096, n, "cold") for who in GBPS for n in WIDTHS if (who, n) != ("liger", 65536)),
        *(point(who, 64, n, how) for who in ("ours", "torch") for n in WIDTHS for how in ("host", "replay")),
    ),
    (
        LeftOut("liger", "float32", Rows(4096, 65536), "cold", "too wide"),
        LeftOut("quack", "float32", Rows(64, 256), "host", "absent"),
    ),
)


def words(picture: Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def line(picture: Picture, provider: str) -> list[tuple[float, float]]:
    colour = STYLES[provider][0]
    found = [one for one in picture.axes[0].lines if one.get_color() == colour]
    assert len(found) == 1
    return list(zip(*found[0].get_data(), strict=True))


def test_bandwidth_is_a_line_a_provider_on_a_logarithmic_axis() -> None:
    picture = draw_bandwidth(RECORD, m=4096)
    axes = picture.axes[0]
    assert axes.get_xscale() == "log"
    assert axes.get_ylabel() == "effective bandwidth (GB/s)"
    assert line(picture, "torch") == [(n, pytest.approx(2000)) for n in WIDTHS]
    assert line(picture, "liger") == [(n, pytest.approx(3800)) for n in WIDTHS[:3]]


def test_every_figure_names_its_machine_and_day() -> None:
    for picture in (draw_bandwidth(RECORD, m=4096), draw_share(RECORD, m=4096), draw_times(RECORD, m=64)):
        assert any(text.startswith("NVIDIA H200, 2026-11-30: ") for text in words(picture))
        assert "on NVIDIA H200" in picture.alt


def test_what_a_figure_shows_is_said_in_words() -> None:
    assert draw_bandwidth(RECORD, m=4096).alt == (
        "effective bandwidth in GB/s over 256 to 65536 columns, 4096 rows, float32, on the GPU, cold L2, on NVIDIA H200; "
        "at 65536 columns: copy 4000, ours 3900, torch 2000"
    )
    assert draw_share(RECORD, m=4096).alt.endswith("at 65536 columns: ours 98%, torch 50%")
    assert draw_times(RECORD, m=64, how="replay", only=["torch"]).alt.endswith("at 65536 columns: torch 16.8")


def test_what_could_not_be_measured_is_noted() -> None:
    assert "not measured: liger at 65536" in words(draw_bandwidth(RECORD, m=4096))
    assert not any(text.startswith("not measured") for text in words(draw_bandwidth(RECORD, m=4096, only=["ours", "copy"])))
    assert not any(text.startswith("not measured") for text in words(draw_times(RECORD, m=64)))


def test_the_peak_is_drawn_where_the_memory_is_the_limit() -> None:
    peak = " the memory's peak, 4800 GB/s"
    assert peak in words(draw_bandwidth(RECORD, m=4096))
    assert peak not in words(draw_bandwidth(RECORD, m=64, how="replay"))


def test_what_fits_in_the_cache_is_marked_for_a_cold_one_only() -> None:
    grey = " fits in the L2 cache, 60 MiB"
    assert grey in words(draw_bandwidth(RECORD, m=4096))
    assert grey not in words(draw_bandwidth(RECORD, m=64, how="replay"))
    spans = [patch for patch in draw_share(RECORD, m=4096).axes[0].patches if patch.get_facecolor()[:3] == to_rgb(IDLE)]
    assert [patch.get_x() + patch.get_width() for patch in spans] == [60 * MIB // (2 * 4096 * 4)]
    unknown = replace(RECORD, device="NVIDIA H999")
    assert grey not in words(draw_bandwidth(unknown, m=4096))


def test_shares_leave_out_the_copy_itself_and_need_it() -> None:
    assert not any(text.startswith("copy") for text in words(draw_share(RECORD, m=4096)))
    with pytest.raises(RecordError, match="no point for copy, float32, m = 64, n = 256, replay"):
        draw_share(RECORD, m=64, how="replay")


def test_names_do_not_lie_upon_each_other() -> None:
    heights = sorted(y for x, y in (text.get_position() for text in draw_bandwidth(RECORD, m=4096).axes[0].texts) if x > 1)
    assert len(heights) == 4
    assert all(upper - lower > 0.05 for lower, upper in pairwise(heights))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"m": 7}, "no points of anybody for 7 rows"),
        ({"dtype": "float16"}, "no points of anybody for 4096 rows, float16, on the GPU"),
        ({"only": ["quack", "ours"]}, "no points of quack for 4096 rows"),
        ({"how": "host"}, "draw_times shows it"),
    ],
    ids=str,
)
def test_figures_are_asked_for_what_there_is(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw_bandwidth(RECORD, **{"m": 4096, **fields})


SIDES = (512, 4096)
PRODUCTS = Record(
    "NVIDIA H200",
    4800.0,
    "2026-11-30",
    {},
    "made by hand",
    (
        *(
            Point(who, "float16", Product(side, side, side), "cold", ms, ms, ms)
            for who, rate in (("ours", 600), ("torch", 700))
            for side in SIDES
            for ms in [2 * side**3 / rate * 1e-9]
        ),
        Point("ours", "float16", Product(512, 512, 4096), "cold", 1.0, 1.0, 1.0),
    ),
    tflops={"float16": 989.5},
)


def test_products_are_drawn_over_the_side_of_the_squares_under_their_peak() -> None:
    picture = draw_tflops(PRODUCTS, over="side")
    assert line(picture, "ours") == [(side, pytest.approx(600)) for side in SIDES]
    assert " the units' peak, 990 TFLOP/s" in words(picture)
    assert picture.axes[0].get_ylim()[1] > 989.5
    assert picture.alt == (
        "operations in TFLOP/s over 512 to 4096 rows and columns of all three matrices, float16, on the GPU, cold L2, "
        "on NVIDIA H200; at 4096 rows and columns of all three matrices: ours 600, torch 700"
    )
    assert not any("L2 cache" in text for text in words(picture))


def test_attention_is_drawn_over_the_sequence_for_one_kind_of_mask() -> None:
    points = tuple(
        Point("ours", "float16", Attention(2, 4, seqlen, 64, causal), "cold", 1.0, 1.0, 1.0)
        for seqlen in SIDES
        for causal in (True, False)
    )
    record = replace(PRODUCTS, points=points)
    assert "not causal" in draw_tflops(record, over="seqlen", causal=False).alt
    with pytest.raises(ValueError, match="several points for one seqlen"):
        draw_tflops(record, over="seqlen")


def test_someone_unknown_is_drawn_too() -> None:
    mine = Point("mine", "float32", Rows(4096, 1024), "cold", 0.02, 0.019, 0.021)
    record = Record(RECORD.device, RECORD.peak, RECORD.date, {}, "by hand", (*RECORD.points, mine))
    assert "mine  1678" in words(draw_bandwidth(record, m=4096))


def test_tritons_own_report_takes_a_points_bandwidths() -> None:
    """The form of the softmax tutorial, which needs pandas; with no GPU it reports what was recorded."""
    configuration = triton.testing.Benchmark(
        x_names=["N"],
        x_vals=list(WIDTHS),
        x_log=True,
        line_arg="provider",
        line_vals=["ours", "torch"],
        line_names=["ours", "torch.softmax"],
        ylabel="effective bandwidth (GB/s)",
        plot_name="softmax",
        args={"M": 4096},
    )

    @triton.testing.perf_report(configuration)
    def report(M: int, N: int, provider: str) -> tuple[float, float, float]:
        return RECORD.point(provider, m=M, n=N).gbps

    plt.switch_backend("agg")
    frame = report.run(return_df=True)
    assert plt.gca().get_xscale() == "log"
    plt.close()
    assert list(frame.columns) == ["N", "ours (effective bandwidth (GB/s))", "torch.softmax (effective bandwidth (GB/s))"]
    assert frame.iloc[:, 2].tolist() == pytest.approx([2000.0] * 4)


def test_operations_are_drawn_only_where_they_are_counted_and_timed_on_the_gpu() -> None:
    with pytest.raises(ValueError, match="draw_times shows it"):
        draw_tflops(PRODUCTS, over="side", how="host")
    with pytest.raises(KeyError, match="float32"):
        draw_tflops(RECORD, over="n", dtype="float32", m=4096)
