"""Writes commit logs for tests, straight from docs/spec/store.md and without the engine: an independent witness."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

_MAGIC = -626843481
_BLANK_MAGIC = -875286124
_HEAD = struct.Struct(">iiiiiqqiq4siq4siiqi")
_BORN_PORT = 40001
_STORE_HOST = (bytes((127, 0, 0, 1)), 10911)


@dataclass
class StoreWriter:
    """Appends records to ``root/commitlog`` as a broker lays them out.

    Args:
        root: Store directory; made if missing.
        file_bytes: Size of a log file.
    """

    root: Path
    file_bytes: int = 1 << 20
    position: int = 0
    offsets: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        (self.root / "commitlog").mkdir(parents=True, exist_ok=True)
        self.pending: list[bytes] = []
        self._written = 0
        self._make_file()

    def append(
        self,
        topic: str,
        body: bytes = b"",
        properties: Mapping[str, str] | bytes = b"",
        *,
        queue_id: int = 0,
        store_ms: int = 1_700_000_000_000,
        born_ms: int | None = None,
        sys_flag: int = 0,
        born_host: str = "10.0.0.7",
        reconsume_times: int = 0,
        prepared_offset: int = 0,
        skip_offsets: int = 0,
    ) -> int:
        """Append one record; return its physical offset.

        Args:
            topic: Name.
            body: As stored.
            properties: Names and values, or the property text itself.
            queue_id: Queue of the topic.
            store_ms: Broker time, epoch milliseconds.
            born_ms: Producer time; 3 ms before the broker's if None.
            sys_flag: Flag bits.
            born_host: IPv4 address of the producer.
            reconsume_times: Delivery attempts before this copy.
            prepared_offset: Physical offset of the half message.
            skip_offsets: Queue offsets left out before this record's own.
        """
        text = properties if isinstance(properties, bytes) else encode(properties)
        name = topic.encode()
        size = 91 + len(body) + len(name) + len(text)
        if self.position % self.file_bytes + size + 8 > self.file_bytes:
            self._roll()
        start = self.position
        queue_offset = self.offsets.get((topic, queue_id), 0) + skip_offsets
        self.offsets[topic, queue_id] = queue_offset + 1
        head = _HEAD.pack(
            size, _MAGIC, crc32(body) & 0x7FFFFFFF, queue_id, 0, queue_offset, start, sys_flag,
            store_ms - 3 if born_ms is None else born_ms, bytes(map(int, born_host.split("."))), _BORN_PORT, store_ms,
            *_STORE_HOST, reconsume_times, prepared_offset, len(body),
        )  # fmt: skip
        self.pending.append(b"".join((head, body, bytes((len(name),)), name, struct.pack(">h", len(text)), text)))
        self.position += size
        return start

    def flush(self) -> None:
        """Make what was appended visible to readers."""
        data, self.pending = b"".join(self.pending), []
        with self._path(self._written).open("r+b") as file:
            file.seek(self._written % self.file_bytes)
            file.write(data)
        self._written += len(data)

    def overwrite(self, offset: int, data: bytes) -> None:
        """Put other bytes at a physical offset: damage."""
        self.flush()
        with self._path(offset).open("r+b") as file:
            file.seek(offset % self.file_bytes)
            file.write(data)

    def _roll(self) -> None:
        rest = self.file_bytes - self.position % self.file_bytes
        self.pending.append(struct.pack(">ii", rest, _BLANK_MAGIC))
        self.flush()
        self.position += rest
        self._written = self.position
        self._make_file()

    def _path(self, offset: int) -> Path:
        return self.root / "commitlog" / f"{offset - offset % self.file_bytes:020d}"

    def _make_file(self) -> None:
        with self._path(self.position).open("wb") as file:
            file.truncate(self.file_bytes)


def encode(properties: Mapping[str, str]) -> bytes:
    """Property text as 4.9.1 to 5.1 write it: no separator behind the last item."""
    return "\x02".join(f"{name}\x01{value}" for name, value in properties.items()).encode()
