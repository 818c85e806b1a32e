import dataclasses

import numpy as np
import pytest

from monitoring.alerts import LAG_FOR_MS, AlertBoard, Rule, Severity
from monitoring.delay import no_delays
from tests.unit.monitoring.history.conftest import NAN, state_of


def state(taken_ms: int = 0, *, lag: float = 0.0, members: int = 2, **changes):
    group = {"group_members": np.array([members]), "group_lag_messages": np.array([lag])}
    made = dataclasses.replace(state_of(taken_ms), **group)
    return dataclasses.replace(made, **changes)


def rules(*states) -> list[Rule]:
    board = AlertBoard()
    for one in states:
        alerts = board.look(one)
    return [alert.rule for alert in alerts]


def test_a_lag_counts_when_it_has_lasted():
    board = AlertBoard()
    assert board.look(state(1_000, lag=20_000)) == []
    (alert,) = board.look(state(1_000 + LAG_FOR_MS, lag=30_000))
    assert (alert.rule, alert.subject, alert.severity) == (Rule.LAG, "billing", Severity.CRITICAL)
    assert (alert.value, alert.since_ms) == (30_000, 1_000)
    assert board.look(state(2_000 + LAG_FOR_MS, lag=15_000)) == []
    assert board.look(state(3_000 + LAG_FOR_MS, lag=30_000)) == []


@pytest.mark.parametrize(("lag", "members", "expected"), [(5, 0, [Rule.NOBODY_CONSUMES]), (0, 0, []), (NAN, 0, []), (5, 1, [])])
def test_messages_for_a_group_without_members_count(lag, members, expected):
    assert rules(state(0, lag=lag, members=members), state(LAG_FOR_MS, lag=lag, members=members)) == expected


def test_groups_of_the_broker_itself_do_not_count():
    catalog = dataclasses.replace(state().catalog, group_is_system=[True])
    assert rules(*(state(at, lag=99_999, catalog=catalog) for at in (0, LAG_FOR_MS))) == []


def test_dead_letters_count_by_their_group():
    catalog = dataclasses.replace(state().catalog, topics=["%DLQ%billing"])
    (alert,) = AlertBoard().look(state(catalog=catalog, topic_kept_messages=np.array([3])))
    assert (alert.rule, alert.subject, alert.value) == (Rule.DEAD_LETTERS, "billing", 3)
    assert rules(state(catalog=catalog, topic_kept_messages=np.array([-1]))) == []


@pytest.mark.parametrize(("used", "expected"), [(60.0, []), (75.0, [Severity.WARNING]), (90.0, [Severity.CRITICAL]), (NAN, [])])
def test_a_disk_counts_by_its_share(used, expected):
    found = AlertBoard().look(state(totals={"disk_used_bytes": used, "disk_total_bytes": 100.0}))
    assert [alert.severity for alert in found] == expected


def test_late_deliveries_and_given_up_transactions_count():
    delays = dataclasses.replace(no_delays(), level=np.array([3, 4]), late_p99_ms=np.array([NAN, 1_500.0]))
    found = AlertBoard().look(state(delays=delays, totals={"transactions_given_up": 2.0}))
    assert {(alert.rule, alert.subject, alert.value) for alert in found} == {
        (Rule.LATE_DELIVERY, "4", 1_500.0),
        (Rule.TRANSACTIONS_GIVEN_UP, "", 2.0),
    }


def test_the_worst_comes_first():
    totals = {"disk_used_bytes": 75.0, "disk_total_bytes": 100.0}
    assert rules(*(state(at, lag=99_999, totals=totals) for at in (0, LAG_FOR_MS))) == [Rule.LAG, Rule.DISK]
