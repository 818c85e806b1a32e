"""Live tails of an attached cluster: our own broker over loopback, followed from outside."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.errors import FilterError, NetworkError, RemoteError, UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.attached import follows
from broker_core.worker.attached.follows import ClusterFollows
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.searches import ContinueFollow, EndFollow, Followed, FollowStarted, StartFollow
from tests.support.answering import answer_by
from tests.support.attached import BROKER, attached, broker_on

DEADLINE_S = 60


def play(tmp_path, scenario):
    """A topic T of two queues with a message from before."""

    async def run():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            await cluster.link.create_topic("T", queues=2)
            async with Producer(broker.name_server_address) as producer:
                await producer.send(Message("T", b"before"), queue=MessageQueue("T", BROKER, 0))
                await cluster.sampling.once()
                tails = ClusterFollows(cluster.link, cluster.figures, pace_seconds=0.01, hold_seconds=0.02)
                await scenario(cluster, tails, producer)
                tails.close()

    asyncio.run(run())


async def send(producer, *bodies, queue=0, tag="", topic="T"):
    for body in bodies:
        await producer.send(Message(topic, body, tag), queue=MessageQueue(topic, BROKER, queue))


async def started(tails, query):
    answer = await answer_by(tails, query)
    assert isinstance(answer, FollowStarted)
    return answer


async def next_batch(tails, follow_id):
    async with asyncio.timeout(DEADLINE_S):
        while True:
            answer = await answer_by(tails, ContinueFollow(follow_id))
            assert isinstance(answer, Followed)
            if answer.topic or answer.left_out or answer.is_over:
                return answer


async def look(tails, follow_id):
    """Look at the broker once; what that has found."""
    opened = tails._open[follow_id]
    found = await tails._look_on(opened, BROKER)
    opened.take(BROKER, found)
    return found.batch


def test_what_arrives_is_told_with_rules_and_moves_nobody(tmp_path):
    async def scenario(cluster, tails, producer):
        begun = await started(tails, StartFollow(["T"], "tag = 'paid' or tag = 'late'", ["tag = 'late'"]))
        quiet = await answer_by(tails, ContinueFollow(begun.follow_id))
        assert (quiet.topic, quiet.left_out) == ([], 0), "what was there before does not arrive"
        await send(producer, b"one", tag="paid")
        await send(producer, b"two", queue=1, tag="other")
        await send(producer, b"three", queue=1, tag="late")
        found = await next_batch(tails, begun.follow_id)
        while len(found.topic) < 2:
            more = await next_batch(tails, begun.follow_id)
            found.topic.extend(more.topic)
            found.body_start.extend(more.body_start)
            found.rule.extend(more.rule)
            found.queue_id.extend(more.queue_id)
        assert list(zip(found.body_start, found.rule, found.queue_id, strict=True)) == [(b"one", -1, 0), (b"three", 0, 1)]
        await cluster.sampling.once()
        assert cluster.figures.of(BROKER).positions == {}

    play(tmp_path, scenario)


def test_another_filter_goes_on_where_the_tail_stood(tmp_path):
    async def scenario(_cluster, tails, producer):
        first = await started(tails, StartFollow(["T"], "tag = 'none'"))
        await send(producer, b"meanwhile")
        second = await started(tails, StartFollow(["T"], "", [], first.position))
        assert await answer_by(tails, EndFollow(first.follow_id)) == Done()
        assert (await next_batch(tails, second.follow_id)).body_start == [b"meanwhile"]
        await answer_by(tails, EndFollow(second.follow_id))
        await send(producer, b"while ended")
        third = await started(tails, StartFollow(["T"], "", [], second.position))
        assert (await next_batch(tails, third.follow_id)).body_start == [b"while ended"]
        with pytest.raises(UsageError, match="it was ended"):
            await answer_by(tails, ContinueFollow(first.follow_id))

    play(tmp_path, scenario)


def test_what_comes_while_another_one_begins_at_the_place_of_a_tail_is_told_by_one(tmp_path, monkeypatch):
    async def scenario(_cluster, tails, producer):
        first = await started(tails, StartFollow(["T"]))
        find_ends = tails._find_ends

        async def slow(opened):
            await send(producer, b"once")
            assert (await answer_by(tails, ContinueFollow(first.follow_id))).topic == []
            await find_ends(opened)

        monkeypatch.setattr(tails, "_find_ends", slow)
        second = await started(tails, StartFollow(["T"], "", [], first.position))
        for tail in (second, first):
            assert (await next_batch(tails, tail.follow_id)).body_start == [b"once"]

    play(tmp_path, scenario)


def test_a_topic_that_is_created_later_is_followed_from_its_first_message(tmp_path):
    async def scenario(cluster, tails, producer):
        begun = await started(tails, StartFollow([]))
        await cluster.link.create_topic("U", queues=1)
        await send(producer, b"first of U", topic="U")
        await cluster.sampling.once()
        found = await next_batch(tails, begun.follow_id)
        assert (found.topic, found.body_start) == (["U"], [b"first of U"])

    play(tmp_path, scenario)


def test_what_is_more_than_can_be_shown_is_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(follows, "BEHIND_MAX", 3)

    async def scenario(_cluster, tails, producer):
        begun = await started(tails, StartFollow(["T"]))
        await send(producer, *(b"%d" % number for number in range(10)))
        found = await next_batch(tails, begun.follow_id)
        assert (found.body_start, found.left_out) == ([b"7", b"8", b"9"], 7)

    play(tmp_path, scenario)


def test_a_look_asks_for_some_topics_and_the_next_for_the_others(tmp_path, monkeypatch):
    monkeypatch.setattr(follows, "REQUESTS_A_LOOK", 3)

    async def scenario(cluster, tails, producer):
        for name in "ABCDE":
            await cluster.link.create_topic(name, queues=1)
        await cluster.sampling.once()
        begun = await started(tails, StartFollow(list("ABCDE")))
        asked = []
        gently = cluster.link.ask_gently

        async def counted(broker, code, fields=None):
            asked.append((fields or {}).get("topic"))
            return await gently(broker, code, fields)

        monkeypatch.setattr(cluster.link, "ask_gently", counted)
        for _ in range(3):
            await look(tails, begun.follow_id)
        assert asked == ["A", "B", "C", "D", "E", "A"]
        await send(producer, b"of E", topic="E")
        assert (await next_batch(tails, begun.follow_id)).topic == ["E"]

    play(tmp_path, scenario)


def test_the_last_of_the_topics_that_a_look_has_room_for_is_pulled_too(tmp_path):
    names = [f"quiet-{number}" for number in range(follows.REQUESTS_A_LOOK - 1)]

    async def scenario(cluster, tails, producer):
        for name in names:
            await cluster.link.create_topic(name, queues=1)
        await cluster.sampling.once()
        begun = await started(tails, StartFollow([*names, "T"]))
        await send(producer, b"at last")
        assert (await next_batch(tails, begun.follow_id)).body_start == [b"at last"]

    play(tmp_path, scenario)


def test_a_queue_that_always_has_something_new_does_not_keep_the_others_from_being_pulled(tmp_path, monkeypatch):
    monkeypatch.setattr(follows, "REQUESTS_A_LOOK", 2)

    async def scenario(_cluster, tails, producer):
        begun = await started(tails, StartFollow(["T"]))
        found = []
        for body in (b"one", b"two"):
            await send(producer, body)
            await send(producer, body, queue=1)
            batch = await look(tails, begun.follow_id)
            found.append([head.queue_id for _topic, head, _rule in batch.heads])
        assert found == [[0], [1, 1]]

    play(tmp_path, scenario)


def test_a_topic_that_is_refused_each_time_does_not_hide_those_behind_it(tmp_path, monkeypatch):
    async def scenario(cluster, tails, producer):
        await cluster.link.create_topic("A", queues=1)
        await cluster.sampling.once()
        begun = await started(tails, StartFollow(["A", "T"]))
        gently = cluster.link.ask_gently

        async def refused(broker, code, fields=None):
            if (fields or {}).get("topic") == "A":
                raise RemoteError("no permission", code=16)
            return await gently(broker, code, fields)

        monkeypatch.setattr(cluster.link, "ask_gently", refused)
        await send(producer, b"behind it")
        assert (await next_batch(tails, begun.follow_id)).body_start == [b"behind it"]

    play(tmp_path, scenario)


def test_queues_of_several_brokers_are_filtered_by_the_numbers_that_are_shown(tmp_path):
    async def scenario(cluster, tails, producer):
        cluster.link.numbers._names.insert(0, "seen-before")
        cluster.figures.lost("seen-before", "it is away")
        begun = await started(tails, StartFollow(["T"], "queue = 10001", ["queue > 10000"]))
        await send(producer, b"in 0")
        await send(producer, b"in 1", queue=1)
        found = await next_batch(tails, begun.follow_id)
        assert (found.body_start, found.queue_id, found.rule) == ([b"in 1"], [10_001], [0])

    play(tmp_path, scenario)


def test_a_broker_that_was_away_at_the_start_tells_only_what_comes_after(tmp_path):
    async def scenario(cluster, tails, producer):
        begun = await started(tails, StartFollow(["T"]))
        opened = tails._open[begun.follow_id]
        opened.offsets.clear()
        opened.unheard.add((BROKER, "T"))
        assert (await answer_by(tails, ContinueFollow(begun.follow_id))).topic == []
        await send(producer, b"after")
        assert (await next_batch(tails, begun.follow_id)).body_start == [b"after"]
        cluster.figures.lost(BROKER, "it is down")
        with pytest.raises(NetworkError, match="it is down"):
            await answer_by(tails, StartFollow(["T"]))

    play(tmp_path, scenario)


def test_a_broker_whose_topics_were_not_known_at_the_start_tells_only_what_comes_after(tmp_path):
    async def scenario(cluster, tails, producer):
        cluster.figures.of(BROKER).topics = {}
        begun = await started(tails, StartFollow([]))
        await cluster.sampling.once()
        while MessageQueue("T", BROKER, 0) not in tails._open[begun.follow_id].offsets:
            assert (await answer_by(tails, ContinueFollow(begun.follow_id))).topic == []
        await send(producer, b"after")
        assert (await next_batch(tails, begun.follow_id)).body_start == [b"after"]

    play(tmp_path, scenario)


def test_what_cannot_be_followed_is_refused_with_the_reason(tmp_path, monkeypatch):
    async def scenario(_cluster, tails, _producer):
        with pytest.raises(UsageError, match="topic U, V: is it spelled right"):
            await answer_by(tails, StartFollow(["T", "U", "V"]))
        with pytest.raises(FilterError, match="rule 1"):
            await answer_by(tails, StartFollow(["T"], "", ["tag ="]))
        monkeypatch.setattr(follows, "TOPICS_MAX", 0)
        with pytest.raises(UsageError, match="follows 0 at most: choose some"):
            await answer_by(tails, StartFollow([]))
        monkeypatch.undo()
        begun = await started(tails, StartFollow(["T"]))
        first = asyncio.create_task(answer_by(tails, ContinueFollow(begun.follow_id)))
        await asyncio.sleep(0)
        with pytest.raises(UsageError, match="is open already"):
            await answer_by(tails, ContinueFollow(begun.follow_id))
        await answer_by(tails, EndFollow(begun.follow_id))
        assert (await first).is_over

    play(tmp_path, scenario)
