"""All problems of a machine, and the table of what it can do: pure functions of `Facts`.

Not here: the single examinations (`examinations.py`), and printing (`course_lib.__main__`).
"""

from __future__ import annotations

from course_lib.doctor.examinations import EXAMINATIONS
from course_lib.doctor.facts import Facts
from course_lib.doctor.model import COMPILE, NOTEBOOKS, REINSTALL, RUN, TIME, WIDGETS, Ability, Problem, Severity


def problems(facts: Facts) -> tuple[Problem, ...]:
    """Everything that is wrong, worst first.

    >>> problems(Facts())
    ()
    >>> [problem.code for problem in problems(Facts(system="Darwin", versions={"triton": None, "torch": "2.13.0"}))]
    ['macos', 'no_jupyterlab', 'no_ipywidgets']
    """
    found = [problem for examine in EXAMINATIONS if (problem := examine(facts))]
    found += _failed_trials(facts, frozenset().union(*(problem.blocks for problem in found)))
    return tuple(sorted(found, key=lambda problem: ("stops", "limits", "note").index(problem.severity)))


def abilities(facts: Facts) -> tuple[Ability, ...]:
    """What this machine can do: a line of the table each."""
    blocked = {ability: problem.code for problem in reversed(problems(facts)) for ability in problem.blocks}

    def ability(key: str, what: str, why: str) -> Ability:
        return Ability(what, key not in blocked, f"see {blocked[key]} below" if key in blocked else why)

    def tried(key: str) -> str:
        return "tried just now" if key in facts.trials else "not tried"

    gpu = facts.gpu
    timing = Ability("Run and time on a GPU", False, "no GPU in use; recorded times are shown")
    if gpu:
        timing = ability(TIME, timing.what, f"{gpu.name}{f' ({gpu.arch})' if gpu.arch else ''}, {tried(TIME)}")
    return (
        ability(RUN, "Interpret and judge kernels", tried(RUN)),
        ability(COMPILE, "Compile for GPUs not here", tried(COMPILE)),
        timing,
        ability(NOTEBOOKS, "Notebooks", facts.host or f"JupyterLab {facts.versions.get('jupyterlab')}"),
        ability(WIDGETS, "Sliders", f"ipywidgets {facts.versions.get('ipywidgets')}"),
    )


def _failed_trials(facts: Facts, blocked: frozenset[str]) -> list[Problem]:
    """Trials that went wrong for a reason that no examination has found."""
    names = {RUN: "in the interpreter", COMPILE: "(compile) for sm_90", TIME: "on the GPU"}
    severity: dict[str, Severity] = {RUN: "stops", COMPILE: "limits", TIME: "limits"}
    return [
        Problem(
            f"trial_{key}",
            f"A kernel of three lines did not run {names[key]}: {error}",
            f"restore the tested versions: {REINSTALL}",
            severity[key],
            frozenset({key}),
        )
        for key, error in facts.trials.items()
        if error is not None and key not in blocked
    ]
