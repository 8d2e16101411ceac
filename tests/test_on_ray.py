"""Grading on a Ray cluster: with a Ray that is played, when tasks go where; on a real one, that the results are the same.

The real one is started on this machine, a raylet for each node, and needs `pip install -e '.[cluster]'`.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import made_submissions as made
import pytest

from course_lib import catalog
from course_lib.checking.findings import Finding, Report
from course_lib.grading import records
from course_lib.grading.results import Results
from course_lib.grading.run import plan
from course_lib.grading.runners import Runner, on_ray, runner
from course_lib.grading.runners.local import LocalRunner
from course_lib.grading.runners.on_ray import TRIES, CannotGrade, RayRunner, differences, judged
from course_lib.grading.submissions import read_folder
from course_lib.grading.tasks import Task

ROOT = Path(__file__).parents[1]
TASK = Task("ann.py", "ann", "python", ("def double(x): return x",), ("double", "reverse"), seed=7)


# --- played -------------------------------------------------------------------------------------------------------------


class RayError(Exception):
    pass


class RayTaskError(RayError):
    cause = None


@dataclass
class Played:
    """What of the module `ray` is used to judge, as a cluster of one process in which tasks run when they are waited for."""

    resources: dict[str, float]
    exceptions: Any = field(default_factory=lambda: SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError))
    most_at_once: int = 0
    begun: list[dict[str, Any]] = field(default_factory=list)
    waiting: dict[int, tuple[Any, ...]] = field(default_factory=dict)

    def cluster_resources(self) -> dict[str, float]:
        return self.resources

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        def begin(*arguments: Any) -> int:
            self.begun.append(options)
            self.waiting[len(self.begun)] = arguments
            self.most_at_once = max(self.most_at_once, len(self.waiting))
            return len(self.begun)

        return lambda function: SimpleNamespace(remote=begin)

    def wait(self, references: list[int], timeout: float) -> tuple[list[int], list[int]]:
        possible = [one for one in references if not self.begun[one - 1].get("num_gpus") or self.resources.get("GPU")]
        return (possible[:1], possible[1:]) if self.resources.get("CPU") else ([], references)

    def get(self, reference: int) -> Any:
        judge, task, _ = self.waiting.pop(reference)
        return judge(task)


def played_record(task: Task, said: str = "") -> dict[str, Any]:
    """Of Ann's exercises, `double` passes and the other does not; the GPU finds something in it."""
    wrong = Finding("mismatch", said or ("on the GPU" if task.use_gpu else "wrong"))
    passes = {name: name == "double" and not task.use_gpu for name in task.exercises}
    reports = [Report(name, ok, () if ok else (wrong,)) for name, ok in passes.items()]
    return records.record(task, [records.result(catalog.exercise(one.name), one) for one in reports], seconds=1)


def lose(task: Task) -> dict[str, Any]:
    raise RayError("the node died")


def of_class(number: int) -> list[Task]:
    return [replace(TASK, submission=f"student {one}.py") for one in range(number)]


def test_so_many_tasks_are_under_way_as_the_cluster_can_take() -> None:
    for jobs, most in ((0, 6), (4, 4)):
        ray = Played({"CPU": 3})
        found = [record["submission"] for record in judged(ray, of_class(20), jobs, played_record)]
        assert sorted(found) == sorted(task.submission for task in of_class(20))
        assert ray.most_at_once == most


def test_a_task_that_is_lost_is_begun_again_and_at_last_not_judged() -> None:
    tries: Counter[str] = Counter()

    def lose_some(task: Task) -> dict[str, Any]:
        tries[task.submission] += 1
        return lose(task) if task.submission == "student 1.py" or tries[task.submission] < TRIES else played_record(task)

    found = {record["submission"]: record for record in judged(Played({"CPU": 2}), of_class(3), 0, lose_some)}
    assert set(tries.values()) == {TRIES}
    statuses = {name: {result["status"] for result in record["results"]} for name, record in found.items()}
    assert statuses.pop("student 1.py") == {"not judged"}
    assert set(map(frozenset, statuses.values())) == {frozenset({"passed", "wrong"})}


def test_what_has_passed_goes_on_to_a_gpu_and_nothing_else() -> None:
    ray, task = Played({"CPU": 2, "GPU": 1}), replace(TASK, use_gpu=True)
    (record,) = judged(ray, [task], 0, played_record)
    assert [options.get("num_gpus", 0) for options in ray.begun] == [0, 1]
    assert [(one["exercise"], one["status"]) for one in record["results"]] == [("double", "wrong"), ("reverse", "wrong")]
    assert [one["report"]["findings"][0]["message"] for one in record["results"]] == ["on the GPU", "wrong"]
    assert (record["digest"], record["total"], record["seconds"]) == (task.digest, 0, 2)


def test_a_gpu_that_is_lost_costs_what_it_would_have_judged() -> None:
    def on_cpu_only(task: Task) -> dict[str, Any]:
        return lose(task) if task.use_gpu else played_record(task)

    (record,) = judged(Played({"CPU": 1, "GPU": 1}), [replace(TASK, use_gpu=True)], 0, on_cpu_only)
    assert [one["status"] for one in record["results"]] == ["not judged", "wrong"]


def test_a_cluster_without_gpus_gets_the_task_as_it_is() -> None:
    sent: list[Task] = []
    task = replace(TASK, use_gpu=True)
    list(judged(Played({"CPU": 1}), [task], 0, lambda one: sent.append(one) or played_record(one)))
    assert sent == [task]


def test_a_cluster_whose_nodes_are_all_gone_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(on_ray, "WITHOUT_NODES", 2 * on_ray.WATCH)
    with pytest.raises(CannotGrade, match="No node with a CPU is left"):
        list(judged(Played({}), [TASK], 0, played_record))
    ray = Played({"CPU": 1, "GPU": 1})

    def lose_the_gpu(task: Task) -> dict[str, Any]:
        del ray.resources["GPU"]
        return played_record(task)

    with pytest.raises(CannotGrade, match="No node with a GPU is left"):
        list(judged(ray, [replace(TASK, use_gpu=True)], 0, lose_the_gpu))


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    for on in ("ray", "ray://head:10001"):
        with pytest.raises(CannotGrade, match=r"pip install .*\[cluster\]"):
            runner(on, 0)


def test_a_node_says_what_is_missing_there(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = on_ray._ask()()
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert differences(ours, on_ray._ask()()) == [f"course_lib is missing, and {ours['course_lib']} here"]


# --- real ---------------------------------------------------------------------------------------------------------------

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install -e '.[cluster]'"
)
COUNTS = {"right": 9, "right notebook": 4, "wrong": 9, "wrong notebook": 4, "unsolved": 1, "cheating": 2, "crashing": 2}
LOADING = 6
"""Records after which every node judges."""


class Cluster:
    """A head that judges nothing, and nodes of one processor each, as `ray start` makes them, each a group of processes."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.port, self.client_port = free_port(), free_port()
        self.nodes: list[subprocess.Popen[bytes]] = []
        self._start(
            f"--head --port {self.port} --ray-client-server-port {self.client_port} --num-cpus 0 --num-gpus 0"
            f" --include-dashboard false --temp-dir {folder}/ray",
            ROOT,
        )

    def add(self, course: Path = ROOT, gpus: int = 0) -> subprocess.Popen[bytes]:
        """Start a node that has this course, and says that it has so many GPUs."""
        return self._start(f"--address 127.0.0.1:{self.port} --num-cpus 1 --num-gpus {gpus}", course)

    def _start(self, options: str, course: Path) -> subprocess.Popen[bytes]:
        program = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", "--disable-usage-stats"]
        log = Path(self.folder, f"node-{len(self.nodes)}.txt")
        environment = os.environ | {"PYTHONPATH": f"{course}{os.pathsep}{ROOT / 'tests'}", "RAY_memory_monitor_refresh_ms": "0"}
        with log.open("wb") as output:
            node = subprocess.Popen(
                [*program, "--object-store-memory", "80000000", *options.split()],
                env=environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.nodes.append(node)
        deadline = time.monotonic() + 120
        while "Ray runtime started" not in log.read_text(errors="replace"):
            assert node.poll() is None and time.monotonic() < deadline, log.read_text(errors="replace")
            time.sleep(0.1)
        return node

    def kill(self, node: subprocess.Popen[bytes]) -> None:
        """End a node and all that it runs, at once: as when a machine loses its power."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(node.pid, signal.SIGKILL)
        node.wait()

    def stop(self) -> None:
        for node in reversed(self.nodes):
            self.kill(node)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    folder = tempfile.mkdtemp(prefix="ray-")  # short: Ray has local sockets in it
    cluster = Cluster(folder)
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{cluster.port}")
    yield cluster
    cluster.stop()
    shutil.rmtree(folder)


def verdicts(runner: Runner, tasks: Sequence[Task], after: Callable[[int], None] = lambda done: None) -> dict[str, Any]:
    """What of the records does not depend on the clock, by submission; `after` is called with how many there are."""
    found = {}
    for record in runner.run(tasks):
        found[record["submission"]] = [
            (one["exercise"], one["status"], one["points"], [finding["kind"] for finding in one["report"]["findings"]])
            for one in record["results"]
        ]
        assert record["digest"] == next(task.digest for task in tasks if task.submission == record["submission"])
        after(len(found))
    return found


def a_class(folder: Path) -> list[Task]:
    made.make(folder / "submissions", COUNTS)
    return list(plan(read_folder(folder / "submissions"), Results(folder, seed=7), hidden=[folder]).tasks)


@needs_ray
@pytest.mark.slow
def test_a_cluster_comes_to_the_same_results_although_a_node_is_lost(tmp_path: Path, cluster: Cluster) -> None:
    tasks = a_class(tmp_path)
    (tmp_path / "records").mkdir()
    want = verdicts(LocalRunner(1), tasks)
    nodes = []
    for number in (1, 2):
        nodes.append(cluster.add())
        times: list[float] = []
        assert verdicts(RayRunner("ray", 0), tasks, lambda done, times=times: times.append(time.monotonic())) == want
        counted = times[LOADING:]  # until then, processes load torch and Triton
        print(f"{number} node(s): {60 * (len(counted) - 1) / (counted[-1] - counted[0]):.0f} submissions a minute")

    def lose_a_node(done: int) -> None:
        if done == 4:
            cluster.kill(nodes[0])

    assert verdicts(RayRunner("ray", 0), tasks, lose_a_node) == want


SPY = """
import ctypes, glob, os, socket

def tried(attempt):
    try:
        return attempt() or "reached"
    except OSError as error:
        return "refused"

def double(x):
    ours = [name for name in os.environ if name.startswith("RAY")]
    numbers = [one for one in range(1000) if os.path.lexists(f"/proc/self/fd/{one}")]
    files = [os.readlink(f"/proc/self/fd/{one}") for one in numbers]
    ours += [name for name in files if "FOLDER" in name or name.startswith("socket")]
    ours += glob.glob("FOLDER/**", recursive=True)[1:]
    local = {tried(lambda: socket.socket(socket.AF_UNIX).connect(path)) for path in SOCKETS}
    network = {tried(lambda: socket.create_connection((host, PORT), 1)) for host in HOSTS}
    raise ValueError(f"sees {ours}, local {local}, network {network}")
"""


@needs_ray
@pytest.mark.slow
def test_an_answer_reaches_nothing_of_the_cluster(tmp_path: Path, cluster: Cluster) -> None:
    cluster.add()
    sockets = [str(path) for path in Path(cluster.folder).glob("ray/session_2*/sockets/*")]
    assert len(sockets) == 4
    places = {"SOCKETS": repr(sockets), "FOLDER": cluster.folder, "PORT": str(cluster.port)}
    source = SPY.replace("HOSTS", repr(["127.0.0.1", socket.gethostbyname(socket.gethostname())]))
    for word, place in places.items():
        source = source.replace(word, place)
    (record,) = RayRunner("ray", 0).run([replace(TASK, cells=(source,), exercises=("double",))])
    message = record["results"][0]["report"]["findings"][0]["message"]
    assert "sees [], local {'refused'}, network {'refused'}" in message


def says_its_gpu(task: Task) -> dict[str, Any]:
    return played_record(task, os.environ.get("CUDA_VISIBLE_DEVICES") or "none")


@needs_ray
@pytest.mark.slow
def test_only_what_goes_on_to_a_gpu_sees_one(cluster: Cluster) -> None:
    cluster.add(gpus=2)
    tasks = [replace(task, use_gpu=True) for task in of_class(4)]
    seen = {
        (one["exercise"], one["report"]["findings"][0]["message"])
        for record in RayRunner("ray", 0, says_its_gpu).run(tasks)
        for one in record["results"]
    }
    assert ("reverse", "none") in seen
    gpus = {gpu for name, gpu in seen if name == "double"}
    assert gpus and gpus <= {"0", "1"}


def dies(task: Task) -> dict[str, Any]:
    os._exit(1)


def looks(task: Task) -> dict[str, Any]:
    return played_record(task) | {"notes": sys.path}


@needs_ray
@pytest.mark.slow
def test_what_nodes_import_and_processes_that_die(tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also by way of Ray's client, as from a machine that is no node."""
    cluster.add()
    monkeypatch.chdir(tmp_path)  # as if submissions lay here
    (record,) = RayRunner("ray", 0, looks).run([TASK])
    assert record["notes"] and str(tmp_path) not in record["notes"]
    address = f"ray://127.0.0.1:{cluster.client_port}"
    (record,) = RayRunner(address, 0, dies).run([TASK])
    assert {one["status"] for one in record["results"]} == {"not judged"}
    shutil.copytree(ROOT / "course_lib", tmp_path / "course_lib", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "course_lib" / "words.py").open("a") as words:
        words.write("\n")
    cluster.add(tmp_path)
    for on in ("ray", address):
        with pytest.raises(CannotGrade, match=r"course_lib is \w{10}, and \w{10} here"):
            next(RayRunner(on, 0).run([TASK]))


@needs_ray
def test_a_cluster_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def fail(*_: Any, **__: Any) -> None:
        raise ConnectionError("nobody there")

    monkeypatch.setattr(ray, "init", fail)
    for on, words in {"ray": "ray start --head", "ray://nowhere:1": "ray://nowhere:1: nobody there"}.items():
        with pytest.raises(CannotGrade, match=words):
            next(RayRunner(on, 0).run([TASK]))
