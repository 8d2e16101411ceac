"""The inside of the process that runs an answer. It knows inputs and nothing about what is expected.

`main(folder)` reads `request.json` and `inputs.npz`, runs the answer on every case under limits, and writes one
`case_NNN_<poison>.npz` for each call that ended, or `error.json` for the one that did not. A process that dies on the
spot leaves `where.bin` (see `recorder.Whereabouts`) and, after a signal, `fault.txt`.
"""

from __future__ import annotations

import faulthandler
import importlib.util
import json
import os
import resource
import signal
import sys
import traceback
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from course_lib.checking import hooks, wire
from course_lib.checking.recorder import POISONS, OnTheCpu, Poison, Recorder, TooMuchTraffic, TorchWatch, Whereabouts

ANSWER_FILE = "answer.py"


def main(folder: Path) -> None:
    """Run the request that lies in `folder`. Ends the process."""
    os.chdir(folder)
    request = json.loads(Path("request.json").read_text())
    _redirect_output()
    where = Whereabouts(Path("where.bin"))
    faulthandler.enable(open("fault.txt", "w"), all_threads=False)  # noqa: SIM115 - must stay open until the end
    _set_limits(request["limits"], where)
    try:
        run(request, where)
        code = 0
    except BaseException as error:  # the process is the answer's: whatever it raises is the result
        _lift_memory_limit()
        Path("error.json").write_text(json.dumps(describe(error, where)))
        code = 1
    sys.stdout.flush()
    os._exit(code)


def run(request: dict[str, Any], where: Whereabouts) -> None:
    """Import the answer, call it on every case, and write down what came of each call."""
    sys.path[:0] = request["sys_path"]
    np.seterr(all="ignore")  # poison overflows; what matters shows in the result
    answer = load_answer(Path(ANSWER_FILE).resolve(), request["answer"])
    with np.load("inputs.npz", allow_pickle=False) as stored:
        arrays = dict(stored)
    for number, values in enumerate(request["cases"]):
        where.case = number
        for poison in POISONS[: 3 if request["poisons"] else 1]:
            recorder = call(answer, values, arrays, poison, where, f"case_{number:03d}_{poison}.npz")
            if recorder.poisoned == 0:
                break  # nothing undefined was read, so another poison would change nothing


def load_answer(path: Path, name: str) -> Any:
    """The function called `name` from the bundled module."""
    spec = importlib.util.spec_from_file_location("answer", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["answer"] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def call(answer: Any, values: list[Any], arrays: Any, poison: Poison, where: Whereabouts, file: str) -> Recorder:
    """Call the answer once on fresh copies of its arguments and save what it returned and did."""
    arguments = wire.unpack(values, arrays, poison=float("nan"))
    recorder = Recorder(where, poison)
    for position, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            recorder.argument(position, argument)
    where.program, where.launch, where.line = (-1, -1, -1), -1, -1
    where.write()
    hooks.install(recorder)
    with OnTheCpu(), TorchWatch(recorder) as watch:
        result = answer(*arguments)
    saved = recorder.arrays()
    header: dict[str, Any] = {"launches": recorder.launches, "ops": watch.ops, "poisoned": recorder.poisoned}
    header["result"] = _result(result, recorder, saved)
    for position, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            saved[f"after_{position}"] = wire.values_of(argument)
    saved["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez("saving.npz", **saved)  # type: ignore[arg-type]
    os.replace("saving.npz", file)
    return recorder


def _result(result: Any, recorder: Recorder, saved: dict[str, np.ndarray]) -> dict[str, Any]:
    """What came back, as plain data. Only a plain tensor counts as one: a subclass may lie about its values."""
    if type(result) is torch.Tensor and result.layout == torch.strided:
        saved["result"] = wire.values_of(result)
        return {"view": recorder.view("result", result), "device": result.device.type}
    if isinstance(result, tuple):
        return {"tuple": [_result_item(item, i, recorder, saved) for i, item in enumerate(result)]}
    return {"type": type(result).__name__, "repr": repr(result)[:200]}


def _result_item(item: Any, position: int, recorder: Recorder, saved: dict[str, np.ndarray]) -> dict[str, Any]:
    if type(item) is torch.Tensor:
        saved[f"result_{position}"] = wire.values_of(item)
        return {"view": recorder.view(f"result[{position}]", item), "device": item.device.type}
    return {"type": type(item).__name__, "repr": repr(item)[:200]}


# --- when it goes wrong -------------------------------------------------------------------------------------------


def describe(error: BaseException, where: Whereabouts) -> dict[str, Any]:
    """An exception as plain data: its innermost cause, and the lines of the answer that it passed through."""
    frames: list[tuple[int, str]] = []
    chain: list[BaseException] = []
    current: BaseException | None = error
    while current is not None and current not in chain:
        chain.append(current)
        current = current.__cause__ if type(current).__name__ == "InterpreterError" else None
    for link in chain:
        for frame in traceback.extract_tb(link.__traceback__):
            place = (frame.lineno or 0, frame.name)
            if os.path.basename(frame.filename) == ANSWER_FILE and place not in frames:
                frames.append(place)
    cause = chain[-1]
    line = cause.lineno if isinstance(cause, SyntaxError) else None
    return {
        "kind": _kind(cause),
        "type": type(cause).__name__,
        "message": str(cause)[:2000],
        "frames": frames[-20:] or ([(line, "<module>")] if line else []),
        "case": where.case,
        "program": list(where.program),
    }


def _kind(cause: BaseException) -> str:
    memory_words = ("can't allocate memory", "not enough memory", "Unable to allocate")
    if isinstance(cause, MemoryError) or any(words in str(cause) for words in memory_words):
        return "memory_limit"
    if isinstance(cause, TooMuchTraffic):
        return "too_much_traffic"
    if isinstance(cause, NotImplementedError) and _raised_by_answer(cause):
        return "not_done"
    return "exit" if isinstance(cause, SystemExit) else "crash"


def _raised_by_answer(error: BaseException) -> bool:
    """Whether the `raise` itself stands in the answer: a blank that has not been filled yet."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and os.path.basename(frames[-1].filename) == ANSWER_FILE


# --- limits -------------------------------------------------------------------------------------------------------


def _redirect_output() -> None:
    descriptor = os.open("printed.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)


def _set_limits(limits: dict[str, Any], where: Whereabouts) -> None:
    """Time by alarms that say where the answer was; memory, file size and core dumps by the kernel."""

    def alarm(number: int, frame: FrameType | None) -> None:
        frames: list[tuple[int, str]] = []
        while frame is not None:
            if os.path.basename(frame.f_code.co_filename) == ANSWER_FILE:
                frames.insert(0, (frame.f_lineno, frame.f_code.co_name))
            frame = frame.f_back
        spent = "cpu" if number == signal.SIGPROF else "wall"
        place = {"frames": frames[-20:], "case": where.case, "program": list(where.program)}
        error = {"kind": "timeout", "type": spent, "message": "", **place}
        Path("error.json").write_text(json.dumps(error))
        os._exit(1)

    signal.signal(signal.SIGPROF, alarm)
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_PROF, limits["cpu_seconds"])
    signal.setitimer(signal.ITIMER_REAL, limits["wall_seconds"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (limits["file_bytes"], limits["file_bytes"]))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    soft = used + limits["memory_bytes"]
    resource.setrlimit(resource.RLIMIT_AS, (soft, soft + 2**29))


def _lift_memory_limit() -> None:
    """Take the half gigabyte kept back, so that an answer that ran out of memory can still be reported."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
