"""How a class is graded: what is read, asked, judged, kept and shown, and what one submission learns of the others."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import jsonschema
import made_submissions as made
import pytest
from referencing import Registry, Resource
from typer.testing import CliRunner, Result

from course_lib import catalog
from course_lib.__main__ import app
from course_lib.checking import notebook, sandbox
from course_lib.checking.confine import View
from course_lib.checking.findings import Report, Skipped
from course_lib.doctor.facts import triton_cache
from course_lib.figures.mistakes import draw_mistakes
from course_lib.grading import extra_cases, records, results
from course_lib.grading.asked import asked, chosen
from course_lib.grading.feedback import page
from course_lib.grading.gradebook import gradebook, students
from course_lib.grading.mistakes import Tally, tally
from course_lib.grading.part import Part
from course_lib.grading.results import CannotKeep, Results, opened
from course_lib.grading.run import judged, plan, sum_up
from course_lib.grading.runners import UnknownRunner, runner
from course_lib.grading.runners.local import LocalRunner
from course_lib.grading.submissions import MOST_CODE, NoSubmissions, Submission, read_folder
from course_lib.grading.tasks import Task, grade, not_judged
from course_lib.grading.too_high import see_that_each_is_one_student

ROOT = Path(__file__).parents[1]
DATA = ROOT / "course_lib" / "data"
SCHEMA = json.loads((DATA / "grade.schema.json").read_text())
REPORT = Resource.from_contents(json.loads((DATA / "report.schema.json").read_text()))
SCHEMAS = jsonschema.Draft202012Validator(SCHEMA, registry=Registry().with_resource("report.schema.json", REPORT))
TASK = Task("ann.py", "ann", "python", ("def double(x): return x",), ("double",), seed=7)


@pytest.fixture(autouse=True)
def _nothing_hidden_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process runs after these tests may see everything; answers are judged in others."""
    monkeypatch.setattr(sandbox, "keep_apart", lambda hidden: None)


def course(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def command(*arguments: object, **options: Any) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    whole = [sys.executable, "-m", "course_lib", "grade", *map(str, arguments)]
    return subprocess.Popen(whole, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def kept(results: Path) -> dict[str, Any]:
    """All records of a folder of results, by submission."""
    read = [json.loads(path.read_text(encoding="utf-8")) for path in (results / "records").glob("*.json")]
    return {record["submission"]: record for record in read}


def statuses(results: Path) -> made.Expected:
    return {name: {one["exercise"]: one["status"] for one in record["results"]} for name, record in kept(results).items()}


def a_record(task: Task = TASK, status: str = "passed", **more: Any) -> dict[str, Any]:
    """A record made by hand."""
    report = {"findings": [{"kind": "race"}], "seed": 7}
    points = int(status == "passed")
    one = {"status": status, "points": points, "of": 1, "report": report, "feedback": "<b>shown</b>"}
    results = [{"exercise": name, **one} for name in task.exercises]
    return records.record(task, results) | more


# --- a small class ------------------------------------------------------------------------------------------------------


def test_a_class_is_graded_as_made(tmp_path: Path) -> None:
    """One submission of each kind, in one run; a second run finds all done and comes to the same."""
    expected = made.make(tmp_path / "class", made.SMALL)
    results = tmp_path / "results"
    done = course("grade", tmp_path / "class", "--to", results, "--jobs", 2)
    assert done.exit_code == 0, done.output
    assert statuses(results) == expected
    for record in kept(results).values():
        SCHEMAS.validate(record)
    seed = json.loads((results / "run.json").read_text())["seed"]
    reports = [one["report"] for record in kept(results).values() for one in record["results"]]
    assert {report["seed"] for report in reports if report["stages"] != ["bundle"]} == {seed}
    pages = {path: path.read_text(encoding="utf-8") for path in (results / "feedback").iterdir()}
    assert len(pages) == len(expected)
    assert not [path for path, text in pages.items() if str(seed) in text or "<script" in text]
    rows = {row["student"]: row for row in csv.DictReader((results / "gradebook.csv").open(encoding="utf-8"))}
    assert rows["right 00"]["total"] == rows["right 00"]["of"] == rows["right 00"]["double"] == "1"
    assert rows["unsolved 00"]["notes"] == "double: not done yet"
    assert rows["empty 00"]["notes"] == "empty 00.ipynb: empty"
    assert {stat.S_IMODE(path.stat().st_mode) for path in results.rglob("*.json")} == {0o600}
    before = (results / "gradebook.csv").read_bytes(), kept(results)
    again = course("grade", tmp_path / "class", "--to", results)
    assert "0 of them to be judged" in again.output
    assert ((results / "gradebook.csv").read_bytes(), kept(results)) == before


@pytest.mark.slow
def test_a_class_of_two_hundred_whose_run_is_killed(tmp_path: Path) -> None:
    """Killed halfway and gone on with, it comes to what was made, and judges nothing twice."""
    expected = made.make(tmp_path / "class", made.CLASS)
    results = tmp_path / "results"
    began = time.monotonic()
    first = command(tmp_path / "class", "--to", results, "--jobs", 2, start_new_session=True)
    while len(list((results / "records").glob("*.json"))) < 100:
        assert first.poll() is None, first.communicate()[0]
        time.sleep(0.1)
    first.kill()
    first.communicate()
    half = kept(results)
    second = command(tmp_path / "class", "--to", results, "--jobs", 2)
    output, _ = second.communicate()
    assert second.returncode == 0, output
    print(output, f"200 submissions, killed once: {time.monotonic() - began:.0f} s")
    assert statuses(results) == expected
    whole = kept(results)
    assert {name: whole[name] for name in half} == half
    assert f"200 submissions, {200 - len(half)} of them to be judged" in output
    assert not list(results.rglob(".being-written-*"))


# --- what a submission can learn ----------------------------------------------------------------------------------------

MARK, SEED = b"what-only-another-submission-holds", 271828182845904
SPIES = {
    "the other submissions": "loot = reach('CLASS', 'CLASS/*')",
    "the results and the seed": "loot = reach('RESULTS', 'RESULTS/*', 'RESULTS/*/*')",
    "the temporary files of others": """
loot = [path for path in reach('TMP/*/*') if not path.startswith(os.path.dirname(home))]""",
    "the environment of others": """
loot = [name for name in os.environ if 'SECRET' in name]
for path in reach('/proc/[0-9]*/environ', '/proc/[0-9]*/cmdline'):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # of a process that has ended meanwhile
        text = open(path).read()
        loot += [path for word in ('SECRET', 'RESULTS', 'CLASS') if word in text]""",
    "files that are open": """
loot = []
for number in range(64):
    with contextlib.suppress(OSError):
        os.fchdir(number)
        loot += reach('CLASS', '../CLASS', 'RESULTS', '.')
for link in glob.glob('/proc/[0-9]*/fd/*'):
    with contextlib.suppress(OSError):
        loot += [link for word in ('RESULTS', 'CLASS') if word in os.readlink(link)]""",
    "the roots of other processes": "loot = reach('/proc/[0-9]*/root/CLASS', '/proc/[0-9]*/root/RESULTS')",
    "the network": """
loot = []
for family, place in ((socket.AF_INET, ('127.0.0.1', PORT)), (socket.AF_UNIX, 'CLASS/socket')):
    with contextlib.suppress(OSError):
        socket.socket(family).connect(place)
        loot.append(place)""",
    "kernels that were compiled for others": """
written = os.path.getmtime('answer.py')
loot = [path for path in reach('COMPILED', os.environ['TRITON_CACHE_DIR'] + '/*/*') if os.path.getmtime(path) < written]""",
    "the memory of earlier submissions": """
loot = []
for line in open('/proc/self/maps'):
    first, last = (int(part, 16) for part in line.split()[0].split('-'))
    if line.split()[1].startswith('rw') and '/' not in line and last - first < 2**28:
        with contextlib.suppress(OSError, OverflowError), open('/proc/self/mem', 'rb', buffering=0) as memory:
            memory.seek(first)
            content = memory.read(last - first)
            for half, other in HALVES:
                for found in re.finditer(re.escape(half), content):
                    loot += [line] if content[found.end():].startswith(other) else []""",
}
SPY = """
import contextlib, glob, os, re, socket
SEEN = []

def reach(*patterns):
    found = []
    for path in (path for pattern in patterns for path in glob.glob(pattern)):
        with contextlib.suppress(OSError):
            found += [path] if (os.listdir(path) if os.path.isdir(path) else open(path, 'rb')) else []
    return found

def look():
    if SEEN:
        return
    SEEN.append(1)
    home = os.getcwd()
{lines}
    os.chdir(home)
    assert not loot, loot

"""


def halves(secret: bytes) -> tuple[bytes, bytes]:
    """A secret that can be looked for without having it in one's own memory."""
    return secret[: len(secret) // 2], secret[len(secret) // 2 :]


@dataclass(frozen=True)
class Place:
    """Where there is something to be spied out: folders that unlike the usual one for temporary files are not hidden anyway."""

    folder: Path
    port: int

    @property
    def hidden(self) -> tuple[str, str]:
        return str(self.folder / "class"), str(self.folder / "results")

    def spy(self, name: str) -> str:
        """The text that looks, as `look()`, and fails if it finds something."""
        lines = SPIES[name].strip()
        halved = [halves(secret) for secret in (MARK, str(SEED).encode(), SEED.to_bytes(8, "little"))]
        stands_for = {"CLASS": self.hidden[0], "RESULTS": self.hidden[1], "TMP": tempfile.gettempdir(), "PORT": self.port}
        for word, value in (stands_for | {"HALVES": halved, "COMPILED": triton_cache(os.environ)}).items():
            lines = lines.replace(word, str(value))
        return SPY.format(lines="".join(f"    {line}\n" for line in lines.splitlines()))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(dir="/var/tmp"))
    made.make(folder / "class", {"right": 2})
    with opened(folder / "results") as results:
        results.save(a_record())
    monkeypatch.setenv("GRADERS_SECRET", "hush")
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind(str(folder / "class" / "socket"))
        local.listen()
        yield Place(folder, server.getsockname()[1])
    shutil.rmtree(folder)


def test_a_submission_learns_nothing_of_others(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spies are right answers, but for their look around. One process judges them after another submission.

    Nor does grading touch the progress of a learner, and the teacher's own cases reach an answer: all in one run.
    """
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path / "state"))
    (tmp_path / "cases.json").write_text('{"double": [{"n": 4099}]}')
    further = extra_cases.read_cases(tmp_path / "cases.json")
    texts = {"marked": made.doubling(f"mark = {MARK!r}"), "without 4099": made.doubling("assert x.numel() != 4099")}
    texts |= {name: place.spy(name) + made.doubling("look()") for name in SPIES}
    task = replace(TASK, seed=SEED, hidden=place.hidden)
    tasks = [replace(task, submission=name, cells=(text,)) for name, text in texts.items()]
    tasks.append(replace(tasks[1], submission="with 4099", cases=further))
    found = {record["submission"]: record["results"][0] for record in LocalRunner(1).run(tasks)}
    with_4099 = found.pop("with 4099")
    assert {name: one["report"]["findings"] for name, one in found.items() if one["status"] != "passed"} == {}
    assert with_4099["status"] == "wrong" and with_4099["report"]["findings"][0]["case"] == "n=4099"
    assert tasks[1].digest != tasks[-1].digest
    assert not (tmp_path / "state").exists()


def test_where_nothing_is_hidden_every_spy_finds_something(place: Place, tmp_path: Path) -> None:
    """A spy that could find nothing would prove nothing."""
    written(tmp_path, "compiled/a-key/double_kernel.ttir", "answer.py")
    os.utime(tmp_path / "compiled/a-key/double_kernel.ttir", (0, 0))
    for name in SPIES:
        program = f"import sys\nmark = sys.argv[1]\n{place.spy(name)}\nlook()"
        with open(place.hidden[1] + "/run.json") as left_open:
            done = subprocess.run(
                [sys.executable, "-c", program, MARK.decode()],
                env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "compiled")},
                cwd=tmp_path,
                pass_fds=[left_open.fileno()],
                capture_output=True,
                text=True,
                check=False,
            )
        assert "AssertionError" in done.stderr, f"{name}: {done.stderr}"


def test_a_view_is_of_the_largest_folders_that_are_seen_whole(tmp_path: Path) -> None:
    written(tmp_path, "open/a.py", "shut/b.py", "shut/shown/c.py", "shut/shown/more/d.py", "shut/shown/own/e.py")
    (tmp_path / "link").symlink_to(tmp_path / "shut")
    shut, shown = tmp_path / "shut", tmp_path / "shut/shown"
    assert set(View(frozenset({shut}), frozenset({shown, shown / "more"})).whole()) >= {tmp_path / "open", shown}
    view = View(frozenset({shut, shown / "own"}), frozenset({shown}))
    inside = {path for path in view.whole() if tmp_path in path.parents}
    assert inside == {tmp_path / "open", shown / "c.py", shown / "more"}


# --- reading a folder ---------------------------------------------------------------------------------------------------


def written(folder: Path, *names: str, text: str = "def double(x): return x") -> Path:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        content = json.dumps(made.notebook([text])) if name.endswith(".ipynb") else text
        (folder / name).write_text(content, encoding="utf-8")
    return folder


def test_files_and_folders_and_nbgraders_layout(tmp_path: Path) -> None:
    names = ["ann.ipynb", "bob.py", "zoë w/a.py", "zoë w/b.ipynb", "carl/04_loads/x.ipynb", "carl/.ipynb_checkpoints/x.ipynb"]
    read = read_folder(written(tmp_path, *names, "dora/notes.txt", "carl/photo.jpg"))
    assert {one.name: one.student for one in read if not one.problem} == {
        "ann.ipynb": "ann",
        "bob.py": "bob",
        "carl/04_loads/x.ipynb": "carl",
        "zoë w/a.py": "zoë w",
        "zoë w/b.ipynb": "zoë w",
    }
    problem = "not a notebook or Python file"
    assert {one.name: one.problem for one in read if one.problem} == {"dora/notes.txt": problem, "carl/photo.jpg": problem}
    assert [one.name for one in read if one.beside] == ["carl/photo.jpg"]
    assert {one.cells for one in read if not one.problem} == {("def double(x): return x",)}
    above = tmp_path / "course"
    shutil.move(tmp_path / "zoë w", written(above / "submitted", "ann/hw/x.py") / "zoë w")
    written(above, "source/hw/x.py")
    assert [one.student for one in read_folder(above)] == ["ann", "zoë w", "zoë w"]


def test_what_is_no_regular_file_or_too_large_is_not_read(tmp_path: Path) -> None:
    outside = written(tmp_path / "outside", "secret.py") / "secret.py"
    class_ = written(tmp_path / "class", "ann/right.py")
    (class_ / "bob.py").symlink_to(outside)
    (class_ / "carl").mkdir()
    (class_ / "carl" / "x.py").symlink_to(class_ / "ann" / "right.py")
    (class_ / "dora").symlink_to(tmp_path / "outside")
    os.mkfifo(class_ / "eve.py")
    (class_ / "fred").mkdir()
    written(class_, "gina.py", text="#" * (MOST_CODE + 1))
    problems = {one.student: one.problem for one in read_folder(class_)}
    link = "a link, which is not followed"
    nothing = "nothing handed in"
    pipe = "not a regular file"
    assert problems.pop("gina") == "more than 200000 characters of code"
    assert problems == {"ann": None, "bob": link, "carl": link, "dora": link, "eve": pipe, "fred": nothing}


def test_a_folder_without_submissions_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "class").mkdir()
    for folder, words in ((tmp_path / "none", "does not exist"), (tmp_path / "class", "holds no submission")):
        with pytest.raises(NoSubmissions, match=words):
            read_folder(folder)
        done = course("grade", folder, "--to", tmp_path / "results")
        assert done.exit_code == 2 and words in done.output and "Traceback" not in done.output
    assert not (tmp_path / "results").exists()


ONE, OTHER = "def double(x): return x", "def reverse(x): return x"
LOADS = "04_loads_stores_masks"


@pytest.mark.parametrize(
    ("class_", "files"),
    [
        ("handed_in", {"handed_in/ann.ipynb": ONE, "handed_in/bob.ipynb": ONE}),
        ("handed_in", {"handed_in/ann/hw.ipynb": ONE, "handed_in/bob/hw.ipynb": ONE}),
        ("handed_in", {"handed_in/ann.ipynb": ONE, "handed_in/bob.ipynb": ONE, "notes.txt": "", "results/run.json": ""}),
        ("top/handed_in", {"top/handed_in/ann.py": ONE, "top/handed_in/bob.py": ONE}),
        ("moodle", {f"moodle/{name}_12345_assignsubmission_file_/a.ipynb": ONE for name in ("Erna X", "Carl Y")}),
        ("moodle", {f"moodle/{name}_7_assignsubmission_file_/{name}.py": text for name, text in (("Al", ONE), ("Bo", OTHER))}),
        ("moodle", {"moodle/Erna X_12345_assignsubmission_file_/a.ipynb": ONE}),
        ("group_a", {f"group_a/{name}_double.ipynb": ONE for name in ("ann", "bob", "cem")} | {"group_b/x.ipynb": ONE}),
        ("class", {"class/submitted/ann/hw/x.ipynb": ONE, "class/plain/04.ipynb": OTHER}),
    ],
)
def test_a_folder_one_level_too_high_is_refused(class_: str, files: dict[str, str], tmp_path: Path) -> None:
    """It would merge the class into one student, who would have the best of all."""
    for name, text in files.items():
        written(tmp_path / "up", name, text=text)
    done = course("grade", tmp_path / "up", "--to", tmp_path / "results")
    assert done.exit_code == 2 and f"{tmp_path / 'up' / class_}. If" in done.output.replace("\n", " "), done.output
    assert not (tmp_path / "results").exists()
    see_that_each_is_one_student(tmp_path / "up", read_folder(tmp_path / "up"), [class_.split("/")[0]])
    see_that_each_is_one_student(tmp_path / "up" / class_, read_folder(tmp_path / "up" / class_))


@pytest.mark.parametrize(
    "files",
    [
        {"ann/double.ipynb": ONE, "ann/double-Copy1.ipynb": ONE, "ann/my double v2.ipynb": ONE, "ann/final.ipynb": ONE},
        {"ann/03_programs.ipynb": ONE, f"ann/{LOADS}.ipynb": OTHER, "ann/helper.py": ONE, "ann/old/try1.ipynb": ONE},
        {"ann/ann.ipynb": ONE, "ann/functions.py": ONE},
        {"ann/anns.ipynb": ONE, "ann/hers.ipynb": ONE, "bob.ipynb": ONE, "cem/x.ipynb": ONE},
        {"ann/03_programs_and_grids/x.ipynb": ONE, f"ann/{LOADS}/x.ipynb": OTHER, "ann/photos/cat.jpg": ""},
        {"Erna X_12345_assignsubmission_file_/a.ipynb": ONE, "Carl Y_7_assignsubmission_file_/b.py": ONE},
    ],
)
def test_a_students_folder_may_hold_several_files(files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        written(tmp_path, name, text=text)
    see_that_each_is_one_student(tmp_path, read_folder(tmp_path))


# --- what is asked ------------------------------------------------------------------------------------------------------


def submission(name: str, *cells: str) -> Submission:
    return Submission(name, name.split("/")[0], "notebook", cells)


def test_a_submission_is_asked_for_what_it_names() -> None:
    helper = "def double(x): pass"
    loads = ("vector_add", "copy_rows", "reverse", "diagonal")
    assert asked(submission("ann/04_loads_stores_masks/any.ipynb", helper)) == loads
    assert asked(submission("ann/04_loads_stores_masks.ipynb", helper)) == loads
    assert asked(submission("ann/reverse.py", helper)) == ("reverse",)
    assert asked(submission("ann.ipynb", helper, "check(\"reverse\", reverse)\ncheck( 'gelu', g)")) == ("reverse", "gelu")
    assert asked(submission("ann.py", f"{helper}\ndef other(): pass\n  def gelu(): pass")) == ("double",)
    assert asked(submission("double/ann.py", "x = 1")) == ("double",)
    assert asked(submission("ann.py", "gelu = made()\nreverse == 3\ndiagonal(x)")) == ("gelu",)
    assert asked(submission("ann.py", 'quiz("masked_lanes", [1])')) == ()


def test_lessons_and_exercises_are_chosen_by_name_or_number() -> None:
    assert chosen(["00"], ["reverse"]) == ("double", "reverse")
    assert chosen(["00_start_here", "00"], []) == ("double",)
    with pytest.raises(catalog.UnknownLesson, match=r"no lesson '99'.*00_start_here"):
        chosen(["99"], [])
    with pytest.raises(catalog.UnknownName, match="Did you mean 'reverse'"):
        chosen([], ["revers"])
    with pytest.raises(catalog.UnknownName, match="is a quiz"):
        chosen([], ["masked_lanes"])


# --- judging --------------------------------------------------------------------------------------------------------------


def lost_once(task: Task) -> dict[str, Any]:
    """Ends its process, the first time that it sees the task "once", and every time that it sees "always"."""
    seen = Path(task.cells[0])
    if task.student == "always" or (task.student == "once" and not seen.exists()):
        with seen.open("a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
    return a_record(task)


def test_a_process_that_dies_costs_its_task_only(tmp_path: Path) -> None:
    students_ = ("ann", "once", "always")
    tasks = [replace(TASK, submission=name, student=name, cells=(str(tmp_path / name),)) for name in students_]
    came = {record["student"]: record["results"][0]["status"] for record in LocalRunner(2, lost_once).run(tasks)}
    assert came == dict.fromkeys(students_, "passed") | {"always": "not judged"}
    assert (tmp_path / "always").read_text() == "xx"


def test_what_is_not_there_or_cannot_be_read_is_told_apart() -> None:
    """Without a process: nothing of this is run."""
    cells = ("def reverse(x:\n  pass", "def gelu(x): return \ud800", "x = 1")
    names = ("double", "reverse", "gelu")
    record = grade(replace(TASK, kind="notebook", submission="a/b.ipynb", cells=cells, exercises=names))
    assert [one["status"] for one in record["results"]] == ["not found", "cannot be read", "cannot be read"]
    assert "b.ipynb, code cell 1, line 1" in record["results"][1]["report"]["findings"][0]["message"]
    assert len(record["notes"]) == 2 and record["total"] == 0 and record["of"] == 3
    SCHEMAS.validate(record)


@pytest.mark.parametrize("text", ["(" * 5000, "x = " + "-" * 100_000 + "1", "\0", "a." * 50_000 + "b"])
def test_code_that_no_parser_survives_is_a_result(text: str) -> None:
    for kind in ("python", "notebook"):
        record = grade(replace(TASK, kind=kind, cells=(text,)))
        assert record["results"][0]["status"] == "not found" and record["notes"]


def test_what_python_warns_of_in_a_submission_is_not_said(recwarn: pytest.WarningsRecorder) -> None:
    assert not grade(replace(TASK, cells=("x = '\\d'",)))["notes"]
    assert not recwarn.list


def test_a_cell_that_ipython_fails_on_costs_itself_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with hundreds of magics in one cell, which it gives up on after a while."""

    def give_up(*_: object) -> str:
        raise RuntimeError("Input transformation still changing")

    monkeypatch.setattr(notebook.TransformerManager, "transform_cell", give_up)
    record = grade(replace(TASK, kind="notebook", submission="a.ipynb"))
    assert record["notes"] == ["a.ipynb, code cell 1: IPython cannot read this cell (RuntimeError)."]
    assert record["results"][0]["status"] == "cannot be read"


def test_a_notebook_of_another_lesson_is_said_to_be_one() -> None:
    cells = ("def vector_add(x, y): pass\ndef reverse(x): pass\ndef copy_rows(x): pass\ndef diagonal(x): pass",)
    record = grade(replace(TASK, kind="notebook", submission="a.ipynb", cells=cells, exercises=("program_ids",)))
    said = f"it answers {LOADS}, which was not asked for"
    assert record["notes"] == [said] and said in record["results"][0]["report"]["findings"][0]["message"]


def test_an_unknown_runner_is_an_error() -> None:
    with pytest.raises(UnknownRunner, match="local"):
        runner("nowhere", 1)


# --- cases of the teacher's -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "must hold one object"),
        ('{"doubel": []}', "Did you mean 'double'"),
        ('{"double": {"n": 1}}', "must be a list"),
        ('{"double": [{"m": 1}]}', "a case of double has m. It may have: n, values"),
        ('{"double": [{"n": -1}]}', "cannot be made"),
        ('{"double": [{}]}', "cannot be made"),
        ('{"double": [{"n": "3"}]}', "cannot be made: n must be something like [0-9]+"),
        ('{"vector_scale": [{"n": "many"}]}', "vector_scale cannot be made: n must be something like [0-9]+"),
    ],
)
def test_cases_that_cannot_be_used_are_refused_before_anything_is_graded(content: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text(content)
    with pytest.raises(extra_cases.BadCases, match=words):
        extra_cases.read_cases(tmp_path / "cases.json")


# --- results ----------------------------------------------------------------------------------------------------------------


class Scripted:
    """A runner that has its records, and stops after some."""

    def __init__(self, most: int = 99, status: str = "passed") -> None:
        self.most, self.status, self.seen = most, status, 0

    def run(self, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
        for task in tasks[: self.most]:
            self.seen += 1
            yield a_record(task, self.status)


def run(folder: Path, results: Results, scripted: Scripted, **options: Any) -> int:
    """How many tasks were judged anew."""
    list(judged(plan(read_folder(folder), results, **options), scripted, results))
    return scripted.seen


def test_what_has_been_judged_is_not_judged_again_until_it_changes(tmp_path: Path) -> None:
    class_ = written(tmp_path / "class", "ann.ipynb", "bob.py", "carl.py")
    with opened(tmp_path / "results") as results:
        assert run(class_, results, Scripted(most=2)) == 2
        assert run(class_, results, Scripted()) == 1
        assert run(class_, results, Scripted()) == 0
        again = made.notebook(["def double(x): return x"], metadata={"other": 1})
        again["cells"][1]["outputs"] = []
        (class_ / "ann.ipynb").write_text(json.dumps(again))
        assert run(class_, results, Scripted()) == 0, "outputs and metadata do not count"
        written(class_, "bob.py", text="def double(x): return 2 * x")
        assert run(class_, results, Scripted(status="not judged")) == 1
        assert run(class_, results, Scripted()) == 1, "what could not be judged is tried again"
        assert run(class_, results, Scripted(), exercises=("gelu",)) == 3
        path = results._path("bob.py")
        path.write_text(path.read_text()[:40])
        assert run(class_, results, Scripted(), exercises=("gelu",)) == 1


def test_a_run_with_other_options_does_not_undo_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "cases.json").write_text('{"double": [{"n": 4099}]}')
    made.make(tmp_path / "class", {"not a notebook": 1})
    made.make(tmp_path / "late", {"not a notebook": 2})
    first = ("grade", tmp_path / "class", "--to", tmp_path / "results", "--lesson", "00", "--cases", tmp_path / "cases.json")
    assert course(*first).exit_code == 0 and course(*first, "--jobs", "3").exit_code == 0
    before = (tmp_path / "results" / "gradebook.csv").read_bytes()
    for other, words in (
        (first[:6], "with further cases of double (now: none)"),
        ((*first, "--lesson", "04"), f"for 00_start_here (now: 00_start_here, {LOADS})"),
        ((*first, "--gpu"), "without --gpu"),
        (("grade", tmp_path / "late", *first[2:]), "of the submissions in"),
    ):
        done = course(*other)
        assert done.exit_code == 2 and words in done.output.replace("\n", " ") and "another folder" in done.output, done.output
    assert (tmp_path / "results" / "gradebook.csv").read_bytes() == before
    shutil.move(tmp_path / "class", tmp_path / "moved")
    assert course("grade", tmp_path / "moved", *first[2:]).exit_code == 0


def test_what_is_not_read_is_said_everywhere(tmp_path: Path) -> None:
    class_ = written(tmp_path / "class", "fay/x.ipynb", text=ONE)
    written(class_, "zoe.zip", "fay/real.zip", "gil/page.html", text="PK")
    (class_ / "ida").mkdir()
    (class_ / "hal.ipynb").write_bytes(b"PK\x03\x04")
    with opened(tmp_path / "results") as results:
        work = plan(read_folder(class_), results, exercises=["double"])
        list(judged(work, Scripted(), results))
        sum_up(work, results)
    for record in work.unread:
        SCHEMAS.validate(record)
    problems = {record["submission"]: record["problem"] for record in work.unread}
    archive = "an archive; unpack it"
    assert problems.pop("gil/page.html").endswith("hand in the file that ends in .ipynb")
    assert problems == {"fay/real.zip": archive, "hal.ipynb": archive, "ida": "nothing handed in", "zoe.zip": archive}
    rows = {row["student"]: row for row in csv.DictReader((tmp_path / "results" / "gradebook.csv").open(encoding="utf-8"))}
    assert rows["fay"]["notes"] == f"fay/real.zip: {archive}" and rows["fay"]["total"] == "1"
    assert rows["ida"]["double"] == "-" and rows["zoe"]["double"] == "0"
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (tmp_path / "results" / "feedback").iterdir()}
    assert f"real.zip</b> was not read: {archive}" in pages["fay"] and "passed · 1 of 1" in pages["fay"]
    assert "Hand in a notebook" in pages["zoe"] and "not right" not in pages["zoe"]
    (class_ / "fay" / "x.ipynb").unlink()
    done = course("grade", class_, "--to", tmp_path / "results")
    assert done.exit_code == 0 and "5 submissions, 0 of them to be judged, 5 that cannot be read." in done.output
    assert f"Not read: zoe (zoe.zip: {archive})" in done.output and "5 students: fay, gil, hal, ida, zoe" in done.output


def test_pages_of_students_that_are_gone_go_and_no_others(tmp_path: Path) -> None:
    class_ = written(tmp_path / "class", "ann.py", "Ann.ipynb", "bob.py")
    with opened(tmp_path / "results") as results:
        work = plan(read_folder(class_), results)
        list(judged(work, Scripted(), results))
        files = sum_up(work, results).files
        feedback = tmp_path / "results" / "feedback"
        assert files[-1] == feedback and (feedback / "bob.html").exists()
        assert len({path.name.lower() for path in feedback.iterdir()}) == 3, "as on a disk that does not tell case"
        assert len({path.name.lower() for path in (tmp_path / "results" / "records").iterdir()}) == 3
        (feedback / "mine.html").write_text("my own")
        (class_ / "bob.py").rename(class_ / "robert.py")
        work = plan(read_folder(class_), results)
        list(judged(work, Scripted(), results))
        sum_up(work, results)
        left = {path.name for path in feedback.iterdir()}
        assert {"robert.html", "mine.html"} <= left and "bob.html" not in left and len(left) == 4
    assert (tmp_path / "results" / ".gitignore").read_text() == "*\n"


def test_a_page_shows_the_answer_and_what_is_not_graded_and_nothing_of_a_gpu(tmp_path: Path) -> None:
    report = Report("vector_scale", True, (), skipped=(Skipped("gpu", "it was to be judged without a GPU"),))
    exercise = catalog.exercise("vector_scale")
    missing = a_record(replace(TASK, exercises=("program_ids",)), "not found")["results"]
    record = records.record(TASK, [records.result(exercise, report, answer="a < b"), *missing])
    text = page(students([record])[0], date(2026, 12, 1))
    assert "a &lt; b" in text and "GPU" not in text and "Quizzes in the notebook are not graded here" in text
    assert "program_ids <span>· not found · 0 of 1" in text and "Lesson 03: Programs and grids" in text
    assert "GPU" in records.result(exercise, report, use_gpu=True)["feedback"]
    unread = records.result(exercise, Report.not_bundled("vector_scale", "b.py, line 3: no"))
    assert "cannot be read" in unread["feedback"] and "not right" not in unread["feedback"]


def test_a_file_for_the_results_is_refused(tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("precious")
    done = course("grade", written(tmp_path / "class", "ann.py"), "--to", tmp_path / "afile")
    assert done.exit_code == 2 and "is a file. Give a folder" in done.output


def test_a_folder_of_results_has_one_seed_and_one_run(tmp_path: Path) -> None:
    with opened(tmp_path / "a") as one, opened(tmp_path / "b") as other:
        assert one.seed != other.seed
        with pytest.raises(CannotKeep, match="Another run"), opened(tmp_path / "a"):
            pass
    with opened(tmp_path / "a") as again:
        assert again.seed == one.seed
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a", tmp_path / "a" / "records")} == {0o700}
    written(tmp_path / "c", "precious.txt")
    with pytest.raises(CannotKeep, match="holds other files"), opened(tmp_path / "c"):
        pass
    assert os.listdir(tmp_path / "c") == ["precious.txt"]
    done = course("grade", written(tmp_path / "class", "ann.py"), "--to", tmp_path / "class" / "results")
    assert done.exit_code == 2 and "lies in the folder of submissions" in done.output


def not_ended(place: Path) -> list[str]:
    """Processes that keep their temporary files in `place / "tmp"`."""
    mark = f"TMPDIR={place / 'tmp'}".encode()
    return [path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if mark in _read_if_there(path)]


def _read_if_there(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("ended_by", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on(
    ended_by: signal.Signals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Ctrl-C, which the whole group of processes gets, or as a cluster ends a job."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    made.make(tmp_path / "class", {"crashing": 1, "endless": 1})
    process = command(tmp_path / "class", "--to", tmp_path / "results", "--jobs", 1, start_new_session=True)
    deadline = time.monotonic() + 300
    while not list(tmp_path.glob("results/records/*.json")):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, ended_by) if ended_by == signal.SIGINT else process.terminate()
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 130, output
    assert "Stopped after 1 of 2. The same command goes on from there." in output and "Traceback" not in output
    assert not_ended(tmp_path) == [] and not list(tmp_path.glob("tmp/*"))


def test_parts_share_a_folder_of_results_and_a_last_run_sums_up(tmp_path: Path) -> None:
    """As the jobs of a Slurm array do, all at once."""
    expected = made.make(tmp_path / "class", {"not a notebook": 3, "right": 1})
    arguments = (tmp_path / "class", "--to", tmp_path / "results", "--jobs", 1)
    jobs = [command(*arguments, "--part", f"{number}/2") for number in (1, 2)]
    for job in jobs:
        output, _ = job.communicate(timeout=120)
        assert job.returncode == 0 and "2 submissions, " in output and "without --part" in output, output
    assert statuses(tmp_path / "results") == expected
    assert not (tmp_path / "results" / "gradebook.csv").exists()
    done = course("grade", *arguments)
    assert done.exit_code == 0 and "4 submissions, 0 of them to be judged" in done.output
    assert (tmp_path / "results" / "gradebook.csv").exists()


def test_a_part_is_judged_once_at_a_time_and_none_beside_a_whole_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "PATIENCE", 0.1)
    with opened(tmp_path, Part(1, 2)) as one, opened(tmp_path, Part(2, 2)) as other:
        assert one.seed == other.seed
        for part in (Part(1, 2), None):
            with pytest.raises(CannotKeep, match="Another run"), opened(tmp_path, part):
                pass
    with opened(tmp_path) as whole, pytest.raises(CannotKeep, match="Another run"), opened(tmp_path, Part(1, 2)):
        assert whole.seed == one.seed
    for text in ("0/2", "3/2", "2", "a/b", "1/0"):
        done = course("grade", written(tmp_path / "class", "ann.py"), "--to", tmp_path / "results", "--part", text)
        assert done.exit_code == 2 and "names no part" in done.output


# --- what is shown ------------------------------------------------------------------------------------------------------------


def two_files_of_one() -> list[dict[str, Any]]:
    first = a_record(replace(TASK, submission="=ann/a.py", student="=ann", exercises=("double", "gelu")), "wrong")
    second = a_record(replace(TASK, submission="=ann/b.py", student="=ann"))
    second["results"].append(a_record(replace(TASK, exercises=("gelu",)), "not found")["results"][0])
    third = a_record(replace(TASK, submission="bob.py", student="<i>bob</i>"), "not found", notes=["<script>"])
    return [third, second, first]


def test_of_two_files_the_better_result_counts() -> None:
    gelu = catalog.exercise("gelu").points
    rows = list(csv.reader(io.StringIO(gradebook(students(two_files_of_one())))))
    assert rows == [
        ["student", "double", "gelu", "total", "of", "notes"],
        ["Points possible", "1", str(gelu), str(1 + gelu), str(1 + gelu), ""],
        ["<i>bob</i>", "-", "", "0", "1", "bob.py: <script>; 00_start_here: not handed in"],
        ["'=ann", "1", "0", "1", "2", "double: in =ann/a.py and =ann/b.py; the best counts"],
    ]


def test_a_page_of_feedback_shows_reports_and_escapes_the_rest() -> None:
    bob, ann = (page(student, date(2026, 12, 1)) for student in students(two_files_of_one()))
    assert "&lt;script&gt;" in bob and "<script>" not in bob and "<i>bob" not in bob and "0 of 1 points" in bob
    assert "Lesson 00" in bob and "Nothing handed in" in bob and "shown" not in bob and "Graded on 1 December 2026" in bob
    assert ann.count("<b>shown</b>") == 3, "what is not found in one file is left out where another has it"
    assert "another of your files counts" in ann and "1 of 2 points" in ann


def test_mistakes_are_counted_by_student_and_drawn() -> None:
    tallies = tally(students(two_files_of_one()))
    assert tallies == [Tally("double", 2, 1, (("not found", 1),)), Tally("gelu", 1, 0, (("race", 1),))]
    kinds = ("race", "tail", "nan", "crash", "not found", "shifted")
    picture = draw_mistakes([Tally("double", 9, 2, tuple((kind, 1) for kind in kinds))])
    words = " ".join(text.get_text() for text in picture.axes[0].get_yticklabels())
    assert "double: 2 of 9 passed" in words and "two programs touch the same element" in words and "2 other mistakes" in words
    assert picture.alt == "double: 2 of 9 passed"
    with pytest.raises(ValueError, match="no exercise"):
        draw_mistakes([])


def test_a_submission_that_was_lost_has_a_record_too() -> None:
    record = not_judged(TASK, "gone")
    SCHEMAS.validate(record)
    assert record["total"] == 0 and record["results"][0]["status"] == "not judged"
    assert "Gone." in record["results"][0]["feedback"]
