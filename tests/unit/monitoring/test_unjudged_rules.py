"""What alert rules cannot judge of a cluster that is looked at from outside."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from broker_core.cluster.numbering import BrokerNumbers
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.names import HALF_TOPIC, OP_TOPIC
from broker_core.worker.attached.figures import ClusterFigures
from monitoring.alert_rules import DEFAULT_RULES, AlertRule, figures_of
from monitoring.delay import no_delays
from monitoring.state import MEMBERS_UNLISTED, MEMBERS_UNREAD
from monitoring.unjudged_rules import Cause, Lack, UnjudgedWatch
from tests.support.fake_source import fake_state

AWAY = {"b": "no answer for 12 s: cannot connect to h:1"}


def outside(**changes):
    """Figures of an attached cluster, all of them known."""
    state = fake_state()
    catalog = replace(state.catalog, brokers=["a", "b"], broker_version=["V5_3_3", "V5_3_3"])
    known = np.nan_to_num(state.group_lag_messages)
    members = np.maximum(state.group_members, 0)
    whole = replace(
        state, catalog=catalog, group_lag_messages=known, group_behind_ms=known, group_members=members,
        position_offset=np.maximum(state.position_offset, 0),
        totals={**state.totals, "put_p99_ms": 1.0, "lag_messages": 5.0},
    )  # fmt: skip
    return replace(whole, **changes)


def look(state, rules=DEFAULT_RULES):
    return UnjudgedWatch().look(rules, state)


def without(state, *names):
    return replace(state, totals={name: value for name, value in state.totals.items() if name not in names})


def causes(found):
    return {rule_id: lack.cause for rule_id, lack in found.lacks.items()}


def about(series):
    return AlertRule("r", "Mine", series, above=True, threshold=5, for_ms=0)


def cause_of(series, state):
    return causes(look(state, [about(series)])).get("r")


def test_all_is_judged_where_all_is_known():
    found = look(outside())
    assert not found.lacks
    assert not found.is_news


def test_the_figures_of_an_own_broker_are_known():
    state = fake_state()
    found = look(replace(state, group_lag_messages=state.group_lag_messages * np.nan, lateness=None))
    assert not found.lacks
    assert not found.is_news


def test_a_figure_that_not_even_the_own_broker_has_is_not_told():
    found = look(fake_state(), [about("totals.no_such_figure")])
    assert found.lacks == {"r": Lack(Cause.NOT_TOLD)}
    assert not found.is_news, "it would be said for ever"


def test_a_part_that_is_away_is_named_with_its_reason():
    found = look(outside(faults=AWAY))
    assert found.away == AWAY
    assert found.is_news
    assert not found.lacks, "what the rules are about is known all the same"


def test_what_can_never_be_known_from_outside_is_a_lack_and_no_news():
    found = look(without(outside(lateness=None), "transactions_given_up"))
    assert causes(found) == {"given-up": Cause.INSIDE_ONLY}
    assert not found.is_news
    # Nor does it become news while a broker is away, or its fault.
    found = look(without(outside(lateness=None, faults=AWAY), "transactions_given_up"))
    assert causes(found)["given-up"] is Cause.INSIDE_ONLY
    assert (found.rules, found.unread) == ((), {})


def test_what_is_told_while_all_brokers_answer_is_missing_with_one_of_them():
    found = look(without(outside(faults=AWAY), "disk_used_percent", "put_p99_ms"))
    assert found.lacks == dict.fromkeys(("disk", "disk-full", "put"), Lack(Cause.AWAY, ("b",)))
    assert [rule.rule_id for rule in found.rules] == ["disk", "disk-full", "put"]


def test_a_minute_without_puts_is_judged_and_one_that_is_not_told_is_not():
    state = outside()
    assert not look(replace(state, totals={**state.totals, "put_p99_ms": float("nan")})).lacks
    found = look(without(state, "put_p99_ms"))
    assert causes(found) == {"put": Cause.NOT_TOLD}
    assert not found.is_news, "brokers of this version never tell it"


def test_a_rule_that_is_off_misses_nothing():
    off = [replace(rule, enabled=rule.rule_id != "late") for rule in DEFAULT_RULES]
    assert not look(outside(lateness=None), off).lacks


def test_every_total_of_a_cluster_is_known_to_be_told_from_outside():
    figures = ClusterFigures(BrokerNumbers(), clock=lambda: 1)
    figures.take_tables("a", {}, frozenset())
    figures.of("a").runtime = {
        "putMessageTimesTotal": "5", "commitLogMaxOffset": "9", "commitLogMinOffset": "0", "putLatency99": "1",
        "commitLogDiskRatio": "0.5", "commitLogDirCapacity": "Total : 10 GiB, Free : 5 GiB.", "msgGetTotalTodayNow": "3",
    }  # fmt: skip
    figures.of("a").producers = frozenset({"p"})
    for topic in (HALF_TOPIC, OP_TOPIC):
        figures.take_offsets("a", topic, {0: QueueOffsets(0, 3, 9)})
    figures.undecided_counted("a", 1, 0, unread=0)
    figures.catalog()
    told = figures.snapshot().totals
    assert len(told) > 10
    state = outside(faults=AWAY)
    bare = replace(state, totals={}, group_members=np.full(len(state.group_members), MEMBERS_UNREAD))
    # While a broker is away, each of these is missing for that reason, and no figure of the inside is.
    assert {cause_of(f"totals.{name}", bare) for name in told} == {Cause.AWAY}
    derived = {"lag_messages", "dead_letters", "put_rate", "got_rate", "disk_used_percent"}
    told_later = {"got_messages", "console_messages"}
    inside = fake_state().totals.keys() - told.keys() - derived - told_later
    assert len(inside) > 10
    assert {cause_of(f"totals.{name}", bare) for name in inside} == {Cause.INSIDE_ONLY}


def test_what_a_rule_names_may_not_be_there():
    for state in (fake_state(), outside()):
        assert cause_of("group:no-such.lag_messages", state) is Cause.ABSENT
        assert cause_of("group:no-such*.lag_messages", state) is None, "none of them is none that fires"
    silent = outside(faults=AWAY)
    catalog = replace(silent.catalog, broker_version=["V5_3_3", ""])
    assert cause_of("group:no-such.lag_messages", replace(silent, catalog=catalog)) is Cause.AWAY


def test_a_broker_that_never_told_what_it_has_leaves_all_patterns_open():
    state = outside(faults=AWAY)
    silent = replace(state, catalog=replace(state.catalog, broker_version=["V5_3_3", ""]))
    assert look(silent).lacks["dead-letters"] == Lack(Cause.AWAY, ("b",))
    assert "dead-letters" not in look(state).lacks


def test_a_rate_without_one_of_its_queues_is_not_known():
    state = outside()
    topic = state.catalog.topics[0]
    ends = state.queue_max_offset.copy()
    ends[state.catalog.queue_topic.index(0)] = -1
    part = replace(state, queue_max_offset=ends)
    for figure in ("put_rate", "got_rate"):
        assert cause_of(f"topic:{topic}.{figure}", state) is None
        assert cause_of(f"topic:{topic}.{figure}", part) is Cause.UNREAD
        assert cause_of(f"topic:{topic}.{figure}", replace(part, faults=AWAY)) is Cause.AWAY


def test_what_a_group_takes_is_not_known_without_one_of_its_positions():
    state = outside()
    group = state.catalog.groups[state.catalog.position_group[0]]
    offset = state.position_offset.copy()
    offset[0] = -1
    for figure in ("got_rate", "lost_messages", "beyond_messages"):
        assert cause_of(f"group:{group}.{figure}", state) is None
        assert cause_of(f"group:{group}.{figure}", replace(state, position_offset=offset)) is Cause.UNREAD


def test_consumers_of_groups_that_nobody_was_asked_about_are_not_none():
    state = outside()
    members = state.group_members.copy()
    members[0] = MEMBERS_UNREAD
    assert cause_of("totals.consumers", state) is None
    assert cause_of("totals.consumers", replace(state, group_members=members)) is Cause.UNREAD


def test_nobody_consumes_is_not_judged_of_a_group_that_may_be_behind_a_proxy():
    state = outside()
    members = state.group_members.copy()
    members[:] = MEMBERS_UNLISTED
    group = next(name for name, lag in zip(state.catalog.groups, state.group_lag_messages, strict=True) if lag > 0)
    hidden = replace(state, group_members=members)
    assert cause_of(f"group:{group}.unattended_messages", hidden) is Cause.UNLISTED
    assert cause_of("totals.consumers", hidden) is Cause.UNLISTED
    assert np.isnan(figures_of(hidden, "group", "unattended_messages")[state.catalog.groups.index(group)])
    offline = replace(state, group_members=np.full_like(members, -1))
    assert figures_of(offline, "group", "unattended_messages")[state.catalog.groups.index(group)] > 0


def test_levels_that_no_broker_told_are_not_without_messages():
    assert cause_of("level:*.pending", outside()) is None
    assert cause_of("level:*.pending", outside(delays=no_delays())) is Cause.UNREAD


def test_lateness_is_judged_from_outside_by_the_oldest_messages():
    delays = fake_state().delays
    unread = np.where(delays.level == 3, -1, delays.overdue_ms)
    never = np.full_like(delays.late_p99_ms, np.nan)
    state = outside(lateness=None, delays=replace(delays, late_p99_ms=never))
    assert cause_of("level:*.late_ms", state) is None
    assert cause_of("level:*.late_p99_ms", state) is Cause.INSIDE_ONLY
    assert cause_of("level:*.late_ms", outside(lateness=None, delays=replace(state.delays, overdue_ms=unread))) is Cause.UNREAD


def test_groups_that_were_not_read_are_counted_once():
    state = outside()
    lag = state.group_lag_messages.copy()
    lag[:2] = np.nan
    assert look(replace(state, group_lag_messages=lag, group_behind_ms=lag)).unread == {"group": 2}


def test_a_group_that_never_committed_has_no_lag():
    state = outside()
    lag = state.group_lag_messages.copy()
    lag[0] = np.nan
    kept = [row for row, group in enumerate(state.catalog.position_group) if group != 0]
    groups, queues = ([column[row] for row in kept] for column in (state.catalog.position_group, state.catalog.position_queue))
    catalog = replace(state.catalog, position_group=groups, position_queue=queues)
    bare = replace(state, catalog=catalog, group_lag_messages=lag, position_offset=state.position_offset[kept])
    assert not look(bare).lacks
    # While a part is away its offsets may be there.
    assert look(replace(bare, faults=AWAY)).unread == {"group": 1}


def test_members_that_were_not_read_leave_open_whether_anybody_consumes():
    state = outside()
    members, lag = state.group_members.copy(), state.group_lag_messages.copy()
    members[:2] = MEMBERS_UNREAD
    lag[:2] = 5, 0
    found = look(replace(state, group_members=members, group_lag_messages=lag, group_behind_ms=lag))
    assert found.unread == {"group": 1}, "a group without a lag is attended or need not be"


def test_dead_letters_of_a_queue_that_was_not_read_are_not_none():
    state = outside()
    kept = state.topic_kept_messages.copy()
    dead = [name.startswith("%DLQ%") for name in state.catalog.topics]
    kept[dead] = -1
    assert look(replace(state, topic_kept_messages=kept)).unread == {"topic": sum(dead)}
    assert sum(dead) > 0


@pytest.mark.parametrize("kept", [0, 5])
def test_other_topics_are_nobodys_business(kept):
    state = outside()
    assert not look(replace(state, topic_kept_messages=np.full(len(state.catalog.topics), kept))).lacks
