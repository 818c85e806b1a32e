"""A store directory as one end of a copy, served by an embedded broker for that time."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from broker_core.errors import StoreLockedError


@contextlib.asynccontextmanager
async def serving_store(root: Path) -> AsyncIterator[str]:
    """Name server address of a broker on a store, which serves this machine on free ports while the block lasts.

    Raises `StoreLockedError` when another process owns the store.
    """
    from broker_core.config import BrokerConfig, StoreConfig
    from broker_core.engine.broker.embedded import EmbeddedBroker

    broker = EmbeddedBroker(BrokerConfig(listen_port=0, name_server_port=0, store=StoreConfig(root=root)))
    try:
        await broker.start()
    except StoreLockedError as error:
        text = f"{error.message}, or name the broker that runs on it with --to HOST:PORT"
        raise StoreLockedError(text, **error.context) from error
    try:
        yield broker.name_server_address
    finally:
        await broker.stop()
