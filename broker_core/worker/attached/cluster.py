from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from broker_core.client.instance import ClientSecurity
from broker_core.clock import wall_clock_ms
from broker_core.cluster.link import ClusterLink
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.protocol.admin.values import whole_number
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.sampling import Sampling
from broker_core.worker.questions.lifecycle import Ready


@dataclass(frozen=True, slots=True)
class AttachOptions:
    """The cluster to attach to: ``host:port`` of its name servers, several with ``;`` between them."""

    name_servers: str
    settings: WatchSettings = field(default_factory=WatchSettings)
    security: ClientSecurity | None = None


class AttachedCluster:
    """One attached cluster, in the worker's place of an engine. On one event loop. Raises `NetworkError` for a bad address."""

    def __init__(self, options: AttachOptions, *, clock: Callable[[], int] = wall_clock_ms) -> None:
        self.options = options
        self.link = ClusterLink(options.name_servers, options.settings, security=options.security)
        self.figures = ClusterFigures(self.link.numbers, clock=clock)
        self.sampling = Sampling(self.link, self.figures, clock=clock)
        self._is_started = False

    async def connect(self) -> None:
        """Find the brokers once. Raises `NetworkError`, `RemoteError`, or `CodecError` for an unreadable answer."""
        if not self._is_started:
            await self.link.start()
            self._is_started = True
        await self.link.find_brokers()

    async def connect_in_time(self, failed: Callable[[str], None]) -> None:
        """Find the brokers, however long it takes; ``failed`` gets the reason of each failed attempt."""
        while True:
            try:
                await self.connect()
            except (NetworkError, RemoteError, CodecError) as error:
                failed(error.message)
            else:
                return
            await asyncio.sleep(self.options.settings.retry_ms / 1000)

    async def close(self) -> None:
        """End watching and all connections. Safe to call again."""
        await self.sampling.close()
        await self.link.close()

    def ready(self, *, folder: str, startup_ms: int, notice: str, read_only: bool) -> Ready:
        """The worker's start report, once the brokers are known."""
        brokers = list(self.link.brokers.values())
        clusters = sorted({broker.cluster for broker in brokers if broker.cluster})
        return Ready(
            name_server=self.options.name_servers,
            broker=", ".join(broker.address for broker in brokers),
            store_directory=folder,
            cluster_name=", ".join(clusters),
            broker_name=", ".join(broker.name for broker in brokers),
            started_ms=self._started_ms(),
            startup_ms=startup_ms,
            notice=notice,
            read_only=read_only,
            has_store=False,
        )

    def _started_ms(self) -> int:
        """The earliest start of a broker; the present where none reported one."""
        boots = [whole_number(of.runtime.get("bootTimestamp")) for of in self.figures.brokers.values()]
        return min((boot for boot in boots if boot is not None), default=wall_clock_ms())
