"""Where a time begins in a queue of a watched cluster, whatever its broker answers."""

import asyncio

import pytest

from broker_core.protocol.codes import RequestCode
from broker_core.worker.attached.lifelines import ClusterRecords
from broker_core.worker.questions.stored_messages import FindOffset, FoundOffset
from tests.support.attached import asking, attached
from tests.support.fake_cluster import STORED_MS, FakeBroker, FakeCluster

HELD = 100


@pytest.mark.parametrize("answer", [0, 49, 51, 99, 100])
@pytest.mark.parametrize(("at_ms", "offset"), [(STORED_MS + 50, 50), (0, 0), (STORED_MS + HELD, HELD)])
def test_the_first_message_at_or_after_a_time_is_found(answer, at_ms, offset):
    broker = FakeBroker("a", {"orders": 1}, {"orders": HELD})
    broker.answers[RequestCode.SEARCH_OFFSET_BY_TIMESTAMP] = lambda _, command: command.reply(
        ext_fields={"offset": str(answer)}
    )

    async def scenario():
        async with FakeCluster([broker]) as made, attached(made.name_server) as cluster, asking(cluster) as queries:
            await cluster.link.find_brokers()
            records = ClusterRecords(cluster.link, cluster.figures, asyncio.get_running_loop())
            of_lifelines = await asyncio.to_thread(records.offset_by_time, "orders", 0, at_ms)
            return await queries.answer(FindOffset("orders", 0, at_ms)), of_lifelines

    assert asyncio.run(scenario()) == (FoundOffset(offset), offset)
