"""Running notebooks on the CPU, the same way for the build, the tests and the linter.

A run gets an environment of its own: no GPU, static figures, a fixed seed, an empty course state and an empty IPython
profile, so that what a person has set or solved changes nothing. Outputs are cleaned of machine paths, process numbers
and addresses by the patterns of `sanitize.cfg`, which nbval applies too.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbformat import NotebookNode

CELL_SECONDS = 120
SANITIZE = Path(__file__).with_name("sanitize.cfg")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


class RunError(RuntimeError):
    """A cell raised, hung or killed the kernel. `place` is the cell's place in the notebook, None where unknown."""

    def __init__(self, message: str, place: int | None) -> None:
        super().__init__(message)
        self.place = place


@dataclass(frozen=True)
class Verdict:
    """What one `check` or `quiz` in a notebook answered."""

    name: str
    passed: bool
    done: bool
    kinds: tuple[str, ...]


def environment(scratch: Path) -> dict[str, str]:
    """The environment variables of a run; `scratch` is an empty folder for the state that it may write."""
    kept = {key: value for key, value in os.environ.items() if key not in ("TRITON_INTERPRET", "MATPLOTLIBRC")}
    return kept | {
        "COURSE_STATE_DIR": str(scratch / "state"),
        "COURSE_WIDGETS": "0",
        "CUDA_VISIBLE_DEVICES": "",
        "IPYTHONDIR": str(scratch / "ipython"),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYTHONHASHSEED": "0",
    }


def run(notebook: NotebookNode, folder: Path) -> NotebookNode:
    """A copy of `notebook` with outputs, run from top to bottom in `folder`. Raises `RunError`.

    Cells tagged `raises-exception` must raise, and no others may.
    """
    copy = nbformat.from_dict(notebook)
    client = NotebookClient(
        copy,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        record_timing=False,
        coalesce_streams=True,
        store_widget_state=False,
        resources={"metadata": {"path": str(folder)}},
    )
    with tempfile.TemporaryDirectory(prefix="course-run-") as scratch:
        try:
            # The kernel's own warnings are no output of the notebook.
            client.execute(env=environment(Path(scratch)), stderr=subprocess.DEVNULL)
        except CellTimeoutError as error:
            raise RunError(f"a cell did not finish within {CELL_SECONDS} s", _last_begun(copy)) from error
        except CellExecutionError as error:
            raise RunError(f"a cell raised an error:\n{ANSI.sub('', str(error))}", _last_begun(copy)) from error
        except DeadKernelError as error:
            raise RunError("the kernel died", _last_begun(copy)) from error
    for place, cell in enumerate(copy.cells):
        if cell.cell_type != "code":
            continue
        raised = any(output.output_type == "error" for output in cell.outputs)
        if "raises-exception" in cell.metadata.get("tags", []) and not raised:
            raise RunError("the cell is tagged raises-exception, but does not raise", place)
        cell.metadata.pop("execution", None)
        cell.outputs = [_clean(output) for output in cell.outputs]
    copy.metadata = nbformat.from_dict(notebook.metadata)
    return copy


def verdicts(notebook: NotebookNode, folder: Path) -> tuple[Verdict, ...]:
    """What every `check` and `quiz` in the notebook answers when it is run in `folder`, in order. Raises `RunError`."""
    watched = nbformat.from_dict(notebook)
    watched.cells.insert(0, nbformat.v4.new_code_cell(_WATCH))
    watched.cells.append(nbformat.v4.new_code_cell("_tell()"))
    try:
        told = run(watched, folder).cells[-1].outputs[0].text
    except RunError as error:
        raise RunError(str(error), error.place - 1 if error.place else None) from error
    return tuple(Verdict(**(answer | {"kinds": tuple(answer["kinds"])})) for answer in json.loads(told))


def sanitize(text: str) -> str:
    """`text` without what differs from one machine or run to the next.

    >>> sanitize("<function f at 0x7f53c0ffee00>")
    '<function f at 0x…>'
    >>> sanitize("__shfl_xor_sync(0xffffffff, value, 1)")
    '__shfl_xor_sync(0xffffffff, value, 1)'
    """
    for pattern, replacement in _patterns():
        text = re.sub(pattern, replacement, text)
    return text


_WATCH = '''\
def _watch():
    """Record the reports of `check` and `quiz`, whose behaviour stays the same."""
    import functools
    import json

    import course_lib

    reports = []

    def recording(judge):
        @functools.wraps(judge)
        def judged(*args, **kwargs):
            reports.append(judge(*args, **kwargs))
            return reports[-1]

        return judged

    def tell():
        fields = [
            {"name": r.name, "passed": r.passed, "done": r.done, "kinds": [f.kind for f in r.findings]} for r in reports
        ]
        print(json.dumps(fields))

    course_lib.check, course_lib.quiz = recording(course_lib.check), recording(course_lib.quiz)
    return tell


_tell = _watch()
'''


def _patterns() -> list[tuple[str, str]]:
    """The (regular expression, replacement) pairs of `sanitize.cfg`, read as nbval reads them."""
    return re.findall("^regex: (.*)$\n^replace: (.*)$", SANITIZE.read_text(encoding="utf-8"), flags=re.MULTILINE)


def _last_begun(notebook: NotebookNode) -> int | None:
    begun = [place for place, cell in enumerate(notebook.cells) if cell.get("execution_count") or cell.get("outputs")]
    return begun[-1] if begun else None


def _clean(output: NotebookNode) -> NotebookNode:
    cleaned = nbformat.from_dict(output)
    for key in ("text", "evalue"):
        if key in cleaned:
            cleaned[key] = sanitize(cleaned[key])
    if "traceback" in cleaned:
        cleaned.traceback = [sanitize(ANSI.sub("", line)) for line in cleaned.traceback]
    for mime, value in cleaned.get("data", {}).items():
        if mime.startswith("text/") or mime == "image/svg+xml":
            cleaned.data[mime] = sanitize(value)
    return cleaned
