"""An in-memory name server and broker on one loopback port, for tests of the client.

It keeps messages in lists, answers as RocketMQ answers, and can be told to answer otherwise (`Peer.script`).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self

from broker_core.config import RemotingLimits
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, as_message_queue, emit, parse_object
from broker_core.protocol.message.batch import decode_batch
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.transport.connection import Connection
from broker_core.transport.server import RemotingServer

Answer = Callable[[Connection, RemotingCommand], RemotingCommand | None]
BROKER = "broker-a"
HOST = HostAddress(b"\x7f\x00\x00\x01", 10911)


@dataclass
class Held:
    """A pull that waits for a message."""

    connection: Connection
    command: RemotingCommand


@dataclass
class Peer:
    """State of the peer; tests read and change it."""

    topics: dict[str, int] = field(default_factory=lambda: {"TBW102": 8})
    records: dict[tuple[str, int], list[bytes]] = field(default_factory=lambda: defaultdict(list))
    offsets: dict[tuple[str, str, int], int] = field(default_factory=dict)
    members: dict[str, dict[str, Connection]] = field(default_factory=lambda: defaultdict(dict))
    heartbeats: list[dict[str, object]] = field(default_factory=list)
    requests: list[RemotingCommand] = field(default_factory=list)
    script: dict[int, list[Answer]] = field(default_factory=lambda: defaultdict(list))
    held: list[Held] = field(default_factory=list)
    locks: dict[MessageQueue, str] = field(default_factory=dict)
    min_offset: int = 0
    near: int = 1
    """The offset that every time is answered with: as of 4.x, a message of that time, and not the first."""

    async def __aenter__(self) -> Self:
        self.server = RemotingServer("127.0.0.1", 0, self.handle, limits=RemotingLimits())
        await self.server.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.stop()

    @property
    def address(self) -> str:
        return self.server.address

    def codes(self) -> list[int]:
        """Codes of all requests so far, in order."""
        return [command.code for command in self.requests]

    def of_code(self, code: RequestCode) -> list[RemotingCommand]:
        """All requests of one code so far."""
        return [command for command in self.requests if command.code == code]

    def handle(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        self.requests.append(command)
        scripted = self.script.get(command.code)
        if scripted:
            return scripted.pop(0)(connection, command)
        handler = self._handlers().get(command.code)
        return handler(connection, command) if handler else command.not_supported()

    def store(
        self, topic: str, queue_id: int, body: bytes, properties: bytes = b"", sys_flag: int = 0, *, stored_ms: int = 2
    ) -> int:
        """Append a message and wake the pulls that wait for it; returns its queue offset."""
        queue = self.records[topic, queue_id]
        message = MessageToStore(topic, queue_id, 0, sys_flag, 1, HOST, HOST, 0, 0, body, properties)
        offset = self.min_offset + len(queue)
        physical = sum(len(record) for records in self.records.values() for record in records)
        queue.append(encode_record(message, queue_offset=offset, physical_offset=physical, store_timestamp_ms=stored_ms))
        waiting, self.held = self.held, []
        for hold in waiting:
            answer = self._pull(hold.connection, hold.command)
            if answer is not None:
                hold.connection.send(answer)
        return offset

    def notify(self, group: str) -> None:
        """Tell the members of a group that it changed."""
        for connection in self.members[group].values():
            fields = {"consumerGroup": group}
            connection.send_oneway(RemotingCommand(RequestCode.NOTIFY_CONSUMER_IDS_CHANGED, fields))

    def _handlers(self) -> dict[int, Answer]:
        return {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._route,
            RequestCode.GET_BROKER_CLUSTER_INFO: self._cluster,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: lambda _, c: c.reply(body=emit({"topicList": list(self.topics)})),
            RequestCode.UPDATE_AND_CREATE_TOPIC: self._create_topic,
            RequestCode.SEND_MESSAGE_V2: self.store_sent,
            RequestCode.SEND_BATCH_MESSAGE: self.store_sent,
            RequestCode.HEART_BEAT: self._heartbeat,
            RequestCode.UNREGISTER_CLIENT: self._unregister,
            RequestCode.GET_CONSUMER_LIST_BY_GROUP: self._members,
            RequestCode.LOCK_BATCH_MQ: self._lock,
            RequestCode.UNLOCK_BATCH_MQ: self._unlock,
            RequestCode.QUERY_CONSUMER_OFFSET: self._query_offset,
            RequestCode.UPDATE_CONSUMER_OFFSET: self._update_offset,
            RequestCode.GET_MAX_OFFSET: lambda _, c: c.reply(ext_fields={"offset": str(self._max(c))}),
            RequestCode.GET_MIN_OFFSET: lambda _, c: c.reply(ext_fields={"offset": str(self.min_offset)}),
            RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: lambda _, c: c.reply(ext_fields={"offset": str(self.near)}),
            RequestCode.PULL_MESSAGE: self._pull,
            RequestCode.GET_TOPIC_STATS_INFO: self._topic_stats,
            RequestCode.GET_CONSUME_STATS: self._consume_stats,
            RequestCode.VIEW_MESSAGE_BY_ID: self._view,
            RequestCode.DELETE_TOPIC_IN_BROKER: self._delete_topic,
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self._delete_topic,
        }

    def _route(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        topic = command.ext_fields["topic"]
        if topic not in self.topics:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, f"No topic route info in name server for the topic: {topic}")
        queues = self.topics[topic]
        data = {"brokerName": BROKER, "perm": 6, "readQueueNums": queues, "writeQueueNums": queues, "topicSysFlag": 0}
        broker = {"brokerName": BROKER, "cluster": "C", "brokerAddrs": {0: self.address}}
        return command.reply(body=emit({"queueDatas": [data], "brokerDatas": [broker]}, bare_int_keys=True))

    def _cluster(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        broker = {"brokerName": BROKER, "cluster": "C", "brokerAddrs": {0: self.address}}
        return command.reply(body=emit({"brokerAddrTable": {BROKER: broker}}, bare_int_keys=True))

    def _create_topic(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        self.topics[command.ext_fields["topic"]] = int(command.ext_fields["writeQueueNums"])
        return command.reply()

    def store_sent(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        fields = command.ext_fields
        topic, queue_id = fields["b"], int(fields["e"])
        self.topics.setdefault(topic, int(fields["d"]))
        if fields["m"] == "true":
            stored = [self.store(topic, queue_id, item.body, item.properties) for item in decode_batch(command.body)]
        else:
            stored = [self.store(topic, queue_id, bytes(command.body), fields["i"].encode(), int(fields["f"]))]
        here = HostAddress.parse(self.address)
        records = self.records[topic, queue_id]
        places = [decode_record(records[offset - self.min_offset]).physical_offset for offset in stored]
        ids = ",".join(offset_message_id(here, place) for place in places)
        return command.reply(ext_fields={"msgId": ids, "queueId": str(queue_id), "queueOffset": str(stored[0])})

    def _heartbeat(self, connection: Connection, command: RemotingCommand) -> RemotingCommand:
        body = parse_object(command.body)
        self.heartbeats.append(body)
        for consumer in body["consumerDataSet"]:
            members = self.members[consumer["groupName"]]
            new = body["clientID"] not in members
            members[body["clientID"]] = connection
            if new:
                self.notify(consumer["groupName"])
        return command.reply()

    def _unregister(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        group = command.ext_fields.get("consumerGroup")
        if group:
            self.members[group].pop(command.ext_fields["clientID"], None)
            self.notify(group)
        return command.reply()

    def _members(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=emit({"consumerIdList": list(self.members[command.ext_fields["consumerGroup"]])}))

    def _query_offset(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        offset = self.offsets.get(self._offset_key(command))
        if offset is None:
            return command.reply(ResponseCode.QUERY_NOT_FOUND, "Not found")
        return command.reply(ext_fields={"offset": str(offset)})

    def _update_offset(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        self.offsets[self._offset_key(command)] = int(command.ext_fields["commitOffset"])
        return command.reply()

    @staticmethod
    def _offset_key(command: RemotingCommand) -> tuple[str, str, int]:
        fields = command.ext_fields
        return fields["consumerGroup"], fields["topic"], int(fields["queueId"])

    def _max(self, command: RemotingCommand) -> int:
        return self.min_offset + len(self.records[command.ext_fields["topic"], int(command.ext_fields["queueId"])])

    def _lock(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        body = parse_object(command.body)
        queues = [as_message_queue(item) for item in body["mqSet"]]
        held = [queue for queue in queues if queue and self.locks.setdefault(queue, body["clientId"]) == body["clientId"]]
        return command.reply(body=emit({"lockOKMQSet": held}))

    def _unlock(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        body = parse_object(command.body)
        for item in body["mqSet"]:
            queue = as_message_queue(item)
            if queue and self.locks.get(queue) == body["clientId"]:
                del self.locks[queue]
        return command.reply()

    def _pull(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        fields = command.ext_fields
        first, end = int(fields["queueOffset"]), self._max(command)
        if not self.min_offset <= first <= end:
            moved = min(max(first, self.min_offset), end)
            return command.reply(ResponseCode.PULL_OFFSET_MOVED, None, {"nextBeginOffset": str(moved)})
        if first == end:
            self.held.append(Held(connection, command))
            return None
        queue = self.records[fields["topic"], int(fields["queueId"])]
        found = queue[first - self.min_offset :][: int(fields["maxMsgNums"])]
        return command.reply(ext_fields={"nextBeginOffset": str(first + len(found))}, body_slices=found)

    def _topic_stats(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        topic = command.ext_fields["topic"]
        table = {
            MessageQueue(topic, BROKER, queue_id): {
                "minOffset": self.min_offset,
                "maxOffset": self.min_offset + len(self.records[topic, queue_id]),
                "lastUpdateTimestamp": 2,
            }
            for queue_id in range(self.topics[topic])
        }
        return command.reply(body=emit({"offsetTable": table}))

    def _consume_stats(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        group, topic = command.ext_fields["consumerGroup"], command.ext_fields["topic"]
        table = {
            MessageQueue(topic, BROKER, queue_id): {
                "brokerOffset": self.min_offset + len(self.records[topic, queue_id]),
                "consumerOffset": self.offsets.get((group, topic, queue_id), 0),
                "lastTimestamp": 0,
            }
            for queue_id in range(self.topics[topic])
        }
        return command.reply(body=emit({"consumeTps": 0.0, "offsetTable": table}))

    def _view(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        position = int(command.ext_fields["offset"])
        for record in (record for records in self.records.values() for record in records):
            if decode_record(record).physical_offset == position:
                return command.reply(body=record)
        return command.reply(ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {position}")

    def _delete_topic(self, _: Connection, command: RemotingCommand) -> RemotingCommand:
        self.topics.pop(command.ext_fields["topic"], None)
        return command.reply()


async def eventually_answers(question: Callable[[], Awaitable[object]], seconds: float = 60.0) -> None:
    """Ask again and again until the answer is a true one; fails after ``seconds``."""
    deadline = asyncio.get_running_loop().time() + seconds
    while not await question():
        assert asyncio.get_running_loop().time() < deadline, "the answer did not come true in time"
        await asyncio.sleep(0.02)


async def eventually(condition: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until ``condition`` holds; fails after ``seconds``."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + seconds
    while not condition():
        assert loop.time() < deadline, "the condition did not come true in time"
        await asyncio.sleep(0.005)
