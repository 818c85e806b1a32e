"""A topic that has shrunk from 8 queues to 4: what its former queues hold is read, counted, or said to be left out."""

import asyncio

import pytest

from broker_core.cluster.reader import SliceReader
from broker_core.cluster.slices import ReadLimits, SurveyRequest
from broker_core.protocol.json_body import MessageQueue
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.worker.attached.cluster import AttachedCluster, AttachOptions
from broker_core.worker.commands.cluster import overview_of
from tests.support.copying import NAMES, two_brokers

SENT, BEFORE, AFTER, READ_OF_EACH = 80, 8, 4, 5


@pytest.fixture
def play(tmp_path):
    async def run(scenario):
        async with two_brokers(tmp_path) as pair:
            await pair.fill("orders", SENT, queues=BEFORE)
            await pair.admins[0].set_group("g")
            for queue_id in range(BEFORE):
                await pair.admins[0].set_consumer_offset("g", MessageQueue("orders", NAMES[0], queue_id), READ_OF_EACH)
            await pair.admins[0].create_topic("orders", queues=AFTER)
            await scenario(pair)

    return lambda scenario: asyncio.run(run(scenario))


def test_a_search_finds_all_and_is_complete(play):
    async def scenario(pair):
        search = ClusterSearch(pair.admins[0], parse_filter('topic = "orders"', now_ms=0))
        await search.prepare()
        found = {hit.message.body async for step in search.steps() for hit in step.hits}
        assert found == {b"%d" % number for number in range(SENT)}
        assert search.outcome.reasons == ()

    play(scenario)


def test_reports_of_the_cluster_read_all(play):
    def read(name_server):
        with SliceReader(name_server, limits=ReadLimits(0, 0)) as reader:
            return reader.survey(SurveyRequest(topics=("orders",)))

    async def scenario(pair):
        survey = await asyncio.to_thread(read, pair.source)
        assert {one.queue_id: one.messages for one in survey.slices} == dict.fromkeys(range(BEFORE), SENT // BEFORE)
        assert [one.queue_id for one in survey.slices if one.singly] == list(range(AFTER, BEFORE))
        assert survey.unknown == ()

    play(scenario)


def test_the_lag_of_a_group_counts_what_it_can_no_longer_read(play):
    async def scenario(pair):
        cluster = AttachedCluster(AttachOptions(pair.source))
        try:
            await cluster.connect()
            await cluster.sampling.once()
            (group,) = [one for one in overview_of(cluster)["groups"] if one["name"] == "g"]
        finally:
            await cluster.close()
        assert group["lag_messages"] == SENT - BEFORE * READ_OF_EACH

    play(scenario)


def test_a_copy_says_what_it_leaves_out(play):
    async def scenario(pair):
        plan = await pair.plan(pair.order("orders"))
        assert sum(part.end - part.first for part in plan.parts) == SENT // 2
        (warning,) = [one for one in plan.warnings if "may no longer read" in one]
        assert warning.startswith("40 messages of orders lie in queues")
        assert f"queue 4 on {NAMES[0]}, 5 on" in warning

    play(scenario)
