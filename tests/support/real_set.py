"""Two real brokers and a slave of one of them, each a process that is killed and started by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Self

from broker_core.client.admin import AdminClient
from broker_core.errors import NetworkError, RemoteError
from tests.support.real_broker import RealBroker
from tests.support.remoting_peer import eventually_answers

STEADY, MOVED = "broker-b", "broker-a"
REGISTERED_S = 180.0


class RealSet:
    """``broker-b`` with the name server of all, ``broker-a`` and its slave. Use as a context manager.

    Args:
        version: For example ``4.9.4``.
        folder: Where they keep their stores.
    """

    def __init__(self, version: str, folder: Path) -> None:
        self.steady = RealBroker(version, folder / "b", {"brokerName": STEADY, "autoCreateTopicEnable": "true"})
        # The name servers that start beside the other two know nobody.
        self._common = {"namesrvAddr": self.steady.name_server, "autoCreateTopicEnable": "true"}
        self.master = RealBroker(version, folder / "a", self._common)
        self.slave = RealBroker(version, folder / "s", {**self._common, "brokerId": "1", "brokerRole": "SLAVE"})
        self._running: list[RealBroker] = []

    def __enter__(self) -> Self:
        try:
            self.start(self.steady)
            with ThreadPoolExecutor(2) as starting:
                list(starting.map(self.start, (self.master, self.slave)))
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def name_server(self) -> str:
        return self.steady.name_server

    def close(self) -> None:
        """End all that run."""
        for one in list(self._running):
            self.kill(one)

    def start(self, one: RealBroker) -> None:
        """Start one, by its settings of now."""
        self._running.append(one)
        one.start()

    def kill(self, one: RealBroker) -> None:
        """End one as by a power cut."""
        self._running.remove(one)
        one.stop(kill=True)

    def promote_slave(self) -> None:
        """Start the slave again as the master of its name."""
        self.kill(self.slave)
        self.slave.settings = {**self._common, "brokerId": "0", "brokerRole": "ASYNC_MASTER"}
        self.start(self.slave)

    def demote_master(self) -> None:
        """Start what was the master as a slave of the one that took its place."""
        self.master.settings = {**self._common, "brokerId": "1", "brokerRole": "SLAVE"}
        self.start(self.master)

    async def until_registered(self, moved: dict[int, str]) -> None:
        """Wait until the name server leads to these addresses of ``broker-a`` and to ``broker-b``."""

        async def is_so() -> bool:
            async with AdminClient(self.name_server) as admin:
                try:
                    found = await admin.registered_brokers()
                except (NetworkError, RemoteError):
                    return False
            return STEADY in found and found.get(MOVED) == moved

        await eventually_answers(is_so, REGISTERED_S)
