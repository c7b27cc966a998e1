"""The pictures of the README show what airpath gives today."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from conftest import sampled

TOP = Path(__file__).resolve().parents[2]
IMAGES = TOP / "docs" / "images"


def load_make():
    spec = importlib.util.spec_from_file_location("make_images", IMAGES / "make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


make = load_make()


@pytest.mark.parametrize("name", sampled(make.DIGESTS, 1))
def test_a_picture_is_current(name):
    held = make.digest_in(IMAGES / name)
    assert held == make.DIGESTS[name](), (
        f"docs/images/{name} is not current: run 'make images' and look at it"
    )


def test_the_digest_changes_with_the_numbers_and_with_the_drawing():
    class Some:
        data = {"values": [1.0, 2.0]}  # noqa: RUF012

    class Other:
        data = {"values": [1.0, 2.001]}  # noqa: RUF012

    class Rounded:
        data = {"values": [1.0, 2.0 + 1e-12]}  # noqa: RUF012

    digest = make.picture_digest(Some, ["drawing/style.py"])
    assert digest == make.picture_digest(Rounded, ["drawing/style.py"])
    assert digest != make.picture_digest(Other, ["drawing/style.py"])
    assert digest != make.picture_digest(Some, ["plots/sweep/ticks.py"])


def test_the_readme_shows_these_pictures_and_no_others():
    shown = re.findall(r'src="docs/images/([^"/]+)"', (TOP / "README.md").read_text())
    assert set(shown) == {file.name for file in IMAGES.glob("*.png")} == set(make.DIGESTS)


@pytest.mark.parametrize(
    "page", ["README.md", *sorted(f"docs/{page.name}" for page in (TOP / "docs").glob("*.md"))]
)
def test_links_between_pages_lead_somewhere(page):
    file = TOP / page
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", file.read_text()):
        place = (file.parent / target).resolve() if target else file
        assert place.exists(), f"{page}: {target}"
        if anchor:
            titles = re.findall(r"^#+ (.*)$", place.read_text(), re.MULTILINE)
            known = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in known, f"{page}: {target}#{anchor}"
