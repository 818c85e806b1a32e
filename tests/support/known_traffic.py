"""The same traffic on any cluster: what comes of it in queues, groups and waiting messages is known by construction.

Messages are placed by hand and nothing is left to timers or to the sharing of queues, so that every broker ends with the same
offsets. `SETTINGS` keep what waits from moving while somebody looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message, SendResult
from broker_core.client.offsets import ConsumeFrom
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import PushConsumer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.config import ClientConfig
from broker_core.errors import RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.transport.client import ConnectionPool
from tests.support.remoting_peer import eventually, eventually_answers

BROKER = "broker-a"
SETTINGS = {
    # Level 1 is what a retry of this traffic waits for; no other level ends while somebody looks.
    "messageDelayLevel": "1s 1h 2h 3h 4h 5h 6h 7h 8h 9h 10h 11h 12h 13h 14h 15h 16h 17h",
    "transactionTimeOut": "7200000",
    "transactionCheckInterval": "7200000",
    "autoCreateTopicEnable": "true",
}
TOPICS = {"orders": 4, "audit": 1, "prices": 2, "reminders": 1, "payments": 1}
"""Topic → queues."""
ORDER_TOPIC = "prices"
ORDERS, AUDITS, PRICES = 12, 3, 6
PENDING = {2: 2, 5: 3}
"""Delay level → messages that wait in it."""
BEHIND, DONE, TROUBLED, TEAM = "billing", "shipping", "stock", "team"
"""A group with a known lag, one that consumed everything, one with a retry and a dead letter, one with two members."""
GROUPS = (BEHIND, DONE, TROUBLED, TEAM)
BEHIND_AT = (2, 1, 0, 0)
PAYERS = "payers"
RETRIED, DEAD = 5, 7
"""Orders, by number."""
_TIMEOUT_MS = 20_000
_CONFIG = ClientConfig(commit_interval_ms=50)


class KnownTraffic:
    """Sends it and keeps the members and the producer of transactions online until it is closed. On one event loop."""

    def __init__(self, name_server: str) -> None:
        self.name_server = name_server
        self.orders: list[SendResult] = []
        self._stack = AsyncExitStack()
        self._pool = ConnectionPool()
        self._address = ""
        self._consumed: dict[str, list[bytes]] = {}

    async def send(self) -> None:
        """All of it; returns when the brokers have it."""
        self._stack.push_async_callback(self._pool.close)
        admin = await self._stack.enter_async_context(AdminClient(self.name_server))
        self._address = (await admin.master_addresses())[BROKER]
        await self._make_topics_and_groups()
        producer = await self._stack.enter_async_context(Producer(self.name_server, "shop"))
        await self._routed(producer)
        await self._send_messages(producer)
        await self._give_back()
        await self._arrived(admin)
        await self._commit_offsets()
        await self._pay(admin)
        await self._go_online(admin)

    async def close(self) -> None:
        """Everybody leaves."""
        await self._stack.aclose()

    async def _make_topics_and_groups(self) -> None:
        for topic, queues in TOPICS.items():
            fields = {
                "topic": topic, "defaultTopic": "TBW102", "readQueueNums": str(queues), "writeQueueNums": str(queues),
                "perm": "6", "topicFilterType": "SINGLE_TAG", "topicSysFlag": "0", "order": str(topic == ORDER_TOPIC).lower(),
            }  # fmt: skip
            await self._ask(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)
        order = {"namespace": "ORDER_TOPIC_CONFIG", "key": ORDER_TOPIC, "value": f"{BROKER}:{TOPICS[ORDER_TOPIC]}"}
        await self._ask(RequestCode.PUT_KV_CONFIG, order, address=self.name_server)
        for group in GROUPS:
            body = {
                "groupName": group, "consumeEnable": True, "consumeFromMinEnable": True, "consumeBroadcastEnable": True,
                "retryQueueNums": 1, "retryMaxTimes": 16, "brokerId": 0, "whichBrokerWhenConsumeSlowly": 1,
                "notifyConsumerIdsChangedEnable": True,
            }  # fmt: skip
            await self._ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=emit(body))

    async def _routed(self, producer: Producer) -> None:
        for topic, queues in TOPICS.items():

            async def is_routed(topic: str = topic, queues: int = queues) -> bool:
                return len(await producer.queues(topic)) == queues

            await eventually_answers(is_routed)

    async def _send_messages(self, producer: Producer) -> None:
        for number in range(ORDERS):
            tag = "paid" if number % 3 else "open"
            message = Message("orders", b'{"order":%d,"city":"Oslo"}' % number, tag, (f"order-{number}", f"city-{number % 2}"))
            self.orders.append(await producer.send(message, queue=MessageQueue("orders", BROKER, number % TOPICS["orders"])))
        for number in range(AUDITS):
            await producer.send(Message("audit", b"audit %d" % number), queue=MessageQueue("audit", BROKER, 0))
        for number in range(PRICES):
            queue = MessageQueue("prices", BROKER, number % 2)
            await producer.send(Message("prices", b"price %d" % number, "", (f"item-{number % 2}",)), queue=queue)
        for level, count in PENDING.items():
            for number in range(count):
                name = f"level-{level}-{number}"
                message = Message("reminders", name.encode(), "later", (name,), {"DELAY": str(level)})
                await producer.send(message, queue=MessageQueue("reminders", BROKER, 0))

    async def _commit_offsets(self) -> None:
        for group, offsets in {BEHIND: BEHIND_AT, DONE: (3, 3, 3, 3), TROUBLED: (3, 3, 3, 3)}.items():
            for queue, offset in enumerate(offsets):
                fields = {"consumerGroup": group, "topic": "orders", "queueId": str(queue), "commitOffset": str(offset)}
                await self._ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields)
        await self._ask(
            RequestCode.UPDATE_CONSUMER_OFFSET,
            {"consumerGroup": TROUBLED, "topic": f"%RETRY%{TROUBLED}", "queueId": "0", "commitOffset": "0"},
        )
        fields = {"consumerGroup": DONE, "topic": "audit", "queueId": "0", "commitOffset": str(AUDITS)}
        await self._ask(RequestCode.UPDATE_CONSUMER_OFFSET, fields)

    async def _give_back(self) -> None:
        """One order to be tried again, one given up."""
        for number, level in ((RETRIED, 1), (DEAD, -1)):
            sent = self.orders[number]
            _host, offset = parse_offset_message_id(sent.offset_message_id)
            fields = {
                "offset": str(offset), "group": TROUBLED, "delayLevel": str(level), "originMsgId": sent.message_id,
                "originTopic": "orders", "unitMode": "false", "maxReconsumeTimes": "16",
            }  # fmt: skip
            await self._ask(RequestCode.CONSUMER_SEND_MSG_BACK, fields)

    async def _pay(self, admin: AdminClient) -> None:
        payer = TransactionProducer(self.name_server, PAYERS, lambda _message: LocalState.UNKNOWN)
        await self._stack.enter_async_context(payer)
        for name, state in (("apple", LocalState.COMMIT), ("birch", LocalState.ROLLBACK), ("cedar", None)):
            message = Message("payments", name.encode(), "pay", (f"pay-{name}",))
            transaction = await payer.begin(message, queue=MessageQueue("payments", BROKER, 0))
            if state is not None:
                await payer.end(transaction, state)
            # Ends come one-way, and a broker may take two of them in any order.
            await _holds(admin, MessageQueue("payments", BROKER, 0), 1)

    async def _go_online(self, admin: AdminClient) -> None:
        """Two members that share four queues, have consumed everything and said so."""
        members = [self._member(name) for name in ("one", "two")]
        for member in members:
            await self._stack.enter_async_context(member)
        await eventually(lambda: _shared(members))
        await eventually(lambda: sum(map(len, self._consumed.values())) >= ORDERS)
        for member in members:
            await member.commit()

        async def is_committed() -> bool:
            stood = [await admin.consumer_offset(TEAM, MessageQueue("orders", BROKER, queue)) for queue in range(4)]
            return stood == [3, 3, 3, 3]

        await eventually_answers(is_committed)

    def _member(self, name: str) -> PushConsumer:
        bodies = self._consumed.setdefault(name, [])
        return PushConsumer(
            self.name_server, TEAM, {"orders": "paid || open"},
            lambda messages: bodies.extend(bytes(message.body) for message in messages),
            consume_from=ConsumeFrom.FIRST_OFFSET, instance_name=name, config=_CONFIG,
        )  # fmt: skip

    async def _arrived(self, admin: AdminClient) -> None:
        """The retry and the dead letter are in their topics."""
        wanted = {MessageQueue(f"%RETRY%{TROUBLED}", BROKER, 0): 1, MessageQueue(f"%DLQ%{TROUBLED}", BROKER, 0): 1}
        for queue, count in wanted.items():
            await _holds(admin, queue, count)

    async def _ask(
        self, code: RequestCode, fields: dict[str, str] | None = None, *, body: bytes = b"", address: str = ""
    ) -> RemotingCommand:
        answer = await self._pool.request(address or self._address, RemotingCommand(code, fields or {}, body), _TIMEOUT_MS)
        assert answer.code == ResponseCode.SUCCESS, (code, fields, answer.code, answer.remark)
        return answer


async def _holds(admin: AdminClient, queue: MessageQueue, count: int) -> None:
    """Wait until a queue holds so many messages."""

    async def is_there() -> bool:
        try:
            return await admin.max_offset(queue) == count
        except RemoteError as error:
            # A broker tells the name server of a topic some time after it made it.
            if error.context.get("code") != ResponseCode.TOPIC_NOT_EXIST:
                raise
            return False

    await eventually_answers(is_there)


def _shared(members: Sequence[PushConsumer]) -> bool:
    owned = [[queue for queue in member.queues if queue.topic == "orders"] for member in members]
    return [len(queues) for queues in owned] == [2, 2]
