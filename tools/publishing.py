"""How the course is opened elsewhere: the first cell of every notebook, and the badges, both from pyproject.toml.

The repository's address stands in pyproject.toml (`[project.urls]`, Repository), and the version beside it. While there is no
address, there are no badges, and the first cell tells those who open the notebook in Colab or Kaggle what to do.

What the first cell calls there is `course_lib.hosted`.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from tools import markers

SETUP, BADGES = "setup", "badges"
"""The ids of the cells that a build puts in front of a notebook's own."""
BEGIN, END = "<!-- badges -->", "<!-- /badges -->"
START = "notebooks/00_start_here.ipynb"

FIRST_CELL = """\
#@title In Colab and Kaggle, this cell installs the course; elsewhere it does nothing
import os, sys
if "google.colab" in sys.modules or "KAGGLE_KERNEL_RUN_TYPE" in os.environ:
    !pip install -q --no-deps "${COURSE_SOURCE:FALLBACK}"
    from course_lib.hosted import ready; ready()"""
UNKNOWN = "Where is the course? Run %env COURSE_SOURCE=git+https://github.com/OWNER/NAME and then this cell again"
"""What the shell says where there is no address to install from."""
FOLDED = {"jupyter": {"source_hidden": True}, "cellView": "form"}
"""The first cell's metadata: JupyterLab, Kaggle and VS Code show its first line alone, Colab the title that stands there."""


class PublishingError(ValueError):
    """pyproject.toml or README.md is not as it must be for this; the message says how to mend it."""


@dataclass(frozen=True)
class Publication:
    """Where the course is kept, such as "https://github.com/owner/name"; None while nobody has said so. And its version."""

    repository: str | None
    version: str

    @property
    def tag(self) -> str:
        """The tag of the repository that holds this version."""
        return f"v{self.version}"

    @property
    def on_github(self) -> str | None:
        """The repository as "owner/name", where it is on GitHub, from which Colab, Kaggle and Binder open notebooks."""
        match = re.fullmatch(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?", self.repository or "")
        return match[1] if match else None


def read(root: Path) -> Publication:
    """What `root`/pyproject.toml says. Raises `PublishingError` for an address that pip could not install from."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    repository = project.get("urls", {}).get("Repository")
    if repository is not None and not re.fullmatch(r"https://[\w.-]+(/[\w.~-]+)+/?", repository):
        raise PublishingError(f"pyproject.toml: Repository is {repository!r}; write it as https://github.com/OWNER/NAME.")
    return Publication(repository, project["version"])


def first_cell(publication: Publication) -> str:
    """The source of every notebook's first code cell.

    `COURSE_SOURCE` in the environment, anything that `pip install` takes, goes before the repository.

    >>> print(first_cell(Publication("https://github.com/owner/name", "0.1.0")).splitlines()[3])
        !pip install -q --no-deps "${COURSE_SOURCE:-git+https://github.com/owner/name@v0.1.0}"
    """
    address = publication.repository and publication.repository.rstrip("/")
    fallback = f"-git+{address}@{publication.tag}" if address else f"?{UNKNOWN}"
    return FIRST_CELL.replace("FALLBACK", fallback)


def badges(publication: Publication, path: str) -> str:
    """Markdown that opens the notebook at `path` (in the repository) elsewhere, at this version; empty where that is unknown.

    >>> badges(Publication(None, "0.1.0"), "notebooks/00_start_here.ipynb")
    ''
    """
    if not (name := publication.on_github):
        return ""
    file = f"github.com/{name}/blob/{publication.tag}/{path}"
    return " ".join(
        f"[![Open in {where}]({image})]({link})"
        for where, image, link in (
            (
                "Colab",
                "https://colab.research.google.com/assets/colab-badge.svg",
                f"https://colab.research.google.com/{file.replace('github.com', 'github', 1)}",
            ),
            (
                "Kaggle",
                "https://kaggle.com/static/images/open-in-kaggle.svg",
                f"https://kaggle.com/kernels/welcome?src=https://{file}",
            ),
            (
                "Binder",
                "https://mybinder.org/badge_logo.svg",
                f"https://mybinder.org/v2/gh/{name}/{publication.tag}?labpath={path}",
            ),
        )
    )


def opened(notebook: NotebookNode, publication: Publication, path: str) -> NotebookNode:
    """A copy of `notebook` with the badges and the first cell in front, below the Markdown cell with its title."""
    copy = nbformat.from_dict(notebook)
    front = [nbformat.v4.new_code_cell(first_cell(publication), id=SETUP, metadata=FOLDED)]
    if row := badges(publication, path):
        front.insert(0, nbformat.v4.new_markdown_cell(row, id=BADGES))
    place = 1 if copy.cells and copy.cells[0].cell_type == "markdown" else 0
    copy.cells[place:place] = front
    return copy


def readme(text: str, publication: Publication) -> str:
    """README.md's `text` with the first lesson's badges between its markers. Raises `PublishingError` if it lacks these."""
    found = markers.parts(text, BEGIN, END)
    if found is None:
        raise PublishingError(f"README.md needs the lines {BEGIN} and {END}, once each, where the badges are to stand.")
    row = badges(publication, START)
    before, _, after = found
    return f"{before}{BEGIN}\n{row}{row and chr(10)}{END}{after}"


def write_readme(root: Path) -> None:
    """Put the badges into `root`/README.md."""
    path = root / "README.md"
    path.write_text(readme(path.read_text(encoding="utf-8"), read(root)), encoding="utf-8")


def faults(root: Path) -> list[str]:
    """Whether README.md's badges are not those of pyproject.toml; empty when they are."""
    text = (root / "README.md").read_text(encoding="utf-8")
    return [] if readme(text, read(root)) == text else ["README.md has not pyproject.toml's badges; run `make build`."]
