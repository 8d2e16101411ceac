"""Whether nearly all programs of a launch had nothing to do, as when each element was given one."""

from __future__ import annotations

import itertools

from course_lib.checking import memory
from course_lib.checking.findings import Finding
from course_lib.checking.reading import Text
from course_lib.checking.stages.work import CaseRun, Judge, Work


def idle_programs(work: Work) -> Judge:
    """The judge of that. It looks at all cases that have run by now: one alone may just be small.

    A kernel with a loop may share out blocks among however many programs there are.
    """
    text = Text(work.bundle.source)
    for case in work.cases:
        if case.calls and case.label not in work.programs:
            work.programs[case.label] = memory.programs(case.calls[0].trace)
    launches: dict[str, list[memory.Programs]] = {}
    for launch in itertools.chain.from_iterable(work.programs.values()):
        launches.setdefault(launch.kernel, []).append(launch)
    wasteful = {kernel for kernel, mine in launches.items() if memory.one_for_each_element(mine) and not text.has_loop(kernel)}

    def judge(work: Work, case: CaseRun) -> Finding | None:
        idle = (one for one in work.programs[case.label] if one.kernel in wasteful and memory.mostly_idle(one))
        if (launch := next(idle, None)) is None:
            return None
        return Finding(
            "idle_programs",
            f"{launch.started} programs were started where {launch.busy} {'is' if launch.busy == 1 else 'are'} enough",
            kernel=launch.kernel,
            details=("The others had no lane that was on. They change nothing, and cost time.",),
        )

    return judge
