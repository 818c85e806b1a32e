"""A message and all that it was sent again as: several lives as one line with branches.

A message that is sent again gets a new unique key, and so a life of its own; it names its original record. These links join the
branches, from the first stored message on. A message that only looks alike stays a hint in a life.
    0  produced ── stored ── attempt 1 ── retry … ── dead
    1                                                 └─ resent ── produced ── stored ── attempt 1 …
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from broker_core.worker.lifeline.gather import WHOLE, Gathered, LifelineStore, Reach, gather, id_of, in_log_order
from broker_core.worker.lifeline.join import LINK, join, readable_places
from broker_core.worker.lifeline.model import Event, EventKind, Evidence, Position, Story

LIVES_MAX = 12
"""Lives in one line; each costs as much to find as one alone."""
_CUT = "More than {count} messages were made of one another; those made last have life lines of their own."


@dataclass(frozen=True, slots=True)
class Family:
    """Lives that links join, in the order of the log, each without records that are a life of their own here."""

    message: StoredMessage
    lives: tuple[Gathered, ...]
    missing: tuple[str, ...] = ()

    @property
    def begun_ms(self) -> int:
        """When the first record was stored."""
        return min(life.records[0].store_timestamp_ms for life in self.lives)

    @property
    def places(self) -> list[tuple[str, int, int]]:
        """Topic, queue and offset of the records that consumers could read, each once."""
        return sorted({place for life in self.lives for place in readable_places(life)})


def gather_family(
    store: LifelineStore, physical_offset: int, reach: Reach = WHOLE, known: KnownNames = NOTHING_KNOWN
) -> Family:
    """Find everything about a message, its origins and its resends. Any thread. Raises `UsageError` where no message starts.

    ``known`` tells retry topics apart.
    """
    found = [replace(gather(store, physical_offset, reach), known=known)]
    placed = {record.physical_offset for record in found[0].records}
    is_cut, message = False, found[0].message
    for life in found:  # grows
        for record in (*life.origins, *life.resent):
            if record.physical_offset in placed:
                continue
            if len(found) == LIVES_MAX:
                is_cut = True
                continue
            found.append(replace(gather(store, record.physical_offset, reach), known=known))
            placed |= {one.physical_offset for one in found[-1].records}
    first = {id(record): place for place, record in enumerate(in_log_order([life.records[0] for life in found]))}
    found.sort(key=lambda life: first[id(life.records[0])])
    lives = [_alone(life, placed) for life in found]
    return Family(message, tuple(lives), (_CUT.format(count=LIVES_MAX),) if is_cut else ())


def join_family(family: Family, positions: Sequence[Position]) -> Story:
    """One story of all lives; ``positions`` are those of groups in the queues of its places."""
    owners = {id_of(record): branch for branch, life in enumerate(family.lives) for record in life.records}
    told, missing = [], list(family.missing)
    for branch, life in enumerate(family.lives):
        places = set(readable_places(life))
        story = join(life, [one for one in positions if (one.topic, one.queue_id, one.queue_offset) in places])
        missing += story.missing
        sent = list(takewhile(lambda event: event.kind in (EventKind.PRODUCED, EventKind.SENT), story.events))
        events = (*sent, *_links(life, branch, owners), *story.events[len(sent) :])
        told.append(tuple(replace(event, branch=branch) for event in events))
    return Story(tuple(_merged(told)), tuple(dict.fromkeys(missing)))


def _alone(life: Gathered, known: set[int]) -> Gathered:
    """A life without hints to records that have a life of their own beside it."""

    def others(records: tuple[StoredMessage, ...]) -> tuple[StoredMessage, ...]:
        return tuple(record for record in records if record.physical_offset not in known)

    return replace(life, alike=others(life.alike), resent=others(life.resent), origins=others(life.origins))


def _links(life: Gathered, branch: int, owners: dict[str, int]) -> Iterator[Event]:
    """The event that links a life to its original, where it begins."""
    first = next((record for record in life.records if ORIGIN_LINK in record.properties), None)
    if first is None or owners.get(first.properties[ORIGIN_LINK], branch) == branch:
        return
    yield Event(
        kind=EventKind.RESENT,
        at_ms=first.store_timestamp_ms,
        evidence=Evidence.STORED,
        source=LINK,
        number=owners[first.properties[ORIGIN_LINK]],
        topic=first.topic,
        queue_id=first.queue_id,
        queue_offset=first.queue_offset,
        physical_offset=first.physical_offset,
    )


def _merged(lives: Sequence[Sequence[Event]]) -> Iterator[Event]:
    """Events of all lives by time, each life in its own order; those of unknown time last."""
    placed = []
    for branch, events in enumerate(lives):
        reached_ms = 0
        for number, event in enumerate(events):
            reached_ms = max(reached_ms, event.at_ms)
            placed.append(((event.at_ms < 0, reached_ms, branch, number), event))
    return (event for _key, event in sorted(placed, key=lambda one: one[0]))
