"""What this machine can do, decided once, before Triton is imported.

`prepare()` runs when `course_lib` is imported: where there is no GPU that torch can use, it sets `TRITON_INTERPRET=1`,
which Triton reads only while it is imported. `device()` is what lessons show and ask.

Not here: how facts are found, what is wrong with a machine, and the cure (`doctor/`).
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from course_lib.doctor.facts import Facts, TritonMode
    from course_lib.doctor.model import Problem

Mode = Literal["gpu", "interpreter"]

TRITON_TRUE = ("1", "true", "on", "yes", "y")
"""What Triton 3.7.1 was seen to take for "on", in any case of letters; all else is "off", even " 1" and "t"."""
TRITON_FALSE = ("0", "false", "off", "no", "n")
"""What people write for "off"."""


@dataclass(frozen=True)
class Decision:
    """What `prepare` found and did. `asked` is `TRITON_INTERPRET` as it stood before."""

    mode: Mode
    asked: str | None
    triton_before: TritonMode | None
    set_interpret: bool

    @property
    def interprets(self) -> bool:
        """Whether kernels of this process go through Triton's interpreter."""
        wanted = self.set_interpret or switched_on(self.asked)
        return self.triton_before == "interpreter" or (wanted and self.triton_before is None)

    @property
    def too_late(self) -> bool:
        """Whether kernels were to be interpreted here, but Triton had been imported before, to compile."""
        return self.mode == "interpreter" and self.triton_before == "compiler" and not switched_off(self.asked)


@dataclass(frozen=True)
class Device:
    """Where kernels run in this Python, with versions and with what is wrong; shows itself in a notebook.

    `arch` is None in the interpreter. `torch_device` is the string to give to torch: "cuda" (also for AMD) or "cpu".
    """

    mode: Mode
    name: str
    arch: str | None
    versions: Mapping[str, str | None]
    problems: tuple[Problem, ...] = ()

    @property
    def torch_device(self) -> str:
        return "cuda" if self.mode == "gpu" else "cpu"

    def __repr__(self) -> str:
        lines = [self._headline(), "  " + self._versions(), *(f"  {problem}" for problem in self.problems)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        items = "".join(f"<li>{escape(p.what)}<br><b>{escape(p.label)}:</b> {escape(p.cure)}</li>" for p in self.problems)
        problems = f"<ul>{items}</ul>" if items else ""
        return f"<div><b>{escape(self._headline())}</b><br><small>{escape(self._versions())}</small>{problems}</div>"

    def _headline(self) -> str:
        if self.mode == "gpu":
            return f"GPU: {self.name}" + (f" ({self.arch})" if self.arch else "") + ". Kernels are compiled and run on it."
        return f"No GPU in use: kernels run in Triton's interpreter, on the {self.name}."

    def _versions(self) -> str:
        shown = ("python", "torch", "triton", "numpy", "driver")
        return " · ".join(f"{name} {self.versions[name] or 'missing'}" for name in shown if name in self.versions)


def device() -> Device:
    """Where kernels run in this Python, and what is wrong with it. Imports neither torch nor Triton.

    >>> device().torch_device in ("cpu", "cuda")
    True
    """
    from course_lib.doctor.facts import gather

    decision = prepare()
    return device_of(gather(decision.asked, decision.triton_before), decision.mode)


def device_of(facts: Facts, mode: Mode) -> Device:
    """The `Device` that follows from facts: pure, so that any machine can be simulated."""
    from course_lib.doctor.diagnosis import problems

    gpu = facts.gpu if mode == "gpu" else None
    versions = dict(facts.versions)
    if facts.gpus.driver:
        versions["driver"] = facts.gpus.driver
    name, arch = (gpu.name, gpu.arch) if gpu else (f"CPU ({facts.machine})", None)
    return Device(mode, name, arch, versions, problems(facts))


@functools.cache
def prepare() -> Decision:
    """Decide once how kernels run in this process, and tell Triton through the environment. Takes milliseconds."""
    from course_lib.doctor.facts import torch_build, triton_in_process, usable_gpu
    from course_lib.doctor.gpu import find_gpus

    asked = os.environ.get("TRITON_INTERPRET")
    decision = decide(asked, triton_in_process(), lambda: usable_gpu(find_gpus(), torch_build()) is not None)
    if decision.set_interpret:
        os.environ["TRITON_INTERPRET"] = "1"
    return decision


def decide(asked: str | None, triton_before: TritonMode | None, has_gpu: Callable[[], bool]) -> Decision:
    """How kernels run: as the user asked, else on the GPU, else interpreted. `has_gpu` is only called if it matters.

    A process in which Triton was imported to compile is left as it is, for it would work in neither mode.

    >>> decide(None, None, lambda: False)
    Decision(mode='interpreter', asked=None, triton_before=None, set_interpret=True)
    """
    interpreting = switched_on(asked) or triton_before == "interpreter"
    mode: Mode = "interpreter" if interpreting or not has_gpu() else "gpu"
    unsaid = not (asked or "").strip()
    return Decision(mode, asked, triton_before, mode == "interpreter" and unsaid and triton_before != "compiler")


def switched_on(value: str | None) -> bool:
    """Whether Triton takes this value of `TRITON_INTERPRET` for "on".

    >>> switched_on("1"), switched_on("True"), switched_on("t"), switched_on(None)
    (True, True, False, False)
    """
    return value is not None and value.lower() in TRITON_TRUE


def switched_off(value: str | None) -> bool:
    """Whether somebody said "off" with this value of `TRITON_INTERPRET`.

    >>> switched_off("0"), switched_off("false"), switched_off(""), switched_off("t")
    (True, True, False, False)
    """
    return value is not None and value.strip().lower() in TRITON_FALSE
