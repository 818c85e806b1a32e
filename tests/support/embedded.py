"""An embedded broker for the time of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from broker_core.config import BrokerConfig
from broker_core.engine.broker.embedded import EmbeddedBroker


@asynccontextmanager
async def started(config: BrokerConfig) -> AsyncIterator[EmbeddedBroker]:
    """A broker that serves while the block lasts."""
    broker = EmbeddedBroker(config)
    await broker.start()
    try:
        yield broker
    finally:
        await broker.stop()
