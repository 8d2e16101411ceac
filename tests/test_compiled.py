"""`compile_for` on a machine without a GPU: what it finds, how it refuses, and that it leaves this process alone."""

from __future__ import annotations

import gzip
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from course_lib.checking import sandbox
from course_lib.checking.source import CannotBundle
from course_lib.checking.wire import CannotSend
from course_lib.machine import compiled as compiled_module
from course_lib.machine import store
from course_lib.machine.compiled import CannotCompile, Compiled, compile_for
from course_lib.machine.difference import compare
from course_lib.machine.occupancy import occupancy
from course_lib.machine.specs import ARCHITECTURES

KERNELS = Path(__file__).with_name("kernels_to_compile.py")
X = torch.empty(1 << 20, device="meta")
HALF = torch.empty(1 << 20, device="meta", dtype=torch.float16)


def module_of(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def kernels() -> ModuleType:
    return module_of(KERNELS)


@pytest.fixture
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COURSE_STATE_DIR", str(tmp_path))
    return tmp_path / "compiled"


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The targets that the compiler was really asked for."""
    asked: list[str] = []
    run = sandbox.run

    def counted(*arguments: Any, **keywords: Any) -> Any:
        asked.append(keywords["launch"]["target"])
        return run(*arguments, **keywords)

    monkeypatch.setattr(compiled_module.sandbox, "run", counted)
    return asked


def lines_of(compiled: Compiled, kind: str) -> set[str]:
    return {one.line.text if one.line else "" for one in compiled.instructions if one.kind == kind}


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_every_target_compiles_with_registers_lines_and_kinds(kernels: ModuleType, target: str):
    found = compile_for(kernels.sum_kernel, X, X, 1000, BLOCK=1024, target=target, num_warps=4)
    warp_size = ARCHITECTURES[target].warp_size
    assert (found.target, found.num_warps, found.threads) == (target, 4, 4 * warp_size)
    assert 4 < found.registers < 64
    assert (found.spills, found.shared) == (0, 16)
    assert "tt.reduce" in found.ttir
    assert "#ttg.blocked" in found.ttgir
    assert "define" in found.llir
    assert lines_of(found, "shuffle") == {"return tl.sum(y)"}
    assert lines_of(found, "global load") == {"x = tl.load(x_ptr + offsets, mask=offsets < n, other=0.0)"}
    assert lines_of(found, "global store") == {"tl.store(out_ptr, total)"}
    assert {line.origin for line in found.lines()} == {"kernels_to_compile.py"}
    text = found.amdgcn if target.startswith("gfx") else found.sass
    assert "kernels_to_compile.py, line 12: return tl.sum(y)" in text
    assert "/tmp" not in found.ttgir + found.llir + text
    assert found.binary[:4] == b"\x7fELF"


def test_tl_sum_is_shuffles_shared_memory_and_barriers(kernels: ModuleType):
    for num_warps, shuffles in ((1, 5), (4, 5 + 2), (8, 5 + 3)):
        found = compile_for(kernels.sum_kernel, X, X, 1000, BLOCK=1024, num_warps=num_warps)
        assert found.count("SHFL") == found.count("SHFL.BFLY") == found.kinds()["shuffle"] == shuffles
        for kind in ("shared store", "shared load", "barrier"):
            assert (found.kinds().get(kind, 0) > 0) == (num_warps > 1), kind
        assert found.shared == (4 * num_warps if num_warps > 1 else 0)


def test_what_is_shown_is_what_a_launch_would_run(kernels: ModuleType, tmp_path: Path):
    """The changed line numbers change no instruction: Triton's own compile of the same kernel gives the same code."""
    script = f"""
import sys
sys.path.insert(0, {str(KERNELS.parent)!r})
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from kernels_to_compile import sum_kernel
signature = {{"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}}
aligned = [["tt.divisibility", 16]]
source = ASTSource(sum_kernel, signature, {{(3,): 1024}}, {{(0,): aligned, (1,): aligned}})
open({str(tmp_path / "own.cubin")!r}, "wb").write(triton.compile(source, target=GPUTarget("cuda", 90, 32)).asm["cubin"])
"""
    environment = {**sandbox._environment("compile"), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    from course_lib.machine.instructions import read_sass
    from course_lib.machine.tools import disassemble

    own = read_sass(disassemble((tmp_path / "own.cubin").read_bytes()), lambda file, line: None)
    found = compile_for(kernels.sum_kernel, X, X, 1000, BLOCK=1024)
    assert [(one.opcode, one.operands) for one in own] == [(one.opcode, one.operands) for one in found.instructions]


def test_divisibility_by_sixteen_decides_the_width_of_loads(kernels: ModuleType):
    def loads(pointer: torch.Tensor, n: int) -> tuple[int, int]:
        found = compile_for(kernels.copy_kernel, pointer, X, n, BLOCK=1024)
        return found.count("LDG.128"), found.count("LDG")

    assert loads(X, 1024) == (2, 2)
    assert loads(X, 1000) == loads(X[1:], 1024) == (0, 8)
    assert loads(X[4:], 1024) == (2, 2)  # 16 bytes further on


def test_real_tensors_and_dtypes_stand_for_pointers_too(kernels: ModuleType):
    forms: tuple[Any, ...] = (X, torch.empty(4096), torch.float32)
    found = [compile_for(kernels.copy_kernel, form, form, 1024, BLOCK=1024).sass for form in forms]
    assert found[0] == found[1] == found[2]
    assert compile_for(kernels.copy_kernel, torch.empty(4096)[1:], X, 1024, BLOCK=1024).count("LDG.128") == 0


def test_stages_bring_asynchronous_copies_where_the_gpu_has_them(kernels: ModuleType):
    def copies(stages: int, target: str) -> tuple[int, int]:
        found = compile_for(kernels.row_sums_kernel, X, X, 1024, 64, BLOCK=1024, STAGES=stages, target=target)
        return found.count("LDGSTS"), found.shared

    assert copies(1, "sm_80")[0] == 0
    assert copies(4, "sm_80")[0] > 0
    assert copies(4, "sm_75")[0] == 0
    assert copies(4, "sm_80")[1] > copies(2, "sm_80")[1] > copies(1, "sm_80")[1]


def test_more_warps_need_fewer_registers_and_more_exchanges(kernels: ModuleType):
    found = [compile_for(kernels.sum_kernel, X, X, 8192, BLOCK=8192, num_warps=warps) for warps in (1, 4, 16)]
    registers = [one.registers for one in found]
    assert registers[0] > registers[1] > registers[2]
    assert [one.count("SHFL") for one in found] == [5, 7, 9]


def test_a_tile_that_finds_no_registers_spills(kernels: ModuleType):
    one, four = (compile_for(kernels.centred_kernel, X, X, BLOCK=8192, num_warps=warps) for warps in (1, 4))
    assert one.registers == 255
    assert one.spills > 0
    assert one.kinds()["local memory"] > 0
    assert (four.spills, four.kinds().get("local memory", 0)) == (0, 0)


def test_matrix_units_do_tl_dot_from_sm_80_on(kernels: ModuleType):
    def compiled(target: str) -> Compiled:
        arguments = {"M": 64, "N": 64, "BLOCK_K": 32, "num_warps": 4}
        return compile_for(kernels.matmul_kernel, HALF, HALF, X, 512, target=target, **arguments)

    assert compiled("sm_80").count("HMMA.16816") > 0
    assert "mma.sync" in compiled("sm_80").ptx
    assert compiled("sm_75").kinds().get("matrix", 0) == 0
    assert compiled("sm_90").count("HGMMA") > 0
    assert compiled("gfx942").count("v_mfma") > 0


def test_two_calls_of_one_library_function_are_told_apart(kernels: ModuleType):
    found = compile_for(kernels.two_sums_kernel, X, X, BLOCK=32, num_warps=1)
    by_line = {line.text: [one.kind for one in code].count("shuffle") for line, code in found.lines().items()}
    assert by_line["first = tl.sum(x)"] == by_line["second = tl.sum(x * x)"] == 5


def test_constants_may_be_dtypes_tuples_and_constexprs(kernels: ModuleType):
    import triton.language as tl

    found = compile_for(kernels.scaled_kernel, X, KIND=tl.float32, PAIR=(1, tl.constexpr(2.0)))
    assert "3.000000e+00" in found.ttir
    assert "2.000000e+00" in found.ttir


def test_occupancy_takes_a_compiled_kernel(kernels: ModuleType):
    found = compile_for(kernels.sum_kernel, X, X, 1000, BLOCK=1024, num_warps=4)
    assert occupancy(found, "H200").programs_per_sm == 16


# --- refusals -------------------------------------------------------------------------------------------------------


def test_unknown_targets_are_named_with_what_there_is(kernels: ModuleType):
    with pytest.raises(ValueError, match=r"unknown target 'sm_91'; there are sm_75, .*gfx942"):
        compile_for(kernels.sum_kernel, X, X, 1, BLOCK=32, target="sm_91")
    with pytest.raises(ValueError, match=r"H200 is an sm_90 GPU: target='sm_90'"):
        compile_for(kernels.sum_kernel, X, X, 1, BLOCK=32, target="H200")


REFUSALS: dict[str, tuple[Callable[[ModuleType], Any], str]] = {
    "a name that is not there": (
        lambda k: compile_for(k.unnamed_kernel, X, target="sm_80"),
        r"unnamed_kernel does not compile for sm_80: undefined_name is not defined(.|\n)*line 73: y = undefined_name",
    ),
    "a block that is no power of two": (
        lambda k: compile_for(k.sum_kernel, X, X, 1, BLOCK=100),
        r"arange's range must be a power of 2(.|\n)*Round up(.|\n)*line 17: offsets = tl.arange",
    ),
    "a missing constant": (lambda k: compile_for(k.sum_kernel, X, X, 1), r"sum_kernel\(\) missing.*BLOCK"),
    "an unknown keyword": (lambda k: compile_for(k.sum_kernel, X, X, 1, BLOCK=32, num_wraps=1), r"num_wraps"),
    "an autotuned kernel": (lambda k: compile_for(k.tuned_kernel, X, 5), r"autotuned over 2 configurations.*its `\.fn`"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_what_does_not_compile_is_told_with_the_line(kernels: ModuleType, case: str):
    call, message = REFUSALS[case]
    with pytest.raises(CannotCompile, match=message):
        call(kernels)


def test_too_much_shared_memory_is_told_before_a_gpu_would(kernels: ModuleType):
    arguments: dict[str, Any] = {"BLOCK": 16384, "STAGES": 4}
    with pytest.raises(CannotCompile, match=r"sm_80: it needs \d+ bytes of shared memory, and the GPU has 166912") as raised:
        compile_for(kernels.row_sums_kernel, X, X, 16384, 64, target="sm_80", **arguments)
    assert "num_stages" in raised.value.reason
    with pytest.raises(CannotCompile, match="the GPU has 101376"):
        compile_for(kernels.row_sums_kernel, X, X, 16384, 64, target="sm_89", **arguments)


def test_the_kernel_inside_an_autotuned_one_compiles(kernels: ModuleType):
    assert compile_for(kernels.tuned_kernel.fn, X, 64, BLOCK=64).count("STG") > 0


def test_a_kernel_made_without_a_decorator_compiles_too(kernels: ModuleType):
    assert compile_for(kernels.wrapped_kernel, X).count("STG") == 1


def test_what_is_no_kernel_or_no_argument_is_told(kernels: ModuleType):
    with pytest.raises(CannotBundle, match=r"decorated with @triton\.jit; this is a function"):
        compile_for(kernels.plain, X)
    with pytest.raises(CannotBundle, match="this is a Tensor"):
        compile_for(X)
    with pytest.raises(CannotSend, match="a value of type object"):
        compile_for(kernels.copy_kernel, object(), X, 1, BLOCK=32)


def test_a_form_that_a_target_does_not_have_is_told(kernels: ModuleType):
    amd = compile_for(kernels.copy_kernel, X, X, 64, BLOCK=64, target="gfx942")
    with pytest.raises(AttributeError, match=r"gfx942, whose machine code is in \.amdgcn, not \.sass"):
        _ = amd.sass
    with pytest.raises(AttributeError, match=r"has no \.ptx; it has \.ttir, \.ttgir, \.llir"):
        _ = amd.ptx


# --- this process, and the store ------------------------------------------------------------------------------------


def test_the_notebooks_process_goes_on_interpreting(tmp_path: Path):
    path = tmp_path / "notebook.py"
    path.write_text(
        f"import course_lib\n{KERNELS.read_text()}\n"
        """
import os
import torch
from triton.runtime.interpreter import InterpretedFunction
before = dict(os.environ)
found = course_lib.compile_for(copy_kernel, torch.empty(64), torch.empty(64), 64, BLOCK=64, target="sm_75")
assert found.count("LDG") and dict(os.environ) == before and isinstance(copy_kernel, InterpretedFunction)
x, out = torch.arange(5.0), torch.zeros(5)
copy_kernel[(1,)](x, out, 5, BLOCK=8)
assert out.tolist() == x.tolist()
print(found)
"""
    )
    environment = {
        **sandbox._environment("compile"),
        "COURSE_STATE_DIR": str(tmp_path),
        "TRITON_INTERPRET": "",
        "COURSE_IN_WORKER": "",
    }
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert "<copy_kernel for sm_75: 4 warps" in done.stdout


def test_a_warm_compile_takes_less_than_a_second(kernels: ModuleType, own_store: Path, runs: list[str]):
    compile_for(kernels.sum_kernel, X, X, 1000, BLOCK=64)
    share = max(1.0, os.getloadavg()[0] / len(os.sched_getaffinity(0)))  # what others leave of this machine
    seconds = []
    for block in (128, 256, 512):
        began = time.perf_counter()
        compile_for(kernels.sum_kernel, X, X, 1000, BLOCK=block)
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 1.0 * share
    assert len(runs) == 4


def test_results_are_kept_by_all_that_they_depend_on(kernels: ModuleType, own_store: Path, runs: list[str]):
    def ask(**changed: Any) -> Compiled:
        keywords = {"BLOCK": 64, "target": "sm_80", "num_warps": 2, **changed}
        return compile_for(kernels.sum_kernel, X, X, 1000, **keywords)

    first = ask()
    assert ask() == first
    assert len(runs) == 1
    for number, changed in enumerate(({"target": "sm_90"}, {"num_warps": 4}, {"BLOCK": 128}, {"num_stages": 5}), 2):
        ask(**changed)
        assert len(runs) == number, changed
    compile_for(kernels.sum_kernel, X[1:], X, 1000, BLOCK=64, target="sm_80", num_warps=2)
    compile_for(kernels.sum_kernel, X, X, 1024, BLOCK=64, target="sm_80", num_warps=2)
    assert len(runs) == 7
    assert len(list(own_store.glob("*.json.gz"))) == 7


def test_a_changed_helper_is_compiled_anew(tmp_path: Path, own_store: Path, runs: list[str], monkeypatch: pytest.MonkeyPatch):
    """Its source is not in the bundle, which only imports it: the file that it came from counts."""
    monkeypatch.syspath_prepend(str(tmp_path))
    helper, user = tmp_path / "helper_of_mine.py", tmp_path / "user_of_helper.py"
    user.write_text(
        "import triton, triton.language as tl\nfrom helper_of_mine import changed\n\n"
        "@triton.jit\ndef kernel(x_ptr):\n    tl.store(x_ptr, changed(tl.load(x_ptr)))\n"
    )
    texts = []
    for factor in ("2.0", "3.0", "3.0"):
        helper.write_text(f"import triton\n\n@triton.jit\ndef changed(x):\n    return x * {factor}\n")
        for name in ("helper_of_mine", "user_of_helper"):
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        texts.append(compile_for(module_of(user).kernel, X).ttir)
    assert "2.000000e+00" in texts[0]
    assert "3.000000e+00" in texts[1]
    assert len(runs) == 2


@pytest.mark.parametrize("content", [b"", b"not gzip", gzip.compress(b"{", mtime=0), gzip.compress(b'{"a": 1}', mtime=0)[:-4]])
def test_a_damaged_result_counts_as_none(kernels: ModuleType, own_store: Path, runs: list[str], content: bytes):
    first = compile_for(kernels.copy_kernel, X, X, 64, BLOCK=64)
    (path,) = own_store.glob("*.json.gz")
    path.write_bytes(content)
    assert compile_for(kernels.copy_kernel, X, X, 64, BLOCK=64) == first
    assert len(runs) == 2


def test_a_place_that_cannot_be_written_costs_only_time(
    kernels: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, runs: list[str]
):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("COURSE_STATE_DIR", str(blocked))
    for number in (1, 2):
        assert compile_for(kernels.copy_kernel, X, X, 64, BLOCK=64).registers > 0
        assert len(runs) == number


def test_only_the_latest_results_are_kept(own_store: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store, "MOST", 3)
    for number in range(5):
        store.save(f"key{number}", {"number": number})
        time.sleep(0.02)
    assert {path.name for path in own_store.iterdir()} == {f"key{number}.json.gz" for number in (2, 3, 4)}
    assert store.load("key4") == {"number": 4}


def test_a_kept_result_is_plain_data_without_paths(kernels: ModuleType, own_store: Path):
    compile_for(kernels.sum_kernel, X, X, 64, BLOCK=64)
    (path,) = own_store.glob("*.json.gz")
    record = json.loads(gzip.decompress(path.read_bytes()))
    assert set(record["stages"]) == {"ttir", "ttgir", "llir", "ptx"}
    assert not any("/tmp/" in text or "site-packages" in text for text in record["stages"].values())


# --- differences ----------------------------------------------------------------------------------------------------


def test_two_compilations_are_compared(kernels: ModuleType):
    one, four = (compile_for(kernels.sum_kernel, X, X, 1024, BLOCK=1024, num_warps=warps) for warps in (1, 4))
    found = compare(one, four)
    assert ("warps", 1, 4) in found.resources
    assert ("shuffle", 5, 7) in found.kinds
    assert any(name.startswith("BAR") and left == 0 < right for name, left, right in found.opcodes)
    table = repr(found).splitlines()
    assert any(row.split() == ["shuffle", "5", "7", "*"] for row in table)
    assert any(row.split() == ["spilled", "0", "0"] for row in table)
    assert "-#blocked" in found.text("ttgir")
    assert "+BAR.SYNC" in found.text()


def test_equal_compilations_do_not_differ(kernels: ModuleType):
    one = compile_for(kernels.sum_kernel, X, X, 1024, BLOCK=1024)
    found = compare(one, one)
    assert found.opcodes == ()
    assert found.text() == found.text("ttgir") == ""
    assert "*" not in repr(found)
