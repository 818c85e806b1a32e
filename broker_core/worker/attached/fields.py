"""Fields of messages that lie on any of the brokers, for the columns of a list: all brokers share one time limit."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import replace

from broker_core.cluster.link import ClusterLink
from broker_core.errors import CodecError, RemoteError
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from broker_core.worker.attached.browsing import record_of
from broker_core.worker.attached.lost_brokers import LostParts, together
from broker_core.worker.field_views import FieldReader, joined
from broker_core.worker.questions.stored_messages import FieldValues, ReadFields

FIELDS_AT_A_TIME = 16


async def read_fields(link: ClusterLink, query: ReadFields, lost: LostParts, known: KnownNames = NOTHING_KNOWN) -> FieldValues:
    """The fields that arrive in time; the answer names the messages whose fields did not. ``lost`` collects the reasons.

    Raises:
        FilterError: A field cannot be read.
        UsageError: Too much is asked for.
        NetworkError: Nothing arrived; so `RemoteError` and `CodecError`, when a broker answers otherwise.
    """
    reader = FieldReader(query, known)
    numbers: dict[str, list[int]] = defaultdict(list)
    for number, place in enumerate(query.places):
        numbers[link.numbers.place_of(place)[0]].append(number)
    read: dict[int, FieldValues] = {}

    async def read_one(number: int) -> None:
        message = await _message_at(link, query.places[number])
        # Bodies are decompressed, parsed and searched, and the loop samples the cluster meanwhile.
        read[number] = await asyncio.to_thread(reader.values, [message])

    async def ask(broker: str) -> None:
        wanted = numbers[broker]
        for start in range(0, len(wanted), FIELDS_AT_A_TIME):
            await together(map(read_one, wanted[start : start + FIELDS_AT_A_TIME]))

    asked = [broker for broker in numbers if not lost.is_lost(broker)]
    await asyncio.gather(*(lost.one(broker, ask, within_ms=link.settings.page_ms) for broker in asked))
    lost.check(bool(read))
    nothing = FieldValues([[""] for _field in query.fields], [b""])
    parts = [read.get(number, nothing) for number in range(len(query.places))]
    unread = [number for number in range(len(query.places)) if number not in read]
    return replace(joined(parts, len(query.fields)), unread=unread, notice=lost.notice() if unread else "")


async def _message_at(link: ClusterLink, shown_place: int) -> StoredMessage | None:
    """A message by the place that the window knows; None where it has expired or is damaged."""
    try:
        return decode_record(await record_of(link, *link.numbers.place_of(shown_place)))
    except (RemoteError, CodecError):
        return None
