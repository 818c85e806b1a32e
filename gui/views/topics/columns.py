"""Columns of the tables on the Topics page, and of an import of topics with its words."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gui.models.favourites import FAVOURITES
from gui.models.table import CellKind, Column, known_number, number_column
from gui.models.topic_import import ImportKind, ImportOutcome, TopicImport
from gui.models.topic_queues import TopicMeasure, TopicQueueRow
from gui.models.topics import NAME_LENGTH_MAX, GroupOnTopic, TopicGroupRow, TopicHealth, TopicRow
from gui.theme.tokens import State
from gui.views.consumers.columns import standing_state, standing_text
from gui.views.topics.new_topic_dialog import NAME_FAULTS
from gui.views.topics.settings import FIELDS, settings_effects, settings_values
from gui.widgets.staged_form import Change
from gui.words.amounts import online_text
from gui.words.text import (
    UNKNOWN,
    bytes_exact_text,
    bytes_text,
    count_text,
    duration_text,
    rate_number,
    short_count_text,
    tr,
)
from monitoring.admin.topic_files import EntryFault
from monitoring.admin.topics import TopicType

AGE_SHOWN_FROM_MS = 100
YOUR_TOPICS, SYSTEM_TOPICS = "Your topics", "System topics"
STAR = "★"
INLINE_GROUPS = 2
TYPE_STATES = {
    TopicType.FIFO: State.COMMITTED,
    TopicType.DELAY: State.DELAYED,
    TopicType.TRANSACTION: State.CHECKING,
    TopicType.RETRY: State.RETRY,
    TopicType.DEAD_LETTER: State.CRITICAL,
}

_HEALTH_STATES = {TopicHealth.ACTIVE: State.HEALTHY, TopicHealth.IDLE: State.IDLE, TopicHealth.LAGGING: State.WARNING}


@dataclass(frozen=True, slots=True)
class TopicColumnSources:
    """What the columns read beside the row; only for painted or sorted rows.

    Attributes:
        put_rates: The sparkline of a topic, None for no writes.
        groups: Groups of a topic and their lag, largest first.
        topic_type: Its type; None while unknown.
        measure: Its size on disk; None while not measured.
        measured_ago_ms: Age of that measure; -1: unknown.
        is_favourite: Whether it is a favourite.
    """

    put_rates: Callable[[TopicRow], Sequence[float] | None]
    groups: Callable[[TopicRow], Sequence[GroupOnTopic]]
    topic_type: Callable[[TopicRow], TopicType | None]
    measure: Callable[[TopicRow], TopicMeasure | None]
    measured_ago_ms: Callable[[TopicRow], int]
    is_favourite: Callable[[TopicRow], bool]

    def section(self, row: TopicRow) -> str:
        if self.is_favourite(row):
            return FAVOURITES
        return SYSTEM_TOPICS if row.is_system else YOUR_TOPICS


def topic_columns(sources: TopicColumnSources) -> list[Column[TopicRow]]:
    return [
        Column("topic", "Topic", lambda row: row.name, kind=CellKind.STRONG, dot=lambda row: _HEALTH_STATES[row.health]),
        Column("favourite", "", lambda row: STAR if sources.is_favourite(row) else "", state=lambda _row: State.PENDING,
               tip=lambda row: tr("A favourite") if sources.is_favourite(row) else "", width=36),
        Column("type", "Type", lambda row: type_text(sources.topic_type(row)),
               kind=CellKind.TAG, state=lambda row: type_state(sources.topic_type(row)), width=104, gives_way=3),
        Column("queues", "Queues W / R", lambda row: f"{count_text(row.write_queues)} / {count_text(row.read_queues)}",
               sort=lambda row: (row.write_queues, row.read_queues), right=True, width=104, gives_way=5),
        number_column("in", "In /s", lambda row: row.put_rate, rate_number, kind=CellKind.STRONG, width=76),
        Column("spark", "15 min", writes_text, sort=lambda row: row.put_rate, kind=CellKind.SPARKLINE,
               value=sources.put_rates, width=84, gives_way=4),
        number_column("size", "Avg size", lambda row: row.average_bytes, bytes_text,
                      tip=lambda _row: tr("Body size of what was written since the broker started"), width=78, gives_way=8),
        number_column("kept", "Messages kept", lambda row: row.kept_messages, known=True, width=108, gives_way=2),
        Column("groups", "Groups with lag", lambda row: groups_text(sources.groups(row)), sort=lambda row: row.slowest_group,
               tip=lambda row: all_groups_text(sources.groups(row)), dim=True, width=168, gives_way=6),
        number_column("lag", "Lag", lambda row: row.lag_messages,
                      state=lambda row: State.WARNING if row.health is TopicHealth.LAGGING else None, width=72),
        Column("disk", "On disk", lambda row: measure_text(sources.measure(row)),
               sort=lambda row: _measured_bytes(sources.measure(row)),
               tip=lambda row: measure_tip(sources.measure(row), sources.measured_ago_ms(row)), right=True, width=100,
               gives_way=1),
        Column("last", "Last write", age_text, sort=lambda row: known_number(row.age_ms), right=True, dim=True, width=84,
               gives_way=7),
    ]  # fmt: skip


def group_columns() -> list[Column[TopicGroupRow]]:
    return [
        Column("group", "Group", lambda row: row.name, kind=CellKind.STRONG),
        Column(
            "lag",
            "Lag",
            lambda row: count_text(row.lag_messages),
            state=standing_state,
            tip=standing_text,
            sort=lambda row: math.inf if row.beyond_messages > 0 else row.lag_messages,
            right=True,
            width=66,
        ),
        number_column("behind", "Behind", lambda row: row.behind_ms, duration_text, width=62),
        Column("clients", "Clients", members_text, sort=lambda row: row.members, right=True, dim=True, width=64),
    ]


def type_text(kind: TopicType | None) -> str:
    return tr(kind.value) if kind is not None else UNKNOWN


def type_state(kind: TopicType | None) -> State:
    return TYPE_STATES.get(kind, State.PLAIN) if kind is not None else State.PLAIN


def groups_text(groups: Sequence[GroupOnTopic]) -> str:
    """``order-service 412, risk-scan 0 and 1 more``; ``ahead beyond the end``."""
    if not groups:
        return UNKNOWN
    words = ", ".join(
        f"{one.name} {tr('beyond the end') if one.beyond_messages > 0 else short_count_text(one.lag_messages)}"
        for one in groups[:INLINE_GROUPS]
    )
    more = len(groups) - INLINE_GROUPS
    return tr("{groups} and {count} more", groups=words, count=more) if more > 0 else words


def all_groups_text(groups: Sequence[GroupOnTopic]) -> str:
    """Groups and their lag, a line each, with what no lag tells."""
    return "\n".join(
        ", ".join(filter(None, (f"{one.name}: {count_text(one.lag_messages)}", standing_text(one)))) for one in groups[:40]
    )


def measure_text(measure: TopicMeasure | None) -> str:
    """``8.1 GiB``; ``≈`` before an estimate."""
    if measure is None:
        return UNKNOWN
    return f"≈ {bytes_text(measure.bytes)}" if measure.is_estimate else bytes_text(measure.bytes)


def measure_tip(measure: TopicMeasure | None, ago_ms: int) -> str:
    """What the size on disk counts, and the age of the measure; -1: unknown."""
    if measure is None:
        return tr("Not measured yet")
    exact = bytes_exact_text(measure.bytes)
    how = tr("estimated from a part of the records") if measure.is_estimate else tr("all records counted")
    what = tr("{size}: records in the commit log and entries of the consume queues, {how}", size=exact, how=how)
    return what if ago_ms < 0 else f"{what}\n{tr('measured {age} ago', age=duration_text(ago_ms))}"


def _measured_bytes(measure: TopicMeasure | None) -> int | None:
    return measure.bytes if measure is not None else None


def age_text(row: TopicRow) -> str:
    """Time since the last write of a topic."""
    return tr("now") if 0 <= row.age_ms < AGE_SHOWN_FROM_MS else duration_text(row.age_ms)


def members_text(row: TopicGroupRow) -> str:
    """Online clients of a group."""
    return online_text(row.members)


EMBEDDED_ONLY = frozenset({"size", "disk"})
"""Columns that an attached cluster cannot fill."""


def writes_text(row: TopicRow | TopicQueueRow) -> str:
    """What stands in place of a line of writes."""
    if row.put_rate > 0:
        return ""
    if math.isnan(row.put_rate):
        return UNKNOWN
    return tr("no writes")


IMPORT_TAKEN = "✓"
_IMPORT_KINDS = {
    ImportKind.NEW: ("To be made", State.HEALTHY),
    ImportKind.CHANGED: ("To be changed", State.PENDING),
    ImportKind.SAME: ("As in the file", State.IDLE),
    ImportKind.OWN: ("Of the broker", State.IDLE),
    ImportKind.REFUSED: ("Refused", State.CRITICAL),
}
_IMPORT_OUTCOMES = {
    ImportOutcome.NONE: ("", State.PLAIN),
    ImportOutcome.DONE: ("Done", State.HEALTHY),
    ImportOutcome.FAILED: ("Failed", State.CRITICAL),
    ImportOutcome.NOT_TRIED: ("Not done", State.IDLE),
}
_IMPORT_FAULTS = {
    EntryFault.NAME: "It has no name.",
    EntryFault.NUMBER: "{word}: no number that it can be.",
    EntryFault.PERMISSION: "{word}: permissions are 2 (write), 4 (read), 6 (both) and 0.",
    EntryFault.TRUTH: "{word}: neither true nor false.",
    EntryFault.ATTRIBUTES: "{word}: write key=value, several divided by semicolons.",
    EntryFault.TWICE: "{word} is in the file twice.",
}


def import_columns() -> list[Column[TopicImport]]:
    return [
        Column("taken", "Import", lambda one: IMPORT_TAKEN if one.is_taken else "", state=lambda _one: State.HEALTHY,
               tip=lambda one: tr("Click, or press Space, to take or leave it") if one.can_be_taken else "", width=64),
        Column("topic", "Topic", lambda one: one.entry.name or tr("Entry {number}", number=count_text(one.number)),
               kind=CellKind.STRONG, width=210),
        Column("kind", "In this cluster", lambda one: tr(_IMPORT_KINDS[one.kind][0]), kind=CellKind.CHIP,
               state=lambda one: _IMPORT_KINDS[one.kind][1], width=130),
        Column("changes", "Settings", differences, tip=lambda one: "\n".join((differences(one), *effects(one))), dim=True),
        Column("outcome", "Outcome", lambda one: tr(_IMPORT_OUTCOMES[one.outcome][0]), kind=CellKind.CHIP,
               state=lambda one: _IMPORT_OUTCOMES[one.outcome][1], tip=lambda one: one.reason, width=96),
    ]  # fmt: skip


def differences(one: TopicImport) -> str:
    """``Write queues 8 → 16, Permission …``; the settings of a new topic; the reason of a refused one."""
    if one.reason:
        return one.reason
    if one.kind is ImportKind.REFUSED:
        fault = one.entry.fault
        return tr(_IMPORT_FAULTS[fault], word=one.entry.word) if fault is not None else _name_words(one)
    if one.kind is ImportKind.NEW:
        values = settings_values(one.after)
        told = [field for field in FIELDS if field.key in ("write_queues", "read_queues", "permission") or values[field.key]]
        return ", ".join(f"{tr(field.title)} {field.text(values[field.key])}" for field in told)
    words = ", ".join(f"{tr(change.field.title)} {change.text}" for change in _changes(one))
    return words or (tr("Flags or filter type") if one.kind is ImportKind.CHANGED else UNKNOWN)


def effects(one: TopicImport) -> list[str]:
    """Consequences for clients of an existing topic, one sentence each."""
    changes = _changes(one) if one.kind is ImportKind.CHANGED else []
    return settings_effects(changes) if changes else []


def _changes(one: TopicImport) -> list[Change]:
    before, after = settings_values(one.before), settings_values(one.after)
    return [Change(field, before[field.key], after[field.key]) for field in FIELDS if before[field.key] != after[field.key]]


def _name_words(one: TopicImport) -> str:
    return tr(NAME_FAULTS[one.name_fault], limit=NAME_LENGTH_MAX, length=len(one.entry.name))
