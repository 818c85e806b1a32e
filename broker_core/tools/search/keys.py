"""Index files as a search needs them: possible places of a key, and parts of the log that the index does not cover.

The files are read from outside, also while a broker adds to them: items added meanwhile count as not in the index, and their
records are scanned. The caller must check the record, because two keys may have one hash.

Source: docs/spec/store.md §5.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from broker_core.engine.store.index_keys import key_hash
from broker_core.engine.store.index_layout import IndexItems, slot_at
from broker_core.engine.store.inspection.index_check import LoadedIndex, load_index

Range = tuple[int, int]
"""From, up to: physical offsets of records."""

_CHAIN_MAX = 5_000_000
"""Items in one chain; a longer one than a file has items is a cycle."""


class KeyIndex:
    """The index of a store as it is now; its log has records from ``log_start`` to ``log_end``."""

    def __init__(self, root: Path, log_start: int, log_end: int) -> None:
        self._files = [file for file in load_index(root) if _is_usable(file)]
        self.unknown = _gaps(self._files, log_start, log_end)
        """Parts of the log whose keys are not in the index; each starts with a record."""

    def places(self, topics: Iterable[str], key: str) -> set[int]:
        """Physical offsets of records that may have a key, or a unique key, in some topics.

        A file with a damaged chain is added to `unknown` as a whole.
        """
        hashes = {key_hash(topic, key) for topic in topics}
        found: set[int] = set()
        for file in list(self._files):
            for value in hashes:
                chain = _chain(file, value)
                if chain is None:
                    found.add(self._distrust(file))
                    break
                found.update(chain)
        return found

    def _distrust(self, file: LoadedIndex) -> int:
        """Drop a file; returns the place of its last record, which is after the part to be scanned instead."""
        assert file.header is not None
        self._files.remove(file)
        self.unknown.append((file.header.begin_offset, file.header.end_offset))
        return file.header.end_offset


def _is_usable(file: LoadedIndex) -> bool:
    """Whether the header agrees with the first and the last item; a damaged one may name any part of the log."""
    header = file.header
    if header is None or file.slots <= 0 or header.next_item <= 1:
        return False
    items = IndexItems(file.data, file.slots)
    if header.next_item > len(items):
        return False
    first, last = items[1].physical_offset, items[header.next_item - 1].physical_offset
    return (first, last) == (header.begin_offset, header.end_offset)


def _gaps(files: list[LoadedIndex], log_start: int, log_end: int) -> list[Range]:
    """The parts before, between and after the files; the record at the end of one may have more keys than the file."""
    gaps: list[Range] = []
    reached = log_start
    for file in files:
        header = file.header
        assert header is not None
        if header.begin_offset > reached:
            gaps.append((reached, header.begin_offset))
        reached = max(reached, header.end_offset)
    if reached < log_end:
        gaps.append((reached, log_end))
    return gaps


def _chain(file: LoadedIndex, value: int) -> list[int] | None:
    """Physical offsets under a hash; None when the chain is damaged."""
    items = IndexItems(file.data, file.slots)
    found: list[int] = []
    number = slot_at(file.data, value % file.slots)
    newest = len(items)
    for _ in range(_CHAIN_MAX):
        if number == 0:
            return found
        if not 0 < number < newest:
            return None
        item_hash, physical, _seconds, previous = items[number]
        if item_hash % file.slots != value % file.slots:
            return None
        if item_hash == value:
            found.append(physical)
        newest, number = number, previous
    return None
