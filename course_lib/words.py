"""`glossary`: what a word of the course means, for notebooks and the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from course_lib.progress import HintText

if TYPE_CHECKING:
    from course_lib.catalog.glossary import Term


def glossary(name: str | None = None) -> str:
    """What the word means, what it is in CUDA, and its lesson; without a word, all there are.

    Raises `course_lib.catalog.glossary.UnknownTerm`, with the nearest words, for one that is not in the glossary.
    """
    from course_lib.catalog.glossary import TERMS, find_term

    if name is None:
        return HintText(", ".join(term.name for term in TERMS))
    return HintText(told(find_term(name)))


def told(term: Term) -> str:
    """A term in plain words: its meaning, CUDA's word for it, and its lesson.

    >>> from course_lib.catalog.glossary import find_term
    >>> print(told(find_term("program")).partition("In CUDA")[2])
    : a thread block. Lesson 00, Start here.
    """
    from course_lib.catalog import LESSONS

    title = next(lesson.title for lesson in LESSONS if lesson.name.startswith(term.lesson))
    cuda = f" In CUDA: {term.cuda}." if term.cuda else ""
    return f"{term.name}: {term.meaning}{cuda} Lesson {term.lesson}, {title}."
