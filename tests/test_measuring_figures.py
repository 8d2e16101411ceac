"""Pictures of measuring, drawn from values made by hand: what is said about them, and that all their words are on the sheet."""

from __future__ import annotations

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from course_lib.figures import draw_lines, draw_readings, draw_timeline
from course_lib.figures.canvas import Picture
from course_lib.machine.launches import timeline

LINES = {
    "cold": [(512, 19.0, 18.0, 20.0), (256, 10.0, 9.0, 11.0), (2048, 30.0, 29.0, 31.0)],
    "warm": [(256, 10.5, 9.0, 11.0), (2048, 30.2, 29.0, 31.0)],
}


def words(picture: Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def test_a_timeline_says_what_the_clock_shows() -> None:
    picture = draw_timeline(timeline(10, launch=5, kernel=100, wait="never"))
    assert picture.alt == "host and GPU: clock: 50 µs for 10 calls, 5 µs each; a kernel takes 100 µs"


def test_a_timeline_goes_on_to_the_end_of_the_last_kernel() -> None:
    assert "1005 µs" in words(draw_timeline(timeline(10, launch=5, kernel=100, wait="never")))


def test_readings_have_a_median_that_one_long_one_does_not_move() -> None:
    assert draw_readings({"calls": [1.0] * 9 + [11.0]}).alt == "calls: 10 readings, median 1 ms, mean 2 ms"


def test_relative_readings_keep_their_figures_and_share_an_axis() -> None:
    picture = draw_readings({"short": [1.0, 2.0, 3.0], "long": [10.0, 20.0, 30.0]}, relative=True)
    assert picture.alt == "short: 3 readings, median 2 ms, mean 2 ms; long: 3 readings, median 20 ms, mean 20 ms"
    assert picture.axes[0].get_xlim()[1] < 2
    assert picture.axes[0].get_xscale() == "linear"


def test_readings_that_reach_far_get_a_logarithmic_axis() -> None:
    assert draw_readings({"first": [0.02, 0.03, 180.0]}).axes[0].get_xscale() == "log"


@pytest.mark.parametrize("values", [[1.0], [0.0, 1.0], []])
def test_readings_that_cannot_be_drawn_are_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match="at least two readings"):
        draw_readings({"calls": values})


def test_lines_name_the_machine_and_their_limits() -> None:
    picture = draw_lines(LINES, machine="NVIDIA H200", ylabel="GB/s", limits={"data sheet": 48.0})
    assert picture.alt == "GB/s on NVIDIA H200: cold 10 to 30; warm 10.5 to 30.2; data sheet 48"
    assert {"measured on NVIDIA H200", "cold", "warm", "data sheet"} <= set(words(picture))


@pytest.mark.parametrize("lines", [{}, {"cold": []}])
def test_lines_of_nothing_are_refused(lines: dict[str, list[tuple[float, float, float, float]]]) -> None:
    with pytest.raises(ValueError, match="nothing to draw"):
        draw_lines(lines, machine="NVIDIA H200", ylabel="GB/s")


@pytest.mark.parametrize(
    "picture",
    [
        draw_timeline(timeline(10, launch=5, kernel=12)),
        draw_timeline(timeline(10, launch=20, kernel=1, wait="each")),
        draw_timeline(timeline(1, launch=1, kernel=100)),
        draw_timeline(timeline(10, launch=5, kernel=2, graph=True)),
        draw_readings({"short": [0.003, 0.004, 0.006], "long": [1.0, 1.01, 1.02]}, relative=True),
        draw_readings({"a call on some machine that has a long name": [0.02, 0.03, 180.0], "another": [1.0, 1.1]}),
        draw_lines(LINES, machine="NVIDIA H200, 2026-11-30: 4096 × N", ylabel="GB/s", limits={"the data sheet": 31.0}),
        draw_lines({str(n): [(256, 9.0, 9.0, 9.0), (512, 9.5, 9.0, 10.0)] for n in range(8)}, machine="H200", ylabel="GB/s"),
    ],
    ids=lambda picture: picture.alt[:40],
)
def test_no_words_leave_the_sheet_or_cover_each_other(picture: Picture) -> None:
    canvas = FigureCanvasAgg(picture)
    canvas.draw()
    axes = [one for sheet in picture.axes for one in (sheet.xaxis, sheet.yaxis)]
    ticks = {label for axis in axes for label in axis.get_ticklabels(which="both")}  # some lie beyond an axis's ends
    texts = [text for text in picture.findobj(Text) if text.get_text() and text.get_visible() and text not in ticks]
    boxes = {text.get_text(): text.get_window_extent() for text in texts}
    for name, box in boxes.items():
        assert picture.bbox.x0 <= box.x0, name
        assert box.x1 <= picture.bbox.x1, name
        assert picture.bbox.y0 <= box.y0, name
        assert box.y1 <= picture.bbox.y1, name
    names = [boxes[text.get_text()] for text in texts if text.get_text() in ("cold", "warm", "the data sheet")]
    assert not any(one.overlaps(other) for place, one in enumerate(names) for other in names[:place])
