"""Messages in the answer to a pop, with the handles of their deliveries (Source: docs/spec/remoting.md §2.6.1, §2.6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from broker_core.errors import CodecError
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.receipt_handle import ReceiptHandle, flag_of, parse_handle
from broker_core.protocol.message.record import decode_records

POP_HANDLE = "POP_CK"
"""Property of a repeated message: its handle."""


def popped_messages(
    fields: Mapping[str, str], records: bytes, group: str, broker: str
) -> Iterator[tuple[StoredMessage, ReceiptHandle]]:
    """Messages with their handles: repeated ones with room for it carry theirs, others follow from the answer's lists.

    Args:
        fields: Header of the answer.
        records: Its body.
        group: That popped.
        broker: Name of the broker that answered.

    Raises:
        CodecError: The answer cannot be read.
    """
    starts = _starts(fields.get("startOffsetInfo", ""))
    for stored in decode_records(records):
        text = stored.properties.get(POP_HANDLE)
        if text is not None:
            yield stored, parse_handle(text)
            continue
        flag = flag_of(group, stored.topic)
        yield (
            stored,
            ReceiptHandle(
                start_offset=starts.get((flag, stored.queue_id), stored.queue_offset),
                pop_time_ms=_number(fields, "popTime"),
                invisible_ms=_number(fields, "invisibleTime"),
                revive_queue=_number(fields, "reviveQid"),
                flag=flag,
                broker_name=broker,
                queue_id=stored.queue_id,
                offset=stored.queue_offset,
            ),
        )


def changed_handle(handle: ReceiptHandle, fields: Mapping[str, str]) -> ReceiptHandle:
    """The handle of a delivery whose invisible time was changed, from the header of the answer.

    Raises:
        CodecError: The answer cannot be read.
    """
    return replace(
        handle,
        start_offset=handle.start_offset if handle.is_order else handle.offset,
        pop_time_ms=_number(fields, "popTime"),
        invisible_ms=_number(fields, "invisibleTime"),
        revive_queue=_number(fields, "reviveQid"),
    )


def _starts(text: str) -> dict[tuple[str, int], int]:
    """First offset of the pop in each queue, by the flag of its topic and its id."""
    starts = {}
    for item in filter(None, text.split(";")):
        words = item.split(" ")
        try:
            flag, queue_id, offset = words[0], int(words[1]), int(words[2])
        except (IndexError, ValueError) as error:
            raise CodecError(f"the broker answers a pop with startOffsetInfo “{text[:200]}”, which cannot be read") from error
        starts[flag, queue_id] = offset
    return starts


def _number(fields: Mapping[str, str], name: str) -> int:
    try:
        return int(fields[name])
    except (KeyError, ValueError) as error:
        raise CodecError(f"the broker answers a pop without a number {name}") from error
