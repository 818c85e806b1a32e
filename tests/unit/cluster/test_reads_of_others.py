"""What the console pulls is no traffic of others, and is told apart."""

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.cluster.numbering import BrokerNumbers
from broker_core.cluster.records import record_count
from broker_core.worker.attached.broker_figures import ReadsOfOthers
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.stored_messages import BrowseQueue
from tests.support.attached import BROKER, asking, attached, broker_on
from tests.support.fake_cluster import FakeBroker
from tests.support.held_still import furnish


def others_of(*looks):
    """What others got after each look at what a broker tells and what was pulled here."""
    reads, found = ReadsOfOthers(), []
    for told, own in looks:
        reads.take(told, own)
        found.append(reads.others)
    return found


def test_what_was_pulled_here_is_taken_out():
    assert others_of((100, 0), (150, 20), (150, 20), (400, 270)) == [100, 130, 130, 130]


def test_what_is_on_its_way_makes_no_traffic_that_is_taken_back():
    # The broker counted 32 messages whose answer had not come.
    assert others_of((100, 0), (132, 0), (132, 32), (140, 32)) == [100, 132, 132, 132]


def test_a_broker_that_starts_again_counts_anew():
    assert others_of((100, 60), (3, 63), (10, 65)) == [40, 0, 5]


def test_a_broker_that_does_not_tell_is_unknown():
    assert others_of((None, 5), (30, 10), (None, 10)) == [-1, 20, -1]


def test_records_of_an_answer_are_counted():
    broker = FakeBroker("a", {"T": 1}, {"T": 9})
    records = [broker.record("T", 0, offset) for offset in range(3)]
    assert [record_count(body) for body in (b"", b"".join(records), records[0], b"\0" * 8)] == [0, 3, 1, 0]


@pytest.mark.parametrize(
    ("version", "config", "others"),
    [
        ("403", {}, 70),
        ("473", {}, 90),
        ("473", {"orbitGrpc": "on"}, 70),
        ("", {}, 70),
    ],
)
def test_pulls_of_system_topics_are_taken_out_where_the_broker_counts_them(version, config, others):
    figures = ClusterFigures(BrokerNumbers(), clock=lambda: 0)
    of = figures.of("a")
    of.config = config
    runtime = {"brokerVersion": version, "msgGetTotalTodayNow": "100"}
    figures.take_runtime("a", runtime, console_got=30, console_got_of_system=20)
    assert of.reads_of_others.others == others


def test_pulls_of_system_topics_are_known(tmp_path):
    async def scenario():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            await furnish(cluster, BROKER)
            async with Producer(broker.name_server_address) as producer:
                await producer.send(Message("T", b"later", properties={"DELAY": "18"}))
            await cluster.sampling.once()
            async with asking(cluster) as queries:
                before = cluster.link.own_reads[BROKER], cluster.link.own_system_reads[BROKER]
                assert (await queries.answer(ListDelayed(18, 0, 10))).queue_offset
                await queries.answer(BrowseQueue("T", -1, 0, 50))
                after = cluster.link.own_reads[BROKER], cluster.link.own_system_reads[BROKER]
            assert after[1] > before[1]
            assert after[0] - before[0] > after[1] - before[1]

    asyncio.run(scenario())


def test_looking_at_messages_is_no_message_out(tmp_path):
    async def scenario():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            await furnish(cluster, BROKER)
            await cluster.sampling.once()
            before = cluster.figures.snapshot().totals
            async with asking(cluster) as queries:
                page = await queries.answer(BrowseQueue("T", -1, 0, 50))
            assert page.keys
            await cluster.sampling.once()
            after = cluster.figures.snapshot().totals
            assert after["got_messages"] == before["got_messages"]
            assert after["console_messages"] - before["console_messages"] >= len(page.keys)
            counted = broker.counters.got_messages
            assert counted == after["got_messages"] + after["console_messages"], "the broker counts them all"

    asyncio.run(scenario())
