"""Columns of an import of topics, and its words."""

from __future__ import annotations

from gui.models.table import CellKind, Column
from gui.models.topic_import import ImportKind, ImportOutcome, TopicImport
from gui.models.topics import NAME_LENGTH_MAX
from gui.theme.tokens import State
from gui.views.topics.new_topic_dialog import NAME_FAULTS
from gui.views.topics.settings import FIELDS, settings_effects, settings_values
from gui.widgets.staged_form import Change
from gui.words.text import UNKNOWN, count_text, tr
from monitoring.admin.topic_files import EntryFault

TAKEN = "✓"
_KINDS = {
    ImportKind.NEW: ("To be made", State.HEALTHY),
    ImportKind.CHANGED: ("To be changed", State.PENDING),
    ImportKind.SAME: ("As in the file", State.IDLE),
    ImportKind.OWN: ("Of the broker", State.IDLE),
    ImportKind.REFUSED: ("Refused", State.CRITICAL),
}
_OUTCOMES = {
    ImportOutcome.NONE: ("", State.PLAIN),
    ImportOutcome.DONE: ("Done", State.HEALTHY),
    ImportOutcome.FAILED: ("Failed", State.CRITICAL),
    ImportOutcome.NOT_TRIED: ("Not done", State.IDLE),
}
_FAULTS = {
    EntryFault.NAME: "It has no name.",
    EntryFault.NUMBER: "{word}: no number that it can be.",
    EntryFault.PERMISSION: "{word}: permissions are 2 (write), 4 (read), 6 (both) and 0.",
    EntryFault.TRUTH: "{word}: neither true nor false.",
    EntryFault.ATTRIBUTES: "{word}: write key=value, several divided by semicolons.",
    EntryFault.TWICE: "{word} is in the file twice.",
}


def import_columns() -> list[Column[TopicImport]]:
    return [
        Column("taken", "Import", lambda one: TAKEN if one.is_taken else "", state=lambda _one: State.HEALTHY,
               tip=lambda one: tr("Click, or press Space, to take or leave it") if one.can_be_taken else "", width=64),
        Column("topic", "Topic", lambda one: one.entry.name or tr("Entry {number}", number=count_text(one.number)),
               kind=CellKind.STRONG, width=210),
        Column("kind", "In this cluster", lambda one: tr(_KINDS[one.kind][0]), kind=CellKind.CHIP,
               state=lambda one: _KINDS[one.kind][1], width=130),
        Column("changes", "Settings", differences, tip=lambda one: "\n".join((differences(one), *effects(one))), dim=True),
        Column("outcome", "Outcome", lambda one: tr(_OUTCOMES[one.outcome][0]), kind=CellKind.CHIP,
               state=lambda one: _OUTCOMES[one.outcome][1], tip=lambda one: one.reason, width=96),
    ]  # fmt: skip


def differences(one: TopicImport) -> str:
    """``Write queues 8 → 16, Permission …``; the settings of a new topic; the reason of a refused one."""
    if one.reason:
        return one.reason
    if one.kind is ImportKind.REFUSED:
        fault = one.entry.fault
        return tr(_FAULTS[fault], word=one.entry.word) if fault is not None else _name_words(one)
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
