"""Render all notebooks and INDEX.md as plain web pages in book/, with a first page: the course to read, without Jupyter.

    python -m tools.book

Pages show the stored outputs; nothing is run. Formulas are drawn by MathJax from the web.
"""

from __future__ import annotations

import html
import re
import shutil
import sys
from pathlib import Path

import nbformat
from jinja2 import DictLoader
from nbconvert import HTMLExporter
from nbformat import NotebookNode

from tools import index
from tools.build import BUILT, ROOT

WORDS = "words.html"
"""The page that INDEX.md becomes. Some file systems could not tell INDEX.html from index.html."""

PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>From Warps to Tiles</title>
<style>body {{ font: 18px/1.6 sans-serif; max-width: 45em; margin: 2em auto; padding: 0 1em }}</style>
<h1>From Warps to Tiles</h1>
<p>Read the lessons here; run them, and let your answers be judged, in Jupyter.</p>
<ol>
{rows}
</ol>
<p><a href="words.html">All exercises, quizzes and words</a></p>
</html>
"""


def render(root: Path, book: Path) -> list[Path]:
    """Write one page for each built notebook below `book`, one for INDEX.md, and a first page; returns the notebooks' pages."""
    notebooks = [path for folder in BUILT for path in sorted((root / folder).glob("*.ipynb"))]
    if not notebooks:
        raise FileNotFoundError(f"no notebook in {', '.join(BUILT)}; run `make build`.")
    shutil.rmtree(book, ignore_errors=True)
    pages = []
    for path in notebooks:
        page = book / path.relative_to(root).with_suffix(".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(as_html(nbformat.read(path, as_version=4), path.stem), encoding="utf-8")
        pages.append(page)
    words = nbformat.v4.new_markdown_cell((root / index.NAME).read_text(encoding="utf-8"))
    (book / WORDS).write_text(as_html(nbformat.v4.new_notebook(cells=[words]), "Index"), encoding="utf-8")
    (book / "index.html").write_text(PAGE.format(rows="\n".join(_rows(root, pages, book))), encoding="utf-8")
    return pages


FOLDING = """\
{% extends "lab/index.html.j2" %}
{% block input %}
{% if cell.metadata.get("jupyter", {}).get("source_hidden") %}
<details style="flex: 1; min-width: 0"><summary>Code</summary>{{ super() }}</details>
{% else %}
{{ super() }}
{% endif %}
{% endblock input %}
"""
"""nbconvert's page, but for code that is to be hidden: JupyterLab folds it up, and nbconvert would show it."""


def as_html(notebook: NotebookNode, title: str) -> str:
    """A page whose links between notebooks, and to INDEX.md, lead from page to page."""
    exporter = HTMLExporter(extra_loaders=[DictLoader({"folding": FOLDING})], template_file="folding")
    text, _ = exporter.from_notebook_node(notebook, {"metadata": {"name": title}})
    text = re.sub(r'href="([^":]+)\.ipynb(#[^"]*)?"', r'href="\1.html\2"', text)
    return re.sub(rf'href="((?:\.\./)*){re.escape(index.NAME)}"', rf'href="\1{WORDS}"', text)


def _rows(root: Path, pages: list[Path], book: Path) -> list[str]:
    """A line for each lesson, in order, with links to its exercises and solutions where it has them."""
    rows = []
    for lesson in (page for page in pages if page.parent.name == "notebooks"):
        links = [f'<a href="notebooks/{lesson.name}">{html.escape(_title(root, lesson))}</a>']
        for folder in BUILT[1:]:
            if (book / folder / lesson.name).exists():
                links.append(f'<a href="{folder}/{lesson.name}">{folder}</a>')
        rows.append(f"<li>{' · '.join(links)}</li>")
    return rows


def _title(root: Path, page: Path) -> str:
    """The first heading of the notebook that a page shows."""
    notebook = nbformat.read(root / "notebooks" / f"{page.stem}.ipynb", as_version=4)
    headings = re.findall(r"^# (.+)$", "\n".join(cell.source for cell in notebook.cells), re.MULTILINE)
    return headings[0] if headings else page.stem


if __name__ == "__main__":
    try:
        written = render(ROOT, ROOT / "book")
    except FileNotFoundError as error:
        sys.exit(str(error))
    print(f"{len(written)} pages; open book/index.html")
