"""A history that another process records: read here, and its alert rules changed."""

import pytest

from broker_core.api import StoreError
from broker_core.worker.questions.alerts import AlertPage, PutAlertRules, ReadAlerts
from broker_core.worker.questions.figures import HistorySample
from broker_core.worker.questions.history import ReadEvents, ReadHistory, ReadOwnership
from monitoring.alert_rules import AlertRule, rules_to_json
from monitoring.history.keeper import open_as_guest, open_history
from tests.support.waiting import wait_until
from tests.unit.monitoring.test_collector import CATALOG, snapshot

BEGIN_MS = 1_700_000_000_000 // 60_000 * 60_000
LAG = AlertRule("mine", "Lag", "group:billing.lag_messages", above=True, threshold=5, for_ms=0)


@pytest.fixture
def recording(tmp_path):
    keeper = open_history(tmp_path, clock=lambda: BEGIN_MS)
    keeper.take(HistorySample(CATALOG, snapshot(BEGIN_MS), []))
    wait_until(lambda: page(keeper).looked_ms == BEGIN_MS)
    yield keeper
    keeper.close()


@pytest.fixture
def guest(recording, tmp_path):
    made = open_as_guest(tmp_path, clock=lambda: BEGIN_MS)
    yield made
    made.close()


def page(history) -> AlertPage:
    answer = history.answer(ReadAlerts())
    assert isinstance(answer, AlertPage)
    return answer


def test_what_is_in_rows_and_the_events_are_read(recording, guest):
    for second in range(1, 62):
        recording.take(HistorySample(None, snapshot(BEGIN_MS + second * 1_000), []))
    query = ReadHistory(["group:billing.lag_messages"], BEGIN_MS, BEGIN_MS + 60_000, 1_000)
    wait_until(lambda: len(guest.answer(query).last[0]) == 60 * 8)
    assert guest.answer(ReadEvents(0, BEGIN_MS + 1)).kind == ["broker_started"]
    assert guest.answer(ReadOwnership("nobody", BEGIN_MS, BEGIN_MS + 1_000)).topic == []


def test_a_rule_of_the_guest_is_judged_by_the_one_that_records(recording, guest):
    guest.answer(PutAlertRules(rules_to_json([LAG])))
    recording.take(HistorySample(None, snapshot(BEGIN_MS + 1_000), []))
    wait_until(lambda: "mine" in page(guest).found_rule)
    shown = page(guest)
    assert page(recording).judged_here
    assert not shown.judged_here
    assert shown.found_firing[shown.found_rule.index("mine")]
    assert shown.change_id

    def texts() -> list[str]:
        return guest.answer(ReadEvents(0, BEGIN_MS + 2_000, kinds=["action", "alert"])).text

    wait_until(lambda: "Lag: billing: 10 messages, above 5" in texts())
    assert "alert.added: Lag (group:billing.lag_messages > 5 for 0 s)" in texts()


def test_a_folder_whose_history_is_not_there_yet_says_so(tmp_path):
    early = open_as_guest(tmp_path, clock=lambda: BEGIN_MS)
    with pytest.raises(StoreError, match="cannot be read"):
        early.answer(ReadEvents(0, BEGIN_MS))
    early.close()
