"""One store in turn with our broker and a real RocketMQ while pops are pending: each message comes again once."""

import asyncio
import contextlib

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.clock import wall_clock_ms
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.receipt_handle import ORDER_REVIVE_QUEUE
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import REVIVE_GROUP
from broker_core.transport.client import connect
from tests.support.broker_process import running_broker
from tests.support.foreign_transactions import delivered
from tests.support.pop_consumer import PopConsumer
from tests.support.real_broker import split_records
from tests.support.real_peer import running_peer_addresses
from tests.support.remoting_peer import eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(500)]

VERSION = "5.3.3"
TOPIC, GROUP = "popped-in-turn", "CG"
RETRY_TOPIC = f"%RETRY%{GROUP}_{TOPIC}"
QUEUE = MessageQueue(TOPIC, "broker-a", 0)
REVIVE_QUEUE = MessageQueue("rmq_sys_REVIVE_LOG_DefaultCluster", "broker-a", 0)
SETTINGS = {"reviveQueueNum": "1", "mappedFileSizeCommitLog": "67108864"}
SHORT_MS, LONG_MS, HOUR_MS = 1_000, 20_000, 3_600_000
HELD_MS, AFTER_HELD_MS = 60_000, 45_000
"""The real broker takes 20 s to stop, and the other must be asked for the ack within the time of a held message."""
POPS_MAX = 12


@contextlib.contextmanager
def ours(folder):
    options = [option for key, value in SETTINGS.items() for option in ("--set", f"{key}={value}")]
    with running_broker(folder / "store", *options) as broker:
        yield broker.name_server, broker.broker


def theirs(folder):
    return running_peer_addresses(VERSION, folder, **SETTINGS)


class Client:
    """Sends and pops one by one, in the order of the queue."""

    def __init__(self, admin, producer, consumer):
        self._admin = admin
        self._producer = producer
        self._consumer = consumer

    async def make_topic(self):
        await self._admin.create_topic(TOPIC, queues=1)

    async def send(self, *names):
        for name in names:
            await self._producer.send(Message(TOPIC, name.encode()), queue=QUEUE)

    async def take(self, invisible_ms, *, ack):
        """The next message, new or again."""
        for _attempt in range(POPS_MAX):
            found = await self._consumer.receive(TOPIC, max_messages=1, invisible_ms=invisible_ms, wait_ms=5_000)
            if found:
                if ack:
                    await self._consumer.ack(found[0])
                return bytes(found[0].body).decode()
        raise AssertionError("no message comes")

    async def hold(self):
        """Pop the next message; returns it, to be acked by `settle`."""
        (message,) = await self._consumer.receive(TOPIC, max_messages=1, invisible_ms=HELD_MS)
        return message

    async def settle(self, message):
        await self._consumer.ack(message)

    async def finished(self):
        """The offset that the broker keeps for the revive queue."""
        return await self._admin.consumer_offset(REVIVE_GROUP, REVIVE_QUEUE)


def client_of(addresses, work):
    async def run():
        name_server = addresses[0]
        async with (
            AdminClient(name_server) as admin,
            Producer(name_server) as producer,
            PopConsumer(name_server, GROUP) as consumer,
        ):
            return await work(Client(admin, producer, consumer))

    return asyncio.run(run())


async def leave_two_pending(client):
    """Two of four are acked; the first of the others is the first record that a revive must read again."""
    await client.make_topic()
    await client.send("acked-1", "ours-1", "acked-2", "ours-2")
    for ack in (True, False, True, False):
        await client.take(LONG_MS, ack=ack)


async def revive_and_leave_one_pending(client):
    """What the other broker left comes again and is acked; one more comes again; one is pending."""
    found = [await client.take(LONG_MS, ack=True) for _ in range(2)]
    await client.send("real-1")
    await client.take(SHORT_MS, ack=False)
    before = await client.finished()
    found.append(await client.take(LONG_MS, ack=True))

    async def is_noted():
        return await client.finished() > before

    await eventually_answers(is_noted)
    await client.send("real-2")
    await client.take(LONG_MS, ack=False)
    return found


async def revive_and_end(client):
    """What is pending comes again; ``end`` comes again after everything else that is due."""
    found = [await client.take(LONG_MS, ack=True)]
    await client.send("end")
    await client.take(SHORT_MS, ack=False)
    return [*found, await client.take(LONG_MS, ack=True)]


async def end(client):
    """Nothing is pending."""
    await client.send("end-2")
    await client.take(SHORT_MS, ack=False)
    return [await client.take(LONG_MS, ack=True)]


def test_pending_pops_are_handed_over_both_ways(tmp_path):
    with ours(tmp_path) as broker:
        client_of(broker, leave_two_pending)
    with theirs(tmp_path) as broker:
        assert client_of(broker, revive_and_leave_one_pending) == ["ours-1", "ours-2", "real-1"]
    with ours(tmp_path) as broker:
        assert client_of(broker, revive_and_end) == ["real-2", "end"]
    with theirs(tmp_path) as broker:
        assert client_of(broker, end) == ["end-2"]
    again = delivered(tmp_path / "store", RETRY_TOPIC)
    assert again == dict.fromkeys(["ours-1", "ours-2", "real-1", "real-2", "end", "end-2"], 1)


def test_what_one_broker_popped_is_acked_at_the_other(tmp_path):
    async def pop(client):
        await client.make_topic()
        await client.send("held")
        return await client.hold()

    async def come_again_later(client):
        await client.send("end")
        await client.take(AFTER_HELD_MS, ack=False)
        return await client.take(LONG_MS, ack=True)

    with theirs(tmp_path) as broker:
        held = client_of(broker, pop)
    with ours(tmp_path) as broker:
        client_of(broker, lambda client: client.settle(held))
    with theirs(tmp_path) as broker:
        assert client_of(broker, come_again_later) == "end"
    assert delivered(tmp_path / "store", RETRY_TOPIC) == {"end": 1}


class OrderlyClient:
    """Pops the queue in order, several messages at a time."""

    def __init__(self, connection):
        self._connection = connection

    async def pop(self, count=3, invisible_ms=HOUR_MS):
        """Handle and body of each message; no message where the queue is blocked."""
        fields = {
            "consumerGroup": GROUP, "topic": TOPIC, "queueId": 0, "maxMsgNums": count, "invisibleTime": invisible_ms,
            "pollTime": 0, "bornTime": wall_clock_ms(), "initMode": 0, "exp": "*", "expType": "TAG", "order": "true",
        }  # fmt: skip
        answer = await self._ask(RequestCode.POP_MESSAGE, fields)
        if answer.code == ResponseCode.POLLING_TIMEOUT:
            return {}
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        given = answer.ext_fields
        start = given["startOffsetInfo"].split(" ")[2]
        handle = f"{start} {given['popTime']} {given['invisibleTime']} {ORDER_REVIVE_QUEUE} 0 broker-a 0"
        found = map(decode_record, split_records(bytes(answer.body)))
        return {bytes(message.body).decode(): f"{handle} {message.queue_offset}" for message in found}

    async def ack(self, handle):
        fields = {
            "consumerGroup": GROUP, "topic": TOPIC, "queueId": 0, "offset": handle.split(" ")[-1], "extraInfo": handle,
        }  # fmt: skip
        answer = await self._ask(RequestCode.ACK_MESSAGE, fields)
        assert answer.code == ResponseCode.SUCCESS, answer.remark

    async def _ask(self, code, fields):
        return await self._connection.request(RemotingCommand(code, {name: str(value) for name, value in fields.items()}))


def orderly_client_of(addresses, work):
    async def run():
        connection = await connect(addresses[1])
        try:
            return await work(OrderlyClient(connection))
        finally:
            connection.close()
            await connection.wait_closed()

    return asyncio.run(run())


async def pop_three_and_ack_two(client):
    """The handle that is left; the queue is blocked until it is acked."""
    popped = await client.pop()
    assert len(popped) == 3
    first, *others = popped.values()
    for handle in others:
        await client.ack(handle)
    assert await client.pop() == {}
    return first


async def make_nine(client):
    await client.make_topic()
    await client.send(*(f"number-{number}" for number in range(9)))


@pytest.mark.parametrize("first", [ours, theirs])
def test_a_blocked_queue_is_handed_over_both_ways(tmp_path, first):
    async def ack_and_go_on(client):
        assert await client.pop() == {}
        await client.ack(handles.pop())
        popped = await client.pop()
        for handle in list(popped.values())[1:]:
            await client.ack(handle)
        handles.append(next(iter(popped.values())))
        return list(popped)

    second = theirs if first is ours else ours
    with first(tmp_path) as broker:
        client_of(broker, make_nine)
        handles = [orderly_client_of(broker, pop_three_and_ack_two)]
    with second(tmp_path) as broker:
        assert orderly_client_of(broker, ack_and_go_on) == ["number-3", "number-4", "number-5"]
    with first(tmp_path) as broker:
        assert orderly_client_of(broker, ack_and_go_on) == ["number-6", "number-7", "number-8"]


async def ack_out_of_turn(client, count, places):
    """Pop three and ack these of them; returns the handles of the next pop, which takes ``count`` from the first on."""
    handles = list((await client.pop(3, SHORT_MS)).values())
    for place in places:
        await client.ack(handles[place])
    for _attempt in range(POPS_MAX):
        again = await client.pop(count)
        if again:
            return list(again.values())
        await asyncio.sleep(SHORT_MS / 2_000)
    raise AssertionError("the first message does not come again")


async def settle_and_take_four(client, handles):
    """Ack what is out, which blocks the queue; returns the next four messages, each acked in turn."""
    assert await client.pop() == {}
    for handle in handles:
        await client.ack(handle)
    found = []
    for _number in range(4):
        ((body, handle),) = (await client.pop(1)).items()
        await client.ack(handle)
        found.append(int(body.removeprefix("number-")))
    return found


@pytest.mark.parametrize(
    ("count", "places", "there", "here"),
    [
        # A real broker keeps one pop: what was acked in an earlier one comes again there, in its turn.
        pytest.param(1, (2,), [1, 2, 3, 4], [6, 7, 8, 9], id="one between the first and an acked one"),
        pytest.param(1, (1, 2), [3, 4, 5, 6], [8, 9, 10, 11], id="none between"),
        pytest.param(3, (1,), [3, 4, 5, 6], [10, 11, 12, 13], id="an acked one between two"),
    ],
)
def test_messages_that_were_acked_out_of_turn_are_handed_over_both_ways(tmp_path, count, places, there, here):
    async def make(client):
        await client.make_topic()
        await client.send(*(f"number-{number}" for number in range(14)))

    with ours(tmp_path) as broker:
        client_of(broker, make)
        left = orderly_client_of(broker, lambda client: ack_out_of_turn(client, count, places))
    with theirs(tmp_path) as broker:
        assert orderly_client_of(broker, lambda client: settle_and_take_four(client, left)) == there
        left = orderly_client_of(broker, lambda client: ack_out_of_turn(client, count, places))
    with ours(tmp_path) as broker:
        assert orderly_client_of(broker, lambda client: settle_and_take_four(client, left)) == here
