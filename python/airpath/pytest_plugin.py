"""The pytest plugin: the fixtures `radio_link` and `radio_net`, a link live and in virtual time.

pytest loads this module in every run where airpath is installed: it imports nothing else before a test uses
a link. See docs/testkit-pytest.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from airpath.live.radio_link import RadioLink
    from airpath.net import Net
    from airpath.scenario import Scenario

# In the environment: "1" makes a test fail that would be skipped because there can be no link.
REQUIRED = "AIRPATH_REQUIRED"
# Exceptions that are no verdict on a test.
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
    """Make the markers known."""
    for marker, signature, made in (
        ("radio_link", "scenario, *, seed=1, changes=None, boxes=(), cc=None, sysctl=None, ...", "RadioLink"),
        ("radio_net", "scenario, *, seed=1, mtu=1500, capture=False, probes=(), most_inside=1<<18", "Net"),
    ):
        what = f"{marker}({signature}): what {marker}() makes; see airpath.{made}"
        config.addinivalue_line("markers", what)


class Made:
    """What a fixture has made for one test."""

    marker: str

    def __init__(self, item: pytest.Item, factory: pytest.TempPathFactory) -> None:
        self._item, self._factory = item, factory
        self._out: str | None = item.config.getoption("airpath_out")
        item.stash.setdefault(MADE, []).append(self)

    def finish(self, failed: bool) -> None:
        """End all after a test."""
        raise NotImplementedError

    def _wanted(self, scenario: str | Path | Scenario | None, options: dict[str, Any]) -> dict[str, Any]:
        """What the arguments say, and the marker where they are silent."""
        __tracebackhide__ = True
        wanted: dict[str, Any] = {}
        if marker := self._item.get_closest_marker(self.marker):
            wanted |= marker.kwargs
            if marker.args:
                (wanted["scenario"],) = marker.args
        wanted |= options
        if scenario is not None:
            wanted["scenario"] = scenario
        if "scenario" not in wanted:
            raise TypeError(f"{self.marker}: no scenario, neither as an argument nor by the marker")
        return wanted

    def _keep(self, folder: Path, name: str) -> Path:
        """Copy the files of a link to where they are to be kept, if anywhere."""
        if self._out is None:
            return folder
        test = re.sub(r"[^\w.-]+", "-", self._item.nodeid)[-LONGEST_NAME:]
        kept = self._item.config.invocation_params.dir / self._out / test / name
        from airpath.files.atomic import temporary

        unfinished = temporary(kept)
        for old in (unfinished, kept):
            shutil.rmtree(old, ignore_errors=True)
        shutil.copytree(folder, unfinished)
        return unfinished.rename(kept)

    def _tell(self, title: str, folder: Path) -> None:
        self._item.add_report_section("call", "airpath", f"{title}\nfiles in {folder}")


# What fixtures have made for a test.
MADE = pytest.StashKey[list[Made]]()


class Nets(Made):
    """The links of one test in virtual time."""

    marker = "radio_net"

    def __init__(self, item: pytest.Item, factory: pytest.TempPathFactory) -> None:
        super().__init__(item, factory)
        self._nets: list[tuple[Net, dict[str, Any]]] = []

    def make(self, scenario: str | Path | Scenario | None = None, **options: Any) -> Net:
        """Make a link as the arguments say, and as the marker says where they are silent."""
        __tracebackhide__ = True
        wanted = self._wanted(scenario, options)

        from airpath.errors import AirpathError
        from airpath.net import Net
        from airpath.scenario import Scenario, load

        wanted.setdefault("capture", self._out is not None)
        try:
            if not isinstance(wanted["scenario"], Scenario):
                wanted["scenario"] = load(wanted["scenario"])
            net = Net(**wanted)
        except AirpathError as error:
            raise error.with_traceback(None) from None
        self._nets.append((net, {"scenario": wanted["scenario"].name, "seed": wanted.get("seed", 1)}))
        return net

    def finish(self, failed: bool) -> None:
        """Store the counters and captures of the links, if the test failed."""
        from airpath.files.atomic import write_together

        for number, (net, about) in enumerate(self._nets if failed else ()):
            folder, stats = self._factory.mktemp(self.marker), net.stats()
            counts = {
                direction: {name: getattr(of, name) for name in dir(of) if not name.startswith("_")}
                for direction, of in (("downlink", stats.downlink), ("uplink", stats.uplink))
            }
            told = {**about, "now_s": net.now / 1e9, **counts, "elements": net.report()}
            files = {"capture.pcapng": captured} if (captured := net.capture()) else {}
            write_together(folder, {**files, "net.json": json.dumps(told, indent=2) + "\n"})
            words = ", ".join(
                f"{direction} {of['delivered']} of {of['sent']} packets, {of['dropped']} dropped"
                for direction, of in counts.items()
            )
            title = f"{about['scenario']}, seed {about['seed']}, at {net.now / 1e9:.3f} s: {words}"
            self._tell(title, self._keep(folder, f"net-{number}"))


class Links(Made):
    """The live links of one test."""

    marker = "radio_link"

    def __init__(self, item: pytest.Item, factory: pytest.TempPathFactory) -> None:
        super().__init__(item, factory)
        self._links: list[RadioLink] = []

    def make(self, scenario: str | Path | Scenario | None = None, **options: Any) -> RadioLink:
        """Make a link as the arguments say, and as the marker says where they are silent."""
        __tracebackhide__ = True
        wanted = self._wanted(scenario, options)
        refuse(self._item.config.stash.get(MISSING, ""))

        from airpath.errors import AirpathError, LiveError
        from airpath.live.doctor import examine, missing
        from airpath.live.radio_link import RadioLink

        try:
            folder = self._factory.mktemp(self.marker)
            link = RadioLink(folder=folder, trace=self._out is not None, **wanted)
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
            folder = self._keep(link.folder, str(number)) if is_kept else link.folder
            self._tell(self._title(link), folder)
        if invalid:
            self._judge("; ".join(invalid), wanted, failed)

    def _title(self, link: RadioLink) -> str:
        from airpath.report.live import verdict

        return f"{link.scenario.name}, seed {link.seed}: {verdict(link.results['live'])}"

    def _judge(self, words: str, wanted: str, failed: bool) -> None:
        """Do what is wanted where a link was not valid."""
        if wanted == "skip":
            pytest.skip(words)
        elif wanted == "warn":
            self._item.warn(pytest.PytestWarning(words))
        elif not failed:
            pytest.fail(words, pytrace=False)


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
    links = Links(request.node, tmp_path_factory)
    yield links.make
    links.close()


@pytest.fixture
def radio_net(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Net]:
    """Make links in virtual time: `radio_net("umts-384", seed=1)`; see `airpath.Net`.

    Arguments that are absent are those of the marker `radio_net`.
    """
    return Nets(request.node, tmp_path_factory).make


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """End what a test has with its body, so that what it tells belongs to the result."""
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
    with contextlib.ExitStack() as stack:
        for made in item.stash.get(MADE, ()):
            stack.callback(made.finish, failed)
