"""Message ids of the broker (the place of a record) and of the client (Source: docs/spec/store.md §3)."""

from __future__ import annotations

import calendar
import struct
import time
from collections.abc import Callable

from broker_core.errors import CodecError
from broker_core.protocol.message.model import HostAddress

PLACE_BITS = 56
"""Bits of a physical offset at most; a view of several brokers numbers the brokers above these bits."""
_OFFSET = struct.Struct(">q")
_V4_ID_DIGITS = 32
_V6_ID_DIGITS = 56
_UNIQUE_TAIL = struct.Struct(">HiIH")  # pid, number of the process's generator, ms since the month began, counter
_MONTHS = 12
_CLOCK_STEP_BACK_MS_MAX = 1_000_000


def own_offset(place: int) -> int:
    """Physical offset on its broker of a place that a view of several brokers numbers; a negative place is none and stays."""
    return place & ((1 << PLACE_BITS) - 1) if place >= 0 else place


def offset_message_id(host: HostAddress, physical_offset: int) -> str:
    """Id with the place of a record: upper-case hex of store host, port and physical offset."""
    return (host.packed + _OFFSET.pack(physical_offset)).hex().upper()


def parse_offset_message_id(message_id: str) -> tuple[HostAddress, int]:
    """Store host and physical offset of an offset message id; raises `CodecError` unless it has 32 or 56 hexadecimal digits."""
    try:
        data = bytes.fromhex(message_id) if len(message_id) in (_V4_ID_DIGITS, _V6_ID_DIGITS) else b""
    except ValueError:
        data = b""
    if not data or " " in message_id:
        raise CodecError(f"“{message_id}” is no offset message id: those have 32 or 56 hexadecimal digits")
    return HostAddress.from_packed(data[:-8]), _OFFSET.unpack_from(data, len(data) - 8)[0]


def offset_in_id(text: str) -> int:
    """Physical offset in an offset message id, -1 when the text is none."""
    try:
        return parse_offset_message_id(text)[1]
    except CodecError:
        return -1


class UniqueIdGenerator:
    """Makes client unique ids (UNIQ_KEY), as RocketMQ clients do. One thread at a time.

    Args:
        ip: Address of the client, 4 or 16 bytes.
        pid: Process id; the low 16 bits are used.
        process_number: Any signed 32-bit number that differs from process to process.
        clock: Milliseconds since the epoch.
    """

    def __init__(self, ip: bytes, pid: int, process_number: int, clock: Callable[[], int]) -> None:
        self._ip = ip
        self._pid = pid & 0xFFFF
        self._process_number = process_number
        self._clock = clock
        self._counter = 0
        self._month_start_ms, self._next_month_ms = _month_around(clock())

    def next_id(self) -> str:
        """The next id: 32 hexadecimal digits, 56 for an IPv6 address."""
        now = self._clock()
        if now >= self._next_month_ms:
            self._month_start_ms, self._next_month_ms = _month_around(now)
        elapsed = now - self._month_start_ms
        if -_CLOCK_STEP_BACK_MS_MAX < elapsed < 0:
            elapsed = 0
        tail = _UNIQUE_TAIL.pack(self._pid, self._process_number, elapsed & 0xFFFFFFFF, self._counter)
        self._counter = (self._counter + 1) & 0xFFFF
        return (self._ip + tail).hex().upper()


def _month_around(now_ms: int) -> tuple[int, int]:
    local = time.localtime(now_ms / 1000)
    year, month = local.tm_year, local.tm_mon
    following = (year + 1, 1) if month == _MONTHS else (year, month + 1)
    return _local_midnight_ms(year, month), _local_midnight_ms(*following)


def _local_midnight_ms(year: int, month: int) -> int:
    weekday = calendar.weekday(year, month, 1)
    return int(time.mktime((year, month, 1, 0, 0, 0, weekday, 1, -1))) * 1000
