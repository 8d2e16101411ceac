"""Where the course is opened elsewhere: the first cell, the badges, and the files for containers and Binder."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

from course_lib.checking.notebook import bundle_notebook
from tools import publishing
from tools.build import ROOT
from tools.publishing import Publication, PublishingError

UNSET = Publication(None, "1.2.3")
SET = Publication("https://github.com/owner/name", "1.2.3")
BOTH = pytest.mark.parametrize("publication", [UNSET, SET], ids=["without an address", "with one"])


def notebook_of(*sources: str) -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_markdown_cell("# Title", id="title")]
    cells += [nbformat.v4.new_code_cell(source, id=f"code-{place}") for place, source in enumerate(sources)]
    return nbformat.v4.new_notebook(cells=cells)


def project(root: Path, urls: str) -> Path:
    (root / "pyproject.toml").write_text(f'[project]\nversion = "1.2.3"\n{urls}')
    return root


def test_the_address_stands_in_one_place(tmp_path: Path) -> None:
    assert publishing.read(project(tmp_path, "")) == UNSET
    assert publishing.read(project(tmp_path, "[project.urls]\n")) == UNSET
    assert publishing.read(project(tmp_path, '[project.urls]\nRepository = "https://github.com/owner/name"\n')) == SET


@pytest.mark.parametrize(
    "address", ["", "github.com/owner/name", "https://github.com", "https://x.org/a b", "https://x.org/$(ls)"]
)
def test_an_address_that_pip_could_not_use_is_refused(tmp_path: Path, address: str) -> None:
    with pytest.raises(PublishingError, match=r"write it as https://github\.com/OWNER/NAME"):
        publishing.read(project(tmp_path, f"[project.urls]\nRepository = {json.dumps(address)}\n"))


@BOTH
def test_a_notebook_begins_with_the_first_cell_below_its_title(publication: Publication) -> None:
    opened = publishing.opened(notebook_of("import course_lib"), publication, publishing.START)
    nbformat.validate(opened)
    assert [cell.id for cell in opened.cells] == ["title", *(["badges"] if publication is SET else []), "setup", "code-0"]
    setup = next(cell for cell in opened.cells if cell.cell_type == "code")
    assert setup.source == publishing.first_cell(publication)
    assert setup.source.count("\n") == 4
    assert setup.source.startswith("#@title ")  # what is to be read of a folded cell
    assert setup.metadata.jupyter.source_hidden and setup.metadata.cellView == "form"


def test_badges_lead_to_the_version_of_the_notebook() -> None:
    links = re.findall(r"\]\(([^)]+)\)", publishing.badges(SET, "exercises/01_tiny.ipynb"))
    assert links[1::2] == [
        "https://colab.research.google.com/github/owner/name/blob/v1.2.3/exercises/01_tiny.ipynb",
        "https://kaggle.com/kernels/welcome?src=https://github.com/owner/name/blob/v1.2.3/exercises/01_tiny.ipynb",
        "https://mybinder.org/v2/gh/owner/name/v1.2.3?labpath=exercises/01_tiny.ipynb",
    ]


@pytest.mark.parametrize("address", [None, "https://gitlab.com/owner/name"])
def test_there_are_no_badges_where_they_would_lead_nowhere(address: str | None) -> None:
    assert publishing.badges(Publication(address, "1.2.3"), publishing.START) == ""


def test_badges_come_into_the_readme_and_go() -> None:
    before = (ROOT / "README.md").read_text()
    there = publishing.readme(before, SET)
    assert "colab.research.google.com/github/owner/name/blob/v1.2.3/" in there
    assert publishing.readme(there, SET) == there
    assert "colab-badge" not in publishing.readme(there, UNSET)
    with pytest.raises(PublishingError, match=r"README\.md needs the lines"):
        publishing.readme("# Title\n", SET)


RUN = """
import os, subprocess, sys, types
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.system = lambda command: subprocess.run(command, shell=True)
before = set(sys.modules) | {"os", "sys"}
if len(sys.argv) > 2:
    sys.modules["google.colab"] = types.ModuleType("google.colab")
result = shell.run_cell(open(sys.argv[1]).read(), store_history=True)
print("ran", type(result.error_in_exec).__name__, sorted(name for name in sys.modules if name.startswith("course_lib")))
"""


def run_cell(tmp_path: Path, publication: Publication, *colab: str, **environment: str) -> str:
    """What the first cell prints, without pip: a program of this name that says what it was asked stands first in PATH."""
    pip = tmp_path / "pip"
    pip.write_text('#!/bin/sh\necho "pip was asked: $*"\n')
    pip.chmod(0o755)
    (tmp_path / "cell.py").write_text(publishing.first_cell(publication))
    home = {"HOME": str(tmp_path), "IPYTHONDIR": str(tmp_path / "ipython"), "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(tmp_path / "cell.py"), *colab],
        env={**home, "PATH": f"{tmp_path}:/usr/bin:/bin", "CUDA_VISIBLE_DEVICES": "", **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.stdout + done.stderr


@BOTH
def test_on_a_machine_of_ones_own_the_first_cell_does_nothing(tmp_path: Path, publication: Publication) -> None:
    assert run_cell(tmp_path, publication) == "ran NoneType []\n"


def test_in_colab_it_installs_this_version_and_says_what_it_finds(tmp_path: Path) -> None:
    said = run_cell(tmp_path, SET, "colab")
    assert "pip was asked: install -q --no-deps git+https://github.com/owner/name@v1.2.3\n" in said
    assert "is ready in Google Colab" in said
    assert "Added: nothing." in said
    assert "No GPU in use: kernels run in Triton's interpreter" in said
    assert "Runtime > Change runtime type > T4 GPU" in said
    assert "ran NoneType" in said and "course_lib.hosted" in said


def test_in_kaggle_it_names_kaggles_menu(tmp_path: Path) -> None:
    said = run_cell(tmp_path, SET, KAGGLE_KERNEL_RUN_TYPE="Interactive")
    assert "is ready in Kaggle" in said and "Settings > Accelerator" in said


def test_without_an_address_it_says_what_to_do(tmp_path: Path) -> None:
    said = run_cell(tmp_path, UNSET, "colab")
    assert "pip was asked" not in said
    assert "Run %env COURSE_SOURCE=git+https://github.com/OWNER/NAME and then this cell again" in said


@BOTH
def test_a_source_in_the_environment_goes_before_any_address(tmp_path: Path, publication: Publication) -> None:
    said = run_cell(tmp_path, publication, "colab", COURSE_SOURCE="/a folder")
    assert "pip was asked: install -q --no-deps /a folder\n" in said


@BOTH
def test_an_answer_is_taken_out_of_a_notebook_that_begins_with_it(tmp_path: Path, publication: Publication) -> None:
    notebook = publishing.opened(
        notebook_of("import math\n", "def area(r):\n    return math.pi * r * r"), publication, "x.ipynb"
    )
    path = tmp_path / "x.ipynb"
    path.write_text(nbformat.writes(notebook))
    text = bundle_notebook(path, "area").source
    assert "import math" in text
    assert "pip" not in text
    ast.parse(text)


# --- containers and Binder -------------------------------------------------------------------------------------------


def test_containers_and_binder_pin_nothing_and_take_their_versions_from_constraints() -> None:
    requirements = (ROOT / "binder" / "requirements.txt").read_text()
    constraints = re.findall(r"^-c (.+)$", requirements, re.MULTILINE)
    assert [(ROOT / "binder" / path).resolve() for path in constraints] == [ROOT / "constraints.txt"]
    assert re.search(r"^-e \.$", requirements, re.MULTILINE)
    environment = (ROOT / "environment.yml").read_text()
    assert "- -c constraints.txt" in environment and "- -e .[lab]" in environment
    for text in (requirements, environment, (ROOT / ".devcontainer" / "devcontainer.json").read_text()):
        assert "==" not in text


def test_containers_and_binder_have_the_python_that_constraints_are_made_for() -> None:
    made_for = re.search(r"Python (3\.\d+)", (ROOT / "constraints.txt").read_text())
    assert made_for
    assert (ROOT / "binder" / "runtime.txt").read_text().strip() == f"python-{made_for[1]}"
    assert f"- python={made_for[1]}\n" in (ROOT / "environment.yml").read_text()
    assert container()["image"].endswith(f":{made_for[1]}")


def test_a_container_is_set_up_as_a_machine_of_ones_own_and_needs_no_gpu() -> None:
    assert container()["hostRequirements"] == {"gpu": "optional"}
    assert container()["postCreateCommand"].endswith("sh tools/setup.sh")
    small = re.findall(r"https://download\.pytorch\.org\S+", (ROOT / "binder" / "requirements.txt").read_text())
    assert small == re.findall(r"https://download\.pytorch\.org[^\s;]+", container()["postCreateCommand"])


def container() -> dict[str, object]:
    """devcontainer.json, which may have comments, each on a line of its own here."""
    text = (ROOT / ".devcontainer" / "devcontainer.json").read_text()
    found: dict[str, object] = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    return found


def test_every_package_that_an_environment_must_have_is_asked_for_and_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {re.split(r"[^\w-]", line)[0] for line in (*project["dependencies"], *extras["lab"])}
    assert {"jupyterlab", "triton", "torch", "matplotlib", "nbval"} <= names
    pinned = {line.split("==")[0].lower() for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line}
    assert names - {"triton-windows"} <= pinned
