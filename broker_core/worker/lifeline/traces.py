"""Trace records of clients in the bodies of trace messages. Pure.

    record 0x02 record 0x02 …        fields of a record are parted by 0x01, its first field is its type

    Pub             timestamp region group topic msgId tags keys storeHost bodyLength cost msgType offsetMsgId success
                    [clientHost]
    SubBefore       timestamp region group requestId msgId retryTimes keys
    SubAfter        requestId msgId cost success keys contextCode [timestamp group]
    EndTransaction  timestamp region group topic msgId tags keys storeHost msgType transactionId state fromCheck

Clients of different age write more or fewer fields; a missing field is unknown, and an unreadable record is left out.
(Source: docs/spec/broker.md §13.2, docs/spec/remoting.md §6.6)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from broker_core.protocol.message.properties import ITEM_SEPARATOR, NAME_SEPARATOR, number_of

RECORDS_MAX = 10_000
"""Of one body; a client writes at most 128,000 bytes."""


class TraceKind(Enum):
    """Type of a record; the values are its first field."""

    PUB = "Pub"
    BEFORE = "SubBefore"
    AFTER = "SubAfter"
    END = "EndTransaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One record. Times and costs in ms, -1 where unknown; ``position`` is that of the trace message.

    Attributes:
        retry_times: Of SubBefore: how often the message was retried before.
        state: Of EndTransaction: the producer's answer.
        from_check: Whether it answered a check.
    """

    kind: TraceKind
    position: int
    message_id: str
    at_ms: int = -1
    group: str = ""
    request_id: str = ""
    cost_ms: int = -1
    is_success: bool = False
    retry_times: int = 0
    host: str = ""
    state: str = ""
    from_check: bool = False


def read_traces(body: bytes, position: int) -> list[Trace]:
    """Records of one trace message."""
    records = body.decode("utf-8", "replace").split(ITEM_SEPARATOR)[:RECORDS_MAX]
    read = (_read(record.split(NAME_SEPARATOR), position) for record in records)
    return [trace for trace in read if trace is not None]


def _read(fields: Sequence[str], position: int) -> Trace | None:
    kind, count = fields[0], len(fields)
    if kind == TraceKind.PUB.value and count >= 12:
        # Old clients wrote no id of the stored message before the outcome.
        success_at = 13 if count > 13 else count - 1
        return Trace(
            kind=TraceKind.PUB,
            position=position,
            at_ms=number_of(fields[1]),
            group=fields[3],
            message_id=fields[5],
            cost_ms=number_of(fields[10]),
            is_success=fields[success_at] == "true",
            host=_text(fields, 14),
        )
    if kind == TraceKind.BEFORE.value and count >= 6:
        return Trace(
            kind=TraceKind.BEFORE,
            position=position,
            at_ms=number_of(fields[1]),
            group=fields[3],
            request_id=fields[4],
            message_id=fields[5],
            retry_times=max(number_of(_text(fields, 6)), 0),
        )
    if kind == TraceKind.AFTER.value and count >= 5:
        return Trace(
            kind=TraceKind.AFTER,
            position=position,
            request_id=fields[1],
            message_id=fields[2],
            cost_ms=number_of(fields[3]),
            is_success=fields[4] == "true",
            at_ms=number_of(_text(fields, 7)),
            group=_text(fields, 8),
        )
    if kind == TraceKind.END.value and count >= 12:
        return Trace(
            kind=TraceKind.END,
            position=position,
            at_ms=number_of(fields[1]),
            group=fields[3],
            message_id=fields[5],
            state=fields[11],
            from_check=_text(fields, 12) == "true",
        )
    return None


def _text(fields: Sequence[str], place: int) -> str:
    return fields[place] if place < len(fields) else ""
