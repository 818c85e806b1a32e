"""A name server and several brokers in memory, for tests of what watches a cluster: they count, refuse, stall, die.

Nothing is stored: a queue of a topic holds as many messages as it is told to, and a message is made when it is pulled.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from broker_core.config import RemotingLimits
from broker_core.protocol.addresses import address_of
from broker_core.protocol.admin.routes import MASTER_ID
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand, encode_command
from broker_core.protocol.json_body import MessageQueue, emit
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.names import SCHEDULE_TOPIC
from broker_core.transport.connection import Connection
from broker_core.transport.server import RemotingServer
from tests.support.client_thread import ClientThread

V4_9_4, V5_3_3 = 401, 479
LEVELS = "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h"
SETTINGS = {"enablePropertyFilter": "false", "messageDelayLevel": LEVELS, "transactionCheckMax": "15"}

Answer = Callable[[Connection, RemotingCommand], RemotingCommand | None]
Manner = Callable[[Connection, RemotingCommand], None]
"""Sends an answer, or does not."""
STORED_MS = 1_795_000_000_000
_QUEUE_MESSAGES, _RECORD_BYTES = 1_000_000, 500


def silent(_connection: Connection, _command: RemotingCommand) -> None:
    """Never answer."""


def rubbish(_connection: Connection, command: RemotingCommand) -> RemotingCommand:
    """Answer with a web page."""
    return command.reply(body=b"<html>500</html>", ext_fields={"offset": "many", "nextBeginOffset": "soon"})


def refused(_connection: Connection, command: RemotingCommand) -> RemotingCommand:
    """Refuse for want of a permission, as ACL does."""
    return command.reply(ResponseCode.NO_PERMISSION, "No accessKey is configured")


class Stopping:
    """Sends so many answers, and then nothing more until `go_on`.

    Args:
        whole: Answers that are sent as they are.
        half: Whether the next one is begun and not ended; nothing can come behind it on its connection.
    """

    def __init__(self, whole: int = 0, *, half: bool = False) -> None:
        self._left = whole
        self._half = half
        self._torn: set[Connection] = set()
        self.held: list[tuple[Connection, RemotingCommand]] = []
        """What was not sent."""

    def __call__(self, connection: Connection, response: RemotingCommand) -> None:
        if self._left > 0:
            self._left -= 1
            connection.send(response)
            return
        if self._half and connection not in self._torn:
            frame = encode_command(response)
            self._torn.add(connection)
            connection.send_frame(frame[: len(frame) // 2])
        self.held.append((connection, response))

    def go_on(self) -> None:
        """Send what was held, and all that comes, but on connections that have half an answer."""
        self._left = 1 << 60
        held, self.held = self.held, []
        for connection, response in held:
            if connection not in self._torn:
                connection.send(response)


@dataclass
class FakeBroker:
    """One broker; tests read and change it while it runs."""

    name: str
    topics: dict[str, int] = field(default_factory=dict)
    """Topic → queues."""
    held: dict[str, int] = field(default_factory=dict)
    """Topic → messages in each of its queues; 0 where it is not named."""
    groups: list[str] = field(default_factory=list)
    positions: dict[str, dict[int, int]] = field(default_factory=dict)
    """``topic@group`` → queue → offset."""
    version: int = V5_3_3
    settings: dict[str, str] = field(default_factory=lambda: dict(SETTINGS))
    unwritable: dict[str, int] = field(default_factory=dict)
    """Topic → queues, its last ones, that may be read but no longer written: as of 4.x, such a broker does not list them."""
    answers: dict[int, Answer] = field(default_factory=dict)
    """Code → what is answered instead."""
    manner: Manner | None = None
    """How answers are sent; None: at once."""
    asked: Counter[int] = field(default_factory=Counter)
    port: int = 0
    delays: dict[int, int] = field(default_factory=dict)
    properties: bytes = b""
    """Of its messages, but for those that wait."""
    timers: dict[str, int] = field(default_factory=dict)
    """Topic → messages that wait for a time of their own."""
    stored_at: str = ""
    """Address that its messages name as that of their store, where it is not its own: it moved, or took its master's place."""
    host: str = "127.0.0.1"
    """Where it listens, an IP address."""
    announced: str = ""
    """Host of the address that it registers, where that is spelled otherwise."""

    async def start(self) -> None:
        self.server = RemotingServer(self.host, self.port, self._handle, limits=RemotingLimits())
        await self.server.start()
        self.port = self.server.port

    async def stop(self) -> None:
        await self.server.stop()

    @property
    def address(self) -> str:
        return address_of(self.host, self.port)

    @property
    def registered(self) -> str:
        """The address that it registers at the name server."""
        return f"{self.announced}:{self.port}" if self.announced else self.address

    def answer_all(self, answer: Answer) -> None:
        """Answer every request so."""
        self.answers = dict.fromkeys(map(int, RequestCode), answer)

    def _handle(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        self.asked[command.code] += 1
        answer = self.answers.get(command.code) or self.known_answers().get(command.code)
        response = answer(connection, command) if answer else command.not_supported()
        if self.manner is None or response is None:
            return response
        self.manner(connection, response)
        return None

    def known_answers(self) -> dict[int, Answer]:
        return {
            RequestCode.GET_ALL_TOPIC_CONFIG: self._topics,
            RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: lambda _, command: command.reply(
                body=emit({"subscriptionGroupTable": {group: {"groupName": group} for group in self.groups}})
            ),
            RequestCode.GET_BROKER_CONFIG: lambda _, command: command.reply(
                body="".join(f"{key}={value}\n" for key, value in self.settings.items()).encode()
            ),
            RequestCode.GET_BROKER_RUNTIME_INFO: lambda _, command: command.reply(
                body=emit({"table": {"brokerVersion": str(self.version), "putMessageTimesTotal": "0"}})
            ),
            RequestCode.GET_ALL_CONSUMER_OFFSET: lambda _, command: command.reply(
                body=emit({"offsetTable": self.positions}, bare_int_keys=True)
            ),
            RequestCode.GET_ALL_DELAY_OFFSET: lambda _, command: command.reply(
                body=emit({"offsetTable": self.delays}, bare_int_keys=True)
            ),
            RequestCode.GET_TIMER_METRICS: lambda _, command: command.reply(
                body=emit({"timingCount": {topic: {"count": count, "timeStamp": 0} for topic, count in self.timers.items()}})
            ),
            RequestCode.GET_TOPIC_STATS_INFO: self._stats,
            RequestCode.GET_CONSUMER_CONNECTION_LIST: self._members,
            RequestCode.GET_MIN_OFFSET: lambda _, command: command.reply(ext_fields={"offset": "0"}),
            RequestCode.GET_MAX_OFFSET: lambda _, command: command.reply(ext_fields={"offset": str(self._end(command))}),
            RequestCode.QUERY_CONSUMER_OFFSET: lambda _, command: command.reply(ResponseCode.QUERY_NOT_FOUND, "Not found"),
            RequestCode.PULL_MESSAGE: self.pull,
            RequestCode.VIEW_MESSAGE_BY_ID: self._view,
        }

    def _topics(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        table = {
            topic: {"topicName": topic, "readQueueNums": queues, "writeQueueNums": self.write_queues(topic), "perm": 6}
            for topic, queues in self.topics.items()
        }
        return command.reply(body=emit({"topicConfigTable": table}))

    def _stats(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        topic = command.ext_fields["topic"]
        table = {
            MessageQueue(topic, self.name, queue): {
                "minOffset": 0,
                "maxOffset": self.held.get(topic, 0),
                "lastUpdateTimestamp": STORED_MS if self.held.get(topic) else 0,
            }
            for queue in range(self.write_queues(topic))
        }
        return command.reply(body=emit({"offsetTable": table}))

    def write_queues(self, topic: str) -> int:
        """How many of its queues may be written."""
        return self.topics[topic] - self.unwritable.get(topic, 0)

    def _members(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        return command.reply(ResponseCode.CONSUMER_NOT_ONLINE, "the consumer group is not online")

    def _end(self, command: RemotingCommand) -> int:
        return self.held.get(command.ext_fields["topic"], 0)

    def pull(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        fields = command.ext_fields
        first, end = int(fields["queueOffset"]), self._end(command)
        last = min(first + int(fields["maxMsgNums"]), end)
        if first >= end:
            return command.reply(ResponseCode.PULL_NOT_FOUND, None, {"nextBeginOffset": str(end)})
        topic, queue = fields["topic"], int(fields["queueId"])
        records = [self.record(topic, queue, offset) for offset in range(first, last)]
        return command.reply(ext_fields={"nextBeginOffset": str(last)}, body_slices=records)

    def _view(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        """A message of the first topic: places of all topics are alike."""
        queue, offset = divmod(int(command.ext_fields["offset"]) // _RECORD_BYTES, _QUEUE_MESSAGES)
        return command.reply(body=self.record(next(iter(self.topics)), queue, offset))

    def record(self, topic: str, queue: int, offset: int) -> bytes:
        """The message at an offset; its body names its place."""
        host = HostAddress.parse(self.stored_at or self.address)
        body = f"{self.name} {topic} {queue} {offset}".encode()
        properties = f"REAL_TOPIC\x01orders\x02REAL_QID\x01{queue}".encode() if topic == SCHEDULE_TOPIC else self.properties
        message = MessageToStore(topic, queue, 0, 0, 1, host, host, 0, 0, body, properties)
        place = (queue * _QUEUE_MESSAGES + offset) * _RECORD_BYTES
        return encode_record(message, queue_offset=offset, physical_offset=place, store_timestamp_ms=STORED_MS + offset)


@dataclass
class FakeCluster:
    """Brokers and their name server; an async context."""

    brokers: list[FakeBroker]
    answers: dict[int, Answer] = field(default_factory=dict)
    """Of the name server: code → what is answered instead."""
    hidden: set[str] = field(default_factory=set)
    """Brokers that the name server has forgotten."""
    slaves: dict[str, int] = field(default_factory=dict)
    """Brokers that are registered under this id alone, as a slave is."""
    host: str = "127.0.0.1"
    """Where the name server listens, an IP address."""

    async def __aenter__(self) -> Self:
        self.port = 0
        await self.start_name_server()
        await asyncio.gather(*(broker.start() for broker in self.brokers))
        return self

    async def __aexit__(self, *_: object) -> None:
        await asyncio.gather(self._server.stop(), *(broker.stop() for broker in self.brokers))

    async def start_name_server(self) -> None:
        self._server = RemotingServer(self.host, self.port, self._handle, limits=RemotingLimits())
        await self._server.start()
        self.port = self._server.port

    async def stop_name_server(self) -> None:
        await self._server.stop()

    @property
    def name_server(self) -> str:
        return address_of(self.host, self.port)

    def requests(self) -> int:
        """Requests to brokers so far."""
        return sum(broker.asked.total() for broker in self.brokers)

    def _handle(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        known: dict[int, Answer] = {
            RequestCode.GET_BROKER_CLUSTER_INFO: self._cluster,
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._route,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self._topics,
        }
        answer = self.answers.get(command.code) or known.get(command.code)
        return answer(connection, command) if answer else command.not_supported()

    def _registered(self) -> list[FakeBroker]:
        return [broker for broker in self.brokers if broker.name not in self.hidden]

    def _data(self, broker: FakeBroker) -> dict[str, Any]:
        addresses = {self.slaves.get(broker.name, MASTER_ID): broker.registered}
        return {"brokerName": broker.name, "cluster": "C", "brokerAddrs": addresses}

    def _cluster(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        table = {broker.name: self._data(broker) for broker in self._registered()}
        return command.reply(body=emit({"brokerAddrTable": table}, bare_int_keys=True))

    def _topics(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        topics = sorted({topic for broker in self._registered() for topic in broker.topics})
        return command.reply(body=emit({"topicList": topics}))

    def _route(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        topic = command.ext_fields["topic"]
        having = [broker for broker in self._registered() if topic in broker.topics]
        if not having:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"No topic route info in name server for the topic: {topic}")
        queues = [
            {"brokerName": one.name, "perm": 6, "readQueueNums": one.topics[topic], "writeQueueNums": one.write_queues(topic)}
            for one in having
        ]
        body = {"queueDatas": queues, "brokerDatas": [self._data(broker) for broker in having]}
        return command.reply(body=emit(body, bare_int_keys=True))


@contextmanager
def on_a_thread(cluster: FakeCluster) -> Iterator[FakeCluster]:
    """A cluster that runs beside a test without a loop."""
    with ClientThread() as thread:
        thread.call(cluster.__aenter__())
        try:
            yield cluster
        finally:
            thread.call(cluster.__aexit__())
