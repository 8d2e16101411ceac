"""What traces say about memory, judged on traces made by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from course_lib.checking import memory
from course_lib.checking.events import Event, Launch, Trace, View
from course_lib.checking.findings import SourceLine

X = View("x_ptr", 0, 0, (8,), (1,), "float32", 4, argument=0)
OUT = View("out_ptr", 1, 0, (8,), (1,), "float32", 4)
LINE = SourceLine("cell In[1]", 5, "tl.store(…)")


def event(kind: str, program: int, view: int, elements: Any, outside: Any = (), **more: Any) -> Event:
    inside, stray = np.array(elements, dtype=np.int64), np.array(outside, dtype=np.int64)
    values: dict[str, Any] = {"masked": 0, "source": LINE} | more
    return Event(
        kind=kind,  # type: ignore[arg-type]
        launch=0,
        program=(program, 0, 0),
        view=view,
        elements=inside,
        outside=stray,
        lanes=len(inside) + len(stray) + values["masked"],
        **values,
    )


def trace(*events: Event, views: tuple[View, ...] = (X, OUT)) -> Trace:
    return Trace((Launch("k", (2, 1, 1), views, {}),), events)


def test_two_programs_storing_one_element_race() -> None:
    found = memory.race(trace(event("store", 0, 1, [0, 1, 2, 3]), event("store", 1, 1, [3, 4])))
    assert found is not None
    assert (found.kind, found.count) == ("race", 1)
    assert "element 3 of `out_ptr`" in found.message


def test_reading_what_another_program_writes_is_a_race_across_views_of_one_storage() -> None:
    half = View("half_ptr", 1, 4, (4,), (1,), "float32", 4)
    found = memory.race(trace(event("store", 0, 1, [5]), event("load", 1, 2, [1]), views=(X, OUT, half)))
    assert found is not None
    assert "element 5" in found.message


@pytest.mark.parametrize(
    "events",
    [
        [event("load", 0, 0, [0, 1]), event("load", 1, 0, [0, 1])],
        [event("atomic", 0, 1, [0]), event("atomic", 1, 1, [0])],
        [event("store", 0, 1, [0, 0]), event("load", 0, 1, [0])],
        [event("store", 0, 1, [0, 2]), event("store", 1, 1, [1, 3])],
        [event("store", 0, 1, []), event("store", 1, 1, [])],
    ],
    ids=["both read", "both atomic", "one program", "different elements", "all masked off"],
)
def test_these_are_no_races(events: list[Event]) -> None:
    assert memory.race(trace(*events)) is None


@pytest.mark.parametrize(("stored", "words"), [([3, 4, 5], "`tl.debug_barrier()`"), ([3, 3, 4], "No waiting helps")])
def test_a_barrier_is_named_only_where_it_helps(stored: list[int], words: str) -> None:
    """Several lanes added 1 to what they had loaded from one place, and were told to wait in between."""
    made = trace(event("load", 0, 1, [2, 3, 4]), event("store", 0, 1, stored))
    found = memory.clash(made, {"event": 1, "other": 0, "element": 3})
    assert found.kind == "overtaken_load"
    assert words in found.details[1]


EXCHANGED, ADDED, COMPARED = (event("atomic", 0, 1, [2, 3], update=update) for update in ("exchange", "combine", "compare"))


def by(program: int, one: Event, **more: Any) -> Event:
    return replace(one, program=(program, 0, 0), **more)


def test_what_another_program_adds_after_an_exchange_may_have_come_before_it() -> None:
    """A ticket told who came first, and the first one put its value there by `tl.atomic_xchg`."""
    found = memory.race(trace(EXCHANGED, by(1, ADDED)))
    assert found is not None
    assert (found.kind, found.pattern, found.count) == ("race", "replaced", 2)
    assert found.message == "program (0, 0, 0) replaces element 2 of `out_ptr`, and program (1, 0, 0) updates it"
    elsewhere = replace(ADDED, elements=np.array([0, 3]))
    found = memory.race(trace(EXCHANGED, elsewhere, by(1, ADDED)))
    assert found is not None and found.count == 1


@pytest.mark.parametrize(
    "events",
    [
        [ADDED, by(1, ADDED), by(1, EXCHANGED)],
        [COMPARED, EXCHANGED, by(1, COMPARED), by(1, EXCHANGED)],
        [EXCHANGED, by(1, EXCHANGED)],
        [EXCHANGED, ADDED],
        [EXCHANGED, ADDED, by(1, EXCHANGED), by(1, ADDED)],
        [by(0, EXCHANGED, locked=True), by(1, ADDED, locked=True)],
        [EXCHANGED, by(1, ADDED, elements=np.array([0, 1]))],
    ],
    ids=[
        "the last sets back",
        "a lock is given back",
        "all exchange",
        "one program",
        "what was taken out is put back",
        "each under a lock",
        "other elements",
    ],
)
def test_these_exchanges_lose_nothing(events: list[Event]) -> None:
    assert memory.race(trace(*events)) is None


def test_two_launches_may_touch_the_same_element() -> None:
    first, second = event("store", 0, 1, [0]), event("store", 1, 1, [0])
    launches = (Launch("k", (1, 1, 1), (X, OUT), {}), Launch("k", (1, 1, 1), (X, OUT), {}))
    later = Event(**{**vars(second), "launch": 1})
    assert memory.race(Trace(launches, (first, later))) is None


@pytest.mark.parametrize(
    ("offsets", "words"),
    [([8, 9], "past the end of"), ([-1], "before the start of"), ([-1, 8], "outside")],
)
def test_strays_say_on_which_side_they_lie(offsets: list[int], words: str) -> None:
    found = memory.stray_access(trace(event("load", 1, 0, [7], offsets)))
    assert found is not None
    assert (found.kind, found.count, found.program) == ("load_out_of_bounds", len(offsets), (1, 0, 0))
    assert words in found.message


def test_a_stray_between_the_elements_of_a_strided_view_is_one() -> None:
    strided = View("x_ptr", 0, 0, (4,), (2,), "float32", 4)
    found = memory.stray_access(trace(event("load", 0, 0, [0], [1]), views=(strided, OUT)))
    assert found is not None
    assert "between the elements of" in found.message


def test_unwritten_elements_are_listed_as_ranges() -> None:
    found = memory.unwritten(trace(event("store", 0, 1, [0, 1, 4])), OUT)
    assert found is not None
    assert found.count == 5
    assert "2…3, 5…7" in found.details[0]
    assert "5 of 8 elements" in found.message


def test_a_result_that_no_kernel_was_given_is_unwritten() -> None:
    other = View("result", 7, 0, (8,), (1,), "float32", 4)
    found = memory.unwritten(trace(event("store", 0, 1, range(8))), other)
    assert found is not None
    assert found.pattern == "elsewhere"
    assert "`out_ptr`" in found.details[0] and "another tensor" in found.details[0]


MISSING = {
    "tail": [event("store", 0, 1, [0, 1]), event("store", 1, 1, [2, 3, 4])],
    "one_program": [event("store", 0, 1, [0, 1, 2, 3])],
    "gaps": [event("store", 0, 1, [0, 1, 2]), event("store", 1, 1, [4, 5, 6, 7])],
    "nothing": [event("load", 0, 0, range(8))],
    "elsewhere": [event("store", 0, 2, range(8))],
    "": [event("store", 0, 1, [4, 5, 6, 7])],
}


@pytest.mark.parametrize("pattern", MISSING)
def test_what_is_missing_says_why(pattern: str) -> None:
    other = View("other_ptr", 5, 0, (8,), (1,), "float32", 4)
    found = memory.unwritten(trace(*MISSING[pattern], views=(X, OUT, other)), OUT, ["x"])
    assert found is not None
    assert (found.kind, found.pattern) == ("unwritten", pattern)


def test_a_grid_with_a_zero_ran_no_program() -> None:
    found = memory.unwritten(Trace((Launch("k", (0, 1, 1), (X, OUT), {}),), ()), OUT)
    assert found is not None
    assert found.pattern == "no_program"
    assert "(0, 1, 1)" in found.details[0]


def test_the_last_columns_missing_in_every_row_are_the_ends_of_rows() -> None:
    matrix = View("out_ptr", 1, 0, (2, 4), (4, 1), "float32", 4)
    found = memory.unwritten(trace(event("store", 0, 1, [0, 1, 4, 5]), views=(X, matrix)), matrix)
    assert found is not None
    assert found.pattern == "row_ends"
    assert "columns from 2 on" in found.details[-1]


def test_an_input_that_is_returned_is_no_result() -> None:
    found = memory.unwritten(trace(event("store", 0, 0, [])), X, ["x"])
    assert found is not None
    assert (found.kind, found.pattern) == ("unwritten", "input")
    assert "`x`" in found.message
    where_allowed = memory.unwritten(trace(event("store", 0, 0, [])), X)
    assert where_allowed is not None and where_allowed.pattern == ""


def test_a_changed_input_is_called_as_in_the_exercise_and_as_in_the_kernel() -> None:
    swapped = View("out_ptr", 0, 0, (8,), (1,), "float32", 4, argument=0)
    raw = torch.zeros(8).view(torch.uint8)
    found = memory.input_changed(
        trace(event("store", 0, 0, range(8)), views=(swapped, OUT)), [torch.ones(8)], {0: raw}, ["x"], {}
    )
    assert found is not None
    assert "the input `x` (in the kernel: `out_ptr`)" in found.message


STRAYS = {
    "masked": (X, event("load", 0, 0, [7], [8], masked=2)),
    "unmasked": (X, event("load", 0, 0, [7], [8])),
    "before": (X, event("load", 0, 0, [0], [-1])),
    "below": (X, event("load", 0, 0, [0], [-1], masked=2)),
    "spread": (X, event("load", 0, 0, [0, 4], [8], masked=2)),
    "program": (X, event("load", 1, 0, [], [8, 9])),
    "size": (X, event("load", 0, 0, [], [7])),
    "strides": (View("x_ptr", 0, 0, (2, 4), (1, 2), "float32", 4, argument=0), event("load", 0, 0, [7], [8])),
}


@pytest.mark.parametrize("pattern", STRAYS)
def test_strays_say_why(pattern: str) -> None:
    view, stray = STRAYS[pattern]
    found = memory.stray_access(trace(stray, views=(view, OUT)))
    assert found is not None
    assert found.pattern == pattern


def test_lanes_that_stray_to_one_place_count_as_one_element() -> None:
    found = memory.stray_access(trace(event("load", 0, 0, [7], [8, 8, 9])))
    assert found is not None
    assert found.count == 2
    assert "reads 2 elements" in found.message and any("3 lanes" in detail for detail in found.details)


RACES = {
    "same": [event("store", 0, 1, [0, 1]), event("store", 1, 1, [0, 1])],
    "overlap": [event("store", 0, 1, [0, 1]), event("store", 1, 1, [1, 2], masked=1)],
    "spill": [event("store", 0, 1, [0, 1]), event("store", 1, 1, [1, 2])],
    "read": [event("store", 0, 1, [0, 1]), event("load", 1, 1, [1])],
}


@pytest.mark.parametrize("pattern", RACES)
def test_races_say_of_which_sort_they_are(pattern: str) -> None:
    found = memory.race(trace(*RACES[pattern]))
    assert found is not None
    assert found.pattern == pattern


COUNTED = {
    "one for each element, and a block each": ([(17, 1, 17), (129, 2, 129)], True),
    "one for each element, and an element each": ([(17, 17, 17), (129, 129, 129)], False),
    "one for each block": ([(1, 1, 17), (2, 2, 129)], False),
    "one to spare": ([(2, 1, 17), (3, 2, 129)], False),
    "rounded up to a power of two": ([(32, 17, 17), (256, 129, 129)], False),
    "a fixed number": ([(528, 1, 17), (528, 2, 129)], False),
    "at most a fixed number": ([(17, 1, 17), (64, 2, 129)], False),
    "nothing to do": ([(0, 0, 0), (1, 0, 0)], False),
}


@pytest.mark.parametrize("how", COUNTED)
def test_many_idle_programs_are_one_for_each_element_only_if_their_number_grows_with_them(how: str) -> None:
    counts, expected = COUNTED[how]
    assert memory.one_for_each_element([memory.Programs("k", *each) for each in counts]) == expected


def test_programs_count_as_busy_that_touch_an_element() -> None:
    events = [event("load", 0, 0, [0, 1]), event("store", 0, 1, [0, 1]), event("store", 1, 1, [], masked=2)]
    counted = memory.programs(trace(*events))
    assert [(one.busy, one.touched) for one in counted] == [(1, 2)]


def test_a_result_written_by_atomics_is_written() -> None:
    assert memory.unwritten(trace(event("atomic", 0, 1, range(8))), OUT) is None


def test_a_result_that_changes_with_the_poison_depends_on_undefined_lanes() -> None:
    load = event("load", 0, 0, [0, 1], masked=6, other=False)
    results = [torch.tensor([1.0, 2.0]), torch.tensor([1.0, float("inf")])]
    found = memory.undefined_lanes(trace(load), results)
    assert found is not None
    assert (found.kind, found.source) == ("undefined_lanes", LINE)


def test_a_result_that_stays_the_same_does_not_depend_on_undefined_lanes() -> None:
    load = event("load", 0, 0, [0, 1], masked=6, other=False)
    nan = torch.tensor([1.0, float("nan")])
    assert memory.undefined_lanes(trace(load), [nan, nan.clone()]) is None


def test_a_changed_input_names_the_program_and_counts_elements_not_bytes() -> None:
    before = torch.arange(8.0)
    after = before.clone()
    after[2:4] = -1
    raw = after.view(torch.uint8)
    found = memory.input_changed(trace(event("store", 1, 0, [2, 3])), [before], {0: raw}, ["x"], {})
    assert found is not None
    assert (found.count, found.program) == (2, (1, 0, 0))
    assert "input `x`" in found.message
    assert memory.input_changed(trace(), [before, None], {0: before.view(torch.uint8)}, ["x", "y"], {}) is None


def test_ranges_are_short() -> None:
    assert memory.ranges([3, 4, 5, 9]) == "3…5, 9"
    assert memory.ranges(list(range(0, 20, 2))) == "0, 2, 4, …, 18"


def test_reading_back_a_store_without_a_barrier_is_found() -> None:
    store, load = event("store", 0, 1, [0, 1]), event("load", 0, 1, [1, 2])
    found = memory.read_back(trace(store, load))
    assert found is not None
    assert (found.kind, found.count) == ("read_back", 1)


def test_reading_back_an_atomic_without_a_barrier_is_found() -> None:
    found = memory.read_back(trace(event("atomic", 0, 1, [0]), event("load", 0, 1, [0])))
    assert found is not None
    assert found.details[0].startswith("The update")


@pytest.mark.parametrize(
    "events",
    [
        [event("load", 0, 1, [0]), event("store", 0, 1, [0])],
        [event("store", 0, 1, [0]), event("load", 0, 1, [0], barriers=1)],
        [event("store", 0, 1, [0]), event("load", 0, 1, [1])],
        [event("store", 0, 1, [0]), event("load", 0, 0, [0])],
    ],
    ids=["load first", "a barrier between", "other elements", "another tensor"],
)
def test_these_read_nothing_back(events: list[Event]) -> None:
    assert memory.read_back(trace(*events)) is None


def test_reading_an_input_again_and_again_is_counted_against_the_limit() -> None:
    thrice = trace(*(event("load", program, 0, range(8)) for program in range(3)))
    found = memory.too_many_reads(thrice, 1)
    assert found is not None
    assert (found.kind, found.count) == ("too_much_traffic", 24)
    assert "3.0 times" in found.message and "96 bytes" in found.details[0] and "32 is the least" in found.details[0]
    assert memory.too_many_reads(thrice, 3) is None


def test_reading_only_a_part_once_is_no_excess() -> None:
    assert memory.too_many_reads(trace(event("load", 0, 0, [0, 1]), event("store", 0, 1, [0, 1])), 1) is None


def test_an_element_that_a_view_repeats_may_be_read_once_for_each_repetition() -> None:
    row = View("x_ptr", 0, 0, (3, 8), (0, 1), "float32", 4, argument=0)
    once = trace(*(event("load", program, 0, range(8)) for program in range(3)), views=(row, OUT))
    assert memory.too_many_reads(once, 1) is None
    twice = trace(*(event("load", program % 3, 0, range(8)) for program in range(6)), views=(row, OUT))
    assert memory.too_many_reads(twice, 1) is not None


def test_a_race_through_a_view_of_another_dtype_is_found() -> None:
    halves = View("halves_ptr", 1, 0, (16,), (1,), "int16", 2)
    found = memory.race(trace(event("store", 0, 2, [9]), event("store", 1, 1, [4, 5]), views=(X, OUT, halves)))
    assert found is not None
    assert found.count == 1
    assert memory.race(trace(event("store", 0, 2, [7]), event("store", 1, 1, [4, 5]), views=(X, OUT, halves))) is None


def test_a_result_written_through_a_view_of_another_dtype_is_written() -> None:
    halves = View("halves_ptr", 1, 0, (16,), (1,), "int16", 2)
    assert memory.unwritten(trace(event("store", 0, 2, range(16)), views=(X, OUT, halves)), OUT) is None
    found = memory.unwritten(trace(event("store", 0, 2, range(15)), views=(X, OUT, halves)), OUT)
    assert found is not None and found.count == 1
