"""Answers questions about the life of a message: from the store, the offsets of groups, and their history."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Protocol

from broker_core.errors import OrbitError
from broker_core.protocol.message.properties import UNIQUE_KEY
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames, possible_groups
from broker_core.worker.columns import columns_of
from broker_core.worker.handlers import Run
from broker_core.worker.history import HistoryService
from broker_core.worker.lifeline.family import gather_family, join_family
from broker_core.worker.lifeline.gather import WHOLE, LifelineStore, Reach
from broker_core.worker.lifeline.model import Event, Position, Story
from broker_core.worker.questions.history import HistoryLines, ReadHistory
from broker_core.worker.questions.stored_messages import Lifeline

POSITIONS_MAX = 200
"""Groups whose progress is returned; as many series as the history returns at once."""
STRETCHES = 500
GAP_MS_MAX = 10_000
"""A time is returned only where the history has no gap of this length."""
_SECOND_MS = 1_000
_COLUMNS = [one.name for one in fields(Event) if one.name not in ("kind", "evidence")]
_NO_HISTORY = "No history of offsets is kept by this process: when groups came past it is not known."
_TOO_MANY = "More than {count} groups have offsets in its queues; the others are left out."


def _unknown_protocol(_group: str) -> str:
    return ""


class Offsets(Protocol):
    """The part of `broker_core.engine.tables.consumer_offsets.ConsumerOffsets` that is used here; read on the engine's loop."""

    def get(self, group: str, topic: str, queue_id: int) -> int: ...

    def groups_of(self, topic: str) -> list[str]: ...


async def read_lifeline(
    physical_offset: int,
    store: LifelineStore,
    offsets: Offsets,
    history: HistoryService | None,
    *,
    run: Run,
    now_ms: int,
    reach: Reach = WHOLE,
    known: KnownNames = NOTHING_KNOWN,
    protocol_of: Callable[[str], str] = _unknown_protocol,
) -> Lifeline:
    """Everything known of the message at a place of the commit log, and of its resends.

    To be called on the engine's loop. ``history`` is None where none is kept, and ends at ``now_ms``; ``known`` tells retry
    topics apart; ``protocol_of`` returns what all present members of a group speak, empty where that is unknown. Raises
    `UsageError` where no message starts at the place.
    """
    family = await run(partial(gather_family, store, physical_offset, reach, known))
    positions = positions_of(offsets, family.places, protocol_of)
    missing = []
    if len(positions) > POSITIONS_MAX:
        missing.append(_TOO_MANY.format(count=POSITIONS_MAX))
        positions = positions[:POSITIONS_MAX]
    if history is None and positions:
        missing.append(_NO_HISTORY)
    elif history is not None:
        try:
            positions = await run(partial(dated, history, positions, family.begun_ms, now_ms))
        except OrbitError as error:
            # The records show the life without it.
            missing.append(f"The history of offsets cannot be read: {error.message}")
    story = join_family(family, positions)
    unique_key = family.message.properties.get(UNIQUE_KEY, "")
    return columns(unique_key, replace(story, missing=(*story.missing, *missing)))


def positions_of(
    offsets: Offsets, places: Sequence[tuple[str, int, int]], protocol_of: Callable[[str], str] = _unknown_protocol
) -> list[Position]:
    """Where groups are in the queues of some records; on the loop."""
    return [
        Position(group, topic, queue_id, queue_offset, offset, protocol=protocol_of(group))
        for topic, queue_id, queue_offset in places
        for group in sorted(offsets.groups_of(topic))
        if _may_read(group, topic) and (offset := offsets.get(group, topic, queue_id)) >= 0
    ]


def _may_read(group: str, topic: str) -> bool:
    """Whether a group reads a topic: of a retry topic, any that its name fits."""
    groups = possible_groups(topic)
    return not groups or group in groups


def dated(history: HistoryService, positions: Sequence[Position], begin_ms: int, now_ms: int) -> list[Position]:
    """Positions with the time at which the message was passed, where the history has it. On a thread."""
    passed = [one for one in positions if one.offset > one.queue_offset]
    found = _crossings(history, passed, begin_ms, now_ms) if passed and now_ms > begin_ms else {}
    return [replace(one, passed_ms=found[one]) if one in found else one for one in positions]


def _crossings(history: HistoryService, positions: Sequence[Position], begin_ms: int, end_ms: int) -> dict[Position, int]:
    """When each group was first seen past its message, if it was seen before it shortly earlier, or the message is newer."""
    coarse = _lines(history, positions, begin_ms, end_ms)
    found = {}
    for number, position in enumerate(positions):
        span = _crossing(coarse, number, position.queue_offset, begin_ms)
        while span is not None and span[1] - span[0] > _SECOND_MS:
            finer = _crossing(_lines(history, [position], span[0], span[1] + 1), 0, position.queue_offset, span[0])
            if finer is None or finer[1] - finer[0] >= span[1] - span[0]:
                break
            span = finer
        if span is not None and span[1] - span[0] <= GAP_MS_MAX:
            found[position] = span[1]
    return found


def _lines(history: HistoryService, positions: Sequence[Position], begin_ms: int, end_ms: int) -> HistoryLines:
    names = [f"position:{one.group}/{one.topic}/{one.queue_id}.offset" for one in positions]
    lines = history.answer(ReadHistory(names, begin_ms, end_ms, STRETCHES))
    assert isinstance(lines, HistoryLines)
    return lines


def _crossing(lines: HistoryLines, number: int, queue_offset: int, begin_ms: int) -> tuple[int, int] | None:
    """Last time before and first time after the message was passed; None where the history never saw it passed."""
    times, low, high = array("q", lines.times_ms[number]), array("d", lines.low[number]), array("d", lines.high[number])
    before_ms = begin_ms
    for at_ms, least, most in zip(times, low, high, strict=True):
        if most > queue_offset:
            # Within one stretch on both sides: at its start the group had not passed the message.
            return (at_ms, at_ms + lines.step_ms) if least <= queue_offset else (before_ms, at_ms)
        if least <= queue_offset:
            before_ms = at_ms
    return None


def columns(unique_key: str, story: Story) -> Lifeline:
    events = story.events
    return Lifeline(
        unique_key=unique_key,
        kind=[event.kind.value for event in events],
        evidence=[event.evidence.value for event in events],
        missing=list(story.missing),
        **columns_of(events, _COLUMNS),
    )
