"""What the console pulls is no traffic of others, and is told apart."""

import asyncio

from broker_core.cluster.records import record_count
from broker_core.worker.attached.broker_figures import ReadsOfOthers
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
