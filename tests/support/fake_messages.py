"""Messages of the shop: pages, whole ones, the life of one."""

from __future__ import annotations

import json
import zlib
from dataclasses import replace
from typing import Any

from broker_core.worker.questions.stored_messages import BrowseTopic, Lifeline, MessageDetail, MessagePage, TopicPage
from monitoring.state import ClusterState
from tests.support.fake_figures import fake_state
from tests.support.fake_shop import TAKEN_MS


def fake_body(number: int) -> bytes:
    """A JSON order with Chinese in it."""
    order = {
        "orderId": f"SO-20261121-{number:05d}",
        "buyer": "李雨桐",
        "city": "杭州",
        "amount": 128.5 + number % 700,
        "items": [{"sku": "SKU-10027", "qty": 2}],
    }
    return json.dumps(order, ensure_ascii=False).encode()


MESSAGE_LISTS = (
    "queue_id", "queue_offset", "physical_offset", "store_ms", "born_ms", "body_bytes", "tag", "keys", "unique_key",
    "body_start",
)  # fmt: skip


def fake_topic_page(state: ClusterState | None, asked: BrowseTopic) -> TopicPage:
    """A page of all queues, which are equally long from the edge on."""
    state = state or fake_state()
    catalog = state.catalog
    rows = [i for i, t in enumerate(catalog.queue_topic) if catalog.topics[t] == asked.topic]
    ends = {catalog.queue_id[i]: int(state.queue_max_offset[i]) for i in rows} or {0: 0}
    told = dict(zip(asked.edge_queue, asked.edge_offset, strict=True))
    newer = asked.newer or asked.at_ms >= 0
    edges = {queue: told.get(queue, 0 if newer else end) for queue, end in ends.items()}
    each = -(-asked.count // len(edges))
    first = {queue: edge if newer else max(0, edge - each) for queue, edge in edges.items()}
    end = {queue: min(ends[queue], edge + each) if newer else edge for queue, edge in edges.items()}
    pages = [fake_page(state, asked.topic, queue, first[queue], end[queue] - first[queue]) for queue in edges]
    lists = {name: [value for page in pages for value in getattr(page, name)] for name in MESSAGE_LISTS}
    order = sorted(range(len(lists["store_ms"])), key=lambda i: -lists["store_ms"][i])[: asked.count]
    chosen: dict[str, Any] = {name: [values[i] for i in order] for name, values in lists.items()}
    page = replace(pages[0], **chosen)
    return TopicPage(page, list(edges), list(first.values()), list(end.values()))


def fake_page(state: ClusterState | None, topic: str, queue_id: int, start_offset: int, count: int) -> MessagePage:
    """Heads of a queue as far as the fake state says it has messages."""
    state = state or fake_state()
    catalog = state.catalog
    rows = [i for i, t in enumerate(catalog.queue_topic) if catalog.topics[t] == topic]
    ends = {catalog.queue_id[i]: int(state.queue_max_offset[i]) for i in rows} or {0: 0}
    if queue_id < 0:
        wanted = [
            (queue, end - 1 - i) for i in range(-(-count // len(ends))) for queue, end in ends.items() if end - 1 - i >= 0
        ][:count]
        end = max(ends.values())
    else:
        end = ends.get(queue_id, 0)
        wanted = [(queue_id, offset) for offset in range(max(0, start_offset), min(end, start_offset + count))]
    behind = [ends[queue] - offset for queue, offset in wanted]
    return MessagePage(
        topic=topic,
        queue_id=[queue for queue, _ in wanted],
        queue_offset=[offset for _, offset in wanted],
        physical_offset=[offset * 256 for _, offset in wanted],
        store_ms=[state.taken_ms - back * 13 for back in behind],
        born_ms=[state.taken_ms - back * 13 - 2 for back in behind],
        body_bytes=[len(fake_body(offset)) for _, offset in wanted],
        tag=[("CREATED", "PAID", "CANCELLED")[offset % 3] for _, offset in wanted],
        keys=[f"SO-20261121-{offset:05d}" for _, offset in wanted],
        unique_key=[f"7F0000010F2A18B4AAC2{offset:012X}" for _, offset in wanted],
        body_start=[fake_body(offset)[:200] for _, offset in wanted],
        min_offset=0,
        max_offset=end,
        next_offset=min(end, start_offset + count),
    )


def fake_detail(physical_offset: int) -> MessageDetail:
    """A whole message."""
    offset = physical_offset // 256
    body = fake_body(offset)
    return MessageDetail(
        topic="orders",
        queue_id=3,
        queue_offset=offset,
        physical_offset=physical_offset,
        offset_message_id=f"7F00000100002A9F{physical_offset:016X}",
        store_bytes=len(body) + 190,
        body=body,
        stored_body_bytes=len(body),
        body_crc=zlib.crc32(body) & 0x7FFFFFFF,
        flag=0,
        sys_flag=0,
        born_ms=TAKEN_MS - 2_002,
        born_host="127.0.0.1:53814",
        store_ms=TAKEN_MS - 2_000,
        store_host="127.0.0.1:10911",
        reconsume_times=0,
        prepared_transaction_offset=0,
        properties={
            "TAGS": "PAID",
            "KEYS": f"SO-20261121-{offset:05d}",
            "UNIQ_KEY": f"7F0000010F2A18B4AAC2{offset:012X}",
            "region": "hangzhou",
        },
    )


def fake_lifeline() -> Lifeline:
    """A payment that was committed after a check and consumed at the third attempt."""
    born, half, op, real = TAKEN_MS - 100_740, 168_912, "RMQ_SYS_TRANS_OP_HALF_TOPIC", "pay-result"
    half_topic, delays, retry = "RMQ_SYS_TRANS_HALF_TOPIC", "SCHEDULE_TOPIC_XXXX", "%RETRY%order-service"
    inferred = "Retry or dead letter of it"
    # ms after birth, kind, evidence, source, ms to the end, group, number, topic, queue, offset, position, outcome, host
    rows = [
        (0, "produced", "stored", "Born timestamp", -1, "pay-tx", -1, half_topic, 0, half, 100, "", "10.23.4.9:51200"),
        (8, "half", "stored", "Store timestamp", -1, "pay-tx", 0, half_topic, 0, half, 100, "", ""),
        (60_222, "checked", "stored", "Store timestamp", -1, "pay-tx", 1, half_topic, 0, 168_958, 900, "", ""),
        (60_234, "committed", "stored", "Op record", -1, "pay-tx", -1, op, 0, 167_004, 1_000, "", ""),
        (60_235, "stored", "stored", "Store timestamp", -1, "", -1, real, 2, 42_231, 1_100, "", ""),
        (60_253, "attempt", "trace", "Trace record", 148, "order-service", 1, real, 2, 42_231, 1_200, "failed", ""),
        (60_402, "retry waits", "stored", "Store timestamp", 10_000, "order-service", 1, delays, 2, 77, 1_300, "", ""),
        (70_420, "retry", "stored", "Store timestamp", -18, "order-service", 1, retry, 0, 1_583, 1_400, "", ""),
        (70_800, "attempt", "inferred", inferred, -1, "order-service", 2, retry, 0, 1_583, 1_500, "failed", ""),
        (70_801, "retry waits", "stored", "Store timestamp", 30_000, "order-service", 2, delays, 3, 78, 1_500, "", ""),
        (100_810, "retry", "stored", "Store timestamp", -9, "order-service", 2, retry, 0, 1_590, 1_600, "", ""),
        (100_822, "attempt", "trace", "Trace record", 212, "order-service", 3, retry, 0, 1_590, 1_700, "success", ""),
    ]  # fmt: skip
    passed = (-1, "passed", "offset", "Committed offset", -1, "bi-export", -1, real, 2, 42_231, -1, "", "")
    at = [born + row[0] for row in rows]
    waits = {"retry waits", "attempt", "retry"}
    until = [at_ms + row[4] if row[1] in waits and row[4] != -1 else -1 for at_ms, row in zip(at, rows, strict=True)]
    columns: list[list[Any]] = [list(column) for column in zip(*rows, passed, strict=True)]
    kinds, evidence, source, _, group, number, topic, queue_id, queue_offset, position, outcome, host = columns[1:]
    return Lifeline(
        "C0A80A171F9018B4AAC27D3E5A1C0042", [*at, -1], kinds, evidence, source, [*until, -1], group, number, topic, queue_id,
        queue_offset, position, outcome, host, ["The half message of its transaction is no longer stored."],
    )  # fmt: skip
