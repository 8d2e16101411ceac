"""Render all notebooks as plain web pages in book/, with an index: the course to read, without Jupyter.

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
from nbconvert import HTMLExporter

from tools.build import BUILT, ROOT

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
</html>
"""


def render(root: Path, book: Path) -> list[Path]:
    """Write one page for each built notebook below `book`, and an index; returns the pages."""
    notebooks = [path for folder in BUILT for path in sorted((root / folder).glob("*.ipynb"))]
    if not notebooks:
        raise FileNotFoundError(f"no notebook in {', '.join(BUILT)}; run `make build`.")
    shutil.rmtree(book, ignore_errors=True)
    exporter = HTMLExporter()
    pages = []
    for path in notebooks:
        text, _ = exporter.from_notebook_node(nbformat.read(path, as_version=4), {"metadata": {"name": path.stem}})
        page = book / path.relative_to(root).with_suffix(".html")
        page.parent.mkdir(parents=True, exist_ok=True)
        # Links between notebooks lead from page to page here.
        page.write_text(re.sub(r'href="([^":]+)\.ipynb(#[^"]*)?"', r'href="\1.html\2"', text), encoding="utf-8")
        pages.append(page)
    (book / "index.html").write_text(PAGE.format(rows="\n".join(_rows(root, pages, book))), encoding="utf-8")
    return pages


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
