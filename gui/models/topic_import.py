"""The plan of an import of topics, row by row, and its outcome. Pure: no widget, no I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from broker_core.api import TopicConfig, csv_bytes
from gui.models.topics import SERVICE_PREFIXES, topic_name_fault
from monitoring.admin.topic_files import EntryFault, TopicEntry

QUEUES_DEFAULT, PERMISSION_DEFAULT = 8, 6
RECEIPT_HEAD = ("topic", "action", "changes", "outcome", "reason")


class ImportKind(Enum):
    """Result of comparing an entry with the cluster."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    OWN = "own"
    """A topic of the broker itself, which is left out."""
    REFUSED = "refused"


class ImportOutcome(Enum):
    NONE = ""
    DONE = "done"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True)
class TopicImport:
    """One entry of a file beside the cluster's topic."""

    number: int
    """Of the entry in the file, from 1."""
    entry: TopicEntry
    kind: ImportKind
    before: TopicConfig
    after: TopicConfig
    name_fault: str = ""
    """The name rule it breaks, as `topic_name_fault` returns it."""
    is_taken: bool = False
    """Whether it is to be applied."""
    outcome: ImportOutcome = ImportOutcome.NONE
    reason: str = ""
    """Why it failed."""

    @property
    def can_be_taken(self) -> bool:
        return self.kind in (ImportKind.NEW, ImportKind.CHANGED)


def planned_imports(
    entries: Iterable[TopicEntry],
    existing: Mapping[str, TopicConfig],
    is_own: Callable[[str], bool],
    *,
    changes: bool,
) -> list[TopicImport]:
    """The plan of each entry; ``changes``: existing topics get the settings of the file."""
    return [_planned(number, one, existing, is_own, changes=changes) for number, one in enumerate(entries, 1)]


def _planned(
    number: int, entry: TopicEntry, existing: Mapping[str, TopicConfig], is_own: Callable[[str], bool], *, changes: bool
) -> TopicImport:
    known = existing.get(entry.name)
    before = known or TopicConfig(entry.name, QUEUES_DEFAULT, QUEUES_DEFAULT, PERMISSION_DEFAULT)
    fault = topic_name_fault(entry.name, [])
    if fault == "reserved" or is_own(entry.name) or entry.name.startswith(SERVICE_PREFIXES):
        return TopicImport(number, entry, ImportKind.OWN, before, before)
    if fault or entry.fault is not None:
        return TopicImport(number, entry, ImportKind.REFUSED, before, before, fault)
    after = entry.merged(before)
    if known is None:
        return TopicImport(number, entry, ImportKind.NEW, before, after, is_taken=True)
    kind = ImportKind.SAME if after == known else ImportKind.CHANGED
    return TopicImport(number, entry, kind, before, after, is_taken=changes and kind is ImportKind.CHANGED)


def receipt_csv(rows: Sequence[TopicImport], differences: Callable[[TopicImport], str]) -> bytes:
    """A CSV file: one line for each entry of the imported file; ``differences`` writes the changes of a topic."""
    lines = [RECEIPT_HEAD]
    for one in rows:
        fault = one.entry.fault.value if isinstance(one.entry.fault, EntryFault) else one.name_fault
        outcome = one.outcome.value or "left out"
        lines.append((one.entry.name, one.kind.value, differences(one), outcome, one.reason or fault))
    return csv_bytes(lines)
