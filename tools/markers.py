"""Parts of a Markdown file that a program writes: they stand between two lines, each a comment. Pure."""

from __future__ import annotations

import re


def parts(text: str, begin: str, end: str) -> tuple[str, str, str] | None:
    """What stands before, between and after the lines `begin` and `end`; None unless each is there once, in this order.

    >>> parts("above\\n<!-- x -->\\nold\\n<!-- /x -->\\nbelow", "<!-- x -->", "<!-- /x -->")
    ('above\\n', 'old\\n', '\\nbelow')
    """
    match = re.fullmatch(f"(.*){re.escape(begin)}\n(.*){re.escape(end)}(.*)", text, re.DOTALL)
    if match is None or text.count(begin) != 1 or text.count(end) != 1:
        return None
    return match[1], match[2], match[3]
