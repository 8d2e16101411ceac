"""On a GPU machine: judge every right variant, and a sample of the mutants, of exercises about kernels with the GPU's stage on.

    python benchmarks/judge_on_gpu.py [mutants per exercise]

Prints a line for each wrong verdict, and the counts with device and versions. Ends with 1 if a verdict was wrong.
"""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

from course_lib import catalog
from course_lib.checking.check import check_file
from course_lib.device import device

TESTS = Path(__file__).parents[1] / "tests"


def main(per_exercise: int) -> int:
    """Judge the answers kept for the tests; returns how many verdicts were wrong."""
    if device().mode != "gpu":
        sys.exit("This needs a GPU that Triton can use. Run `course doctor` to see why there is none.")
    wrong = 0
    counts = {"variants": 0, "mutants": 0}
    began = time.monotonic()
    for kind, least_right in (("variants", True), ("mutants", False)):
        for folder in sorted((TESTS / kind).iterdir()):
            if catalog.exercise(folder.name).works_on != "gpu":
                continue
            files = sorted(folder.glob("*.py"))
            for path in files if least_right else files[:: max(1, len(files) // per_exercise)][:per_exercise]:
                report = check_file(folder.name, path, seed=0)
                ran = "gpu" in report.stages and not any(skip.stage == "gpu" for skip in report.skipped)
                counts[kind] += 1
                if report.passed != least_right or (least_right and not ran):
                    wrong += 1
                    print(f"WRONG: {kind}/{folder.name}/{path.name}\n{report}\n")
    print(f"{counts['variants']} right variants and {counts['mutants']} mutants judged, {wrong} wrong verdicts")
    print(f"{device().name}, torch {version('torch')}, triton {version('triton')}, numpy {version('numpy')}")
    print(f"Python {platform.python_version()}, {time.monotonic() - began:.0f} s")
    return wrong


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as state:
        os.environ["COURSE_STATE_DIR"] = state
        sys.exit(1 if main(int(sys.argv[1]) if len(sys.argv) > 1 else 4) else 0)
