"""Reports on samples over a history whose figures are known by construction."""

import math

import pytest

from broker_core.errors import ForeignStoreError, UsageError
from spark_reports.chinese_words import in_chinese
from tests.spark.support import only, rows, run
from tests.support import known_history as known
from tests.support import known_store

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]

MINUTE_MS = known.MINUTE_MS
LATE_MS = len(known.HIGH) * MINUTE_MS


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = known_store.write_known_store(tmp_path_factory.mktemp("known") / "store").root
    known.write_known_history(root)
    return root


def all_have_chinese_words(result):
    return [one for one in result.findings if in_chinese(one) == one] == []


def minute(moment):
    return (round(moment.timestamp() * 1000) - known.BEGIN_MS) / MINUTE_MS


def test_lag(spark, store):
    result = run(spark, store, "lag", lag_max=1_000)
    assert (result.rows, result.complete) == (known.SAMPLED_MINUTES, True)
    group = only(result, "by_group")
    assert (group["group"], group["sampled_ms"], group["late_ms"]) == ("billing", known.SAMPLED_MINUTES * MINUTE_MS, LATE_MS)
    assert group["within_share"] == pytest.approx(1 - len(known.HIGH) / known.SAMPLED_MINUTES)
    assert (group["lag_max"], group["lag_last"], group["behind_max_ms"]) == (
        known.LAG_HIGH, known.LAG, known.LAG_HIGH * known.BEHIND_BY_LAG_MS,
    )  # fmt: skip
    late = only(result, "episodes")
    assert (minute(late["first_time"]), minute(late["last_time"])) == (known.HIGH[0], known.HIGH[-1] + 1)
    assert (late["late_ms"], late["drain_ms"], late["lag_max"]) == (LATE_MS, MINUTE_MS, known.LAG_HIGH)
    assert [row["late_ms"] for row in rows(result, "by_hour")] == [LATE_MS, 0]
    gap = only(result, "gaps")
    assert round(gap["length_ms"] / MINUTE_MS) == len(known.GAP)
    assert result.findings[0] == "1 of 1 (100.0 %) groups are below the service level of 99 %."
    (line,) = result.charts[0].series
    assert max(line.y) == known.LAG_HIGH
    unknown = [(at - known.BEGIN_MS) / MINUTE_MS for at, lag in zip(line.x, line.y, strict=True) if math.isnan(lag)]
    assert unknown == [-(-known.GAP[0] // 4) * 4]  # points of a day are four minutes wide
    assert all_have_chinese_words(result)


def test_lag_of_a_group_that_is_not_there(spark, store):
    result = run(spark, store, "lag", group="nobody")
    assert (result.rows, result.findings) == (0, ("No sample was taken in this range: nobody looked.",))


def test_ownership(spark, store):
    result = run(spark, store, "ownership")
    moved = only(result, "by_queue", queue_id=1)
    assert (moved["changes"], moved["owners"], moved["unowned_ms"]) == (known.MOVES, 2, MINUTE_MS)
    still = only(result, "by_queue", queue_id=0)
    assert (still["changes"], still["owners"], still["unowned_ms"]) == (0, 1, 0)
    assert [(minute(row["change_time"]), row["owner"]) for row in rows(result, "changes")] == [
        (known.SECOND_FROM, known.SECOND), (known.NOBODY_FROM, None), (known.BACK_FROM, known.FIRST),
    ]  # fmt: skip
    assert sum(row["changes"] for row in rows(result, "rebalances")) == known.MOVES
    assert all_have_chinese_words(result)


def test_operations(spark, store):
    result = run(spark, store, "operations")
    assert result.rows == len(known.ACTIONS) + len(known.EVENTS)
    cancelled = only(result, "by_action", action="delay.cancel")
    assert (cancelled["times"], cancelled["failed"]) == (1, 1)
    assert [row["kind"] for row in rows(result, "events")] == [event[1] for event in known.EVENTS]
    assert all_have_chinese_words(result)
    assert result.findings[0].startswith("1 of 2 (50.0 %) recorded actions failed")
    assert [one.value for one in result.headlines] == [2, len(known.EVENTS)]


def test_incident(spark, store):
    window = {"from_ms": known.BEGIN_MS + 20 * MINUTE_MS, "to_ms": known.BEGIN_MS + 60 * MINUTE_MS, "before_min": 20}
    result = run(spark, store, "incident", **window)
    lag = only(result, "lag")
    assert (lag["lag_before"], lag["lag_max"]) == (known.LAG, known.LAG_HIGH)
    assert [minute(row["change_time"]) for row in rows(result, "changes")] == [known.NOBODY_FROM, known.BACK_FROM]
    assert [row["kind"] for row in rows(result, "events")] == ["members_changed", "offsets_moved_back"]
    assert sum(row["messages"] + row["messages_before"] for row in rows(result, "by_topic")) == result.rows > 0
    assert len(result.charts) <= 10
    assert all_have_chinese_words(result)
    with pytest.raises(UsageError, match="needs a window"):
        run(spark, store, "incident")
    with pytest.raises(UsageError, match="has a day at most"):
        run(spark, store, "incident", from_ms=known.BEGIN_MS)


def test_an_incident_without_a_history_says_so(spark, store, tmp_path):
    root = known_store.write_known_store(tmp_path / "store").root
    result = run(spark, root, "incident", from_ms=known.BEGIN_MS, to_ms=known.BEGIN_MS + 60 * MINUTE_MS)
    assert "has no history" in result.notes[-1]
    with pytest.raises(ForeignStoreError, match="has no history"):
        run(spark, root, "lag")
    assert run(spark, root, "operations").findings == ("No action and no event was recorded in this range.",)


def test_sql_joins_messages_and_samples(spark, store, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    query = (
        "select l.group, max(l.lag_messages) as top, count(distinct m.topic) as n from lag l cross join messages m group by 1"
    )
    result = run(spark, store, "sql", query=query, save_as="lag and topics")
    (row,) = rows(result, "rows")
    assert (row["group"], row["top"]) == ("billing", known.LAG_HIGH)
    again = run(spark, store, "sql", saved="lag and topics")
    assert rows(again, "rows") == [row]
    with pytest.raises(UsageError, match=r"there is no saved query “other”\. Saved: lag and topics"):
        run(spark, store, "sql", saved="other")
    with pytest.raises(UsageError, match="needs one query"):
        run(spark, store, "sql")
