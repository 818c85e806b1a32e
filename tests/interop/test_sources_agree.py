"""The same traffic on the window's own broker, on a cluster attached to it, on RocketMQ 4.9.4 and on 5.3.3: the same answers.

Answers are compared as data. What an attached cluster cannot know is unknown in its answers, and listed here with the reason; a
value that is known and another one is a fault.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker_core.clock import wall_clock_ms
from broker_core.config import BrokerConfig, StoreConfig, with_settings
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.embedded.sampler import Sampler
from tests.support.attached import asking, attached, decided, sampled
from tests.support.embedded import started
from tests.support.known_traffic import BROKER, SETTINGS, KnownTraffic
from tests.support.real_peer import running_peer
from tests.support.source_answers import Data, answers_of, differences, figures_of

pytestmark = pytest.mark.timeout(600)

UNKNOWN_OUTSIDE = {
    r"members of team/last_heartbeat_ms/\d": "brokers do not tell when they heard of a consumer",
    r"members of team/protocol/\d": "nor which protocol it speaks",
    r"life of an order/protocol/\d": "nor which protocol the members of a group speak",
    r"clients/rows/\d/(heartbeat|connected)_ms": "nor since when it is connected; of producers 4.x and 5.x tell the heartbeat",
    r"open transactions/next_check_ms/\d": "the time of the next check is known inside a broker only",
    r"figures/totals/transactions_(waiting|committed|rolled_back|unknown|given_up|expired|checks|next_round_ms|unread)": (
        "decisions and checks are counted inside a broker only"
    ),
    r"figures/totals/transactions_(half|op)_(lag|end)": "how far the checker is, is known inside a broker only",
    r"figures/totals/(put_bytes|got_bytes|put_failed|put_p50_ms|put_max_ms|store_bytes)": "not among the runtime figures",
    r"figures/totals/(connections|held_pulls|process_cpu_s|process_rss_bytes|flushed|unflushed_bytes)": "nor are these",
}
"""Path in the answers → why an attached cluster does not know it."""
MEASURED = (
    r"figures/totals/(put_p99_ms|flush_max_ms|disk_\w+|console_messages|commit_log_m\w\w|(put|got)_messages|oldest_ms"
    r"|started_ms)"
)
"""Each broker measures or counts these by itself."""
ADDED_BY_5 = r"order( by its id)?/properties/(MSG_REGION|WAIT|TRACE_ON)"
"""5.x adds properties to what it stores."""
GATHERED_BY_5 = r"open transactions/op_offset/0|figures/totals/transactions_(half|op)_lag"
"""5.x gathers op records for some seconds before it stores them."""
OWN_WAYS = {"4.9.4": "(?!)", "5.3.3": f"{ADDED_BY_5}|{GATHERED_BY_5}"}
"""Version → paths in which it differs, whatever the values."""
NOTICES = r"open transactions/notice"
UNKNOWN = (None, -1, "")


@asynccontextmanager
async def own_broker(folder: Path) -> AsyncIterator[tuple[str, Queries, Sampler]]:
    """Name server of an embedded broker, and what answers the window's questions about it."""
    plain = BrokerConfig(listen_port=0, name_server_port=0, broker_name=BROKER, store=StoreConfig(root=folder))
    async with started(with_settings(plain, SETTINGS)) as broker:
        queries = Queries(broker, console=broker, shut_down=lambda: None)
        try:
            yield broker.name_server_address, queries, Sampler(broker, clock=wall_clock_ms)
        finally:
            queries.close()


@asynccontextmanager
async def traffic_on(name_server: str) -> AsyncIterator[None]:
    traffic = KnownTraffic(name_server)
    try:
        await traffic.send()
        yield
    finally:
        await traffic.close()


async def seen_inside(queries: Queries, sampler: Sampler) -> dict[str, Data]:
    catalog = sampler.catalog()
    assert catalog is not None
    return {**await answers_of(queries), "figures": figures_of(catalog, sampler.snapshot())}


async def seen_outside(name_server: str) -> dict[str, Data]:
    async with attached(name_server) as cluster, asking(cluster) as queries:
        await decided(queries, 1)
        await sampled(cluster)
        return {**await answers_of(queries), "figures": figures_of(cluster.figures.listed(), cluster.figures.snapshot())}


def wrong(inside: dict[str, Data], outside: dict[str, Data], *, also: str = "(?!)") -> list[tuple[str, object, object]]:
    """Differences that nothing explains.

    Args:
        inside: Answers about the own broker.
        outside: Answers about the attached cluster.
        also: Paths that may differ besides, each with any value.
    """
    unknown = "|".join(UNKNOWN_OUTSIDE)
    return [
        (path, one, other)
        for path, one, other in differences(inside, outside)
        if not (re.fullmatch(unknown, path) and other in UNKNOWN)
        and not any(re.fullmatch(pattern, path) for pattern in (MEASURED, NOTICES, also))
    ]


def test_a_broker_seen_from_outside_is_what_it_is_inside(tmp_path: Path) -> None:
    async def scenario() -> tuple[dict[str, Data], dict[str, Data]]:
        async with own_broker(tmp_path) as (name_server, queries, sampler), traffic_on(name_server):
            return await seen_inside(queries, sampler), await seen_outside(name_server)

    inside, outside = asyncio.run(scenario())
    assert wrong(inside, outside) == []
    found = {path for path, _, other in differences(inside, outside) if other in UNKNOWN}
    stale = [pattern for pattern in UNKNOWN_OUTSIDE if not any(re.fullmatch(pattern, path) for path in found)]
    assert not stale, "what is listed as unknown is known"


@pytest.mark.clients
@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_a_real_broker_is_what_the_own_one_is(version: str, tmp_path: Path) -> None:
    async def inside() -> dict[str, Data]:
        async with own_broker(tmp_path / "own") as (name_server, queries, sampler), traffic_on(name_server):
            return await seen_inside(queries, sampler)

    async def outside(name_server: str) -> dict[str, Data]:
        async with traffic_on(name_server):
            return await seen_outside(name_server)

    own = asyncio.run(inside())
    with running_peer(version, tmp_path / "real", **SETTINGS) as broker:
        broker.until_registered()
        real = asyncio.run(outside(broker.name_server))
    found = wrong(own, real, also=OWN_WAYS[version])
    assert not found, "\n".join(map(str, found))
