"""Reports as text, HTML and JSON: nothing of the answer is taken for markup, and graders can rely on the JSON."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from course_lib import catalog
from course_lib.catalog.model import Exercise, Hint
from course_lib.checking.advice import GENERAL
from course_lib.checking.findings import KINDS, PATTERNS, Finding, Report, Skipped, SourceLine
from course_lib.checking.report import as_html, as_json, as_text, choose_hint, legend, strip

SCHEMA = json.loads((Path(__file__).parents[1] / "course_lib" / "data" / "report.schema.json").read_text())

FINDING = Finding(
    "store_out_of_bounds",
    "program (1, 0, 0) writes 3 elements past the end of out_ptr",
    case="n=5",
    kernel="k",
    program=(1, 0, 0),
    source=SourceLine("cell In[3]", 7, "tl.store(out_ptr + o, x < y)"),
    count=3,
    details=("out_ptr has 5 elements; use `a & b`.",),
    evidence={"offsets": [5, 6, 7], "elements": 5, "tensor": "out_ptr"},
)
REPORTS = {
    "passed": Report("double", True, seed=3, cases=17, stages=("interpreter",), skipped=(Skipped("gpu", "there is none"),)),
    "failed": Report(
        "double", False, (FINDING,), seed=3, hint="Mask `offsets < n`.", printed="<b>printed</b>\n", answer="mine"
    ),
    "not done": Report("double", False, (Finding("not_done", "a blank is still open"),), seed=3),
    "no verdict": Report("double", False, (Finding("no_verdict", "no memory left"),), judged=False),
}


@pytest.mark.parametrize("which", REPORTS)
def test_the_json_keeps_to_its_schema(which: str) -> None:
    jsonschema.validate(json.loads(json.dumps(as_json(REPORTS[which]))), SCHEMA)


def test_the_schema_refuses_what_it_should() -> None:
    broken = as_json(REPORTS["failed"]) | {"passed": "yes"}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(broken, SCHEMA)


def test_a_failing_report_says_all_that_is_known() -> None:
    text = as_text(REPORTS["failed"])
    for word in (
        "double: not right yet",
        "n=5",
        "`k`",
        "(1, 0, 0)",
        "3 elements",
        "cell In[3], line 7",
        "tl.store(",
        "Hint: Mask",
    ):
        assert word in text
    assert 'check("double", mine, seed=3)' in text


def test_html_escapes_what_the_answer_says() -> None:
    page = as_html(REPORTS["failed"])
    assert "x &lt; y" in page and "&lt;b&gt;printed" in page and "<b>printed" not in page
    assert "<code>a &amp; b</code>" in page


def test_a_skipped_stage_is_said_even_when_the_rest_passed() -> None:
    assert "Not judged here (gpu): there is none" in as_text(REPORTS["passed"])


def test_a_blank_is_no_fault_and_has_no_seed() -> None:
    text = as_text(REPORTS["not done"])
    assert text.startswith("double: not done yet") and "seed" not in text


HINTS = (
    Hint("general"),
    Hint("plain", frozenset({"unwritten"})),
    Hint("plain, later", frozenset({"unwritten"})),
    Hint("the tail", frozenset({"unwritten:tail"})),
    Hint("a case", frozenset({"unwritten"}), case="mean="),
    Hint("the tail of a case", frozenset({"unwritten:tail"}), case="mean="),
    Hint("a message", frozenset({"crash"}), message="other arguments"),
)


@pytest.mark.parametrize(
    ("finding", "hint"),
    [
        (Finding("unwritten", ""), "plain"),
        (Finding("unwritten", "", pattern="tail"), "the tail"),
        (Finding("unwritten", "", case="n=3, mean=9"), "a case"),
        (Finding("unwritten", "", case="n=3, mean=9", pattern="tail"), "the tail of a case"),
        (Finding("unwritten", "", pattern="gaps"), GENERAL["unwritten:gaps"]),
        (Finding("unwritten", "", pattern="gaps", advice="its own"), "its own"),
        (Finding("crash", "for other arguments", advice="its own"), "a message"),
        (Finding("crash", "for fewer arguments", advice="its own"), "its own"),
        (Finding("race", "", pattern="read"), GENERAL["race:read"]),
        (Finding("race", "", pattern="same"), GENERAL["race"]),
        (Finding("not_done", ""), None),
    ],
)
def test_the_hint_that_fits_most_narrowly_is_chosen(finding: Finding, hint: str | None) -> None:
    assert choose_hint(HINTS, [finding]) == hint


def test_where_nothing_was_found_there_is_no_hint() -> None:
    assert choose_hint(HINTS, []) is None


def test_there_is_a_general_hint_for_every_fault_of_an_answer() -> None:
    no_fault = {"cannot_bundle", "not_done", "no_verdict", "wrong_form", "wrong_answer"}
    assert {name.partition(":")[0] for name in GENERAL} == KINDS.keys() - no_fault


def fitting() -> set[str]:
    """All that hints say they fit."""
    exercises = [item for item in catalog.items() if isinstance(item, Exercise)]
    return {name for exercise in exercises for hint in exercise.hints for name in hint.diagnoses} | GENERAL.keys()


@pytest.mark.parametrize("name", sorted(fitting()))
def test_what_hints_fit_exists(name: str) -> None:
    kind, colon, pattern = name.partition(":")
    assert kind in KINDS
    assert not colon or pattern in PATTERNS[kind]


@pytest.mark.parametrize(
    ("evidence", "marks"),
    [
        ({"wrong": (0,), "elements": 4}, "[✗···]"),
        ({"missing": [2, 3], "elements": 4}, "[··✗✗]"),
        ({"offsets": [-1, 4], "elements": 4}, "✗│····│✗"),
        ({"offsets": [1], "elements": 4}, "│·✗··│"),
        ({"wrong": (), "elements": 4}, None),
        ({}, None),
    ],
)
def test_the_strip_shows_where(evidence: dict[str, object], marks: str | None) -> None:
    assert strip(Finding("mismatch", "", evidence=evidence)) == marks


def test_a_long_strip_is_drawn_to_scale_and_loses_nothing() -> None:
    marks = strip(Finding("mismatch", "", evidence={"wrong": (9_999,), "elements": 10_000}))
    assert marks is not None and len(marks) <= 66 and marks.endswith("✗]") and marks.count("✗") == 1


@pytest.mark.parametrize(
    ("evidence", "meaning"),
    [
        ({"wrong": (0,), "elements": 4}, "✗ wrong"),
        ({"missing": [2, 3], "elements": 4}, "✗ not written"),
        ({"offsets": [4], "elements": 4, "tensor": "x_ptr"}, "✗ touched, and not part of x_ptr"),
        ({"offsets": [127], "elements": 1, "tensor": "x_ptr"}, "✗ touched, and not part of x_ptr; one mark for 2 elements"),
    ],
)
def test_the_strip_says_what_its_marks_stand_for(evidence: dict[str, object], meaning: str) -> None:
    finding = Finding("mismatch", "", evidence=evidence)
    assert legend(finding) == meaning
    report = Report("double", False, (finding,))
    assert strip(finding) is None or (meaning in as_text(report) and meaning in as_html(report))


def test_what_an_answer_printed_is_shown_even_if_it_passed() -> None:
    report = Report("double", True, printed="x [1.]")
    assert "x [1.]" in as_text(report) and "x [1.]" in as_html(report)


def test_what_a_case_is_called_goes_with_its_strides() -> None:
    finding = Finding("mismatch", "wrong", case="m=2, n=3, layout=transposed", given="`x` has the strides (1, 2)")
    assert "With m=2, n=3, layout=transposed (`x` has the strides (1, 2)): wrong." in as_text(
        Report("copy_rows", False, (finding,))
    )


def test_every_kind_of_finding_can_be_reported() -> None:
    for kind in KINDS:
        report = Report("double", False, (Finding(kind, "something"),), seed=1)
        assert as_text(report) and as_html(report)


def test_an_unknown_kind_is_an_error_at_once() -> None:
    with pytest.raises(ValueError, match="unknown kind"):
        Finding("typo", "")
    with pytest.raises(ValueError, match="no pattern"):
        Finding("race", "", pattern="tail")


@pytest.mark.parametrize(
    ("answer", "file", "again"),
    [
        ("mine", "", 'check("double", mine, seed=3)'),
        ("<lambda>", "", 'check("double", double, seed=3)'),
        ("", "my answers/a.py", "course check double 'my answers/a.py' --seed 3"),
    ],
)
def test_the_line_that_repeats_a_check_can_be_copied(answer: str, file: str, again: str) -> None:
    report = replace(REPORTS["failed"], answer=answer, file=file)
    assert f"`{again}`" in as_text(report)
    assert html.escape(again) in as_html(report)


def test_feedback_on_graded_work_shows_the_fault_but_no_seed_no_expected_value_and_nothing_printed() -> None:
    wrong = replace(FINDING, values=("element 4: got 0.25, expected 8.125",))
    report = replace(REPORTS["failed"], findings=(wrong,), seed=271828)
    for form in (as_text, as_html, lambda r: json.dumps(as_json(r))):
        learner, feedback = form(report), form(report.for_feedback())
        assert "271828" in learner and "expected 8.125" in learner
        assert not [secret for secret in ("271828", "8.125", "printed") if secret in feedback]
        assert "out_ptr has 5 elements" in feedback and "n=5" in feedback
    assert report.for_feedback().passed is report.passed
    jsonschema.validate(as_json(report.for_feedback()), SCHEMA)
