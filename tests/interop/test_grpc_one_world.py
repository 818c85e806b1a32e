"""Both protocols on one topic or group: what one sends, takes, fails or recalls is the other's, too."""

import asyncio
import base64
import time

import pytest

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, ConsumeResult, PushConsumer
from broker_core.config import ClientConfig
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message.record import read_head
from broker_core.protocol.names import HALF_TOPIC
from tests.support.grpc_broker import ack, grpc_broker, handle_of
from tests.support.grpc_stub import RawClient, message, resource
from tests.support.pop_consumer import PopConsumer

SECONDS = 60.0
QUICK = ClientConfig(commit_interval_ms=50)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    root = tmp_path_factory.mktemp("grpc")
    with grpc_broker(root, recall_messages=True, property_filter=True) as broker:
        yield broker


@pytest.fixture
def client(broker):
    with RawClient(broker.port) as client:
        yield client


def on_loop(broker, coroutine):
    return broker.running.thread.call(asyncio.wait_for(coroutine, SECONDS))


async def consumed(broker, group, topic, count, *, result=ConsumeResult.DONE, **more):
    """Messages that a push consumer of remoting gets, in order."""
    found, done = [], asyncio.Event()

    def listener(messages):
        found.extend(one.stored for one in messages)
        if len(found) >= count:
            done.set()
        return result

    consumer = PushConsumer(
        broker.name_server, group, {topic: "*"}, listener, consume_from=ConsumeFrom.FIRST_OFFSET, config=QUICK, **more
    )
    async with consumer:
        await done.wait()
    return found


def received(client, group, topic, count, **more):
    """Messages that a simple consumer of gRPC gets and acks."""
    found, end = [], time.monotonic() + SECONDS
    while len(found) < count:
        assert time.monotonic() < end, found
        for one in client.receive(group, topic, count=32, **more).messages:
            assert ack(client, group, topic, one).status.code == pb.OK
            found.append(one)
    return found


def test_an_orderly_consumer_of_remoting_gets_message_groups_in_order(broker, client):
    topic = broker.topic("GroupsToOrderly")
    for number in range(10):
        for group in ("g1", "g2", "g3"):
            assert client.send(message(topic, b"%s-%d" % (group.encode(), number), message_group=group)).status.code == pb.OK
    found = on_loop(broker, consumed(broker, "OrderlyReaders", topic, 30, orderly=True))
    for group in (b"g1", b"g2", b"g3"):
        assert [one.body for one in found if one.body.startswith(group)] == [b"%s-%d" % (group, n) for n in range(10)]
    assert {one.properties["__SHARDINGKEY"] for one in found} == {"g1", "g2", "g3"}


def test_a_sharding_key_of_remoting_is_a_message_group(broker, client):
    topic = broker.topic("KeysToGroups")

    async def send():
        async with Producer(broker.name_server) as producer:
            for number in range(8):
                keyed = Message(topic, b"%d" % number, properties={"__SHARDINGKEY": "g"})
                await producer.send(keyed, sharding_key="g")

    on_loop(broker, send())
    broker.group(client, "GroupReaders", topic, orderly=True)
    found = received(client, "GroupReaders", topic, 8)
    assert [one.body for one in found] == [b"%d" % number for number in range(8)]
    assert {one.system_properties.message_group for one in found} == {"g"}
    assert {one.system_properties.message_type for one in found} == {pb.FIFO}


@pytest.mark.parametrize("by_remoting", [True, False])
def test_each_protocol_recalls_what_the_other_delayed(broker, client, by_remoting):
    topic = broker.topic(f"Recalled{by_remoting}", 1)
    due_ms = broker.now_ms() + 600_000
    if by_remoting:
        made = message(topic, b"recalled")
        made.system_properties.delivery_timestamp.FromMilliseconds(due_ms)
        handle = client.send(made).entries[0].recall_handle
        broker.administer(RequestCode.RECALL_MESSAGE, producerGroup="p", topic=topic, recallHandle=handle)
    else:

        async def send():
            async with Producer(broker.name_server) as producer:
                return await producer.send(Message(topic, b"recalled", properties={"TIMER_DELIVER_MS": str(due_ms)}))

        unique_key = on_loop(broker, send()).message_id
        name = broker.running.broker.config.broker_name
        handle = base64.urlsafe_b64encode(f"v1 {topic} {name} {due_ms} {unique_key}".encode()).decode()
        answer = client.call("RecallMessage", pb.RecallMessageRequest(topic=resource(topic), recall_handle=handle))
        assert (answer.status.code, answer.message_id) == (pb.OK, unique_key)
    made = message(topic, b"due")
    made.system_properties.delivery_timestamp.FromMilliseconds(due_ms + 1_000)
    client.send(made)
    broker.group(client, f"RecallReaders{by_remoting}", topic)
    broker.move(605)
    assert [one.body for one in received(client, f"RecallReaders{by_remoting}", topic, 1)] == [b"due"]


@pytest.mark.parametrize(
    "wanted",
    [pb.FilterExpression(type=pb.TAG, expression="A || C"), pb.FilterExpression(type=pb.SQL, expression="number < 2")],
    ids=["tag", "SQL92"],
)
def test_messages_of_a_batch_are_filtered_one_by_one(broker, client, wanted):
    topic, group = broker.topic(f"Batch{wanted.type}", 1), f"BatchReaders{wanted.type}"
    batch = [Message(topic, tag.encode(), tags=tag, properties={"number": str(n)}) for n, tag in enumerate("ACBD")]

    async def send():
        async with Producer(broker.name_server) as producer:
            return await producer.send_batch(batch)

    ids = on_loop(broker, send()).message_id.split(",")
    broker.group(client, group, topic)
    found = received(client, group, topic, 2, filter_expression=wanted)
    assert [(one.body, one.system_properties.message_id) for one in found] == [(b"A", ids[0]), (b"C", ids[1])]
    assert client.receive(group, topic, filter_expression=wanted).messages == []


def test_pop_consumers_of_both_protocols_share_a_group(broker, client):
    topic, group = broker.topic("Shared"), "SharedGroup"
    bodies = {b"%d" % number for number in range(60)}
    client.send(*(message(topic, body) for body in bodies))
    broker.group(client, group, topic)

    async def pop():
        async with PopConsumer(broker.name_server, group, clock=broker.now_ms) as popper:
            found = []
            while popped := await popper.receive(topic, max_messages=8, wait_ms=0):
                for one in popped:
                    await popper.ack(one)
                    found.append(bytes(one.body))
                if len(found) > 20:
                    break
            return found

    by_remoting = on_loop(broker, pop())
    by_grpc = [one.body for one in received(client, group, topic, 60 - len(by_remoting))]
    assert by_remoting
    assert by_grpc
    assert sorted(by_remoting + by_grpc) == sorted(bodies), "each came to one of them"
    assert client.receive(group, topic).messages == []


def test_each_protocol_acks_what_the_other_took(broker, client):
    topic, group = broker.topic("Handles", 1), "HandlesGroup"
    broker.group(client, group, topic)
    client.send(message(topic, b"popped"), message(topic, b"received"))

    async def pop():
        async with PopConsumer(broker.name_server, group, clock=broker.now_ms) as popper:
            return (await popper.receive(topic, max_messages=1))[0]

    popped = on_loop(broker, pop())
    entry = pb.AckMessageEntry(receipt_handle=str(popped.handle))
    acked = pb.AckMessageRequest(group=resource(group), topic=resource(topic), entries=[entry])
    assert client.call("AckMessage", acked).status.code == pb.OK
    (found,) = client.receive(group, topic).messages
    words = handle_of(found).split(" ")
    broker.administer(
        RequestCode.ACK_MESSAGE,
        consumerGroup=group,
        topic=topic,
        queueId=words[6],
        offset=words[7],
        extraInfo=" ".join(words[:8]),
    )
    broker.move(120)
    client.announce_consumer(group, topic)
    assert client.receive(group, topic).messages == []


def test_a_dead_letter_of_remoting_is_received_by_grpc(broker, client):
    topic, group = broker.topic("DiesByRemoting", 1), "DyingByRemoting"
    sent = message(topic, b"dies", tag="T", keys=["k"], properties={"color": "red"}, born_host="my-host")
    client.send(sent)
    broker.change_group(group, retry_times_max=0)
    on_loop(broker, consumed(broker, group, topic, 1, result=ConsumeResult.AGAIN_LATER, reconsume_times_max=0))
    broker.group(client, "Undertakers", f"%DLQ%{group}")
    (dead,) = received(client, "Undertakers", f"%DLQ%{group}", 1)
    system = dead.system_properties
    assert (dead.body, system.tag, list(system.keys), dict(dead.user_properties)["color"]) == (b"dies", "T", ["k"], "red")
    assert (system.dead_letter_queue.topic, system.dead_letter_queue.message_id) == (topic, sent.system_properties.message_id)
    assert (system.message_id, system.born_host) == (sent.system_properties.message_id, "my-host")


def test_a_dead_letter_of_grpc_is_consumed_by_remoting(broker, client):
    topic, group = broker.topic("DiesByGrpc", 1), "DyingByGrpc"

    async def send():
        async with Producer(broker.name_server) as producer:
            return await producer.send(Message(topic, b"dies", tags="T", keys=("k",), properties={"color": "red"}))

    unique_key = on_loop(broker, send()).message_id
    broker.group(client, group, topic)
    (found,) = client.receive(group, topic).messages
    forward = pb.ForwardMessageToDeadLetterQueueRequest(
        group=resource(group), topic=resource(topic), receipt_handle=handle_of(found)
    )
    assert client.call("ForwardMessageToDeadLetterQueue", forward).status.code == pb.OK
    (dead,) = on_loop(broker, consumed(broker, "RemotingUndertakers", f"%DLQ%{group}", 1))
    properties = dead.properties
    assert (dead.body, properties["TAGS"], properties["KEYS"], properties["color"]) == (b"dies", "T", "k", "red")
    assert (properties["UNIQ_KEY"], properties["RETRY_TOPIC"]) == (unique_key, topic)


def test_a_retry_of_remoting_comes_to_grpc_and_the_other_way_round(broker, client):
    """A group that changes its protocol goes on with the attempts that it has had."""
    topic, group = broker.topic("Changes", 1), "ChangingGroup"
    client.send(message(topic, b"fails"))
    broker.group(client, group, topic)
    (found,) = client.receive(group, topic).messages
    assert found.system_properties.delivery_attempt == 1
    broker.move(16)
    client.announce_consumer(group, topic)
    (found,) = client.receive(group, topic, poll=10).messages
    assert (found.body, found.system_properties.delivery_attempt) == (b"fails", 2)

    async def pop():
        async with PopConsumer(broker.name_server, group, clock=broker.now_ms) as popper:
            return [(bytes(one.body), one.stored.reconsume_times) for one in await popper.receive(topic, wait_ms=10_000)]

    broker.move(16)
    assert on_loop(broker, pop()) == [(b"fails", 2)]


@pytest.mark.parametrize("first", ["gRPC", "remoting"])
@pytest.mark.parametrize("decision", ["commit", "roll back"])
def test_a_transaction_is_decided_once_by_either_protocol(broker, client, first, decision):
    topic, group = broker.topic(f"Decided{first}{decision[:4]}", 1), f"Deciders{first}{decision[:4]}"
    half = client.send(message(topic, b"decided", message_type=pb.TRANSACTION)).entries[0]
    opposite = {"commit": "roll back", "roll back": "commit"}[decision]
    ways = {"gRPC": end_by_grpc, "remoting": end_by_remoting}
    place = half_place(broker, half)
    ways.pop(first)(broker, client, topic, half, place, decision)
    ((_, other),) = ways.items()
    other(broker, client, topic, half, place, decision)
    other(broker, client, topic, half, place, opposite)
    broker.group(client, group, topic)
    assert client.receive(group, topic, count=32).bodies == ([b"decided"] if decision == "commit" else [])


def half_place(broker, half):
    """Queue offset and physical offset of a half message."""
    (record,) = broker.running.broker.store.get_messages(HALF_TOPIC, 0, half.offset, 1).records
    return half.offset, read_head(record, 0).physical_offset


def end_by_grpc(_broker, client, topic, half, _place, decision):
    resolution = {"commit": pb.COMMIT, "roll back": pb.ROLLBACK}[decision]
    request = pb.EndTransactionRequest(
        topic=resource(topic), message_id=half.message_id, transaction_id=half.transaction_id, resolution=resolution
    )
    client.call("EndTransaction", request)


def end_by_remoting(broker, _client, topic, half, place, decision):
    """As Java does it: one way, so that a refusal does not matter."""
    fields = {
        "producerGroup": topic,
        "tranStateTableOffset": str(place[0]),
        "commitLogOffset": str(place[1]),
        "commitOrRollback": {"commit": "8", "roll back": "12"}[decision],
        "fromTransactionCheck": "false",
        "msgId": half.message_id,
        "transactionId": half.transaction_id,
    }
    broker.serve(RequestCode.END_TRANSACTION, **fields)
