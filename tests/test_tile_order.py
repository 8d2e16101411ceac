"""Orders of tiles, the model of the cache behind them, and their pictures."""

from __future__ import annotations

import random

import pytest
from matplotlib.text import Text

from course_lib.figures import draw_bars, draw_tile_order
from course_lib.machine.specs import find_gpu
from course_lib.machine.tile_order import fetched, in_groups, rows_and_columns


@pytest.mark.parametrize("group", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (5, 6), (7, 7)], ids=str)
def test_every_tile_has_one_program(shape: tuple[int, int], group: int) -> None:
    order = in_groups(*shape, group)
    assert sorted(order) == [(row, col) for row in range(shape[0]) for col in range(shape[1])]


def test_a_group_of_one_row_goes_row_by_row_and_one_of_all_rows_column_by_column() -> None:
    assert in_groups(3, 4) == [(row, col) for row in range(3) for col in range(4)]
    assert in_groups(3, 4, group=99) == [(row, col) for col in range(4) for row in range(3)]


def test_the_last_group_is_lower() -> None:
    assert in_groups(5, 2, group=3)[6:] == [(3, 0), (4, 0), (3, 1), (4, 1)]


def test_a_square_of_programs_needs_least() -> None:
    needed = {group: sum(rows_and_columns(in_groups(16, 16, group)[:16])) for group in (1, 2, 4, 8, 16)}
    assert needed == {1: 17, 2: 10, 4: 8, 8: 10, 16: 17}


def test_a_cache_with_room_for_all_fetches_each_block_once_and_one_without_room_each_request() -> None:
    order = in_groups(6, 5, 2)
    random.Random(0).shuffle(order)
    assert fetched(order, at_once=7, steps=3, room=1000) == 3 * (6 + 5)
    assert fetched(order, at_once=7, steps=3, room=0) == 2 * 3 * len(order)


def test_blocks_count_with_their_sizes() -> None:
    assert fetched(in_groups(2, 3), at_once=6, steps=4, room=100, a_size=2, b_size=0.5) == 4 * (2 * 2 + 3 * 0.5)


def test_what_was_asked_for_longest_ago_is_dropped_first() -> None:
    """Three blocks of `b` pass by while one of `a` is asked for again and again: it stays."""
    assert fetched([(0, column) for column in (0, 1, 2, 0)], at_once=1, steps=1, room=2) == 1 + 4
    assert fetched([(0, column) for column in (0, 1, 0)], at_once=1, steps=1, room=3) == 1 + 2


@pytest.mark.parametrize(("n", "gain"), [(4096, 1.0), (8192, 1.8), (16384, 3.5)])
def test_on_an_h200_groups_pay_for_matrices_that_its_cache_does_not_hold(n: int, gain: float) -> None:
    gpu = find_gpu("H200")
    moved = [
        fetched(in_groups(n // 128, n // 256, group), gpu.sms, n // 512, gpu.l2, a_size=2 * 128 * 512, b_size=2 * 256 * 512)
        for group in (1, 16)
    ]
    assert moved[0] / moved[1] == pytest.approx(gain, rel=0.15)


def test_the_picture_of_an_order_has_every_program_and_counts_what_the_first_need() -> None:
    picture = draw_tile_order(5, 6, group=2, at_once=9)
    assert picture.alt == "5 × 6 tiles in groups of 2: the first 9 programs need 2 rows of a and 5 columns of b"
    words = [text.get_text() for text in picture.findobj(Text)]
    assert {str(program) for program in range(30)} <= set(words)
    assert "in groups of 2: 2 + 5 = 7 for 9 programs at once" in words
    assert "the first 30 programs" in draw_tile_order(5, 6, at_once=99).alt


def test_bars_are_as_long_as_their_numbers_and_stay_on_the_paper() -> None:
    picture = draw_bars({"one": 10.0, "two": 5.0}, "GB", ("at most", 20.0))
    widths = [patch.get_width() for patch in picture.axes[0].patches]
    assert widths[0] == 2 * widths[1]
    assert picture.alt == "GB: one 10.0, two 5.0; at most 20.0"
    picture.canvas.draw()
    box = picture.bbox
    for text in picture.findobj(Text):
        if text.get_text():
            place = text.get_window_extent()
            assert box.x0 <= place.x0 and place.x1 <= box.x1
