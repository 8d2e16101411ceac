"""The compiler's stage: what the interpreter lets by and a GPU's compiler refuses, and the other way round."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from course_lib.checking import sandbox
from course_lib.checking.bundle import bundle_file
from course_lib.checking.check import check_file
from course_lib.checking.findings import Report
from course_lib.checking.outcome import Failure, Outcome

DOUBLE = """
import torch, triton, triton.language as tl

@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, 2 * x, mask=mask)

def double(x):
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""
LOAD = "    x = tl.load("


@pytest.fixture
def judged(tmp_path: Path) -> Callable[[str], Report]:
    def judge(source: str) -> Report:
        path = tmp_path / "answer_file.py"
        path.write_text(source)
        return check_file("double", path, seed=0)

    return judge


def with_lines(lines: str) -> str:
    return DOUBLE.replace(LOAD, f"{lines}\n{LOAD}")


REFUSED = {
    "a Python global": (
        DOUBLE.replace("@triton.jit", "FACTOR = 2\n\n@triton.jit").replace("2 * x", "FACTOR * x"),
        "tl.store(out_ptr + offsets, FACTOR * x, mask=mask)",
    ),
    "break": (with_lines("    for i in range(3):\n        if i == 1:\n            break"), "break"),
    "continue": (with_lines("    for i in range(3):\n        continue"), "continue"),
    "a list comprehension": (with_lines("    y = [i for i in range(3)]"), "y = [i for i in range(3)]"),
    "an f-string of a value": (with_lines("    s = f'{pid}'"), "s = f'{pid}'"),
    "a try": (with_lines("    try:\n        y = 1\n    except ValueError:\n        y = 2"), "try:"),
    "an if on a tile": (with_lines("    if offsets < n:\n        pid = 3"), "if offsets < n:"),
    "a choice by a tile": (with_lines("    pid = 3 if offsets < n else 4"), "pid = 3 if offsets < n else 4"),
    "a number summed up": (with_lines("    pid += tl.sum(n + 1)"), "pid += tl.sum(n + 1)"),
    "a chained comparison": (with_lines("    mask = 0 <= offsets < n"), "mask = 0 <= offsets < n"),
    "a name set in one branch": (
        with_lines("    if n > 0:\n        scale = 2").replace("2 * x", "scale * x"),
        "tl.store(out_ptr + offsets, scale * x, mask=mask)",
    ),
    "a counter that turns into a float": (
        with_lines("    total = 0\n    for i in range(3):\n        total += 0.5"),
        "for i in range(3):",
    ),
    "torch in a kernel": (with_lines("    y = torch.ones(3)"), "y = torch.ones(3)"),
    "an unknown launch option": (
        DOUBLE.replace("BLOCK=64)", "BLOCK=64, num_wraps=4)"),
        "double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64, num_wraps=4)",
    ),
    "a helper's fault": (
        DOUBLE.replace("@triton.jit", "@triton.jit\ndef twice(x):\n    z = {}\n    return 2 * x\n\n@triton.jit", 1).replace(
            "2 * x, mask", "twice(x), mask"
        ),
        "z = {}",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_only_the_compiler_refuses_is_refused_with_its_line(judged: Callable[[str], Report], what: str) -> None:
    source, line = REFUSED[what]
    report = judged(source)
    assert [finding.kind for finding in report.findings] == ["does_not_compile"]
    finding = report.findings[0]
    assert (finding.source.text if finding.source else None) == line
    assert "sm_75" in finding.message and "0x" not in finding.message
    assert finding.kernel == "double_kernel"


HELPER = """
import triton, triton.language as tl

def len_of(x): pass

@triton.jit
def place(BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    return pid * BLOCK + tl.arange(0, BLOCK)
"""


@pytest.mark.parametrize("fault", ["some = [i for i in range(3)]", "some = len_of(pid)"])
def test_a_fault_in_another_file_is_placed_there(judged: Callable[[str], Report], tmp_path: Path, fault: str) -> None:
    helper = HELPER.replace("    return pid", f"    {fault}\n    return pid")
    (tmp_path / "places.py").write_text(helper)
    report = judged("from places import place\n" + DOUBLE.replace("pid * BLOCK + tl.arange(0, BLOCK)", "place(BLOCK)"))
    assert [finding.kind for finding in report.findings] == ["does_not_compile"]
    source = report.findings[0].source
    assert source is not None
    assert (source.origin, source.line, source.text) == ("places.py", helper.splitlines().index(f"    {fault}") + 1, fault)


def test_the_line_is_that_of_the_function_at_fault_where_two_begin_alike(judged: Callable[[str], Report]) -> None:
    helper = "@triton.jit\ndef helper(x):\n    y = x\n    {}\n    return y\n\n"
    helpers = helper.format("y += x") + "first = helper\n\n" + helper.format("z = [i for i in range(3)]")
    report = judged(DOUBLE.replace("@triton.jit", helpers + "@triton.jit", 1).replace("2 * x, mask", "helper(x), mask"))
    source = report.findings[0].source
    assert source is not None and source.text == "z = [i for i in range(3)]"


def test_a_right_answer_is_compiled_for_each_target_at_each_launch(tmp_path: Path) -> None:
    path = tmp_path / "answer_file.py"
    path.write_text(DOUBLE)
    cases = [(torch.ones(n),) for n in (1, 16, 17)]
    outcome = sandbox.run(bundle_file(path, "double"), cases, mode="compile", targets=(75, 80, 90))
    assert outcome.failure is None and not outcome.stopped
    assert outcome.compiled == {(target, case, "double_kernel") for target in (75, 80, 90) for case in range(3)}


def test_an_argument_that_is_one_is_a_constant_as_on_a_gpu(judged: Callable[[str], Report]) -> None:
    report = judged(with_lines("    wide = n.to(tl.int64)"))
    assert report.findings[0].kind == "does_not_compile"
    assert report.findings[0].case == "n=1"


MATMUL = """
import torch, triton, triton.language as tl

@triton.jit
def matmul_kernel(a_ptr, b_ptr, out_ptr, K, N: tl.constexpr, BK: tl.constexpr, STAGES: tl.constexpr):
    rows, inner = tl.arange(0, N), tl.arange(0, BK)
    total = tl.zeros((N, N), dtype=tl.float32)
    for k in tl.range(0, K, BK, num_stages=STAGES):
        a = tl.load(a_ptr + rows[:, None] * K + k + inner[None, :])
        b = tl.load(b_ptr + (k + inner)[:, None] * N + rows[None, :])
        total = tl.dot(a, b, total)
    tl.store(out_ptr + rows[:, None] * N + rows[None, :], total)

def matmul(a, b, stages):
    out = torch.empty(64, 64)
    matmul_kernel[(1,)](a, b, out, a.shape[1], N=64, BK=128, STAGES=stages)
    return out
"""


def test_shared_memory_beyond_the_gpu_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "answer_file.py"
    path.write_text(MATMUL)
    a, b = torch.ones(64, 512, dtype=torch.float16), torch.ones(512, 64, dtype=torch.float16)
    outcomes = [sandbox.run(bundle_file(path, "matmul"), [(a, b, stages)], mode="compile", targets=(80,)) for stages in (2, 9)]
    assert outcomes[0].failure is None
    refused = outcomes[1].failure
    assert refused is not None and refused.kind == "does_not_compile"
    assert "shared memory" in refused.message


LOOKED_AT = """
import ctypes

def computed(tensor):
    return any((ctypes.c_float * tensor.numel()).from_address(tensor.data_ptr()))
"""


def with_end(lines: str) -> str:
    return LOOKED_AT + DOUBLE.replace("    return out", f"{lines}\n    return out")


TWO_STEPS = """
@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=mask, other=0.0), mask=mask)

def double(x):
    out, seen = torch.empty_like(x), torch.zeros_like(x)
    grid = (triton.cdiv(x.numel(), 64),)
    double_kernel[grid](x, seen, x.numel(), BLOCK=64)
    IF_COMPUTED copy_kernel[grid](seen, out, x.numel(), BLOCK=64)
    return out
"""


@pytest.mark.parametrize(
    "condition",
    ["if computed(seen):", "assert computed(seen) or not len(x);"],
    ids=["launches another kernel", "stops"],
)
def test_a_kernel_launched_only_where_results_are_computed_is_no_pass(judged: Callable[[str], Report], condition: str) -> None:
    report = judged(LOOKED_AT + DOUBLE[: DOUBLE.index("def double(")] + TWO_STEPS.replace("IF_COMPUTED", condition))
    assert not report.passed and not report.judged, report
    assert [finding.kind for finding in report.findings] == ["no_verdict"]
    assert "`copy_kernel`" in report.findings[0].message


def test_a_launcher_that_stops_over_missing_results_after_its_launches_is_compiled(judged: Callable[[str], Report]) -> None:
    assert judged(with_end("    assert computed(out) or not len(x)")).passed


def test_what_is_wrong_in_the_interpreter_says_more_than_that_a_launcher_stopped(judged: Callable[[str], Report]) -> None:
    report = judged(
        DOUBLE.replace("    double_kernel[", "    assert triton.knobs.runtime.interpret; x + x\n    double_kernel[")
    )
    assert report.findings[0].kind == "torch_compute"


@pytest.mark.parametrize("caught", ["except Exception:\n        pass", "finally:\n        return out"])
def test_a_refusal_that_the_launcher_catches_is_a_refusal(judged: Callable[[str], Report], caught: str) -> None:
    source = with_lines("    y = [i for i in range(3)]")
    launch = "double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)"
    report = judged(source.replace(f"    {launch}", f"    try:\n        {launch}\n    {caught}"))
    assert report.findings[0].kind == "does_not_compile"


@pytest.mark.parametrize("end", ["import os; os._exit(0)", "raise SystemExit(0)", "import os; os.kill(os.getpid(), 9)"])
def test_an_answer_that_ends_the_process_of_the_compiler_does_not_pass(judged: Callable[[str], Report], end: str) -> None:
    report = judged(with_end(f"    if not triton.knobs.runtime.interpret: {end}"))
    assert not report.passed
    assert [finding.kind for finding in report.findings] == ["killed"]
    assert "while its kernels were being compiled" in report.findings[0].message


def test_a_tile_too_large_to_compile_in_time_is_named(judged: Callable[[str], Report], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "Limits", partial(sandbox.Limits, kernel_seconds=2))
    report = judged(DOUBLE.replace("64", "262144"))
    assert [finding.kind for finding in report.findings] == ["does_not_compile"]
    finding = report.findings[0]
    assert finding.kernel == "double_kernel" and finding.source is not None
    assert finding.source.text.startswith("double_kernel[")
    assert "compiling had not finished after 2 s" in finding.message and "tile too large" in (finding.advice or "")


@pytest.mark.parametrize("spent", ["cpu", "wall"])
def test_too_many_kernels_to_compile_in_time_are_no_verdict(
    judged: Callable[[str], Report], monkeypatch: pytest.MonkeyPatch, spent: str
) -> None:
    run = sandbox.run

    def late(*args: Any, mode: Any = "interpret", **options: Any) -> Outcome:
        return Outcome((), Failure("timeout", spent, "", (), 0, None), "") if mode == "compile" else run(*args, **options)

    monkeypatch.setattr(sandbox, "run", late)
    report = judged(DOUBLE)
    assert [finding.kind for finding in report.findings] == ["no_verdict"]
    assert "while its kernels were being compiled" in report.findings[0].message


def test_a_cache_that_cannot_be_written_is_a_stated_skip(
    judged: Callable[[str], Report], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "file" / "cache"))
    zygote = sandbox._Zygote("compile")
    monkeypatch.setitem(sandbox._ZYGOTES, "compile", zygote)
    report = judged(DOUBLE)
    zygote.stop()
    assert not report.findings
    assert "compiler" in [skip.stage for skip in report.skipped]
    assert "Not judged here (compiler)" in repr(report)


def test_an_autotuned_kernel_is_compiled_in_every_configuration(tmp_path: Path) -> None:
    path = tmp_path / "answer_file.py"
    configurations = "configs=[triton.Config({'BLOCK': 32}), triton.Config({'BLOCK': 128}, num_warps=8)], key=['n']"
    source = DOUBLE.replace("@triton.jit", f"@triton.autotune({configurations})\n@triton.jit").replace(", BLOCK=64)", ")")
    path.write_text(source.replace("(triton.cdiv(x.numel(), 64),)", "lambda meta: (triton.cdiv(x.numel(), meta['BLOCK']),)"))
    outcome = sandbox.run(bundle_file(path, "double"), [(torch.ones(5),)], mode="compile", targets=(80,))
    assert outcome.failure is None and not outcome.stopped
    assert outcome.compiled == {(80, 0, "double_kernel")}


def tuned(*stages: int) -> str:
    """MATMUL with a configuration for each number of stages."""
    source = MATMUL.replace("@triton.jit", f"CONFIGS = [triton.Config({{'STAGES': s}}) for s in {stages}]\n\n@triton.jit")
    source = source.replace("@triton.jit", "@triton.autotune(configs=CONFIGS, key=['K'])\n@triton.jit")
    return source.replace(", STAGES=stages)", ")")


CAUGHT = """
    try:
        matmul_kernel[(1,)](a, b, out, a.shape[1], N=64, BK=128, STAGES=9)
    except triton.runtime.errors.OutOfResources:
        matmul_kernel[(1,)](a, b, out, a.shape[1], N=64, BK=128, STAGES=2)
    return out
"""


@pytest.mark.parametrize(
    ("source", "compiles"),
    [
        (tuned(9, 2), True),
        (tuned(9, 8), False),
        (tuned(9), False),
        (MATMUL[: MATMUL.index("    matmul_kernel[")] + CAUGHT, True),
    ],
    ids=["one of two has room", "neither has", "the only one has none", "the launcher tries two"],
)
def test_what_the_gpu_has_no_room_for_may_be_left_out(tmp_path: Path, source: str, compiles: bool) -> None:
    path = tmp_path / "answer_file.py"
    path.write_text(source)
    a, b = torch.ones(64, 512, dtype=torch.float16), torch.ones(512, 64, dtype=torch.float16)
    outcome = sandbox.run(bundle_file(path, "matmul"), [(a, b, 2), (a[:, :511], b[:511], 2)], mode="compile", targets=(80,))
    assert not outcome.stopped
    if compiles:
        assert outcome.failure is None
        assert outcome.compiled == {(80, case, "matmul_kernel") for case in (0, 1)}
    else:
        assert outcome.failure is not None and "shared memory" in outcome.failure.message


@pytest.mark.parametrize(
    "mask",
    ["(offsets < n) and (offsets >= 0)", "(offsets < 0) or (offsets < n)", "not (offsets >= n)", "(n > 0) and (offsets < n)"],
)
def test_and_or_not_on_tiles_mean_in_the_interpreter_what_they_mean_when_compiled(
    judged: Callable[[str], Report], mask: str
) -> None:
    report = judged(DOUBLE.replace("mask = offsets < n", f"mask = {mask}"))
    assert report.passed, report


STORE = "    tl.store(out_ptr + offsets, 2 * x, mask=mask)"
ADVISED = {
    "a kernel that returns": (DOUBLE.replace(STORE, "    return 2 * x"), "tl.store"),
    "a forgotten grid": (DOUBLE.replace("[(triton.cdiv(x.numel(), 64),)]", ""), "kernel[grid]"),
    "an indexed pointer": (DOUBLE.replace(STORE, "    out_ptr[offsets] = 2 * x"), "tl.load(x_ptr + offsets)"),
    "a forgotten decorator": (DOUBLE.replace("@triton.jit", ""), "@triton.jit"),
    "a block of 100": (DOUBLE.replace("64", "100"), "next_power_of_2"),
    "a forgotten load": (DOUBLE.replace("2 * x,", "2 * x_ptr,"), "tl.load"),
}


@pytest.mark.parametrize("what", ADVISED)
def test_a_beginners_mistake_gets_advice_instead_of_a_bare_error(judged: Callable[[str], Report], what: str) -> None:
    source, advice = ADVISED[what]
    report = judged(source)
    assert not report.passed
    assert advice in repr(report)


def test_a_timeout_does_not_hide_what_the_finished_cases_show(judged: Callable[[str], Report]) -> None:
    racing = DOUBLE.replace("pid * BLOCK + tl", "tl").replace("    pid =", "    while n > 200:\n        n += 0\n    pid =")
    assert judged(racing).findings[0].kind in ("race", "unwritten")


def test_an_answer_that_returns_something_else_the_second_time_is_refused(judged: Callable[[str], Report]) -> None:
    lazy = DOUBLE.replace(", other=0.0", "").replace("def double(x):", "CALLS = []\n\ndef double(x):\n    CALLS.append(1)")
    report = judged(lazy.replace("return out", "return out if len(CALLS) == 1 else None"))
    assert report.findings[0].kind == "wrong_type"


@pytest.mark.parametrize(
    "make", ["torch.zeros_like(x)", "x.new_zeros(x.shape)", "torch.full_like(x, 7.0)", "torch.ones_like(x)"]
)
def test_a_result_may_be_allocated_filled(tmp_path: Path, make: str) -> None:
    path = tmp_path / "answer_file.py"
    reverse = DOUBLE.replace("double", "reverse").replace("x_ptr + offsets", "x_ptr + n - 1 - offsets").replace("2 * x", "x")
    path.write_text(reverse.replace("torch.empty_like(x)", make))
    assert check_file("reverse", path, seed=0).passed
