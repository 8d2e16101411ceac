"""What JupyterLab is told when `make lab` starts it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def keep_python_version(model: dict[str, Any], path: str, contents_manager: Any, **_: Any) -> None:
    """Before a notebook is saved, give it the Python version that stands in its file.

    JupyterLab writes the version of the Python that runs. Each learner has another one, and would have changed every notebook
    by opening it.
    """
    file = Path(contents_manager.root_dir, path)
    if model["type"] != "notebook" or not file.exists():
        return
    stored = json.loads(file.read_text(encoding="utf-8"))["metadata"].get("language_info", {})
    if "version" in stored:
        model["content"]["metadata"].setdefault("language_info", {})["version"] = stored["version"]
