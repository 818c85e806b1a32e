import dataclasses
import math
from array import array

import numpy as np
import pytest

from broker_core.api import CodecError
from broker_core.worker.questions.figures import OFFSETS_READ_MS, TOTALS_READ_MS, Catalog, Snapshot
from monitoring.alert_rules import figures_of
from monitoring.collector import Collector
from monitoring.series import History

NAN = float("nan")

CATALOG = Catalog(
    revision=1,
    topics=["orders", "payments"],
    topic_read_queues=[2, 1],
    topic_write_queues=[2, 1],
    topic_permission=[6, 6],
    topic_is_system=[False, False],
    queue_topic=[0, 0, 1],
    queue_id=[0, 1, 0],
    groups=["billing", "TOOLS_CONSUMER", "unseen"],
    position_group=[0, 0, 1, 2],
    position_queue=[0, 2, 1, 2],
    group_is_system=[False, True, False],
)


def column(*values: int) -> bytes:
    return array("q", values).tobytes()


def snapshot(taken_ms: int = 10_000, **changes: object) -> Snapshot:
    base = Snapshot(
        revision=1,
        taken_ms=taken_ms,
        queues={
            "min_offset": column(10, 0, 0),
            "max_offset": column(110, 50, 30),
            "last_store_ms": column(9_000, 9_500, -1),
        },
        topics={
            "put_messages": column(20, 0),
            "put_bytes": column(200, 0),
            "got_messages": column(5, 0),
            "got_bytes": column(50, 0),
        },
        groups={"members": column(2, -1, -1), "got_messages": column(5, 0, 0), "consume_failed": column(0, 0, 0)},
        positions={
            "offset": column(100, 30, 40, -1),
            "next_store_ms": column(7_000, -1, 8_000, -1),
            "owner": column(0, 0, -1, -1),
        },
        owners=["client@1"],
        totals={
            "put_messages": 20,
            "put_bytes": 200,
            "got_messages": 5,
            "got_bytes": 50,
            "process_cpu_s": 1.0,
            "commit_log_max": 900.0,
            "flushed": 700.0,
        },
    )
    return dataclasses.replace(base, **changes)  # type: ignore[arg-type]  changes by name


def collector(history: History | None = None) -> Collector:
    made = Collector(history or History())
    made.catalog_changed(CATALOG)
    return made


def test_lag_is_what_is_left_to_consume_and_unknown_without_an_offset():
    state = collector().snapshot_taken(snapshot())
    assert state is not None
    assert state.position_lag_messages.tolist() == pytest.approx([10, 0, 10, NAN], nan_ok=True)
    assert state.group_lag_messages.tolist() == pytest.approx([10, 10, NAN], nan_ok=True)


def test_the_total_lag_leaves_out_the_brokers_own_groups():
    state = collector().snapshot_taken(snapshot())
    assert state is not None
    assert state.totals["lag_messages"] == 10


def test_the_total_lag_is_unknown_when_no_group_has_an_offset():
    positions = {"offset": column(-1, -1, -1, -1), "next_store_ms": column(-1, -1, -1, -1), "owner": column(-1, -1, -1, -1)}
    state = collector().snapshot_taken(snapshot(positions=positions))
    assert state is not None
    assert math.isnan(state.totals["lag_messages"])


def test_nothing_waits_where_there_is_no_group_unless_a_broker_is_silent():
    none = dataclasses.replace(CATALOG, groups=[], group_is_system=[], position_group=[], position_queue=[])
    empty = {"groups": {"members": b"", "got_messages": b""}, "positions": {"offset": b"", "next_store_ms": b"", "owner": b""}}
    lags = []
    for faults in ({}, {"b": "no answer"}):
        made = Collector(History())
        made.catalog_changed(none)
        state = made.snapshot_taken(snapshot(**empty, faults=faults))
        assert state is not None
        lags.append(state.totals["lag_messages"])
    assert lags == pytest.approx([0, NAN], nan_ok=True)


def test_a_group_beyond_the_end_of_a_queue_has_no_lag_and_is_not_well():
    positions = {"offset": column(130, 20, 40, -1), "next_store_ms": column(-1, -1, 8_000, -1), "owner": column(0, 0, -1, -1)}
    state = collector().snapshot_taken(snapshot(positions=positions))
    assert state is not None
    assert state.position_lag_messages.tolist() == pytest.approx([NAN, 10, 10, NAN], nan_ok=True)
    assert state.group_standings.beyond.tolist() == pytest.approx([20, 0, NAN], nan_ok=True)
    assert state.group_lag_messages.tolist() == pytest.approx([NAN, 10, NAN], nan_ok=True)
    assert math.isnan(state.group_behind_ms[0])
    assert figures_of(state, "group", "beyond_messages").tolist() == pytest.approx([20, 0, NAN], nan_ok=True)
    assert figures_of(state, "group", "lag_messages").tolist() == pytest.approx([0, 10, NAN], nan_ok=True)


def test_what_was_deleted_before_a_group_read_it_does_not_wait_and_is_lost():
    queues = {"min_offset": column(110, 0, 0), "max_offset": column(110, 50, 30), "last_store_ms": column(9_000, 9_500, -1)}
    state = collector().snapshot_taken(snapshot(queues=queues))
    assert state is not None
    assert (state.position_lag_messages[0], state.group_lag_messages[0]) == (0, 0)
    assert state.group_standings.lost.tolist() == pytest.approx([10, 0, NAN], nan_ok=True)
    assert figures_of(state, "group", "lost_messages").tolist() == pytest.approx([10, 0, NAN], nan_ok=True)


def test_behind_is_the_age_of_the_next_message_and_zero_when_none_waits():
    state = collector().snapshot_taken(snapshot(taken_ms=10_000))
    assert state is not None
    assert state.position_behind_ms.tolist() == pytest.approx([3_000, 0, 2_000, NAN], nan_ok=True)
    assert state.group_behind_ms.tolist() == pytest.approx([3_000, 2_000, NAN], nan_ok=True)


def test_behind_is_unknown_when_messages_wait_whose_time_was_not_read_yet():
    positions = {"offset": column(100, 30, 40, -1), "next_store_ms": column(-1, -1, -1, -1), "owner": column(0, 0, -1, -1)}
    state = collector().snapshot_taken(snapshot(positions=positions))
    assert state is not None
    assert math.isnan(state.position_behind_ms[0])
    assert state.position_behind_ms[1] == 0
    # One queue is read to its end, the other is not: the group is not up to date.
    assert math.isnan(state.group_behind_ms[0])


def test_a_topic_keeps_the_messages_of_its_queues():
    state = collector().snapshot_taken(snapshot())
    assert state is not None
    assert state.topic_kept_messages.tolist() == [150, 30]
    assert state.topic_last_store_ms.tolist() == [9_500, -1]


def test_an_unknown_queue_makes_its_topics_sum_unknown():
    queues = {"min_offset": column(10, -1, 0), "max_offset": column(110, -1, 30), "last_store_ms": column(-1, -1, -1)}
    state = collector().snapshot_taken(snapshot(queues=queues))
    assert state is not None
    assert state.topic_kept_messages.tolist() == [-1, 30]


def test_rates_come_with_the_second_snapshot():
    made = collector()
    first = made.snapshot_taken(snapshot(10_000))
    topics = {"put_messages": column(70, 4), "put_bytes": column(0, 0), "got_messages": column(5, 2), "got_bytes": column(0, 0)}
    totals = {"put_messages": 74, "put_bytes": 1_200, "got_messages": 7, "got_bytes": 50, "process_cpu_s": 1.5}
    second = made.snapshot_taken(snapshot(12_000, topics=topics, totals=totals))
    assert first is not None
    assert second is not None
    assert np.isnan(first.topic_put_rate).all()
    assert math.isnan(first.totals["put_rate"])
    assert second.topic_put_rate.tolist() == [25, 2]
    assert second.topic_got_rate.tolist() == [0, 1]
    assert second.totals["put_rate"] == 27
    assert second.totals["put_byte_rate"] == 500
    assert second.totals["got_rate"] == 1
    assert second.totals["process_cpu_percent"] == 25


def test_unflushed_bytes_are_the_logs_end_less_what_is_on_disk():
    state = collector().snapshot_taken(snapshot())
    assert state is not None
    assert state.totals["unflushed_bytes"] == 200


def test_a_snapshot_of_another_catalog_is_passed_over():
    assert Collector(History()).snapshot_taken(snapshot()) is None
    assert collector().snapshot_taken(snapshot(revision=2)) is None


def test_rates_follow_a_topic_to_its_new_place():
    made = collector()
    made.snapshot_taken(snapshot(10_000))
    made.catalog_changed(
        dataclasses.replace(
            CATALOG,
            revision=2,
            topics=["before", "orders", "payments"],
            topic_read_queues=[1, 2, 1],
            topic_write_queues=[1, 2, 1],
            topic_permission=[6, 6, 6],
            topic_is_system=[False] * 3,
            queue_topic=[1, 1, 2],
        )
    )
    topics = {name: column(8, 30, 0) for name in ("put_messages", "put_bytes", "got_messages", "got_bytes")}
    state = made.snapshot_taken(snapshot(11_000, revision=2, topics=topics))
    assert state is not None
    assert state.topic_put_rate.tolist() == [8, 10, 0]


@pytest.mark.parametrize(("brokers", "rate"), [([], 30.0), (["broker-a"], math.nan)])
def test_a_queue_that_becomes_known_has_a_rate_only_where_its_beginning_was_seen(brokers, rate):
    made = collector()
    made.snapshot_taken(snapshot(10_000))
    made.catalog_changed(
        dataclasses.replace(CATALOG, revision=2, queue_topic=[0, 0, 1, 1], queue_id=[0, 1, 0, 1], brokers=brokers)
    )
    queues = {name: column(110, 50, 30, 30) for name in ("min_offset", "max_offset", "last_store_ms")}
    state = made.snapshot_taken(snapshot(11_000, revision=2, queues=queues))
    assert state is not None
    assert state.queue_put_rate.tolist() == pytest.approx([0, 0, 0, rate], nan_ok=True)
    grown = queues | {"max_offset": column(110, 50, 30, 45)}
    later = made.snapshot_taken(snapshot(16_000, revision=2, queues=grown))
    assert later is not None
    assert later.queue_put_rate[3] == pytest.approx(3.0), "what comes while it is looked at counts"


def test_a_new_worker_counts_from_zero():
    made = collector()
    made.snapshot_taken(snapshot(10_000))
    made.restarted()
    assert made.snapshot_taken(snapshot(11_000)) is None
    made.catalog_changed(CATALOG)
    state = made.snapshot_taken(snapshot(12_000))
    assert state is not None
    assert np.isnan(state.topic_put_rate).all()


def test_the_history_gets_one_sample_a_second():
    history = History()
    made = collector(history)
    for taken_ms in range(10_000, 13_000, 100):
        made.snapshot_taken(snapshot(taken_ms))
    x, y = history.series("group:billing.lag_messages").window(0, 10**9, 100)
    assert x.tolist() == [10, 11, 12]
    assert y.tolist() == [10, 10, 10]
    assert history.series("totals.lag_messages").last == 10
    assert history.series("topic:orders.put_rate").last == 0


def test_the_history_forgets_topics_and_groups_that_are_gone():
    history = History()
    made = collector(history)
    made.snapshot_taken(snapshot())
    made.catalog_changed(
        Catalog(2, ["payments"], [1], [1], [6], [False], [0], [0], ["billing"], [], [], [False]),
    )
    assert "topic:orders.put_rate" not in history.names()
    assert "group:unseen.lag_messages" not in history.names()
    assert "topic:payments.put_rate" in history.names()


@pytest.mark.parametrize(
    "change",
    [{"queues": {}}, {"topics": {"put_messages": b"123"}}, {"positions": {"offset": column(1)}}],
    ids=["missing", "not whole items", "too short"],
)
def test_columns_that_do_not_fit_the_catalog_are_refused(change: dict[str, object]):
    with pytest.raises(CodecError, match="column"):
        collector().snapshot_taken(snapshot(**change))


def test_a_catalog_with_an_index_outside_is_refused():
    with pytest.raises(CodecError, match="position_queue"):
        Collector(History()).catalog_changed(dataclasses.replace(CATALOG, position_queue=[0, 2, 1, 3]))


def test_arrays_of_a_state_cannot_be_written():
    state = collector().snapshot_taken(snapshot())
    assert state is not None
    for name in ("queue_max_offset", "queue_put_rate", "group_lag_messages", "topic_kept_messages", "position_offset"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(state, name)[0] = 1


def test_a_cluster_with_nothing_in_it_has_a_state():
    made = Collector(History())
    made.catalog_changed(Catalog(1, [], [], [], [], [], [], [], [], [], [], []))
    empty = Snapshot(
        1, 10_000,
        {"min_offset": b"", "max_offset": b"", "last_store_ms": b""},
        {"put_messages": b"", "put_bytes": b"", "got_messages": b"", "got_bytes": b""},
        {"members": b"", "got_messages": b"", "consume_failed": b""},
        {"offset": b"", "next_store_ms": b"", "owner": b""},
        [], {},
    )  # fmt: skip
    state = made.snapshot_taken(empty)
    assert state is not None
    assert math.isnan(state.totals["put_rate"])


@pytest.mark.parametrize(("low", "count"), [(0, 80.0), (-1, NAN)])
def test_dead_letters_are_counted_over_all_groups(low, count):
    collector = Collector(None)
    collector.catalog_changed(dataclasses.replace(CATALOG, topics=["%DLQ%billing", "payments"]))
    queues = {**snapshot().queues, "min_offset": column(10, low, 0), "max_offset": column(40, 50, 30)}
    state = collector.snapshot_taken(snapshot(queues=queues))
    assert state.totals["dead_letters"] == pytest.approx(count, nan_ok=True)


def test_without_topics_of_dead_letters_there_are_none():
    collector = Collector(None)
    collector.catalog_changed(CATALOG)
    assert collector.snapshot_taken(snapshot()).totals["dead_letters"] == 0


def test_rates_of_a_cluster_that_is_read_in_rounds_are_steady():
    made, found = collector(), []
    for taken_ms in range(20_000, 50_000, 100):
        # Each round takes 1.15 s, and 60 messages/s come to each queue of the first topic.
        read_ms = taken_ms - taken_ms % 1_150
        count = 60 * read_ms // 1_000
        taken = snapshot(
            taken_ms,
            queues={
                "min_offset": column(0, 0, 0), "max_offset": column(count, count, 0), "last_store_ms": column(-1, -1, -1),
                "read_ms": column(read_ms, read_ms, -1),
            },
            topics={"put_messages": column(2 * count, 0), "put_bytes": column(-1, -1), "got_messages": column(count, 0)},
            groups={"members": column(2, -1, -1), "got_messages": column(count, 0, 0)},
            totals={"put_messages": 2 * count, "got_messages": count, TOTALS_READ_MS: read_ms, OFFSETS_READ_MS: read_ms},
        )  # fmt: skip
        state = made.snapshot_taken(taken)
        assert state is not None
        assert not {TOTALS_READ_MS, OFFSETS_READ_MS} & state.totals.keys()
        rates = (
            state.queue_put_rate[0], state.topic_put_rate[0] / 2, state.topic_got_rate[0], state.group_got_rate[0],
            state.totals["put_rate"] / 2, state.totals["got_rate"],
        )  # fmt: skip
        found.append(rates)
    settled = np.array(found[80:])
    assert settled.min() > 59
    assert settled.max() < 61


def test_what_a_group_consumes_is_unknown_while_a_part_of_its_offsets_is():
    made = Collector(History())
    made.catalog_changed(dataclasses.replace(CATALOG, brokers=["a", "b"]))
    for second in range(20):
        offsets = column(100 + second, 30 + second if second < 19 else -1, 40, -1)
        positions = {"offset": offsets, "next_store_ms": column(-1, -1, -1, -1), "owner": column(-1, -1, -1, -1)}
        queues = {**snapshot().queues, "max_offset": column(9_000, 9_000, 9_000)}
        state = made.snapshot_taken(snapshot(10_000 + second * 1_000, positions=positions, queues=queues))
        assert state is not None
        expected = [NAN if second == 19 else 2.0, 0.0, NAN]
        if second > 15:
            assert state.group_out_rate.tolist() == pytest.approx(expected, nan_ok=True)


def test_rates_of_a_topic_are_unknown_while_a_part_of_its_queues_is():
    made = Collector(History())
    made.catalog_changed(dataclasses.replace(CATALOG, brokers=["a", "b"]))
    topics = {"put_messages": column(20, 5), "put_bytes": column(-1, -1), "got_messages": column(5, 2)}
    queues = {**snapshot().queues}
    made.snapshot_taken(snapshot(10_000, queues=queues, topics=topics))
    whole = made.snapshot_taken(snapshot(11_000, queues=queues, topics=topics))
    lost = {"min_offset": column(10, -1, 0), "max_offset": column(110, -1, 30), "last_store_ms": column(9_000, -1, -1)}
    part = made.snapshot_taken(snapshot(12_000, queues=lost, topics=topics))
    assert whole is not None
    assert part is not None
    assert (whole.topic_put_rate.tolist(), whole.topic_got_rate.tolist()) == ([0, 0], [0, 0])
    assert part.topic_put_rate.tolist() == pytest.approx([NAN, 0], nan_ok=True)
    assert part.topic_got_rate.tolist() == pytest.approx([NAN, 0], nan_ok=True)
