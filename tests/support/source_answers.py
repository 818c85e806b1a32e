"""What a source answers about `KnownTraffic`, as plain data: what pages are made of.

Times and places in a log differ by broker and run: of these, only whether there is one is compared. Everything else is compared
as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Protocol, TypeVar

import numpy as np

from broker_core.worker.questions.administration import ConnectionPage, ListConnections, ListMembers
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.figures import Catalog, Snapshot
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, StartSearch
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FindOffset,
    ReadBody,
    ReadFields,
    ReadLifeline,
    ReadMessage,
    ReadMessageById,
)
from broker_core.worker.questions.transactions import ListTransactions
from monitoring.collector import Collector
from monitoring.state import ClusterState
from tests.support.known_traffic import GROUPS, PENDING, RETRIED, TOPICS, TROUBLED

Data = dict[str, Any]
A = TypeVar("A")

TIME, PLACE, SIZE, HOST, ID = "<time>", "<place>", "<size>", "<host>", "<id>"
_STANDS_FOR = {
    TIME: ("_ms",),
    PLACE: ("physical_offset", "real_offset"),
    SIZE: ("store_bytes",),
    HOST: ("_host", "address", "local_address", "host"),
    ID: ("client_id", "offset_message_id", "unique_key", "UNIQ_KEY"),
}
"""What is written instead of a value, and how the names of the fields that it stands in end."""
SEARCHES = {
    "key": f"topic = 'orders' and key = 'order-{RETRIED}'",
    "tag and body": "topic = 'orders' and tag = 'open' and body.city = 'Oslo'",
    "topic": "topic = 'audit'",
}
_COMPARED_TOPICS = (*TOPICS, f"%RETRY%{TROUBLED}", f"%DLQ%{TROUBLED}")


class Source(Protocol):
    """What answers questions in a worker."""

    async def answer(self, question: Question[A]) -> A: ...


async def answers_of(source: Source) -> dict[str, Data]:
    """Question in words → its answer, for all that pages ask about the traffic."""
    retried = await source.answer(BrowseQueue("orders", RETRIED % 4, RETRIED // 4, 1))
    place, at_ms = retried.physical_offset[0], retried.store_ms[0]
    detail = await source.answer(ReadMessage(place))
    questions: dict[str, Question[Any]] = {
        **{f"members of {group}": ListMembers(group) for group in GROUPS},
        **{f"queue of {topic}": BrowseQueue(topic, 0, 0, 50) for topic in _COMPARED_TOPICS},
        "order": ReadMessage(place),
        "order by its id": ReadMessageById(detail.offset_message_id),
        "body": ReadBody(place),
        "fields": ReadFields([place], ["body.order", "body.city", "tag", "key"]),
        "offset by time": FindOffset("orders", RETRIED % 4, at_ms + 3_600_000),
        "life of an order": ReadLifeline(place),
        **{f"delay level {level}": ListDelayed(level, 0, 50) for level in PENDING},
        "open transactions": ListTransactions(0, 50),
    }
    found = {name: plain(await source.answer(question)) for name, question in questions.items()}
    for name, text in SEARCHES.items():
        found[f"search by {name}"] = await _hits(source, text)
    newest = await source.answer(BrowseQueue("orders", -1, 0, 50))
    # Which of two messages of the same millisecond is the newer one is chance.
    found["newest orders"] = {"rows": _rows(plain(newest))}
    found["clients"] = _clients(await source.answer(ListConnections()))
    return found


async def _hits(source: Source, text: str) -> Data:
    started = await source.answer(StartSearch(text))
    rows: list[Data] = []
    while True:
        hits = await source.answer(ContinueSearch(started.search_id))
        rows += _rows(plain(hits))
        if hits.is_over:
            break
    await source.answer(EndSearch(started.search_id))
    return {"rows": sorted(rows, key=_queue_place), "found": hits.found, "reasons": hits.reasons}


def _rows(heads: Data) -> list[Data]:
    """Columns of heads as rows, in the order of their queues."""
    count = len(heads["queue_id"])
    columns = {name: values for name, values in heads.items() if isinstance(values, list) and len(values) == count}
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return sorted(rows, key=_queue_place)


def _queue_place(row: Data) -> tuple[str, int, int]:
    return row.get("topic", ""), row["queue_id"], row["queue_offset"]


def _clients(page: ConnectionPage) -> Data:
    """Clients in groups; there are more connections, which brokers tell nobody of."""
    columns = (page.member_role, page.member_group, page.member_row, page.member_heartbeat_ms, page.member_topics)
    rows = zip(*columns, page.member_kind, strict=True)
    clients = [
        {
            "role": role,
            "group": group,
            "language": page.language[row],
            "version": page.version[row],
            "side": page.side[row],
            "heartbeat_ms": _plain_value("heartbeat_ms", heartbeat_ms),
            "connected_ms": _plain_value("connected_ms", page.connected_ms[row]),
            "topics": topics,
            "kind": kind,
        }
        for role, group, row, heartbeat_ms, topics, kind in rows
    ]
    return {"rows": sorted(clients, key=lambda client: (client["role"], client["group"]))}


def figures_of(catalog: Catalog, snapshot: Snapshot) -> Data:
    """Figures of the traffic's topics, groups and delay levels, by name."""
    collector = Collector(None)
    collector.catalog_changed(catalog)
    state = collector.snapshot_taken(snapshot)
    assert state is not None
    return {
        "topics": {name: _topic(state, name) for name in _COMPARED_TOPICS},
        "groups": {name: _group(state, name) for name in GROUPS},
        "delay levels": {int(state.delays.level[row]): _level(state, row) for row in range(len(state.delays.level))},
        "totals": {name: _plain_value("", value) for name, value in state.totals.items()},
    }


def _topic(state: ClusterState, name: str) -> Data:
    row, catalog = state.catalog.topics.index(name), state.catalog
    queues = [number for number, topic in enumerate(catalog.queue_topic) if topic == row]
    return {
        "read queues": catalog.topic_read_queues[row],
        "write queues": catalog.topic_write_queues[row],
        "permission": catalog.topic_permission[row],
        "is system": catalog.topic_is_system[row],
        "kept": int(state.topic_kept_messages[row]),
        "last_ms": _plain_value("last_ms", int(state.topic_last_store_ms[row])),
        "queues": {
            catalog.queue_id[queue]: (int(state.queue_min_offset[queue]), int(state.queue_max_offset[queue]))
            for queue in queues
        },
    }


def _group(state: ClusterState, name: str) -> Data:
    row, catalog = state.catalog.groups.index(name), state.catalog
    positions = [number for number, group in enumerate(catalog.position_group) if group == row]
    return {
        "members": int(state.group_members[row]),
        "lag": _plain_value("", float(state.group_lag_messages[row])),
        "is system": catalog.group_is_system[row],
        "positions": {
            _queue_name(state, catalog.position_queue[number]): (
                int(state.position_offset[number]),
                _plain_value("", float(state.position_lag_messages[number])),
            )
            for number in positions
        },
    }


def _queue_name(state: ClusterState, row: int) -> str:
    return f"{state.catalog.topics[state.catalog.queue_topic[row]]}/{state.catalog.queue_id[row]}"


def _level(state: ClusterState, row: int) -> Data:
    delays = state.delays
    return {
        "delay": int(delays.delay_ms[row]),
        "pending": int(delays.pending[row]),
        "next_ms": _plain_value("next_ms", int(delays.next_due_ms[row])),
        "overdue": int(delays.overdue_ms[row]),
    }


def plain(answer: object) -> Data:
    """An answer as data, with times, places and ids written as such."""
    return {name: _plain_value(name, value) for name, value in asdict(answer).items()}  # type: ignore[call-overload]  # all are dataclasses


def _plain_value(name: str, value: object) -> object:
    if isinstance(value, list):
        return [_plain_value(name, one) for one in value]
    if isinstance(value, dict):
        return {key: _plain_value(str(key), one) for key, one in value.items()}
    if isinstance(value, (bool, bytes, type(None))):
        return value
    if isinstance(value, (float, np.floating)):
        return None if np.isnan(value) else float(value)
    for written, ends in _STANDS_FOR.items():
        if name.endswith(ends) and value not in {-1, ""}:
            return written
    return value


def differences(own: object, other: object, path: str = "") -> Iterator[tuple[str, object, object]]:
    """Where two pieces of data differ: path, value of the first, value of the second; None where one has none."""
    if isinstance(own, dict) and isinstance(other, dict):
        for key in [*own, *(key for key in other if key not in own)]:
            yield from differences(own.get(key), other.get(key), f"{path}/{key}" if path else str(key))
    elif isinstance(own, list) and isinstance(other, list) and len(own) == len(other):
        for number, (one, two) in enumerate(zip(own, other, strict=True)):
            yield from differences(one, two, f"{path}/{number}")
    elif own != other:
        yield path, own, other
