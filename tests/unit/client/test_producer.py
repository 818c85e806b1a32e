import asyncio
import random

import pytest

from broker_core.client.message import Message, SendStatus
from broker_core.client.producer import Producer
from broker_core.client.send_outcome import may_be_stored
from broker_core.config import ClientConfig
from broker_core.errors import ConnectionLostError, NetworkError, RemoteError, UsageError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from tests.support.remoting_peer import BROKER, Peer


def play(scenario, *, topics=None, **config):
    async def run():
        settings = ClientConfig(**config)
        async with (
            Peer(topics=topics or {"T": 4, "TBW102": 8}) as peer,
            Producer(peer.address, "PG", config=settings, clock=lambda: 1_700_000_000_000) as producer,
        ):
            await scenario(peer, producer)

    asyncio.run(run())


def refuse(code):
    return lambda _, command: command.reply(code, f"refused with {code}")


def stored(peer, topic="T"):
    return [decode_record(record) for (name, _), records in peer.records.items() if name == topic for record in records]


def test_a_message_arrives_whole_and_its_place_comes_back():
    async def scenario(peer, producer):
        message = Message("T", "订单".encode(), tags="PAID", keys=("k1", "k2"), properties={"sku": "1"}, flag=7)
        result = await producer.send(message)
        (record,) = stored(peer)
        assert (record.body, record.sys_flag) == ("订单".encode(), 0)
        assert record.properties == {
            "UNIQ_KEY": result.message_id, "WAIT": "true", "TAGS": "PAID", "KEYS": "k1 k2", "sku": "1",
        }  # fmt: skip
        assert (result.status, result.queue_offset, result.attempts) == (SendStatus.SEND_OK, 0, 1)
        assert result.queue == MessageQueue("T", BROKER, record.queue_id)
        fields = peer.of_code(RequestCode.SEND_MESSAGE_V2)[0].ext_fields
        assert {key: fields[key] for key in "abcdfghjkmn"} == {
            "a": "PG", "b": "T", "c": "TBW102", "d": "4", "f": "0", "g": "1700000000000", "h": "7", "j": "0", "k": "false",
            "m": "false", "n": BROKER,
        }  # fmt: skip

    play(scenario)


def test_queues_take_turns():
    async def scenario(peer, producer):
        results = [await producer.send(Message("T", b"x")) for _ in range(8)]
        ids = [result.queue.queue_id for result in results]
        assert sorted(ids) == [0, 0, 1, 1, 2, 2, 3, 3]
        assert ids[:4] == ids[4:]

    play(scenario)


def test_one_key_stays_in_one_queue_and_keys_spread():
    async def scenario(peer, producer):
        places = {
            key: {(await producer.send(Message("T", b"x"), sharding_key=key)).queue.queue_id for _ in range(3)}
            for key in ("order-1", "order-2", "order-3", "order-4")
        }
        assert all(len(ids) == 1 for ids in places.values())
        assert len(set.union(*places.values())) > 1

    play(scenario)


def test_many_sends_at_once_are_pipelined_and_bounded():
    async def scenario(peer, producer):
        results = await asyncio.gather(*(producer.send(Message("T", b"x")) for _ in range(200)))
        assert len({result.message_id for result in results}) == 200
        assert len(stored(peer)) == 200
        assert len(peer.server.connections) == 1

    play(scenario, sends_in_flight_max=16)


def test_a_batch_keeps_its_order_in_one_queue():
    async def scenario(peer, producer):
        messages = [Message("T", f"m{number}".encode(), tags="A", flag=number) for number in range(5)]
        result = await producer.send_batch(messages)
        assert [record.body for record in stored(peer)] == [b"m0", b"m1", b"m2", b"m3", b"m4"]
        assert [record.properties["UNIQ_KEY"] for record in stored(peer)] == result.message_id.split(",")
        assert len(result.offset_message_id.split(",")) == 5

    play(scenario)


def test_a_long_body_is_compressed_and_one_that_does_not_shrink_is_not():
    async def scenario(peer, producer):
        await producer.send(Message("T", b"a" * 4095), queue=MessageQueue("T", BROKER, 0))
        await producer.send(Message("T", b"a" * 4096), queue=MessageQueue("T", BROKER, 0))
        await producer.send(Message("T", random.Random(1).randbytes(5000)))
        flags = sorted((record.sys_flag, len(record.body) < 100) for record in stored(peer))
        assert flags == [(0, False), (0, False), (0x301, True)]

    play(scenario)


def test_a_oneway_message_arrives_without_an_answer():
    async def scenario(peer, producer):
        await producer.send_oneway(Message("T", b"fire"))
        await producer.send(Message("T", b"forget"))
        assert {record.body for record in stored(peer)} == {b"fire", b"forget"}
        assert [command.is_oneway for command in peer.of_code(RequestCode.SEND_MESSAGE_V2)] == [True, False]

    play(scenario)


@pytest.mark.parametrize("code", [1, 14, 16, 17])
def test_a_refusal_that_another_try_may_cure_is_tried_again(code):
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [refuse(code), refuse(code)]
        result = await producer.send(Message("T", b"x"))
        assert (result.attempts, len(stored(peer))) == (3, 1)

    play(scenario)


@pytest.mark.parametrize("code", [2, 13, 4711])
def test_other_refusals_are_final_and_keep_their_number(code):
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [refuse(code)]
        with pytest.raises(RemoteError, match=f"refused with {code}") as caught:
            await producer.send(Message("T", b"x"))
        assert caught.value.context["code"] == code
        assert len(peer.of_code(RequestCode.SEND_MESSAGE_V2)) == 1

    play(scenario)


def test_after_the_last_attempt_the_refusal_comes_through():
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [refuse(14)] * 3
        with pytest.raises(RemoteError, match="SERVICE_NOT_AVAILABLE"):
            await producer.send(Message("T", b"x"))
        assert len(peer.of_code(RequestCode.SEND_MESSAGE_V2)) == 3

    play(scenario)


def test_a_queue_of_the_callers_choice_is_tried_once():
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [refuse(14)]
        with pytest.raises(RemoteError):
            await producer.send(Message("T", b"x"), queue=MessageQueue("T", BROKER, 2))
        with pytest.raises(UsageError, match="no broker elsewhere serves topic T; those that do: broker-a"):
            await producer.send(Message("T", b"x"), queue=MessageQueue("T", "elsewhere", 2))

    play(scenario)


@pytest.mark.parametrize(
    ("code", "status"), [(10, "FLUSH_DISK_TIMEOUT"), (11, "SLAVE_NOT_AVAILABLE"), (12, "FLUSH_SLAVE_TIMEOUT")]
)
def test_stored_but_not_yet_safe_is_a_success_with_a_status(code, status):
    async def scenario(peer, producer):
        def answer(_, command):
            return command.reply(code, None, {"msgId": "X", "queueId": "1", "queueOffset": "5"})

        peer.script[RequestCode.SEND_MESSAGE_V2] = [answer]
        result = await producer.send(Message("T", b"x"))
        assert (result.status, result.queue.queue_id, result.queue_offset) == (status, 1, 5)

    play(scenario)


def test_no_answer_in_time_is_an_error_and_the_time_is_for_all_attempts():
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [lambda *_: None] * 3
        with pytest.raises(NetworkError, match="did not answer request 310"):
            await producer.send(Message("T", b"x"), timeout_ms=50)
        assert len(peer.of_code(RequestCode.SEND_MESSAGE_V2)) == 1

    play(scenario)


def test_a_connection_that_breaks_in_a_send_is_replaced():
    async def scenario(peer, producer):
        await producer.send(Message("T", b"first"))

        def hang_up(connection, command):
            connection.abort("test")

        peer.script[RequestCode.SEND_MESSAGE_V2] = [hang_up]
        result = await producer.send(Message("T", b"second"))
        assert (result.attempts, len(stored(peer))) == (2, 2)

    play(scenario)


def test_one_that_repeats_nothing_unanswered_repeats_refusals_alone():
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [refuse(14), refuse(1)]
        assert (await producer.send(Message("T", b"refused at first"))).attempts == 3

        def hang_up(connection, command):
            connection.abort("test")

        peer.script[RequestCode.SEND_MESSAGE_V2] = [hang_up]
        with pytest.raises(ConnectionLostError) as lost:
            await producer.send(Message("T", b"unanswered"))
        assert may_be_stored(lost.value)
        assert len(peer.of_code(RequestCode.SEND_MESSAGE_V2)) == 4
        assert [record.body for record in stored(peer)] == [b"refused at first"]

    play(scenario, repeats_unanswered=False)


def test_an_unknown_topic_is_sent_by_the_route_of_the_default_topic():
    async def scenario(peer, producer):
        result = await producer.send(Message("new", b"x"))
        assert (result.queue.topic, peer.topics["new"]) == ("new", 4)
        assert 0 <= result.queue.queue_id < 4

    play(scenario)


def test_a_topic_nobody_would_create_says_what_to_do():
    async def scenario(peer, producer):
        with pytest.raises(RemoteError, match=r"no broker takes messages for topic new.*autoCreateTopicEnable"):
            await producer.send(Message("new", b"x"))

    play(scenario, topics={"T": 1})


def test_an_answer_without_a_place_is_an_error():
    async def scenario(peer, producer):
        peer.script[RequestCode.SEND_MESSAGE_V2] = [lambda _, command: command.reply()]
        with pytest.raises(RemoteError, match="without saying where"):
            await producer.send(Message("T", b"x"))

    play(scenario)


def test_what_cannot_be_sent_is_refused_before_the_network():
    async def scenario(peer, producer):
        before = len(peer.requests)
        for message in (Message("T", b""), Message("T", b"x" * 101), Message("no topic", b"x")):
            with pytest.raises(UsageError):
                await producer.send(message)
        for batch in ([], [Message("T", b"x"), Message("U", b"x")], [Message("T", b"x", properties={"DELAY": "1"})]):
            with pytest.raises(UsageError):
                await producer.send_batch(batch)
        with pytest.raises(UsageError, match="split it"):
            await producer.send_batch([Message("T", b"x" * 90)] * 2)
        assert len(peer.requests) == before

    play(scenario, message_bytes_max=100)


def test_a_producer_that_is_not_started_says_so():
    async def run():
        with pytest.raises(UsageError, match="not started"):
            await Producer("127.0.0.1:1").send(Message("T", b"x"))

    asyncio.run(run())


def test_brokers_are_told_of_the_group_and_of_its_end():
    async def run():
        async with Peer(topics={"T": 1}) as peer:
            async with Producer(peer.address, "PG") as producer:
                await producer.send(Message("T", b"x"))
            assert peer.heartbeats[0]["producerDataSet"] == [{"groupName": "PG"}]
            (farewell,) = peer.of_code(RequestCode.UNREGISTER_CLIENT)
            assert (farewell.ext_fields["producerGroup"], "consumerGroup" in farewell.ext_fields) == ("PG", False)

    asyncio.run(run())
