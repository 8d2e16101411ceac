"""Running an answer in Triton's interpreter, with every access to memory recorded.

Runs inside the worker's process (`worker.py`). Writes one `case_NNN_<poison>.npz` for each call that ended.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib.checking import hooks, pretend_gpu, spelling, wire
from course_lib.checking.inside import ANSWER_FILE, Whereabouts, load_answer, load_arrays, save_call
from course_lib.checking.pretend_gpu import PretendGpu
from course_lib.checking.recorder import POISONS, Poison, Recorder, TorchWatch


def run(request: dict[str, Any], where: Whereabouts) -> None:
    """Import the answer, call it on every case, and write down what came of each call."""
    np.seterr(all="ignore")  # poison overflows; what matters shows in the result
    warnings.filterwarnings("ignore", "All-NaN", RuntimeWarning)
    warnings.filterwarnings("ignore", module=r"(torch|triton)\.")  # what a library says of itself was not printed by the answer
    pretend_gpu.install()
    spelling.install()
    with PretendGpu():
        answer = load_answer(Path(ANSWER_FILE).resolve(), request["answer"])
    arrays, key = load_arrays(), request["key"]
    for number, values in enumerate(request["cases"]):
        where.case = number
        for poison in POISONS[: 3 if request["poisons"] else 1]:
            recorder = call(answer, values, arrays, poison, where, f"case_{number:03d}_{poison}.npz", key)
            if recorder.poisoned == 0:
                break  # nothing undefined was read, so another poison would change nothing


def call(answer: Any, values: list[Any], arrays: Any, poison: Poison, where: Whereabouts, file: str, key: str) -> Recorder:
    """Call the answer once on fresh copies of its arguments and save what it returned and did."""
    arguments = wire.unpack(values, arrays, poison=float("nan"))
    recorder = Recorder(where, poison)
    for position, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            recorder.argument(position, argument)
    where.program, where.launch, where.line = (-1, -1, -1), -1, -1
    where.write()
    hooks.install(recorder)
    with PretendGpu(), TorchWatch(recorder) as watch:
        result = answer(*arguments)
    saved = recorder.arrays()
    header: dict[str, Any] = {"launches": recorder.launches, "ops": watch.ops, "poisoned": recorder.poisoned}
    header["notes"] = sorted(recorder.notes)
    header["result"] = _result(result, recorder, saved)
    for position, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            saved[f"after_{position}"] = wire.values_of(wire.once(argument))
    save_call(file, header, saved, key)
    return recorder


def _result(result: Any, recorder: Recorder, saved: dict[str, np.ndarray]) -> dict[str, Any]:
    """What came back, as plain data. Only a plain tensor counts as one: a subclass may lie about its values."""
    if type(result) is torch.Tensor and result.layout == torch.strided:
        saved["result"] = wire.values_of(result)
        return {"view": recorder.view("result", result), "device": result.device.type}
    kind = f"tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
    return {"type": kind, "repr": repr(result)[:200]}
