"""Columns of the tables on the Messages page."""

from __future__ import annotations

from collections.abc import Callable

from broker_core.api import Marks
from gui.models.consumption import Consumed, Consumption
from gui.models.lifeline import LifeEvent
from gui.models.message_words import PropertyRow, PropertyWords
from gui.models.messages import MessageRow
from gui.models.table import CellKind, Column, number_column
from gui.theme.tokens import State
from gui.words.text import UNKNOWN, QueueText, TimeZoneChoice, count_text, tr

CONSUMPTION = "consumption"
GROUPS_NAMED_MAX = 20
KEY_WIDTH, TAG_WIDTH, CONSUMPTION_WIDTH = 124, 94, 134
BODY_WANTS = 132
"""Px of a body beside the pane, which shows all of it."""


def message_columns(
    times: TimeZoneChoice,
    queue_text: QueueText,
    now_ms: Callable[[], int],
    consumption: Consumption | None = None,
) -> list[Column[MessageRow]]:
    """Columns of the message table. ``now_ms`` is the broker's clock, to leave out today's date.

    Where there is no room for a readable body, columns are hidden first that the pane beside shows too. Consumption stays,
    because the pane does not show it.
    """
    return [
        Column(
            "stored",
            "Stored",
            lambda row: times.shown(row.store_ms, now_ms()),
            sort=lambda row: (row.store_ms, row.physical_offset),
            tip=lambda row: tr("Stored {stored}, born {born}", stored=times.full(row.store_ms), born=times.full(row.born_ms)),
            width=112,
            whole=True,
        ),
        Column("key", "Key", lambda row: row.keys or UNKNOWN, kind=CellKind.KEYS, tip=keys_tip, width=KEY_WIDTH),
        Column("tag", "Tag", lambda row: row.tag or UNKNOWN, kind=CellKind.MONO, dim=True, width=TAG_WIDTH),
        number_column("queue", "Queue", lambda row: row.queue_id, queue_text, width=58, gives_way=3),
        number_column("offset", "Offset", lambda row: row.queue_offset, width=70, gives_way=2),
        Column("body", "Body", lambda row: row.body_start, kind=CellKind.CODE, dim=True, wants=BODY_WANTS),
        number_column("bytes", "Bytes", lambda row: row.body_bytes, width=64, gives_way=5),
        consumption_column(consumption or Consumption(), sortable=True),
    ]


def hit_columns(
    times: TimeZoneChoice,
    queue_text: QueueText,
    now_ms: Callable[[], int],
    marks: Callable[[], Marks] = Marks,
    consumption: Consumption | None = None,
) -> list[Column[MessageRow]]:
    """Columns of hits; a key is the name of the column in `HitColumns`, but for body and consumption.

    Args:
        times: Zone of the times.
        queue_text: Writes a queue.
        now_ms: The broker's clock.
        marks: Matches of the search.
        consumption: Which groups have read a message; None: unknown.
    """
    return [
        Column("store_ms", "Stored", lambda row: times.shown(row.store_ms, now_ms()),
               tip=lambda row: tr("Stored {stored}, born {born}", stored=times.full(row.store_ms),
                                  born=times.full(row.born_ms)),
               width=108, whole=True),
        Column("topic", "Topic", lambda row: row.topic, width=76, marks=lambda: marks().topic),
        Column("queue_id", "Queue", lambda row: queue_text(row.queue_id), right=True, width=58, gives_way=3),
        Column("queue_offset", "Offset", lambda row: count_text(row.queue_offset), right=True, width=76, gives_way=2),
        Column("keys", "Key", lambda row: row.keys or UNKNOWN, kind=CellKind.KEYS, tip=keys_tip, width=KEY_WIDTH,
               marks=lambda: marks().key),
        Column("tag", "Tag", lambda row: row.tag or UNKNOWN, kind=CellKind.MONO, dim=True, width=TAG_WIDTH,
               marks=lambda: marks().tag),
        Column("body", "Body", lambda row: row.body_start, kind=CellKind.CODE, dim=True, marks=lambda: marks().body,
               wants=BODY_WANTS),
        Column("body_bytes", "Bytes", lambda row: count_text(row.body_bytes), right=True, width=80, gives_way=5),
        consumption_column(consumption or Consumption()),
    ]  # fmt: skip


def keys_tip(row: MessageRow) -> str:
    """All keys, a line each."""
    return "\n".join(row.keys.split(" "))


def consumption_column(consumption: Consumption, *, sortable: bool = False) -> Column[MessageRow]:
    """The groups that have read a message; ``sortable`` for a list that sorts its rows itself."""

    def consumed(row: MessageRow) -> Consumed:
        return consumption.of(row.topic, row.queue_id, row.queue_offset)

    return Column(
        CONSUMPTION,
        "Consumption",
        lambda row: consumed_text(consumed(row)),
        sort=(lambda row: len(consumed(row).done)) if sortable else None,
        kind=CellKind.FLAG,
        state=lambda row: _consumed_state(consumed(row)),
        tip=lambda row: consumed_tip(consumed(row)),
        width=CONSUMPTION_WIDTH,
    )


def consumed_text(consumed: Consumed) -> str:
    """``Consumed``, ``Not yet``, or how many of the groups that read the topic."""
    if len(consumed.unknown) == consumed.count:
        return UNKNOWN
    if len(consumed.done) == consumed.count:
        return tr("Consumed")
    if len(consumed.waiting) == consumed.count:
        return tr("Not yet")
    return tr("{done} of {count} groups", done=len(consumed.done), count=consumed.count)


def consumed_tip(consumed: Consumed) -> str:
    """Each group with its state, and the evidence."""
    if not consumed.count:
        return tr("No group has a position on this topic.")
    parts = (
        ("{group}: consumed", consumed.done),
        ("{group}: not yet", consumed.waiting),
        ("{group}: not known", consumed.unknown),
    )
    lines = [tr(words, group=group) for words, groups in parts for group in groups]
    if len(lines) > GROUPS_NAMED_MAX:
        lines = [*lines[:GROUPS_NAMED_MAX], tr("and {count} groups more", count=count_text(len(lines) - GROUPS_NAMED_MAX))]
    told = tr("By the offsets of the groups: what a group failed on, or its filter left out, counts as consumed.")
    return "\n".join([*lines, told])


def _consumed_state(consumed: Consumed) -> State | None:
    """Only what waits to be consumed is a chip, because the usual would be the loudest thing of the list."""
    is_usual = consumed.count in (len(consumed.done), len(consumed.unknown))
    return None if is_usual else State.PENDING


def property_columns(words: PropertyWords, *, narrow: bool = False) -> list[Column[PropertyRow]]:
    """Columns of the property table; a narrow one has the words in its tips."""

    def tip(row: PropertyRow) -> str:
        return "\n".join(filter(None, (row.value, words.words(row.name, row.value))))

    width = 0 if narrow else 124
    columns = [
        Column("name", "Name", lambda row: row.name, kind=CellKind.MONO, tip=_property_tip, width=112),
        Column("value", "Value", lambda row: row.value, kind=CellKind.CODE, dim=True, tip=tip, width=width),
        Column("words", "In words", lambda row: words.words(row.name, row.value), dim=True, tip=tip),
    ]
    return columns[:2] if narrow else columns


def life_columns(times: TimeZoneChoice) -> list[Column[LifeEvent]]:
    return [
        Column(
            "time",
            "Time",
            lambda row: times.clock(row.at_ms),
            sort=lambda row: (row.at_ms < 0, row.at_ms, row.index),
            tip=lambda row: times.full(row.at_ms) if row.at_ms >= 0 else tr("When is not known"),
            width=116,
        ),
        Column("event", "Event", lambda row: row.title, kind=CellKind.STRONG, tip=lambda row: row.title),
        Column("detail", "Detail", lambda row: row.detail, dim=True, tip=lambda row: row.detail),
        Column(
            "evidence",
            "Evidence",
            lambda row: tr(row.evidence),
            kind=CellKind.CHIP,
            state=lambda row: State.PENDING if row.evidence == "inferred" else State.PLAIN,
            tip=lambda row: row.evidence_words,
            width=92,
            gives_way=1,
        ),
    ]


def _property_tip(row: PropertyRow) -> str:
    return f"{row.name}\n{tr(row.meaning)}" if row.meaning else row.name
