"""Run the checker's tests with every Triton that the course supports (`make test-matrix`).

    python -m tools.test_matrix                3.6, 3.7.1, 3.8 and 3.9, each in its newest release
    python -m tools.test_matrix 3.6 3.8.0      these only

Each version has an environment of its own in .matrix/, kept for the next run; delete the folder to start afresh. Only
Triton and NumPy are installed there. All other packages are those of .venv, which a .pth file puts behind the
environment's own: what differs between two runs is then Triton and NumPy alone, and torch is not stored four times more.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

from tools.build import AT_ONCE, ROOT

VERSIONS = ("3.6", "3.7.1", "3.8", "3.9")
TESTS = (
    "judge advice versions sandbox compiling compiled cuda pretend_gpu spelling in_a_notebook bundle memory compare "
    "hooks interpreter_limits softmax persistent layernorm matmul attention"
).split()
"""The tests of tests/ that depend on Triton, directly or by its processes. The rest would answer the same."""
FOLDER = ROOT / ".matrix"


@dataclass(frozen=True)
class Result:
    """What became of one version: the versions that were really installed, and how many tests ended in which way."""

    triton: str
    numpy: str
    passed: int
    failed: int
    skipped: int
    minutes: float


def requirements(version: str) -> list[str]:
    """What pip is asked for.

    >>> requirements("3.6"), requirements("3.7.1")
    (['triton==3.6.*', 'numpy<2.4'], ['triton==3.7.1', 'numpy'])
    """
    triton = f"triton=={version}" if version.count(".") > 1 else f"triton=={version}.*"
    # A loop with a runtime bound breaks Triton 3.6's interpreter with a newer NumPy. The others get the newest one.
    return [triton, "numpy<2.4" if version.startswith("3.6") else "numpy"]


def prepare(version: str) -> Path:
    """The Python of the environment with this Triton, which is made if it is not there or not as it should be."""
    folder = FOLDER / version
    python = folder / "bin" / "python"
    packages = sysconfig.get_path("purelib")
    wanted = "\n".join([*requirements(version), packages, sys.version])
    ready = folder / ".ready"
    if ready.exists() and ready.read_text() == wanted:
        return python
    print(f"\n== Installing {' and '.join(requirements(version))} into {folder}", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements(version)], check=True)
    own = sysconfig.get_path("purelib", vars={"base": str(folder)})
    Path(own, "behind.pth").write_text(f"import site; site.addsitedir({packages!r})\n")
    # Notebooks' kernels start this Python.
    subprocess.run([python, "-m", "ipykernel", "install", "--sys-prefix"], check=True, stderr=subprocess.DEVNULL)
    ready.write_text(wanted)
    return python


def run(version: str) -> Result:
    """Run the tests with one version, and count."""
    began = time.monotonic()
    python = prepare(version)
    say = "import triton, numpy; print(triton.__version__, numpy.__version__)"
    triton, numpy = subprocess.run([python, "-c", say], check=True, capture_output=True, text=True).stdout.split()
    if not triton.startswith(version):
        raise SystemExit(f"{python} has Triton {triton} instead of {version}; delete {FOLDER / version} and try again.")
    print(f"\n== Triton {triton}, NumPy {numpy}", flush=True)
    checker = [f"tests/test_{name}.py" for name in TESTS]
    counts = [
        _pytest(python, version, "tests", "-n", str(AT_ONCE), *checker),
        _pytest(python, version, "notebooks", "--nbval", "-n", str(AT_ONCE), "--dist", "loadfile", "notebooks"),
    ]
    passed, failed, skipped = (sum(column) for column in zip(*counts, strict=True))
    return Result(triton, numpy, passed, failed, skipped, (time.monotonic() - began) / 60)


def _pytest(python: Path, version: str, what: str, *arguments: str) -> tuple[int, int, int]:
    """Run pytest; how many tests passed, failed, and were skipped."""
    report = FOLDER / version / f"{what}.xml"
    report.unlink(missing_ok=True)
    environment = {**os.environ, "JUPYTER_PREFER_ENV_PATH": "1"}
    command = [str(python), "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
    code = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if code not in (0, 1) or not report.exists():
        return 0, 1, 0  # pytest itself failed, and has said why
    return counted(report.read_text(encoding="utf-8"))


def counted(report: str) -> tuple[int, int, int]:
    """How many tests passed, failed, and were skipped, by a report of pytest's.

    >>> counted('<testsuites><testsuite tests="9" failures="1" errors="1" skipped="2"/></testsuites>')
    (5, 2, 2)
    """
    numbers = [
        {name: int(suite.get(name, 0)) for name in ("tests", "failures", "errors", "skipped")}
        for suite in ET.fromstring(report).iter("testsuite")
    ]
    tests, failures, errors, skipped = (sum(n[name] for n in numbers) for name in ("tests", "failures", "errors", "skipped"))
    return tests - failures - errors - skipped, failures + errors, skipped


def table(results: list[Result]) -> str:
    """The results as a table in Markdown.

    >>> print(table([Result("3.6.0", "2.3.5", 9, 0, 1, 2.5)]))
    | Triton | NumPy | passed | failed | skipped | minutes |
    |---|---|---|---|---|---|
    | 3.6.0 | 2.3.5 | 9 | 0 | 1 | 2.5 |
    """
    rows = [f"| {r.triton} | {r.numpy} | {r.passed} | {r.failed} | {r.skipped} | {r.minutes:.1f} |" for r in results]
    return "\n".join(["| Triton | NumPy | passed | failed | skipped | minutes |", "|---|---|---|---|---|---|", *rows])


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.test_matrix", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("versions", nargs="*", default=VERSIONS, help="such as 3.6 or 3.8.0; all if none is named")
    versions = parser.parse_args(arguments).versions
    try:
        results = [run(version) for version in versions]
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd))} did not work; see above.")
        return 1
    print(f"\n{table(results)}")
    return 1 if any(result.failed for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
