"""Scenarios with several cells, ways and interfaces, in the front: names, and the path as a graph."""

from __future__ import annotations

import pytest

CHANGES = {
    "duration": "5 s",
    "handover[0]__at": "2 s",
    "way[1]__wired__rate": "2 Mbit/s",
    "cell[1]__radio__lte__downlink__blocks__bandwidth": "1.4 MHz",
}
"""Of `two-cells`: the same in less time, with fewer packets."""


@pytest.fixture
def shown(opened, page_of):
    return opened(page_of("two-cells", **CHANGES))


def test_flows_bear_the_names_of_their_interfaces(shown):
    view = shown.view
    names = ["walker", "phone over small", "phone over fixed"]
    assert shown.ask("store.run.names") == [f"{name}: cubic" for name in names]
    view.locator("#flow-count").click()
    assert set(view.locator("#flow-list .name").all_inner_texts()) == {f"{name}: cubic" for name in names}
    view.locator("#flow-count").click()
    assert view.locator("#shown li").all_inner_texts() == [f"{name}: cubic" for name in names]
    view.locator("#t-events").click()
    view.locator("#search").fill("walker")
    view.locator("#list .whose", has_text="phone").first.wait_for(state="detached")
    assert {text.partition(".")[0] for text in view.locator("#list .whose").all_inner_texts()} == {"walker"}
    view.locator("#t-results").click()
    text = view.locator("#results").inner_text()
    assert "UE " not in text and "walker in macro, downlink" in text and "walker in small, downlink" in text
    assert "phone over fixed in" not in text and "phone over small in macro" not in text
