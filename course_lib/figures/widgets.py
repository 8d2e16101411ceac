"""A knob on a picture: sliders where a notebook is live, the picture alone everywhere else.

A thin layer over ipywidgets, which may be missing. `COURSE_WIDGETS=0` asks for the picture alone; built notebooks are
executed with it, so that what they store can be read on any page.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from course_lib.figures.canvas import Picture

Knob = tuple[int, int, int] | Sequence[Any]
"""Either (lowest, highest, first shown), or a list of choices of which the first is shown first."""


def slider(draw: Callable[..., Picture], **knobs: Knob) -> Any:
    """Show `draw(**values)` with a knob for each of its arguments.

    A tuple of three whole numbers is a slider: (lowest, highest, first shown). A list is a set of choices, of which
    the first is shown first. Without ipywidgets or a running notebook, the result is the picture for the first values.

    >>> from course_lib.figures.blocks import draw_blocks
    >>> slider(draw_blocks, n=(1, 40, 10), block_size=[4, 1, 2, 8])
    <Picture: 10 elements in blocks of 4: 3 programs, 2 lanes past the end, 0 elements without a program>
    """
    first = {name: _first(knob) for name, knob in knobs.items()}
    widgets = _ipywidgets()
    if widgets is None:
        return draw(**first)
    return _live(widgets, draw, knobs, first)


def _first(knob: Knob) -> Any:
    return knob[2] if isinstance(knob, tuple) else knob[0]


def _ipywidgets() -> Any:
    """The module, or None where its widgets could not be moved."""
    if os.environ.get("COURSE_WIDGETS") == "0":
        return None
    try:
        import ipywidgets
        from IPython import get_ipython
    except ImportError:
        return None
    return ipywidgets if getattr(get_ipython(), "kernel", None) is not None else None


def _live(widgets: Any, draw: Callable[..., Picture], knobs: dict[str, Knob], first: dict[str, Any]) -> Any:
    controls = {name: _control(widgets, name, knob) for name, knob in knobs.items()}
    picture = draw(**first)
    image = widgets.Image(value=picture.png(), format="png", width=round(picture.get_size_inches()[0] * 96))
    message = widgets.Label(value="")

    def redraw(_change: Any) -> None:
        try:
            drawn = draw(**{name: control.value for name, control in controls.items()})
        except Exception as error:  # a knob must not leave an old picture under new values
            message.value = f"{type(error).__name__}: {error}"
            return
        message.value = ""
        image.value, image.width = drawn.png(), str(round(drawn.get_size_inches()[0] * 96))

    for control in controls.values():
        control.observe(redraw, names="value")
    return widgets.VBox([*controls.values(), image, message])


def _control(widgets: Any, name: str, knob: Knob) -> Any:
    words = name.replace("_", " ")
    look = {"description": words, "style": {"description_width": "8em"}}
    if isinstance(knob, tuple):
        low, high, start = knob
        return widgets.IntSlider(value=start, min=low, max=high, continuous_update=False, **look)
    return widgets.Dropdown(options=list(knob), value=knob[0], **look)
