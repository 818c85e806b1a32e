"""Bits of a consumer in the Bloom filter that RocketMQ keeps with its SQL filters (Source: docs/spec/broker.md §9.4)."""

from __future__ import annotations

import math

ERROR_PERCENT = 20
"""Share of messages that the filter passes wrongly."""
CONSUMERS = 32
"""Consumers that the filter is sized for."""

HASHES = math.ceil(-math.log(ERROR_PERCENT / 100) / math.log(2))
BITS = math.ceil(math.ceil(CONSUMERS * -math.log(ERROR_PERCENT / 100) / math.log(2) ** 2) / 8) * 8

assert (HASHES, BITS) == (3, 112)

_MASK = (1 << 64) - 1
_C1, _C2 = 0x87C37B91114253D5, 0x4CF5AD432745937F


def bloom_positions(group: str, topic: str) -> list[int]:
    """Numbers of the bits that stand for a group's filter on a topic."""
    value = murmur3(f"{group}#{topic}".encode())
    low, high = _signed(value & 0xFFFFFFFF), _signed(value >> 32)
    positions = []
    for number in range(1, HASHES + 1):
        combined = _signed(low + number * high & 0xFFFFFFFF)
        positions.append((~combined if combined < 0 else combined) % BITS)
    return positions


def murmur3(data: bytes) -> int:
    """First half of the 128-bit MurmurHash3 for 64-bit machines, seed 0, as an unsigned number."""
    h1 = h2 = 0
    whole = len(data) // 16 * 16
    for start in range(0, whole, 16):
        h1 ^= _first_half(int.from_bytes(data[start : start + 8], "little"))
        h1 = (_rotated(h1, 27) + h2) * 5 + 0x52DCE729 & _MASK
        h2 ^= _second_half(int.from_bytes(data[start + 8 : start + 16], "little"))
        h2 = (_rotated(h2, 31) + h1) * 5 + 0x38495AB5 & _MASK
    tail = data[whole:]
    h2 ^= _second_half(int.from_bytes(tail[8:], "little")) ^ len(data)
    h1 ^= _first_half(int.from_bytes(tail[:8], "little")) ^ len(data)
    h1 = h1 + h2 & _MASK
    h2 = h2 + h1 & _MASK
    return _mixed(h1) + _mixed(h2) & _MASK


def _first_half(key: int) -> int:
    return _rotated(key * _C1 & _MASK, 31) * _C2 & _MASK


def _second_half(key: int) -> int:
    return _rotated(key * _C2 & _MASK, 33) * _C1 & _MASK


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _mixed(value: int) -> int:
    value = (value ^ value >> 33) * 0xFF51AFD7ED558CCD & _MASK
    value = (value ^ value >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
    return value ^ value >> 33


def _signed(value: int) -> int:
    return value - (1 << 32) if value & 1 << 31 else value
