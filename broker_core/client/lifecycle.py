"""Base of the clients: an async context manager around `start` and `close`."""

from __future__ import annotations

from typing import Self

from broker_core.client.instance import ClientInstance


class OpenedClient:
    """A subclass sets ``_instance``, and extends `start` and `close` if necessary.

    Every client takes name servers as ``host:port``, several with ``;`` between them, and passes ``config``, ``limits`` and
    ``security`` to its `ClientInstance`. ``clock`` returns milliseconds since the epoch.
    """

    _instance: ClientInstance

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Connect to a name server; raises `NetworkError` when none can be reached."""
        await self._instance.start()

    async def close(self) -> None:
        """End all connections. Safe to call again."""
        await self._instance.close()
