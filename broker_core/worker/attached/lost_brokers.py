"""Brokers whose part of an answer is missing: the answer has the parts of the others and a notice.

Brokers are asked at the same time and share one time limit, so an answer takes no longer, however many brokers are slow, and a
quick broker never waits for a slow one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from broker_core.cluster.link import refused_as
from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError
from broker_core.protocol.admin.values import Body
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.worker.attached.figures import ClusterFigures

PART_ERRORS = (NetworkError, RemoteError, CodecError)
"""Errors of one broker that leave the answers of the others usable."""


class LostParts:
    """The brokers that are missing in one answer."""

    def __init__(self, figures: ClusterFigures) -> None:
        self._figures = figures
        self._reasons: dict[str, str] = {}
        self._error: OrbitError | None = None
        self._any_answered = False

    def is_lost(self, broker: str) -> bool:
        """Whether not to ask a broker, because it does not answer or failed in this answer already. Notes it."""
        if self._figures.of(broker).is_lost:
            self._reasons[broker] = self._figures.reason_of(broker)
        return broker in self._reasons

    def failed(self, broker: str, error: OrbitError) -> None:
        """Note that a broker failed just now."""
        self._reasons[broker] = error.message
        self._error = error

    async def each(self, brokers: Iterable[str], ask: Callable[[str], Awaitable[None]], *, within_ms: float) -> None:
        """Ask brokers at the same time, ``within_ms`` for all; lost ones are not asked, those that fail or are late are noted.

        What ``ask`` took in before it was late stays. Raises `NetworkError` where no broker returned its part; so `RemoteError`
        and `CodecError`, when one answers otherwise.
        """
        asked = [broker for broker in brokers if not self.is_lost(broker)]
        await asyncio.gather(*(self.one(broker, ask, within_ms=within_ms) for broker in asked))
        self.check(self._any_answered)

    def check(self, any_answered: bool) -> None:
        """Raise as `each` where no broker returned its part."""
        if not any_answered and self._reasons:
            raise self.nobody()

    def nobody(self) -> OrbitError:
        """The error where no broker returned its part: the newest one, or the names of the lost."""
        return self._error or NetworkError(self.notice())

    async def one(self, broker: str, ask: Callable[[str], Awaitable[None]], *, within_ms: float) -> None:
        """Ask one broker, as `each` does."""
        try:
            async with asyncio.timeout(within_ms / 1000):
                await ask(broker)
        except TimeoutError:
            self.failed(broker, too_slow(broker, within_ms))
        except PART_ERRORS as error:
            self.failed(broker, error)
        else:
            self._any_answered = True

    def notice(self) -> str:
        """What is missing, and why; empty when nothing is."""
        if not self._reasons:
            return ""
        told = "; ".join(f"{broker}: {reason}" for broker, reason in sorted(self._reasons.items()))
        return f"Not all brokers answered, and what they hold is missing here. {told}"


def too_slow(broker: str, within_ms: float) -> NetworkError:
    """The error of a broker that was late."""
    return NetworkError(
        f"broker {broker} is slow: not all that it was asked for came within {within_ms:,.0f} ms", broker=broker
    )


async def body_unless(asking: Awaitable[RemotingCommand], refusal: ResponseCode) -> Body:
    """The body of an answer; that of an empty table for a refusal by which brokers say that they have nothing."""
    try:
        return (await asking).body
    except RemoteError as error:
        if not refused_as(error, refusal):
            raise
        return b"{}"


async def together(asks: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Send several requests to one broker at the same time; where one fails, the others are cancelled."""
    tasks = [asyncio.ensure_future(ask) for ask in asks]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
