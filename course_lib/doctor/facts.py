"""What can be seen of this machine, gathered in one place as a frozen value.

Neither torch nor Triton is imported: versions come from package metadata, torch's CUDA build from the text of its
`version.py`. Not here: what the facts mean (`examinations.py`).
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from course_lib.doctor.gpu import Gpu, Gpus, find_gpus

TritonMode = Literal["interpreter", "compiler"]
Host = Literal["Google Colab", "Kaggle"]

PACKAGES = ("torch", "triton", "numpy", "jupyterlab", "ipywidgets")
TRITON_PACKAGES = ("triton", "triton-windows", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")


@dataclass(frozen=True)
class TorchBuild:
    """What torch was built for: "cuda" or "hip" with its version, or neither."""

    backend: Literal["cuda", "hip"] | None = None
    version: str | None = None


@dataclass(frozen=True)
class Facts:
    """Everything that `examinations.py` judges. The defaults are a healthy laptop with Linux and no GPU.

    `asked` is `TRITON_INTERPRET` as it was before this course touched it; `triton_before` the mode in which Triton had
    been imported by then. `…_error` is None when the folder can be written to, else the reason. `trials` holds, by the
    name of a trial (`trial.py`), None if it went well or what went wrong; a trial that was not made is absent. `host` is who
    runs the notebook, None on a machine of one's own.
    """

    system: str = "Linux"
    machine: str = "x86_64"
    versions: Mapping[str, str | None] = field(
        default_factory=lambda: {
            "python": "3.11.7",
            "torch": "2.13.0+cpu",
            "triton": "3.7.1",
            "numpy": "2.3.5",
            "jupyterlab": "4.6.6",
            "ipywidgets": "8.1.9",
        }
    )
    torch_build: TorchBuild = field(default_factory=TorchBuild)
    torch_wants: str | None = None
    gpus: Gpus = field(default_factory=Gpus)
    asked: str | None = None
    triton_before: TritonMode | None = None
    compiler: str | None = "/usr/bin/gcc"
    python_header: bool = True
    cache: Path = Path("~/.triton/cache")
    cache_error: str | None = None
    temporary: Path = Path("/tmp")
    temporary_error: str | None = None
    trials: Mapping[str, str | None] = field(default_factory=dict)
    host: Host | None = None

    @property
    def gpu(self) -> Gpu | None:
        """The first GPU that torch, and so Triton, can launch kernels on."""
        return usable_gpu(self.gpus, self.torch_build)


def gather(asked: str | None, triton_before: TritonMode | None, trials: Mapping[str, str | None] | None = None) -> Facts:
    """Look at this machine. Costs some ten milliseconds; `asked` and `triton_before` come from `device.prepare()`."""
    cache = triton_cache(os.environ)
    temporary = Path(_temporary_folder())
    return Facts(
        system=platform.system(),
        machine=platform.machine(),
        versions={"python": platform.python_version()} | {name: version(name) for name in PACKAGES},
        torch_build=torch_build(),
        torch_wants=torch_wants(),
        gpus=find_gpus(),
        asked=asked,
        triton_before=triton_before,
        compiler=c_compiler(os.environ),
        python_header=_python_header(),
        cache=cache,
        cache_error=why_unwritable(cache),
        temporary=temporary,
        temporary_error=why_unwritable(temporary),
        trials=dict(trials or {}),
        host=find_host(),
    )


def find_host(environ: Mapping[str, str] = os.environ, modules: Container[str] = sys.modules) -> Host | None:
    """Who runs this notebook, or the command that was started from it. Kaggle has Colab's module, too.

    >>> find_host({"KAGGLE_KERNEL_RUN_TYPE": "Batch"}, ["google.colab"]), find_host({}, ["google.colab"]), find_host({}, ())
    ('Kaggle', 'Google Colab', None)
    """
    if "KAGGLE_KERNEL_RUN_TYPE" in environ:
        return "Kaggle"
    return "Google Colab" if "google.colab" in modules or "COLAB_RELEASE_TAG" in environ else None


def usable_gpu(gpus: Gpus, build: TorchBuild) -> Gpu | None:
    """The first GPU that this torch was built for and this driver can serve; Triton asks torch before it launches."""
    wanted = {"cuda": "nvidia", "hip": "amd"}.get(build.backend or "")
    if wanted == "nvidia" and driver_too_old(gpus, build):
        return None
    return next((gpu for gpu in gpus.devices if gpu.vendor == wanted), None)


def driver_too_old(gpus: Gpus, build: TorchBuild) -> bool:
    """Whether torch's CUDA is of a later major version than the driver serves (minor versions are compatible).

    Source: CUDA Compatibility, "Minor Version Compatibility".
    """
    if build.backend != "cuda" or build.version is None or gpus.driver_cuda is None:
        return False
    return int(build.version.split(".")[0]) > int(gpus.driver_cuda.split(".")[0])


def triton_in_process() -> TritonMode | None:
    """How Triton was imported here: its own library functions are built in one mode, once. None if it was not."""
    language = sys.modules.get("triton.language")
    if language is None or not hasattr(language, "sum"):
        return None
    return "interpreter" if type(language.sum).__name__ == "InterpretedFunction" else "compiler"


def version(package: str) -> str | None:
    """The installed version of a package, by its metadata alone; Triton counts under any of its names.

    >>> version("no-such-package-anywhere")
    """
    from importlib import metadata

    for name in TRITON_PACKAGES if package == "triton" else (package,):
        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return None


def torch_wants() -> str | None:
    """The Triton that the installed torch requires, such as "triton==3.7.1"; None for a build that names none."""
    from importlib import metadata

    try:
        lines = metadata.requires("torch") or []
    except metadata.PackageNotFoundError:
        return None
    return triton_requirement(lines)


def triton_requirement(lines: list[str]) -> str | None:
    """The requirement on Triton among a package's requirements, without its marker.

    >>> triton_requirement(["sympy>=1.13", "triton==3.7.1; platform_system == 'Linux'"])
    'triton==3.7.1'
    """
    names = "|".join(TRITON_PACKAGES)
    found = (re.match(rf"(?:{names})\s*[=<>!~][^;]*", line) for line in lines if "extra ==" not in line)
    return next((match.group().strip() for match in found if match), None)


def torch_build() -> TorchBuild:
    """What the installed torch was built for, read from its `version.py` without running it."""
    spec = find_spec("torch")
    for folder in (spec and spec.submodule_search_locations) or ():
        try:
            return parse_torch_build((Path(folder) / "version.py").read_text())
        except OSError:
            continue
    return TorchBuild()


def parse_torch_build(text: str) -> TorchBuild:
    """Read torch's `version.py`.

    >>> parse_torch_build("cuda: Optional[str] = '13.0'\\nhip: Optional[str] = None")
    TorchBuild(backend='cuda', version='13.0')
    """
    backends: tuple[Literal["cuda", "hip"], ...] = ("cuda", "hip")
    for backend in backends:
        if match := re.search(rf"^{backend}\b[^=\n]*=\s*['\"]([^'\"]+)", text, re.MULTILINE):
            return TorchBuild(backend, match.group(1))
    return TorchBuild()


def triton_cache(environ: Mapping[str, str]) -> Path:
    """Where Triton keeps what it compiled (its `knobs.py`: TRITON_CACHE_DIR, else TRITON_HOME, else the home folder).

    >>> triton_cache({"TRITON_HOME": "/scratch"}).as_posix()
    '/scratch/.triton/cache'
    """
    if chosen := environ.get("TRITON_CACHE_DIR"):
        return Path(chosen)
    return Path(environ.get("TRITON_HOME") or os.path.expanduser("~")) / ".triton" / "cache"


def why_unwritable(folder: Path) -> str | None:
    """None if files can be made in `folder`, or the folder itself can be; else the reason. Leaves nothing behind."""
    nearest = folder
    while not nearest.exists() and nearest != nearest.parent:
        nearest = nearest.parent
    try:
        with tempfile.TemporaryFile(dir=nearest):
            return None
    except OSError as error:
        return f"{nearest}: {error.strerror or error}"


def c_compiler(environ: Mapping[str, str]) -> str | None:
    """The C compiler that Triton would call to build its launcher: CC, else gcc, else clang."""
    if chosen := environ.get("CC"):
        return shutil.which(chosen)
    return shutil.which("gcc") or shutil.which("clang")


def _python_header() -> bool:
    import sysconfig

    return Path(sysconfig.get_paths()["include"], "Python.h").exists()


def _temporary_folder() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:  # it has tried TMPDIR, /tmp, /var/tmp and the current folder in vain
        return os.environ.get("TMPDIR", "/tmp")
