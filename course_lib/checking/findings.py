"""What a check can find: plain values that travel from the stages to the report.

Nothing here runs code, compares or formats. Each kind of finding has a name in `KINDS`, and some have finer patterns, in
`PATTERNS`; mutants in `tests/mutants` declare the kind they must be refused with, and hints declare what they fit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

KINDS: dict[str, str] = {
    # the answer could not be taken along
    "cannot_bundle": "the answer cannot be run on its own",
    "not_done": "not done yet",
    "no_verdict": "the checker could not come to a verdict",
    # the run did not end well
    "crash": "the answer raised an error",
    "timeout": "the answer did not finish in time",
    "memory_limit": "the answer used too much memory",
    "killed": "the answer's process died",
    # what came back is not what was asked for
    "wrong_type": "the answer returned something else than was asked for",
    "wrong_shape": "the result has the wrong shape",
    "wrong_dtype": "the result has the wrong dtype",
    "wrong_layout": "the result is not laid out as asked",
    "no_kernel": "no Triton kernel was launched",
    "torch_compute": "torch was asked to do what is the kernel's work",
    "computed_outside": "numbers were computed in another place than they should be",
    "not_as_asked": "the work is shared out in another way than was asked for",
    "forbidden": "the answer used what this exercise rules out",
    # simulated threads
    "no_block": "no block of threads was run",
    "stuck": "threads wait for each other for ever",
    "shared_race": "two threads race for one place of shared memory",
    "undefined_value": "the result depends on a value that CUDA does not define",
    # memory
    "load_out_of_bounds": "a load reaches outside its tensor",
    "store_out_of_bounds": "a store reaches outside its tensor",
    "undefined_lanes": "the result depends on masked lanes, and the load has no `other`",
    "race": "two programs touch the same element and one of them writes",
    "write_twice": "a program writes different values to one element",
    "overtaken_load": "a program writes to an element that another of its lanes may not have loaded yet",
    "program_order": "the result depends on the order in which programs run",
    "reordered": "the result depends on an order of elements that the compiler may choose",
    "read_back": "a program reads back from memory what it has just stored",
    "unwritten": "elements of the result were never written by a kernel",
    "uninitialized": "the result depends on memory that nothing was written to",
    "false_promise": "what the kernel promises the compiler is not so",
    "idle_programs": "nearly all programs have nothing to do",
    "overwritten": "a later call overwrites the result of an earlier one",
    "input_changed": "an input was changed",
    "cpu_tensor": "a kernel was given a tensor that is made on the CPU on every machine",
    "too_much_traffic": "the kernel moves more memory than it needs to",
    # values
    "first_block_only": "only the first part of the result is right",
    "tail": "the end of the result is wrong",
    "shifted": "the result is right, but in other places",
    "reversed": "the result is in reverse order",
    "unchanged": "the result is an argument as it was",
    "transposed": "rows and columns are exchanged",
    "scaled": "the result is a constant multiple of the right one",
    "periodic": "every so many elements the result is wrong",
    "constant": "the result is the same value everywhere",
    "nan": "the result contains NaN where it should not",
    "mismatch": "the result has wrong values",
    # a GPU's compiler
    "does_not_compile": "a GPU's compiler refuses the kernel",
    "compiled_code": "the compiled code is not what was asked for",
    # quizzes
    "wrong_form": "the answer does not have the form that was asked for",
    "wrong_answer": "the answer is not right yet",
}

_STRAYS = {
    "beyond": "a view of an input reaches beyond that input",
    "size": "the access is larger than an element, or begins within one",
    "strides": "the tensor is not contiguous",
    "before": "all stray offsets are negative, and no lane was masked off",
    "below": "all stray offsets are negative, though there was a mask",
    "spread": "there was a mask, and the lanes' elements in a vector are no neighbours",
    "program": "a program other than the first has no element inside at all",
    "masked": "there was a mask, and it left these lanes on",
    "unmasked": "no lane was masked off",
}
PATTERNS: dict[str, dict[str, str]] = {
    "computed_outside": {
        "alone": "simulated threads exchanged values, and did not need to",
        "no_exchange": "simulated threads exchanged nothing",
    },
    "undefined_value": {
        "lane": "from a lane that took no part in a shuffle",
        "unwritten": "from shared memory that nothing was written to",
        "looked_at": "the answer looks whether a value is `UNDEFINED`",
    },
    "forbidden": {"value": "to get a number out of a tensor", "elsewhere": "a thread or a process was started"},
    "torch_compute": {"value": "only to get a number out of a tensor", "copy": "only to copy"},
    "load_out_of_bounds": _STRAYS,
    "store_out_of_bounds": _STRAYS,
    "race": {
        "same": "both programs write exactly the same elements",
        "overlap": "their elements overlap, though there was a mask",
        "spill": "their elements overlap, and no lane was masked off",
        "read": "one of the two reads what the other one writes",
        "replaced": "both are atomic, and the one takes the place of what the other one has made",
    },
    "unwritten": {
        "no_program": "nothing was stored, and a grid had a 0 in it",
        "nothing": "nothing was stored",
        "input": "an input was returned",
        "elsewhere": "another tensor was written",
        "one_program": "the last elements are missing, and there was one program",
        "tail": "the last elements are missing",
        "row_ends": "the last columns are missing in every row",
        "gaps": "some in between are missing",
    },
    "nan": {"fresh": "a kernel read fresh memory that nobody had written"},
    "mismatch": {"near": "no element is off by more than a twentieth", "part": "others are right"},
    "compiled_code": {
        "small": "a thread's share of the tile is narrower than the access that was asked for",
        "scattered": "neighbouring lanes do not access neighbouring elements",
        "bound": "narrow accesses, and the number of elements is not divisible by 16",
        "unproven": "narrow accesses, although all numbers would allow wide ones",
        "misaligned": "a wide access begins at an address that it may not begin at",
        "cut": "a wide access is only partly inside the mask",
    },
}
"""What the evidence says beyond the kind, so that a hint can fit better. A hint fits a pattern as "kind:pattern"."""

MOST_EVIDENCE = 100_000
"""Most positions that a finding keeps for its picture."""


@dataclass(frozen=True)
class SourceLine:
    """A line of the answer as its author sees it: where it stands, its number there, and its text."""

    origin: str
    line: int
    text: str


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or that kept the judge from judging.

    `message` says what was seen in a sentence; `details` holds further lines (at most five are shown). `count` is the
    number of elements concerned. `program` is the program id (x, y, z). `case` is the case's label, such as "n=129"; `given`
    says what the label does not, such as the strides of an argument. `pattern` is one of `PATTERNS[kind]`, or empty. `values`
    are details that show expected values; they come after the others, and feedback on graded work leaves them out.
    `advice` is a hint that the finding brings along; it goes before those of the exercise.
    """

    kind: str
    message: str
    pattern: str = ""
    case: str | None = None
    given: str = ""
    kernel: str | None = None
    program: tuple[int, int, int] | None = None
    source: SourceLine | None = None
    count: int | None = None
    details: tuple[str, ...] = ()
    values: tuple[str, ...] = ()
    advice: str | None = None
    evidence: dict[str, Any] = field(default_factory=dict, compare=False)
    """Small plain data that a figure of this finding needs, such as the wrong positions."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind of finding {self.kind!r}; add it to course_lib.checking.findings.KINDS")
        if self.pattern and self.pattern not in PATTERNS.get(self.kind, ()):
            raise ValueError(f"{self.kind!r} has no pattern {self.pattern!r}; add it to course_lib.checking.findings.PATTERNS")


@dataclass(frozen=True)
class Skipped:
    """A stage that did not run, and why. Never a pass."""

    stage: str
    reason: str


@dataclass(frozen=True)
class Report:
    """The result of a check or quiz.

    `passed` is True only when every stage that this machine can run has passed. `judged` is False when the checker could
    not come to a verdict (exit code 2 of `course check`). `done` is False while a blank is still open.
    """

    name: str
    passed: bool
    findings: tuple[Finding, ...] = ()
    seed: int | None = None
    cases: int = 0
    stages: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    hint: str | None = None
    note: str | None = None
    """Text that goes with the verdict, such as a quiz's explanation."""
    printed: str = ""
    """What the answer printed while it ran (its beginning)."""
    seconds: float = field(default=0.0, compare=False)
    judged: bool = True
    answer: str = ""
    """What the judged function is called where it was written; the exercise's name if empty."""
    file: str = ""
    """The file that held the answer, where `course check` was given one."""

    @classmethod
    def not_bundled(cls, name: str, problem: str) -> Report:
        """Of an answer that could not be taken out of where it is written."""
        return cls(name, False, (Finding("cannot_bundle", problem),), stages=("bundle",))

    @classmethod
    def not_judged(cls, name: str, reason: str, seed: int | None = None, stages: tuple[str, ...] = ()) -> Report:
        """Of an answer on which no verdict was come to, for a reason that is not its own."""
        return cls(name, False, (Finding("no_verdict", reason),), seed=seed, stages=stages, judged=False)

    @property
    def done(self) -> bool:
        return not any(f.kind == "not_done" for f in self.findings)

    def for_feedback(self) -> Report:
        """The report as students may see it after a grading: without the seed, expected values, and what the answer printed."""
        from course_lib.checking.report import for_feedback

        return for_feedback(self)

    def __bool__(self) -> bool:
        return self.passed

    def __repr__(self) -> str:
        from course_lib.checking.report import as_text

        return as_text(self)

    def _repr_html_(self) -> str:
        from course_lib.checking.report import as_html

        return as_html(self)
