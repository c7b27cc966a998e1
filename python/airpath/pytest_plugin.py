"""The pytest plugin: the fixture `radio_link`, which puts a simulated bearer between the two ends of a test.

pytest loads this module in every run where airpath is installed: it imports nothing else before a test asks
for a link. See docs/testkit-pytest.md.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airpath.live.radio_link import RadioLink
    from airpath.scenario import Scenario

MARKER = "radio_link"
# In the environment: "1" makes a test fail that would be skipped because there can be no link.
REQUIRED = "AIRPATH_REQUIRED"
# Outcomes of a test that say nothing about it.
NO_VERDICT = (pytest.skip.Exception, pytest.exit.Exception, KeyboardInterrupt)
# Characters of a test's name in the name of its folder.
LONGEST_NAME = 150
# What a link needs and this machine lacks, once that is known.
MISSING = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("airpath", "links through simulated radio bearers")
    group.addoption("--airpath-out", metavar="DIR", help="Keep here the files of links whose test fails.")
    group.addoption(
        "--airpath-invalid",
        choices=("fail", "skip", "warn"),
        default="fail",
        help="What becomes of a test if packets left too late for the link to be what it claims (fail).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    signature = "scenario, *, seed=1, changes=None, boxes=(), cc=None, sysctl=None"
    config.addinivalue_line(
        "markers", f"{MARKER}({signature}): what radio_link() makes; see airpath.RadioLink"
    )


class Links:
    """The links of one test."""

    def __init__(self, item: pytest.Item, factory: pytest.TempPathFactory) -> None:
        self._item, self._factory = item, factory
        self._links: list[RadioLink] = []

    def make(self, scenario: str | Path | Scenario | None = None, **options: Any) -> RadioLink:
        """Make a link as the arguments say, and as the marker says where they are silent."""
        __tracebackhide__ = True
        wanted: dict[str, Any] = {}
        if marker := self._item.get_closest_marker(MARKER):
            wanted |= marker.kwargs
            if marker.args:
                (wanted["scenario"],) = marker.args
        wanted |= options
        if scenario is not None:
            wanted["scenario"] = scenario
        refuse(self._item.config.stash.get(MISSING, ""))

        from airpath.errors import AirpathError, LiveError
        from airpath.live.doctor import examine, missing
        from airpath.live.radio_link import RadioLink

        trace = self._item.config.getoption("airpath_out") is not None
        try:
            link = RadioLink(folder=self._factory.mktemp(MARKER), trace=trace, **wanted)
        except AirpathError as error:
            if isinstance(error, LiveError):
                self._item.config.stash[MISSING] = missing(examine())
                refuse(self._item.config.stash[MISSING])
            # The line of the test is all there is to see.
            raise error.with_traceback(None) from None
        self._links.append(link)
        return link

    def close(self) -> None:
        """End all links, whatever comes of ending one."""
        links, self._links = self._links, []
        with contextlib.ExitStack() as stack:
            for link in links:
                stack.callback(link.close)

    def finish(self, failed: bool) -> None:
        """End all links after a test, keep their files if it failed, and judge whether they were valid."""
        links, config = list(self._links), self._item.config
        self.close()
        invalid = [self._title(link) for link in links if not link.results["live"]["valid"]]
        wanted = config.getoption("airpath_invalid")
        is_kept = failed or (invalid and wanted == "fail")
        for number, link in enumerate(links):
            folder = self._keep(link.folder, number) if is_kept else link.folder
            self._item.add_report_section("call", "airpath", f"{self._title(link)}\nfiles in {folder}")
        if invalid:
            self._judge("; ".join(invalid), wanted, failed)

    def _title(self, link: RadioLink) -> str:
        from airpath.report.live import verdict

        return f"{link.scenario.name}, seed {link.seed}: {verdict(link.results['live'])}"

    def _keep(self, folder: Path, number: int) -> Path:
        """Copy the files of a link to where they are to be kept, if anywhere."""
        out = self._item.config.getoption("airpath_out")
        if out is None:
            return folder
        test = re.sub(r"[^\w.-]+", "-", self._item.nodeid)[-LONGEST_NAME:]
        kept = self._item.config.invocation_params.dir / out / test / str(number)
        shutil.rmtree(kept, ignore_errors=True)
        return Path(shutil.copytree(folder, kept))

    def _judge(self, words: str, wanted: str, failed: bool) -> None:
        """Do what is wanted where a link was not valid."""
        if wanted == "skip":
            pytest.skip(words)
        elif wanted == "warn":
            self._item.warn(pytest.PytestWarning(words))
        elif not failed:
            pytest.fail(words, pytrace=False)


# The links of a test.
LINKS = pytest.StashKey[Links]()


def refuse(missing: str) -> None:
    """Skip the test, or fail it if that is wanted, where there is something missing."""
    if not missing:
        return
    words = f"there is no radio link here: {missing}"
    if os.environ.get(REQUIRED) == "1":
        pytest.fail(words, pytrace=False)
    pytest.skip(words)


@pytest.fixture
def radio_link(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., RadioLink]]:
    """Make live links through simulated bearers: `radio_link("umts-384", seed=1)`; see `airpath.RadioLink`.

    Arguments that are absent are those of the marker `radio_link`. Links end with the test.
    """
    links = request.node.stash[LINKS] = Links(request.node, tmp_path_factory)
    yield links.make
    links.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End the links of a test with its body, so that what they tell belongs to its result."""
    try:
        result = yield
    except NO_VERDICT:
        raise
    except BaseException:
        _finish(item, failed=True)
        raise
    _finish(item, failed=False)
    return result


def _finish(item: pytest.Item, failed: bool) -> None:
    if (links := item.stash.get(LINKS, None)) is not None:
        links.finish(failed)
