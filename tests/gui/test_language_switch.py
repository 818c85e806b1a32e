"""A page that was open when the language changed says the same as one that is opened in that language."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gui.main_window.navigation import page_class
from gui.views.page import PageArguments
from gui.views.registry import PAGES, page_entry
from monitoring.state import ClusterState
from tests.support.fake_source import FakeSource, fake_state
from tests.support.languages import shown_in
from tests.support.page_portrait import comparable, portrait

WAIT_MS = 10_000
TURNS, TURN_MS = 8, 10
"""Figures that come before the change: some are read a part at a time."""
GROUP, TOPIC = "payment-settle", "payments"
PLACES: list[tuple[str, PageArguments]] = [
    *((entry.page_id, {}) for entry in PAGES if entry.page_id not in ("topic", "message", "consumers")),
    *(("topic", {"topic": TOPIC, "tab": tab}) for tab in ("queues", "consumers", "route", "settings")),
    *(
        ("consumers", {"group": GROUP, "tab": tab})
        for tab in ("lag", "members", "subscriptions", "in flight", "ownership", "offsets", "settings")
    ),
    ("dead_letters", {"show": "retries"}),
    ("delay", {"show": "timers"}),
    ("transactions", {"show": "past"}),
    ("message", {"physical_offset": 0}),
    ("settings", {"show": "broker"}),
    ("settings", {"show": "appearance"}),
    ("settings", {"show": "notifications"}),
    ("reports", {"report": "sql"}),
]


def of_a_cluster() -> ClusterState:
    state = fake_state()
    reported = {"broker_version": ["V5_3_3"], "broker_address": ["h:1"], "broker_slaves": [0], "broker_cannot": [{}]}
    return replace(state, catalog=replace(state.catalog, brokers=["a"], **reported), slave_lag_bytes=[0], lateness=None)


@pytest.mark.parametrize("state", [fake_state, of_a_cluster])
@pytest.mark.parametrize("place", PLACES, ids=lambda place: " ".join(map(str, (place[0], *place[1].values()))))
def test_a_page_follows_the_language_whole(show_page, qtbot, place, state):
    page_id, arguments = place

    def opened():
        source = FakeSource(state())
        view = show_page(page_class(page_entry(page_id)), source)
        view.open(arguments)
        view.refresh()
        for _turn in range(TURNS):
            view.state_changed(source.state)
            qtbot.wait(TURN_MS)
        return view

    def lines(view) -> list[str]:
        return comparable(portrait(view))

    view = opened()
    with shown_in("zh"):
        other = opened()
        qtbot.waitUntil(lambda: lines(view) == lines(other), timeout=WAIT_MS)
