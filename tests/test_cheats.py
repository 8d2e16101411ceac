"""Answers that attack the judge. None passes; each leaves this process, its files and its next check unharmed.

`CHEATS` is a table of wrong answers to `double`: their kernel copies, and what is added tries to have them pass, to end or
stop the checker, to harm the learner's files, or to use up the machine. Below it are attacks that need more than an answer.
"""

from __future__ import annotations

import io
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib import catalog
from course_lib.checking import outcome, sandbox
from course_lib.checking.bundle import Bundle
from course_lib.checking.check import check_file
from course_lib.checking.clock import Clock
from course_lib.checking.findings import Report
from course_lib.checking.inside import save_call, saver
from course_lib.checking.limits import Limits
from course_lib.checking.outcome import Ending, read_outcome
from course_lib.checking.report import as_html, as_json, as_text
from course_lib.doctor.facts import triton_cache

ANSWER = """
import contextlib, ctypes, gc, io, json, os, resource, signal, socket, sys, threading, time
import numpy, torch, triton, triton.language as tl
{first}

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, {factor} * tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
{then}
    return out
"""
HONEST = ANSWER.format(first="", factor=2, then="")
BUNDLE = Bundle("double", HONEST, ())


@dataclass(frozen=True)
class Cheat:
    """Lines that come `first`, in the module, or `then`, after the kernel; and the finding that they must lead to.

    The kernel multiplies by `factor`: 2 is right, and is refused for the lines alone.

    In the lines, PARENT, ZYGOTE and NOTEBOOK stand for process numbers, VICTIM and CACHE for a file and a folder of the user.
    """

    finding: str
    then: str = "pass"
    first: str = ""
    factor: int = 1

    def source(self) -> str:
        lines = "".join(f"    {line}\n" for line in self.then.strip().splitlines())
        return ANSWER.format(first=self.first, factor=self.factor, then=lines)


FORGED = """
header = {"launches": [], "ops": {}, "poisoned": 0, "result": {"type": "int", "repr": "1"}}
content = io.BytesIO()
numpy.savez(content, header=numpy.frombuffer(json.dumps(header).encode(), dtype=numpy.uint8),
            events=numpy.zeros((0, 16), numpy.int64), touched=numpy.zeros(0, numpy.int64))
open("case_000_nan.npz", "wb").write(bytes(32) + content.getvalue())
"""
IN_COMPILER = "if os.environ['TRITON_INTERPRET'] == '0':\n    "

PROCESSES = {
    "kill the parent": Cheat("killed", "os.kill(os.getppid(), signal.SIGKILL)"),
    "kill the checker": Cheat("crash", "os.kill(ZYGOTE, signal.SIGKILL)"),
    "stop the checker": Cheat("crash", "os.kill(ZYGOTE, signal.SIGSTOP)"),
    "kill the notebook": Cheat("crash", "os.kill(NOTEBOOK, signal.SIGKILL)"),
    "stop the parent": Cheat("timeout", "os.kill(os.getppid(), signal.SIGSTOP)"),
    "kill the first process": Cheat("crash", "os.kill(1, signal.SIGKILL)"),
    "kill all there are": Cheat(
        "killed",
        """
for entry in os.listdir("/proc"):
    if entry.isdigit() and int(entry) not in (1, os.getpid()):
        os.kill(int(entry), signal.SIGKILL)
with contextlib.suppress(ProcessLookupError):
    os.kill(-1, signal.SIGKILL)
os.kill(os.getpid(), signal.SIGKILL)""",
    ),
    "limit the parent's files": Cheat("crash", "resource.prlimit(NOTEBOOK, resource.RLIMIT_FSIZE, (0, 0))"),
    "read the parent's secrets": Cheat("crash", "raise ValueError(open('/proc/NOTEBOOK/environ').read())"),
    "read the parent's memory": Cheat("crash", "open('/proc/NOTEBOOK/mem', 'rb')"),
    "trace the first process": Cheat("crash", "assert ctypes.CDLL(None).ptrace(16, 1, 0, 0) == 0, 'refused'  # PTRACE_ATTACH"),
    "make the folders writable again": Cheat(
        "crash",
        """
library = ctypes.CDLL(None)
library.unshare(0x10020000)  # user and mount namespaces
assert library.mount(b"none", b"/", None, 1 << 5, None) == 0, "refused"  # MS_REMOUNT""",
    ),
    "outlive the run": Cheat(
        "scaled",
        """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(60)
    os._exit(0)""",
    ),
}

FILES = {
    "overwrite a file": Cheat("crash", "open('VICTIM', 'w').write('gone')"),
    "delete a file": Cheat("crash", "os.unlink('VICTIM')"),
    "overwrite a file while compiling": Cheat("scaled", IN_COMPILER + "open('VICTIM', 'w').write('gone')"),
    "write into the learner's compiled kernels": Cheat("scaled", IN_COMPILER + "open('CACHE/planted', 'w')"),
    "overwrite a file through a link": Cheat("crash", "os.symlink('VICTIM', 'link'); open('link', 'w').write('gone')"),
    "change the course": Cheat("crash", "import course_lib; open(course_lib.__file__, 'a').write('#')"),
    "change how the kernel works": Cheat("crash", "open('/proc/sys/kernel/core_pattern', 'w').write('|/bin/true')"),
    "write to the disk itself": Cheat(
        "crash", "import glob; open([*glob.glob('/dev/[sv]d?'), *glob.glob('/dev/nvme?n?'), '/dev/none'][0], 'rb+')"
    ),
    "leave a pipe for a result": Cheat("crash", "os.mkfifo('error.json')"),
    "leave a socket for a result": Cheat("crash", "socket.socket(socket.AF_UNIX).bind('error.json')"),
    "leave folders for results": Cheat(
        "scaled",
        """
if not os.path.isdir("printed.txt"):
    os.unlink("printed.txt"), os.mkdir("printed.txt"), os.mkdir("error.json")""",
    ),
    "leave what is hard to remove": Cheat(
        "scaled",
        """
if not DONE:
    home = os.getcwd()
    DONE.append(os.makedirs("locked/inner"))
    os.chmod("locked", 0)
    for _ in range(1100):
        os.mkdir("deep")
        os.chdir("deep")
    os.chdir(home)""",
        "DONE = []",
    ),
    "rename the folder away": Cheat("crash", "os.rename(os.getcwd(), os.getcwd() + '-away')"),
}

FORGERIES = {
    "end well": Cheat("killed", "os._exit(0)"),
    "exit well": Cheat("killed", "sys.exit(0)"),
    "write a result and end": Cheat("no_verdict", FORGED + "os._exit(0)"),
    "write a result of another case": Cheat("killed", FORGED.replace("case_000", "case_007") + "os._exit(0)"),
    "print a passing report": Cheat("killed", "print('double: passed (17 cases)', flush=True); os._exit(0)"),
    "report an odd error": Cheat(
        "killed", "json.dump({'kind': [], 'message': None, 'frames': 7, 'case': 'x'}, open('error.json', 'w')); os._exit(1)"
    ),
    "report a lack of memory": Cheat("killed", "open('error.json', 'w').write('[' * 10**6); os._exit(1)"),
    "claim to be elsewhere": Cheat("killed", "open('where.bin', 'wb').write(b'\\x7f' * 48); os._exit(3)"),
    "import the checker": Cheat("crash", first="from course_lib.checking import recorder"),
    "import the references": Cheat("crash", "from course_lib import catalog; return catalog.exercise('double').reference(x)"),
    "import the references by name": Cheat("crash", "__import__('importlib').import_module('course_lib.catalog.lesson_00')"),
    "import a finished kernel": Cheat("crash", first="from course_lib.kernels.softmax import softmax"),
    "import a finished kernel by name": Cheat("crash", "__import__('importlib').import_module('course_lib.kernels.matmul')"),
    "import what an exercise asks for": Cheat("crash", "from course_lib.machine import occupancy"),
    "call what an exercise asks for": Cheat("crash", "import course_lib; course_lib.occupancy(None)"),
    "find the checker among the modules": Cheat(
        "scaled", "assert not [name for name in sys.modules if name.startswith(('course_lib.checking', 'course_lib.catalog'))]"
    ),
    "find the checker in its package": Cheat("crash", "import course_lib; course_lib.checking.recorder.TorchWatch"),
    "call check": Cheat("crash", first="from course_lib import check\ncheck('double', print)"),
    "find the key in its callers": Cheat("crash", "key = sys._getframe(1).f_locals['save']"),
    "find the key by another name": Cheat("crash", "key = getattr(sys, '_get' + 'frame')(1).f_locals"),
    "find the observer in a traceback": Cheat(
        "crash",
        """
try:
    raise ValueError
except ValueError as error:
    error.__traceback__.tb_frame.f_back.f_locals["recorder"].rows.clear()""",
    ),
    "find the observer in the collector": Cheat(
        "crash", "[found.rows.clear() for found in gc.get_objects() if hasattr(found, 'rows')]"
    ),
    "find the observer among the classes": Cheat("crash", "object.__subclasses__()"),
    "replace what compares": Cheat(
        "crash",
        """
torch.equal = torch.allclose = torch.isclose = lambda *arguments, **keywords: True
torch.Tensor.__eq__ = lambda self, other: torch.ones(1, dtype=torch.bool)
numpy.array_equal = numpy.allclose = lambda *arguments, **keywords: True""",
    ),
    "replace what writes results": Cheat(
        "crash",
        """
written = numpy.savez
def doubled(file, **arrays):
    arrays["result"] = (2 * arrays["result"].view(numpy.float32)).view(numpy.uint8)
    written(file, **arrays)
numpy.savez = doubled""",
    ),
    "replace how tensors become arrays": Cheat(
        "crash",
        """
kept = torch.Tensor.numpy
torch.Tensor.numpy = lambda self: (2 * kept(self).view(numpy.float32)).view(numpy.uint8)""",
    ),
    "replace what signs and encodes": Cheat(
        "killed", "import hmac; hmac.HMAC.digest = lambda self: bytes(32); json.dumps = lambda value, **options: '{}'"
    ),
    "send the observer of torch's work away": Cheat(
        "crash", "with torch.utils._python_dispatch._disable_current_modes(): out.mul_(2)"
    ),
    "replace what notes torch's work": Cheat(
        "crash",
        """
for mode in getattr(torch.utils._python_dispatch, "_get_current_dispatch" + "_mode_stack")():
    type(mode).__torch_dispatch__ = lambda self, func, types, args=(), kwargs=None: func(*args, **(kwargs or {}))
out.mul_(2)""",
    ),
    "replace what the interpreter does": Cheat(
        "crash",
        """
builder = sys.modules["triton.runtime.interpreter"].InterpreterBuilder
store = builder.create_masked_store
builder.create_masked_store = lambda self, pointers, value, *rest: store(self, pointers, value, *rest)""",
    ),
    "leave the compiler nothing to do": Cheat("killed", IN_COMPILER + "os._exit(0)", factor=2),
}

RESOURCES = {
    "a fork bomb": Cheat("crash", "while True:\n    with contextlib.suppress(OSError): os.fork()"),
    "programs without end": Cheat(
        "crash", "import subprocess\nkept = [subprocess.Popen(['sleep', '60']) for _ in range(500)]\ntime.sleep(60)"
    ),
    "threads without end": Cheat("crash", "while True: threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"),
    "threads that go on": Cheat("computed_outside", "threading.Thread(target=time.sleep, args=(60,)).start()"),
    "memory of many processes": Cheat(
        "memory_limit",
        """
signal.signal(signal.SIGALRM, signal.SIG_IGN)
for _ in range(14):
    if os.fork() == 0:
        kept = b"x" * 2**26
        time.sleep(60)
time.sleep(60)""",
    ),
    "a large file": Cheat("crash", "open('large', 'wb').truncate(2**40)"),
    "many files": Cheat("scaled", "for number in range(300): open(f'{number}', 'w').close()"),
    "files that stay open": Cheat("crash", "kept = [open('/dev/null') for _ in range(10**6)]"),
    "text without end": Cheat("crash", "while True: print('text' * 10**6)"),
    "sleep": Cheat("timeout", "time.sleep(60)"),
    "computing deaf to alarms": Cheat("timeout", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))\nwhile True: pass"),
    "sleeping deaf to alarms": Cheat("timeout", "signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(60)"),
    "a result of the whole memory": Cheat("memory_limit", "return torch.zeros(1).expand(2**40)"),
}

REPORTS = {
    "an error that moves the cursor": Cheat(
        "crash", "raise ValueError('\\x1b[2J\\x1b[31m\\u202e<script>alert(1)</script>\\x00')"
    ),
    "an error of half a character": Cheat("crash", "raise ValueError('\\ud800 `a` \\udfff')"),
    "an error that cannot be told": Cheat(
        "crash", "raise Silent", "class Silent(Exception):\n    def __str__(self): raise self"
    ),
    "an error with an odd line": Cheat("crash", "error = SyntaxError('odd')\nerror.lineno = object()\nraise error"),
    "an error with an odd name": Cheat("crash", "raise type('\\x1b[31m', (Exception,), {})('odd')"),
    "an error as long as a book": Cheat("crash", "raise ValueError('long ' * 10**7)"),
    "an error of errors": Cheat(
        "crash", "first, second = ValueError(1), ValueError(2)\nfirst.__cause__, second.__cause__ = second, first\nraise first"
    ),
    "text that is no text": Cheat("scaled", "os.write(1, b'\\xff\\xfe\\x1b[31m\\x00\\xed\\xa0\\x80')"),
    "a result that describes itself": Cheat(
        "wrong_type", "return Odd()", "class Odd:\n    def __repr__(self): return '\\x1b[31m\\ud800' * 10**6"
    ),
    "a result that is more than it seems": Cheat(
        "wrong_type", "class Right(torch.Tensor):\n    def numpy(self): return 2\nreturn out.as_subclass(Right)"
    ),
    "an argument that has shrunk": Cheat("input_changed", "x.data = x.data[:1]"),
}
CHEATS = PROCESSES | FILES | FORGERIES | RESOURCES | REPORTS


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """One small case, one target and short limits: what is judged here is the sandbox."""
    small = replace(
        catalog.exercise("double"), cases=({"n": 5},), straddle=lambda block: (), drawn=lambda numbers: (), targets=(80,)
    )
    monkeypatch.setattr(catalog, "exercise", lambda name: small)
    monkeypatch.setattr(
        sandbox, "Limits", partial(Limits, cpu_seconds=0.8, wall_seconds=1, file_bytes=2**26, memory_bytes=2**27)
    )


Judge = Callable[[str], Report]


@pytest.fixture
def judged(tmp_path: Path) -> Judge:
    def judge(source: str) -> Report:
        path = tmp_path / "answer_file.py"
        path.write_text(source, encoding="utf-8")
        return check_file("double", path, seed=0)

    return judge


def start_zygote() -> subprocess.Popen[str]:
    """The process that answers in the interpreter are forked from, ready for requests."""
    zygote = sandbox._ZYGOTES["interpret"]
    if zygote.process is None or zygote.process.poll() is not None:
        sandbox.run(BUNDLE, [(torch.ones(1),)])
    assert zygote.process is not None
    return zygote.process


def must_read_well(report: Report) -> None:
    """A report can be printed, sent to a notebook and parsed, whatever stands in it."""
    page = as_html(report)
    for shown in (as_text(report), page, json.dumps(as_json(report), ensure_ascii=False)):
        assert not {"\x1b", "\x00", "\u202e"} & set(shown)
        shown.encode("utf-8")
    assert "<script>" not in page and len(page) < 20_000


@pytest.mark.parametrize("name", CHEATS)
def test_no_cheat_passes_or_harms(name: str, judged: Judge, tmp_path: Path) -> None:
    zygote, victim = start_zygote(), tmp_path / "victim.txt"
    victim.write_text("precious")
    stands_for = {"PARENT": os.getppid(), "ZYGOTE": zygote.pid, "NOTEBOOK": os.getpid()}
    source = CHEATS[name].source()
    for word, value in (stands_for | {"VICTIM": victim, "CACHE": triton_cache(os.environ)}).items():
        source = source.replace(word, str(value))
    report = judged(source)
    assert not report.passed
    assert report.findings[0].kind == CHEATS[name].finding, as_text(report)
    must_read_well(report)
    assert victim.read_text() == "precious"
    assert zygote.poll() is None
    assert judged(HONEST).passed


REACHING_OUT = """
    def tried(attempt):
        try:
            return attempt()
        except OSError as error:
            return type(error).__name__
    local = socket.socket(socket.AF_UNIX)
    call = ctypes.CDLL(None).syscall
    attempts = [lambda: local.connect("SERVICE"), lambda: socket.socket(socket.AF_INET), lambda: call(425, 8, bytes(200))]
    raise ValueError([tried(attempt) for attempt in attempts])
"""
"""By a socket with a path, over a network, and by io_uring, which makes the same calls unseen."""


def test_what_the_course_has_finished_is_hidden_where_nothing_of_it_was_loaded(tmp_path: Path) -> None:
    """As in the process that runs an answer on a GPU, which needs no simulator."""
    answer = tmp_path / "answer.py"
    answer.write_text("from course_lib.machine.occupancy import occupancy\n")
    program = """
from pathlib import Path
from course_lib.checking import running, shield
shield.put_up(Path("answer.py"), exercise=True)
import answer
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert "ImportError: an answer may not import course_lib.machine.occupancy" in run.stderr


def test_no_service_of_the_machine_is_reached(judged: Judge) -> None:
    """Such as a container engine's, or a cluster's node, whose local sockets show in every namespace of networks."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as service:
        service.bind(f"{folder}/service")
        service.listen()
        report = judged(ANSWER.format(first="", factor=2, then=REACHING_OUT.replace("SERVICE", f"{folder}/service")))
    assert "['PermissionError', 'PermissionError', -1]" in as_text(report)


# --- what is left behind ------------------------------------------------------------------------------------------------


def test_nothing_but_regular_files_is_read(tmp_path: Path) -> None:
    """Where Landlock does not keep an answer from making them."""
    names = ["case_000_nan.npz", "case_000_high.npz", "error.json", "printed.txt", "where.bin", "fault.txt", "compiled.json"]
    secret = tmp_path / "secret.txt"
    secret.write_text("hush")
    makers: dict[str, Callable[[Path], object]] = {
        "pipes": os.mkfifo,
        "links": lambda path: path.symlink_to(secret),
        "links that lead nowhere": lambda path: path.symlink_to(tmp_path / "nowhere"),
        "links to themselves": lambda path: path.symlink_to(path),
        "links to devices": lambda path: path.symlink_to("/dev/zero"),
        "folders": Path.mkdir,
        "sockets": lambda path: socket.socket(socket.AF_UNIX).bind(str(path)),
    }
    for what, make in makers.items():
        folder = tmp_path / what.replace(" ", "-")
        folder.mkdir()
        os.chdir(folder)  # a socket's path may not be long
        for name in names:
            make(Path(name))
        read = read_outcome(folder, BUNDLE, Ending(0, None, "interpret", 1, "00"))
        assert not read.calls and read.printed == "", what
        assert read.failure is not None and read.failure.kind == "exit", what


def test_a_result_is_not_read_beyond_its_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a file of a size that it has not, nor an archive that grows when it is opened."""
    monkeypatch.setattr(outcome, "MOST_RESULT_BYTES", 10**6)
    ending = Ending(0, None, "interpret", 1, "00")
    result = tmp_path / "case_000_nan.npz"
    with result.open("wb") as sparse:
        sparse.truncate(2**40)
    with pytest.raises(ValueError, match="not written by the checker"):
        read_outcome(tmp_path, BUNDLE, ending)
    bomb = io.BytesIO()
    np.savez_compressed(bomb, header=np.zeros(10**8, dtype=np.uint8))
    saver(tmp_path, bytes(1))(result.name, bomb.getvalue())
    with pytest.raises(ValueError, match="compressed"):
        read_outcome(tmp_path, BUNDLE, ending)


@pytest.mark.parametrize(
    ("events", "elements"),
    [
        (np.zeros((1, 3), np.int64), 0),
        (np.zeros((1, 16)), 0),
        (np.array([[0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 1, 1, 3, 0, 0, 0]]), 1),
        (np.array([[0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 1, 1, 3, 0, 0, 0]]), 3),
        (np.array([[0, 0, 0, 0, 0, 0, 1, -3, 6, 0, 1, 1, 3, 0, 0, 0]]), 3),
    ],
    ids=["short rows", "fractions", "too few elements", "a launch that was not", "less than nothing"],
)
def test_events_that_do_not_fit_together_are_no_result(tmp_path: Path, events: np.ndarray, elements: int) -> None:
    """Also under the right signature: what the stages of a check rely on is looked at where it is read."""
    header = {"launches": [], "ops": {}, "poisoned": 0, "result": {"type": "int", "repr": "1"}}
    arrays = {"events": events, "touched": np.zeros(elements, np.int64)}
    save_call("case_000_nan.npz", header, arrays, saver(tmp_path, bytes(1)))
    with pytest.raises((ValueError, IndexError)):
        read_outcome(tmp_path, BUNDLE, Ending(0, None, "interpret", 1, "00"))


# --- the checker's own processes --------------------------------------------------------------------------------------


def test_a_check_does_not_hang_when_its_process_is_stopped(judged: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    zygote = start_zygote()
    os.kill(zygote.pid, signal.SIGSTOP)
    with monkeypatch.context() as patch:
        patch.setattr(sandbox, "PATIENCE", 0.1)
        patch.setattr(sandbox, "longest", lambda limits: 0.1)
        assert not judged(HONEST).judged
    assert zygote.poll() is not None
    assert judged(HONEST).passed


@pytest.mark.parametrize("end", ["well", "killed"])
def test_folders_go_with_the_process_that_made_them(tmp_path: Path, end: str) -> None:
    """However it ends, and although a process of the checker's was killed while it was getting ready."""
    program = f"""
import os, signal
from course_lib.checking import sandbox
zygote = sandbox._ZYGOTES["interpret"]
zygote.start()
zygote.process.kill()
zygote.process.wait()
zygote.start()
print(len(os.listdir({str(tmp_path)!r})), flush=True)
os.kill(os.getpid(), {"signal.SIGKILL" if end == "killed" else 0})"""
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n", done.stderr
    deadline = time.monotonic() + 30
    while os.listdir(tmp_path):  # a process that was killed leaves it to its zygote
        assert time.monotonic() < deadline, f"left behind: {os.listdir(tmp_path)}"
        time.sleep(0.05)


ALONE = """
for kind in user pid mnt net ipc; do echo 0 > /proc/sys/user/max_${kind}_namespaces; done
exec "$0" "$@"
"""


def test_without_namespaces_the_parent_is_unharmed_too(tmp_path: Path) -> None:
    """As in many containers: then Landlock, or else the time that a reply may take, has to do."""
    program = f"""
import sys, torch
from course_lib.checking import sandbox
from course_lib.checking.bundle import Bundle
sandbox.PATIENCE = sandbox.LONGEST = 1
def run(lines):
    source = {HONEST!r}.replace("return out", lines + "; return out")
    try:
        return sandbox.run(Bundle("double", source, ()), [(torch.ones(1),)]).failure or "right"
    except sandbox.SandboxError as error:
        return error
for lines in "pass", "os.kill(os.getppid(), signal.SIGSTOP)", "os.kill(os.getppid(), signal.SIGKILL)", "pass":
    print(run(lines) == "right")
"""
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", ALONE, sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare:" in done.stderr or "max_" in done.stderr:
        pytest.skip("this system lets no process have namespaces of its own")
    assert done.stdout.split() == ["True", "False", "False", "True"], done.stderr


def test_several_threads_check_at_once() -> None:
    def double(n: int) -> list[float]:
        return result_of(sandbox.run(BUNDLE, [(torch.arange(5.0) + n,)]))

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(double, range(8))) == [(2 * (torch.arange(5.0) + n)).tolist() for n in range(8)]


def test_a_forked_process_checks_with_processes_of_its_own() -> None:
    zygote = start_zygote()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        theirs = pool.map(double_in_a_fork, range(4))
    assert [result for result, _ in theirs] == [[0.0], [2.0], [4.0], [6.0]]
    assert zygote.pid not in {number for _, number in theirs}
    assert start_zygote() is zygote


def double_in_a_fork(n: int) -> tuple[list[float], int]:
    """Twice a number, and the number of the process that the worker was forked from."""
    result = result_of(sandbox.run(BUNDLE, [(torch.tensor([float(n)]),)]))
    return result, start_zygote().pid


def result_of(run: outcome.Outcome) -> list[float]:
    """What the only call returned."""
    assert run.failure is None and run.calls[0].result is not None
    return run.calls[0].result.tolist()


# --- a busy machine -----------------------------------------------------------------------------------------------------


def test_standing_in_the_queue_is_not_waiting() -> None:
    """Three processes share one processor: each computes, stands in the queue, and hardly waits. One that sleeps waits."""
    loop = "import os\nos.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\nprint(flush=True)\nwhile True: pass"
    programs = [loop, loop, loop, "import time\nprint(flush=True)\ntime.sleep(60)"]
    processes = [subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) for program in programs]
    try:
        for process in processes:
            process.stdout.readline()  # type: ignore[union-attr]
        clocks = [Clock(str(process.pid)) for process in processes]
        before = [(clock.computed(), clock.queued()) for clock in clocks]
        time.sleep(0.6)
        spent = [(clock.computed() - b[0], clock.queued() - b[1]) for clock, b in zip(clocks, before, strict=True)]
    finally:
        for process in processes:
            process.kill()
            process.communicate()
    *looping, sleeping = spent
    assert all(queued > 0.2 for _, queued in looping)
    assert all(computed + queued > 0.5 for computed, queued in looping)
    assert sum(sleeping) < 0.1


def test_a_machine_that_is_too_busy_gives_no_verdict(judged: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "It did not finish in time" would be false."""
    monkeypatch.setattr(sandbox._Zygote, "request", lambda *_: {"status": 9, "stopped": "busy"})
    report = judged(HONEST)
    assert not report.judged and "too busy" in report.findings[0].message
    assert report.findings[0].kind == "no_verdict"
