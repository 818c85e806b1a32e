"""Our own broker over loopback, and a cluster attached to it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeVar

from broker_core.cluster.watch_settings import WatchSettings
from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.attached.queries import ClusterQueries
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.transactions import ListTransactions, TransactionPage
from tests.support.embedded import started

A = TypeVar("A")
BROKER = "broker-a"
QUICK = WatchSettings(round_ms=20, retry_ms=20, tables_ms=50, requests_per_second=500, timeout_ms=10_000)


def broker_on(root: Path) -> AbstractAsyncContextManager[EmbeddedBroker]:
    return started(BrokerConfig(listen_port=0, name_server_port=0, broker_name=BROKER, store=StoreConfig(root=root)))


@asynccontextmanager
async def attached(name_server: str, settings: WatchSettings = QUICK) -> AsyncIterator[AttachedCluster]:
    cluster = AttachedCluster(AttachOptions(name_server, settings))
    try:
        await cluster.connect()
        yield cluster
    finally:
        await cluster.close()


@asynccontextmanager
async def asking(cluster: AttachedCluster, *, read_only: bool = False) -> AsyncIterator[ClusterQueries]:
    queries = ClusterQueries(cluster.link, cluster.figures, cluster.sampling, shut_down=lambda: None, read_only=read_only)
    try:
        yield queries
    finally:
        await queries.close()


async def told(queries: ClusterQueries, query: Question[A], kind: type[A]) -> A:
    """The answer to a query, which is of a kind."""
    answer = await queries.answer(query)
    assert isinstance(answer, kind), answer
    return answer


async def decided(queries: ClusterQueries, undecided: int) -> TransactionPage:
    """The list, as soon as so many are left in it: decisions come one-way, and 5.x gathers their records for some seconds."""
    async with asyncio.timeout(120):
        while True:
            page = await told(queries, ListTransactions(0, 100), TransactionPage)
            if page.total == undecided:
                return page
            await asyncio.sleep(0.05)


async def sampled(cluster: AttachedCluster) -> None:
    """Ask everything once, without a fault; in its first second a real 4.9.4 cannot tell its own figures."""
    async with asyncio.timeout(120):
        while True:
            await cluster.sampling.once()
            if not cluster.figures.faults():
                return
            await asyncio.sleep(0.2)
