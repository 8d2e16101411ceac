"""Pictures of the machine, drawn from runs and compilations: what is said about them, and what stands in them."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from matplotlib.collections import LineCollection
from matplotlib.colors import to_hex
from matplotlib.text import Text

from course_lib.figures import (
    draw_block,
    draw_butterfly,
    draw_layout,
    draw_occupancy,
    draw_roofline,
    draw_side_by_side,
    slider,
)
from course_lib.figures.canvas import ALARM, Picture
from course_lib.machine.instructions import Instruction
from course_lib.machine.layouts import Blocked
from course_lib.machine.occupancy import Resources, occupancy
from course_lib.machine.roofline import roofline
from course_lib.machine.warp import Thread, run_block


def words(picture: Picture) -> list[str]:
    return [text.get_text() for text in picture.findobj(Text) if text.get_text()]


def lines(picture: Picture, colour: str | None = None) -> int:
    """How many strings are drawn, all or of one colour."""
    found = 0
    for collection in picture.findobj(LineCollection):
        colours = {to_hex(one) for one in collection.get_colors()}
        found += len(collection.get_segments()) if colour is None or colour in colours else 0
    return found


def butterfly(thread: Thread, numbers: list[int]) -> Iterator[Any]:
    value = numbers[thread.lane]
    for distance in (16, 8, 4, 2, 1):
        value += yield thread.shfl_xor(value, distance)
    return value


def block(thread: Thread, barrier: bool = True) -> Iterator[Any]:
    value = yield thread.shfl_down(thread.index, 16)
    partial = thread.shared("partial", 8)
    if thread.lane == 0:
        partial[thread.warp] = value
    if barrier:
        yield thread.syncthreads()
    return partial[0]


WHOLE, PARTIAL = run_block(butterfly, 32, list(range(32))), run_block(butterfly, 20, list(range(32)))
ORDERLY, RACING = run_block(block, 128), run_block(block, 100, False)
CODE = tuple(
    Instruction(opcode, "R1, R2") for opcode in "LDC LDG.E SHFL.BFLY FADD SHFL.BFLY STS BAR.SYNC LDS STG.E EXIT".split()
)
LEFT = SimpleNamespace(kernel="left_kernel", target="sm_90", instructions=CODE)
RIGHT = SimpleNamespace(kernel="right_kernel", target="sm_90", instructions=(*CODE[:3], *CODE[4:5], *CODE[8:]))
WIDE = Blocked((1, 4), (4, 8), (4, 1), (1, 0))
KERNELS = {"copy": roofline(1e6, 8e9), "matmul": roofline(1e13, 1e9, dtype="fp16")}


def test_a_butterfly_draws_the_exchanges_so_far():
    third = draw_butterfly(WHOLE, 3)
    assert third.alt == "warp 0 after 3 exchanges of 5"
    assert lines(third) == 3 * 32
    assert "after lane ^ 4" in words(third)
    assert words(third).count("112") == 8
    assert "496" not in words(third)
    assert words(draw_butterfly(WHOLE)).count("496") == 32


def test_a_butterfly_marks_what_is_undefined():
    picture = draw_butterfly(PARTIAL)
    assert picture.alt == "warp 0 after 5 exchanges of 5, 20 lanes undefined"
    assert lines(draw_butterfly(PARTIAL, 1), ALARM) == 12
    assert "?" in words(picture)


def test_a_butterfly_is_asked_for_what_there_is():
    with pytest.raises(ValueError, match="step is from 1 to 5, not 6"):
        draw_butterfly(WHOLE, 6)
    with pytest.raises(ValueError, match="warp 1 exchanged nothing"):
        draw_butterfly(WHOLE, warp=1)


def test_a_butterfly_has_a_slider(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COURSE_WIDGETS", "0")
    assert slider(lambda step: draw_butterfly(WHOLE, step), step=(1, 5, 2)).alt == draw_butterfly(WHOLE, 2).alt


def test_a_block_shows_barriers_cells_and_shuffles():
    picture = draw_block(ORDERLY)
    assert picture.alt == "128 threads in 4 warps: 1 barrier, 4 cells of shared memory written"
    assert words(picture).count("__syncthreads() of 128 threads") == 1
    assert {"partial[0]", "partial[3]", "warp 3\n1 shuffle", "16", "112"} <= set(words(picture))


def test_a_block_tells_its_races():
    picture = draw_block(RACING)
    assert picture.alt == "100 threads in 4 warps: 0 barriers, 4 cells of shared memory written, races at 1 place"
    assert any(text.startswith("partial[0]: thread 0 writes and thread 1 reads") for text in words(picture))
    assert "warp 3, 4 lanes\n1 shuffle" in words(picture)


def test_a_block_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="holds 8 warps and 16 cells at a time, not 9"):
        draw_block(run_block(lambda thread: None, 9 * 32))


def test_matching_instructions_are_joined():
    picture = draw_side_by_side(LEFT, RIGHT, ("by hand", "compiled"))
    assert picture.alt == "by hand beside compiled: 4 instructions of the same kind and order in both"
    assert {"by hand", "compiled", "shuffle", "shared store", "… 1 other instruction"} <= set(words(picture))
    assert len([line for line in picture.axes[0].lines if len(line.get_xdata()) == 2]) == 4
    apart = draw_side_by_side(LEFT, RIGHT, join=False)
    assert [line for line in apart.axes[0].lines if len(line.get_xdata()) == 2] == []
    same = draw_side_by_side(LEFT, LEFT)
    assert same.alt.startswith("left_kernel, sm_90 beside left_kernel, sm_90: 7 instructions")
    assert draw_side_by_side(LEFT, LEFT, kinds=("barrier",)).alt.endswith("1 instruction of the same kind and order in both")


def test_a_layout_numbers_each_element_by_its_lane():
    picture = draw_layout(WIDE, (16, 32))
    assert picture.alt == "layout #blocked in 4 warps: 16 × 32 elements; each thread holds 1 × 4 neighbours"
    assert {"warp 0", "warp 3"} <= set(words(picture))
    assert words(picture).count("31") >= 16
    assert "; shown are the first 32 × 64" in words(draw_layout(WIDE, (64, 128)))[-1]
    line = draw_layout(Blocked((4,), (32,), (2,), (0,)), (100,))
    assert line.alt.startswith("layout #blocked in 1 warp: 100 elements")
    with pytest.raises(ValueError, match="one or two axes"):
        draw_layout(WIDE, (16,))


def test_the_limiting_resource_is_marked():
    picture = draw_occupancy(occupancy(Resources(40, 16384, 128), "H200"))
    assert picture.alt == "occupancy on H200: 12 programs an SM, limited by registers, 75% of the warps"
    marked = {text.get_text() for text in picture.findobj(Text) if text.get_color() == ALARM}
    assert marked == {"registers", "5 Ki a program, 60 of 64 Ki: enough for 12"}
    assert "17 KiB a program, 204 of 228 KiB: enough for 13" in words(picture)


def test_occupancy_of_none_says_why():
    picture = draw_occupancy(occupancy(Resources(255, 0, 1024), "H200"))
    assert "0 programs an SM, limited by registers" in picture.alt
    assert "one program needs more than there is" in words(picture)


def test_a_roofline_tells_what_bounds_each_kernel():
    picture = draw_roofline(KERNELS)
    assert picture.alt == (
        "roofline of H200: 1  copy: 0.000125 FLOP/byte, memory-bound; 2  matmul: 10,000 FLOP/byte, compute-bound"
    )
    assert {"1", "2", "H200, fp32: 67 TFLOP/s, 4.8 TB/s", " ridge 14"} <= set(words(picture))
    with pytest.raises(ValueError, match="at least one kernel"):
        draw_roofline({})


@pytest.mark.parametrize(
    "picture",
    [
        draw_butterfly(WHOLE),
        draw_butterfly(run_block(butterfly, 32, [number * 12345 for number in range(32)])),
        draw_butterfly(PARTIAL, 2),
        draw_block(ORDERLY),
        draw_block(RACING),
        draw_block(run_block(block, 256 - 12)),
        draw_side_by_side(LEFT, RIGHT),
        draw_layout(WIDE, (16, 32)),
        draw_layout(WIDE, (64, 128)),
        draw_layout(Blocked((4,), (32,), (4,), (0,)), (1024,)),
        draw_occupancy(occupancy(Resources(40, 16384, 128), "H200")),
        draw_occupancy(occupancy(Resources(8, 0, 128), "MI300X")),
        draw_roofline(KERNELS),
        draw_roofline({"matmul": KERNELS["matmul"]}),
    ],
    ids=lambda picture: picture.alt[:50],
)
def test_no_words_leave_the_sheet(picture: Picture):
    picture.draw_without_rendering()
    width, height = picture.bbox.size
    for text in picture.findobj(Text):
        box = text.get_window_extent()
        if text.get_text() and not text.get_text().startswith("$"):  # numbers of an axis's ticks beyond its ends
            assert box.x0 >= 0, text.get_text()
            assert box.x1 <= width, text.get_text()
            assert box.y0 >= 0, text.get_text()
            assert box.y1 <= height, text.get_text()
