"""How long a check takes: the median of ten checks of a right answer to every exercise, after one to warm up.

    python benchmarks/check_latency.py [NAME …]

Prints a table; nothing is asserted, since times depend on the machine and on what else it does.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from course_lib import catalog
from course_lib.catalog.model import Exercise
from course_lib.checking.check import check_file

ANSWERS = Path(__file__).parents[1] / "tests" / "variants"
RUNS = 10


def main(names: list[str]) -> None:
    """Time the checks of the named exercises, or of all."""
    exercises = [item for item in catalog.items() if isinstance(item, Exercise) and (not names or item.name in names)]
    table = Table(
        "exercise", "cases", "first (s)", "median (s)", "slowest (s)", title=f"{RUNS} checks each, {os.cpu_count()} cores"
    )
    with tempfile.TemporaryDirectory() as folder:
        os.environ["COURSE_STATE_DIR"] = folder
        for exercise in exercises:
            path = min((ANSWERS / exercise.name).glob("*.py"))
            times = []
            for _ in range(RUNS + 1):
                began = time.perf_counter()
                report = check_file(exercise.name, path)
                times.append(time.perf_counter() - began)
                if not report.passed:
                    sys.exit(f"a right answer was refused:\n{report}")
            first, *rest = times
            table.add_row(
                exercise.name, str(report.cases), f"{first:.2f}", f"{statistics.median(rest):.2f}", f"{max(rest):.2f}"
            )
    Console().print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
