"""Message values: before the store, and read from it."""

from __future__ import annotations

import ipaddress
import struct
from dataclasses import dataclass, field

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.addresses import ip_text

_PORT = struct.Struct(">i")
_V4_BYTES = 4
_V6_BYTES = 16
_PORT_MAX = 65535


@dataclass(frozen=True, slots=True)
class HostAddress:
    """An IP address of 4 (IPv4) or 16 (IPv6) bytes in network order and a port, as records hold them."""

    ip: bytes
    port: int
    packed: bytes = field(init=False, repr=False, compare=False)
    """The bytes of BORNHOST or STOREHOST: address, then port as i32."""
    is_v6: bool = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.ip) not in (_V4_BYTES, _V6_BYTES):
            raise CodecError(f"an address has 4 or 16 bytes, this one has {len(self.ip)}")
        object.__setattr__(self, "packed", self.ip + _PORT.pack(self.port))
        object.__setattr__(self, "is_v6", len(self.ip) == _V6_BYTES)

    @classmethod
    def from_packed(cls, packed: bytes) -> HostAddress:
        """Address of BORNHOST or STOREHOST bytes (8 or 20)."""
        return cls(packed[:-4], _PORT.unpack_from(packed, len(packed) - 4)[0])

    @classmethod
    def parse(cls, text: str) -> HostAddress:
        """Address of ``1.2.3.4:10911`` or ``[::1]:10911``, in any spelling; raises `UsageError` for another text."""
        host, _, port = text.rpartition(":")
        try:
            ip = ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).packed
            number = int(port)
        except ValueError as error:
            raise UsageError(f"“{text}” is not an address; write IP:PORT, for example 127.0.0.1:10911") from error
        if not 0 <= number <= _PORT_MAX:
            raise UsageError(f"port {number} of “{text}” is outside 0 to {_PORT_MAX}")
        return cls(ip, number)

    def __str__(self) -> str:
        """``1.2.3.4:10911`` or ``[::1]:10911``, as `broker_core.protocol.addresses` spells it."""
        if not self.is_v6:
            return f"{'.'.join(map(str, self.ip))}:{self.port}"
        return f"[{ip_text(self.ip)}]:{self.port}"


@dataclass(slots=True)
class MessageToStore:
    """One message to be stored; not frozen, because freezing doubles the cost of making one.

    ``properties`` are already in RocketMQ's encoding. For a batch, ``body`` is the framed batch and ``properties`` are
    those of the request, which every member gets after its own.
    """

    topic: str
    queue_id: int
    flag: int
    sys_flag: int
    born_timestamp_ms: int
    born_host: HostAddress
    store_host: HostAddress
    reconsume_times: int
    prepared_transaction_offset: int
    body: bytes | bytearray | memoryview
    properties: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMessage:
    """A decoded commit log record. ``body`` is as stored: still compressed if SYSFLAG says so."""

    store_size: int
    magic_code: int
    body_crc: int
    topic: str
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_timestamp_ms: int
    born_host: HostAddress
    store_timestamp_ms: int
    store_host: HostAddress
    reconsume_times: int
    prepared_transaction_offset: int
    body: bytes
    properties: dict[str, str]
    properties_bytes: bytes

    def copy_for(self, topic: str, queue_id: int, properties: bytes) -> MessageToStore:
        """The message for another queue and with other properties; it names no prepared transaction."""
        return MessageToStore(
            topic, queue_id, self.flag, self.sys_flag, self.born_timestamp_ms, self.born_host, self.store_host,
            self.reconsume_times, 0, self.body, properties,
        )  # fmt: skip
