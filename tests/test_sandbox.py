"""The sandbox: what goes in comes out unchanged, what an answer does stays inside, and nothing outlives its run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from course_lib.checking import sandbox, wire
from course_lib.checking.bundle import Bundle, bundle_file
from course_lib.checking.outcome import Outcome

COPY = """
import os, sys, time
import torch, triton, triton.language as tl

@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0), mask=mask)

def launch(x):
    out = torch.empty(x.shape, dtype=x.dtype)
    copy_kernel[(triton.cdiv(x.numel(), 16),)](x, out, x.numel(), BLOCK=16)
    return out
"""


@pytest.fixture
def bundled(tmp_path: Path) -> Callable[[str], Bundle]:
    def make(body: str) -> Bundle:
        path = tmp_path / "written.py"
        path.write_text(f"{COPY}\ndef answer(*arguments):\n{body}\n")
        return bundle_file(path, "answer")

    return make


Maker = Callable[[str], Bundle]
RIGHT = "    return launch(arguments[0])"


TENSORS = {
    "transposed": torch.randn(5, 7).t(),
    "sliced": torch.randn(6, 8)[::2, 1::3],
    "expanded": torch.randn(1, 5).expand(4, 5),
    "int64": torch.arange(9, dtype=torch.int64),
    "bfloat16": torch.randn(4).to(torch.bfloat16),
    "empty": torch.zeros(0),
    "bool": torch.tensor([True, False]),
}
PLAIN = (3, -0.5, "text", None, torch.float16, (1, (2.5, torch.ones(2))))


@pytest.mark.parametrize("value", [*TENSORS.values(), *PLAIN], ids=[*TENSORS, *(type(value).__name__ for value in PLAIN)])
def test_what_is_packed_is_unpacked(value: object) -> None:
    parcel = wire.pack((value,), "a")
    parcel.values = json.loads(json.dumps(parcel.values))
    (back,) = wire.unpack(parcel.values, parcel.arrays, poison=float("nan"))
    if isinstance(value, torch.Tensor):
        assert back.dtype == value.dtype
        assert (back.shape, back.stride()) == (value.shape, value.stride())
        assert torch.equal(back, value)
    elif isinstance(value, tuple):
        assert back[0] == 1 and back[1][0] == 2.5 and torch.equal(back[1][1], torch.ones(2))
    else:
        assert back == value


def test_two_arguments_in_one_storage_still_share_it() -> None:
    x = torch.arange(6.0)
    parcel = wire.pack((x, x[2:]), "a")
    whole, part = wire.unpack(parcel.values, parcel.arrays)
    part[0] = 99
    assert whole[2] == 99 and x[2] == 2


def test_an_object_cannot_be_sent() -> None:
    with pytest.raises(wire.CannotSend, match="type object"):
        wire.pack((object(),), "a")


def test_inputs_lie_among_poison() -> None:
    parcel = wire.pack((torch.ones(4),), "a")
    (x,) = wire.unpack(parcel.values, parcel.arrays, poison=float("nan"))
    around = torch.as_strided(x, (6,), (1,), x.storage_offset() - 1)
    assert around[[0, 5]].isnan().all() and x.data_ptr() % 16 == 0


def test_a_right_answer_comes_back_with_its_events(bundled: Maker) -> None:
    x = torch.randn(20)
    outcome = sandbox.run(bundled(RIGHT), [(x,), (torch.zeros(0),)])
    assert outcome.failure is None
    first, empty = outcome.calls
    assert first.result is not None and torch.equal(first.result, x)
    assert [e.kind for e in first.trace.events] == ["load", "store", "load", "store"]
    assert first.trace.events[0].source.text.startswith("tl.store(")
    assert empty.result is not None and empty.result.numel() == 0 and not empty.trace.events


def test_a_python_of_its_own_gives_the_same_where_the_system_cannot_fork(
    bundled: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    forked = sandbox.run(bundled(RIGHT), [(torch.arange(20.0),)])
    monkeypatch.setitem(sandbox._ZYGOTES, "interpret", sandbox._Zygote("interpret"))
    monkeypatch.delattr(os, "fork")
    alone = sandbox.run(bundled(RIGHT), [(torch.arange(20.0),)])
    assert alone.failure is None and forked.failure is None
    assert len(alone.calls[0].trace.events) == len(forked.calls[0].trace.events) == 4
    died = sandbox.run(bundled("    import ctypes; ctypes.string_at(0)"), [(torch.ones(1),)])
    assert died.failure is not None and died.failure.type == "SIGSEGV"


def failure(outcome: Outcome) -> tuple[str, str]:
    assert outcome.failure is not None
    return outcome.failure.kind, outcome.failure.type


@pytest.mark.parametrize(
    ("body", "kind", "type_"),
    [
        ("    while True: pass", "timeout", "cpu"),
        ("    time.sleep(60)", "timeout", "wall"),
        ("    try:\n        while True: pass\n    except BaseException:\n        while True: pass", "timeout", "cpu"),
        ("    import signal; signal.signal(signal.SIGALRM, signal.SIG_IGN); time.sleep(60)", "timeout", "wall"),
        ("    raise ValueError('no')", "crash", "ValueError"),
        ("    raise NotImplementedError()", "not_done", "NotImplementedError"),
        ("    sys.exit(0)", "exit", "SystemExit"),
        ("    os._exit(0)", "exit", "exit"),
        ("    return torch.zeros(2**40)", "memory_limit", "RuntimeError"),
        ("    return [bytearray(10**6) for _ in range(10**7)]", "memory_limit", "MemoryError"),
        ("    os.kill(os.getpid(), 11)", "killed", "SIGSEGV"),
        ("    open('big', 'wb').write(bytes(2**21))", "crash", "OSError"),
    ],
)
def test_how_a_run_ends_is_told(bundled: Maker, body: str, kind: str, type_: str) -> None:
    # A busy machine must not make the other clock strike first.
    wall_seconds = 2 if type_ == "wall" else 60
    limits = sandbox.Limits(cpu_seconds=1, wall_seconds=wall_seconds, file_bytes=2**20, memory_bytes=2**27)
    assert failure(sandbox.run(bundled(body), [(torch.ones(3),)], limits=limits)) == (kind, type_)


@pytest.mark.parametrize(("total_seconds", "kind"), [(60, None), (0.9, "timeout")])
def test_time_is_counted_for_each_case_and_for_all(bundled: Maker, total_seconds: float, kind: str | None) -> None:
    body = "    end = time.process_time() + 0.6\n    while time.process_time() < end: pass\n" + RIGHT
    limits = sandbox.Limits(cpu_seconds=1, wall_seconds=60, total_seconds=total_seconds)
    outcome = sandbox.run(bundled(body), [(torch.ones(n),) for n in (1, 2, 3)], limits=limits)
    assert (outcome.failure and outcome.failure.kind) == kind
    assert len(outcome.calls) == 3 if kind is None else outcome.calls


def test_cases_before_the_one_that_failed_are_kept(bundled: Maker) -> None:
    body = "    if arguments[0].numel() == 3: raise ValueError('three')\n" + RIGHT
    outcome = sandbox.run(bundled(body), [(torch.ones(n),) for n in (1, 2, 3, 4)])
    assert [call.case for call in outcome.calls] == [0, 1]
    assert outcome.failure is not None and outcome.failure.case == 2


def test_children_of_an_answer_do_not_outlive_it(bundled: Maker, tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    body = f"    if os.fork() == 0:\n        time.sleep(3)\n        open({str(mark)!r}, 'w').close()\n        os._exit(0)\n"
    outcome = sandbox.run(bundled(body + RIGHT), [(torch.ones(3),)])
    assert outcome.failure is None
    time.sleep(3.5)
    assert not mark.exists()


def test_the_answer_sees_neither_secrets_nor_leftovers(bundled: Maker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hush")
    body = "    print(os.environ.get('SECRET_TOKEN'), os.listdir('.'))\n    open('left', 'w').close()\n" + RIGHT
    first = sandbox.run(bundled(body), [(torch.ones(3),)])
    second = sandbox.run(bundled(body), [(torch.ones(3),)])
    assert "hush" not in first.printed and "None" in first.printed
    assert "left" not in second.printed


def test_the_scratch_folder_is_gone_afterwards(bundled: Maker) -> None:
    outcome = sandbox.run(bundled("    print(os.getcwd())\n" + RIGHT), [(torch.ones(3),)])
    assert outcome.printed.strip() and not Path(outcome.printed.strip()).exists()


def test_fresh_memory_is_poisoned_and_masked_lanes_are_run_with_every_poison(bundled: Maker) -> None:
    body = "    fresh = torch.empty(4)\n    return launch(fresh)"
    outcome = sandbox.run(bundled(body), [(torch.ones(1),)])
    result = outcome.calls[0].result
    assert result is not None and bool(result.isnan().all())
    lazy = COPY.replace(", other=0", "")
    source = Bundle("launch", lazy, ())
    ways = {call.variation for call in sandbox.run(source, [(torch.ones(3),)]).calls}
    assert ways == {"nan", "high", "low", "zero"}
    assert [call.variation for call in sandbox.run(source, [(torch.ones(16),)]).calls] == ["nan"]


def test_an_answer_that_names_a_gpu_runs_on_the_cpu_here(bundled: Maker) -> None:
    body = """    out = torch.zeros(3, device='cuda')
    copy_kernel[(1,)](arguments[0].to('cuda').cuda(), out, 3, BLOCK=16)
    return out"""
    outcome = sandbox.run(bundled(body), [(torch.ones(3),)])
    assert outcome.failure is None
    assert outcome.calls[0].result is not None and outcome.calls[0].result.tolist() == [1.0, 1.0, 1.0]


def test_a_zygote_that_died_is_replaced(bundled: Maker) -> None:
    sandbox.run(bundled(RIGHT), [(torch.ones(3),)])
    process = sandbox._ZYGOTES["interpret"].process
    assert process is not None
    process.kill()
    process.wait()
    assert sandbox.run(bundled(RIGHT), [(torch.ones(3),)]).failure is None


def test_a_forged_result_file_is_not_unpickled(bundled: Maker, tmp_path: Path) -> None:
    mark = tmp_path / "owned"
    body = f"""
    import pickle, numpy
    class Evil:
        def __reduce__(self):
            return (open, ({str(mark)!r}, "w"))
    numpy.savez("case_000_nan.npz", header=numpy.array([Evil()], dtype=object))
    os._exit(0)
"""
    with pytest.raises(sandbox.SandboxError, match="not written by the checker"):
        sandbox.run(bundled(body), [(torch.ones(3),)])
    assert not mark.exists()


def test_a_forged_result_without_the_key_is_no_result(bundled: Maker) -> None:
    body = """
    import io, json, numpy
    header = {"launches": [], "ops": {}, "poisoned": 0, "result": {"type": "int", "repr": "1"}}
    raw = numpy.frombuffer(json.dumps(header).encode(), dtype=numpy.uint8)
    content = io.BytesIO()
    numpy.savez(content, header=raw, events=numpy.zeros((0, 16), numpy.int64), touched=numpy.zeros(0, numpy.int64))
    open("case_000_nan.npz", "wb").write(bytes(32) + content.getvalue())
    os._exit(0)
"""
    with pytest.raises(sandbox.SandboxError, match="not written by the checker"):
        sandbox.run(bundled(body), [(torch.ones(3),)])


def test_the_key_is_gone_before_the_answer_begins(bundled: Maker) -> None:
    outcome = sandbox.run(bundled("    print(sorted(os.listdir('.')))\n" + RIGHT), [(torch.ones(3),)])
    assert "request.json" not in outcome.printed and "inputs.npz" in outcome.printed


def test_the_parents_numpy_and_torch_are_as_they_were() -> None:
    assert os.environ.get("COURSE_IN_WORKER") is None
    assert "answer" not in sys.modules
    assert np.geterr()["over"] == "warn"


def test_a_child_that_left_the_group_does_not_outlive_the_answer(bundled: Maker, tmp_path: Path) -> None:
    mark = tmp_path / "alive"
    body = f"""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(3)
            open({str(mark)!r}, "w").close()
        os._exit(0)
    return launch(arguments[0])"""
    assert sandbox.run(bundled(body), [(torch.ones(3),)]).failure is None
    time.sleep(3.5)
    assert not mark.exists()


def test_an_answer_has_no_network(bundled: Maker) -> None:
    body = """
    import socket
    try:
        socket.create_connection(("127.0.0.1", PORT))
        print("reached")
    except OSError:
        print("cut off")
    return launch(arguments[0])"""
    import socket

    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        outcome = sandbox.run(bundled(body.replace("PORT", str(server.getsockname()[1]))), [(torch.ones(3),)])
    if not _may_have_namespaces():
        pytest.skip("this system lets no process have namespaces of its own")
    assert outcome.printed.strip() == "cut off"


def test_an_answer_cannot_read_its_parents_memory(bundled: Maker) -> None:
    body = """
    try:
        open(f"/proc/PARENT/mem", "rb").read(0)
        print("opened")
    except OSError as error:
        print("refused")
    return launch(arguments[0])"""
    if not _may_have_namespaces():
        pytest.skip("this system lets no process have namespaces of its own")
    outcome = sandbox.run(bundled(body.replace("PARENT", str(os.getpid()))), [(torch.ones(3),)])
    assert outcome.printed.strip() == "refused"


def _may_have_namespaces() -> bool:
    probe = "import ctypes, sys; sys.exit(0 if ctypes.CDLL(None).unshare(0x50000000) == 0 else 1)"
    return subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0


HARMLESS = {
    "the names that lessons import": "    import course_lib\n    from course_lib import check, hint, occupancy, quiz, trace",
    "figures": "    from course_lib.figures import draw_accesses, draw_blocks, draw_occupancy",
    "facts about GPUs": "    from course_lib.machine.specs import find_gpu\n    find_gpu('T4')",
    "temporary files": "    import tempfile\n    with tempfile.NamedTemporaryFile('w') as file: file.write('note')",
    "a cache at home": "    os.makedirs(os.path.expanduser('~/.cache/notes'))",
    "a program": "    import subprocess\n    subprocess.run(['true'], check=True, stdout=subprocess.DEVNULL)",
    "a thread": "    import threading\n    thread = threading.Thread(target=print)\n    thread.start()\n    thread.join()",
}


@pytest.mark.parametrize("what", HARMLESS)
def test_what_does_no_harm_works(bundled: Maker, what: str) -> None:
    assert sandbox.run(bundled(f"{HARMLESS[what]}\n{RIGHT}"), [(torch.ones(3),)], exercise=True).failure is None


def test_what_is_no_answer_to_an_exercise_may_use_finished_kernels(bundled: Maker) -> None:
    imports = "    from course_lib.kernels.softmax import softmax\n    from course_lib.machine.occupancy import occupancy\n"
    assert sandbox.run(bundled(imports + RIGHT), [(torch.ones(3),)]).failure is None
