"""How much a large cluster is asked: counted at 1,000 topics of four queues and 2,000 groups."""

import asyncio

import pytest

from broker_core.cluster.watch_settings import WatchSettings
from broker_core.errors import UsageError
from broker_core.protocol.admin.proxies import HEARTBEAT_GROUP
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.json_body import emit
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.worker.attached.sampling import BrokerRounds
from broker_core.worker.questions.administration import MeasureTopics
from tests.support.attached import asking, attached
from tests.support.fake_cluster import FakeBroker, FakeCluster

TOPICS, GROUPS, ROUNDS = 1_000, 2_000, 15
MOVING = frozenset({RequestCode.UPDATE_CONSUMER_OFFSET, RequestCode.HEART_BEAT, RequestCode.SEND_MESSAGE_V2})
SETTINGS = WatchSettings(timeout_ms=60_000)
"""As ever, but for the patience: a busy machine must not look like a lost broker."""


def large_broker(topic_count: int = TOPICS) -> FakeBroker:
    topics = {f"topic-{number:04}": 4 for number in range(topic_count)}
    groups = [f"group-{number:04}" for number in range(GROUPS)]
    positions = {f"topic-{number % topic_count:04}@{group}": dict.fromkeys(range(4), 5) for number, group in enumerate(groups)}
    return FakeBroker("a", topics, dict.fromkeys(topics, 10), groups, positions)


def test_a_refresh_asks_a_bounded_number_however_large_the_cluster_is(monkeypatch):
    async def scenario():
        broker = large_broker()
        table = emit({"offsetTable": broker.positions}, bare_int_keys=True)
        broker.answers[RequestCode.GET_ALL_CONSUMER_OFFSET] = lambda _, command: command.reply(body=table)
        async with FakeCluster([broker]) as fake, attached(fake.name_server, SETTINGS) as cluster:
            monkeypatch.setattr(cluster.link.budget_of("a"), "wait_seconds", lambda: 0.0)
            rounds = BrokerRounds(cluster.link, cluster.figures, "a")
            counts = []
            for number in range(ROUNDS):
                before = fake.requests()
                await rounds.next(number * 1_000, {"topic-0999"})
                counts.append(fake.requests() - before)
            allowed = SETTINGS.requests_per_second * SETTINGS.round_ms // 1_000
            assert max(counts) <= allowed, counts
            assert broker.asked[RequestCode.GET_ALL_CONSUMER_OFFSET] == ROUNDS, "one request for the positions of all groups"
            assert broker.asked[RequestCode.GET_ALL_TOPIC_CONFIG] == 1 + (ROUNDS - 1) * 1_000 // SETTINGS.tables_ms
            # What a person looks at is asked about every round, and all others come in turn.
            assert cluster.figures.of("a").offsets.keys() >= {
                "topic-0999",
                *(f"topic-{number:04}" for number in range(15 * ROUNDS)),
            }
            assert not {int(code) for code in MOVING} & broker.asked.keys()

    asyncio.run(scenario())


def test_rows_on_the_screen_and_groups_that_move_come_first(monkeypatch):
    screen = [f"topic-{number:04}" for number in range(900, 940)]

    async def scenario():
        broker = large_broker()
        async with FakeCluster([broker]) as fake, attached(fake.name_server, SETTINGS) as cluster:
            monkeypatch.setattr(cluster.link.budget_of("a"), "wait_seconds", lambda: 0.0)
            async with asking(cluster) as queries:
                with pytest.raises(UsageError, match="no sizes of topics"):
                    await queries.answer(MeasureTopics(screen))
            rounds = BrokerRounds(cluster.link, cluster.figures, "a")
            for number in range(5):
                broker.positions["topic-0990@group-1990"] = {0: 5 + number}
                await rounds.next(number * 1_000, cluster.sampling.recent())
            assert cluster.figures.of("a").offsets.keys() >= set(screen)
            assert "group-1990" in cluster.figures.of("a").members
            assert "group-1989" not in cluster.figures.of("a").members

    asyncio.run(scenario())


def test_names_are_there_after_a_handful_of_requests():
    async def scenario():
        broker = large_broker()
        # Brokers have a topic of the name of their cluster.
        broker.topics["C"] = 1
        fake = FakeCluster([broker])
        async with fake, attached(fake.name_server, SETTINGS) as cluster:
            await cluster.sampling.greet()
            assert fake.requests() == 4
            catalog = cluster.figures.catalog()
            assert catalog.broker_address == [broker.address]
            assert [name for name, own in zip(catalog.topics, catalog.topic_is_system, strict=True) if own] == ["C"]
            assert (len(catalog.topics), len(catalog.groups), len(catalog.queue_id)) == (TOPICS + 1, GROUPS, TOPICS * 4)

    asyncio.run(scenario())


def test_names_that_are_known_are_not_asked_for_again_by_the_first_round():
    async def scenario():
        broker, is_at_members = large_broker(20), asyncio.Event()

        def offline(_, command):
            if command.ext_fields["consumerGroup"] != HEARTBEAT_GROUP:  # whose members are the proxies
                is_at_members.set()
            return command.reply(ResponseCode.CONSUMER_NOT_ONLINE, "the consumer group is not online")

        broker.answers[RequestCode.GET_CONSUMER_CONNECTION_LIST] = offline
        async with FakeCluster([broker]) as fake, attached(fake.name_server, SETTINGS) as cluster:
            await cluster.sampling.greet()
            cluster.sampling.start()
            async with asyncio.timeout(60):
                await is_at_members.wait()
            asked = {code: broker.asked[code] for code in (RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_PRODUCER_INFO)}
            assert asked == dict.fromkeys(asked, 1)

    asyncio.run(scenario())


def test_names_are_asked_for_again_where_the_broker_was_lost_since():
    async def scenario():
        broker = FakeBroker("a", {"orders": 4})
        async with FakeCluster([broker]) as fake, attached(fake.name_server, SETTINGS) as cluster:
            rounds = BrokerRounds(cluster.link, cluster.figures, "a")
            await rounds.greet()
            cluster.figures.lost("a", "gone")
            broker.topics["refunds"] = 4
            await rounds.next(0, set())
            assert cluster.figures.of("a").topics.keys() == {"orders", "refunds"}

    asyncio.run(scenario())


def test_budgets_of_brokers_are_apart():
    async def scenario():
        async with FakeCluster([FakeBroker("a"), FakeBroker("b")]) as fake, attached(fake.name_server, SETTINGS) as cluster:
            cluster.link.budget_of("a").spend_bytes(100 * SETTINGS.bytes_per_second)
            assert cluster.link.budget_of("a").wait_seconds() > 90
            assert cluster.link.budget_of("b").wait_seconds() == 0

    asyncio.run(scenario())


def test_a_search_asks_once_for_the_bounds_of_a_topic_and_leaves_offsets_alone():
    async def scenario():
        brokers = [large_broker(50), large_broker(50)]
        brokers[1].name = "b"
        async with FakeCluster(brokers) as fake, attached(fake.name_server, SETTINGS) as cluster:
            search = ClusterSearch(cluster.link, parse_filter("size > 0", now_ms=0))
            await search.prepare()
            assert search.total_messages == 2 * 50 * 4 * 10
            assert [dict(broker.asked) for broker in brokers] == [
                {RequestCode.GET_TOPIC_STATS_INFO: 50, RequestCode.QUERY_CONSUME_QUEUE: 400}
            ] * 2
            assert cluster.link._instance.broker_addresses() == [], "a route that is kept is asked for again for ever"

    asyncio.run(scenario())
