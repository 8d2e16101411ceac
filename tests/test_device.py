"""The decision that importing course_lib takes, and the value that lessons show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from course_lib import device as device_now
from course_lib.device import Decision, decide, device_of, switched_off, switched_on
from course_lib.doctor.facts import Facts, TorchBuild, TritonMode
from course_lib.doctor.gpu import Gpu, Gpus, find_gpus, gfx_name, hidden

ROOT = Path(__file__).resolve().parents[1]
H200 = Gpus((Gpu("nvidia", "NVIDIA H200", "sm_90"),), driver="580.65", driver_cuda="13.0")
CUDA = TorchBuild("cuda", "13.0")


def python(code: str, **environment: str) -> str:
    """What a new Python without a GPU prints; raises with its errors if it fails."""
    kept = {name: value for name, value in os.environ.items() if name not in ("TRITON_INTERPRET", "PYTHONWARNINGS")}
    hide = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=kept | hide | environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


# --- importing ------------------------------------------------------------------------------------------------------


def test_importing_course_lib_imports_no_heavy_package() -> None:
    heavy = ["torch", "triton", "numpy", "matplotlib", "rich", "typer", "IPython", "filelock", "course_lib.catalog"]
    assert python(f"import sys, course_lib; print([m for m in {heavy} if m in sys.modules])") == "[]\n"


def test_asking_for_the_device_and_its_problems_imports_neither_torch_nor_triton() -> None:
    code = "import sys, course_lib; repr(course_lib.device()); print('torch' in sys.modules, 'triton' in sys.modules)"
    assert python(code) == "False False\n"


def test_without_a_gpu_triton_interprets_after_importing_course_lib() -> None:
    code = "import course_lib, triton.language as tl; print(type(tl.sum).__name__)"
    assert python(code) == "InterpretedFunction\n"


@pytest.mark.parametrize("setting", ["0", "false", "1", "on", "t"])
def test_a_setting_of_the_user_is_left_alone(setting: str) -> None:
    code = "import os, course_lib; print(os.environ['TRITON_INTERPRET'])"
    assert python(code, TRITON_INTERPRET=setting) == f"{setting}\n"


def test_triton_imported_first_is_told_on_first_use_with_the_cure() -> None:
    code = """
import triton, course_lib
course_lib._LAZY["check"] = "os.path"  # anything that has an attribute of the name
import os.path; os.path.check = print
assert "triton_first" in [problem.code for problem in course_lib.device().problems]
print("before use", flush=True)
from course_lib import check
"""
    said = python(code)
    assert said.index("before use") < said.index("Restart the kernel")


def test_triton_imported_first_leaves_the_environment_alone() -> None:
    code = "import os, triton, course_lib; print(os.environ.get('TRITON_INTERPRET'))"
    assert python(code) == "None\n"


def test_triton_imported_first_but_interpreting_is_no_problem() -> None:
    code = "import triton, course_lib; print([p.code for p in course_lib.device().problems if p.code == 'triton_first'])"
    assert python(code, TRITON_INTERPRET="1") == "[]\n"


def test_the_functions_win_over_the_modules_of_the_same_name() -> None:
    code = """
import course_lib.progress, course_lib.device
from course_lib.progress import record
from course_lib import progress, device
print(callable(progress), callable(device))
"""
    assert python(code) == "True True\n"


def test_a_wrong_name_lists_what_there_is() -> None:
    import course_lib

    with pytest.raises(AttributeError, match="check, compile_for, device, glossary, hint, occupancy, progress, quiz, trace"):
        course_lib.chek  # noqa: B018
    assert {"check", "quiz", "trace"} <= set(dir(course_lib))


# --- the guard ------------------------------------------------------------------------------------------------------

FAKE_HOOKS = """
import sys, types
hooks = types.ModuleType("course_lib.checking.hooks")
hooks.install_guard = lambda: print("installed, Triton complete:", hasattr(sys.modules["triton"], "language"))
sys.modules["course_lib.checking.hooks"] = hooks
"""


def test_the_guard_is_installed_once_when_triton_has_been_imported() -> None:
    code = FAKE_HOOKS + "import course_lib; print('waiting'); import triton; import triton.runtime.interpreter"
    assert python(code) == "waiting\ninstalled, Triton complete: True\n"


def test_the_guard_is_installed_at_once_when_triton_interprets_already() -> None:
    code = FAKE_HOOKS + "import triton; print('waiting'); import course_lib"
    assert python(code, TRITON_INTERPRET="1") == "waiting\ninstalled, Triton complete: True\n"


def test_the_guard_keeps_out_of_a_process_that_compiles() -> None:
    code = FAKE_HOOKS + "import course_lib, triton, triton.runtime.interpreter; print('nothing')"
    assert python(code, TRITON_INTERPRET="0") == "nothing\n"


def test_a_guard_that_cannot_be_installed_does_not_stop_the_import_of_triton() -> None:
    code = FAKE_HOOKS + "hooks.install_guard = lambda: 1 / 0\nimport course_lib, triton; print(triton.__name__)"
    said = python(code)
    assert "triton\n" in said
    assert "without the guard" in said


# --- the decision ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "before", "gpu", "mode", "sets"),
    [
        (None, None, False, "interpreter", True),
        ("", None, False, "interpreter", True),
        (None, None, True, "gpu", False),
        ("1", None, True, "interpreter", False),
        ("yes", None, True, "interpreter", False),
        ("0", None, True, "gpu", False),
        ("0", None, False, "interpreter", False),
        (None, "compiler", False, "interpreter", False),
        (None, "compiler", True, "gpu", False),
        (None, "interpreter", True, "interpreter", True),
    ],
)
def test_how_kernels_run(asked: str | None, before: TritonMode | None, gpu: bool, mode: str, sets: bool) -> None:
    decision = decide(asked, before, lambda: gpu)
    assert (decision.mode, decision.set_interpret) == (mode, sets)


def test_a_clear_setting_needs_no_look_for_a_gpu() -> None:
    def look() -> bool:
        raise AssertionError("looked for a GPU")

    assert decide("1", None, look).mode == "interpreter"


@pytest.mark.parametrize(
    ("decision", "late"),
    [
        (Decision("interpreter", None, "compiler", False), True),
        (Decision("interpreter", "1", "compiler", False), True),
        (Decision("interpreter", "0", "compiler", False), False),  # as a process that only compiles asks for
        (Decision("interpreter", None, "interpreter", True), False),
        (Decision("gpu", None, "compiler", False), False),
    ],
)
def test_when_triton_came_too_early(decision: Decision, late: bool) -> None:
    assert decision.too_late is late


@pytest.mark.parametrize("value", ["1", "0", "true", "TRUE", "on", "y", "t", "off", "2", "", " 1", "enabled"])
def test_what_counts_as_on_is_what_triton_takes_for_on(value: str) -> None:
    code = "import triton.knobs as knobs; print(knobs.runtime.interpret)"
    assert python(code, TRITON_INTERPRET=value) == f"{switched_on(value)}\n"
    assert not (switched_on(value) and switched_off(value))


# --- GPUs -----------------------------------------------------------------------------------------------------------


def test_hidden_gpus_are_not_found() -> None:
    assert hidden("") and hidden("-1") and hidden(" ") and not hidden("0") and not hidden(None)
    assert find_gpus({"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": ""}) == Gpus()


def test_names_of_amd_architectures() -> None:
    assert [gfx_name(number) for number in (90402, 90010, 120001, 0)] == ["gfx942", "gfx90a", "gfx1201", None]


@pytest.mark.gpu
def test_the_gpu_is_found_as_torch_sees_it() -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU that torch can use")
    gpu = find_gpus().devices[0]
    major, minor = torch.cuda.get_device_capability(0)
    assert torch.version.hip or (gpu.name, gpu.arch) == (torch.cuda.get_device_name(0), f"sm_{major}{minor}")


# --- what lessons show ----------------------------------------------------------------------------------------------


def test_a_laptop_shows_itself_in_two_lines() -> None:
    shown = device_of(Facts(), "interpreter")
    assert repr(shown).splitlines() == [
        "No GPU in use: kernels run in Triton's interpreter, on the CPU (x86_64).",
        "  python 3.11.7 · torch 2.13.0+cpu · triton 3.7.1 · numpy 2.3.5",
    ]
    assert (shown.arch, shown.torch_device, shown.problems) == (None, "cpu", ())


def test_a_gpu_shows_its_name_architecture_and_driver() -> None:
    shown = device_of(Facts(gpus=H200, torch_build=CUDA), "gpu")
    assert (shown.mode, shown.name, shown.arch, shown.torch_device) == ("gpu", "NVIDIA H200", "sm_90", "cuda")
    assert "NVIDIA H200 (sm_90)" in repr(shown)
    assert "driver 580.65" in repr(shown)


def test_problems_are_shown_with_their_cures_and_escaped() -> None:
    shown = device_of(Facts(asked="<b>"), "interpreter")
    assert "'<b>'" in repr(shown)
    assert "&lt;b&gt;" in shown._repr_html_()
    assert "unset TRITON_INTERPRET" in shown._repr_html_()


def test_the_device_of_this_process_agrees_with_its_mode() -> None:
    assert device_now().torch_device == {"gpu": "cuda", "interpreter": "cpu"}[device_now().mode]
