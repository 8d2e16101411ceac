"""Running an answer in Triton's interpreter, with every access to memory recorded.

Runs inside the worker's process (`worker.py`). Writes one `case_NNN_<variation>.npz` for each call that ended, and
`kept.json` when all have.
"""

from __future__ import annotations

import json
import threading
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch

from course_lib.catalog.model import WorksOn
from course_lib.checking import blocks, hooks, pretend_gpu, wire
from course_lib.checking.inside import ANSWER_FILE, POISONS, Save, Whereabouts, load_answer, load_arrays, save_call
from course_lib.checking.launcher import has_strides, watching
from course_lib.checking.plain_numbers import as_numbers
from course_lib.checking.pretend_gpu import PretendGpu
from course_lib.checking.recorder import Recorder, Variation
from course_lib.machine import warp

MOST_CONFIGURATIONS = 4
"""How many configurations of an autotuned kernel one case is run with; the next case goes on with the next ones."""


def prepare() -> None:
    """Change this process for good: kernels pass through the hooks, and launchers find a GPU."""
    hooks.install(None)
    pretend_gpu.install()


def run(request: dict[str, Any], where: Whereabouts) -> None:
    """Import the answer, call it on every case, and write down what came of each call."""
    np.seterr(all="ignore")  # poison overflows; what matters shows in the result
    np.set_printoptions(threshold=16, edgeitems=4, linewidth=120)  # what a kernel prints is a block for each program
    warnings.filterwarnings("ignore", category=RuntimeWarning)  # about poison
    warnings.filterwarnings("ignore", module=r"(torch|triton|course_lib)\.")  # what a library says of itself helps nobody here
    with PretendGpu():
        answer = load_answer(Path(ANSWER_FILE).resolve(), request["answer"])
    arrays, save, works_on = load_arrays(), request["save"], request["works_on"]
    kept: list[tuple[int, torch.Tensor, int]] = []
    earlier: dict[Any, tuple[Any, ...]] = {}
    for number, values in enumerate(request["cases"]):
        where.begin(number)
        arguments = wire.unpack(values, arrays, poison=float("nan"))
        if works_on == "gpu":
            arguments = in_earlier_memory(arguments, earlier)
        recorder, result = call(answer, arguments, Variation(), where, f"case_{number:03d}_nan.npz", save, works_on)
        if type(result) is torch.Tensor and has_strides(result):
            kept.append((number, result, _checksum(result)))
        for variation in variations(number, recorder) if request["variations"] else ():
            arguments = wire.unpack(values, arrays, poison=float("nan"))
            call(answer, arguments, variation, where, f"case_{number:03d}_{variation.name}.npz", save, works_on)
    if works_on == "threads":  # after all others: what an answer keeps from a call is not to be what deaf threads left
        for number, values in enumerate(request["cases"]):
            where.begin(number)
            arguments = wire.unpack(values, arrays, poison=float("nan"))
            call(answer, arguments, Variation("deaf", deaf=True), where, f"case_{number:03d}_deaf.npz", save, works_on)
    overwritten = [number for number, result, checksum in kept if _checksum(result) != checksum]
    save("kept.json", json.dumps({"overwritten": overwritten}).encode())


def variations(case: int, recorder: Recorder) -> Iterator[Variation]:
    """In which other ways a GPU might have run a call that was recorded once."""
    if recorder.undefined:
        for poison in POISONS[1:]:
            yield Variation(poison, poison=poison)
    if recorder.atomics:
        yield Variation("backward", order="backward")
        yield Variation("shuffled", order="shuffled")
    if recorder.any_order:
        yield Variation("reordered", reordered=True)
    if recorder.configurations > 1:
        yield Variation("measured", measured=True)
        for step in range(min(recorder.configurations - 1, MOST_CONFIGURATIONS - 1)):
            yield Variation(f"tuning{step + 1}", tuning=1 + (case + step) % (recorder.configurations - 1))


def in_earlier_memory(arguments: tuple[Any, ...], earlier: dict[Any, tuple[Any, ...]]) -> tuple[Any, ...]:
    """The arguments in the tensors of an earlier call that were laid out alike, as a caller may use its tensors again."""
    layout = tuple(
        (tuple(value.shape), value.stride(), value.storage_offset(), value.dtype, value.untyped_storage().nbytes())
        if isinstance(value, torch.Tensor)
        else None
        for value in arguments
    )
    before = earlier.setdefault(layout, arguments)
    pairs = tuple(zip(before, arguments, strict=True))
    for old, new in pairs:
        if isinstance(new, torch.Tensor) and old is not new:
            old.untyped_storage().copy_(new.untyped_storage())
    return tuple(old if isinstance(new, torch.Tensor) else new for old, new in pairs)


def call(
    answer: Any,
    arguments: tuple[Any, ...],
    variation: Variation,
    where: Whereabouts,
    file: str,
    save: Save,
    works_on: WorksOn,
) -> tuple[Recorder, Any]:
    """Call the answer once on arguments of its own and save what it returned and did."""
    recorder = Recorder(where, variation)
    tensors = [(position, value) for position, value in enumerate(arguments) if isinstance(value, torch.Tensor)]
    for position, tensor in tensors:
        recorder.storages.argument(position, tensor)
    where.program, where.launch, where.line = (-1, -1, -1), -1, -1
    where.write()
    hooks.install(recorder)
    ends = _endings(works_on, variation)
    with PretendGpu(), watching(recorder) as operations, warp.watching(variation.deaf) as watch:
        try:
            result = answer(*arguments)
        except ends as end:
            result = end
    for _, tensor in tensors:
        recorder.verify("an argument", tensor)
    saved = recorder.arrays()
    outcome = _result(result, recorder, saved, works_on)
    for position, tensor in tensors:
        saved[f"after_{position}"] = wire.values_of(wire.once(tensor))
    if threading.active_count() > 1:  # also one that was there before the call
        recorder.elsewhere.add("thread")
    header = {**recorder.header(), "ops": operations, "result": outcome}
    header["blocks"] = [blocks.noted(*run).plain() for run in watch.runs]
    save_call(file, header, saved, save)
    return recorder, result


def _endings(works_on: WorksOn, variation: Variation) -> tuple[type[Exception], ...]:
    """The errors that are no crash but say something: about the threads, and of deaf ones that they need each other."""
    if variation.deaf:
        return (Exception,)
    return (warp.Stuck, warp.UndefinedValue) if works_on == "threads" else ()


def _result(result: Any, recorder: Recorder, saved: dict[str, np.ndarray], works_on: WorksOn) -> dict[str, Any]:
    """What came back, as plain data. Only a plain tensor counts as one: a subclass may lie about its values."""
    if type(result) is torch.Tensor and has_strides(result):
        recorder.verify("the result", result)
        saved["result"] = wire.values_of(result)
        view, source = recorder.view("result", result), recorder.storages.source(result)
        return {"view": view} if source is None else {"view": view, "source": recorder.view("result", source)}
    if works_on != "gpu" and (found := as_numbers(result)) is not None:
        saved["result"] = np.array(found.values, dtype=np.float64)
        return {"form": found.form, "undefined": found.undefined}
    if str(getattr(result, "__module__", "")).startswith("triton.runtime"):
        return {"type": "kernel", "repr": "and not what it has written"}  # or a kernel with its grid, which is a function
    kind = f"tuple of {len(result)}" if isinstance(result, tuple) else type(result).__name__
    return {"type": kind, "repr": " ".join(repr(result)[:200].split())}


def _checksum(tensor: torch.Tensor) -> int:
    return zlib.crc32(wire.values_of(tensor).data)
