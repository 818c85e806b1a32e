"""Snapshots of the state, so that a restart reads only the end of the log.

``config/txnSnapshot-<offset>``: magic ``KTXS``, CRC-32 of the rest, then msgpack. Two are kept; instead of an unreadable one
the older one or the whole log serves (Source: docs/spec/kafka.md §3.4).
"""

from __future__ import annotations

import logging
import zlib
from pathlib import Path
from typing import Any

import msgpack

from broker_core.engine.atomic.sequences import QueueSequences, SequenceWindow, StoredBatch
from broker_core.engine.atomic.state import AtomicState
from broker_core.engine.store.disk import Disk
from broker_core.errors import CodecError
from broker_core.protocol.atomic import AtomicPhase, OffsetKey, OpenQueue, PendingOffset, QueueKey, Transactional

logger = logging.getLogger(__name__)

PREFIX = "txnSnapshot-"
KEPT = 2
_OFFSET = "[0-9]" * 20
_MAGIC = b"KTXS"
_VERSION = 1


def encode_snapshot(state: AtomicState, log_offset: int) -> bytes:
    """The state after everything below an offset of the commit log; equal states give equal bytes."""
    content = [
        _VERSION,
        log_offset,
        state.ids_end,
        [_id_to_list(state.ids[name]) for name in sorted(state.ids)],
        [
            [*queue, sorted([pid, window.epoch, [list(batch) for batch in window.batches]] for pid, window in sequences)]
            for queue, sequences in sorted(state.sequences.items())
            if sequences.windows
        ],
        [[*queue, spans] for queue, spans in sorted(state.aborted.items())],
    ]
    packed: bytes = msgpack.packb(content)
    return _MAGIC + zlib.crc32(packed).to_bytes(4, "big") + packed


def decode_snapshot(data: bytes) -> tuple[AtomicState, int]:
    """The state of a snapshot, and the offset of the commit log at which to continue. Raises `CodecError` for a damaged one."""
    packed = data[8:]
    if data[:4] != _MAGIC or zlib.crc32(packed).to_bytes(4, "big") != data[4:8]:
        raise CodecError("its checksum does not fit")
    try:
        version, log_offset, ids_end, ids, sequences, aborted = msgpack.unpackb(packed)
        if version != _VERSION:
            raise CodecError(f"it has version {version}, known is {_VERSION}")
        state = AtomicState()
        state.ids_end = int(ids_end)
        for item in ids:
            state.restore_id(_id_from_list(item))
        for topic, queue_id, windows in sequences:
            queue = state.sequences[QueueKey(topic, queue_id)] = QueueSequences()
            for producer_id, epoch, batches in windows:
                queue.windows[producer_id] = SequenceWindow(epoch, [StoredBatch(*batch) for batch in batches])
        for topic, queue_id, spans in aborted:
            state.aborted[QueueKey(topic, queue_id)] = [[int(first), int(last)] for first, last in spans]
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise CodecError(f"it cannot be read: {error}") from error
    return state, int(log_offset)


def _id_to_list(entry: Transactional) -> list[Any]:
    queues = [[*queue, opened.first_physical, opened.spans] for queue, opened in sorted(entry.queues.items())]
    offsets = [[*key, pending.offset, pending.physical] for key, pending in sorted(entry.offsets.items())]
    identity = [entry.name, entry.producer_id, entry.epoch, entry.previous_id, entry.last_epoch]
    times = [entry.timeout_ms, entry.update_ms, entry.start_ms]
    return [*identity, *times, int(entry.state), entry.timed_out, queues, offsets]


def _id_from_list(item: list[Any]) -> Transactional:
    name, producer_id, epoch, previous_id, last_epoch, timeout_ms, update_ms, start_ms, state, timed_out, queues, offsets = item
    return Transactional(
        name,
        producer_id,
        epoch,
        timeout_ms,
        update_ms,
        AtomicPhase(state),
        previous_id,
        last_epoch,
        timed_out,
        start_ms,
        {QueueKey(t, q): OpenQueue(physical, [list(span) for span in spans]) for t, q, physical, spans in queues},
        {OffsetKey(g, t, q): PendingOffset(offset, physical) for g, t, q, offset, physical in offsets},
    )


class SnapshotFiles:
    """The snapshots in a store's folder of configuration."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def write(self, data: bytes, log_offset: int) -> None:
        """Write a snapshot beside the others, then delete all but the newest two. After an `OSError` the others remain."""
        Disk().replace_file(self._directory / f"{PREFIX}{log_offset:020d}", data)
        for old in self._files()[KEPT:]:
            old.unlink(missing_ok=True)

    def newest(self, log_end: int) -> tuple[AtomicState, int] | None:
        """The newest readable snapshot that is not past the end of the log; later ones are deleted.

        A log that lost its end in a crash makes later snapshots wrong.
        """
        for path in self._files():
            offset = int(path.name.removeprefix(PREFIX))
            if offset > log_end:
                logger.warning("%s is later than the end of the log at %d and is deleted", path, log_end)
                path.unlink(missing_ok=True)
                continue
            try:
                return decode_snapshot(path.read_bytes())
            except (CodecError, OSError) as error:
                logger.warning("%s is not used: %s", path, error)
        return None

    def _files(self) -> list[Path]:
        """Newest first."""
        found = self._directory.glob(PREFIX + _OFFSET) if self._directory.is_dir() else ()
        return sorted(found, key=lambda path: path.name, reverse=True)
