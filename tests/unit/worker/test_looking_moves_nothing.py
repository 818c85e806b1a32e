"""Whatever the window looks at in its own broker, no offset moves and nothing is counted as sent or consumed."""

from __future__ import annotations

import asyncio
from typing import Any

from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.protocol.codes import RequestCode
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, ListConnections, MeasureTopics, ReadStore
from broker_core.worker.questions.delays import ForecastTimers, ListTimers
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.searches import ContinueFollow, EndFollow, FollowStarted, StartFollow
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FindOffset,
    MessagePage,
    ReadLifeline,
    ReadMessage,
    ReadMessageById,
)
from broker_core.worker.questions.transactions import ReadTransactionHistory
from tests.support.attached import BROKER, attached, broker_on
from tests.support.held_still import CONSUMED, MESSAGES, furnish, look_at_everything, picture_of


def counted(broker: EmbeddedBroker) -> dict[str, Any]:
    """What the pages show as sent and consumed."""
    counters = broker.counters
    names = ("puts", "put_messages", "put_bytes", "put_failed", "got_messages", "got_bytes", "get_found", "get_missed")
    of_pulls = {key: repr(pull) for key, pull in counters.pulls.items()}
    return {name: getattr(counters, name) for name in names} | {"pulls": of_pulls, "groups": sorted(counters.groups)}


async def look(queries: Queries) -> None:
    """Every question that pages ask beside those of `look_at_everything`."""

    async def ask(query: Question[Any]) -> Any:
        return await queries.answer(query)

    page = await ask(BrowseQueue("T", 1, 0, 50))
    assert isinstance(page, MessagePage)
    assert len(page.physical_offset) == MESSAGES
    detail = await ask(ReadMessage(page.physical_offset[0]))
    await ask(ReadMessageById(detail.offset_message_id))
    for query in (
        ReadLifeline(detail.physical_offset), FindOffset("T", 1, 0), ReadStore(), ListConnections(), MeasureTopics(["T"]),
        ReadTransactionHistory(), ForecastTimers(), ListTimers(0, 0, 10),
    ):  # fmt: skip
        await ask(query)
    for code, fields in (
        (RequestCode.GET_BROKER_RUNTIME_INFO, {}),
        (RequestCode.GET_CONSUME_STATS, {"consumerGroup": "g"}),
        (RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, {"topic": "T", "queueId": "1", "timestamp": "0"}),
    ):
        assert isinstance(await ask(AskBroker(int(code), fields)), BrokerAnswer)
    follow = await ask(StartFollow(["T"]))
    assert isinstance(follow, FollowStarted)
    await ask(ContinueFollow(follow.follow_id))
    await ask(EndFollow(follow.follow_id))


def test_looking_moves_nothing(tmp_path):
    async def scenario():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            await furnish(cluster, BROKER)
            before, before_counted = await picture_of(cluster, BROKER), counted(broker)
            assert before["GET_ALL_CONSUMER_OFFSET"]["offsetTable"]["T@g"]["1"] == CONSUMED
            queries = Queries(broker, console=broker, shut_down=lambda: None)
            try:
                for _round in range(2):
                    await look_at_everything(queries)
                    await look(queries)
            finally:
                queries.close()
            assert counted(broker) == before_counted
            assert await picture_of(cluster, BROKER) == before

    asyncio.run(scenario())
