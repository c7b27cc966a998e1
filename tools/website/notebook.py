"""Executes notebooks as Jupyter does, and makes pages of them."""

from __future__ import annotations

import base64
import tempfile
from pathlib import Path
from typing import Any

from website.pages import ROOT, PageError
from website.tutorial import Session, fence, shortened

CELL_S = 120
"""A cell may take so long."""
QUIETLY = ["--log-level=ERROR"]


def page_of_notebook(file: Path, page: Path) -> str:
    """Execute a notebook, put it with its outputs next to its page, and return the page's text.

    Raises
    ------
    PageError
        If a cell fails.
    """
    import nbformat
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = nbformat.read(file, as_version=4)
    page.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        session = Session(Path(folder), page, file, {})
        told = {"timeout": CELL_S, "resources": {"metadata": {"path": folder}}, "extra_arguments": QUIETLY}
        try:
            NotebookClient(notebook, **told).execute()
        except CellExecutionError as error:
            raise PageError(f"{file.relative_to(ROOT)}: {error.ename}: {error.evalue}") from error
    nbformat.write(notebook, page.with_suffix(".ipynb"))
    parts = []
    for cell in notebook.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else fence("python", cell.source))
        parts += [shown(output, session) for output in cell.get("outputs", ())]
    title, *others = parts
    return "\n\n".join([title, f"[This notebook, with what it shows]({page.stem}.ipynb)", *others]) + "\n"


def shown(output: dict[str, Any], session: Session) -> str:
    """Write what a cell gave as Markdown."""
    if output["output_type"] == "stream":
        return fence("text", shortened(output["text"]))
    data = output["data"]
    if "text/html" in data:
        return session.html(data["text/html"])
    if "image/png" in data:
        return f"![What the cell draws]({session.keep(base64.b64decode(data['image/png']), '.png')})"
    return fence("text", shortened(data["text/plain"]))
