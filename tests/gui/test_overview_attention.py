"""The Overview: what needs attention."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from broker_core.api import StoreError
from gui.operations.alert_center import AlertCenter
from gui.processes.demo import DemoController
from gui.views.overview.view import OverviewView
from monitoring.alert_watch import AlertState
from tests.support.calm_cluster import calm_outside
from tests.support.fake_child import FakeChild
from tests.support.fake_source import FakeSource, fake_state

pytestmark = [
    pytest.mark.qt_log_level_fail("WARNING"),
    pytest.mark.qt_log_ignore("does not support propagateSizeHints"),  # the offscreen platform, of every dialog
]


@pytest.fixture
def make_view(show_page, qapp):
    return partial(show_page, OverviewView, demo=DemoController(process=FakeChild()))


def test_attention_says_what_is_wrong_and_opens_it(make_view, window):
    source = FakeSource()
    view = make_view(source)
    source.push_later(60_000)
    view.state_changed(source.state)

    shown = [(row.chip.text, row.title.whole_text()) for row in view.panels.make().attention.rows if not row.isHidden()]

    assert ("Critical", "payment-settle lags by 16,870 messages") in shown
    assert view.panels.make().attention.nothing.isHidden()
    row = next(row for row in view.panels.make().attention.rows if row.chip.text == "Critical")
    assert row.age == "60 s"
    assert row.reason.whole_text() == "for 60 s · above 15,000 for 60 s · rule “Lag of a group”"
    row.button.click()
    assert window.opened[-1] == ("consumers", {"group": "payment-settle"})


def test_attention_follows_the_rules_of_the_alerts(make_view):
    source = FakeSource()
    view = make_view(source)
    titles = [row.title.whole_text() for row in view.panels.make().attention.rows if not row.isHidden()]
    assert "stock-worker: 21 dead letters" in titles
    rule = next(rule for rule in view.context.alerts.rules if rule.rule_id == "dead-letters")
    view.context.alerts.put(replace(rule, threshold=15))
    source.push_later(1_000)
    view.state_changed(source.state)
    titles = [row.title.whole_text() for row in view.panels.make().attention.rows if not row.isHidden()]
    assert titles == ["1 transaction given up", "stock-worker: 21 dead letters"]
    view.context.alerts.put(replace(rule, enabled=False))
    assert [row.title.whole_text() for row in view.panels.make().attention.rows if not row.isHidden()] == [
        "1 transaction given up"
    ]


def test_an_alert_is_muted_from_where_it_stands(make_view, window):
    source = FakeSource()
    view = make_view(source)
    menus = [action.menu() for action in view.panels.make().attention.mute_menu().actions() if action.menu() is not None]
    menu = next(menu for menu in menus if menu.title() == "stock-worker: 21 dead letters")
    menu.actions()[0].trigger()
    shown = [row.title.whole_text() for row in view.panels.make().attention.rows if not row.isHidden()]
    assert "stock-worker: 21 dead letters" not in shown
    assert view.panels.make().attention.subtitle.endswith("1 muted")
    row_menu = view.panels.make().attention.row_menu(view.context.alerts.open_alerts()[0])
    row_menu.actions()[-1].trigger()
    assert window.opened == [("alerts", {"rule": "given-up"})]


def test_attention_that_is_not_known_is_not_none(make_view):
    source = FakeSource()
    source.fail_alerts_with = StoreError("the alerts are damaged")
    assert make_view(source).panels.make().attention.nothing.text() == "The alert rules are not known."
    source.fail_alerts_with, source.hold_alerts = None, True
    assert make_view(source).panels.make().attention.nothing.text() == "Reading…"


def test_without_anything_wrong_attention_says_so(make_view):
    state = fake_state()
    calm = replace(
        state, group_lag_messages=state.group_lag_messages * 0, topic_kept_messages=state.topic_kept_messages * 0, totals={}
    )

    view = make_view(FakeSource(calm))

    assert all(row.isHidden() for row in view.panels.make().attention.rows)
    assert view.panels.make().attention.nothing.text() == "Nothing needs attention."


def said_of(view) -> list[str]:
    return [
        view.panels.make().attention.nothing.text(),
        *(line.whole_text() for line in view.panels.make().attention.lacks if not line.isHidden()),
    ]


def test_a_cluster_of_which_all_is_known_needs_no_attention(make_view):
    assert said_of(make_view(FakeSource(calm_outside()))) == ["Nothing needs attention."]


def test_a_calm_cluster_says_what_could_not_be_judged(make_view):
    lag = np.zeros(len(fake_state().catalog.groups))
    lag[0] = np.nan
    state = calm_outside(
        faults={"b": "no answer for 12 s: cannot connect to h:1"},
        totals={"put_p99_ms": 1.0},
        lateness=None,
        group_lag_messages=lag,
        group_behind_ms=lag,
    )
    view = make_view(FakeSource(state))
    assert said_of(view) == [
        "Of what is known, nothing needs attention.",
        "b: no answer for 12 s: cannot connect to h:1",
        "Not known: The disk fills up, The disk is nearly full",
        "Not read: 1 group",
    ]
    assert "not all could be judged" in view.panels.make().attention.subtitle
    assert view.panels.make().attention.toolTip().splitlines() == said_of(view)[1:]


def test_what_can_never_be_known_from_outside_is_no_news(make_view):
    view = make_view(FakeSource(calm_outside(totals={"disk_used_percent": 10.0, "put_p99_ms": 1.0}, lateness=None)))
    assert said_of(view) == ["Nothing needs attention."]
    assert "judged" not in view.panels.make().attention.subtitle
    states = {rule.rule_id: view.context.alerts.state_of(rule) for rule in view.context.alerts.rules}
    assert {rule_id for rule_id, state in states.items() if state is AlertState.UNJUDGED} == {"given-up"}


def test_what_was_missing_is_forgotten_when_it_is_there(make_view):
    source = FakeSource(calm_outside(faults={"b": "no answer for 12 s: cannot connect to h:1"}))
    view = make_view(source)
    assert len(said_of(view)) == 2
    view.state_changed(calm_outside(taken_ms=source.state.taken_ms + 1_000))
    assert said_of(view) == ["Nothing needs attention."]
    assert view.panels.make().attention.toolTip() == ""


def test_many_reasons_are_counted(make_view):
    faults = {f"broker-{number}": "no answer for 12 s: cannot connect to h:1" for number in range(9)}
    view = make_view(FakeSource(calm_outside(faults=faults)))
    assert said_of(view)[-1] == "6 more reasons"
    assert len(view.panels.make().attention.toolTip().splitlines()) == 9


def test_open_alerts_do_not_hide_that_something_was_not_judged(make_view):
    state = replace(fake_state(), catalog=calm_outside().catalog, faults={"b": "no answer for 12 s: cannot connect to h:1"})
    view = make_view(FakeSource(state))
    assert all(line.isHidden() for line in view.panels.make().attention.lacks)
    assert view.panels.make().attention.subtitle.endswith("not all could be judged")


def test_rules_that_nobody_judges_any_more_are_no_calm(make_view, monkeypatch):
    source = FakeSource(calm_outside())
    view = make_view(source)
    monkeypatch.setattr(AlertCenter, "problem", "The rules were last judged 5 min ago.")
    view.context.alerts.changed.emit()
    assert said_of(view) == ["Of what is known, nothing needs attention.", "The rules were last judged 5 min ago."]
