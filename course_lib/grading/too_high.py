"""A folder of submissions that was given one level too high, so that a whole class would count as one student.

What tells: folders as a learning platform names them, nbgrader's `submitted`, or files and folders of different people's names
that answer the same exercise: two where there would be no other student, three where there are. A student's own folder may hold
notebooks of several lessons, several tries (`mine.ipynb`, `mine-Copy1.ipynb`), helpers, and folders of these.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path, PurePosixPath

from course_lib import catalog
from course_lib.errors import PlainError
from course_lib.grading.asked import named
from course_lib.grading.submissions import Submission, students_folder

OF_A_PLATFORM = re.compile(r".+_\d+_assignsubmission_\w+")
"""Moodle's folder of a student."""
OF_NOBODY = frozenset(
    "answer answers assignment attempt backup copy draft ex exercise exercises file final handin helper helpers homework hw "
    "improved kernel kernels lesson main mine my new notebook old part practice sheet solution solutions solved submission "
    "task test tests try two untitled utils ver version week working".split()
) | {word for item in (*catalog.LESSONS, *catalog.items()) for word in item.name.split("_")}
"""Words in names of files that name no person."""
MOST_NAMED = 5


class TooHigh(PlainError):
    """What would count as one student is a class; the message says which folder was probably meant."""


def see_that_each_is_one_student(folder: Path, submissions: Sequence[Submission], known: Collection[str] = ()) -> None:
    """Raises `TooHigh`. `known` are the students whose folders are their own, whatever they hold."""
    root, students = students_folder(folder), {one.student for one in submissions}
    alone = len({one.student for one in submissions if not one.problem}) == 1
    suspects: list[tuple[str, Path, list[str]]] = []
    for student in sorted(students - set(known)):
        if (root / student / "submitted").is_dir():
            suspects.append((student, root / student, ["submitted"]))
        for inside, people in _people(one for one in submissions if one.student == student):
            by_a_platform = all(map(OF_A_PLATFORM.fullmatch, people))
            if len(people) > (not alone) + (not by_a_platform):
                suspects.append((student, root / inside, people))
    if suspects:
        lines = [f"  {name}: {', '.join(people[:MOST_NAMED])}" for name, _, people in suspects[:MOST_NAMED]]
        where = " or ".join(dict.fromkeys(str(path) for _, path, _ in suspects[:MOST_NAMED]))
        raise TooHigh(
            "What would count as one student looks like the work of several:\n"
            + "\n".join(lines)
            + f"\nGive the folder that holds the students: {where}. If it is one student's own: --student '{suspects[0][0]}'"
        )


def _people(submissions: Iterable[Submission]) -> list[tuple[str, list[str]]]:
    """Of each folder of a student's, those of its files and folders that look like different people's."""
    answered: dict[str, dict[str, set[str]]] = {}
    for one in submissions:
        path, names = PurePosixPath(one.name), named(one.cells)
        for inside in (path, *path.parents)[:-2]:
            answered.setdefault(str(inside.parent), {}).setdefault(inside.name, set()).update(names)
    people = ((folder, [name for name in entries if _has_rival(name, entries)]) for folder, entries in sorted(answered.items()))
    return [(folder, names) for folder, names in people if names]


def _has_rival(name: str, entries: dict[str, set[str]]) -> bool:
    """Whether another entry of the same kind, with another person's name, answers an exercise that this one answers."""
    if OF_A_PLATFORM.fullmatch(name):
        return True
    return any(
        entries[name] & answers and PurePosixPath(name).suffix == PurePosixPath(other).suffix and _others(name, other)
        for other, answers in entries.items()
    )


def _others(name: str, other: str) -> bool:
    one, two = _person(name), _person(other)
    return bool(one and two) and not one & two


def _person(name: str) -> set[str]:
    """The words of a file's name that may name a person.

    >>> _person("ann_03_programs.ipynb"), _person("vector_scale-Copy1.ipynb"), _person("s1234567.ipynb")
    ({'ann'}, set(), {'s1234567'})
    """
    words = re.findall(r"[^\W_]+", name.rpartition(".")[0] or name)
    letters = {word.lower(): word.lower().rstrip("0123456789") for word in words}
    return {word for word, text in letters.items() if text not in OF_NOBODY and (len(text) > 1 or len(word) > 5)}
