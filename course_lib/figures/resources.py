"""Pictures of what a GPU's resources allow: how programs share a multiprocessor, and the roof over a kernel's speed."""

from __future__ import annotations

from collections.abc import Mapping

from course_lib.figures.canvas import ALARM, FAINT, IDLE, INK, PAPER, Canvas, Picture, counted, programs_colour
from course_lib.machine.occupancy import Occupancy
from course_lib.machine.roofline import Roofline

_BAR = 26.0
_LABEL = 9.0


def draw_occupancy(occupancy: Occupancy) -> Picture:
    """One multiprocessor's resources as bars, filled by the programs that run on it at once; the limiting one is marked.

    Hatched is what is left over. "warps" are the places for warps, "programs" those for programs.
    """
    architecture, programs = occupancy.gpu.architecture, occupancy.programs_per_sm
    kib = 1024
    bars = (
        ("threads", "warps", occupancy.warps_per_program, architecture.max_warps, 1, ""),
        ("registers", "registers", occupancy.registers_given, architecture.registers, kib, " Ki"),
        ("shared memory", "shared memory", occupancy.shared_given, architecture.shared, kib, " KiB"),
        ("programs", "programs", 1, architecture.max_blocks, 1, ""),
    )
    canvas = Canvas(_LABEL + _BAR + 1, 1.4 + 2.6 * len(bars))
    words = f"{occupancy.gpu.name}: {counted(programs, 'program')} on a multiprocessor, {occupancy.warps_per_sm} of "
    canvas.text(0, 0.2, f"{words}{architecture.max_warps} warps ({occupancy.fraction:.0%})", bold=True)
    for number, (resource, name, each, capacity, unit, sign) in enumerate(bars):
        y = 1.6 + 2.6 * number
        limits = resource == occupancy.limiter
        canvas.text(0, y + 0.6, name, size=10, bold=limits, ink=ALARM if limits else INK)
        scale = _BAR / capacity
        canvas.cell(_LABEL, y, fill=IDLE, width=_BAR, height=1.2, hatch="////", line=0.6)
        for program in range(programs):
            fill = programs_colour(program)
            label = str(program) if each * scale > 0.8 else ""
            canvas.cell(_LABEL + program * each * scale, y, label, fill=fill, width=each * scale, height=1.2, line=0.5)
        if not programs and limits:
            canvas.cell(_LABEL, y, "one program needs more than there is", fill=PAPER, width=_BAR, height=1.2, edge=ALARM)
        canvas.frame(_LABEL, y, _BAR, 1.2, edge=ALARM if limits else INK, line=2.4 if limits else 1.0)
        one = f"{_number(each, unit)}{sign} a program, {_number(each * programs, unit)} of {_number(capacity, unit)}{sign}"
        most = occupancy.limits.get(resource)
        enough = "" if most is None else f": enough for {most}"
        canvas.text(_LABEL, y + 1.65, f"{one}{enough}", size=8, ink=ALARM if limits else FAINT)
    return canvas.finish(
        f"occupancy on {occupancy.gpu.name}: {counted(programs, 'program')} an SM, limited by {occupancy.limiter}, "
        f"{occupancy.fraction:.0%} of the warps"
    )


def _number(amount: int, unit: int) -> str:
    """An amount in its unit, in few digits.

    >>> _number(5120, 1024), _number(17408, 1024), _number(5248, 1024)
    ('5', '17', '5.1')
    """
    return f"{amount / unit:.1f}".removesuffix(".0")


def _intensity(flops_per_byte: float) -> str:
    """An intensity in three digits, without an exponent.

    >>> _intensity(0.625), _intensity(1365.3)
    ('0.625', '1,365')
    """
    return f"{flops_per_byte:.3g}" if flops_per_byte < 999 else f"{flops_per_byte:,.0f}"


def draw_roofline(kernels: Mapping[str, Roofline]) -> Picture:
    """Kernels under the roofs of their GPUs, on logarithmic axes: what each could reach at best, and what bounds it.

    Each GPU and format that occurs gets a roof, each kernel a number. Raises `ValueError` if there are no kernels.
    """
    if not kernels:
        raise ValueError("a roofline needs at least one kernel")
    roofs = {(one.gpu.name, one.dtype, one.bandwidth): one for one in kernels.values()}
    every = [one.intensity for one in kernels.values()] + [one.ridge for one in roofs.values()]
    low, high = min(every) / 5, max(every) * 5
    figure = Picture(figsize=(7.4, 4.6), facecolor=PAPER)
    axes = figure.add_axes((0.1, 0.12, 0.87, 0.84))
    for number, one in enumerate(roofs.values()):
        xs = (low, one.ridge, high)
        words = f"{one.gpu.name}, {one.dtype}: {one.peak / 1e12:.3g} TFLOP/s, {one.bandwidth / 1e12:.3g} TB/s"
        style = ("-", "--", ":", "-.")[number % 4]
        axes.plot(xs, [min(one.peak, x * one.bandwidth) / 1e12 for x in xs], color=INK, lw=1.6, ls=style, label=words)
        axes.axvline(one.ridge, color="#bbbbbb", lw=0.8, zorder=0)
        axes.text(one.ridge, 0.02, f" ridge {one.ridge:.3g}", transform=axes.get_xaxis_transform(), fontsize=7.5, color=FAINT)
    told = []
    at: dict[tuple[float, float], list[str]] = {}
    for number, (name, one) in enumerate(kernels.items(), 1):
        told.append(f"{number}  {name}: {_intensity(one.intensity)} FLOP/byte, {one.bound}-bound")
        place = (one.intensity, one.attainable / 1e12)
        at.setdefault(place, []).append(str(number))
        axes.plot(*place, "o", ms=14, mfc=programs_colour(number - 1), mec=INK, ls="", label=told[-1])
    for place, numbers in at.items():
        axes.annotate(" ".join(numbers), place, ha="center", va="center_baseline", fontsize=8, zorder=5)
    axes.set(xscale="log", yscale="log", xlim=(low, high))
    bottom, top = axes.get_ylim()
    axes.set_ylim(bottom / (3 + len(kernels)), top * 2)  # room for the legend, which stands below the roofs
    axes.set_xlabel("arithmetic intensity (FLOP for each byte moved)", fontsize=9)
    axes.set_ylabel("attainable TFLOP/s", fontsize=9)
    axes.legend(fontsize=8, loc="lower right", framealpha=1, edgecolor="#dddddd", markerscale=0.6, bbox_to_anchor=(1, 0.05))
    axes.grid(True, which="major", color="#e4e4e4", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.alt = f"roofline of {', '.join(dict.fromkeys(one.gpu.name for one in kernels.values()))}: {'; '.join(told)}"
    return figure
