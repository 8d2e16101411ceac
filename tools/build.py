"""Build notebooks/, exercises/ and solutions/ from lessons/, INDEX.md from the catalogue, or check that they are in step.

    python -m tools.build                           build everything
    python -m tools.build 03_programs_and_grids     build one lesson
    python -m tools.build --check                   change nothing; say what is out of step

Every notebook gets the same first code cell, and badges, from pyproject.toml (`publishing.py`); README.md gets its badges, too.
Lessons are run on the CPU and stored with their outputs; exercises and solutions are stored without. The check
compares everything but outputs, and that the outputs are those that the build has stored; nbval compares them with
those of another run (`make test`), except where somebody has worked in a notebook since it was built.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from course_lib import catalog
from course_lib.catalog.glossary import TERMS
from tools import execute, index, publishing, sources
from tools.sources import EXERCISES_SUFFIX, SourceError

ROOT = Path(__file__).resolve().parent.parent
BUILT = ("notebooks", "exercises", "solutions")
SOURCE_NAME = re.compile(r"\d\d_[a-z0-9_]+(\.exercises)?\.md")
AT_ONCE = 2


@dataclass(frozen=True)
class Target:
    """A notebook to be built: where it goes, the source it comes from, and what it holds before it is run."""

    path: Path
    source: Path
    notebook: NotebookNode

    @property
    def runs(self) -> bool:
        """Whether it is stored with outputs."""
        return self.path.parent.name == "notebooks"

    def locate(self, place: int) -> str:
        """Where the notebook's cell at `place` comes from, as ``file:line``; for one of `publishing`, the one before it."""
        front = (publishing.SETUP, publishing.BADGES)
        before = [cell for cell in self.notebook.cells[: place + 1] if cell.id not in front]
        return sources.locate(self.source, max(0, len(before) - 1))


def plan(root: Path, only: list[str] | None = None) -> list[Target]:
    """Every notebook that `root`/lessons stands for, or those of the lessons in `only`. Raises `SourceError`."""
    lessons = sorted(path for path in (root / "lessons").glob("*.md") if SOURCE_NAME.fullmatch(path.name))
    if not lessons:
        raise SourceError(f"there is nothing to build: {root / 'lessons'} holds no lesson.")
    stems = [path.stem.removesuffix(EXERCISES_SUFFIX) for path in lessons]
    if unknown := sorted(set(only or ()) - set(stems)):
        raise SourceError(f"no lesson is called {', '.join(unknown)}; there are {', '.join(sorted(set(stems)))}.")
    publication = publishing.read(root)
    targets: list[Target] = []

    def add(folder: str, path: Path, file: str, notebook: NotebookNode) -> None:
        opened = publishing.opened(notebook, publication, f"{folder}/{file}")
        targets.append(Target(root / folder / file, path, opened))

    for path, stem in zip(lessons, stems, strict=True):
        if only and stem not in only:
            continue
        file = f"{stem}.ipynb"
        if path.stem == stem:
            add("notebooks", path, file, sources.read_source(path))
        else:
            add("exercises", path, file, sources.exercise_notebook(path))
            add("solutions", path, file, sources.solution_notebook(path))
    return targets


def build(root: Path, only: list[str] | None = None, overwrite: bool = False) -> list[Path]:
    """Build the notebooks and return their paths. Raises `SourceError`, before anything is written where it can.

    An exercise notebook in which somebody has filled blanks is left alone unless `overwrite`.
    """
    targets = plan(root, only)
    if not overwrite:
        for target in targets:
            _refuse_to_lose_answers(root, target)
    for folder in BUILT:
        (root / folder).mkdir(exist_ok=True)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(_write, targets))


def check(root: Path) -> list[str]:
    """What is out of step between lessons/ and the three folders, one message each; empty when nothing is."""
    targets = plan(root)
    faults = [fault for target in targets for fault in _compare(root, target)]
    expected = {target.path for target in targets} | {target.source for target in targets}
    for folder in ("lessons", *BUILT):
        for path in sorted((root / folder).glob("*")):
            if path not in expected and not path.name.startswith("."):
                why = "is not named NN_topic.md" if folder == "lessons" else "has no source in lessons"
                faults.append(f"{path.relative_to(root)} {why}; rename it or move it away.")
    return faults


def digest(notebook: NotebookNode) -> str:
    """A short hash of a notebook's cells. The build stores it with a lesson; when it no longer fits, the cells were changed."""
    return hashlib.sha256(json.dumps(notebook.cells, sort_keys=True).encode()).hexdigest()[:16]


def as_built(path: Path) -> bool:
    """Whether the lesson at `path` is as the build has left it: nobody has run it, solved its quizzes or changed it."""
    notebook = nbformat.read(path, as_version=4)
    return bool(notebook.metadata.get("course", {}).get("built") == digest(notebook))


def as_text(notebook: NotebookNode) -> str:
    """The notebook as it is stored: one form only, so that equal notebooks are equal files."""
    nbformat.validate(notebook)
    return str(nbformat.writes(notebook)).rstrip("\n") + "\n"


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.build", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("lesson", nargs="*", help="such as 03_programs_and_grids; all without one")
    parser.add_argument("--check", action="store_true", help="change nothing; say what is out of step")
    parser.add_argument("--overwrite", action="store_true", help="also replace exercises in which blanks were filled")
    options = parser.parse_args(arguments)
    try:
        if options.check:
            faults = [*check(ROOT), *index.faults(ROOT, index.page(catalog.LESSONS, TERMS)), *publishing.faults(ROOT)]
            print("\n".join(faults) if faults else f"{', '.join(BUILT)} and {index.NAME} are in step with their sources.")
            return 1 if faults else 0
        build(ROOT, options.lesson, options.overwrite)
        index.write(ROOT, index.page(catalog.LESSONS, TERMS))
        publishing.write_readme(ROOT)
    except (SourceError, publishing.PublishingError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _write(target: Target) -> Path:
    began = time.perf_counter()
    notebook = target.notebook
    if target.runs:
        try:
            notebook = execute.run(notebook, target.path.parent)
        except execute.RunError as error:
            where = target.source.name if error.place is None else target.locate(error.place)
            raise SourceError(f"{where}: {error}") from error
        notebook.metadata["course"] = {"built": digest(notebook)}
    target.path.write_text(as_text(notebook), encoding="utf-8")
    print(f"built {target.path.parent.name}/{target.path.name} in {time.perf_counter() - began:.1f} s", flush=True)
    return target.path


def _compare(root: Path, target: Target) -> list[str]:
    """How a stored notebook differs from what its source gives; empty when it does not."""
    name, cure = target.path.relative_to(root), "run `make build`."
    if not target.path.exists():
        return [f"{name} is missing; {cure}"]
    try:
        stored = nbformat.read(target.path, as_version=4)
        nbformat.validate(stored)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError) as error:
        return [f"{name} is no notebook ({str(error).splitlines()[0]}); {cure}"]
    faults = []
    if target.runs and not as_built(target.path):
        faults.append(f"{name} was run or changed after it was built; {cure}")
    stored.metadata.pop("course", None)
    stored.metadata.get("language_info", {})["version"] = target.notebook.metadata.language_info.version
    for cell in stored.cells:
        if cell.cell_type == "code" and target.runs:
            cell.execution_count, cell.outputs = None, []
    if as_text(stored) == as_text(target.notebook):
        return faults
    want = target.notebook.cells
    places = [p for p, (a, b) in enumerate(zip(stored.cells, want, strict=False)) if a != b]
    if places:
        line = target.locate(places[0])
        where = f"cell {places[0]} ({want[places[0]].id}) is not as in {line}"
    elif len(stored.cells) != len(want):
        where = f"it has {len(stored.cells)} cells, and {target.source.name} gives {len(want)}"
    else:
        where = f"its metadata is not as {target.source.name} gives it"
    return [f"{name} is out of step: {where}; {cure}", *faults]


def _refuse_to_lose_answers(root: Path, target: Target) -> None:
    if target.path.parent.name != "exercises" or not target.path.exists():
        return
    blanks = {cell.id: sources.count_blanks(cell.source) for cell in target.notebook.cells}
    for cell in nbformat.read(target.path, as_version=4).cells:
        is_answer = cell.metadata.get("nbgrader", {}).get("solution", False)
        if is_answer and sources.count_blanks(cell.source) < blanks.get(cell.id, 1):
            raise SourceError(
                f"{target.path.relative_to(root)} holds an answer ({cell.id}) that a build would overwrite; "
                "copy it elsewhere and run `make build BUILD_ARGS=--overwrite`."
            )


if __name__ == "__main__":
    sys.exit(main())
