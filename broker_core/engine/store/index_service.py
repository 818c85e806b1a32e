"""The index: which records of the log carry a key.

    catch up  the log is read from where the index ends, its keys are added to the last file, a new file follows a full one
    query     records that are not indexed are read first, so that a message is found as soon as its put has returned
    open      files that are damaged or of doubtful content are dropped. Missing keys are added after the store has opened,
              because puts do not need them; keys of more than `LATER_BYTES` of the log are added before

The index adds nothing to the log; losing it costs the time to read the log again. Puts do nothing for it. Where RocketMQ loses
keys (it drops the last file after a crash), the log is read again.

Source: docs/spec/store.md §5 (the drop: §5.6), §10.3, §12 item 6.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from broker_core.config import StoreConfig
from broker_core.engine.store.checkpoint import Checkpoint
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.disk import Disk, is_no_space
from broker_core.engine.store.index_build import IndexBuilder
from broker_core.engine.store.index_file import HEADER_BYTES, Geometry, IndexFile, IndexHeader, index_files
from broker_core.engine.store.index_keys import KeyReader, key_hash
from broker_core.engine.store.machine_code import machine_code
from broker_core.engine.store.queue_table import IndexNote
from broker_core.errors import RecordError
from broker_core.protocol.message.properties import KEY_SEPARATOR, KEYS, UNIQUE_KEY, find_property
from broker_core.protocol.message.record import FILLER, MAGIC_BLANK, MAGIC_V1, MAGIC_V2, check_record

WINDOW_BYTES = 512 * 1024
"""Bytes read at a time; between two windows other threads run (5 ms with small messages)."""

LATER_BYTES = 2 << 30
"""The store opens while the keys of at most this much of the log are missing. A query adds them first, and holds up the loop of
the broker for half a second a GiB.
"""

DAMAGED_BYTES = 16 * 1024 * 1024
"""Bytes read at a damaged place; half of it is more than a record has."""

_NAME_FORMAT = "%Y%m%d%H%M%S"

Progress = Callable[[str, int, int], None]

_log = logging.getLogger(__name__)


class IndexQuery(NamedTuple):
    """A query. Times are store times in milliseconds, both inclusive."""

    topic: str
    key: str
    from_ms: int
    to_ms: int
    unique: bool


class FoundAtOpen(NamedTuple):
    """State that the last owner left."""

    clean: bool
    checkpoint: Checkpoint
    note: IndexNote | None


class IndexService:
    """The index files of one store. Methods may be called from any thread.

    The clock, in milliseconds, names new files. If read-only, keys that the files lack are kept in memory.
    """

    def __init__(
        self, directory: Path, log: CommitLog, config: StoreConfig, clock: Callable[[], int], disk: Disk, *, read_only: bool
    ) -> None:
        self._directory = directory
        self._commit_log = log
        self._clock = clock
        self._disk = disk
        self._read_only = read_only
        self._is_enabled = config.message_index
        self._geometry = Geometry(config.max_hash_slots, config.max_index_items)
        self._lock = threading.Lock()
        """Held for one window, or one look at the files; taken after all other locks of the store but those of the log."""
        library = machine_code(config)
        self._keys, self._builder = KeyReader(library), IndexBuilder(library)
        self._files: list[IndexFile] = []
        self._position = 0
        """The index is complete up to this physical offset."""
        self._known_keys = 0
        """Keys of the record at this offset that are indexed already."""
        self._pending: FoundAtOpen | None = None
        self._names_changed = False
        self.full_end_ms = 0
        """End time of the last full file, for the checkpoint; 0 if none became full."""

    # ---- opening -------------------------------------------------------------------------------------------------------

    def open(self, found: FoundAtOpen, progress: Progress) -> None:
        """Load the files; add the keys of more than `LATER_BYTES` of the log at once. If read-only, the first query does both.

        Without room for the index the store opens nevertheless, and a later `catch_up` continues.

        Raises:
            OSError: The disk is broken.
        """
        if not self._is_enabled:
            return
        self._pending = found
        if self._read_only:
            return
        try:
            self._load_pending()
            if self.backlog_bytes > LATER_BYTES:
                self.catch_up(progress)
        except OSError as error:
            if not is_no_space(error):
                raise
            _log.warning("the index in %s cannot grow: %s. Free some room on the disk", self._directory, error.strerror)

    def _load_pending(self) -> None:
        with self._lock:
            if self._pending is not None:
                self._recover(self._pending)
                self._pending = None

    def _recover(self, found: FoundAtOpen) -> None:
        """Load the sound files, and find the offset in the log from which keys are missing."""
        self._load()
        if self._files:
            self._geometry = self._files[-1].geometry
        complete_to = self._judge_noted(found) if found.note else None
        if complete_to is None:
            self._judge_unknown(found)
        self._cut(self._commit_log.end)
        if complete_to is None:
            complete_to = self._behind_last()
        self._position = max(self._commit_log.min_offset, min(complete_to, self._commit_log.end))

    def _load(self) -> None:
        """Load the files up to the first unsound one; only a full file may be followed by another."""
        for path in index_files(self._directory):
            file = IndexFile.open(path, self._geometry, self._disk, read_only=self._read_only)
            last = self._files[-1] if self._files else None
            hurt = path if file is None or not _follows(file, last) else None
            if last is not None and not last.is_full:
                hurt = last.path
            if file is not None:
                self._files.append(file)
            if hurt is not None:
                _log.warning("the index file %s is damaged; it and those behind it are built anew", hurt)
                self._drop_from(next((n for n, known in enumerate(self._files) if known.path >= hurt), len(self._files)))
                self._remove_from(hurt)
                return

    def _remove_from(self, first: Path) -> None:
        for path in index_files(self._directory):
            if path >= first and not self._read_only:
                path.unlink()

    def _judge_noted(self, found: FoundAtOpen) -> int | None:
        """Restore the state of Orbit's own note; returns the log's end of the note, None if it names other files."""
        note = found.note
        assert note is not None
        names = [file.path.name for file in self._files]
        if names[: len(note.names)] != note.names or len(note.header) != HEADER_BYTES:
            return None
        if not note.names:
            self._drop_from(0)
            return note.log_end
        self._drop_from(len(note.names))
        last, header = self._files[-1], IndexHeader.decode(note.header)
        if last.header.next_item < header.next_item or header.next_item > last.geometry.items:
            return None
        if not found.clean or last.header != header:
            self._builder.restore(last, header)
        return note.log_end

    def _judge_unknown(self, found: FoundAtOpen) -> None:
        """Without a note: after a crash only full files count, and no key may be missing before or between files."""
        expected = self._commit_log.min_offset
        for number, file in enumerate(self._files):
            is_doubtful = not found.clean and file.header.end_ms > found.checkpoint.index_ms
            if is_doubtful or (file.header.next_item > 1 and self._has_keys(expected, file.header.begin_offset)):
                self._drop_from(number)
                return
            if file.header.next_item > 1:
                expected = self._end_of_record(file.header.end_offset)

    def _has_keys(self, start: int, end: int) -> bool:
        position = start
        while position < end:
            window, following = self._window(position, end)
            if window:
                keys = self._keys.read(window, position)
                if len(keys):
                    return True
                following = keys.end if keys.end > position else following
            if following <= position:
                return False
            position = following
        return False

    def _drop_from(self, number: int) -> None:
        for file in self._files[number:]:
            file.delete()
            self._names_changed = True
        del self._files[number:]

    def _cut(self, log_end: int) -> None:
        """Drop items of records that are not in the log."""
        while self._files and self._files[-1].header.next_item > 1 and self._files[-1].header.end_offset >= log_end:
            last = self._files[-1]
            next_item = last.first_item_at(log_end)
            if next_item == 1:
                self._drop_from(len(self._files) - 1)
                continue
            self._builder.restore(last, last.header_up_to(next_item, self._store_ms(last.item(next_item - 1).physical_offset)))

    def _behind_last(self) -> int:
        """The last indexed record; some of its keys may have been in a dropped file."""
        with_items = [file for file in self._files if file.header.next_item > 1]
        if not with_items or self._commit_log.record(with_items[-1].header.end_offset) is None:
            return self._commit_log.min_offset
        last = with_items[-1]
        self._known_keys = last.header.next_item - last.first_item_at(last.header.end_offset)
        return last.header.end_offset

    def _end_of_record(self, physical_offset: int) -> int:
        record = self._commit_log.record(physical_offset)
        return self._commit_log.min_offset if record is None else physical_offset + len(record)

    def _store_ms(self, physical_offset: int) -> int:
        record = self._commit_log.record(physical_offset)
        return 0 if record is None else check_record(record, 0, len(record), check_crc=False).head.store_timestamp_ms

    # ---- building ------------------------------------------------------------------------------------------------------

    @property
    def is_enabled(self) -> bool:
        return self._is_enabled

    def files(self) -> list[tuple[IndexFile, IndexHeader]]:
        """The files with their current headers, oldest first, for reading."""
        with self._lock:
            return [(file, file.header) for file in self._files]

    @property
    def backlog_bytes(self) -> int:
        """Bytes of the log that are not indexed yet."""
        return self._commit_log.end - self._position if self._is_enabled else 0

    def catch_up(self, progress: Progress | None = None) -> None:
        """Index everything in the log at the time of the call.

        Raises:
            OSError: The disk is full or broken; a later call adds the missing keys.
        """
        if not self._is_enabled:
            return
        self._load_pending()
        start, end = self._position, self._commit_log.end
        while self._position < end:
            with self._lock:
                if self._position >= end:
                    return  # another thread has indexed it; a second time would add its keys twice
                self._index_window(end)
            if progress is not None:
                progress("building the index", min(self._position, end) - start, end - start)
            elif self._position < end:
                time.sleep(0)  # lets a put go on that waits for the interpreter

    def _index_window(self, end: int) -> None:
        window, following = self._window(self._position, end)
        if not window:
            self._position = following
            return
        keys = self._keys.read(window, self._position)
        done = min(self._known_keys, keys.of_record(self._position)) if self._known_keys else 0
        self._known_keys = 0
        while done < len(keys):
            done += self._builder.add_keys(self._file_for_append(), keys, done)
        # A piece without any record is damage and skipped as a whole, as everywhere after a damaged place.
        self._position = keys.end if keys.end > self._position else following

    def _window(self, position: int, end: int) -> tuple[bytes | memoryview, int]:
        """Bytes of records from an offset on, and where to continue if they hold none, mostly the next file.

        At a damaged place the piece is larger, because records may follow in it.
        """
        log = self._commit_log
        base = position - position % log.file_bytes
        file_end = base + log.file_bytes
        mapped = log.map_at(base)
        if mapped is None or position + FILLER.size > min(file_end, end):
            return b"", min(file_end, end)
        size, magic = FILLER.unpack_from(mapped, position - base)
        if magic == MAGIC_BLANK:
            return b"", min(file_end, end)
        is_record = magic in (MAGIC_V1, MAGIC_V2) and 0 < size <= log.file_bytes
        stop = min(position + (max(size, WINDOW_BYTES) if is_record else DAMAGED_BYTES), file_end, end)
        following = min(file_end, end) if is_record or stop == min(file_end, end) else stop - DAMAGED_BYTES // 2
        return mapped[position - base : stop - base], following

    def _file_for_append(self) -> IndexFile:
        if self._files and not self._files[-1].is_full:
            return self._files[-1]
        header = self._files[-1].header.followed() if self._files else IndexHeader()
        if not self._read_only:
            self._directory.mkdir(exist_ok=True)
        made = IndexFile.create(self._new_path(), self._geometry, header, self._disk, read_only=self._read_only)
        if self._files:
            self.full_end_ms = self._files[-1].header.end_ms
        self._files.append(made)
        self._names_changed = True
        return made

    def _new_path(self) -> Path:
        """Path of the local time; sorted after the last file even if the clock was set back."""
        name = _index_name(datetime.fromtimestamp(self._clock() / 1000))  # noqa: DTZ006  the format's is local time
        last = self._files[-1].path.name if self._files else ""
        return self._directory / (name if name > last else str(int(last) + 1))

    # ---- asking --------------------------------------------------------------------------------------------------------

    @property
    def last_update(self) -> tuple[int, int]:
        """Store time and physical offset of the last indexed message; zeros without one."""
        with self._lock:
            header = self._files[-1].header if self._files else IndexHeader()
        return header.end_ms, header.end_offset

    def query(self, query: IndexQuery, max_count: int) -> list[memoryview]:
        """Records that carry a key, newest first; each record is checked, because keys may share a hash.

        Only indexed records are found, so the caller calls `catch_up` first. From a damaged file on, the files are built again
        from the log and queried again.

        Raises:
            OSError: The index must be built again, and the disk is full or broken.
        """
        found = self._find(query, max_count)
        if not self._drop_damaged():
            return found
        self.catch_up()
        return self._find(query, max_count)

    def _drop_damaged(self) -> bool:
        with self._lock:
            first = next((number for number, file in enumerate(self._files) if file.is_damaged), None)
            if first is None:
                return False
            _log.warning("the index file %s is damaged; it and those behind it are built anew", self._files[first].path)
            self._drop_from(first)
            self._known_keys = 0
            self._position = self._behind_last()
            return True

    def _find(self, query: IndexQuery, max_count: int) -> list[memoryview]:
        found: list[memoryview] = []
        if not self._is_enabled or max_count <= 0:
            return found
        with self._lock:
            last_offset = -1
            for offset in self._candidates(query):
                if offset == last_offset:
                    continue  # a key that a record carries twice
                last_offset = offset
                record = self._commit_log.record(offset)
                if record is not None and carries(record, query):
                    found.append(record)
                    if len(found) == max_count:
                        break
        return found

    def _candidates(self, query: IndexQuery) -> Iterator[int]:
        wanted = key_hash(query.topic, query.key)
        for file in reversed(self._files):
            yield from file.offsets(wanted, query.from_ms, query.to_ms)

    # ---- the disk ------------------------------------------------------------------------------------------------------

    def sync(self) -> IndexNote | None:
        """Sync the index and return a note of its state; one thread at a time.

        Raises:
            OSError: A sync failed.
        """
        if not self._is_enabled:
            return None
        with self._lock:
            dirty = [file for file in self._files if file.is_dirty]
            header = self._files[-1].header.encode() if self._files else IndexHeader().encode()
            note = IndexNote([file.path.name for file in self._files], header, self._position)
            names_changed, self._names_changed = self._names_changed, False
        for file in dirty:
            file.sync()
        if names_changed and self._directory.is_dir():
            for directory in (self._directory, self._directory.parent):
                self._disk.sync_directory(directory)
        return note

    def remove_before(self, physical_offset: int) -> int:
        """Delete the files whose records all lie before an offset, but never the last; returns the number."""
        with self._lock:
            count = 0
            while count < len(self._files) - 1 and self._files[count].header.end_offset < physical_offset:
                self._files[count].delete()
                count += 1
            del self._files[:count]
            self._position = max(self._position, min(physical_offset, self._commit_log.end))
            self._names_changed |= bool(count)
            return count

    def close(self) -> None:
        with self._lock:
            for file in self._files:
                file.close()
            self._files.clear()
            self._is_enabled = False


def carries(record: memoryview, query: IndexQuery) -> bool:
    """Whether a record matches a query; with ``unique``, only its unique key counts."""
    try:
        parts = check_record(record, 0, len(record), check_crc=False)
    except RecordError:
        return False
    if not query.from_ms <= parts.head.store_timestamp_ms <= query.to_ms or parts.topic != query.topic.encode():
        return False
    if find_property(parts.properties, UNIQUE_KEY) == query.key:
        return True
    return not query.unique and query.key in (find_property(parts.properties, KEYS) or "").split(KEY_SEPARATOR)


def _follows(file: IndexFile, last: IndexFile | None) -> bool:
    return last is None or file.header.next_item == 1 or file.header.begin_offset >= last.header.end_offset


def _index_name(moment: datetime) -> str:
    return f"{moment.strftime(_NAME_FORMAT)}{moment.microsecond // 1000:03d}"
