"""What lesson 11 shows, as counts on live compilation of the lesson's own kernels; and what vectorised_copy asks for."""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

from course_lib import catalog
from course_lib.catalog.accesses import LEFT_OVER, copied_wide
from course_lib.catalog.model import Quiz
from course_lib.checking.check import check_file
from course_lib.checking.events import Event, Launch, Trace, View
from course_lib.checking.findings import Report, SourceLine
from course_lib.checking.launch_code import LaunchCode, launch_codes
from course_lib.machine.compiled import CannotCompile, Compiled, compile_for
from course_lib.machine.instructions import Instruction, read_ptx
from course_lib.machine.layouts import blocked_layouts
from tools import sources
from tools.build import ROOT

LESSON = ROOT / "lessons" / "11_inside_the_compiler.md"
X = torch.empty(1 << 20, device="meta")
HALF = X.to(torch.float16)


@pytest.fixture(scope="module")
def kernels(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The kernels of the lesson, as a module."""
    cells = [cell.source for cell in sources.read_source(LESSON).cells if "@triton.jit" in cell.source]
    functions = [ast.unparse(node) for cell in cells for node in ast.parse(cell).body if isinstance(node, ast.FunctionDef)]
    path = tmp_path_factory.mktemp("lesson") / "lesson_11_kernels.py"
    imports = "import triton\nimport triton.language as tl\n"
    path.write_text(imports + "\n\n".join(source for source in functions if source.startswith("@triton.jit")))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


# --- what the lesson shows --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_loads_are_128_bits_wide_where_16_divides_the_length_and_the_address(kernels: ModuleType, target: str):
    def loads(x: torch.Tensor, n: int, block: int = 1024, **options: Any) -> tuple[int, int]:
        found = compile_for(kernels.copy_kernel, x, X, n, BLOCK_SIZE=block, target=target, **options)
        return found.count("LDG.128"), found.count("LDG")

    wide, narrow = (2, 2), (0, 8)
    assert catalog.quiz("load_counts").expected() == [narrow[1], wide[1]]
    assert [loads(X, n) for n in (1008, 992, 1001, 1000)] == [wide, wide, narrow, narrow]
    assert (loads(X[1:], 1008), loads(X[4:], 1008)) == (narrow, wide)
    assert loads(X, 1008, block=256) == (0, 1)
    assert (loads(HALF, 1008, block=512), loads(HALF, 1008)) == ((0, 1), (1, 1))
    assert loads(X, 1008, num_warps=16)[0] == 0
    assert loads(X, 1008, block=2048, num_warps=16)[0] > 0


def test_the_layout_in_the_quiz_is_the_compilers(kernels: ModuleType):
    found = compile_for(kernels.copy_kernel, X, X, 1008, BLOCK_SIZE=1024, target="sm_80")
    (layout,) = blocked_layouts(found.ttgir).values()
    assert layout.owners((1024,))[300, :2].tolist() == catalog.quiz("layout_owner").expected()


def test_asynchronous_copies_appear_with_stages_on_sm_80_and_not_on_sm_75(kernels: ModuleType):
    def compiled(stages: int, target: str) -> Compiled:
        arguments: dict[str, Any] = {"BLOCK_SIZE": 1024, "STAGES": stages, "target": target}
        return compile_for(kernels.long_sum_kernel, X, X, 1008, **arguments)

    found = [compiled(stages, "sm_80") for stages in (1, 2, 3, 4)]
    copies, shared = [one.count("LDGSTS") for one in found], [one.shared for one in found]
    assert copies[0] == 0 < copies[1] < copies[2] < copies[3]
    assert shared[0] < shared[1] < shared[2] < shared[3]
    assert [("cp.async" in one.ptx) for one in found] == [False, True, True, True]
    assert found[0].count("LDG") > 0 == found[3].count("LDG")
    assert all(compiled(stages, "sm_75").count("LDGSTS") == 0 for stages in (1, 4))


def test_more_warps_need_fewer_registers_and_more_shuffles(kernels: ModuleType):
    found = [
        compile_for(kernels.centre_kernel, X, X, 8192, BLOCK_SIZE=8192, target="sm_80", num_warps=warps)
        for warps in (1, 2, 4, 8, 16)
    ]
    registers = [one.registers for one in found]
    assert registers == sorted(registers, reverse=True) and len(set(registers)) == 5
    assert registers[0] == 255
    assert [one.spills > 0 for one in found] == [True, False, False, False, False]
    assert [one.count("SHFL") for one in found] == [5, 6, 7, 8, 9]
    assert [one.count("BAR") > 0 for one in found] == [False, True, True, True, True]


def test_matrix_instructions_come_from_sm_80_on(kernels: ModuleType):
    def compiled(target: str) -> Compiled:
        return compile_for(kernels.product_kernel, HALF, HALF, X, 64, SIZE=64, target=target)

    turing, ampere, hopper, amd = map(compiled, ("sm_75", "sm_80", "sm_90", "gfx942"))
    assert "matrix" not in turing.kinds() and "mma" not in turing.ptx and turing.count("FFMA") > 0
    assert ampere.count("HMMA") > 0 and "mma.sync" in ampere.ptx and ampere.count("FFMA") == 0
    assert hopper.count("HGMMA") > 0
    assert amd.count("v_mfma") > 0


def test_amd_follows_the_same_rule_with_64_lanes(kernels: ModuleType):
    def loads(n: int) -> dict[int | None, int]:
        found = compile_for(kernels.copy_kernel, X, X, n, BLOCK_SIZE=1024, target="gfx942")
        assert "threadsPerWarp = [64]" in found.ttgir
        widths = [one.width for one in found.instructions if one.kind == "global load"]
        return {width: widths.count(width) for width in widths}

    assert loads(1008) == {16: 1}
    assert loads(1000) == {4: 4}


def test_the_code_in_the_last_quiz_is_in_the_order_of_its_answer(kernels: ModuleType):
    found = {
        "copy": compile_for(kernels.copy_kernel, X, X, 1008, BLOCK_SIZE=1024, target="sm_80"),
        "mean": compile_for(kernels.centre_kernel, X, X, 1008, BLOCK_SIZE=1024, target="sm_80"),
        "product": compile_for(kernels.product_kernel, HALF, HALF, X, 64, SIZE=64, target="sm_80"),
    }
    expected = catalog.quiz("whose_code").expected()
    assert sorted(found, key=lambda word: found[word].kernel[::-1]) == expected
    assert "shuffle" in found["mean"].kinds() and "matrix" in found["product"].kinds()
    assert {*found["copy"].kinds()} - {"other"} == {"global load", "global store"}


def test_a_promise_makes_loads_wide_that_reach_past_the_end(kernels: ModuleType):
    found = compile_for(kernels.promising_kernel, X, X, 1001, BLOCK_SIZE=1024, target="sm_80")
    assert found.count("LDG.128") == found.count("LDG") == 2


def test_what_cannot_be_compiled_says_what_and_why(kernels: ModuleType):
    with pytest.raises(ValueError, match="H100 is an sm_90 GPU: target='sm_90'"):
        compile_for(kernels.copy_kernel, X, X, 1008, BLOCK_SIZE=1024, target="H100")
    with pytest.raises(CannotCompile, match=r"Break\n  A loop in a kernel cannot be left early.*\n.*break"):
        compile_for(kernels.first_negative_kernel, X, X, 1008, target="sm_80")
    large: dict[str, Any] = {"BLOCK_SIZE": 16384, "STAGES": 4}
    assert compile_for(kernels.long_sum_kernel, X, X, 1008, target="sm_90", **large).shared > 166912
    with pytest.raises(CannotCompile, match="bytes of shared memory, and the GPU has 166912; make the block or num_stages"):
        compile_for(kernels.long_sum_kernel, X, X, 1008, target="sm_80", **large)


def test_an_excerpt_shows_the_lines_with_a_word_and_counts_the_rest(kernels: ModuleType):
    found = compile_for(kernels.copy_kernel, X, X, 1000, BLOCK_SIZE=1024, target="sm_80")
    lines = found.excerpt("sass", "LDG", most=3).splitlines()
    assert len(lines) == 4 and all("LDG.E" in line for line in lines[:3]) and lines[3] == "… and 5 more"
    assert found.excerpt("ttir", "no such word") == ""
    assert max(map(len, found.excerpt("ttir", "tt.func", width=50).splitlines())) == 50
    with pytest.raises(AttributeError, match="amdgcn"):
        found.excerpt("amdgcn", "load")


@pytest.mark.parametrize("name", ["layout_owner", "load_counts", "whose_code"])
def test_each_wrong_answer_to_a_quiz_has_a_form_that_is_accepted(name: str):
    quiz: Quiz = catalog.quiz(name)
    candidates = (
        [[a, b] for a in range(1100) for b in (*range(65), 256)]
        if name != "whose_code"
        else [
            [a, b, c]
            for a in ("copy", "mean", "product")
            for b in ("copy", "mean", "product")
            for c in ("copy", "mean", "product")
        ]
    )
    accepted = [one for one in candidates if quiz.accepts(one)]
    assert all(any(wrong.matches(one) for one in accepted) for wrong in quiz.wrong)


@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90"])
def test_loads_and_stores_are_as_wide_in_ptx_as_in_compiled_code(kernels: ModuleType, target: str):
    """What a check reads from PTX is what the GPU does."""
    kinds = ("global load", "global store", "async copy")

    def widths(code: Iterable[Instruction]) -> Counter[tuple[str, int | None]]:
        return Counter((one.kind, one.width) for one in code if one.kind in kinds)

    for x, n, block in ((X, 1008, 1024), (X, 1000, 1024), (X[1:], 1008, 1024), (X, 1008, 256), (HALF, 1001, 1024)):
        found = compile_for(kernels.copy_kernel, x, x, n, BLOCK_SIZE=block, target=target)
        assert widths(read_ptx(found.ptx, lambda file, line: None)) == widths(found.instructions), (n, block)
    piped = compile_for(kernels.long_sum_kernel, X, X, 1008, BLOCK_SIZE=1024, STAGES=3, target=target)
    assert {*widths(read_ptx(piped.ptx, lambda file, line: None))} == {*widths(piped.instructions)}


# --- what vectorised_copy asks for: on values made by hand ------------------------------------------------------------

LOAD, STORE, REST = (SourceLine("answer.py", line, "") for line in (3, 4, 7))
LOADS, COPIES, STORES = "global load", "async copy", "global store"
CODE = {LOAD: {(LOADS, 16): 2}, STORE: {(STORES, 16): 2}}
N = 2 * LEFT_OVER


def event(kind: str, view: int, elements: Any, line: SourceLine, lanes: int | None = None) -> Event:
    touched = np.asarray(elements, dtype=np.int64)
    lanes = lanes or len(touched)
    nothing = np.empty(0, dtype=np.int64)
    return Event(kind, 0, (0, 0, 0), view, line, touched, nothing, lanes, lanes - len(touched))  # type: ignore[arg-type]


def trace_of(*events: Event, n: int = N, offset: int = 0, itemsize: int = 4) -> Trace:
    dtype = {2: "float16", 4: "float32"}[itemsize]
    views = (View("x_ptr", 0, offset, (n,), (1,), dtype, itemsize, 0), View("out_ptr", 1, 0, (n,), (1,), dtype, itemsize))
    return Trace((Launch("copy_kernel", (1, 1, 1), views, {}),), events, result=torch.empty(n), result_storage=1)


def judged(trace: Trace, code: Any = None, threads: int = 128) -> str | None:
    finding = copied_wide(trace, (LaunchCode("copy_kernel", threads, CODE if code is None else code),))
    return finding and f"{finding.kind}:{finding.pattern}"


def copied(count: int, n: int = N, step: int = 1) -> tuple[Event, Event]:
    places = (np.arange(count) * step) % n
    return event("load", 0, places, LOAD), event("store", 1, places, STORE)


NARROW = {LOAD: {(LOADS, 4): 8}, STORE: {(STORES, 16): 2}}


def test_all_wide_is_right_and_all_narrow_is_not():
    assert judged(trace_of(*copied(N))) is None
    assert judged(trace_of(*copied(N)), NARROW) == "compiled_code:unproven"
    assert judged(trace_of(*copied(N)), {LOAD: {(LOADS, 16): 2}, STORE: {(STORES, 8): 4}}) == "compiled_code:unproven"
    assert judged(trace_of(*copied(N - 4), n=N - 4), NARROW) == "compiled_code:bound"
    assert judged(trace_of(*copied(N)), NARROW, threads=4 * N) == "compiled_code:small"
    assert judged(trace_of(*copied(N, step=5)), NARROW) == "compiled_code:scattered"


@pytest.mark.parametrize("kind", [(LOADS, 16), (COPIES, 16), (COPIES, 128)])
def test_every_wide_way_to_load_counts(kind: tuple[str, int]):
    assert judged(trace_of(*copied(N)), {LOAD: {kind: 1}, STORE: CODE[STORE]}) is None


@pytest.mark.parametrize(("left", "right"), [(LEFT_OVER - 4, True), (LEFT_OVER, False)])
def test_fewer_than_so_many_elements_may_be_narrow(left: int, right: bool):
    whole, rest = np.arange(N - left), np.arange(N - left, N)
    trace = trace_of(event("load", 0, whole, LOAD), event("load", 0, rest, REST), event("store", 1, np.arange(N), STORE))
    assert (judged(trace, CODE | {REST: {(LOADS, 4): 1}}) is None) == right


def test_a_line_that_is_compiled_twice_may_be_wide_and_narrow():
    assert judged(trace_of(*copied(N - 3), n=N - 3), {LOAD: {(LOADS, 16): 2, (LOADS, 4): 1}, STORE: {(STORES, 16): 1}}) == (
        "compiled_code:cut"  # the store's line is only wide, and ends within 16 bytes
    )
    both = {LOAD: {(LOADS, 16): 2, (LOADS, 4): 1}, STORE: {(STORES, 16): 1, (STORES, 4): 1}}
    assert judged(trace_of(*copied(N - 3), n=N - 3), both) is None


def test_code_without_lines_is_judged_as_a_whole():
    assert judged(trace_of(*copied(N)), {None: {(LOADS, 16): 2, (STORES, 16): 2}}) is None
    assert judged(trace_of(*copied(N)), {None: {(LOADS, 4): 2, (STORES, 16): 2}}) == "compiled_code:unproven"


def test_what_begins_elsewhere_may_be_narrow_but_not_wide():
    assert judged(trace_of(*copied(N), offset=1), NARROW) is None
    assert judged(trace_of(*copied(N), offset=1)) == "compiled_code:misaligned"
    assert judged(trace_of(*copied(N), offset=4)) is None
    assert judged(trace_of(*copied(N), offset=4, itemsize=2), {LOAD: {(LOADS, 8): 2}, STORE: CODE[STORE]}) is None
    assert judged(trace_of(*copied(N), offset=2, itemsize=2), {LOAD: {(LOADS, 8): 2}, STORE: CODE[STORE]}) == (
        "compiled_code:misaligned"
    )


def test_nothing_is_asked_of_nothing():
    assert judged(trace_of(n=0)) is None
    assert judged(trace_of(event("load", 0, [], LOAD, lanes=16), n=0), NARROW) is None


def test_code_that_was_told_is_read_back_launch_by_launch():
    told = {
        "launches": [[80, 0, "a", 128, "k"], [80, 0, "b", 64, "k"]],
        "listings": {"k": [[3, LOADS, 4, 2], [0, "other", 0, 1]]},
    }
    found = launch_codes(told, lambda line: SourceLine("answer.py", line, ""))
    assert [(one.kernel, one.threads) for one in found[80, 0]] == [("a", 128), ("b", 64)]
    assert found[80, 0][0].counts == {LOAD: {(LOADS, 4): 2}, None: {("other", 0): 1}}


# --- the stage --------------------------------------------------------------------------------------------------------

COPY = """
import torch, triton, triton.language as tl

@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    whole = n // 16 * 16
    x = tl.load(x_ptr + offsets, mask=offsets < whole, other=0.0)
    tl.store(out_ptr + offsets, x, mask=offsets < whole)
    if tl.program_id(0) == 0:
        rest = whole + tl.arange(0, 16)
        last = tl.load(x_ptr + rest, mask=rest < n, other=0.0)
        tl.store(out_ptr + rest, last, mask=rest < n)

@triton.jit
def other_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    copy_kernel(x_ptr, out_ptr, n, BLOCK)

def vectorised_copy(x):
    out = torch.empty_like(x)
    n = x.numel()
    kernel = copy_kernel
    kernel[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out
"""


@pytest.fixture
def checked(tmp_path: Path) -> Callable[[str], Report]:
    def check(source: str) -> Report:
        path = tmp_path / "answer_file.py"
        path.write_text(source)
        return check_file("vectorised_copy", path, seed=0)

    return check


def test_the_compiled_code_is_judged_after_the_values(checked: Callable[[str], Report]):
    report = checked(COPY)
    assert report.passed, report
    assert report.stages.index("compiled code") > report.stages.index("values")
    assert checked(COPY.replace("tl.store(out_ptr + rest, last", "tl.store(out_ptr + rest, 2 * last")).stages[-1] == "values"


def test_other_kernels_for_another_gpu_are_no_pass(checked: Callable[[str], Report]):
    by_gpu = "other_kernel if torch.cuda.get_device_capability()[0] == 8 else copy_kernel"
    report = checked(COPY.replace("kernel = copy_kernel", f"kernel = {by_gpu}"))
    assert not report.passed and not report.judged
    assert "an A100 (sm_80), other kernels are launched" in report.findings[0].message


def test_warming_up_first_changes_nothing(checked: Callable[[str], Report]):
    warm = "    kernel.warmup(x, out, n, BLOCK=256, grid=(1,))\n    kernel[(triton"
    report = checked(COPY.replace("    kernel[(triton", warm))
    assert report.passed, report
