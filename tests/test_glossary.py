"""The glossary and the index: each word has its lesson, which uses it, and the page holds all that the catalogue has."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from course_lib import catalog
from course_lib.__main__ import app
from course_lib.catalog.glossary import TERMS, Term, UnknownTerm, find_term
from course_lib.words import glossary, told
from tools import book, index

ROOT = Path(__file__).resolve().parents[1]
PAGE = index.page(catalog.LESSONS, TERMS)


def lesson_text(number: str) -> str:
    (name,) = [lesson.name for lesson in catalog.LESSONS if lesson.name.startswith(f"{number}_")]
    return (ROOT / "lessons" / f"{name}.md").read_text(encoding="utf-8")


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_the_lesson_of_a_word_uses_it(term: Term) -> None:
    assert re.search(rf"\b{re.escape(term.used_as or term.name)}", lesson_text(term.lesson), re.IGNORECASE)


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.name)
def test_a_meaning_is_one_to_three_short_sentences(term: Term) -> None:
    assert term.meaning[0].isupper() or term.meaning[0] in "0123456789`" or term.meaning.startswith("fp32")
    assert term.meaning.endswith((".", ".)"))
    assert len(term.meaning) < 200
    assert not term.cuda.endswith(".")


def test_words_come_once_and_in_order() -> None:
    names = [term.name.lower() for term in TERMS]
    assert names == sorted(set(names))
    assert len(names) >= 50


@pytest.mark.parametrize("asked", ["mask", "Mask", "masks", "`mask`", " MASK "])
def test_a_word_is_found_however_it_is_written(asked: str) -> None:
    assert find_term(asked).name == "mask"


@pytest.mark.parametrize(
    ("asked", "offered"),
    [("memory", "'shared memory'"), ("bandwidth", "'effective bandwidth'"), ("mosk", "'mask'"), ("zebra", "course glossary")],
)
def test_an_unknown_word_leads_to_the_nearest(asked: str, offered: str) -> None:
    with pytest.raises(UnknownTerm, match=offered):
        find_term(asked)


def test_a_word_is_told_with_cuda_and_its_lesson() -> None:
    assert told(find_term("barrier")).endswith("In CUDA: `__syncthreads()`. Lesson 01, From warps to tiles.")
    assert "In CUDA" not in told(find_term("tf32"))


def test_without_a_word_all_are_listed() -> None:
    assert str(glossary()).split(", ") == [term.name for term in TERMS]


def test_the_public_name_needs_neither_torch_nor_triton_before_a_word_is_asked_for() -> None:
    code = "import sys, course_lib; course_lib.glossary; print({'torch', 'triton'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "set()"


def test_the_command_tells_and_lists_and_refuses() -> None:
    run = CliRunner().invoke
    told_mask, listed, refused = run(app, ["glossary", "mask"]), run(app, ["glossary"]), run(app, ["glossary", "memory"])
    assert told_mask.stdout.strip() == str(glossary("mask"))
    assert "occupancy, online softmax" in listed.stdout
    assert refused.exit_code == 2
    assert "shared memory" in refused.output


# --- the page ---------------------------------------------------------------------------------------------------------


def test_the_stored_page_is_in_step() -> None:
    assert index.faults(ROOT, PAGE) == []


def test_the_page_has_every_item_and_word_once() -> None:
    for item in catalog.items():
        assert len(re.findall(rf"`{item.name}[`(]", PAGE)) >= 1, item.name
    for term in TERMS:
        assert PAGE.count(f"\n| {term.name} | ") == 1


def test_links_of_the_page_lead_to_files() -> None:
    links = set(re.findall(r"\]\(([^)]+\.ipynb)\)", PAGE))
    assert len(links) > len(catalog.LESSONS)
    assert [link for link in sorted(links) if not (ROOT / link).exists()] == []


def test_a_page_that_is_missing_or_changed_is_a_fault(tmp_path: Path) -> None:
    assert index.faults(tmp_path, PAGE) == ["INDEX.md is missing; run `make build`."]
    index.write(tmp_path, PAGE)
    assert index.faults(tmp_path, PAGE) == []
    index.write(tmp_path, PAGE.replace("# Index", "# Contents"))
    assert "from line 1 on" in index.faults(tmp_path, PAGE)[0]
    index.write(tmp_path, PAGE + "more\n")
    assert "from its end on" in index.faults(tmp_path, PAGE)[0]


def test_an_unwritten_lesson_is_not_on_the_page_and_no_word_may_lead_there() -> None:
    first = catalog.LESSONS[0]
    page = index.page([first, replace(catalog.LESSONS[1], written=False)], [find_term("mask")])
    assert "warp_max" not in page
    with pytest.raises(ValueError, match="no such lesson"):
        index.page([first], [find_term("occupancy")])


def test_a_bar_in_a_meaning_does_not_end_its_cell() -> None:
    page = index.page(catalog.LESSONS[:1], [Term("or", "Written `a | b`.", "00")])
    assert r"| or | Written `a \| b`. |  | [00]" in page


def test_in_the_book_links_lead_from_page_to_page() -> None:
    text = "[a](../INDEX.md) [b](INDEX.md) [c](notebooks/00_start_here.ipynb#x) [d](https://example.org/a.ipynb)"
    shown = book.as_html(nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(text)]), "Links")
    for link in ("../words.html", "words.html", "notebooks/00_start_here.html#x", "https://example.org/a.ipynb"):
        assert f'href="{link}"' in shown
