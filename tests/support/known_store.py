"""A store with every kind of message whose totals are known by construction, for reports.

What each part holds stands beside it as constants; the tests compare reports with them and with nothing computed the same way.
Times count from Monday 2026-03-02 00:00 UTC. The records are written in order of store time, as a broker would.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.support.store_writer import StoreWriter

START_MS = round(datetime(2026, 3, 2, tzinfo=UTC).timestamp() * 1000)
HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
NOW_MS = START_MS + 14 * DAY_MS

# ---- orders: ten days, every hour ----
ORDER_DAYS = 10
ORDERS_BY_DAY = 24 + 8 * 2  # one an hour, and two more in each of the eight hours from 9 to 17
ORDERS = ORDER_DAYS * ORDERS_BY_DAY
SKEWED_ORDERS = ORDERS // 4  # every fourth comes from 10.0.0.3, whose clock is 2,000 ms ahead
ORDER_LATENCIES_MS = (4, 8, 12, 16, 20)  # in turn, of the others
ORDER_BODY_BYTES = 120

# ---- ordering keys: topic lanes ----
LANES_HOT, LANES_OTHER = 60, 40  # messages with key "hot", and one each with keys lane-0 … lane-39
LANES = LANES_HOT + LANES_OTHER

# ---- delays: topic later ----
DELAYED = {1: 6, 3: 4}  # level → delivered messages; each is 50 ms later than the one before, the first on time
DELAY_STEP_MS = 50
DELAYED_WAITING = 2  # of level 18
TIMERS = 3  # delivered 700 ms late
TIMER_LATE_MS = 700
TIMERS_WAITING, TIMERS_CANCELLED = 1, 1

# ---- transactions: group bank, topic payments ----
COMMITTED, ROLLED_BACK, GIVEN_UP, UNDECIDED = 10, 5, 2, 3
CHECKED_COMMITS = 2  # of the committed ones: with two checks each
CHECKS_OF_GIVEN_UP = 3
DECISION_STEP_MS = 100  # the n-th commit takes (n + 1) times that
TRANSACTIONS = COMMITTED + ROLLED_BACK + GIVEN_UP + UNDECIDED

# ---- retries: group billing, topic invoices ----
FAILED_ONCE, FAILED_TWICE, DEAD = 10, 5, 4  # dead ones after three attempts
DEAD_AT_ONCE = 1

# ---- repeats: topic doubles ----
SENT_TWICE, KEY_TWICE, BODY_TWICE = 4, 3, 6
REPEAT_APART_MS = 1_500

# ---- sizes: topic blobs ----
SQUASHED, PLAIN_SOFT, PLAIN_HARD = 5, 5, 5  # compressed by the client; compressible; random
BLOB_BYTES = 8_000

# ---- queues: topic gappy ----
GAPPY = {0: 20, 1: 4}  # queue → messages
GAP_OFFSETS = 3  # missing in queue 0

# ---- trace ----
TRACES = 2


@dataclass
class _Entry:
    store_ms: int
    topic: str
    body: bytes
    properties: dict[str, str]
    options: dict[str, Any]
    name: str = ""
    after: str = ""


@dataclass
class KnownStore:
    """The written store.

    Args:
        root: Its directory.
        records: Records in it.
        by_topic: Records by stored topic.
        store_bytes: Bytes of all records.
        times: Store times in log order, epoch milliseconds.
    """

    root: Path
    records: int = 0
    by_topic: dict[str, int] = field(default_factory=dict)
    store_bytes: int = 0
    times: list[int] = field(default_factory=list)


def write_known_store(root: Path, *, file_bytes: int = 64 << 10) -> KnownStore:
    """Write the store."""
    writer, known = StoreWriter(root, file_bytes), KnownStore(root)
    half_offsets: dict[str, int] = {}
    places: dict[str, int] = {}
    for entry in sorted(_entries(), key=lambda one: one.store_ms):
        options = dict(entry.options)
        if entry.topic == "RMQ_SYS_TRANS_OP_HALF_TOPIC":
            entry.body = "".join(f"{half_offsets[name]}," for name in entry.after.split()).encode()
        elif entry.after:
            options["prepared_offset"] = places[entry.after]
        place = writer.append(entry.topic, entry.body, entry.properties, store_ms=entry.store_ms, **options)
        places[entry.name] = place
        half_offsets[entry.name] = writer.offsets[entry.topic, options.get("queue_id", 0)] - 1
        known.records += 1
        known.by_topic[entry.topic] = known.by_topic.get(entry.topic, 0) + 1
        known.store_bytes += writer.position - place
        known.times.append(entry.store_ms)
    writer.flush()
    return known


def _entries() -> Iterator[_Entry]:
    for entries in (_orders, _lanes, _delays, _timers, _transactions, _retries, _doubles, _blobs, _gappy, _traces):
        yield from entries()


def _entry(
    at_ms: int, topic: str, body: Any = b"x" * 10, *, name: str = "", after: str = "", options: Any = None, **properties: str
) -> _Entry:
    return _Entry(START_MS + at_ms, topic, body, properties, dict(options or {}), name, after)


def _orders() -> Iterator[_Entry]:
    count = 0
    for hour in range(ORDER_DAYS * 24):
        for turn in range(3 if 9 <= hour % 24 < 17 else 1):
            at_ms = hour * HOUR_MS + turn * 600_000
            skewed = count % 4 == 3
            late = -2_000 if skewed else ORDER_LATENCIES_MS[(count - count // 4) % 5]
            options = {
                "queue_id": count % 4, "born_ms": START_MS + at_ms - late,
                "born_host": "10.0.0.3" if skewed else f"10.0.0.{1 + count % 2}",
            }  # fmt: skip
            properties = {"UNIQ_KEY": f"ORDER{count:06d}", "KEYS": f"order-{count} customer-{count % 7}"}
            if hour < 24:  # the tag is in use on the first day only
                properties["TAGS"] = "trial"
            elif count % 2:
                properties["TAGS"] = "paid"
            yield _entry(at_ms, "orders", f"{count:06d}".encode() * 20, options=options, **properties)
            count += 1


def _lanes() -> Iterator[_Entry]:
    for index in range(LANES):
        hot = index < LANES_HOT
        key = "hot" if hot else f"lane-{index - LANES_HOT}"
        yield _entry(
            DAY_MS + index * 1_000, "lanes", options={"queue_id": 0 if hot else 1 + index % 3}, UNIQ_KEY=f"LANE{index:06d}",
            KEYS=key, __SHARDINGKEY=key,
        )  # fmt: skip


def _delays() -> Iterator[_Entry]:
    for level, delay_ms in ((1, 1_000), (3, 10_000)):
        for index in range(DELAYED[level]):
            at_ms = 2 * DAY_MS + level * HOUR_MS + index * 20_000
            own = {"UNIQ_KEY": f"LATER{level}{index:04d}", "DELAY": str(level), "REAL_TOPIC": "later", "REAL_QID": "1"}
            yield _entry(at_ms, "SCHEDULE_TOPIC_XXXX", options={"queue_id": level - 1}, **own)
            yield _entry(at_ms + delay_ms + index * DELAY_STEP_MS, "later", options={"queue_id": 1}, **own)
    for index in range(DELAYED_WAITING):
        own = {"UNIQ_KEY": f"LATER18{index:03d}", "DELAY": "18", "REAL_TOPIC": "later", "REAL_QID": "0"}
        yield _entry(2 * DAY_MS + index, "SCHEDULE_TOPIC_XXXX", options={"queue_id": 17}, **own)


def _timers() -> Iterator[_Entry]:
    for index in range(TIMERS + TIMERS_WAITING + TIMERS_CANCELLED):
        at_ms = 3 * DAY_MS + index * 60_000
        due_ms = at_ms + 30_000
        own = {
            "UNIQ_KEY": f"TIMER{index:06d}", "REAL_TOPIC": "later", "REAL_QID": "0",
            "TIMER_OUT_MS": str(START_MS + due_ms), "TIMER_DELAY_SEC": "30",
        }  # fmt: skip
        yield _entry(at_ms, "rmq_sys_wheel_timer", **own)
        if index < TIMERS:
            yield _entry(due_ms + TIMER_LATE_MS, "later", **own)
        elif index == TIMERS:
            yield _entry(
                at_ms + 10, "rmq_sys_wheel_timer", **(own | {"UNIQ_KEY": "CANCEL1", "TIMER_DEL_UNIQKEY": own["UNIQ_KEY"]})
            )


def _transactions() -> Iterator[_Entry]:
    half, op = "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC"
    for index in range(TRANSACTIONS):
        at_ms = 4 * DAY_MS + index * 60_000
        own = {
            "UNIQ_KEY": f"TRAN{index:06d}", "TRAN_MSG": "true", "PGROUP": "bank", "REAL_TOPIC": "payments", "REAL_QID": "2",
            "KEYS": f"payment-{index}",
        }  # fmt: skip
        name = f"half-{index}-0"
        yield _entry(at_ms, half, name=name, **own)
        given_up = COMMITTED + ROLLED_BACK <= index < COMMITTED + ROLLED_BACK + GIVEN_UP
        checks = 2 if index < CHECKED_COMMITS else CHECKS_OF_GIVEN_UP if given_up else 0
        for check in range(1, checks + 1):
            name = f"half-{index}-{check}"
            yield _entry(at_ms + check * 20, half, name=name, TRANSACTION_CHECK_TIMES=str(check), **own)
        decided_ms = at_ms + (index + 1) * DECISION_STEP_MS
        if index < COMMITTED:
            yield _entry(decided_ms, "payments", after=name, options={"queue_id": 2, "sys_flag": 8}, **own)
        if index < COMMITTED + ROLLED_BACK:
            yield _entry(decided_ms + 1, op, after=name, TAGS="d")
        if given_up:
            yield _entry(decided_ms, "TRANS_CHECK_MAX_TIME_TOPIC", TRANSACTION_CHECK_TIMES=str(checks), **own)


def _retries() -> Iterator[_Entry]:
    attempts = [1] * FAILED_ONCE + [2] * FAILED_TWICE + [3] * DEAD + [0] * DEAD_AT_ONCE
    for index, last in enumerate(attempts):
        at_ms = 5 * DAY_MS + index * HOUR_MS // 2
        own = {"UNIQ_KEY": f"INVOICE{index:05d}", "KEYS": f"invoice-{index}", "TAGS": "urgent" if index % 2 else "slow"}
        chain = own | {"RETRY_TOPIC": "invoices", "ORIGIN_MESSAGE_ID": f"7F000001{index:024X}"}
        yield _entry(at_ms, "invoices", **own)
        for attempt in range(1, last + 1):
            wait = {"DELAY": str(2 + attempt), "REAL_TOPIC": "%RETRY%billing", "REAL_QID": "0"}
            waiting_ms = at_ms + attempt * 100_000
            level_ms = (10_000, 30_000, 60_000)[attempt - 1]
            options = {"reconsume_times": attempt}
            yield _entry(waiting_ms, "SCHEDULE_TOPIC_XXXX", options=options | {"queue_id": 1 + attempt}, **chain, **wait)
            yield _entry(waiting_ms + level_ms, "%RETRY%billing", options=options, **chain, **wait)
        if index >= FAILED_ONCE + FAILED_TWICE:
            yield _entry(at_ms + 400_000, "%DLQ%billing", options={"reconsume_times": last + 1}, **chain)


def _doubles() -> Iterator[_Entry]:
    for index in range(SENT_TWICE):
        for turn in range(2):
            at_ms = 6 * DAY_MS + index * 60_000 + turn * REPEAT_APART_MS
            yield _entry(at_ms, "doubles", f"twice {index}".encode(), UNIQ_KEY=f"TWICE{index}", KEYS=f"twice-{index}")
    for index in range(KEY_TWICE):
        for turn in range(2):
            at_ms = 6 * DAY_MS + HOUR_MS + index * 60_000 + turn * REPEAT_APART_MS
            yield _entry(at_ms, "doubles", f"key {index} {turn}".encode(), UNIQ_KEY=f"KEY{index}{turn}", KEYS=f"same-{index}")
    for index in range(BODY_TWICE):
        at_ms = 6 * DAY_MS + 2 * HOUR_MS + index * REPEAT_APART_MS
        yield _entry(at_ms, "doubles", b"the same body", UNIQ_KEY=f"BODY{index}", KEYS=f"body-{index}")


def _blobs() -> Iterator[_Entry]:
    chance = random.Random(20260302)
    for index in range(SQUASHED + PLAIN_SOFT + PLAIN_HARD):
        body, options = b"soft %d " % index * (BLOB_BYTES // 7), {}
        if index < SQUASHED:
            body, options = zlib.compress(body), {"sys_flag": 1}
        elif index >= SQUASHED + PLAIN_SOFT:
            body = chance.randbytes(BLOB_BYTES)
        yield _entry(7 * DAY_MS + index * 1_000, "blobs", body, options=options, UNIQ_KEY=f"BLOB{index}", TAGS="blob")


def _gappy() -> Iterator[_Entry]:
    for queue_id, messages in GAPPY.items():
        for index in range(messages):
            skip = GAP_OFFSETS if queue_id == 0 and index == 10 else 0
            options = {"queue_id": queue_id, "skip_offsets": skip}
            yield _entry(8 * DAY_MS + index * 1_000, "gappy", options=options, UNIQ_KEY=f"GAP{queue_id}{index}")


def _traces() -> Iterator[_Entry]:
    for index in range(TRACES):
        yield _entry(9 * DAY_MS + index, "RMQ_SYS_TRACE_TOPIC", UNIQ_KEY=f"TRACE{index}")
