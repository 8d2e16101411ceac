"""What every test run shares: no test touches a learner's progress, notebooks run as the build runs them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side already; read where torch is imported

import pytest

from tools.build import as_built
from tools.execute import environment


def pytest_configure(config: pytest.Config) -> None:
    scratch = tempfile.TemporaryDirectory(prefix="course-tests-")
    config.add_cleanup(scratch.cleanup)
    if config.getoption("nbval"):
        os.environ.pop("TRITON_INTERPRET", None)
        os.environ.update(environment(Path(scratch.name)))
        _number_cells_as_jupyter_does()
    else:
        os.environ["COURSE_STATE_DIR"] = str(Path(scratch.name) / "state")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs a GPU where there is none, and lessons that somebody has worked in since they were built."""
    notebooks = {item.path for item in items if item.path.suffix == ".ipynb"}
    changed = {path for path in notebooks if not as_built(path)}
    for item in items:
        if item.path in changed:
            reason = "somebody has worked in this notebook, so its outputs are not compared; `make build` would make it anew"
            item.add_marker(pytest.mark.skip(reason=reason))
    needing = [item for item in items if item.get_closest_marker("gpu")]
    if needing:
        import torch

        if not torch.cuda.is_available():
            for item in needing:
                item.add_marker(pytest.mark.skip(reason="needs a GPU"))


def _number_cells_as_jupyter_does() -> None:
    """Reports name cells as "In[14]". nbval runs cells without counting them, so each would be In[1]."""
    from nbval.kernel import RunningKernel

    def execute_cell_input(self: RunningKernel, cell_input: str, allow_stdin: bool | None = None) -> str:
        return self.kc.execute(cell_input, store_history=True, allow_stdin=allow_stdin, stop_on_error=False)

    RunningKernel.execute_cell_input = execute_cell_input
