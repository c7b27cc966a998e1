"""The pictures of the studio in the documents can be taken, and lie in build/screens to be looked at."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from PIL import Image
from programs import needs

TOP = Path(__file__).resolve().parents[2]
PICTURES = TOP / "docs" / "images" / "studio"

sys.path.append(str(TOP / "docs" / "images"))
import screens  # noqa: E402

NAMES = {f"{screen.name}.png" for screen in screens.SCREENS}


@pytest.mark.slow
@needs("chromium")
def test_every_screen_is_drawn_and_no_page_complains():
    folder = TOP / "build" / "screens"
    assert screens.take(folder) == []
    for name in NAMES:
        with Image.open(folder / name) as image:
            assert image.size == tuple(screens.WINDOW.values())
            # An empty sheet has a handful of colours.
            assert len(set(image.convert("RGB").resize((256, 160)).get_flattened_data())) > 60, name


def test_the_documents_show_each_of_them():
    text = "".join((TOP / "docs" / name).read_text() for name in ("README.md", "studio.md"))
    shown = set(re.findall(r"\(images/studio/([^)]+)\)", text))
    shown |= set(re.findall(r'"docs/images/studio/([^"]+)"', (TOP / "README.md").read_text()))
    assert shown == {*NAMES, "moving.png"} == {file.name for file in PICTURES.glob("*.png")}
