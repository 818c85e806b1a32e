import asyncio

import pytest

from broker_core.client.push_consumer import ConsumeFrom, ConsumeResult, MessageModel, PushConsumer
from broker_core.client.subscription import Sql
from broker_core.config import ClientConfig
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.allocation import allocate_by_circle
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, as_message_queue, emit, parse_object
from broker_core.protocol.message.properties import encode_properties
from tests.support.remoting_peer import BROKER, Peer, eventually

QUICK = {"commit_interval_ms": 5, "flow_control_pause_ms": 1, "pull_retry_ms": 1, "consume_retry_ms": 1, "close_wait_ms": 2_000}


def config(**changes):
    return ClientConfig(**{**QUICK, **changes})


def play(scenario, peer=None):
    async def run():
        async with peer or Peer(topics={"T": 2}) as started:
            await scenario(started)

    asyncio.run(run())


def consumer(peer, listener, *, topics=None, settings=None, **options):
    options.setdefault("consume_from", ConsumeFrom.FIRST_OFFSET)
    return PushConsumer(peer.address, "CG", topics or {"T": "*"}, listener, config=settings or config(), **options)


def collect(into):
    def listener(messages):
        into.extend(message.body for message in messages)

    return listener


def test_what_is_there_and_what_comes_is_consumed_and_committed():
    async def scenario(peer):
        bodies = []
        peer.store("T", 0, b"before")
        async with consumer(peer, collect(bodies)) as member:
            await eventually(lambda: bodies == [b"before"])
            peer.store("T", 1, b"after")
            await eventually(lambda: bodies == [b"before", b"after"])
            assert member.queues == [MessageQueue("T", BROKER, 0), MessageQueue("T", BROKER, 1)]
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == peer.offsets.get(("CG", "T", 1)) == 1)
            assert member.consumed_messages == 2

    play(scenario)


def test_messages_of_one_queue_come_in_order_and_in_batches():
    async def scenario(peer):
        calls = []
        for number in range(10):
            peer.store("T", 0, b"%d" % number)
        async with consumer(
            peer, lambda messages: calls.append([int(m.body) for m in messages]), batch_messages=4, concurrency=1
        ):
            await eventually(lambda: sum(map(len, calls)) == 10)
        assert calls == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]

    play(scenario)


def test_only_wanted_tags_are_consumed_and_the_others_passed():
    async def scenario(peer):
        bodies = []
        for tag in ("A", "B", "C", "A"):
            peer.store("T", 0, tag.encode(), encode_properties({"TAGS": tag}))
        async with consumer(peer, collect(bodies), topics={"T": "A || C"}, concurrency=1):
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == 4)
        assert bodies == [b"A", b"C", b"A"]
        pull = peer.of_code(RequestCode.PULL_MESSAGE)[0].ext_fields
        assert (pull["subscription"], pull["sysFlag"]) == ("A || C", "6")

    play(scenario)


@pytest.mark.parametrize(("start", "expected"), [("LAST_OFFSET", 3), ("FIRST_OFFSET", 0), ("TIMESTAMP", 1)])
def test_a_new_group_starts_where_it_says(start, expected):
    async def scenario(peer):
        seen, peer.near = [], 2
        for number in range(3):
            peer.store("T", 0, b"%d" % number, stored_ms=(5, 9, 9)[number])
        begin = {"consume_from": ConsumeFrom[start], "consume_from_ms": 9}
        async with consumer(peer, lambda m: seen.append(m[0].queue_offset), **begin, concurrency=1):
            await eventually(lambda: len(seen) == 3 - expected)
            await eventually(lambda: peer.held)
        assert seen == list(range(expected, 3))

    play(scenario)


def test_a_known_group_goes_on_where_it_was():
    async def scenario(peer):
        seen = []
        peer.offsets["CG", "T", 0] = 2
        for number in range(3):
            peer.store("T", 0, b"%d" % number)
        async with consumer(peer, lambda m: seen.append(m[0].queue_offset)):
            await eventually(lambda: seen == [2])

    play(scenario)


def test_a_failed_message_comes_again_and_holds_the_offset_until_it_is_done(caplog):
    async def scenario(peer):
        calls, release = [], asyncio.Event()

        async def listener(messages):
            calls.append((messages[0].body, messages[0].attempts))
            if messages[0].body == b"bad" and not release.is_set():
                raise ValueError("cannot")

        peer.store("T", 0, b"good")
        peer.store("T", 0, b"bad")
        peer.store("T", 0, b"fine")
        async with consumer(peer, listener) as member:
            await eventually(lambda: (b"bad", 3) in calls and (b"fine", 0) in calls)
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == 1)
            assert member.failed_calls >= 3
            release.set()
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == 3)

    play(scenario)
    assert "the listener of group CG failed on 1 messages" in caplog.text


def test_pauses_after_failures_double_up_to_a_bound():
    async def scenario(peer):
        member = consumer(peer, collect([]), settings=config(consume_retry_ms=1000, consume_retry_max_ms=30_000))
        assert [member._consuming.retry_delay_ms(attempts) for attempts in (0, 1, 4, 5, 1000)] == [
            1000,
            2000,
            16_000,
            30_000,
            30_000,
        ]

    play(scenario)


def test_concurrency_is_bounded():
    async def scenario(peer):
        running, most, is_full = 0, 0, asyncio.Event()

        async def listener(_messages):
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == 3:
                is_full.set()
            await is_full.wait()
            await asyncio.sleep(0.002)
            running -= 1

        for number in range(30):
            peer.store("T", number % 2, b"x")
        async with consumer(peer, listener, concurrency=3) as member:
            await eventually(lambda: member.consumed_messages == 30)
        assert most == 3

    play(scenario)


def test_fetching_stops_at_the_bound_while_the_listener_is_slow():
    async def scenario(peer):
        release = asyncio.Event()

        async def listener(_messages):
            await release.wait()

        for _ in range(50):
            peer.store("T", 0, b"x")
        settings = config(queue_messages_max=10, pull_batch_messages=5)
        async with consumer(peer, listener, concurrency=1, settings=settings) as member:
            await eventually(lambda: member.waiting_messages == 10)
            pulls = len(peer.of_code(RequestCode.PULL_MESSAGE))
            await asyncio.sleep(0.03)
            assert (member.waiting_messages, len(peer.of_code(RequestCode.PULL_MESSAGE))) == (10, pulls)
            release.set()
            await eventually(lambda: member.consumed_messages == 50)

    play(scenario)


def test_members_share_the_queues_at_once_when_one_comes_or_goes():
    async def scenario(peer):
        first_seen, second_seen = [], []
        async with consumer(peer, collect(first_seen)) as first:
            assert len(first.queues) == 2
            async with consumer(peer, collect(second_seen)) as second:
                await eventually(lambda: len(first.queues) == len(second.queues) == 1)
                assert set(first.queues).isdisjoint(second.queues)
                for number in range(10):
                    peer.store("T", number % 2, b"x")
                await eventually(lambda: len(first_seen) + len(second_seen) == 10)
                assert len(first_seen) == len(second_seen) == 5
            await eventually(lambda: len(first.queues) == 2)

    play(scenario)


def test_the_strategy_can_be_chosen():
    async def scenario(peer):
        async with (
            consumer(peer, collect([]), strategy=allocate_by_circle) as first,
            consumer(peer, collect([]), strategy=allocate_by_circle) as second,
        ):
            await eventually(lambda: [len(first.queues), len(second.queues)] == [2, 2])
            assert {queue.queue_id for queue in first.queues} in ({0, 2}, {1, 3})

    play(scenario, Peer(topics={"T": 4}))


def test_a_queue_given_up_is_committed_first():
    async def scenario(peer):
        bodies = []
        peer.store("T", 1, b"x")
        settings = config(commit_interval_ms=600_000)
        async with consumer(peer, collect(bodies), settings=settings) as first:
            await eventually(lambda: first.consumed_messages == 1)
            async with consumer(peer, collect([]), settings=settings) as second:
                await eventually(lambda: len(second.queues) == 1)
                given_up = second.queues[0].queue_id
                await eventually(lambda: peer.offsets.get(("CG", "T", given_up)) == given_up)

    play(scenario)


def test_close_waits_for_the_listener_commits_and_leaves_the_group():
    async def scenario(peer):
        started, finish, done = asyncio.Event(), asyncio.Event(), []

        async def listener(messages):
            started.set()
            await finish.wait()
            done.append(messages[0].body)

        peer.store("T", 0, b"x")
        member = consumer(peer, listener, settings=config(commit_interval_ms=600_000))
        await member.start()
        await started.wait()
        closing = asyncio.create_task(member.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        finish.set()
        await closing
        await member.close()
        await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == 1)
        assert (done, peer.members["CG"]) == ([b"x"], {})

    play(scenario)


def test_an_offset_that_does_not_exist_is_corrected_and_stored():
    async def scenario(peer):
        seen = []
        peer.min_offset = 100
        peer.offsets["CG", "T", 0] = 5
        peer.offsets["CG", "T", 1] = 999
        peer.store("T", 0, b"x")
        async with consumer(peer, lambda m: seen.append(m[0].queue_offset)):
            await eventually(lambda: seen == [100])
            await eventually(lambda: peer.offsets["CG", "T", 0] == 101)
            await eventually(lambda: peer.offsets["CG", "T", 1] == 100)

    play(scenario)


def test_a_pull_that_fails_is_tried_again_and_each_reason_logged_once(caplog):
    async def scenario(peer):
        bodies = []
        peer.script[RequestCode.PULL_MESSAGE] = [
            *[lambda _, command: command.reply(24, "the consumer's subscription not exist")] * 3,
            lambda _, command: command.reply(0, None, {"nextBeginOffset": "1"}, b"no record"),
            lambda connection, _: connection.abort("test"),
        ]
        peer.store("T", 0, b"x")
        async with consumer(peer, collect(bodies)):
            await eventually(lambda: bodies == [b"x"])

    play(scenario, Peer(topics={"T": 1}))
    reasons = [record.getMessage() for record in caplog.records if "is tried again" in record.getMessage()]
    assert len(reasons) == 3
    assert "SUBSCRIPTION_NOT_EXIST (24)" in reasons[0]


def test_a_topic_that_appears_later_is_taken_up():
    async def scenario(peer):
        bodies = []
        settings = config(rebalance_interval_ms=5)
        async with consumer(peer, collect(bodies), topics={"later": "*"}, settings=settings):
            peer.topics["later"] = 1
            await eventually(lambda: peer.held)
            peer.store("later", 0, b"x")
            await eventually(lambda: bodies == [b"x"])

    play(scenario)


def test_messages_that_come_back_over_the_retry_topic_are_consumed():
    async def scenario(peer):
        seen = []
        async with consumer(peer, lambda m: seen.append((m[0].topic, m[0].queue.topic))):
            await eventually(lambda: peer.held)
            peer.store("%RETRY%CG", 0, b"x", encode_properties({"RETRY_TOPIC": "T"}))
            await eventually(lambda: seen == [("T", "%RETRY%CG")])

    play(scenario, Peer(topics={"T": 1, "%RETRY%CG": 1}))


def test_heartbeats_say_who_consumes_what_and_a_change_of_queues_raises_the_version():
    async def scenario(peer):
        times = iter(range(100, 200))
        member = PushConsumer(peer.address, "CG", {"T": "TagA"}, collect([]), config=config(), clock=lambda: next(times))
        await member.start()
        first, later = peer.heartbeats[0]["consumerDataSet"][0], peer.heartbeats[-1]["consumerDataSet"][0]
        assert (first["groupName"], first["consumeType"], first["messageModel"], first["consumeFromWhere"]) == (
            "CG", "CONSUME_PASSIVELY", "CLUSTERING", "CONSUME_FROM_LAST_OFFSET",
        )  # fmt: skip
        topics = {item["topic"]: item for item in later["subscriptionDataSet"]}
        assert set(topics) == {"T", "%RETRY%CG"}
        assert topics["T"]["codeSet"] == [2598919]
        assert first["subscriptionDataSet"][0]["subVersion"] < topics["T"]["subVersion"]
        await member.close()

    play(scenario)


@pytest.mark.parametrize(
    ("topics", "options"),
    [({}, {}), ({"no topic": "*"}, {}), ({"T": "*"}, {"batch_messages": 0}), ({"T": "*"}, {"concurrency": 0})],
)
def test_a_consumer_that_cannot_work_is_refused(topics, options):
    async def run():
        with pytest.raises(UsageError):
            PushConsumer("127.0.0.1:1", "CG", topics, collect([]), **options)

    asyncio.run(run())


# ---- giving back ----


def test_a_message_that_fails_goes_back_to_its_broker_and_its_offset_moves_on():
    async def scenario(peer):
        back = []

        def take_back(_, command):
            back.append(command.ext_fields)
            return command.reply()

        def listener(messages):
            return ConsumeResult.AGAIN_LATER if messages[0].body == b"bad" else None

        peer.script[RequestCode.CONSUMER_SEND_MSG_BACK] = [take_back]
        peer.store("T", 0, b"bad")
        peer.store("T", 0, b"good")
        async with consumer(peer, listener, reconsume_times_max=5) as member:
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == 2)
            assert (member.consumed_messages, member.failed_calls) == (1, 1)
        (fields,) = back
        assert (fields["group"], fields["offset"], fields["delayLevel"], fields["maxReconsumeTimes"]) == ("CG", "0", "0", "5")

    play(scenario)


# ---- orderly ----


def orderly(peer, listener, **options):
    quick = {"suspend_queue_ms": 1, "lock_retry_ms": 1, "lock_interval_ms": 5}
    return consumer(peer, listener, orderly=True, settings=config(**{**quick, **options.pop("settings", {})}), **options)


def test_an_orderly_consumer_gets_each_queue_in_order_and_tries_a_failed_message_again_first():
    async def scenario(peer):
        seen, failures = [], iter([True, True])

        async def listener(messages):
            await asyncio.sleep(0)
            seen.append((messages[0].queue.queue_id, messages[0].queue_offset, messages[0].reconsume_times))
            if messages[0].body == b"3" and next(failures, False):
                raise ValueError("not now")

        for number in range(12):
            peer.store("T", number % 2, b"%d" % number)
        async with orderly(peer, listener) as member:
            assert set(peer.locks.values()) == {member.client_id}
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == peer.offsets.get(("CG", "T", 1)) == 6)
        first = [offset for queue_id, offset, _ in seen if queue_id == 0]
        second = [(offset, times) for queue_id, offset, times in seen if queue_id == 1]
        assert first == list(range(6))
        assert second == [(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (3, 0), (4, 0), (5, 0)]
        assert peer.locks == {}

    play(scenario)


def test_an_orderly_message_that_fails_too_often_is_buried():
    async def scenario(peer):
        buried = []

        def bury(_, command):
            buried.append((command.ext_fields, bytes(command.body)))
            return command.reply(ext_fields={"msgId": "x", "queueId": "0", "queueOffset": "0"})

        def listener(messages):
            return ConsumeResult.AGAIN_LATER if messages[0].body == b"bad" else None

        peer.script[RequestCode.SEND_MESSAGE_V2] = [lambda _, command: command.reply(2, "busy"), bury]
        peer.store("T", 0, b"bad", encode_properties({"TAGS": "a"}))
        peer.store("T", 0, b"good")
        async with orderly(peer, listener, reconsume_times_max=1) as member:
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == 2)
            assert member.failed_calls == 3
        ((fields, body),) = buried
        assert (fields["b"], fields["j"], fields["l"], body) == ("%RETRY%CG", "2", "1", b"bad")
        assert "RETRY_TOPIC\x01T" in fields["i"]

    play(scenario)


def test_a_queue_that_another_member_has_locked_is_taken_up_when_it_is_free():
    async def scenario(peer):
        queue = MessageQueue("T", BROKER, 0)
        peer.locks[queue] = "someone"
        seen = []
        peer.store("T", 0, b"x")
        settings = {"rebalance_interval_ms": 5}
        async with orderly(peer, lambda m: seen.append(m[0].body), settings=settings) as member:
            assert queue not in member.queues
            del peer.locks[queue]
            await eventually(lambda: seen == [b"x"])

    play(scenario)


def test_a_queue_whose_lock_is_lost_is_dropped_and_its_offset_read_anew():
    async def scenario(peer):
        seen = []
        peer.store("T", 0, b"0")
        settings = {"rebalance_interval_ms": 5, "commit_interval_ms": 600_000}
        async with orderly(peer, lambda m: seen.append(m[0].queue_offset), settings=settings) as member:
            await eventually(lambda: seen == [0])
            queue = MessageQueue("T", BROKER, 0)
            peer.locks[queue] = "thief"
            await eventually(lambda: queue not in member.queues)
            for number in (1, 2):
                peer.store("T", 0, b"%d" % number)
            await eventually(lambda: peer.offsets.get(("CG", "T", 0)) == 1)
            peer.offsets["CG", "T", 0] = 2
            peer.locks[queue] = member.client_id
            await eventually(lambda: seen == [0, 2])

    play(scenario)


def test_an_orderly_queue_is_given_up_only_between_two_calls():
    async def scenario(peer):
        release, entered = asyncio.Event(), asyncio.Event()

        async def slow(_messages):
            entered.set()
            await release.wait()

        for queue_id in (0, 1):
            peer.store("T", queue_id, b"x")
        settings = {"give_up_wait_ms": 5, "rebalance_interval_ms": 20}
        async with orderly(peer, slow, settings=settings) as first:
            await entered.wait()
            async with orderly(peer, collect([]), settings=settings) as second:
                asked = second.client_id.encode()
                await eventually(lambda: sum(asked in lock.body for lock in peer.of_code(RequestCode.LOCK_BATCH_MQ)) >= 3)
                assert (len(first.queues), second.queues) == (2, [])
                release.set()
                await eventually(lambda: len(first.queues) == len(second.queues) == 1)

    play(scenario)


# ---- broadcasting ----


def test_broadcasting_gives_every_member_everything_and_keeps_offsets_in_a_file(tmp_path):
    async def scenario(peer):
        first, second = [], []

        def member(name, into):
            return consumer(
                peer, collect(into), model=MessageModel.BROADCASTING, instance_name=name, offsets_directory=tmp_path
            )

        async with member("one", first), member("two", second):
            for number in range(4):
                peer.store("T", number % 2, b"%d" % number)
            await eventually(lambda: len(first) == len(second) == 4)
        assert peer.offsets == {}
        assert RequestCode.GET_CONSUMER_LIST_BY_GROUP not in peer.codes()
        assert {item["messageModel"] for item in (beat["consumerDataSet"][0] for beat in peer.heartbeats)} == {"BROADCASTING"}
        peer.store("T", 0, b"later")
        async with member("one", first):
            await eventually(lambda: len(first) == 5)
        assert (first[4], len(list(tmp_path.rglob("offsets.json")))) == (b"later", 2)

    play(scenario)


def test_a_message_that_fails_in_broadcasting_is_dropped(tmp_path, caplog):
    async def scenario(peer):
        def listener(_messages):
            raise ValueError("cannot")

        peer.store("T", 0, b"x")
        options = {"model": MessageModel.BROADCASTING, "offsets_directory": tmp_path}
        async with consumer(peer, listener, **options) as member:
            await eventually(lambda: member.failed_calls == 1 and member.waiting_messages == 0)

    play(scenario)
    assert "1 messages of" in caplog.text
    assert "are dropped" in caplog.text


# ---- SQL and services ----


def test_a_sql_filter_is_checked_at_the_start_and_goes_with_every_pull():
    async def scenario(peer):
        peer.script[RequestCode.CHECK_CLIENT_CONFIG] = [
            lambda _, command: command.reply(1, "The broker does not support consumer to filter message by SQL92"),
            lambda _, command: command.reply(),
        ]
        topics = {"T": Sql("price > 5")}
        with pytest.raises(RemoteError, match="does not support"):
            await consumer(peer, collect([]), topics=topics).start()
        async with consumer(peer, collect([]), topics=topics):
            await eventually(lambda: peer.held)
        pull = peer.of_code(RequestCode.PULL_MESSAGE)[0].ext_fields
        assert (pull["subscription"], pull["expressionType"]) == ("price > 5", "SQL92")

    play(scenario)


def test_brokers_may_ask_for_state_offsets_and_one_message_now():
    async def scenario(peer):
        seen = []

        def listener(messages):
            seen.append(messages[0].body)
            if messages[0].body == b"bad":
                raise ValueError("cannot")

        peer.store("T", 0, b"x")
        async with consumer(peer, listener) as member:
            await eventually(lambda: member.consumed_messages == 1)
            connection = peer.members["CG"][member.client_id]

            async def ask(code, fields, body=b""):
                return await connection.request(RemotingCommand(code, fields, body))

            info = parse_object((await ask(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "CG"})).body)
            assert info["properties"]["PROP_CONSUME_TYPE"] == "CONSUME_PASSIVELY"
            assert {item["topic"] for item in info["subscriptionSet"]} == {"T", "%RETRY%CG"}
            assert sum(value["commitOffset"] for value in info["mqTable"].values()) == 1
            status = await ask(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, {"group": "CG", "topic": "T"})
            table = {as_message_queue(key): value for key, value in parse_object(status.body)["messageQueueTable"].items()}
            assert table[MessageQueue("T", BROKER, 0)] == 1
            for body, result in ((b"good", "CR_SUCCESS"), (b"bad", "CR_LATER")):
                peer.store("other", 0, body)
                record = peer.records["other", 0][-1]
                answer = await ask(RequestCode.CONSUME_MESSAGE_DIRECTLY, {"consumerGroup": "CG"}, record)
                assert parse_object(answer.body)["consumeResult"] == result
            other = await ask(RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "other"})
            assert (other.code, "not exist in this consumer" in other.remark) == (1, True)
            peer.store("T", 0, b"y")
            await eventually(lambda: member.consumed_messages == 3)
            offsets = emit({"offsetTable": {MessageQueue("T", BROKER, 0): 0, MessageQueue("T", BROKER, 9): 5}})
            await ask(RequestCode.RESET_CONSUMER_CLIENT_OFFSET, {"group": "CG", "topic": "T"}, offsets)
            await eventually(lambda: seen == [b"x", b"good", b"bad", b"y", b"x", b"y"])

    play(scenario)
