"""Answers about connections and the store for `tests.support.fake_source`."""

from __future__ import annotations

import functools

from broker_core.api import RequestCode, setting_specs
from broker_core.protocol.json_body import emit
from broker_core.protocol.properties_text import format_properties
from broker_core.worker.questions.administration import BrokerAnswer, ConnectionPage, StorePicture
from broker_core.worker.questions.history import EventPage, ReadEvents
from broker_core.worker.questions.in_flight import InFlightPage

TAKEN_MS = 1_795_227_302_640
GIB = 1 << 30


def fake_connections(taken_ms: int = TAKEN_MS) -> ConnectionPage:
    """Two producers, three consumers in two groups, a tool, a client at the name server and the broker's own connection."""
    side = ["broker"] * 6 + ["name server", "registration"]
    count = len(side)
    members: tuple[tuple[int, str, str, str, int, dict[str, str]], ...] = (
        (0, "producer", "order-api@10.23.4.9#7781", "order-api", 4_000, {}),
        (1, "producer", "pay@10.23.4.21#991", "pay-tx", 8_000, {}),
        (2, "consumer", "c1@10.23.4.11", "payment-settle", 3_000, {"payments": "*"}),
        (3, "consumer", "c2@10.23.4.12", "payment-settle", 9_000, {"payments": "*"}),
        (4, "consumer", "c1@10.23.4.40", "notify-sms", 71_000, {"shipment-notify": "PAID || REFUND"}),
        (4, "consumer", "c1@10.23.4.40", "points-calc", 71_000, {"user-points": "*"}),
    )
    return ConnectionPage(
        taken_ms=taken_ms,
        side=side,
        address=[f"10.23.4.{9 + row}:51{row}22" for row in range(count)],
        local_address=["10.23.4.2:10911"] * 6 + ["10.23.4.2:9876", "127.0.0.1:40022"],
        language=["JAVA", "JAVA", "JAVA", "JAVA", "GO", "JAVA", "", "JAVA"],
        version=["V4_9_8", "V4_7_1", "V4_9_8", "V4_9_8", "V5_1_2", "V4_9_8", "", "V4_9_8"],
        connected_ms=[taken_ms - 8_040_000] * count,
        last_active_ms=[taken_ms - 200] * count,
        bytes_in=[1_000_000 * (row + 1) + (taken_ms - TAKEN_MS) * row for row in range(count)],
        bytes_out=[400_000 * (row + 1) + (taken_ms - TAKEN_MS) * 2 for row in range(count)],
        requests=[10_000 * (row + 1) + (taken_ms - TAKEN_MS) // 10 for row in range(count)],
        member_row=[member[0] for member in members],
        member_role=[member[1] for member in members],
        member_client_id=[member[2] for member in members],
        member_group=[member[3] for member in members],
        member_heartbeat_ms=[taken_ms - member[4] for member in members],
        member_topics=[dict(member[5]) for member in members],
        protocol=["remoting"] * count,
        streams=[-1] * count,
        leases=[-1] * count,
        member_kind=["producer" if member[1] == "producer" else "push consumer" for member in members],
    )


def fake_in_flight(group: str) -> InFlightPage:
    """Three queues of the group that settles payments, the first with a message that is due; none of others."""
    count = 3 if group == "payment-settle" else 0
    return InFlightPage(
        taken_ms=TAKEN_MS,
        group=[group] * count,
        topic=["payments"] * count,
        queue_id=list(range(count)),
        messages=[4, 12, 1][:count],
        next_due_ms=[TAKEN_MS - 200, TAKEN_MS + 9_000, TAKEN_MS + 41_000][:count],
        oldest_ms=[TAKEN_MS - 60_200, TAKEN_MS - 51_000, TAKEN_MS - 19_000][:count],
        in_order=[False, False, True][:count],
    )


def fake_store(taken_ms: int = TAKEN_MS) -> StorePicture:
    """Thirteen files of the log, the last one 62 % full; two index files; one cleaning."""
    bases = [number * GIB for number in range(13)]
    end = 12 * GIB + 665_719_930
    return StorePicture(
        taken_ms=taken_ms,
        log_file_bytes=GIB,
        log_base=bases,
        log_first_ms=[taken_ms - 8_040_000 + number * 600_000 for number in range(13)],
        log_modified_ms=[taken_ms - 7_440_000 + number * 600_000 for number in range(13)],
        log_min=0,
        log_end=end,
        log_flushed=end - 3_250_585,
        indexed=end - 1_024,
        queue_topic=["SCHEDULE_TOPIC_XXXX", "orders", "payments"],
        queue_count=[18, 8, 8],
        queue_entries=[1_004_706, 4_318_220, 2_190_774],
        queue_bytes=[20_094_120, 86_364_400, 43_815_480],
        queue_behind=[0, 12, 0],
        index_name=["20261121080112004", "20261121093418220"],
        index_entries=[19_999_999, 9_211_004],
        index_capacity=[19_999_999, 19_999_999],
        index_begin_ms=[taken_ms - 8_040_000, taken_ms - 2_444_000],
        index_end_ms=[taken_ms - 2_444_000, taken_ms],
        index_bytes=[420_000_040, 420_000_040],
        clean_ms=[taken_ms - 3_600_000],
        clean_trigger=["deleteWhen"],
        clean_log_files=[4],
        clean_queue_files=[11],
        clean_index_files=[1],
        clean_log_bytes=[4 * GIB],
        clean_error=[""],
        overdue_files=2,
        flush_ms=[taken_ms - 500 * (60 - number) for number in range(60)],
        flush_took_us=[3_000 + 400 * (number % 7) for number in range(60)],
        flush_bytes=[1_050_000] * 60,
        disk_used_bytes=214 * GIB,
        disk_total_bytes=512 * GIB,
        store_bytes=13 * GIB,
        max_used_percent=75,
        clean_forcibly_percent=85,
        refuse_percent=90,
        clean_forcibly=True,
        delete_when="04",
        file_reserved_hours=72,
        flush_disk_type="ASYNC_FLUSH",
        flush_interval_ms=500,
        refusal="",
        machine_code="used",
    )


PUT_TIMES = (
    "[<=0ms]:73412 [0~10ms]:4120 [10~50ms]:412 [50~100ms]:38 [100~200ms]:9 [200~500ms]:3 [500ms~1s]:0 [1~2s]:0 [2~3s]:0 "
    "[3~4s]:0 [4~5s]:0 [5~10s]:0 [10s~]:0 "
)


def fake_broker_answers() -> dict[int, BrokerAnswer]:
    """Answers to requests of administration, by code."""
    runtime, settings = _broker_bodies()
    return {
        RequestCode.GET_BROKER_RUNTIME_INFO: BrokerAnswer({}, runtime),
        RequestCode.GET_BROKER_CONFIG: BrokerAnswer({}, settings),
    }


@functools.cache
def _broker_bodies() -> tuple[bytes, bytes]:
    """Runtime figures and settings; made once, because each fake source has them."""
    table = {"putMessageDistributeTime": PUT_TIMES, "putMessageEntireTimeMax": "212", "putMessageFailedTimes": "0"}
    settings = {key: spec.default for key, spec in setting_specs().items()} | {
        "fileReservedTime": "48",
        "brokerRole": "ASYNC_MASTER",
        "storePathRootDir": "/var/lib/orbit/store",
    }
    return emit({"table": table}), format_properties(settings).encode()


EVENTS = (
    (300_000, "members_changed", "payment-settle", "Group payment-settle has 2 members now: -c3@10.23.4.15"),
    (360_000, "action", "payment-settle", "console.invoke_broker_to_reset_offset: payment-settle (topic=payments)"),
    (
        362_000,
        "offsets_moved_back",
        "payment-settle",
        "Group payment-settle was moved back in 8 queues: 40 messages come again",
    ),
    (420_000, "alert", "payment-settle", "Lag above 15,000 for 1 min: 16,870"),
    (500_000, "topic_created", "coupon-grant", "Topic coupon-grant was created"),
    (640_000, "action", "orders", "console.delete_topic_in_broker.failed: orders (remark=the topic is in use)"),
    (700_000, "note", "", "deployed shop 2.4"),
    (8_040_000, "broker_started", "", "The broker started"),
)
"""Age in ms before `TAKEN_MS`, kind, subject, text; newest first."""


def fake_events(query: ReadEvents) -> EventPage:
    """What happened in the shop."""
    found = [
        event
        for event in EVENTS
        if query.from_ms <= TAKEN_MS - event[0] < query.to_ms
        and (not query.kinds or event[1] in query.kinds)
        and (not query.subject or event[2] == query.subject)
    ]
    shown = found[: query.count]
    return EventPage(
        len(found),
        [TAKEN_MS - event[0] for event in shown],
        [event[1] for event in shown],
        [event[2] for event in shown],
        [event[3] for event in shown],
    )
