"""A `Report` as text, as HTML for notebooks, and as JSON for graders; and which hint goes with a finding.

Pure functions from values to strings.
"""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from course_lib.catalog.model import Hint
from course_lib.checking.advice import GENERAL
from course_lib.checking.findings import KINDS, Finding, Report, SourceLine

MAX_DETAILS = 5
MAX_PRINTED = 12
PRINTED = "What it printed first, in the cases that were run"
JSON_VERSION = 1


def choose_hint(hints: Sequence[Hint], findings: Sequence[Finding]) -> str | None:
    """What to say about the first finding: its own advice, else the hint that fits most narrowly; None if there is none.

    A hint that names the finding's pattern or its case fits more narrowly than one that only names its kind. Of two that fit
    alike, the exercise's hint goes before the general one, and the first before the second. One that names the message goes
    before all others, and before the finding's advice, which has been found by the message as well, and for any exercise.
    """
    if not findings:
        return None
    finding = findings[0]
    narrow = f"{finding.kind}:{finding.pattern}"
    fitting = [
        hint
        for hint in hints
        if {finding.kind, narrow} & hint.diagnoses
        and re.search(hint.case, finding.case or "")
        and re.search(hint.message, finding.message)
    ]
    best = max(fitting, key=lambda h: (bool(h.message), (narrow in h.diagnoses) + bool(h.case)), default=None)
    if best and best.message:
        return best.text
    if best and (narrow in best.diagnoses or best.case):
        return finding.advice or best.text
    return finding.advice or GENERAL.get(narrow) or (best.text if best else GENERAL.get(finding.kind))


def verdict(report: Report) -> str:
    """The verdict in a few words."""
    if report.passed:
        return "passed"
    if not report.judged:
        return "cannot be judged here"
    return "not right yet" if report.done else "not done yet"


def for_feedback(report: Report) -> Report:
    """A report that gives nothing of a grading's hidden cases away: no seed, no expected values, and nothing that was printed,
    which may be the inputs. The verdict, the kind of fault, its place and the hint stay, and it can be shown in every form.
    """
    findings = tuple(replace(finding, values=()) for finding in report.findings)
    return replace(report, findings=findings, seed=None, printed="")


def as_text(report: Report) -> str:
    """The report for a terminal."""
    lines = [f"{report.name}: {verdict(report)}{_scope(report)}"]
    for finding in report.findings:
        lines += ["", *(f"  {line}" for line in _sentences(finding))]
        if finding.source:
            lines += [f"    {_place(finding.source)}:  {finding.source.text}"]
        lines += [f"    {marks}   {legend(finding)}"] if (marks := strip(finding)) else []
        lines += [f"  {detail}" for detail in _details(finding) if detail]
    lines += [f"  {text}" for text in ([""] if report.note else []) + _notes(report)]
    if report.hint:
        lines += ["", f"  Hint: {report.hint}"]
    if replay := _replay(report):
        lines += ["", f"  {replay}"]
    if report.printed:
        lines += ["", f"  {PRINTED}:", *(f"    {line}" for line in report.printed.splitlines()[:MAX_PRINTED])]
    return "\n".join(lines)


def as_html(report: Report, in_words: str | None = None) -> str:
    """The report for a notebook: readable on light and dark pages, and without any style sheet.

    `in_words` is the verdict, where that has other words than usual.
    """
    colour = "#2e7d32" if report.passed else "#b26a00" if not report.done or not report.judged else "#c62828"
    mark = "✓" if report.passed else "…" if not report.done else "?" if not report.judged else "✗"
    parts = [f"<div><b>{mark} {html.escape(report.name)}: {in_words or verdict(report)}</b>{html.escape(_scope(report))}</div>"]
    for finding in report.findings:
        sentences = "<br>".join(_code(line) for line in _sentences(finding))
        parts.append(f'<div style="margin-top:0.5em">{sentences}</div>')
        if finding.source:
            place = html.escape(_place(finding.source))
            parts.append(
                f'<div style="margin:0.4em 0"><small>{place}</small><br><code>{html.escape(finding.source.text)}</code></div>'
            )
        if marks := strip(finding):
            parts.append(f'<pre style="margin:0.3em 0 0;line-height:1.2">{marks}</pre>')
            parts.append(f'<div style="margin-bottom:0.3em"><small>{html.escape(legend(finding))}</small></div>')
        parts += [f"<div>{_code(detail)}</div>" for detail in _details(finding) if detail]
    parts += [f'<div style="margin-top:0.5em">{_code(note)}</div>' for note in _notes(report)]
    if report.hint:
        parts.append(f'<div style="margin-top:0.5em"><b>Hint.</b> {_code(report.hint)}</div>')
    if replay := _replay(report):
        parts.append(f'<div style="margin-top:0.5em"><small>{_code(replay)}</small></div>')
    if report.printed:
        printed = html.escape("\n".join(report.printed.splitlines()[:MAX_PRINTED]))
        parts.append(f'<div style="margin-top:0.5em"><small>{PRINTED}:</small><pre>{printed}</pre></div>')
    return f'<div style="border-left:4px solid {colour};padding:0.2em 0 0.2em 0.8em">{"".join(parts)}</div>'


def as_json(report: Report) -> dict[str, Any]:
    """The report as plain data. `version` changes when the meaning of a field does."""
    return {
        "version": JSON_VERSION,
        "name": report.name,
        "passed": report.passed,
        "judged": report.judged,
        "done": report.done,
        "seed": report.seed,
        "cases": report.cases,
        "stages": list(report.stages),
        "skipped": [{"stage": skip.stage, "reason": skip.reason} for skip in report.skipped],
        "findings": [_finding_as_json(finding) for finding in report.findings],
        "hint": report.hint,
        "seconds": round(report.seconds, 3),
    }


MARKS = 64
"""Most marks in a strip."""


def strip(finding: Finding) -> str | None:
    """The finding as a line of marks, one for one or more neighbouring elements: · is right, ✗ is not, │ is a tensor's edge.

    >>> strip(Finding("tail", "", evidence={"wrong": (6, 7), "elements": 8}))
    '[······✗✗]'
    >>> strip(Finding("load_out_of_bounds", "", evidence={"offsets": [8, 9], "elements": 8}))
    '│········│✗✗'
    """
    evidence = finding.evidence
    elements = evidence.get("elements", 0)
    bad = set(evidence.get("wrong") or evidence.get("missing") or ())
    if bad and elements > 1:
        return f"[{_marks(0, elements, bad, elements)}]"
    stray = evidence.get("offsets")
    if stray and elements:
        first, span = _reach(stray, elements)
        before, after = -first, first + span - elements
        inside = _marks(0, elements, set(stray), span)
        left = _marks(first, before, set(stray), span) if before else ""
        return f"{left}│{inside}│" + (_marks(elements, after, set(stray), span) if after else "")
    return None


def legend(finding: Finding) -> str:
    """What the marks of a strip stand for.

    >>> legend(Finding("tail", "", evidence={"wrong": (6, 7), "elements": 128}))
    '✗ wrong; one mark for 2 elements'
    """
    evidence = finding.evidence
    span = evidence["elements"]
    if stray := evidence.get("offsets"):
        meaning = f"✗ touched, and not part of {evidence['tensor']}"
        span = _reach(stray, span)[1]
    else:
        meaning = "✗ wrong" if evidence.get("wrong") else "✗ not written"
    each = _elements_of_a_mark(span)
    return meaning + (f"; one mark for {each} elements" if each > 1 else "")


def _reach(stray: Sequence[int], elements: int) -> tuple[int, int]:
    """The first offset to be drawn, and how many: those of the tensor, and the stray ones."""
    first, last = min(0, *stray), max(elements - 1, *stray)
    return first, last - first + 1


def _elements_of_a_mark(span: int) -> int:
    return max(1, -(-span // MARKS))


def _marks(begin: int, count: int, bad: set[int], span: int) -> str:
    """`count` elements from `begin` on, drawn to the scale at which `span` elements take at most `MARKS` marks."""
    each = _elements_of_a_mark(span)
    return "".join(
        "✗" if any(i in bad for i in range(at, min(at + each, begin + count))) else "·"
        for at in range(begin, begin + count, each)
    )


def _finding_as_json(finding: Finding) -> dict[str, Any]:
    source = finding.source
    return {
        "kind": finding.kind,
        "message": finding.message,
        "case": finding.case,
        "kernel": finding.kernel,
        "program": list(finding.program) if finding.program else None,
        "source": {"origin": source.origin, "line": source.line, "text": source.text} if source else None,
        "count": finding.count,
        "details": [*finding.details, *finding.values],
    }


def _details(finding: Finding) -> tuple[str, ...]:
    """The details that people are shown."""
    return (*finding.details, *finding.values)[:MAX_DETAILS]


def _scope(report: Report) -> str:
    return f" ({report.cases} cases)" if report.passed and report.cases else ""


def _sentences(finding: Finding) -> list[str]:
    """What kind of thing was found, and then exactly what."""
    general = KINDS[finding.kind]
    heading = "" if finding.kind in ("not_done", "wrong_form", "wrong_answer") else f"{_capital(general)}."
    if finding.kind == "not_done":
        return [f"{_capital(finding.message)}."]
    where = [finding.case + (f" ({finding.given})" if finding.given else "")] if finding.case else []
    where += [f"kernel `{finding.kernel}`"] if finding.kernel else []
    if finding.program and str(finding.program) not in finding.message:
        where.append(f"program {finding.program}")
    message = f"With {', '.join(where)}: {finding.message}" if where else _capital(finding.message)
    return [*([heading] if heading else []), message + ("" if message.endswith((".", "!", "?")) else ".")]


def _capital(text: str) -> str:
    """Capitalise a sentence, unless it begins with a file's name, or with code such as `n`, `log(0)`, or `int32`.

    >>> [_capital(text) for text in ("no kernel", "answer.py, line 3", "exp(x) is", "n is")]
    ['No kernel', 'answer.py, line 3', 'exp(x) is', 'n is']
    """
    first = text.split(",")[0].split(" ")[0]
    return text if first == "n" or re.search(r"[.(_\d]", first) else text[:1].upper() + text[1:]


def _place(source: SourceLine) -> str:
    return f"{source.origin}, line {source.line}"


def _notes(report: Report) -> list[str]:
    notes = [report.note] if report.note else []
    return notes + [f"Not judged here ({skip.stage}): {skip.reason}" for skip in report.skipped]


def _replay(report: Report) -> str:
    if report.passed or not report.done or report.seed is None:
        return ""
    if report.file:
        again = f"course check {report.name} {shlex.quote(report.file)} --seed {report.seed}"
    else:
        answer = report.answer if report.answer.isidentifier() else report.name
        again = f'check("{report.name}", {answer}, seed={report.seed})'
    return f"The same inputs again: `{again}`"


def _code(text: str) -> str:
    """Text with `code` in backticks and *stressed* words, as HTML.

    >>> _code("*every* lane of `a * b * c`, 2 * 3 * 4")
    '<em>every</em> lane of <code>a * b * c</code>, 2 * 3 * 4'
    """
    pieces = html.escape(text).split("`")
    if len(pieces) % 2 == 0:
        return html.escape(text)
    return "".join(f"<code>{piece}</code>" if i % 2 else STRESSED.sub(r"<em>\1</em>", piece) for i, piece in enumerate(pieces))


STRESSED = re.compile(r"(?<![\w*])\*(\w(?:[^*]*\w)?)\*(?![\w*])")
