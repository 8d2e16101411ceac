"""A page of feedback for each student: the reports of what they handed in.

By lesson, it shows what `check` would have shown, hints and the failing case's size included, but not what would give the
hidden inputs away (`report.for_feedback`). Whatever comes from a student is escaped, and the page may load and run nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from html import escape

from course_lib.catalog.model import Lesson, Quiz
from course_lib.grading.asked import lessons_of
from course_lib.grading.gradebook import Record, Result, Student
from course_lib.grading.records import IN_WORDS

MADE_HERE = '<meta name="generator" content="course grade">'

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
{made_here}
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}: lesson {lessons}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }}
h1 {{ font-size: 1.5rem }} h2 {{ font-size: 1.15rem; margin: 2.5rem 0 0 }} h3 {{ font-size: 1rem; margin: 1.5rem 0 0.4rem }}
h3 span, .note {{ font-weight: normal; opacity: 0.75 }}
details {{ margin: 0.4rem 0 }} summary {{ cursor: pointer; opacity: 0.75 }}
pre, code {{ font-size: 0.875rem; white-space: pre-wrap }}
</style>
</head>
<body>
<h1>{title}</h1>
<p><b>{total} of {of} points.</b> <span class="note">Graded on {day}.</span></p>
{parts}
</body>
</html>
"""


def page(student: Student, on: date) -> str:
    """The page of one student, as HTML; `on` is the day that it names."""
    parts = [_file(record) for record in student.records]
    parts += [_lesson(lesson, student) for lesson in lessons_of(student.results)]
    return PAGE.format(
        made_here=MADE_HERE,
        title=escape(student.name),
        lessons=", ".join(lesson.name.partition("_")[0] for lesson in lessons_of(student.results)),
        total=student.total,
        of=student.of,
        day=f"{on.day} {on:%B %Y}",
        parts="\n".join(filter(None, parts)),
    )


def _file(record: Record) -> str:
    """What is to be said of a file as a whole."""
    file = escape(record["submission"])
    if problem := record.get("problem"):
        what = "" if record["submission"] == record["student"] else " Hand in a notebook (.ipynb) or a Python file (.py)."
        return f"<p><b>{file}</b> was not read: {escape(problem)}.{what if record['results'] else ''}</p>"
    notes = [*record["notes"], *([] if record["results"] else ["no exercise was found in it."])]
    return "".join(f'<p class="note">{file}: {escape(note)}</p>' for note in notes)


def _lesson(lesson: Lesson, student: Student) -> str:
    own = {item.name: student.all_results[item.name] for item in lesson.items if item.name in student.all_results}
    counting = [results[0] for results in own.values()]
    points, of = (sum(result[key] for _, result in counting) for key in ("points", "of"))
    number, _, _ = lesson.name.partition("_")
    parts = [f"<h2>Lesson {number}: {escape(lesson.title)} <span class='note'>· {points} of {of} points</span></h2>"]
    if all(_is_missing(*one) for one in counting):
        unread = " that could be read" if any(record.get("problem") for record in student.records) else ""
        return f"{parts[0]}\n<p>Nothing handed in{unread}.</p>"
    if any(isinstance(item, Quiz) for item in lesson.items):
        parts.append('<p class="note">Quizzes in the notebook are not graded here.</p>')
    return "\n".join([*parts, *(_exercise(results) for results in own.values())])


def _exercise(results: Sequence[tuple[Record, Result]]) -> str:
    """The result that counts, with the answer folded away below, and what else was handed in for the same exercise."""
    (record, result), *others = [one for one in results if not _is_missing(*one)] or results[:1]
    several = f" · {escape(record['submission'])}" if others else ""
    status, points = IN_WORDS[result["status"]], f"{result['points']} of {result['of']}"
    parts = [f"<h3>{escape(result['exercise'])} <span>· {status} · {points}{several}</span></h3>"]
    parts.append("<p>Nothing handed in for it.</p>" if _is_missing(record, result) else _shown(result))
    for record, result in others:
        words = f"{escape(record['submission'])}: {IN_WORDS[result['status']]}; another of your files counts"
        parts.append(f"<details><summary>{words}</summary>{_shown(result)}</details>")
    return "\n".join(parts)


def _shown(result: Result) -> str:
    answer = result.get("answer")
    code = f"<details><summary>Your answer, as it was judged</summary><pre>{escape(answer)}</pre></details>" if answer else ""
    return f"{result['feedback']}{code}"


def _is_missing(record: Record, result: Result) -> bool:
    return bool(record.get("problem")) or result["status"] == "not found"
