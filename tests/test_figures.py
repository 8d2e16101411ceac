"""Drawing is tested on values made by hand: what is said about a picture, and what words and marks stand in it."""

from __future__ import annotations

import base64
import io
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from matplotlib.patches import Rectangle
from matplotlib.text import Text
from PIL import Image

from course_lib.checking.events import Event, Launch, Trace, View
from course_lib.checking.findings import SourceLine
from course_lib.figures import (
    draw_accesses,
    draw_blocks,
    draw_coalescing,
    draw_grid,
    draw_lanes,
    draw_mask,
    draw_row,
    draw_row_schedule,
    draw_strides,
    draw_traffic,
    draw_turns,
    draw_wrap,
    lane_addresses,
    pieces_touched,
    slider,
    wrap_int32,
)
from course_lib.figures.canvas import Picture

SOURCE = SourceLine("cell", 1, "tl.load(x_ptr + offsets)")


def vector_view(name: str, n: int, storage: int = 0, argument: int | None = None) -> View:
    return View(name, storage, 0, (n,), (1,), "float32", 4, argument)


def event(kind: Any, program: int, view: int, elements: Any, outside: Any = (), launch: int = 0) -> Event:
    inside, beyond = (np.array(list(offsets), dtype=np.int64) for offsets in (elements, outside))
    return Event(kind, launch, (program, 0, 0), view, SOURCE, inside, beyond, 4, 0)


def words(picture: Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def add_one_trace(n: int = 10, block: int = 4, masked: bool = True) -> Trace:
    programs = -(-n // block)
    launch = Launch("add_one_kernel", (programs, 1, 1), (vector_view("x_ptr", n), vector_view("y_ptr", n, 1)), {})
    events = []
    for program in range(programs):
        offsets = range(program * block, (program + 1) * block)
        inside = [offset for offset in offsets if offset < n]
        outside = [] if masked else [offset for offset in offsets if offset >= n]
        events += [event("load", program, 0, inside), event("store", program, 1, inside, outside)]
    return Trace((launch,), tuple(events))


def test_accesses_name_each_tensor_and_count_what_was_touched():
    picture = draw_accesses(add_one_trace())
    assert picture.alt == ("add_one_kernel, x_ptr: 10 of 10 elements read; add_one_kernel, y_ptr: 10 of 10 elements written")


def test_accesses_mark_what_lies_outside():
    picture = draw_accesses(add_one_trace(masked=False))
    assert "y_ptr: 10 of 10 elements written, 2 outside the tensor" in words(picture)
    assert "10" in words(picture)
    assert "11" in words(picture)


def test_accesses_show_the_minus_of_an_address_before_the_tensor():
    launch = Launch("k", (1, 1, 1), (vector_view("x_ptr", 4),), {})
    picture = draw_accesses(Trace((launch,), (event("load", 0, 0, [0, 1], [-3]),)))
    assert "−3" in words(picture)
    assert any("dashed: not touched" in sentence for sentence in words(picture))


def test_accesses_count_the_programs_that_wrote_one_element():
    launch = Launch("k", (3, 1, 1), (vector_view("x_ptr", 4),), {})
    picture = draw_accesses(Trace((launch,), tuple(event("store", program, 0, [1]) for program in range(3))))
    assert "3×" in words(picture)


def test_accesses_of_one_tensor_leave_the_others_out():
    x = torch.zeros(4)
    launch = Launch("k", (1, 1, 1), (vector_view("x_ptr", 4, argument=0), vector_view("y_ptr", 4, 1)), {})
    trace = Trace((launch,), (event("load", 0, 0, range(4)), event("store", 0, 1, range(4))), arguments=(x,))
    assert "y_ptr" not in draw_accesses(trace, x).alt
    assert "x_ptr" not in draw_accesses(trace, "y_ptr").alt


def test_accesses_follow_strides():
    """Offsets are places in memory: in a transposed view, element (0, 1) lies one row stride further."""
    view = View("x_ptr", 0, 0, (2, 3), (1, 2), "float32", 4)
    launch = Launch("k", (2, 1, 1), (view,), {})
    events = tuple(event("load", row, 0, [row + 2 * column for column in range(3)]) for row in range(2))
    picture = draw_accesses(Trace((launch,), events))
    cells = [text for text in picture.findobj(Text) if text.get_text() in ("0", "1") and text.get_fontsize() > 7]
    by_line = sorted((round(text.get_position()[1], 1), text.get_text()) for text in cells)
    assert [label for _, label in by_line] == ["0", "0", "0", "1", "1", "1"]


def test_accesses_of_a_repeated_row_touch_every_element_that_lies_there():
    view = View("x_ptr", 0, 0, (3, 2), (0, 1), "float32", 4)
    trace = Trace((Launch("k", (1, 1, 1), (view,), {}),), (event("load", 0, 0, [0, 1]),))
    assert "6 of 6 elements read" in draw_accesses(trace).alt


def test_accesses_tell_launches_apart():
    launches = tuple(Launch(name, (1, 1, 1), (vector_view("x_ptr", 4),), {}) for name in ("first", "second"))
    picture = draw_accesses(Trace(launches, (event("load", 0, 0, [0]), event("load", 0, 0, [1], launch=1))))
    assert "first, grid (1,)" in words(picture)
    assert "second, grid (1,)" in words(picture)


def test_accesses_of_atomics_and_empty_tensors_can_be_drawn():
    empty = View("x_ptr", 0, 0, (0,), (1,), "float32", 4)
    launch = Launch("k", (1, 1, 1), (empty, vector_view("y_ptr", 3, 1)), {})
    picture = draw_accesses(Trace((launch,), (event("load", 0, 0, []), event("atomic", 0, 1, [2]))))
    assert "x_ptr: 0 of 0 elements read" in picture.alt
    assert "y_ptr: 1 of 3 elements updated atomically" in picture.alt


def test_accesses_say_that_nothing_was_launched():
    assert words(draw_accesses(Trace((), ()))) == ["no kernel was launched"]
    assert words(draw_accesses(Trace((Launch("k", (1, 1, 1), (), {}),), ()))) == ["no kernel touched this"]


@pytest.mark.parametrize("shape", [(5000,), (100, 100), (2, 3, 400)])
def test_large_tensors_become_an_image(shape: tuple[int, ...]):
    stride = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    view = View("x_ptr", 0, 0, shape, stride, "float32", 4)
    trace = Trace((Launch("k", (2, 1, 1), (view,), {}),), (event("store", 0, 0, range(7), range(9000, 9100)),))
    picture = draw_accesses(trace)
    assert "100 outside the tensor" in picture.alt
    assert any(axes.images for axes in picture.axes)
    assert picture.get_size_inches()[1] < 12


def test_blocks_mark_spare_lanes_and_forgotten_elements():
    assert draw_blocks(10, 4).alt.startswith("10 elements in blocks of 4: 3 programs, 2 lanes past the end")
    forgotten = draw_blocks(10, 4, n_programs=10 // 4)
    assert words(forgotten).count("!") == 2
    assert "2 elements that no program has" in words(forgotten)[0]


def test_grid_and_mask_and_schedule_say_what_they_show():
    assert draw_grid(5, 7, 1, 4).alt.endswith("grid (5, 2)")
    assert "2, 1" in words(draw_grid(5, 7, 2, 4))
    assert draw_mask(21, 8, 2).alt.endswith("lanes [5, 6, 7] are masked off")
    assert words(draw_mask(21, 8, 2)).count("off") == 3
    assert draw_row_schedule(10, 4).alt.endswith("[0, 4, 8], [1, 5, 9], [2, 6], [3, 7]")
    assert words(draw_row_schedule(3, 5)).count("done") == 2


def test_schedule_refuses_what_it_cannot_show():
    with pytest.raises(ValueError, match="24 rows and 16 programs"):
        draw_row_schedule(100, 4)


@pytest.mark.parametrize("make", [lambda x: x, lambda x: x.t(), lambda x: x[:, ::2], lambda x: x[:1].expand(4, 5)])
def test_strides_agree_with_torch(make: Any):
    """The offset that the picture names is where torch keeps the element."""
    base = torch.arange(15).reshape(3, 5)
    view = make(base)
    i, j = view.shape[0] - 1, view.shape[1] - 1
    picture = draw_strides(tuple(view.shape), tuple(view.stride()), mark=(i, j))
    assert picture.alt.endswith(f"= {view[i, j].item()}")


@pytest.mark.parametrize(("stride", "sectors", "lines"), [(0, 1, 1), (1, 4, 1), (2, 8, 2), (8, 32, 8), (32, 32, 32)])
def test_sectors_and_lines(stride: int, sectors: int, lines: int):
    addresses = lane_addresses(stride)
    assert len(pieces_touched(addresses)) == sectors
    assert len(pieces_touched(addresses, piece_bytes=128)) == lines
    assert f"{sectors} sector" in draw_coalescing(stride).alt


def test_an_element_across_two_sectors_touches_both():
    assert pieces_touched([30], itemsize=4) == [0, 1]


def test_a_shifted_start_costs_one_more_sector():
    assert len(pieces_touched(lane_addresses(1, start=3))) == 5


@pytest.mark.parametrize("value", [0, 2**31 - 1, 2**31, 3 * 2**30, 2**32 + 5, -1])
def test_wrap_is_what_int32_keeps(value: int):
    assert wrap_int32(value) == np.array([value], dtype=np.int64).astype(np.int32).item()


def test_wrap_draws_a_second_arrow_only_when_it_wraps():
    assert "computed" in words(draw_wrap(3, 2**30))
    assert "computed" not in words(draw_wrap(1, 2**30))


def test_wrap_says_what_has_the_number():
    assert "state 24,900 times a stride of 131,072 elements" in words(draw_wrap(24_900, 131_072, "state"))


def test_a_picture_brings_its_own_png_and_words():
    data, metadata = draw_blocks(10, 4)._repr_mimebundle_()
    image = Image.open(io.BytesIO(base64.b64decode(data["image/png"])))
    assert image.width > metadata["image/png"]["width"] > 500
    assert metadata["image/png"]["alt"].startswith("10 elements")
    assert data["text/plain"].startswith("<Picture: 10 elements")


def test_a_picture_is_the_same_every_time():
    assert draw_strides((3, 5), (5, 1), (1, 2)).png() == draw_strides((3, 5), (5, 1), (1, 2)).png()


@pytest.mark.parametrize(
    "picture",
    [
        draw_accesses(add_one_trace(masked=False)),
        draw_blocks(75, 8),
        draw_blocks(100, 64),
        draw_grid(5, 7, 2, 4),
        draw_mask(21, 32, 0),
        draw_row_schedule(10, 4),
        draw_row_schedule(24, 1),
        draw_strides((3, 5), (10, 2), (1, 3)),
        draw_coalescing(32, 31),
        draw_wrap(7, 2**30),
    ],
    ids=lambda picture: picture.alt[:40],
)
def test_no_words_leave_the_sheet(picture: Picture):
    """A sentence that is cut off at the edge was the commonest fault of the first drafts."""
    picture.draw_without_rendering()
    width, height = picture.bbox.size
    for text in picture.findobj(Text):
        box = text.get_window_extent()
        if text.get_text():
            assert box.x0 >= 0, text.get_text()
            assert box.x1 <= width, text.get_text()
            assert box.y0 >= 0, text.get_text()
            assert box.y1 <= height, text.get_text()


def test_a_slider_without_a_notebook_is_its_first_picture(monkeypatch: pytest.MonkeyPatch):
    for setting in (None, "0"):
        monkeypatch.delenv("COURSE_WIDGETS", raising=False)
        if setting is not None:
            monkeypatch.setenv("COURSE_WIDGETS", setting)
        picture = slider(draw_blocks, n=(1, 40, 10), block_size=[4, 8])
        assert picture.alt == draw_blocks(10, 4).alt


def test_a_slider_redraws_when_its_knob_turns(monkeypatch: pytest.MonkeyPatch):
    widgets = pytest.importorskip("ipywidgets")
    monkeypatch.setattr("course_lib.figures.widgets._ipywidgets", lambda: widgets)
    box = slider(draw_blocks, n=(1, 40, 10), block_size=[4, 8])
    n, block_size, image, message = box.children
    before = image.value
    n.value = 11
    assert image.value == draw_blocks(11, 4).png() != before
    block_size.value = 8
    assert image.value == draw_blocks(11, 8).png()
    assert message.value == ""


def test_a_slider_says_what_went_wrong(monkeypatch: pytest.MonkeyPatch):
    widgets = pytest.importorskip("ipywidgets")
    monkeypatch.setattr("course_lib.figures.widgets._ipywidgets", lambda: widgets)
    rows, _image, message = slider(lambda n_rows: draw_row_schedule(n_rows, 4), n_rows=(1, 30, 10)).children
    rows.value = 30
    assert "24 rows" in message.value
    rows.value = 12
    assert message.value == ""


def test_figures_do_not_import_triton():
    code = "import sys, course_lib.figures; sys.exit('triton' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- a row on its way -------------------------------------------------------------------------------------------------


def test_lanes_show_each_step_and_mark_the_padding() -> None:
    picture = draw_lanes({"x": [2.0, -math.inf], "exp": [1.0, math.nan]}, 1)
    assert {"1 of them" in text for text in words(picture) if "padding" in text} == {True}
    assert words(picture)[-6:] == ["x", "2", "−inf", "exp", "1", "NaN"]
    bold = [text.get_text() for text in picture.findobj(Text) if text.get_fontweight() == "bold"]
    assert {"−inf", "NaN"} < set(bold) and not {"2", "1"} & set(bold)
    assert [patch.get_hatch() for patch in picture.findobj(Rectangle)].count("////") == 2


@pytest.mark.parametrize("steps", [{}, {"x": [1.0], "exp": [1.0, 2.0]}, {"x": [0.0] * 33}])
def test_lanes_that_cannot_be_drawn_are_refused(steps: dict[str, list[float]]) -> None:
    with pytest.raises(ValueError, match="up to 32 lanes"):
        draw_lanes(steps, 1)


def test_a_row_has_no_padding_and_its_infinities_stand_out() -> None:
    picture = draw_row({"x": [88.0, 89.0], "exp": [1.7e38, math.inf], "share": [0.0, math.nan]})
    assert picture.alt == "a row of 2 scores: x = 88, 89; exp = 1.7e38, inf; share = 0, NaN"
    bold = {text.get_text() for text in picture.findobj(Text) if text.get_fontweight() == "bold"}
    assert bold == {"a row of 2 scores", "inf", "NaN"}
    with pytest.raises(ValueError, match="scores"):
        draw_row({"x": [1.0], "exp": []})


def test_turns_show_what_is_loaded_what_is_kept_and_the_last_reduction() -> None:
    picture = draw_turns([1.0, 2.0, 3.0], [[1.0, 2.0], [4.0, 2.0]])
    shown = words(picture)
    assert shown[0] == "a row of 3 elements in blocks of 2: 2 turns, 1 lane past the end"
    assert [text for text in shown if text.startswith("turn")] == ["turn 0: load", "turn 1: load"]
    assert shown[-1] == "one reduction at the end: 4 + 2 = 6"
    assert [patch.get_hatch() for patch in picture.findobj(Rectangle)].count("////") == 1


@pytest.mark.parametrize(("row", "totals"), [([1.0, 2.0, 3.0], [[1.0, 2.0]]), ([1.0], [[1.0] * 17])])
def test_turns_that_do_not_go_with_the_row_or_are_too_wide_are_refused(row: list[float], totals: list[list[float]]) -> None:
    with pytest.raises(ValueError, match="too wide"):
        draw_turns(row, totals)


def test_traffic_has_one_scale_and_a_total_for_each_way() -> None:
    picture = draw_traffic({"naive": [("amax", 300, 100), ("sub", 300, 300)], "fused": [("kernel", 300, 300)]})
    assert "naive: 2 operations, 1,000 bytes" in words(picture)
    assert "fused: 1 operation, 600 bytes" in words(picture)
    bars = [patch.get_width() for patch in picture.findobj(Rectangle) if patch.get_height() == 0.85][:6]
    assert bars == pytest.approx([bars[0] * share / 3 for share in (3, 1, 3, 3, 3, 3)])


def test_traffic_of_nothing_or_of_too_much_is_refused() -> None:
    for steps in ([("nothing", 0, 0)], [("copy", 1, 1)] * 13):
        with pytest.raises(ValueError, match="up to 12 operations"):
            draw_traffic({"a way": steps})
