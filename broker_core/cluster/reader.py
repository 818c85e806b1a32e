"""Reads queues of a cluster in a program without asyncio: first a survey, then slice by slice.

Spark's workers use this module: it imports the client and no engine, and every reader has connections of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

from broker_core.client.blocking import LoopThread
from broker_core.client.instance import ClientSecurity
from broker_core.cluster.key_place import security_at
from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Pulled, Puller
from broker_core.cluster.request_pacing import AskAgain
from broker_core.cluster.slices import QueueSlice, ReadLimits, Survey, SurveyRequest
from broker_core.cluster.survey import ClusterSurvey
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.config import RemotingLimits
from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError

ANSWER_MS = 10_000
"""For one answer, because a broker may have to read much from its disk."""
PULL_MESSAGES = 256
"""Requested in one pull; a broker answers within its own bounds, 32 by default."""
PULLS_AT_ONCE = 4
SPAN_MESSAGES = 1_024
"""Offsets of each parallel pull."""
TURN_BYTES = 8 << 20
"""Approximate bytes of one turn; memory holds two turns."""

EXPIRED = "removed by the broker's cleaning before it was read"
CUT = "not in its queue any more: the queue ends before it now, so its topic was made anew or its log was cut"


@dataclass(frozen=True, slots=True)
class Left:
    """Offsets of a slice that were not read.

    ``reason`` is said of one message; ``fault`` is None when the messages are deleted and nothing failed.
    """

    part: QueueSlice
    messages: int
    reason: str
    fault: OrbitError | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """Result of one turn of a reader: concatenated records, some maybe outside of the slice, and what was not read."""

    part: QueueSlice
    records: bytes
    left: tuple[Left, ...] = ()


class SliceReader:
    """Reads queues of a cluster. Use it as a context manager, or call `close`. From one thread.

    ``place`` is that of keys, TLS and address map, see `broker_core.cluster.key_place`; raises `UsageError` as there.
    """

    def __init__(self, name_servers: str, place: str = "", *, limits: ReadLimits | None = None) -> None:
        security = security_at(place)
        self._limits = limits or ReadLimits()
        self._thread = LoopThread("queue reader")
        try:
            self._client = self._thread.run(_client(name_servers, security))
        except BaseException:
            self._thread.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End all connections. Safe to call again."""
        if self._thread.is_open:
            self._thread.run(self._client.close())
            self._thread.close()

    def survey(self, wanted: SurveyRequest) -> Survey:
        """Find the slices of a request; raises as `ClusterSurvey.look`."""
        return self._thread.run(self._survey(wanted))

    async def _survey(self, wanted: SurveyRequest) -> Survey:
        await self._client.start()
        unpaced = ReadLimits(0, 0, self._limits.retry_seconds)
        return await ClusterSurvey(self._client, wanted, Puller(self._client, AskAgain(unpaced))).look()

    def turns(self, parts: Sequence[QueueSlice]) -> Iterator[Turn]:
        """Read slices one after the other; the turns report what cannot be read, and reading continues.

        The next turn is read while the caller handles one.
        """
        reading = SharedReads(self._client, self._limits)
        for part in parts:
            spans = spans_of(part)
            ahead = self._thread.begin(reading.turn(part, spans)) if spans else None
            try:
                while ahead is not None:
                    turn = ahead.result()
                    ahead = self._thread.begin(reading.turn(part, spans)) if spans else None
                    yield turn
            finally:
                if ahead is not None:
                    ahead.cancel()


async def _client(name_servers: str, security: ClientSecurity | None) -> ClusterLink:
    limits = RemotingLimits(request_timeout_ms=ANSWER_MS)
    return ClusterLink(name_servers, WatchSettings(timeout_ms=ANSWER_MS), security=security, limits=limits)


@dataclass(slots=True)
class _Span:
    first: int
    end: int


def spans_of(part: QueueSlice) -> list[_Span]:
    starts = range(part.first, part.end, SPAN_MESSAGES)
    return [_Span(first, min(first + SPAN_MESSAGES, part.end)) for first in starts]


class SharedReads:
    """State shared by the turns of one reader. On one event loop."""

    def __init__(self, client: ClusterLink, limits: ReadLimits) -> None:
        self._puller = Puller(client, AskAgain(limits))
        self._taken_bytes = 0

    async def turn(self, part: QueueSlice, spans: list[_Span]) -> Turn:
        """Read some spans concurrently; their rests stay in ``spans``, which a fault empties."""
        self._taken_bytes = 0
        now = spans[:PULLS_AT_ONCE]
        read = await asyncio.gather(*(self._span(part, span) for span in now))
        left = [one for _records, lefts in read for one in lefts]
        spans[:PULLS_AT_ONCE] = [span for span in now if span.first < span.end]
        fault = next((one for one in left if one.fault is not None), None)
        if fault is not None and spans:
            # The rest of the queue would meet the same fault.
            left.append(Left(part, sum(span.end - span.first for span in spans), fault.reason, fault.fault))
            spans.clear()
        return Turn(part, b"".join(record for records, _left in read for record in records), tuple(left))

    async def _span(self, part: QueueSlice, span: _Span) -> tuple[list[bytes], list[Left]]:
        bodies: list[bytes] = []
        left: list[Left] = []
        piece = replace(part, first=span.first, end=span.end)
        while span.first < span.end and self._taken_bytes < TURN_BYTES:
            try:
                pulled = await self._puller.pull(piece, span.first, PULL_MESSAGES)
                if not pulled.body:
                    left += await self._gone(piece, span, pulled)
                elif pulled.is_end:
                    raise CodecError(f"{part.address} gives messages from offset {span.first:,} on and names no next offset")
            except (NetworkError, RemoteError, CodecError) as error:
                left.append(Left(part, span.end - span.first, _reason(part, error), error))
                span.first = span.end
                break
            self._taken_bytes += len(pulled.body)
            bodies.append(pulled.body)
            span.first = max(pulled.following, span.first)
        return bodies, [replace(one, part=part) for one in left]

    async def _gone(self, piece: QueueSlice, span: _Span, pulled: Pulled) -> list[Left]:
        """Why an answer has no records; afterwards the span continues, or is at its end."""
        lowest = min(await self._puller.min_offset(piece), span.end)
        if lowest > span.first:
            expired = Left(piece, lowest - span.first, EXPIRED)
            span.first = lowest
            return [expired]
        if not pulled.is_end:
            return []  # these offsets are not delivered to consumers
        cut = Left(piece, span.end - span.first, CUT)
        span.first = span.end
        return [cut]


def _reason(part: QueueSlice, error: OrbitError) -> str:
    return f"not read from broker {part.broker}: {error.message}"
