"""Fields of stored messages for the columns of a list. Reads the store, changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from broker_core.errors import CodecError, UsageError
from broker_core.ipc.schema import FieldValues, ReadFields
from broker_core.message.record import decode_record
from broker_core.search.facts import MessageFacts
from broker_core.search.field_text import field_text
from broker_core.search.language import parse_field
from broker_core.worker.message_views import BODY_START_BYTES, StoreReader

PLACES_MAX = 1_000
FIELDS_MAX = 50
PLACES_AT_A_TIME = 100
"""Messages read in one go; between them other work gets its turn."""


def field_reader(store: StoreReader, query: ReadFields) -> list[Callable[[], FieldValues]]:
    """The parts in which a request is carried out, each on any thread.

    Raises:
        FilterError: A field cannot be read.
        UsageError: Too much is asked for.
    """
    if len(query.places) > PLACES_MAX or len(query.fields) > FIELDS_MAX:
        raise UsageError(
            f"{len(query.fields)} fields of {len(query.places):,} messages are asked for; "
            f"ask for {FIELDS_MAX} of {PLACES_MAX:,} at most"
        )
    fields = [parse_field(text) for text in query.fields]

    def part(places: list[int]) -> FieldValues:
        texts: list[list[str]] = [[] for _ in fields]
        starts = []
        for place in places:
            facts = _facts(store, place)
            for column, field in zip(texts, fields, strict=True):
                column.append("" if facts is None else field_text(facts, field))
            starts.append(b"" if facts is None else facts.body[:BODY_START_BYTES])
        return FieldValues(texts, starts)

    starts = range(0, len(query.places), PLACES_AT_A_TIME)
    return [partial(part, query.places[start : start + PLACES_AT_A_TIME]) for start in starts]


def joined(parts: list[FieldValues], fields: int) -> FieldValues:
    """One answer of several parts."""
    texts = [[text for part in parts for text in part.texts[column]] for column in range(fields)]
    return FieldValues(texts, [start for part in parts for start in part.body_start])


def _facts(store: StoreReader, place: int) -> MessageFacts | None:
    record = store.record_at(place)
    if record is None:
        return None
    try:
        return MessageFacts(decode_record(record))
    except CodecError:
        return None  # the list shows nothing there; the detail says why
