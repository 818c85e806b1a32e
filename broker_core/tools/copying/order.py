from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.errors import CodecError, UsageError
from broker_core.tools.replay.pace import Pace

ALL_GROUPS = "*"
TOPICS_MAX = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyRange:
    """Which messages of each queue; by default all that it holds when the copy is planned.

    Attributes:
        since_ms, until_ms: Stored at or after the first and before the second, ms since the epoch.
        first_offset, end_offset: From an offset up to, not including, another.
        last: The newest of those, this many of each queue.
    """

    since_ms: int | None = None
    until_ms: int | None = None
    first_offset: int | None = None
    end_offset: int | None = None
    last: int | None = None

    def __post_init__(self) -> None:
        by_time = self.since_ms is not None or self.until_ms is not None
        by_offset = self.first_offset is not None or self.end_offset is not None
        if by_time and by_offset:
            raise UsageError("a range is one of time or one of offsets: give --since/--until or --from-offset/--to-offset")
        for low, high, what in (
            (self.since_ms, self.until_ms, "time"),
            (self.first_offset, self.end_offset, "offset"),
        ):
            if low is not None and high is not None and low >= high:
                raise UsageError(f"the range of {what}s is empty: it begins at {low:,} and ends before {high:,}")
        if self.last is not None and self.last < 1:
            raise UsageError(f"the newest {self.last} messages of a queue are none: give 1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOrder:
    """What a copy is to do.

    Attributes:
        source: Name servers.
        target: Name servers, or the store directory of an embedded broker.
        target_is_store: Which of the two.
        topics: At the source.
        wanted: Which of their messages.
        groups: Consumer groups whose settings are copied; `ALL_GROUPS`: all that have offsets in the topics.
        offsets: Also set the offsets of these groups in the topics.
        change_settings: Change existing topics and groups to the settings of the source.
        rate: Messages a second at most; None: no limit.
    """

    source: str
    target: str
    target_is_store: bool = False
    topics: tuple[str, ...]
    wanted: CopyRange = CopyRange()
    groups: tuple[str, ...] = ()
    offsets: bool = False
    change_settings: bool = False
    rate: float | None = None

    def __post_init__(self) -> None:
        if not self.topics:
            raise UsageError("say with --topic which topics are copied")
        if len(self.topics) > TOPICS_MAX:
            raise UsageError(f"{len(self.topics):,} topics are more than one copy takes: at most {TOPICS_MAX:,}")
        if self.offsets and not self.groups:
            raise UsageError("say with --groups whose offsets are set; --groups '*' for all groups of the topics")
        Pace(rate=self.rate)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CopyOrder:
        """Order of a receipt; raises `CodecError` when it is none."""
        try:
            texts = {name: tuple(map(str, values[name])) for name in ("topics", "groups")}
            return cls(**{**values, **texts, "wanted": CopyRange(**values["wanted"])})
        except (AttributeError, KeyError, TypeError, ValueError, UsageError) as error:
            raise CodecError(f"the receipt names no order of a copy: {error}") from error
