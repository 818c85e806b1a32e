"""Figures of a small shop that agree with each other, for tests.

Lag 18,402 = 412 + 16,870 + 903 + 217; put rates 612 + 311 + 142 + 118 + 54 + 24 + 14 + 7.2 plus retries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from broker_core.worker.questions.administration import Members, TopicMeasures
from broker_core.worker.questions.figures import Catalog
from monitoring.state import ClusterState
from tests.support.fake_delays import fake_delays, fake_lateness
from tests.support.fake_shop import GROUPS, PAYMENT_SHARES, TAKEN_MS, TOPICS


def fake_catalog() -> Catalog:
    """Topics, queues, groups and positions of the shop."""
    queue_topic = [index for index, topic in enumerate(TOPICS) for _ in range(topic[1])]
    queue_id = [queue for topic in TOPICS for queue in range(topic[1])]
    names = [topic[0] for topic in TOPICS]
    positions = [
        (group_index, queue_index)
        for group_index, group in enumerate(GROUPS)
        for queue_index, topic_index in enumerate(queue_topic)
        if names[topic_index] == group[1]
    ]
    return Catalog(
        revision=1,
        topics=names,
        topic_read_queues=[topic[1] for topic in TOPICS],
        topic_write_queues=[topic[1] for topic in TOPICS],
        topic_permission=[6] * len(TOPICS),
        topic_is_system=[name.startswith("%") for name in names],
        queue_topic=queue_topic,
        queue_id=queue_id,
        groups=[group[0] for group in GROUPS],
        position_group=[group for group, _ in positions],
        position_queue=[queue for _, queue in positions],
        group_is_system=[False] * len(GROUPS),
    )


def fake_state(taken_ms: int = TAKEN_MS) -> ClusterState:
    """Figures of the shop at a moment."""
    catalog = fake_catalog()
    queue_topic = np.array(catalog.queue_topic)
    queues_of = np.array([topic[1] for topic in TOPICS])
    kept = np.array([topic[3] for topic in TOPICS], dtype=np.int64)
    rates = np.array([topic[2] for topic in TOPICS])
    last = taken_ms - np.array([topic[5] for topic in TOPICS], dtype=np.int64)
    queue_max = kept[queue_topic] // queues_of[queue_topic]
    # The first queue of each topic takes what does not divide evenly.
    first = np.array([catalog.queue_topic.index(i) for i in range(len(TOPICS))])
    queue_max[first] += kept - (kept // queues_of) * queues_of
    lag, behind, owner = _positions(catalog)
    group_lag = np.array([group[2] for group in GROUPS])
    return ClusterState(
        catalog=catalog,
        taken_ms=taken_ms,
        queue_min_offset=np.zeros(len(queue_topic), dtype=np.int64),
        queue_max_offset=queue_max,
        queue_last_store_ms=last[queue_topic],
        queue_put_rate=_queue_rates(queue_topic, rates, queues_of),
        topic_put_messages=kept.copy(),
        topic_put_bytes=kept * np.array([topic[4] for topic in TOPICS], dtype=np.int64),
        topic_put_rate=rates,
        topic_got_rate=rates * 1.5,
        topic_kept_messages=kept,
        topic_last_store_ms=last,
        group_members=np.array([group[5] for group in GROUPS], dtype=np.int64),
        group_lag_messages=group_lag,
        group_behind_ms=np.array([group[3] for group in GROUPS]),
        group_got_rate=np.array([group[4] for group in GROUPS]),
        # The clients of the first group hold 9 messages more each second: its lag falls by 62/s, and 311/s arrive.
        group_consumed_rate=np.array([GROUPS[0][4] - 9, *(group[4] for group in GROUPS[1:])]),
        position_offset=np.where(
            np.isnan(lag), -1, np.maximum(queue_max[catalog.position_queue] - np.nan_to_num(lag), 0)
        ).astype(np.int64),
        position_lag_messages=lag,
        position_behind_ms=behind,
        position_owner=owner,
        owners=["c1@10.23.4.11", "c2@10.23.4.12", "c3@10.23.4.15"],
        totals=_totals(kept),
        delays=fake_delays(taken_ms),
        lateness=fake_lateness(),
        timers={
            "pending": 312.0,
            "next_due_ms": taken_ms + 5_938_000.0,
            "overdue_ms": 0.0,
            "delivered": 40.0,
            "cancelled": 1.0,
            "late_p50_ms": 210.0,
            "late_p99_ms": 38.0,
            "delivered_rate": 0.1,
        },
    )


def grown(state: ClusterState, topic: str, queue_id: int, by: int) -> ClusterState:
    """The state after ``by`` more messages came into a queue."""
    ends = state.queue_max_offset.copy()
    for row, owner in enumerate(state.catalog.queue_topic):
        if state.catalog.topics[owner] == topic and state.catalog.queue_id[row] == queue_id:
            ends[row] += by
    return replace(state, queue_max_offset=ends)


def fake_measures(topics: Sequence[str]) -> TopicMeasures:
    """The queues of topics of the shop on disk, kept for two hours; those of orders are measured by a part of their records."""
    made = TopicMeasures([], [], [], [], [], [])
    for name, queues, _rate, kept, average, _age in TOPICS:
        for queue_id in range(queues) if name in topics else ():
            made.topic.append(name)
            made.queue_id.append(queue_id)
            made.oldest_ms.append(TAKEN_MS - 2 * 3_600_000)
            made.log_bytes.append(kept // queues * average)
            made.queue_bytes.append(kept // queues * 20)
            made.is_estimate.append(name == "orders")
    return made


def fake_members(group: str) -> Members:
    """Clients of a group of the shop."""
    found = next((entry for entry in GROUPS if entry[0] == group), None)
    count = max(0, found[5]) if found else 0
    topic = found[1] if found else ""
    return Members(
        client_id=[f"c{i + 1}@10.23.4.{11 + i}" for i in range(count)],
        address=[f"10.23.4.{11 + i}:51{i}22" for i in range(count)],
        language=["JAVA"] * count,
        version=["V4_9_8"] * count,
        last_heartbeat_ms=[TAKEN_MS - 4_000 - i * 900 for i in range(count)],
        subscriptions=[{topic: "*"} for _ in range(count)],
        protocol=["remoting"] * count,
    )


def _queue_rates(queue_topic: Any, rates: Any, queues_of: Any) -> Any:
    even = rates[queue_topic] / queues_of[queue_topic]
    skewed = even.copy()
    inventory = np.flatnonzero(queue_topic == 3)
    skewed[inventory] *= 0.944
    skewed[inventory[5]] = even[inventory[5]] * 1.84
    return skewed


def _positions(catalog: Catalog) -> tuple[Any, Any, Any]:
    count = len(catalog.position_group)
    lag, behind = np.zeros(count), np.zeros(count)
    owner = np.full(count, -1, dtype=np.int64)
    position_group = np.array(catalog.position_group)
    for group_index, group in enumerate(GROUPS):
        rows = np.flatnonzero(position_group == group_index)
        shares = np.array(PAYMENT_SHARES) if group[0] == "payment-settle" else _even(group[2], len(rows))
        lag[rows] = shares
        behind[rows] = np.where(shares > 0, group[3] * shares / max(1.0, float(np.nan_to_num(shares).max())), shares * 0)
        owner[rows] = -1 if group[5] < 0 else (np.arange(len(rows)) * min(3, group[5])) // len(rows)
    return lag, behind, owner


def _even(total: float, count: int) -> Any:
    if np.isnan(total):
        return np.full(count, np.nan)
    shares = np.full(count, total // count)
    shares[: int(total - shares.sum())] += 1
    return shares


def _totals(kept: Any) -> dict[str, float]:
    return {
        "put_messages": float(kept.sum()),
        "put_bytes": 14.6e9,
        "got_messages": float(kept.sum()) * 1.5,
        "got_bytes": 21.9e9,
        "put_failed": 0.0,
        "put_p50_ms": 0.31,
        "put_p99_ms": 4.2,
        "put_max_ms": 9.8,
        "connections": 20.0,
        "dead_letters": 33.0,
        "producers": 6.0,
        "consumers": 14.0,
        "commit_log_min": 0.0,
        "commit_log_max": 14.6e9,
        "flushed": 14.6e9 - 3_250_585,
        "store_bytes": 14.6e9,
        "disk_used_bytes": 41.8e9,
        "disk_total_bytes": 100e9,
        "disk_used_percent": 41.8,
        "held_pulls": 11.0,
        "process_cpu_s": 812.0,
        "process_rss_bytes": 186e6,
        "put_rate": 1_284.0,
        "put_byte_rate": 1_284 * 1_640.0,
        "got_rate": 1_931.0,
        "got_byte_rate": 1_931 * 1_640.0,
        "lag_messages": 18_402.0,
        "transactions_pending": 3.0,
        "transactions_checking": 1.0,
        "transactions_waiting": 1.0,
        "transactions_committed": 19_620.0,
        "transactions_rolled_back": 1_706.0,
        "transactions_unknown": 12.0,
        "transactions_given_up": 1.0,
        "transactions_expired": 0.0,
        "transactions_checks": 44.0,
        "transactions_half_lag": 41.0,
        "transactions_op_lag": 2.0,
        "transactions_next_round_ms": TAKEN_MS + 48_000.0,
        "transaction_commit_rate": 21.8,
        "transaction_rollback_rate": 1.9,
        "atomic_open": 1.0,
        "atomic_oldest_ms": TAKEN_MS - 21_000.0,
        "atomic_held_back": 253.0,
        "unflushed_bytes": 3_250_585.0,
        "process_cpu_percent": 31.0,
    }
