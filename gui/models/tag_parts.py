"""Messages in by tag over time, from samples at the beginning of each part of it. Pure: no widget, no I/O.

Brokers do not count tags. The rate is known from the record of the topic; the tags are those of the messages at the beginning
of each part, so shares are estimates where a part has more messages than are read.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from broker_core.worker.questions.stored_messages import MessagePage
from monitoring.series import Floats

PARTS_MAX = 24
TAGS_SHOWN = 4
"""Tags shown by themselves; the others are one."""
NO_TAG, OTHERS = "", "\0"
"""Keys of messages without a tag, and of all tags not shown by themselves."""
_S, _MIN, _H, _D = 1_000, 60_000, 3_600_000, 86_400_000
STEPS_MS = (
    *(n * _S for n in (1, 2, 5, 10, 15, 30)),
    *(n * _MIN for n in (1, 2, 5, 10, 15, 30)),
    *(n * _H for n in (1, 2, 3, 6, 12)),
    *(n * _D for n in (1, 2, 7, 14, 30, 90)),
)


@dataclass(frozen=True, slots=True)
class TagLook:
    """Sample of one queue in one part of the time.

    Attributes:
        tags: Messages by tag.
        is_whole: Whether these are all messages of the queue in that part.
        is_lost: Whether messages of that part may have been deleted.
    """

    tags: Mapping[str, int]
    is_whole: bool = False
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class TagLayer:
    """One tag: messages/s in each part, NaN unknown."""

    tag: str
    rates: tuple[float, ...]


def part_length_ms(from_ms: int, to_ms: int) -> int:
    """Length of the parts of a time: the smallest of `STEPS_MS` that makes at most `PARTS_MAX`."""
    length = max(1, to_ms - from_ms)
    return next((step for step in STEPS_MS if length <= step * PARTS_MAX), STEPS_MS[-1])


def part_starts(from_ms: int, to_ms: int) -> list[int]:
    """Start of the parts, ms since the epoch: multiples of their length, so that a part stays the same as time goes on."""
    step = part_length_ms(from_ms, to_ms)
    return list(range(from_ms // step * step, to_ms, step))


def look_at(page: MessagePage, end_ms: int) -> TagLook:
    """Sample of a page whose heads begin with the first message of a part that ends at ``end_ms``."""
    inside = [tag for tag, stored in zip(page.tag, page.store_ms, strict=True) if stored < end_ms]
    is_whole = len(inside) < len(page.tag) or page.next_offset >= page.max_offset
    starts_at_oldest = bool(page.queue_offset) and page.queue_offset[0] == page.min_offset > 0
    return TagLook(Counter(inside), is_whole, is_lost=starts_at_oldest and not inside)


def shares(looks: Sequence[TagLook]) -> dict[str, float] | None:
    """Share of each tag in a part, None where it is not known; empty where there was no message."""
    if not looks or any(look.is_lost for look in looks):
        return None
    counts: Counter[str] = Counter()
    for look in looks:
        counts.update(look.tags)
    total = counts.total()
    return {tag: count / total for tag, count in counts.items()}


def tag_layers(looks: Mapping[int, Sequence[TagLook]], starts: Sequence[int], rates: Sequence[float]) -> list[TagLayer]:
    """Layers of a chart, the tag with most messages first, the other tags last.

    Args:
        looks: By start of a part; parts that were not read are missing.
        starts: Start of the parts.
        rates: Of each part, messages/s; NaN unknown.
    """
    each = [shares(looks.get(start, ())) for start in starts]
    weights: dict[str, float] = {}
    for part, rate in zip(each, rates, strict=True):
        for tag, share in (part or {}).items():
            weights[tag] = weights.get(tag, 0.0) + share * (0.0 if math.isnan(rate) else rate)
    named = sorted(weights, key=lambda tag: (-weights[tag], tag))[:TAGS_SHOWN]
    layers = [TagLayer(tag, tuple(_rate(part, rate, tag) for part, rate in zip(each, rates, strict=True))) for tag in named]
    if len(weights) > len(named):
        rest = [_rest(part, rate, named) for part, rate in zip(each, rates, strict=True)]
        layers.append(TagLayer(OTHERS, tuple(rest)))
    return layers


def mean_rates(seconds: Floats, values: Floats, starts: Sequence[int], step_ms: int) -> list[float]:
    """Mean of a line in each part; NaN where nothing of it is known.

    Args:
        seconds: float64 [n], s since the epoch, rising.
        values: float64 [n], NaN for gaps.
        starts: Start of the parts, ms.
        step_ms: Their length.
    """
    known = np.isfinite(values)
    seconds, values = seconds[known], values[known]
    places = np.searchsorted(seconds, [edge / 1_000 for start in starts for edge in (start, start + step_ms)])
    bounds = places.reshape(-1, 2).tolist() if len(starts) else []
    return [float(values[first:last].mean()) if last > first else math.nan for first, last in bounds]


def _rate(part: Mapping[str, float] | None, rate: float, tag: str) -> float:
    if part is None or math.isnan(rate):
        return math.nan
    return rate * part.get(tag, 0.0)


def _rest(part: Mapping[str, float] | None, rate: float, named: Sequence[str]) -> float:
    if part is None or math.isnan(rate):
        return math.nan
    return rate * sum(share for tag, share in part.items() if tag not in named)
