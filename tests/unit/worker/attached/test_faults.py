"""What one of several brokers does wrong concerns its part only: the rest stays, the lost part is named, and it comes back."""

import asyncio
import re
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from broker_core.errors import ConnectionLostError, NetworkError, RemoteError, UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue, emit, parse_object
from broker_core.protocol.names import SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.worker.questions.administration import AskBroker, CreateTopic, ListMembers
from broker_core.worker.questions.delays import ListDelayed
from broker_core.worker.questions.searches import ContinueSearch, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue, SendMessage
from broker_core.worker.questions.transactions import ListTransactions
from tests.support.attached import QUICK, asking, attached
from tests.support.fake_cluster import V4_9_4, FakeBroker, FakeCluster, refused, rubbish, silent
from tests.support.remoting_peer import eventually

HASTY = replace(QUICK, timeout_ms=400)
"""For a broker that never answers. One that answers at once may seem lost for a moment on a machine that is busy."""


def broker(name: str) -> FakeBroker:
    topics = {"orders": 2, SCHEDULE_TOPIC: 18}
    return FakeBroker(name, topics, {"orders": 3, SCHEDULE_TOPIC: 2}, ["g"], {"orders@g": {0: 1, 1: 1}})


@asynccontextmanager
async def scene(settings=QUICK):
    async with FakeCluster([broker("a"), broker("b")]) as cluster, attached(cluster.name_server, settings) as watched:
        await watched.sampling.once()
        async with asking(watched) as queries:
            yield cluster, watched, queries


async def searched(queries, text):
    started = await queries.answer(StartSearch(text))
    found = []
    while True:
        hits = await queries.answer(ContinueSearch(started.search_id))
        found += hits.body_start
        if hits.is_over:
            return found, hits


def test_a_level_on_two_brokers_names_the_part_of_each():
    async def scenario():
        async with scene() as (_cluster, _watched, queries):
            page = await queries.answer(ListDelayed(1, 0, 1))
            assert page.part_first[0] == page.queue_offset[0]
            assert [end - first for first, end in zip(page.part_first, page.part_end, strict=True)] == [2, 2]
            for first in page.part_first:
                assert (await queries.answer(ListDelayed(1, first, 1))).queue_offset == [first]

    asyncio.run(scenario())


def test_a_broker_that_is_down_leaves_the_others_and_is_named():
    async def scenario():
        async with scene() as (cluster, watched, queries):
            page = await queries.answer(BrowseQueue("orders", -1, 0, 50))
            assert (len(page.keys), page.notice) == (12, "")
            await cluster.brokers[1].stop()
            for is_known in (False, True):
                page = await queries.answer(BrowseQueue("orders", -1, 0, 50))
                assert len(page.keys) == 6
                assert page.notice.startswith("Not all brokers answered, and what they hold is missing here. b: ")
                waiting = await queries.answer(ListDelayed(1, 0, 10))
                assert (len(waiting.keys), waiting.next_offset == waiting.max_offset) == (2, True)
                assert "missing here. b: " in waiting.notice
                members = await queries.answer(ListMembers("g"))
                assert (members.client_id, "missing here. b: " in members.notice) == ([], True)
                undecided = await queries.answer(ListTransactions(0, 10))
                assert (undecided.total, "missing here. b: " in undecided.notice) == (0, True)
                found, hits = await searched(queries, 'topic = "orders"')
                assert (len(found), not hits.reasons) == (6, False)
                assert "on broker b could not be searched" in hits.reasons[0]
                assert ("no answer: " in page.notice) is is_known
                await watched.sampling.once()

    asyncio.run(scenario())


def test_where_no_broker_answers_it_fails_and_says_why():
    async def scenario():
        async with scene() as (cluster, watched, queries):
            for one in cluster.brokers:
                await one.stop()
            for _known in range(2):
                for query in (BrowseQueue("orders", -1, 0, 5), ListMembers("g"), ListTransactions(0, 10)):
                    with pytest.raises(NetworkError):
                        await queries.answer(query)
                with pytest.raises(NetworkError):
                    await queries.answer(ListDelayed(1, 0, 10))
                await watched.sampling.once()
            assert set(watched.figures.faults()) == {"a", "b"}

    asyncio.run(scenario())


@pytest.mark.parametrize(("answer", "reason"), [(rubbish, "<html>500</html>"), (refused, "No accessKey is configured")])
def test_a_broker_that_answers_otherwise_leaves_the_others(answer, reason):
    async def scenario():
        async with scene() as (cluster, watched, queries):
            cluster.brokers[0].answer_all(answer)
            await watched.sampling.once()
            assert set(watched.figures.faults()) == {"a"}
            assert reason in watched.figures.faults()["a"]
            first = r"^for \d+ s: topics and groups: .* \(and \d+ more\)$"
            assert re.search(first, watched.figures.faults()["a"]), "the first of all that failed"
            assert not watched.figures.of("a").is_lost
            page = await queries.answer(BrowseQueue("orders", -1, 0, 50))
            assert (len(page.keys), "missing here. a: " in page.notice) == (6, True)
            assert "missing here. a: " in (await queries.answer(ListTransactions(0, 10))).notice
            assert "missing here. a: " in (await queries.answer(ListMembers("g"))).notice
            found, hits = await searched(queries, 'topic = "orders"')
            assert (len(found), not hits.reasons) == (6, False)

    asyncio.run(scenario())


def test_timers_are_asked_of_brokers_that_have_them():
    async def scenario():
        new, old = broker("a"), broker("b")
        new.topics[WHEEL_TIMER_TOPIC], new.timers, new.settings["timerWheelEnable"] = 1, {"orders": 4}, "true"
        old.version = V4_9_4
        async with FakeCluster([new, old]) as cluster, attached(cluster.name_server) as watched:
            await watched.sampling.once()
            assert (watched.figures.snapshot().timers["pending"], watched.figures.faults()) == (4, {})
            assert (new.asked[RequestCode.GET_TIMER_METRICS], old.asked[RequestCode.GET_TIMER_METRICS]) == (1, 0)
            new.answers = {int(RequestCode.GET_TIMER_METRICS): refused}
            await watched.sampling.once()
            assert " s: timers: " in watched.figures.faults()["a"]
            assert not watched.figures.of("a").is_lost

    asyncio.run(scenario())


def test_a_slow_broker_is_lost_by_itself_and_the_other_is_sampled_on():
    async def scenario():
        async with scene(HASTY) as (cluster, watched, _queries):
            slow, quick = cluster.brokers
            watched.sampling.start()
            slow.answer_all(silent)
            await eventually(lambda: watched.figures.of("a").is_lost)
            quick.held["orders"] = 9
            await eventually(lambda: watched.figures.of("b").offsets["orders"][0].max_offset == 9)
            await eventually(lambda: set(watched.figures.faults()) == {"a"})
            assert "did not answer within 400 ms" in watched.figures.of("a").fault
            slow.answers = {}
            await eventually(lambda: not watched.figures.faults())
            kinds = [event.kind for event in watched.figures.events() if event.subject == "a"]
            assert kinds[:2] == ["broker_lost", "broker_back"]

    asyncio.run(scenario())


def test_figures_of_a_lost_broker_are_unknown_and_the_others_stay():
    async def scenario():
        async with scene() as (cluster, watched, _queries):
            await cluster.brokers[1].stop()
            await watched.sampling.once()
            catalog, snapshot = watched.figures.catalog(), watched.figures.snapshot()
            ends = memoryview(snapshot.queues["max_offset"]).cast("q")
            of = {queue: end for queue, end in zip(catalog.queue_id, ends, strict=True) if end in (3, -1)}
            assert (of[0], of[1], of[10_000], of[10_001]) == (3, 3, -1, -1)
            assert set(snapshot.faults) == {"b"}

    asyncio.run(scenario())


def test_the_name_server_goes_and_comes_back_and_brokers_are_watched_meanwhile():
    async def scenario():
        async with scene() as (cluster, watched, queries):
            watched.sampling.start()
            await cluster.stop_name_server()
            await eventually(lambda: set(watched.figures.faults()) == {"name server"})
            cluster.brokers[0].held["orders"] = 7
            await eventually(lambda: watched.figures.of("a").offsets["orders"][0].max_offset == 7)
            with pytest.raises(NetworkError):
                await queries.answer(StartSearch('topic = "orders"'))
            await cluster.start_name_server()
            await eventually(lambda: not watched.figures.faults())
            found, hits = await searched(queries, 'topic = "orders"')
            assert (len(found), not hits.reasons) == (20, True)

    asyncio.run(scenario())


@pytest.mark.parametrize("answer", [rubbish, refused])
def test_a_name_server_that_answers_otherwise_is_told_and_asked_again(answer):
    async def scenario():
        async with scene() as (cluster, watched, _queries):
            cluster.answers = {int(RequestCode.GET_BROKER_CLUSTER_INFO): answer}
            watched.sampling.start()
            await eventually(lambda: set(watched.figures.faults()) == {"name server"})
            cluster.answers = {}
            await eventually(lambda: not watched.figures.faults())

    asyncio.run(scenario())


def test_a_broker_that_restarts_during_a_search_is_read_to_the_end():
    async def scenario():
        async with scene() as (cluster, _watched, queries):
            fallen = cluster.brokers[1]
            for one in cluster.brokers:
                one.held["orders"] = 200
            pull, pulls = fallen.pull, 0

            def falls(connection, command):
                nonlocal pulls
                pulls += 1
                if pulls == 3:
                    asyncio.get_running_loop().create_task(restart())
                    return None
                return pull(connection, command)

            async def restart():
                await fallen.stop()
                await fallen.start()

            fallen.answers = {int(RequestCode.PULL_MESSAGE): falls}
            found, hits = await searched(queries, 'topic = "orders"')
            assert (len(set(found)), len(found), not hits.reasons) == (800, 800, True)

    asyncio.run(scenario())


def test_a_send_without_an_answer_is_told_and_not_made_again():
    async def scenario():
        async with scene() as (cluster, _watched, queries):
            for one in cluster.brokers:
                one.answers = {int(RequestCode.SEND_MESSAGE_V2): lambda connection, _command: connection.abort("test")}
            with pytest.raises(ConnectionLostError):
                await queries.answer(SendMessage("orders", -1, b"once", {}))
            assert sum(one.asked[RequestCode.SEND_MESSAGE_V2] for one in cluster.brokers) == 1

    asyncio.run(scenario())


def test_a_broker_that_stays_away_makes_the_search_partial_and_says_from_where():
    async def scenario():
        async with scene() as (cluster, watched, _queries):
            cluster.brokers[0].held["orders"] = 200
            search = ClusterSearch(watched.link, parse_filter('topic = "orders"', now_ms=0), retry_pauses_s=(0,))
            await search.prepare()
            found = 0
            async for step in search.steps():
                if found == 0:
                    await cluster.brokers[0].stop()
                found += len(step.hits)
            assert 6 <= found < 406
            assert any("of orders on a could not be read from offset" in reason for reason in search.outcome.reasons)

    asyncio.run(scenario())


def test_a_broker_that_the_name_server_forgot_is_missing_from_a_search():
    async def scenario():
        async with scene() as (cluster, _watched, queries):
            cluster.hidden = {"b"}
            found, hits = await searched(queries, 'topic = "orders"')
            assert (len(found), not hits.reasons) == (6, False)
            assert hits.reasons == ["broker b, which has topic orders, is not registered at the name server now"]

    asyncio.run(scenario())


def test_a_broker_that_the_name_server_forgot_is_told_until_it_registers_again():
    async def scenario():
        async with scene() as (cluster, watched, _queries):
            watched.sampling.start()
            cluster.hidden = {"b"}
            await eventually(lambda: set(watched.figures.faults()) == {"b"})
            told = r"unknown to the name server for \d+ s: clients do not find it until it registers there again"
            assert re.fullmatch(told, watched.figures.faults()["b"])
            cluster.brokers[1].held["orders"] = 9
            await eventually(lambda: watched.figures.of("b").offsets["orders"][0].max_offset == 9)  # it is watched all the same
            cluster.hidden = set()
            await eventually(lambda: not watched.figures.faults())
            await cluster.brokers[1].stop()
            cluster.hidden = {"b"}
            await eventually(lambda: watched.figures.faults().get("b", "").startswith("no answer for "))

    asyncio.run(scenario())


def test_a_slave_that_stands_in_is_read_and_acting_waits_for_a_master():
    async def scenario():
        async with scene() as (cluster, watched, queries):
            cluster.slaves = {"b": 1}
            await watched.connect()
            found, hits = await searched(queries, 'topic = "orders"')
            assert (len(found), not hits.reasons) == (12, False)
            assert "broker b has no master now" in hits.reasons[0]
            with pytest.raises(UsageError, match="broker b has no master now; nothing was changed"):
                await queries.answer(CreateTopic("T", 1, 1))
            cluster.slaves = {}
            await watched.connect()
            _found, hits = await searched(queries, 'topic = "orders"')
            assert not hits.reasons

    asyncio.run(scenario())


def test_queues_of_a_table_have_the_numbers_under_which_they_are_shown():
    async def scenario():
        async with scene() as (cluster, _watched, queries):
            for one, offset in zip(cluster.brokers, (3, 7), strict=True):
                table = {MessageQueue("orders", one.name, 0): {"consumerOffset": offset}}
                one.answers = {int(RequestCode.GET_CONSUME_STATS): _told({"offsetTable": table, "consumeTps": 0.5})}
            fields = {"topic": "orders", "consumerGroup": "g"}
            answer = await queries.answer(AskBroker(RequestCode.GET_CONSUME_STATS, fields))
            assert parse_object(answer.body) == {
                "offsetTable": {
                    MessageQueue("orders", "a", 0): {"consumerOffset": 3},
                    MessageQueue("orders", "b", 10_000): {"consumerOffset": 7},
                },
                "consumeTps": 0.5,
            }

    asyncio.run(scenario())


def _told(body):
    return lambda _connection, command: command.reply(body=emit(body))


def test_messages_of_a_master_that_is_gone_are_those_of_the_broker_that_took_its_place():
    async def scenario():
        async with scene() as (cluster, _watched, queries):
            cluster.brokers[1].stored_at = "10.9.8.7:10911"
            _found, hits = await searched(queries, 'topic = "orders" and queue = 10001')
            assert (hits.queue_id, [place >> 56 for place in hits.physical_offset]) == ([10_001] * 3, [1] * 3)

    asyncio.run(scenario())


def test_an_action_that_one_broker_refuses_says_which_have_done_it():
    async def scenario():
        async with scene() as (cluster, _watched, queries):
            done = {int(RequestCode.UPDATE_AND_CREATE_TOPIC): lambda _connection, command: command.reply()}
            cluster.brokers[0].answers = done
            cluster.brokers[1].answers = {int(RequestCode.UPDATE_AND_CREATE_TOPIC): refused}
            with pytest.raises(RemoteError, match=r"broker b did not do it .*, but a did; do it again"):
                await queries.answer(CreateTopic("T", 1, 1))

    asyncio.run(scenario())
