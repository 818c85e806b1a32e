"""Two real brokers, one of them with a slave: the master goes, its slave stands in and takes its place; on demand."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.errors import UsageError
from broker_core.ipc.schema import BrowseQueue, ContinueSearch, CreateTopic, ReadMessage, StartSearch
from broker_core.worker.attached.settings import WatchSettings
from tests.support.attached import asking, attached, sampled
from tests.support.real_broker import RealBroker
from tests.support.real_traffic import fill
from tests.support.remoting_peer import eventually, eventually_answers

pytestmark = [pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(900)]

FIRST, SECOND = "broker-a", "broker-b"
MESSAGES = 400
WATCH = WatchSettings(round_ms=200, retry_ms=500, tables_ms=1_000, requests_per_second=200, timeout_ms=20_000)


@pytest.fixture(params=["4.9.4", "5.3.3"])
def brokers(request, tmp_path):
    """The first with the name server of all, the second's master, and its slave."""

    def broker(folder, name, **settings):
        return RealBroker(request.param, tmp_path / folder, {"brokerName": name, **settings})

    first = broker("first", FIRST)
    shared = {"namesrvAddr": first.name_server}
    master = broker("master", SECOND, brokerRole="SYNC_MASTER", **shared)
    slave = broker("slave", SECOND, brokerRole="SLAVE", brokerId="1", **shared)
    running = [first, master, slave]
    try:
        for one in running:
            one.start()
        yield running
    finally:
        for one in running:
            one.stop()


async def searched(queries):
    started = await queries.answer(StartSearch('topic = "T"'))
    found = []
    while True:
        hits = await queries.answer(ContinueSearch(started.search_id))
        found += zip(hits.queue_id, hits.physical_offset, hits.body_start, strict=True)
        if hits.is_over:
            return found, hits.reasons


def test_what_a_lost_master_had_is_read_from_its_slave_and_again_when_that_takes_its_place(brokers):
    first, master, slave = brokers

    async def scenario():
        async with attached(first.name_server, WATCH) as cluster, asking(cluster) as queries:

            async def knows_all():
                await cluster.connect()
                return set(cluster.link.brokers[SECOND].addresses) == {0, 1}

            await eventually_answers(knows_all, 200)
            for number, broker in enumerate((FIRST, SECOND)):
                await fill(first.name_server, "T", MESSAGES, broker=broker, first=number * MESSAGES)
            await sampled(cluster)
            cluster.sampling.start()
            found, reasons = await searched(queries)
            assert (len(found), reasons) == (2 * MESSAGES, [])

            async def slave_has_all():
                found, _reasons = await searched(queries)
                return len(found) == 2 * MESSAGES

            await asyncio.to_thread(master.stop, kill=True)
            await eventually(lambda: SECOND not in cluster.link.brokers or not cluster.link.brokers[SECOND].has_master, 200)
            # The slave stands in: all is read, and it is said that it may lack the newest.
            await eventually_answers(slave_has_all, 200)
            found, reasons = await searched(queries)
            assert any("broker-b has no master now" in reason for reason in reasons), reasons
            with pytest.raises(UsageError, match="broker-b has no master now"):
                await queries.answer(CreateTopic("New", 1, 1))

            await asyncio.to_thread(slave.stop)
            await eventually(lambda: SECOND in cluster.figures.faults(), 200)
            assert cluster.figures.faults()[SECOND].startswith("no answer since ")
            assert FIRST not in cluster.figures.faults()
            page = await queries.answer(BrowseQueue("T", -1, 0, 50))
            assert (len(page.queue_id), "missing here. broker-b: " in page.notice) == (50, True)
            found, reasons = await searched(queries)
            assert (len(found), len(reasons) > 0) == (MESSAGES, True)

            slave.settings = {**slave.settings, "brokerRole": "ASYNC_MASTER", "brokerId": "0"}
            await asyncio.to_thread(slave.start)
            await eventually(lambda: not cluster.figures.faults(), 200)
            await eventually_answers(slave_has_all, 200)
            found, reasons = await searched(queries)
            assert reasons == []
            # Stored by the master that is gone, and opened where they are now.
            for queue, place, body in found:
                is_second = int(body.split()[0]) >= MESSAGES
                assert (queue >= 10_000, place >> 56) == (is_second, int(is_second))
            assert (await queries.answer(ReadMessage(found[-1][1]))).body == found[-1][2]

    asyncio.run(scenario())
