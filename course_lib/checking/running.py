"""Running an answer on this machine's GPU, compiled, on the cases that the interpreter has already seen.

Runs inside the worker's process (`worker.py`), with launches made blocking, so that an error belongs to the launch that
raised it. Writes one `case_NNN_nan.npz` for each call that ended; it holds results, and no events.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib.checking import wire
from course_lib.checking.events import COLUMNS
from course_lib.checking.inside import ANSWER_FILE, Whereabouts, load_answer, load_arrays, save_call


def run(request: dict[str, Any], where: Whereabouts) -> None:
    """Call the answer on every case, with tensors on the GPU, and write down what it returned."""
    answer = load_answer(Path(ANSWER_FILE).resolve(), request["answer"])
    arrays = load_arrays()
    for number, values in enumerate(request["cases"]):
        where.begin(number)
        arguments = wire.unpack(values, arrays, poison=float("nan"), device="cuda")
        result = answer(*arguments)
        torch.cuda.synchronize()
        header: dict[str, Any] = {"launches": [], "ops": {}}
        saved = {"events": np.zeros((0, COLUMNS), np.int64), "touched": np.zeros(0, np.int64)}
        if type(result) is torch.Tensor:
            saved["result"] = wire.values_of(result)
            view = {"name": "result", "storage": 0, "offset": result.storage_offset(), "shape": list(result.shape)}
            layout = {"stride": list(result.stride()), "dtype": str(result.dtype).removeprefix("torch.")}
            header["result"] = {"view": {**view, **layout, "itemsize": result.element_size()}}
        else:
            header["result"] = {"type": type(result).__name__, "repr": repr(result)[:200]}
        save_call(f"case_{number:03d}_nan.npz", header, saved, request["save"])
