"""What the first cell calls in Colab and Kaggle, where nothing need be installed. Installing is tested in test_in_colab.py."""

from __future__ import annotations

import os
from importlib import metadata
from pathlib import Path

import pytest

from course_lib import hosted
from course_lib.device import device_of
from course_lib.doctor.facts import Facts


@pytest.fixture
def kaggle(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """This process takes itself for a notebook in Kaggle, and all that the course needs is there."""
    monkeypatch.setenv("KAGGLE_KERNEL_RUN_TYPE", "Interactive")
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(hosted, "lacking", lambda requirements, there: [])
    return monkeypatch


def test_on_a_machine_of_ones_own_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    hosted.ready()
    assert capsys.readouterr().out == ""


def test_it_says_where_it_is_and_what_stayed(kaggle: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    hosted.ready()
    said = capsys.readouterr().out
    assert "is ready in Kaggle." in said and "You need not restart anything." in said
    kept = f"torch {metadata.version('torch')}, triton {metadata.version('triton')}"
    assert f"Kept: {kept} and all else that was there. Added: nothing." in said


def test_it_does_not_call_ready_what_must_be_restarted(kaggle: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    kaggle.setattr(hosted, "device", lambda: device_of(Facts(host="Kaggle", triton_before="compiler"), "interpreter"))
    hosted.ready()
    said = capsys.readouterr().out
    assert "cannot run yet in Kaggle." in said and "Run > Restart & clear cell outputs" in said
    assert "need not restart" not in said


def test_a_cache_that_can_be_written_to_is_kept_and_another_is_replaced(kaggle: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hosted.ready()
    assert os.environ["TRITON_CACHE_DIR"] == str(tmp_path)
    kaggle.setenv("TRITON_CACHE_DIR", "/proc/cache")
    hosted.ready()
    chosen = Path(os.environ["TRITON_CACHE_DIR"])
    chosen.rmdir()
    assert chosen.name.startswith("triton-")


def test_a_pip_that_fails_is_told_with_its_words(kaggle: pytest.MonkeyPatch) -> None:
    kaggle.setattr(hosted, "lacking", lambda requirements, there: ["no-such-package-anywhere"])
    kaggle.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(hosted.CannotInstall, match=r"(?s)Settings > Turn on internet.*No matching distribution found"):
        hosted.ready()


def test_what_is_there_is_not_lacking_in_whatever_version() -> None:
    there = {"torch": "1.0", "triton-windows": "9.9"}
    assert hosted.lacking(["torch>=2.6", "triton<3.10,>=3.6; sys_platform == 'linux'", "Typer>=0.1"], there) == ["Typer>=0.1"]
    assert hosted.lacking(["triton-windows; sys_platform == 'win32'", "ruff; extra == 'dev'"], {}) == []


def test_of_two_versions_the_one_that_python_imports_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, version in (("first", "2.0"), ("second", "1.0")):
        info = tmp_path / place / f"twice-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: Twice\nVersion: {version}\n")
    for place in ("second", "first"):
        monkeypatch.syspath_prepend(str(tmp_path / place))
    assert hosted.installed()["twice"] == "2.0"
