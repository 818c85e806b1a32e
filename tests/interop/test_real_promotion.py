"""The master of a real broker dies, its slave takes its place, and the old one comes back; on demand."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.cluster.watch_settings import WatchSettings
from broker_core.errors import UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.worker.questions.administration import AskBroker
from broker_core.worker.questions.searches import ContinueSearch, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue, SendMessage
from monitoring.collector import Collector
from tests.support.attached import asking, attached
from tests.support.real_set import MOVED, STEADY, RealSet
from tests.support.real_traffic import QUEUES, fill
from tests.support.remoting_peer import eventually, eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

QUICK = WatchSettings(round_ms=100, retry_ms=200, tables_ms=500, requests_per_second=300)
SENT, CONSUMED = 400, 10
LONG_S = 240.0


@pytest.fixture(params=["4.9.4", "5.3.3"])
def brokers(request, tmp_path):
    with RealSet(request.param, tmp_path) as made:
        yield made, request.param


async def searched(queries):
    """Bodies that a search of the topic gives, and why it may lack some."""
    started = await queries.answer(StartSearch('topic = "T"'))
    found = []
    while True:
        hits = await queries.answer(ContinueSearch(started.search_id))
        found += [body.split()[0] for body in hits.body_start]
        if hits.is_over:
            return found, hits.reasons


class Page:
    """What a page shows of the topic and its group: derived as the window derives it."""

    def __init__(self, cluster) -> None:
        self._cluster = cluster
        self._collector = Collector(None)

    @property
    def state(self):
        catalog = self._cluster.figures.listed()
        self._collector.catalog_changed(catalog)
        return self._collector.snapshot_taken(self._cluster.figures.snapshot())

    def messages(self):
        state = self.state
        return int(state.topic_kept_messages[state.catalog.topics.index("T")])

    def put(self):
        state = self.state
        return int(state.topic_put_messages[state.catalog.topics.index("T")])

    def lag(self):
        state = self.state
        return int(state.group_lag_messages[state.catalog.groups.index("g")])


async def prepared(brokers, cluster):
    """400 messages on each broker, of which a group has consumed ten in each queue; the slave has it all."""
    for number, broker in enumerate((MOVED, STEADY)):
        await fill(brokers.name_server, "T", SENT, broker=broker, first=number * SENT)
    await cluster.link.set_group("g")
    for broker in (MOVED, STEADY):
        for queue_id in range(QUEUES):
            await cluster.link.set_consumer_offset("g", MessageQueue("T", broker, queue_id), CONSUMED)
    cluster.sampling.start()
    await eventually(lambda: "T" in cluster.figures.listed().topics and "g" in cluster.figures.listed().groups, LONG_S)
    await eventually(lambda: dict_of_lags(cluster)[MOVED] == 0 and not cluster.figures.faults(), LONG_S)

    async def slave_has_offsets():
        answer = await cluster.link.ask_slave_gently(MOVED, brokers.slave.address, RequestCode.GET_ALL_CONSUMER_OFFSET)
        return b"T@g" in bytes(answer.body)

    await eventually_answers(slave_has_offsets, LONG_S)


def dict_of_lags(cluster):
    return {name: cluster.figures.of(name).slave_lag_bytes for name in cluster.link.numbers.names}


def test_a_slave_takes_its_master_s_place_and_the_old_one_comes_back(brokers):
    made, version = brokers

    async def scenario():
        await made.until_registered({0: made.master.address, 1: made.slave.address})
        async with attached(made.name_server, QUICK) as cluster, asking(cluster) as queries:
            await prepared(made, cluster)
            page, lag = Page(cluster), 2 * (SENT - QUEUES * CONSUMED)
            await eventually(lambda: (page.messages(), page.lag()) == (2 * SENT, lag), LONG_S)
            put = page.put()

            await asyncio.to_thread(made.kill, made.master)
            await eventually(lambda: cluster.figures.faults().get(MOVED, "").startswith("no master for "), LONG_S)
            await eventually(lambda: (page.messages(), page.lag(), page.put()) == (2 * SENT, lag, put), LONG_S)
            behind = f"slave {made.slave.address} is read, 0 bytes behind"
            await eventually(lambda: behind in cluster.figures.faults().get(MOVED, ""), LONG_S)
            if version.startswith("4."):
                found, reasons = await searched(queries)
                assert (sorted(map(int, found)), len(reasons)) == (list(range(2 * SENT)), 1)
                assert f"broker {MOVED} has no master now: its slave was read" in reasons[0]
            else:
                # Slaves of 5.x let nobody pull, unless slaveReadEnable is set.
                search = ClusterSearch(cluster.link, parse_filter('topic = "T"', now_ms=0), retry_pauses_s=(0.1,))
                await search.prepare()
                found = [int(hit.message.body.split()[0]) async for step in search.steps() for hit in step.hits]
                assert sorted(found) == list(range(SENT, 2 * SENT))
                assert any("lets nobody pull (its slaveReadEnable is false)" in one for one in search.outcome.reasons)
                notice = (await queries.answer(BrowseQueue("T", -1, 0, 50))).notice
                assert "lets nobody pull (its slaveReadEnable is false)" in notice
            with pytest.raises(UsageError, match=f"{MOVED} has no master now; nothing was sent"):
                await queries.answer(SendMessage("T", cluster.link.numbers.shown_queue(MOVED, 0), b"x", {}))
            fields = {"consumerGroup": "g", "topic": "T", "queueId": "0", "commitOffset": "1"}
            with pytest.raises(UsageError, match=f"{MOVED} has no master now"):
                await queries.answer(AskBroker(RequestCode.UPDATE_CONSUMER_OFFSET, fields, broker_name=MOVED))

            await asyncio.to_thread(made.promote_slave)
            await eventually(lambda: not cluster.figures.faults(), LONG_S)
            assert cluster.link.address_of(MOVED) == made.slave.address
            assert (page.messages(), page.put()) == (2 * SENT, put)
            await fill(made.name_server, "T", 100, broker=MOVED, first=2 * SENT)
            more = 2 * SENT + 100, lag + 100, put + 100
            await eventually(lambda: (page.messages(), page.lag(), page.put()) == more, LONG_S)

            await asyncio.to_thread(made.demote_master)
            await made.until_registered({0: made.slave.address, 1: made.master.address})
            await eventually(lambda: dict_of_lags(cluster)[MOVED] == 0 and not cluster.figures.faults(), LONG_S)
            assert (page.messages(), page.lag(), page.put()) == more
            found, reasons = await searched(queries)
            assert (sorted(map(int, found)), reasons) == (list(range(2 * SENT + 100)), [])
            kinds = [event.kind for event in cluster.figures.events() if event.subject == MOVED]
            assert [kind for kind in kinds if kind.startswith("master")] == ["master_lost", "master_back"], kinds

    asyncio.run(scenario())
