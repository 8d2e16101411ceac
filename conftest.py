"""What every test run shares: no test touches a learner's progress, notebooks run as the build runs them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tools.execute import environment


def pytest_configure(config: pytest.Config) -> None:
    scratch = tempfile.TemporaryDirectory(prefix="course-tests-")
    config.add_cleanup(scratch.cleanup)
    if config.getoption("nbval"):
        os.environ.pop("TRITON_INTERPRET", None)
        os.environ.update(environment(Path(scratch.name)))
    else:
        os.environ["COURSE_STATE_DIR"] = str(Path(scratch.name) / "state")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none."""
    needing = [item for item in items if item.get_closest_marker("gpu")]
    if needing:
        import torch

        if not torch.cuda.is_available():
            for item in needing:
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))
