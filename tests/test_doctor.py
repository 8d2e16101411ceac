"""Each problem, simulated by facts; and that facts are found on a real machine."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from course_lib.device import device_of
from course_lib.doctor import trial
from course_lib.doctor.diagnosis import abilities, problems
from course_lib.doctor.examinations import EXAMINATIONS
from course_lib.doctor.facts import (
    Facts,
    TorchBuild,
    c_compiler,
    gather,
    parse_torch_build,
    triton_cache,
    triton_requirement,
    usable_gpu,
    why_unwritable,
)
from course_lib.doctor.gpu import Gpu, Gpus
from course_lib.doctor.model import COMPILE, RUN, TIME, Problem

LAPTOP = Facts()
H200 = Gpus((Gpu("nvidia", "NVIDIA H200", "sm_90"),), driver="580.65", driver_cuda="13.0")
T4 = Gpus((Gpu("nvidia", "Tesla T4", "sm_75"),), driver="580.65", driver_cuda="13.0")
P100 = Gpus((Gpu("nvidia", "Tesla P100", "sm_60"),), driver="580.65", driver_cuda="13.0")
MI300 = Gpus((Gpu("amd", "AMD gfx942", "gfx942"),))
CUDA = TorchBuild("cuda", "13.0")
GPU_MACHINE = replace(LAPTOP, gpus=H200, torch_build=CUDA, torch_wants="triton==3.7.1")


def having(facts: Facts, **versions: str | None) -> Facts:
    return replace(facts, versions={**facts.versions, **versions})


COLAB = replace(having(LAPTOP, jupyterlab=None), host="Google Colab")

CASES: list[tuple[str, Facts, str, str]] = [
    # code, facts, severity, a part of the cure
    ("triton_first", replace(LAPTOP, triton_before="compiler"), "stops", "restart the kernel"),
    ("triton_first", replace(LAPTOP, triton_before="compiler", asked="1"), "stops", "restart the kernel"),
    ("interpret_on_gpu", replace(GPU_MACHINE, asked="1"), "limits", "unset TRITON_INTERPRET"),
    ("interpret_on_gpu", replace(GPU_MACHINE, asked="Yes"), "limits", "unset TRITON_INTERPRET"),
    ("interpret_off", replace(LAPTOP, asked="0"), "stops", "unset TRITON_INTERPRET"),
    ("interpret_off", replace(LAPTOP, asked="false"), "stops", "unset TRITON_INTERPRET"),
    ("interpret_value", replace(LAPTOP, asked="t"), "stops", "unset TRITON_INTERPRET"),
    ("interpret_value", replace(LAPTOP, asked=" 1"), "stops", "unset TRITON_INTERPRET"),
    ("interpret_value", replace(GPU_MACHINE, asked="2"), "note", "unset TRITON_INTERPRET"),
    ("no_compiler", replace(LAPTOP, compiler=None), "note", "none needed without a GPU"),
    ("no_compiler", replace(GPU_MACHINE, compiler=None), "stops", "apt install gcc"),
    ("no_python_header", replace(GPU_MACHINE, python_header=False), "stops", "python3-dev"),
    ("cache_unwritable", replace(LAPTOP, cache_error="/home: Read-only"), "limits", "TRITON_CACHE_DIR"),
    ("cache_unwritable", replace(GPU_MACHINE, cache_error="/home: Read-only"), "stops", "TRITON_CACHE_DIR"),
    ("numpy_breaks_triton", having(LAPTOP, triton="3.6.0", numpy="2.4.0"), "stops", "pip install 'numpy<2.4'"),
    ("numpy_breaks_triton", having(LAPTOP, triton="3.6.0", numpy="3.0.1"), "stops", "pip install 'numpy<2.4'"),
    ("macos", having(replace(LAPTOP, system="Darwin"), triton=None), "stops", "docker run"),
    ("windows", having(replace(LAPTOP, system="Windows"), triton=None), "stops", "wsl --install"),
    ("windows", replace(LAPTOP, system="Windows"), "note", "wsl --install"),
    ("old_gpu", replace(GPU_MACHINE, gpus=T4), "note", "keep to fp16 and fp32"),
    ("old_gpu", replace(COLAB, gpus=T4, torch_build=CUDA), "note", "keep to fp16 and fp32"),
    ("no_gpu_chosen", COLAB, "note", "Runtime > Change runtime type > T4 GPU"),
    ("no_gpu_chosen", replace(COLAB, host="Kaggle"), "note", "Settings > Accelerator"),
    ("old_gpu", replace(GPU_MACHINE, gpus=P100), "limits", "CUDA_VISIBLE_DEVICES"),
    ("torch_triton_mismatch", having(GPU_MACHINE, triton="3.8.0"), "limits", "pip install 'triton==3.7.1'"),
    ("torch_triton_mismatch", replace(LAPTOP, torch_wants="triton==3.6.0"), "limits", "pip install 'triton==3.6.0'"),
    ("triton_untested", having(LAPTOP, triton="3.5.1"), "limits", "constraints.txt"),
    ("triton_untested", having(LAPTOP, triton="3.10.0"), "limits", "constraints.txt"),
    ("torch_missing", having(LAPTOP, torch=None), "stops", "constraints.txt"),
    ("triton_missing", having(LAPTOP, triton=None), "stops", "constraints.txt"),
    ("torch_build", replace(LAPTOP, gpus=H200), "limits", "pytorch.org"),
    ("torch_build", replace(LAPTOP, gpus=MI300, torch_build=CUDA), "limits", "pytorch.org"),
    (
        "driver_too_old",
        replace(GPU_MACHINE, gpus=replace(H200, driver_cuda="12.8")),
        "limits",
        "update the NVIDIA driver",
    ),
    ("tmp_unwritable", replace(LAPTOP, temporary_error="/tmp: No space left"), "stops", "TMPDIR"),
    ("no_jupyterlab", having(LAPTOP, jupyterlab=None), "limits", "pip install jupyterlab"),
    ("no_ipywidgets", having(LAPTOP, ipywidgets=None), "limits", "pip install ipywidgets"),
    ("trial_run", replace(LAPTOP, trials={RUN: "ValueError: boom"}), "stops", "constraints.txt"),
    ("trial_compile", replace(LAPTOP, trials={COMPILE: "ptxas died"}), "limits", "constraints.txt"),
    ("trial_time", replace(GPU_MACHINE, trials={TIME: "out of memory"}), "limits", "constraints.txt"),
]


@pytest.mark.parametrize(("code", "facts", "severity", "cure"), CASES, ids=[f"{row[0]}-{row[2]}" for row in CASES])
def test_this_problem_and_no_other_is_found_with_its_cure(code: str, facts: Facts, severity: str, cure: str) -> None:
    (problem,) = problems(facts)
    assert (problem.code, problem.severity) == (code, severity)
    assert cure in problem.cure


HEALTHY: dict[str, Facts] = {
    "a laptop": LAPTOP,
    "a GPU": GPU_MACHINE,
    "a GPU, and said so": replace(GPU_MACHINE, asked="0"),
    "a GPU, Triton imported first": replace(GPU_MACHINE, triton_before="compiler"),
    "a laptop, and said so": replace(LAPTOP, asked="1"),
    "a laptop, an empty setting": replace(LAPTOP, asked=""),
    "a laptop, Triton interpreting already": replace(LAPTOP, triton_before="interpreter"),
    "an A100, the oldest that Triton supports": replace(GPU_MACHINE, gpus=Gpus((Gpu("nvidia", "A100", "sm_80"),))),
    "a GPU of three digits": replace(GPU_MACHINE, gpus=Gpus((Gpu("nvidia", "RTX 5090", "sm_120"),))),
    "an AMD GPU": replace(LAPTOP, gpus=MI300, torch_build=TorchBuild("hip", "6.4")),
    "a GPU without a name": replace(GPU_MACHINE, gpus=Gpus((Gpu("nvidia", "NVIDIA GPU", None),))),
    "a newer minor CUDA than the driver's": replace(GPU_MACHINE, torch_build=TorchBuild("cuda", "13.2")),
    "Triton 3.6 with the NumPy before": having(LAPTOP, triton="3.6.0", numpy="2.3.5"),
    "Triton 3.7 with a newer NumPy": having(LAPTOP, numpy="2.4.0"),
    "Triton 3.9": having(LAPTOP, triton="3.9.2"),
    "a CPU torch with any Triton": having(LAPTOP, triton="3.8.1"),
    "a nightly of the required Triton": replace(LAPTOP, torch_wants="pytorch-triton-rocm==3.7.1+git12ab"),
    "a Mac with a Triton of its own making": replace(LAPTOP, system="Darwin"),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_has_no_problem(name: str) -> None:
    assert problems(HEALTHY[name]) == ()


def test_where_a_notebook_is_hosted_its_own_menu_is_named_for_a_restart() -> None:
    restarts = [problems(replace(COLAB, host=host, triton_before="compiler"))[0] for host in ("Google Colab", "Kaggle")]
    assert [problem.code for problem in restarts] == ["triton_first"] * 2
    assert "Runtime > Restart session" in restarts[0].cure and "Run > Restart" in restarts[1].cure


def test_colab_opens_notebooks_without_jupyterlab_and_its_t4_is_described() -> None:
    colab = replace(COLAB, gpus=T4, torch_build=CUDA)
    assert [ability.works for ability in abilities(colab)] == [True] * 5
    assert "Google Colab" in [ability.why for ability in abilities(colab)]
    said = repr(device_of(colab, "gpu"))
    assert "GPU: Tesla T4 (sm_75). Kernels are compiled and run on it." in said
    assert "Lessons run on it in fp16 and fp32" in said


def test_every_examination_is_tested() -> None:
    for examine in EXAMINATIONS:
        assert any(examine(facts) for _, facts, _, _ in CASES), examine.__name__


def test_a_gpu_machine_that_was_told_to_interpret_needs_no_compiler_to_run_lessons() -> None:
    found = problems(replace(GPU_MACHINE, asked="1", compiler=None, cache_error="/home: Read-only"))
    assert {problem.code for problem in found} == {"interpret_on_gpu", "no_compiler", "cache_unwritable"}
    assert {problem.severity for problem in found} == {"limits"}


def test_triton_imported_first_on_a_gpu_machine_that_was_told_to_interpret() -> None:
    found = problems(replace(GPU_MACHINE, asked="1", triton_before="compiler"))
    assert [problem.code for problem in found] == ["triton_first", "interpret_on_gpu"]


def test_the_worst_problem_comes_first() -> None:
    facts = having(replace(LAPTOP, compiler=None, asked="0"), ipywidgets=None)
    assert [problem.severity for problem in problems(facts)] == ["stops", "limits", "note"]


def test_a_failed_trial_is_not_told_twice_where_its_reason_is_known() -> None:
    facts = replace(having(LAPTOP, triton="3.6.0", numpy="2.4.0"), trials={RUN: "TypeError: only 0-dimensional"})
    assert [problem.code for problem in problems(facts)] == ["numpy_breaks_triton"]


def test_every_stopping_problem_shows_in_the_table() -> None:
    for code, facts, severity, _ in CASES:
        if severity == "stops":
            assert any(code in ability.why for ability in abilities(facts) if not ability.works), code


def test_the_table_of_a_laptop_and_of_a_gpu() -> None:
    tried = replace(LAPTOP, trials={RUN: None, COMPILE: None})
    assert [(ability.works, ability.why) for ability in abilities(tried)] == [
        (True, "tried just now"),
        (True, "tried just now"),
        (False, "no GPU in use; recorded times are shown"),
        (True, "JupyterLab 4.6.6"),
        (True, "ipywidgets 8.1.9"),
    ]
    timing = abilities(replace(GPU_MACHINE, trials={TIME: None}))[2]
    assert (timing.works, timing.why) == (True, "NVIDIA H200 (sm_90), tried just now")


def test_a_problem_reads_as_a_line() -> None:
    problem = Problem("x", "It is broken.", "mend it", "stops")
    assert str(problem) == "stops: It is broken. Cure: mend it"


# --- facts ----------------------------------------------------------------------------------------------------------


def test_facts_of_this_machine_are_true() -> None:
    facts = gather(None, None)
    assert facts.versions["python"] == ".".join(map(str, sys.version_info[:3]))
    torch = pytest.importorskip("torch")
    assert facts.versions["torch"] is not None
    assert torch.__version__.startswith(facts.versions["torch"])  # metadata may leave out "+cu130"
    assert (facts.torch_build.backend == "cuda") == (torch.version.cuda is not None)
    assert (facts.gpu is not None) == torch.cuda.is_available()
    assert facts.temporary_error is None


def test_a_torch_for_cuda_names_its_triton() -> None:
    lines = ["sympy>=1.13.3", "triton==3.7.1; platform_system == 'Linux'", "opt-einsum; extra == 'opt-einsum'"]
    assert triton_requirement(lines) == "triton==3.7.1"
    assert triton_requirement(["pytorch-triton-rocm==3.5.0; platform_system == 'Linux'"]) == "pytorch-triton-rocm==3.5.0"
    assert triton_requirement(["sympy>=1.13.3", "tritonclient==2.0"]) is None


def test_torch_builds_are_read_from_text_alone() -> None:
    assert parse_torch_build("cuda: Optional[str] = None\nhip: Optional[str] = '6.4.2'") == TorchBuild("hip", "6.4.2")
    assert parse_torch_build("cuda = '12.8'") == TorchBuild("cuda", "12.8")
    assert parse_torch_build("cuda: Optional[str] = None") == TorchBuild()


def test_a_gpu_of_another_vendor_is_not_used() -> None:
    assert usable_gpu(MI300, CUDA) is None
    assert usable_gpu(Gpus((*MI300.devices, *H200.devices)), CUDA) == H200.devices[0]


def test_the_cache_is_where_triton_puts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    knobs = pytest.importorskip("triton.knobs")
    monkeypatch.delenv("TRITON_CACHE_DIR", raising=False)
    assert str(triton_cache(os.environ)) == knobs.cache.dir
    monkeypatch.setenv("TRITON_HOME", str(tmp_path))
    assert str(triton_cache(os.environ)) == knobs.cache.dir
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "own"))
    assert str(triton_cache(os.environ)) == knobs.cache.dir


def test_writable_is_found_out_by_writing_and_leaves_nothing(tmp_path: Path) -> None:
    assert why_unwritable(tmp_path) is None
    assert why_unwritable(tmp_path / "not" / "yet") is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("in the way")
    assert "file" in (why_unwritable(tmp_path / "file" / "cache") or "")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_folder_in_which_not_even_root_can_write_is_unwritable() -> None:
    assert why_unwritable(Path("/proc/cache")) is not None


def test_the_compiler_is_the_one_that_triton_would_call(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert c_compiler({}) is None
    for name in ("clang", "gcc"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
        assert Path(c_compiler({}) or "").name == name
    assert Path(c_compiler({"CC": "clang"}) or "").name == "clang"
    assert c_compiler({"CC": "no-such-compiler"}) is None


# --- trials ---------------------------------------------------------------------------------------------------------


def test_a_kernel_can_be_interpreted_and_compiled_here_unless_numpy_is_too_new() -> None:
    pytest.importorskip("triton")
    made = trial.make_trials([RUN, COMPILE])
    codes = [problem.code for problem in problems(replace(gather(None, None), trials=made))]
    assert (made[RUN] is not None) == ("numpy_breaks_triton" in codes)
    assert made[COMPILE] is None
    assert not any(code.startswith("trial_") for code in codes)


def test_a_trial_that_fails_gives_its_last_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setitem(trial.SETTINGS, COMPILE, {**trial.SETTINGS[COMPILE], "TRITON_CACHE_DIR": str(tmp_path / "file/x")})
    assert "file/x" in (trial.make_trials([COMPILE])[COMPILE] or "")
