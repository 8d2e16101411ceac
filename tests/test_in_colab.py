"""Colab, played: lessons run whole where somebody else's Python, torch and Triton are there, and nothing of them is changed.

What is played is Colab's image of August 2026 (googlecolab/backend-info): IPython 7.34 and the packages around it, a torch, and
no Triton where there is no GPU. Only torch is the one that the course is tested with, whose small build is quickly fetched: the
pair is another by its Triton. The kernel has a module `google.colab`, and the first cell takes the course from a copy of this
checkout (`COURSE_SOURCE`). All of it is installed into an environment in a temporary folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbformat import NotebookNode

from course_lib.hosted import COURSE
from tools import publishing
from tools.build import ROOT, plan

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("colab")]  # an environment is made but once

COLAB = (
    "ipykernel==6.17.1 ipython==7.34.0 ipywidgets==7.7.1 jupyter_client==7.4.9 matplotlib==3.10.0 nbformat==5.11.1 "
    "numpy==2.1.3 pandas==2.2.3 rich==13.9.4 traitlets==5.7.1 filelock platformdirs typer torch==2.13.0"
).split()
TRITONS = {"another Triton": "triton==3.6.0", "no Triton": None}
LESSONS = ["00_start_here", "04_loads_stores_masks", "08_fused_softmax"]
PUBLISHED = publishing.Publication("https://github.com/owner/name", publishing.read(ROOT).version)
KERNEL = "import google.colab; from ipykernel import kernelapp; kernelapp.launch_new_instance()"
PACKAGES = "import importlib.metadata as m; import json; print(json.dumps([(d.name, d.version) for d in m.distributions()]))"


class Colab:
    """An environment that somebody else has made, and the kernels that run in it."""

    def __init__(self, folder: Path, source: Path, triton: str | None) -> None:
        self.folder = folder
        self.source = source
        self.triton = triton
        self.python = folder / "venv" / "bin" / "python"
        subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        self.pip("install", "--quiet", *COLAB, *([triton] if triton else []))
        if not triton:
            self.pip("uninstall", "--quiet", "--yes", "triton")  # where torch's build for CUDA has brought one
        colab = Path(self.ask("import sysconfig; print(sysconfig.get_path('purelib'))"), "google", "colab")
        colab.mkdir(parents=True)
        (colab / "__init__.py").write_text("")
        self.there = self.packages()

    def pip(self, *arguments: str) -> None:
        subprocess.run([self.python, "-m", "pip", "--disable-pip-version-check", *arguments], check=True)

    def ask(self, program: str) -> str:
        command = [self.python, "-c", program]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout.strip()

    def packages(self) -> set[tuple[str, str]]:
        return {(name, version) for name, version in json.loads(self.ask(PACKAGES))}

    def run(self, notebook: NotebookNode, before: str = "", **environment: str) -> NotebookNode:
        """The notebook with outputs, run in a kernel of this environment after a cell with `before`."""
        kernels = self.folder / "jupyter" / "kernels" / "colab"
        kernels.mkdir(parents=True, exist_ok=True)
        argv = [str(self.python), "-c", KERNEL, "-f", "{connection_file}"]
        (kernels / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "Colab", "language": "python"}))
        kept = {name: os.environ[name] for name in ("HOME", "LANG", "OMP_NUM_THREADS") if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "http"))}
        kept |= {"PATH": f"{self.python.parent}:/usr/bin:/bin", "COURSE_SOURCE": str(self.source), "CUDA_VISIBLE_DEVICES": ""}
        kept |= {"IPYTHONDIR": str(self.folder / "ipython")}
        copy = nbformat.from_dict(notebook)
        if before:
            copy.cells.insert(0, nbformat.v4.new_code_cell(before))
        client = NotebookClient(copy, timeout=600, kernel_name="colab", resources={"metadata": {"path": str(self.folder)}})
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("JUPYTER_PATH", str(kernels.parent.parent))
            client.execute(env=kept | environment)
        return copy


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What pip needs of this checkout, as a repository of its own with the version's tag; a build would write into this one."""
    copy = tmp_path_factory.mktemp("source")
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing += ["pyproject.toml", "README.md", "LICENSE*", "course_lib"]
    names = subprocess.run(listing, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for name in filter(None, names.split("\0")):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_bytes((ROOT / name).read_bytes())
    identity = ["-c", "user.name=course", "-c", "user.email=course@example.org"]
    for command in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "A copy"], ["tag", PUBLISHED.tag]):
        subprocess.run(["git", *command], cwd=copy, check=True)
    return copy


@pytest.fixture(scope="module", params=TRITONS.values(), ids=TRITONS)
def colab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, source: Path) -> Colab:
    return Colab(tmp_path_factory.mktemp("colab"), source, request.param)


def built(name: str, folder: str = "notebooks") -> NotebookNode:
    """The notebook as it is built, not run."""
    return next(target.notebook for target in plan(ROOT, [name]) if target.path.parent.name == folder)


def first_output(notebook: NotebookNode) -> str:
    cell = next(cell for cell in notebook.cells if cell.id == publishing.SETUP)
    return "".join(output.text for output in cell.outputs)


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_runs_whole_and_leaves_all_that_was_there(colab: Colab, name: str) -> None:
    said = first_output(colab.run(built(name)))
    assert "is ready in Google Colab" in said
    assert "No GPU in use: kernels run in Triton's interpreter" in said
    assert "Runtime > Change runtime type > T4 GPU" in said
    added = colab.packages() - colab.there
    assert colab.there <= colab.packages()
    assert {name for name, _ in added} == {COURSE, *(() if colab.triton else ("triton",))}


def test_in_a_home_where_nothing_can_be_written(colab: Colab) -> None:
    """In /proc not even root can make a folder. A check compiles, too, so it needs a cache."""
    home = {"HOME": "/proc/home", "IPYTHONDIR": "/proc/home/.ipython"}
    colab.run(built(LESSONS[0]), **home)
    solved = colab.run(built(LESSONS[0], "solutions"), **home)
    check = next(cell for cell in solved.cells if cell.source == 'check("double", double)')
    assert "passed" in check.outputs[-1].data["text/plain"].splitlines()[0]


def test_where_triton_was_imported_first_a_restart_is_asked_for(colab: Colab) -> None:
    if not colab.triton:
        pytest.skip("there is no Triton to be imported")
    only_first = built(LESSONS[0])
    only_first.cells = [cell for cell in only_first.cells if cell.id == publishing.SETUP]
    said = first_output(colab.run(only_first, before="import triton"))
    assert "cannot run yet in Google Colab" in said
    assert "Triton was imported before course_lib" in said and "Runtime > Restart session" in said


def test_a_tag_of_a_repository_is_installed(colab: Colab, source: Path) -> None:
    """The cell with an address, as it stands; git is told to go to a repository of this machine instead."""
    if COURSE in dict(colab.packages()):
        colab.pip("uninstall", "--quiet", "--yes", COURSE)
    redirected = {
        "COURSE_SOURCE": "",
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"url.file://{source}.insteadOf",
        "GIT_CONFIG_VALUE_0": PUBLISHED.repository or "",
    }
    cells = [nbformat.v4.new_code_cell(publishing.first_cell(PUBLISHED), id=publishing.SETUP)]
    said = first_output(colab.run(nbformat.v4.new_notebook(cells=cells), **redirected))
    assert f"From Warps to Tiles {PUBLISHED.version} is ready" in said
