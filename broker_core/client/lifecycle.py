"""What every client does: open in a ``with`` block, close at its end."""

from __future__ import annotations

from typing import Self

from broker_core.client.instance import ClientInstance


class OpenedClient:
    """Base of clients; a subclass sets ``_instance``, and extends `start` and `close` where it has more to do."""

    _instance: ClientInstance

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        await self.close()

    async def start(self) -> None:
        """Connect to a name server.

        Raises:
            NetworkError: None can be reached.
        """
        await self._instance.start()

    async def close(self) -> None:
        """End all connections. Safe to call again."""
        await self._instance.close()
