"""What can be wrong with a machine: one pure function of `Facts` for each problem.

To teach the doctor a new problem, write a function `_name(facts) -> Problem | None`, and add it to `EXAMINATIONS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from course_lib.device import switched_off, switched_on
from course_lib.doctor.facts import Facts, driver_too_old
from course_lib.doctor.model import COMPILE, NOTEBOOKS, REINSTALL, RUN, TIME, WIDGETS, Problem, Severity


def numbers(version: str | None) -> tuple[int, ...]:
    """The leading numbers of a version, for comparison; empty for None.

    >>> numbers("2.13.0+cpu"), numbers(None)
    ((2, 13, 0), ())
    """
    match = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(map(int, match.group().split("."))) if match else ()


# --- the packages ---------------------------------------------------------------------------------------------------


def _torch_missing(facts: Facts) -> Problem | None:
    if facts.versions.get("torch"):
        return None
    what = "PyTorch is not installed; tensors and reference results come from it."
    return Problem("torch_missing", what, REINSTALL, "stops", frozenset({RUN, COMPILE, TIME}))


def _triton_missing(facts: Facts) -> Problem | None:
    if facts.versions.get("triton") or facts.system in ("Darwin", "Windows"):
        return None
    what = "Triton is not installed."
    return Problem("triton_missing", what, REINSTALL, "stops", frozenset({RUN, COMPILE, TIME}))


def _macos(facts: Facts) -> Problem | None:
    if facts.system != "Darwin" or facts.versions.get("triton"):
        return None
    what = "This is macOS, and there is no Triton package for macOS."
    cure = (
        "run the course in a Linux container, in this folder: docker run --rm -it -p 8888:8888 "
        '-v "$PWD":/course -w /course python:3.11 make lab LAB_ARGS=--ip=0.0.0.0; or in any Linux machine or VM'
    )
    return Problem("macos", what, cure, "stops", frozenset({RUN, COMPILE, TIME}))


def _windows(facts: Facts) -> Problem | None:
    if facts.system != "Windows":
        return None
    if facts.versions.get("triton"):
        what = "Checks start a new Python each time on Windows, which takes seconds, and the course is not tested there."
        return Problem("windows", what, "for the tested way, `wsl --install`, then follow the README in Ubuntu", "note")
    what = "This is Windows, and there is no official Triton package for Windows."
    cure = "`wsl --install`, then follow the README in Ubuntu; or, outside WSL, pip install triton-windows"
    return Problem("windows", what, cure, "stops", frozenset({RUN, COMPILE, TIME}))


def _triton_untested(facts: Facts) -> Problem | None:
    triton = numbers(facts.versions.get("triton"))
    if not triton or (3, 6) <= triton[:2] <= (3, 9):
        return None
    what = f"Triton {facts.versions['triton']} is outside 3.6 to 3.9, the versions that this course knows."
    return Problem("triton_untested", what, f"in an environment of its own: {REINSTALL}", "limits")


def _mismatch(facts: Facts) -> Problem | None:
    wanted, triton = facts.torch_wants, facts.versions.get("triton")
    match = re.search(r"==\s*([^\s,]+)", wanted or "")
    if not match or not triton or numbers(match.group(1)) == numbers(triton):
        return None
    what = f"torch {facts.versions.get('torch')} requires {wanted}, but Triton {triton} is installed."
    return Problem("torch_triton_mismatch", what, f"pip install '{wanted}'", "limits")


def _numpy(facts: Facts) -> Problem | None:
    triton, numpy = numbers(facts.versions.get("triton")), numbers(facts.versions.get("numpy"))
    if triton[:2] != (3, 6) or numpy[:2] < (2, 4):
        return None
    what = (
        f"Triton 3.6's interpreter fails with NumPy {facts.versions['numpy']}: a loop with a runtime bound raises "
        '"only 0-dimensional arrays can be converted to Python scalars".'
    )
    return Problem("numpy_breaks_triton", what, "pip install 'numpy<2.4', then restart the kernel", "stops", frozenset({RUN}))


def _jupyterlab(facts: Facts) -> Problem | None:
    if facts.versions.get("jupyterlab") or facts.host:
        return None
    what = "JupyterLab is not installed (other editors of notebooks do without)."
    return Problem("no_jupyterlab", what, "pip install jupyterlab", "limits", frozenset({NOTEBOOKS}))


def _ipywidgets(facts: Facts) -> Problem | None:
    if facts.versions.get("ipywidgets"):
        return None
    what = "ipywidgets is not installed: figures stand still instead of having sliders."
    return Problem("no_ipywidgets", what, "pip install ipywidgets", "limits", frozenset({WIDGETS}))


# --- how Triton was told to run ------------------------------------------------------------------------------------


def _triton_first(facts: Facts) -> Problem | None:
    interpreting = switched_on(facts.asked) or not (facts.gpu or switched_off(facts.asked))
    if facts.triton_before != "compiler" or not interpreting:
        return None
    what = "Triton was imported before course_lib, so it compiles for a GPU instead of interpreting."
    menu = {"Google Colab": "Runtime > Restart session", "Kaggle": "Run > Restart & clear cell outputs"}
    restart = menu.get(facts.host or "", "Kernel > Restart Kernel…")
    cure = f"restart the kernel ({restart}), and import course_lib above triton"
    return Problem("triton_first", what, cure, "stops", frozenset({RUN}))


def _interpret_setting(facts: Facts) -> Problem | None:
    asked = (facts.asked or "").strip()
    if not asked:
        return None
    said = f"TRITON_INTERPRET is set to {facts.asked!r}"
    remove = "remove it where it is set (in a shell: unset TRITON_INTERPRET), then start again; the course sets it as needed"
    if switched_on(facts.asked):
        if not facts.gpu:
            return None
        what = f"{said}: kernels are interpreted on the CPU, although there is a GPU ({facts.gpu.name})."
        return Problem("interpret_on_gpu", what, remove, "limits", frozenset({TIME}))
    understood = switched_off(facts.asked)
    meaning = "" if understood else ", which Triton does not understand and takes for 0"
    if facts.gpu:
        return None if understood else Problem("interpret_value", f"{said}{meaning}.", remove, "note")
    what = f"{said}{meaning}: kernels would be compiled, and there is no GPU here to run them."
    return Problem("interpret_off" if understood else "interpret_value", what, remove, "stops", frozenset({RUN}))


# --- the GPU --------------------------------------------------------------------------------------------------------


def _torch_cannot_use_gpu(facts: Facts) -> Problem | None:
    if not facts.gpus.devices or facts.gpu or not facts.versions.get("torch"):
        return None
    there, torch = facts.gpus.devices[0], facts.versions["torch"]
    build = facts.torch_build
    if driver_too_old(facts.gpus, build):
        what = (
            f"The GPU ({there.name}) is not used: its driver ({facts.gpus.driver}) serves CUDA "
            f"{facts.gpus.driver_cuda}, and torch {torch} needs CUDA {build.version}."
        )
        return Problem("driver_too_old", what, "update the NVIDIA driver, or install a torch for an older CUDA", "limits")
    kind = {"cuda": "a CUDA build", "hip": "a ROCm build", None: "a CPU build"}[build.backend]
    what = f"There is a GPU ({there.name}), but torch {torch} is {kind} and cannot use it."
    cure = "choose the build for this GPU at https://pytorch.org/get-started/locally, in an environment of its own"
    return Problem("torch_build", what, cure, "limits")


def _no_gpu_chosen(facts: Facts) -> Problem | None:
    if facts.host is None or facts.gpus.devices:
        return None
    menus = {"Google Colab": "Runtime > Change runtime type > T4 GPU", "Kaggle": "Settings > Accelerator > GPU T4 x2"}
    what = f"{facts.host} runs this notebook without a GPU. Only times of your own are missing."
    cure = f"for a GPU, choose {menus[facts.host]}; everything starts afresh then, so run the notebook from its first cell"
    return Problem("no_gpu_chosen", what, cure, "note")


def _old_gpu(facts: Facts) -> Problem | None:
    capability = _capability(facts)
    if capability is None or capability >= 80 or facts.gpu is None:
        return None
    what = f"{facts.gpu.name} is sm_{capability}; Triton supports sm_80 and newer."
    if capability >= 75:
        what += " Lessons run on it in fp16 and fp32; bfloat16, TF32 and asynchronous copies are missing in its hardware."
        cure = "keep to fp16 and fp32; or, if something fails, to the CPU: set TRITON_INTERPRET=1 before starting"
        return Problem("old_gpu", what, cure, "note")
    cure = "keep to the CPU: set CUDA_VISIBLE_DEVICES= (empty) before starting"
    return Problem("old_gpu", what + " Kernels may not compile for it.", cure, "limits", frozenset({TIME}))


def _capability(facts: Facts) -> int | None:
    arch = facts.gpu.arch if facts.gpu else None
    return int(arch.removeprefix("sm_")) if arch and arch.startswith("sm_") else None


def _compiler(facts: Facts) -> Problem | None:
    if facts.compiler and facts.python_header:
        return None
    code = "no_compiler" if not facts.compiler else "no_python_header"
    lacking = "no C compiler (gcc or clang)" if not facts.compiler else "no Python.h (Python's development files)"
    cure = "apt install gcc python3-dev (Debian, Ubuntu), or conda install -c conda-forge c-compiler"
    if not facts.gpu:
        what = f"There is {lacking}. Triton needs it only to launch on a GPU, so nothing is lost here."
        return Problem(code, what, f"none needed without a GPU; with one, {cure}", "note")
    what = f"There is {lacking}, which Triton needs to launch a kernel on the GPU."
    return Problem(code, what, cure, _without_launches(facts), frozenset({TIME}))


# --- folders --------------------------------------------------------------------------------------------------------


def _cache(facts: Facts) -> Problem | None:
    if not facts.cache_error:
        return None
    what = f"Triton's cache {facts.cache} cannot be written to ({facts.cache_error}), so nothing can be compiled."
    cure = "before starting, choose a local folder of your own: export TRITON_CACHE_DIR=/tmp/triton-$USER"
    return Problem("cache_unwritable", what, cure, _without_launches(facts), frozenset({COMPILE, TIME}))


def _without_launches(facts: Facts) -> Severity:
    """How bad it is that nothing can be launched on a GPU: lessons stop where that is how they would run."""
    return "stops" if facts.gpu and not switched_on(facts.asked) else "limits"


def _temporary(facts: Facts) -> Problem | None:
    if not facts.temporary_error:
        return None
    what = f"The folder for temporary files cannot be written to ({facts.temporary_error}); checks run in one."
    cure = "before starting, choose a folder of your own: mkdir -p ~/tmp; export TMPDIR=~/tmp"
    return Problem("tmp_unwritable", what, cure, "stops", frozenset({RUN, COMPILE, TIME}))


EXAMINATIONS: tuple[Callable[[Facts], Problem | None], ...] = (
    _torch_missing,
    _triton_missing,
    _macos,
    _windows,
    _triton_untested,
    _mismatch,
    _numpy,
    _triton_first,
    _interpret_setting,
    _torch_cannot_use_gpu,
    _no_gpu_chosen,
    _old_gpu,
    _compiler,
    _cache,
    _temporary,
    _jupyterlab,
    _ipywidgets,
)
