"""Draws the pictures of the README, of the studio and of the start page: `make images`.

Each PNG holds a digest of what it shows: the numbers, and the sources that draw them.
`tests/plots/test_images.py` makes the digests again and compares. So it notices a picture that is not
current, whatever the version of matplotlib, the fonts or the browser. A browser draws the reproduction
page; the digest is of that page after few runs (`--quick`), without its pictures.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from PIL import Image
from PIL.PngImagePlugin import PngInfo

import airpath
from airpath.drawing.picture import Picture

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "tools"))
import left_out  # noqa: E402

PACKAGE = Path(airpath.__file__).resolve().parent
KEY = "airpath-digest"
"""Where a PNG holds its digest."""
DIGITS = 6
"""Significant digits of the numbers in a digest: libraries differ in the last ones."""

PAGE_PX = (1200, 900)
"""Window of the browser, so that the page's first table is seen."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def run_picture() -> Picture:
    """`airpath run umts-384`: its plot.png."""
    return airpath.run("umts-384", seed=1).plot()


def plane_picture() -> Picture:
    """`airpath sweep plane.toml`, and `airpath plot` of it."""
    with tempfile.TemporaryDirectory() as folder:
        called("sweep", HERE / "plane.toml", "--out", folder)
        return airpath.plot_sweep(folder, "rtt_ms.mean", "goodput_bps", by="tcp.cc")


def page(folder: Path, *options: str) -> str:
    """`airpath reproduce lundsten --table 3`: the page as HTML."""
    called("reproduce", "lundsten", "--table", "3", "--out", folder, *options)
    return (folder / "index.html").read_text(encoding="utf-8")


def called(*arguments: object) -> None:
    """Run a command of airpath, without its output."""
    command = [sys.executable, "-m", "airpath", *map(str, arguments)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def picture_digest(picture: Picture, sources: Iterable[str | Path]) -> str:
    """Digest of what a picture shows and of the modules that draw it."""
    return _digest(json.dumps(_rounded(picture.data)), sources)


def page_digest() -> str:
    """Digest of the reproduction page after few runs, without the pictures in it."""
    with tempfile.TemporaryDirectory() as folder:
        text = page(Path(folder), "--quick")
    return _digest(re.sub(r"base64,[^\"]*", "", text), PAGE_SOURCES)


RUN_SOURCES = ("runs/picture.py", "drawing/style.py")
PLANE_SOURCES = (
    *(f"plots/sweep/{name}.py" for name in ("axes", "layout", "legend", "looks", "panels", "texts", "ticks")),
    "drawing/style.py",
)
PAGE_SOURCES = (HERE.parent.parent / "studies" / "airpath_studies" / "report" / "plots.py",)
DIGESTS = {
    "plot.png": lambda: picture_digest(run_picture(), RUN_SOURCES),
    "plane.png": lambda: picture_digest(plane_picture(), PLANE_SOURCES),
    "reproduction.png": page_digest,
}
"""What makes the digest of each picture anew."""


def _digest(text: str, sources: Iterable[str | Path]) -> str:
    parts = [text, *((PACKAGE / source).read_text(encoding="utf-8") for source in sources)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _rounded(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _rounded(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_rounded(value) for value in data]
    return float(f"{data:.{DIGITS}g}") if isinstance(data, float) else data


def digest_in(png: Path) -> str | None:
    """The digest that a PNG holds."""
    with Image.open(png) as image:
        return image.info.get(KEY)


def draw_page(file: Path) -> None:
    """Have a browser draw the reproduction page, and add its digest."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"{file.name} is left as it is: no {' or '.join(BROWSERS)} here to draw it with")
        left_out.note("picture of a page", left_out.why("chromium"))
        return
    with tempfile.TemporaryDirectory() as folder:
        page(Path(folder))
        shot = Path(folder) / "page.png"
        width, height = PAGE_PX
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={width},{height}"]
        command = [browser, *options, f"--screenshot={shot}", (Path(folder) / "index.html").as_uri()]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        metadata = PngInfo()
        metadata.add_text(KEY, page_digest())
        with Image.open(shot) as image:
            # 256 colours are enough, and half the size.
            image.convert("RGB").quantize(256).save(file, pnginfo=metadata, optimize=True)


def main() -> None:
    """Draw all pictures."""
    import screens  # Beside this file: there when it is a program.

    for name, picture, sources in (
        ("plot.png", run_picture(), RUN_SOURCES),
        ("plane.png", plane_picture(), PLANE_SOURCES),
    ):
        (HERE / name).write_bytes(picture.as_bytes("png", **{KEY: picture_digest(picture, sources)}))
    draw_page(HERE / "reproduction.png")
    if why := left_out.why("chromium"):
        left_out.note("pictures of the studio", why)
        return
    screens.take(HERE / "studio")
    screens.move(HERE / "studio/moving.png")


if __name__ == "__main__":
    main()
