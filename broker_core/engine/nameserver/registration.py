"""A broker's registration at a name server: its topics and their version (Source: docs/spec/remoting.md §2.7.1, §4.7).

Plain values and their JSON; no sockets, no state.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.errors import CodecError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.admin.values import whole
from broker_core.protocol.json_body import emit, parse, parse_object

FLAG_UNIT = 1
FLAG_UNIT_SUB = 2

REGISTRATION_BYTES_MAX = 64 * 1024 * 1024
"""Bound on an inflated registration body; 100,000 topics take about 8 MiB."""

_LENGTH = struct.Struct(">i")


@dataclass(frozen=True, slots=True)
class DataVersion:
    """Version of a table; equal in every field means equal tables (Source: docs/spec/store.md §7.2)."""

    timestamp_ms: int
    counter: int
    state_version: int = 0

    def next(self, now_ms: int) -> DataVersion:
        """The version after one more change."""
        return DataVersion(now_ms, self.counter + 1, self.state_version)

    def to_json(self) -> dict[str, int]:
        state = {"stateVersion": self.state_version} if self.state_version else {}
        return {"counter": self.counter, **state, "timestamp": self.timestamp_ms}

    @classmethod
    def from_json(cls, value: object) -> DataVersion:
        """Read ``{"counter":…,"timestamp":…}``; a missing field is 0."""
        table = value if isinstance(value, Mapping) else {}
        return cls(whole(table, "timestamp"), whole(table, "counter"), whole(table, "stateVersion"))


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker's topic table as sent with REGISTER_BROKER."""

    version: DataVersion
    topics: Mapping[str, TopicConfig]
    filter_servers: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """The uncompressed body."""
        table = {name: config.to_json() for name, config in self.topics.items()}
        wrapper = {"dataVersion": self.version.to_json(), "topicConfigTable": table}
        body = {"filterServerList": list(self.filter_servers), "topicConfigSerializeWrapper": wrapper}
        return emit(body)

    @classmethod
    def from_bytes(cls, body: bytes, *, compressed: bool = False) -> Registration:
        """Read either form of the body. Raises `CodecError` for any other."""
        if compressed:
            return _inflate_registration(body)
        value = parse_object(body)
        wrapper = value.get("topicConfigSerializeWrapper")
        if not isinstance(wrapper, Mapping):
            raise CodecError("a broker registration without topicConfigSerializeWrapper")
        table = wrapper.get("topicConfigTable")
        topics = {str(name): TopicConfig.from_json(item) for name, item in _objects(table)}
        servers = value.get("filterServerList")
        return cls(
            DataVersion.from_json(wrapper.get("dataVersion")),
            topics,
            tuple(str(server) for server in servers) if isinstance(servers, list) else (),
        )


def _objects(table: object) -> list[tuple[object, Mapping[str, Any]]]:
    if not isinstance(table, Mapping):
        return []
    return [(name, item) for name, item in table.items() if isinstance(item, Mapping)]


def _inflate_registration(body: bytes) -> Registration:
    """Read the zlib form: version, topics as lines, filter servers, each length-prefixed (docs/spec/remoting.md §2.7.1)."""
    inflater = zlib.decompressobj()
    try:
        data = inflater.decompress(body, REGISTRATION_BYTES_MAX)
    except zlib.error as error:
        raise CodecError(f"a compressed broker registration of {len(body):,} bytes does not inflate: {error}") from error
    if inflater.unconsumed_tail:
        raise CodecError(f"a compressed broker registration is larger than {REGISTRATION_BYTES_MAX:,} bytes")
    version_text, position = _take(data, 0)
    count, position = _takewhole(data, position)
    topics: dict[str, TopicConfig] = {}
    for _ in range(count):
        line, position = _take(data, position)
        config = _topic_line(line.decode("utf-8", "replace"))
        topics[config.name] = config
    servers_text, _ = _take(data, position)
    servers = parse(servers_text)
    return Registration(
        DataVersion.from_json(parse(version_text)),
        topics,
        tuple(str(server) for server in servers) if isinstance(servers, list) else (),
    )


def _topic_line(line: str) -> TopicConfig:
    """``name readQueues writeQueues perm filterType`` (5.x appends attributes)."""
    fields = line.split(" ", 5)
    if len(fields) < 5:
        raise CodecError(f"a topic line of a registration has {len(fields)} fields, not 5: “{line[:100]}”")
    try:
        return TopicConfig(fields[0], int(fields[1]), int(fields[2]), int(fields[3]), fields[4])
    except ValueError as error:
        raise CodecError(f"a topic line of a registration has no numbers where they belong: “{line[:100]}”") from error


def _takewhole(data: bytes, position: int) -> tuple[int, int]:
    if position + 4 > len(data):
        raise CodecError(f"a broker registration ends at byte {len(data):,}, in the middle of a field")
    return int(_LENGTH.unpack_from(data, position)[0]), position + 4


def _take(data: bytes, position: int) -> tuple[bytes, int]:
    length, start = _takewhole(data, position)
    if length < 0 or start + length > len(data):
        raise CodecError(f"a field of a broker registration claims {length:,} bytes, {len(data) - start:,} are left")
    return data[start : start + length], start + length
