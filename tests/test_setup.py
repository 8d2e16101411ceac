"""tools/setup.sh: what it says where something is missing, and that it knows when it is done. Nothing is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tools.build import ROOT

GOOD_PYTHON = """\
case "$*" in
*version_info\\[:2\\]*) echo 3.11 ;;
"-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python && cp "$0" .venv/bin/pip ;;
*"-m pip install"*) echo "$@" >> pip.log; test ! -e pip-fails ;;
esac"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    for name in ("pyproject.toml", "constraints.txt", "tools/setup.sh"):
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "bin").mkdir()
    return tmp_path


def fake(project: Path, name: str, script: str) -> None:
    path = project / "bin" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def setup(project: Path, *extra: str, **env: str) -> subprocess.CompletedProcess[str]:
    path = f"{project / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    return subprocess.run(
        ["sh", "tools/setup.sh", *extra], cwd=project, env={"PATH": path, **env}, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(("system", "cure"), [("Darwin", "Google Colab"), ("MINGW64_NT-10.0", "wsl --install")])
def test_another_system_is_told_where_the_course_runs(project: Path, system: str, cure: str) -> None:
    fake(project, "uname", f"echo {system}")
    done = setup(project)
    assert done.returncode == 1
    assert cure in done.stderr


@pytest.mark.parametrize(
    ("script", "message", "cure"),
    [
        (None, "was not found", "apt install python3 python3-venv"),
        ("exit 127", "does not run", "PYTHON=python3.11"),
        ('case "$*" in *\\[:2\\]*) echo 3.9 ;; *) exit 1 ;; esac', "Python 3.9", "PYTHON=python3.11"),
        ('case "$*" in *\\[:2\\]*) echo 3.11 ;; *ensurepip*) exit 1 ;; esac', "venv", "apt install python3.11-venv"),
    ],
    ids=["missing", "broken", "old", "no-venv"],
)
def test_a_python_that_will_not_do_is_named_with_the_cure(project: Path, script: str | None, message: str, cure: str) -> None:
    if script:
        fake(project, "some-python", script)
    done = setup(project, PYTHON="some-python")
    assert done.returncode == 1
    assert message in done.stderr
    assert cure in done.stderr
    assert not (project / ".venv").exists()


def pip_runs(project: Path) -> int:
    log = project / "pip.log"
    return len(log.read_text().splitlines()) if log.exists() else 0


def test_a_second_run_does_nothing_until_the_versions_change(project: Path) -> None:
    fake(project, "some-python", GOOD_PYTHON)
    assert setup(project, PYTHON="some-python").returncode == 0
    assert setup(project, PYTHON="some-python").returncode == 0
    assert pip_runs(project) == 1
    with (project / "constraints.txt").open("a") as constraints:
        constraints.write("# changed\n")
    assert setup(project, PYTHON="some-python").returncode == 0
    assert pip_runs(project) == 2


def test_what_slow_tests_need_is_installed_besides(project: Path) -> None:
    fake(project, "some-python", GOOD_PYTHON)
    for extra in ((), ("slow",), (), ("slow",)):
        assert setup(project, *extra, PYTHON="some-python").returncode == 0
    installed = [line.split(" -e ")[1] for line in (project / "pip.log").read_text().splitlines()]
    assert installed == [".[dev]", ".[slow]"]


def test_an_interrupted_setup_is_not_taken_for_a_finished_one(project: Path) -> None:
    fake(project, "some-python", GOOD_PYTHON)
    (project / "pip-fails").touch()
    assert "pip could not install" in setup(project, PYTHON="some-python").stderr
    (project / ".venv" / "half-installed").touch()
    (project / "pip-fails").unlink()
    assert "starting afresh" in setup(project, PYTHON="some-python").stdout
    assert not (project / ".venv" / "half-installed").exists()
