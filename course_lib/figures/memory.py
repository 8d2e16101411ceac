"""Pictures of addresses: a view and its strides, lanes and the sectors that they touch, an offset that wraps.

The pictures are computed from numbers alone; nothing is launched.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.collections import LineCollection

from course_lib.figures.canvas import ALARM, FAINT, IDLE, INK, PAPER, Canvas, Picture, counted, programs_colour

SECTOR_BYTES = 32
LINE_BYTES = 128
"""What the memory of an NVIDIA GPU moves at least, and what a cache line holds: four sectors.
Source: CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory"."""


def draw_strides(
    shape: tuple[int, int], stride: tuple[int, int], mark: tuple[int, int] | None = None, offset: int = 0
) -> Picture:
    """A matrix as it's indexed, above the memory that it lies in; both are numbered by the offset in memory.

    `mark` picks an element (i, j) and writes out its address. Memory that the view doesn't reach stays white.

    >>> draw_strides((3, 5), (5, 1), mark=(2, 3))
    <Picture: shape (3, 5), strides (5, 1): element (2, 3) lies at 2·5 + 3·1 = 13>
    """
    rows, columns = shape
    last = offset + (rows - 1) * stride[0] + (columns - 1) * stride[1]
    left, per_line = 2.2, 20
    lines = last // per_line + 1
    memory_top = 5.1 + rows
    canvas = Canvas(max(per_line, left + columns), memory_top + lines * 1.15)
    canvas.text(0, 0.2, f"shape {shape}, strides {stride}", bold=True)
    sentence = f"shape {shape}, strides {stride}"
    if mark:
        terms = f"{mark[0]}·{stride[0]} + {mark[1]}·{stride[1]}"
        start = f"{offset} + " if offset else ""
        found = f"element {mark} lies at {start}{terms} = {_place(mark, stride, offset)}"
        canvas.text(0, 1.2, found, size=9.5)
        sentence += f": {found}"
    top = 3.0
    for column in range(columns):
        canvas.text(left + column + 0.5, top - 0.45, str(column), align="center", size=8.5, ink=FAINT)
    owner: dict[int, int] = {}
    for row in range(rows):
        canvas.text(left - 0.45, top + row + 0.5, str(row), align="center", size=8.5, ink=FAINT)
        for column in range(columns):
            place = _place((row, column), stride, offset)
            owner.setdefault(place, row)
            canvas.cell(left + column, top + row, str(place), fill=programs_colour(owner[place]))
    canvas.text(0, memory_top - 0.7, "memory, one row of the view in one colour", size=9)
    for place in range(last + 1):
        x, y = place % per_line, memory_top + place // per_line * 1.15
        if place in owner:
            canvas.cell(x, y, str(place), fill=programs_colour(owner[place]))
        else:
            canvas.cell(x, y, str(place), dashed=True, edge="#aaaaaa")
    if mark:
        canvas.frame(left + mark[1], top + mark[0], 1, 1, line=2.6)
        place = _place(mark, stride, offset)
        canvas.frame(place % per_line, memory_top + place // per_line * 1.15, 1, 1, line=2.6)
    return canvas.finish(sentence)


def lane_addresses(stride: int, start: int = 0, itemsize: int = 4, lanes: int = 32) -> list[int]:
    """The byte address of each lane's element when lane i takes element start + i·stride.

    >>> lane_addresses(stride=2, lanes=4)
    [0, 8, 16, 24]
    """
    return [(start + lane * stride) * itemsize for lane in range(lanes)]


def pieces_touched(addresses: Sequence[int], piece_bytes: int = SECTOR_BYTES, itemsize: int = 4) -> list[int]:
    """The numbers of the sectors (or lines) of `piece_bytes` in which some lane's element lies.

    >>> pieces_touched(lane_addresses(stride=2))
    [0, 1, 2, 3, 4, 5, 6, 7]
    """
    touched: set[int] = set()
    for address in addresses:
        touched.update(range(address // piece_bytes, (address + itemsize - 1) // piece_bytes + 1))
    return sorted(touched)


def draw_coalescing(stride: int = 1, start: int = 0, itemsize: int = 4, lanes: int = 32) -> Picture:
    """A warp's lanes, the sectors of memory that they touch, and how much of what moves is used.

    >>> draw_coalescing(stride=2)
    <Picture: 32 lanes, stride 2, start 0: 8 sectors and 2 lines touched, 128 of 256 bytes used>
    """
    addresses = lane_addresses(stride, start, itemsize, lanes)
    touched = pieces_touched(addresses, SECTOR_BYTES, itemsize)
    whole_lines = pieces_touched(addresses, LINE_BYTES, itemsize)
    used, moved = len(set(addresses)) * itemsize, len(touched) * SECTOR_BYTES
    per_line = LINE_BYTES // SECTOR_BYTES
    n_sectors = max(16, (max(whole_lines) + 1) * per_line)
    canvas = Canvas(lanes + 1, 9.4)
    width = lanes / n_sectors
    canvas.text(0, 0.2, f"{lanes} lanes, {itemsize} bytes each; lane i takes element {start} + i·{stride}", bold=True)
    canvas.text(
        0,
        1.2,
        f"{counted(len(touched), 'sector')} of {SECTOR_BYTES} bytes in {counted(len(whole_lines), 'line')} of "
        f"{LINE_BYTES}: {moved} bytes move, {used} are used ({used / moved:.1%})",
    )
    lane_y, memory_y = 2.0, 6.4
    for lane in range(lanes):
        canvas.cell(lane, lane_y, str(lane), fill=programs_colour(0), size=7.5)
    strings = [
        [(lane + 0.5, lane_y + 1), ((address + itemsize / 2) / SECTOR_BYTES * width, memory_y)]
        for lane, address in enumerate(addresses)
    ]
    canvas.axes.add_collection(LineCollection(strings, colors=INK, linewidths=0.6))
    for sector in range(n_sectors):
        hit = sector in touched
        canvas.cell(sector * width, memory_y, fill=programs_colour(1) if hit else PAPER, width=width, line=0.4)
    for piece in range(n_sectors // per_line):
        canvas.frame(piece * per_line * width, memory_y, per_line * width, 1, line=1.8)
    canvas.text(
        0,
        memory_y + 1.6,
        f"memory from byte 0 to {n_sectors * SECTOR_BYTES}; thin boxes are sectors, thick ones lines",
        size=9,
    )
    legend = memory_y + 2.3
    canvas.cell(0, legend, fill=programs_colour(1), height=0.8)
    canvas.text(1.3, legend + 0.4, "a sector that has to move", size=9)
    canvas.cell(12, legend, height=0.8)
    canvas.text(13.3, legend + 0.4, "a sector that nobody needs", size=9)
    return canvas.finish(
        f"{lanes} lanes, stride {stride}, start {start}: {counted(len(touched), 'sector')} and "
        f"{counted(len(whole_lines), 'line')} touched, "
        f"{used} of {moved} bytes used"
    )


def wrap_int32(value: int) -> int:
    """What is left of a whole number in 32 bits with a sign.

    >>> wrap_int32(2**31)
    -2147483648
    """
    return (value + 2**31) % 2**32 - 2**31


def draw_wrap(number: int, stride: int, what: str = "row") -> Picture:
    """Where `number * stride` points, and where it points after it was computed in 32 bits. `what` has this number.

    >>> draw_wrap(3, 2**30)
    <Picture: 3 · 1073741824 = 3221225472, in int32 -1073741824>
    """
    true, wrapped = number * stride, wrap_int32(number * stride)
    low, high = -(2**31), max(2**32, true + 2**29)
    canvas = Canvas(24, 6.6)

    def at(value: int) -> float:
        return 0.5 + (value - low) / (high - low) * 23

    canvas.text(0, 0.2, f"{what} {number:,} times a stride of {stride:,} elements", bold=True)
    words = f"{number:,} · {stride:,} = {true:,}"
    if wrapped != true:
        words += f", but int32 makes it {wrapped:,}"
    canvas.text(0, 1.2, words)
    y = 4.6
    canvas.cell(at(low), y, "before the tensor", width=at(0) - at(low), fill=IDLE, hatch="////", line=0, size=8.5)
    canvas.cell(at(0), y, "int32 can name these offsets", width=at(2**31) - at(0), fill=programs_colour(0), size=8.5)
    canvas.cell(at(2**31), y, "needs int64", width=at(high) - at(2**31), fill=programs_colour(1), size=8.5)
    for value, name in ((low, "−2³¹"), (0, "0"), (2**31, "2³¹"), (2**32, "2³²")):
        canvas.line((at(value), at(value)), (y + 1, y + 1.25), ink=INK)
        canvas.text(at(value), y + 1.7, name, align="center", size=9)
    canvas.arrow((at(true), y - 1.2), (at(true), y), ink=INK, line=2)
    canvas.text(at(true), y - 1.6, "meant", align="center", size=9)
    if wrapped != true:
        canvas.arrow((at(wrapped), y - 1.2), (at(wrapped), y), ink=ALARM, line=2)
        canvas.text(at(wrapped), y - 1.6, "computed", align="center", size=9, ink=ALARM, bold=True)
    return canvas.finish(f"{number} · {stride} = {true}" + (f", in int32 {wrapped}" if wrapped != true else ""))


def _place(index: tuple[int, int], stride: tuple[int, int], offset: int) -> int:
    return offset + index[0] * stride[0] + index[1] * stride[1]
