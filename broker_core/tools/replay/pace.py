"""When each message of a replay is due, without a clock or waits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.errors import CodecError, UsageError

RATE_MAX = 1_000_000.0
SPEED_MAX = 1_000_000.0


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast messages are sent. With both bounds the later time counts; with none all are due at once.

    Args:
        rate: Messages a second at most; None for no limit.
        speed: 1 keeps the times between the originals, 2 halves them; None ignores them.
    """

    rate: float | None = None
    speed: float | None = None

    def __post_init__(self) -> None:
        for name, value, highest in (("rate", self.rate, RATE_MAX), ("speed", self.speed, SPEED_MAX)):
            if value is not None and not 0 < value <= highest:
                raise UsageError(f"a {name} of {value} cannot be kept: give more than 0, up to {highest:,.0f}")

    @property
    def is_limited(self) -> bool:
        """Whether any message may be due later than at once."""
        return self.rate is not None or self.speed is not None

    def due_s(self, count: int, elapsed_ms: int) -> float:
        """Seconds from the start until a message is due, after ``count`` others; its original came ``elapsed_ms`` later."""
        by_rate = count / self.rate if self.rate else 0.0
        by_time = max(elapsed_ms, 0) / 1000 / self.speed if self.speed else 0.0
        return max(by_rate, by_time)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Pace:
        """Pace of a plan's file; raises `CodecError` when it is none."""
        try:
            return cls(**values)
        except (TypeError, UsageError) as error:
            raise CodecError(f"the plan of a replay names no pace: {error}") from error
