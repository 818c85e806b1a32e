"""A consumer that requests messages, owns them for a time, and acks each of them: POP over remoting.

No queues are allocated and no offsets are stored: the broker delivers each message to one consumer of the group and delivers it
again when it is not acked in time. Needs a broker that serves POP_MESSAGE: Orbit's, or RocketMQ 5. Asyncio; all on one loop.

Source: docs/spec/remoting.md §2.6.1, §2.6.2.
"""

from __future__ import annotations

from collections.abc import Callable

from broker_core.client.instance import ClientInstance, ClientSecurity, answer_error
from broker_core.client.lifecycle import OpenedClient
from broker_core.client.message import ReceivedMessage
from broker_core.clock import wall_clock_ms
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import RemoteError, UsageError
from broker_core.protocol.admin.topics import PERM_READ
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.popped import changed_handle, popped_messages
from broker_core.protocol.message.receipt_handle import ReceiptHandle, real_topic
from broker_core.protocol.names import check_group, check_topic

ANY_QUEUE = -1
MESSAGES_MAX = 32
ANSWER_SLACK_MS = 5_000
"""For the answer to a pop, beyond the time that the broker may wait for a message."""

_NOTHING = (ResponseCode.POLLING_TIMEOUT, ResponseCode.POLLING_FULL, ResponseCode.PULL_NOT_FOUND)


class PoppedMessage(ReceivedMessage):
    """A message that this consumer owns for a time; ``handle`` names the delivery, and changes with the invisible time."""

    __slots__ = ("_topic", "handle")

    def __init__(self, stored: StoredMessage, queue: MessageQueue, topic: str, handle: ReceiptHandle) -> None:
        super().__init__(stored, queue)
        self._topic = topic
        self.handle = handle

    @property
    def topic(self) -> str:
        return self._topic


class PopConsumer(OpenedClient):
    """Pops messages for a group. Use it as an async context manager, or call `start` and `close`.

    A group without an offset begins with the oldest message if ``from_first``, else with the newest. Every method raises
    `RemoteError` when the broker refuses, and `NetworkError` when it is not reachable, lost, or does not answer in time.
    """

    def __init__(
        self,
        name_servers: str,
        group: str,
        *,
        from_first: bool = True,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self.group = check_group(group)
        self._from_first = from_first
        self._clock = clock
        self._instance = ClientInstance(name_servers, config=config, limits=limits, security=security)
        self._turn = 0

    async def receive(
        self,
        topic: str,
        *,
        max_messages: int = MESSAGES_MAX,
        invisible_ms: int = 60_000,
        wait_ms: int = 15_000,
        expression: str = "*",
    ) -> list[PoppedMessage]:
        """Request messages, owned until they are acked or ``invisible_ms`` has passed; none when none arrives in time.

        Args:
            topic: Where from.
            max_messages: 1 to 32; raises `UsageError` for other numbers.
            invisible_ms: For how long no other consumer gets them.
            wait_ms: How long the broker waits for a first message; 0: not at all.
            expression: Tags with ``||`` between them, or ``*``.
        """
        if not 1 <= max_messages <= MESSAGES_MAX:
            raise UsageError(f"a pop gets 1 to {MESSAGES_MAX} messages, asked for are {max_messages}")
        broker, address = await self._next_broker(check_topic(topic))
        fields = {
            "consumerGroup": self.group,
            "topic": topic,
            "queueId": str(ANY_QUEUE),
            "maxMsgNums": str(max_messages),
            "invisibleTime": str(invisible_ms),
            "pollTime": str(wait_ms),
            "bornTime": str(self._clock()),
            "initMode": "0" if self._from_first else "1",
            "exp": expression,
            "expType": "TAG",
            "order": "false",
        }
        command = RemotingCommand(RequestCode.POP_MESSAGE, fields)
        response = await self._instance.request(address, command, wait_ms + ANSWER_SLACK_MS)
        if response.code in _NOTHING:
            return []
        if response.code != ResponseCode.SUCCESS:
            raise answer_error(address, command.code, response)
        return _messages(response, self.group, topic, broker)

    async def ack(self, message: PoppedMessage) -> None:
        """Acknowledge a message, so that it is not delivered again."""
        await self._settle(RequestCode.ACK_MESSAGE, message, {})

    async def change_invisible(self, message: PoppedMessage, invisible_ms: int) -> None:
        """Have a message delivered again ``invisible_ms`` from now; 0: at once.

        Raises `RemoteError` with NO_MESSAGE when this consumer does not own the message any more.
        """
        more = {"invisibleTime": str(invisible_ms)}
        response = await self._settle(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, message, more)
        message.handle = changed_handle(message.handle, response.ext_fields)

    async def _settle(self, code: RequestCode, message: PoppedMessage, more: dict[str, str]) -> RemotingCommand:
        handle = message.handle
        route = await self._instance.route(message.topic)
        address = None if route is None else route.address_of(handle.broker_name)
        if address is None:
            text = f"broker {handle.broker_name} has left topic {message.topic}; its message comes again elsewhere or never"
            raise RemoteError(text, code=int(ResponseCode.TOPIC_NOT_EXIST), topic=message.topic)
        fields = {
            "consumerGroup": self.group,
            "topic": real_topic(self.group, message.topic, handle.flag),
            "queueId": str(handle.queue_id),
            "offset": str(handle.offset),
            "extraInfo": str(handle),
        }
        return await self._instance.call(address, RemotingCommand(code, fields | more))

    async def _next_broker(self, topic: str) -> tuple[str, str]:
        """Name and address of a topic's next broker in turn."""
        route = await self._instance.route(topic) or await self._instance.route(topic, fresh=True)
        names = [] if route is None else sorted(d.broker_name for d in route.queues if d.permission & PERM_READ)
        if route is None or not names:
            raise RemoteError(f"no broker serves topic {topic}: create it first", code=int(ResponseCode.TOPIC_NOT_EXIST))
        self._turn += 1
        name = names[self._turn % len(names)]
        address = route.address_of(name)
        if address is None:
            raise RemoteError(f"broker {name} of topic {topic} has no address", code=int(ResponseCode.TOPIC_NOT_EXIST))
        return name, address


def _messages(response: RemotingCommand, group: str, topic: str, broker: str) -> list[PoppedMessage]:
    return [
        PoppedMessage(stored, MessageQueue(stored.topic, broker, stored.queue_id), topic, handle)
        for stored, handle in popped_messages(response.ext_fields, bytes(response.body), group, broker)
    ]
