"""Compiling every launch of an answer for GPUs that this machine does not have.

The answer's launcher is called again on the same inputs, in a process in which Triton compiles, once for each target. Each
launch goes through Triton's own path, so dtypes, divisibility by 16, arguments equal to 1, constants, launch options and the
configurations of `@triton.autotune` are what they would be on a GPU; only the last step, the launch itself, is left out.
Launches that differ in nothing of this share one compilation, and several compilations go on at once.

Runs inside the worker's process (`worker.py`). Writes `compiled.json`, or lets `worker.main` describe the error.
"""

from __future__ import annotations

import ast
import gc
import itertools
import json
import linecache
import os
import re
import sys
import threading
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import triton
from triton import AsyncCompileMode, FutureKernel
from triton.compiler.errors import CompilationError, CompileTimeAssertionFailure
from triton.runtime._async_compile import active_mode
from triton.runtime.autotuner import Autotuner
from triton.runtime.driver import driver
from triton.runtime.errors import OutOfResources, PTXASError
from triton.runtime.jit import JITCallable, JITFunction

from course_lib.checking import pretend_gpu, wire
from course_lib.checking.inside import ANSWER_FILE, Whereabouts, call_once, content_of, load_answer, load_arrays
from course_lib.checking.launch_code import Reader
from course_lib.checking.pretend_gpu import PretendGpu

AT_ONCE = min(4, len(os.sched_getaffinity(0)))
"""How many kernels are compiled at the same time."""

_run, _tune, _bench, _parse = JITFunction.run, Autotuner.run, Autotuner._bench, JITCallable.parse
_do_bench = vars(Autotuner)["do_bench"]
"""Triton's own functions, whose places this module takes while it compiles launches."""
_parsing = threading.Lock()

LEFT_OUT = (OutOfResources, CompileTimeAssertionFailure, PTXASError)
"""Errors of a configuration that `@triton.autotune` leaves out."""
NEVER = [float("inf")] * 3
"""How long a configuration takes that is left out; see `Autotuner._bench`."""


class DoesNotCompile(Exception):
    """A launch that a GPU's compiler refuses: on which target, in which kernel, where, and why.

    Among the details, `line` is a line of the answer, `elsewhere` the file, line and text of another file's.
    """

    def __init__(self, reason: str, **details: Any) -> None:
        super().__init__(reason)
        self.details = details


class CompilerUnavailable(Exception):
    """The compiler's own trouble: a cache that cannot be written, a tool that is missing."""


def run(request: dict[str, Any], where: Whereabouts) -> None:
    """Compile every launch that the answer makes on every case, for every target in turn.

    For each target all calls are made twice. The first time only begins to compile, so that several kernels can be compiled at
    once; the second time each launch waits for its own, and raises where it would on a GPU. The answer is imported anew each
    time (some 3 ms), as it may have kept what it launched, and would not launch it again. Notes which kernels were compiled,
    and which calls of the launcher stopped over an error of its own, as they may where results are asked for that were never
    computed. If the compiler has trouble of its own, notes that instead. Where the request asks for the launches' code, that
    is read and told as well.
    """
    arrays = load_arrays()
    told: dict[str, Any] = {"compiled": [], "stopped": [], "unavailable": None, "code": None}
    pool = ThreadPoolExecutor(AT_ONCE)
    reader = Reader() if request["code"] else None
    outer = active_mode.get()
    try:
        for target in request["targets"]:
            pretend_gpu.install(target)
            active_mode.set(AsyncCompileMode(pool))
            for waits in (False, True):
                compiler = _Compiler(target, where, waits, reader, request["limits"]["kernel_seconds"])
                with PretendGpu():
                    answer = load_answer(Path(ANSWER_FILE).resolve(), request["answer"])
                    for number, values in enumerate(request["cases"]):
                        where.begin(number)
                        if error := compiler.call(answer, wire.unpack(values, arrays, poison=0.0)):
                            told["stopped"] += [(target, number, f"{type(error).__name__}: {error}")] * waits
            told["compiled"] += sorted(compiler.compiled)
        told["code"] = reader.told() if reader else None
    except CompilerUnavailable as error:
        told["unavailable"] = str(error)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    finally:
        active_mode.set(outer)
    pool.shutdown()
    _give_back()
    request["save"]("compiled.json", json.dumps(told).encode())


class _Compiler:
    """Takes the place of Triton's launches, for one target; `compiled` holds (target, case, kernel) of those waited for."""

    def __init__(self, target: int, where: Whereabouts, waits: bool, reader: Reader | None, patience: float) -> None:
        self.target = target
        self.patience = patience
        self.where = where
        self.waits = waits
        self.reader = reader
        self.compiled: set[tuple[int, int, str]] = set()
        self.kernels: dict[int, JITFunction] = {}
        self.refused: dict[str, Exception] = {}
        self.timings: dict[tuple[int, int], list[float]] = {}
        self.tuning = self.queueing = self.benching = False
        JITFunction.run = lambda kernel, *args, **kwargs: self.launch(kernel, *args, **kwargs)
        Autotuner.run = lambda tuner, *args, **kwargs: self.tune(tuner, *args, **kwargs)
        Autotuner._bench = lambda tuner, *args, **kwargs: self.bench(tuner, *args, **kwargs)
        Autotuner.do_bench = property(lambda tuner: call_once)
        JITCallable.parse = _parse_alone

    def call(self, answer: Any, arguments: tuple[Any, ...]) -> Exception | None:
        """Call the answer; returns an error that it stopped with, other than that a launch does not compile."""
        stopped = None
        try:
            answer(*arguments)
        except Exception as error:
            stopped = error
        self.compiled |= {(self.target, self.where.case, kernel) for kernel in driver.active.launched}
        driver.active.launched.clear()
        for refusal in self.refused.values():  # the answer may have caught it, but has launched that kernel in no other way
            if self.waits or isinstance(refusal, CompilerUnavailable):
                raise refusal
        return stopped

    def launch(self, kernel: JITFunction, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        """Compile, where `kernel[grid](…)` or `kernel.warmup(…)` was called."""
        if id(kernel) not in self.kernels:
            self.kernels[id(kernel)] = kernel
            kernel.device_caches.clear()  # each target's GPU is device 0
        self.where.line = _line_of_launch() or -1
        self.where.write()
        try:
            compiled = _run(kernel, *args, grid=grid, warmup=True, **kwargs)
            if self.queueing or not (self.waits or self.benching or warmup):
                return None
            compiled = _finished(compiled, self.patience)
        except Exception as error:
            if not self.tuning and not self.queueing:
                self.refuse(kernel, error)
            raise
        self.refused.pop(kernel.__name__, None)
        self.compiled.add((self.target, self.where.case, kernel.__name__))
        if self.reader and self.waits and not self.benching and not warmup:
            self.reader.note(self.target, self.where.case, compiled)
        return compiled if warmup else None

    def tune(self, tuner: Autotuner, *args: Any, **kwargs: Any) -> Any:
        """Let `@triton.autotune` take the first configuration that the GPU has room for. The first launch compiles them all."""
        kernel = tuner.fn
        while not isinstance(kernel, JITFunction):
            kernel = kernel.fn
        try:
            if (id(tuner), id(tuner.configs[0])) not in self.timings:
                self.queueing = True
                tuner.warmup(*args, **{name: value for name, value in kwargs.items() if name != "warmup"})
            self.queueing, self.tuning = False, True
            return self.tuned(tuner, *args, **kwargs)
        except Exception as error:
            self.refuse(kernel, error)
            raise
        finally:
            self.queueing = self.tuning = self.benching = False

    def tuned(self, tuner: Autotuner, *args: Any, **kwargs: Any) -> Any:
        """Launch with the best configuration, or the next where that has no room after all: other arguments may need more."""
        try:
            return _tune(tuner, *args, **kwargs)
        except LEFT_OUT:
            key = (id(tuner), id(tuner.best_config))
            if self.timings.get(key) == NEVER:
                raise
            self.timings[key] = NEVER
            tuner.cache.clear()
            return self.tuned(tuner, *args, **kwargs)

    def bench(self, tuner: Autotuner, *args: Any, config: Any, **kwargs: Any) -> list[float]:
        """Judge a configuration once, as Triton would measure it."""
        key = (id(tuner), id(config))
        if key not in self.timings:
            self.benching = True
            self.timings[key] = _bench(tuner, *args, config=config, **kwargs)
            self.benching = False
        return self.timings[key]

    def refuse(self, kernel: JITFunction, error: Exception) -> None:
        """Note why a launch of the kernel does not compile, until another does."""
        slow = isinstance(error, TimeoutError)
        details = {"target": self.target, "kernel": kernel.__name__, "line": self.where.line, "by_triton": not slow}
        refusal: Exception
        if slow:
            refusal = DoesNotCompile(f"compiling had not finished after {self.patience:.0f} s", **details)
        elif own_trouble(error):
            refusal = CompilerUnavailable(f"{type(error).__name__}: {error}")
        else:
            reason, place = explained(error)
            refusal = DoesNotCompile(reason, **details | place)
        refusal.__cause__ = error
        self.refused[kernel.__name__] = refusal


def own_trouble(error: Exception) -> bool:
    """Whether it is the compiler that has failed, and not the kernel."""
    return isinstance(error, OSError) or str(error).startswith("Cannot find")


def _give_back() -> None:
    JITFunction.run, JITCallable.parse = _run, _parse
    Autotuner.run, Autotuner._bench, Autotuner.do_bench = _tune, _bench, _do_bench


def _parse_alone(function: JITCallable) -> ast.Module:
    """Python 3.11's `ast.parse` fails when two threads are in it at once: "AST constructor recursion depth mismatch"."""
    with _parsing:
        return _parse(function)


def _finished(compiled: Any, patience: float) -> Any:
    """The compiled kernel, once it is there and known to fit the GPU; `TimeoutError` if it is not there in so many seconds."""
    if isinstance(compiled, FutureKernel):
        if compiled.future is not None:  # Triton 3.9 drops it when it is done
            compiled.future.result(patience)
        compiled = compiled.result()
    compiled._init_handles()
    return compiled


# --- where and why ------------------------------------------------------------------------------------------------


def explained(error: Exception) -> tuple[str, dict[str, Any]]:
    """The innermost reason for a refusal, and where it arose if that is known: `line` or `elsewhere` of `DoesNotCompile`.

    A fault in a function of Triton's own is placed where the answer calls it.
    """
    chain: list[BaseException] = [error]
    while isinstance(chain[-1].__cause__, CompilationError):
        chain.append(chain[-1].__cause__)
    innermost = chain[-1]
    text = getattr(innermost, "error_message", None) or str(innermost.args[0] if len(innermost.args) == 1 else innermost)
    if text == UNEXPLAINED and (complaint := _complaint()):
        return complaint
    return _plain(str(text)), next((place for link in reversed(chain) if (place := _place(link))), {})


UNEXPLAINED = "error encountered during parsing"
"""All that Triton's error says where MLIR found the fault; the fault and its line have been printed."""


def _complaint() -> tuple[str, dict[str, Any]] | None:
    """What MLIR first printed of a fault in the code that was made of a kernel, and the line if it is the answer's."""
    printed = (content_of(Path("printed.txt"), MOST_PRINTED) or b"").decode(errors="replace")
    if not (first := re.search(r"^(/.+):(\d+):\d+: error: (.+)$", printed, re.MULTILINE)):
        return None
    own = first[1] == str(Path(ANSWER_FILE).resolve())
    return first[3], {"line": int(first[2])} if own else {}


MOST_PRINTED = 2**22
"""Bytes that are looked through."""


def _place(error: BaseException) -> dict[str, Any]:
    """Where a fault is: a line of the answer, or of a file that is not Triton's own. Empty if it is not known."""
    function, line = _function_and_line(error)
    if function is None or line is None:
        return {}
    file = function.fn.__code__.co_filename
    if file.startswith(TRITON):
        return {}
    decorators = itertools.takewhile(lambda text: not text.lstrip().startswith("def "), function.raw_src)
    number = function.starting_line_number + len(list(decorators)) + line - 1
    if file == str(Path(ANSWER_FILE).resolve()):
        return {"line": number}
    return {"elsewhere": (Path(file).name, number, linecache.getline(file, number).strip())}


TRITON = str(Path(triton.__file__).parent)


def _function_and_line(error: BaseException) -> tuple[JITCallable | None, int | None]:
    """The kernel or helper in which Triton found a fault, and the line, counted from its `def`.

    An error of the code generator carries the source that it was reading. One of the search for what a kernel refers to,
    which comes before, does not: there the frames tell.
    """
    if isinstance(error, CompilationError):
        functions = (thing for thing in gc.get_objects() if issubclass(type(thing), JITCallable))
        return next((f for f in functions if f.src == error.src), None), getattr(error.node, "lineno", None)
    function = line = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_name == "cache_key":
            function, line = frame.f_locals["self"], None
        line = getattr(frame.f_locals.get("node"), "lineno", line)
    return function, line


def _plain(text: str) -> str:
    """A compiler's message without Python's wrapping, without addresses, and no longer than it need be."""
    wrapped = re.fullmatch(r"\w+\((['\"])(.*)\1\)", text.strip(), re.DOTALL)
    text = re.sub(r" (object )?at 0x[0-9a-f]+|of type object", "", wrapped[2] if wrapped else text.strip())
    first, *rest = text.split(". ")
    return text if len(text) < 200 or not rest else first


def _line_of_launch() -> int | None:
    """The line of the answer that is being run: that of a launch, when Triton is asked for one."""
    answer = str(Path(ANSWER_FILE).resolve())
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename != answer:
        frame = frame.f_back  # type: ignore[assignment]
    return frame.f_lineno if frame is not None else None
