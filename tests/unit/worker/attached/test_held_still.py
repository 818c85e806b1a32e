"""Watching an idle cluster, and looking at everything in it, leaves it as it was."""

import asyncio

from tests.support.attached import BROKER, asking, attached, broker_on
from tests.support.held_still import CONSUMED, furnish, look_at_everything, picture_of
from tests.support.remoting_peer import eventually

ROUNDS = 6


def test_watching_moves_nothing(tmp_path, monkeypatch):
    async def scenario():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            await furnish(cluster, BROKER)
            before = await picture_of(cluster, BROKER)
            assert before["GET_ALL_CONSUMER_OFFSET"]["offsetTable"]["T@g"]["1"] == CONSUMED
            groups, clients = set(broker.counters.groups), set(broker.counters.pulls)
            answered, rounds = cluster.figures.answered, 0

            def count(*arguments):
                nonlocal rounds
                rounds += 1
                answered(*arguments)

            monkeypatch.setattr(cluster.figures, "answered", count)
            cluster.sampling.start()
            async with asking(cluster) as queries:
                await look_at_everything(queries)
                await eventually(lambda: rounds >= ROUNDS)
                await eventually(lambda: cluster.figures.of(BROKER).next_store.get(("g", "T", 1)))
                await look_at_everything(queries)
            assert await picture_of(cluster, BROKER) == before
            new = set(broker.counters.pulls) - clients
            assert {group for _topic, group in new} == {"TOOLS_CONSUMER"}, "all reads are those of the tools' own group"
            assert set(broker.counters.groups) - groups <= {"TOOLS_CONSUMER"}

    asyncio.run(scenario())
