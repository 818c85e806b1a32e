"""Delay levels and their delays (Source: docs/spec/store.md §9, docs/spec/broker.md §3.1)."""

from __future__ import annotations

from broker_core.errors import UsageError
from broker_core.outside import whole_of

_UNIT_MS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


class DelayLevels:
    """Delay levels of a store, from the text of ``messageDelayLevel``: ``1s 5s 10s …``, level 1 first.

    Raises `UsageError` when an entry is no whole number followed by s, m, h or d.
    """

    def __init__(self, text: str) -> None:
        self.delays_ms = [_parse_delay(entry, text) for entry in text.split()]
        if not self.delays_ms:
            raise UsageError("messageDelayLevel has no delays; write for example 1s 5s 10s")

    @property
    def count(self) -> int:
        """The number of levels, which is also the last level."""
        return len(self.delays_ms)

    def delay_ms(self, level: int) -> int:
        """Delay of a level; a higher level than the last has the delay of the last."""
        return self.delays_ms[min(level, len(self.delays_ms)) - 1]


def _parse_delay(entry: str, text: str) -> int:
    number, unit = whole_of(entry[:-1]), entry[-1]
    if unit not in _UNIT_MS or number is None:
        raise UsageError(f"messageDelayLevel “{text}”: “{entry}” is no delay; write for example 10s, 5m, 2h or 1d")
    return number * _UNIT_MS[unit]
