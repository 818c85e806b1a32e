"""Fields of stored messages for the columns of a list. Reads the store, changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from broker_core.errors import CodecError, UsageError
from broker_core.json_document import json_text, without_half_pairs
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames, names_text
from broker_core.tools.search.expression import Field
from broker_core.tools.search.facts import MessageFacts, utf8
from broker_core.tools.search.language import parse_field
from broker_core.tools.search.patterns import MarkPattern
from broker_core.worker.message_views import BODY_START_BYTES
from broker_core.worker.questions.stored_messages import FieldValues, ReadFields

TEXT_CHARACTERS_MAX = 1_000
"""Of one value; a longer one is cut, with an ellipsis."""

if TYPE_CHECKING:
    from broker_core.engine.store.message_store import MessageStore

PLACES_MAX = 1_000
FIELDS_MAX = 50
PLACES_AT_A_TIME = 100
"""Messages read at once; other work takes turns with these reads."""
BEFORE_MATCH_CHARACTERS = 24
"""Characters of a body before the match."""


def field_text(facts: MessageFacts, field: Field) -> str:
    """All values of a field in one text, separated by commas; empty without one. Of several possible groups one is right."""
    values = [_text(value) for value in facts.values(field)]
    text = names_text(values) if field.name == "group" else ", ".join(values)
    return text if len(text) <= TEXT_CHARACTERS_MAX else text[: TEXT_CHARACTERS_MAX - 1] + "…"


def _text(value: object) -> str:
    return without_half_pairs(value) if isinstance(value, str) else json_text(value)


class FieldReader:
    """Reads the fields of one request out of messages.

    Raises `FilterError` for an unreadable field, `UsageError` for too large a request or an ``around`` that is no pattern.
    """

    def __init__(self, query: ReadFields, known: KnownNames = NOTHING_KNOWN) -> None:
        if len(query.places) > PLACES_MAX or len(query.fields) > FIELDS_MAX:
            raise UsageError(
                f"{len(query.fields)} fields of {len(query.places):,} messages are asked for; "
                f"ask for {FIELDS_MAX} of {PLACES_MAX:,} at most"
            )
        self._around = MarkPattern(query.around) if query.around else None
        self._known = known
        self._fields = [parse_field(text) for text in query.fields]

    def values(self, messages: Iterable[StoredMessage | None]) -> FieldValues:
        """Fields of some messages, empty for those that are gone. Any thread."""
        texts: list[list[str]] = [[] for _ in self._fields]
        starts = []
        for message in messages:
            facts = None if message is None else MessageFacts(message, self._known)
            for column, field in zip(texts, self._fields, strict=True):
                column.append("" if facts is None else field_text(facts, field))
            starts.append(b"" if facts is None else self._part_of_body(facts))
        return FieldValues(texts, starts)

    def _part_of_body(self, facts: MessageFacts) -> bytes:
        """The beginning of the body, or the part with the match where the beginning does not reach it."""
        match = next(self._around.finditer(facts.body_text), None) if self._around is not None else None
        if match is None or match.end() <= BODY_START_BYTES // 4:
            return facts.body[:BODY_START_BYTES]
        start = max(match.start() - BEFORE_MATCH_CHARACTERS, 0)
        part = facts.body_text[start : start + BODY_START_BYTES]
        return utf8(f"…{part}" if start else part)[:BODY_START_BYTES]


def field_reader(store: MessageStore, query: ReadFields, known: KnownNames = NOTHING_KNOWN) -> list[Callable[[], FieldValues]]:
    """The parts in which a request is carried out, each on any thread. Raises as `FieldReader`."""
    reader = FieldReader(query, known)

    def part(places: list[int]) -> FieldValues:
        return reader.values(_message(store, place) for place in places)

    starts = range(0, len(query.places), PLACES_AT_A_TIME)
    return [partial(part, query.places[start : start + PLACES_AT_A_TIME]) for start in starts]


def joined(parts: list[FieldValues], fields: int) -> FieldValues:
    """One answer of several parts."""
    texts = [[text for part in parts for text in part.texts[column]] for column in range(fields)]
    return FieldValues(texts, [start for part in parts for start in part.body_start])


def _message(store: MessageStore, place: int) -> StoredMessage | None:
    record = store.record_at(place)
    if record is None:
        return None
    try:
        return decode_record(record)
    except CodecError:
        return None  # the list shows nothing there; the detail says why
