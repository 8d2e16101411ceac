"""A page of feedback for each student: the reports of what they handed in.

It shows what `check` would have shown, hints and the failing case's size included, but not what would give the hidden inputs
away (`report.for_feedback`). Whatever comes from a student is escaped, and the page may load and run nothing.
"""

from __future__ import annotations

from html import escape
from typing import Any

from course_lib.grading.gradebook import Student

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere }}
h1 {{ font-size: 1.5rem }} h2 {{ font-size: 1.15rem; margin-top: 2.5rem }} h3 {{ font-size: 1rem; margin: 1.5rem 0 0.4rem }}
h3 span, .note {{ font-weight: normal; opacity: 0.75 }}
pre, code {{ font-size: 0.875rem; white-space: pre-wrap }}
</style>
</head>
<body>
<h1>{title}</h1>
<p><b>{total} of {of} points.</b></p>
{files}
</body>
</html>
"""


def page(student: Student) -> str:
    """The page of one student, as HTML."""
    files = "\n".join(_file(record, student) for record in student.records)
    return PAGE.format(title=escape(student.name), total=student.total, of=student.of, files=files)


def _file(record: Any, student: Student) -> str:
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in record["notes"])
    parts = [f"<h2>{escape(record['submission'])}</h2>", notes]
    for result in record["results"]:
        counts = student.results[result["exercise"]] is result
        if not counts and result["status"] == "not found":
            continue
        points = f"{result['points']} of {result['of']}" if counts else "another of your files counts for this exercise"
        parts.append(f"<h3>{escape(result['exercise'])} <span>· {points}</span></h3>\n{result['feedback']}")
    return "\n".join(filter(None, parts)) + ("" if record["results"] else "<p>No exercise was found in it.</p>")
