"""Further cases of the teacher's, from a JSON file: data and no code, so that they can travel to any machine.

    {"vector_add": [{"n": 4097}, {"n": 513, "values": "special"}], "row_softmax": [{"m": 3, "n": 700, "dtype": "fp16"}]}

Each case gives the keyword arguments of the exercise's `make_inputs`, as its `cases` in `course_lib/catalog/lesson_NN.py` do.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from course_lib import catalog
from course_lib.catalog.model import Exercise
from course_lib.errors import PlainError

Cases = Mapping[str, tuple[Mapping[str, Any], ...]]


class BadCases(PlainError, ValueError):
    """The file's cases cannot be used; the message says which, and why."""


def read_cases(path: Path) -> Cases:
    """The cases of each exercise. Every one is made once here, so that a fault shows before anything is graded."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadCases(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise BadCases(f"{path} is not JSON: {error}.") from error
    if not isinstance(content, dict):
        raise BadCases(f'{path} must hold one object, such as {{"vector_add": [{{"n": 4097}}]}}.')
    return {name: _cases(path, name, value) for name, value in content.items()}


def _cases(path: Path, name: str, value: Any) -> tuple[Mapping[str, Any], ...]:
    try:
        exercise = catalog.exercise(name)
    except catalog.UnknownName as error:
        raise BadCases(f"{path}: {error}") from error
    if not isinstance(value, list) or not all(isinstance(case, dict) for case in value):
        raise BadCases(f'{path}: the cases of {name} must be a list of objects, such as [{{"n": 4097}}].')
    names = list(inspect.signature(exercise.make_inputs).parameters)[1:]
    for case in value:
        if strange := sorted(set(case) - set(names)):
            raise BadCases(f"{path}: a case of {name} has {', '.join(strange)}. It may have: {', '.join(names)}.")
        if unlike := _unlike(exercise, case):
            raise BadCases(f"{path}: the case {json.dumps(case)} of {name} cannot be made: {unlike}.")
        try:
            exercise.reference(*exercise.make_inputs(torch.Generator().manual_seed(0), **case))
        except Exception as error:  # whatever a maker of inputs raises for values that it was not made for
            first = str(error).strip().partition("\n")[0].rstrip(".")
            raise BadCases(f"{path}: the case {json.dumps(case)} of {name} cannot be made: {first}.") from error
    return tuple(value)


def _unlike(exercise: Exercise, case: Mapping[str, Any]) -> str | None:
    """Which value of a case is of another kind than those of the exercise's own cases."""
    for name, value in case.items():
        own = [known[name] for known in exercise.cases if name in known]
        if own and not any(isinstance(value, type(one)) and isinstance(value, bool) == isinstance(one, bool) for one in own):
            return f"{name} must be something like {json.dumps(own[0])}"
    return None
