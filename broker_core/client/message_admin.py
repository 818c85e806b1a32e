"""Administration of messages and brokers: records, search by key, one message consumed now, settings and figures of a broker.

Records are raw bytes as brokers store them, concatenated, for readers of a whole cluster. No group's offset changes.

Source: docs/spec/remoting.md §2.2.3 (PULL_MESSAGE), §2.2.6, §2.4, §2.5.2, §2.5.3;
docs/spec/broker.md §0.3 (the group of tools).
"""

from __future__ import annotations

from broker_core.client.admin_requests import AdminRequests
from broker_core.client.instance import answer_error
from broker_core.errors import CodecError, RemoteError
from broker_core.outside import whole_of
from broker_core.protocol.admin.brokers import read_broker_settings
from broker_core.protocol.admin.offsets import read_queue_units
from broker_core.protocol.admin.routes import Route
from broker_core.protocol.admin.running import DirectConsumeResult, read_consume_result
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message import properties as names
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_records
from broker_core.protocol.queue_unit import QueueUnit

_TOOLS_GROUP = "TOOLS_CONSUMER"
"""The brokers' group for tools, which needs no subscription."""
_PULL_FLAG_SUBSCRIPTION = 4
_REJECTED = "[REJECTREQUEST]"
"""First words of a 5.x slave's refusal of pulls, observed with 5.3.3; masters send no such refusal."""
_PULL_NOTHING = (ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY, ResponseCode.PULL_OFFSET_MOVED)

QUERY_MESSAGES = 32
_TIME_MAX_MS = (1 << 63) - 1
_QUERY_TIMEOUT_MS = 18_000
_DIRECT_TIMEOUT_MS = 12_000


class MessageAdmin(AdminRequests):
    """Requests of the admin client about messages and brokers."""

    async def listed_route(self, topic: str) -> Route | None:
        """Route of a topic that a name server listed, whatever its name; None when it was deleted."""
        return await self._instance.route_once(topic)

    async def route_of(self, topic: str) -> Route:
        """As `readable_route`, from memory if possible."""
        return await self._instance.route(topic) or await self.readable_route(topic)

    async def record_by_offset_id(self, offset_message_id: str) -> bytes:
        """The record of an offset message id, from the broker whose address is in it."""
        host, physical_offset = parse_offset_message_id(offset_message_id)
        return await self.record_at(str(host), physical_offset)

    async def record_at(self, address: str, physical_offset: int) -> bytes:
        """The record at a place of one broker's commit log; a broker that has none there refuses with SYSTEM_ERROR."""
        return bytes(await self._body(address, RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(physical_offset)}))

    async def queue_units_of(self, address: str, queue: MessageQueue, offset: int, count: int) -> list[QueueUnit]:
        """Entries of a consume queue from ``offset`` on."""
        fields = {"topic": queue.topic, "queueId": str(queue.queue_id), "index": str(offset), "count": str(count)}
        return read_queue_units(await self._body(address, RequestCode.QUERY_CONSUME_QUEUE, fields))

    async def records_by_key(
        self, address: str, topic: str, key: str, *, count: int, until_ms: int, begin_ms: int = 0, timeout_ms: int | None = None
    ) -> bytes:
        """Records with ``key``, a word of KEYS or a unique id, in one broker's index, unchecked; maybe fewer than ``count``.

        Java clients' flag for unique ids is not sent: brokers of 4.9 leave it out of the signature and those of 5.x do not, and
        it changes only the count (Source: docs/spec/remoting.md §7.1).
        """
        fields = {
            "topic": topic,
            "key": key,
            "maxNum": str(count),
            "beginTimestamp": str(begin_ms),
            "endTimestamp": str(until_ms),
        }
        command = RemotingCommand(RequestCode.QUERY_MESSAGE, fields)
        response = await self._instance.request(address, command, timeout_ms)
        if response.code == ResponseCode.QUERY_NOT_FOUND:
            return b""
        if response.code != ResponseCode.SUCCESS:
            raise answer_error(address, command.code, response)
        return bytes(response.body)

    async def pull_records(self, address: str, queue: MessageQueue, offset: int, count: int) -> tuple[bytes, int]:
        """Records of a queue from ``offset`` on, and the next offset."""
        fields = {
            "topic": queue.topic,
            "queueId": str(queue.queue_id),
            "consumerGroup": _TOOLS_GROUP,
            "queueOffset": str(offset),
            "maxMsgNums": str(count),
            "sysFlag": str(_PULL_FLAG_SUBSCRIPTION),
            "commitOffset": "0",
            "suspendTimeoutMillis": "0",
            "subscription": "*",
            "subVersion": "0",
            "expressionType": "TAG",
        }
        command = RemotingCommand(RequestCode.PULL_MESSAGE, fields)
        response = await self._instance.request(address, command)
        following = response.ext_fields.get("nextBeginOffset", "")
        if response.code != ResponseCode.SUCCESS and response.code not in _PULL_NOTHING:
            if response.code == ResponseCode.SYSTEM_BUSY and (response.remark or "").startswith(_REJECTED):
                text = f"{address} is a slave that lets nobody pull (its slaveReadEnable is false): wait for a master"
                raise RemoteError(text, code=response.code, address=address)
            raise answer_error(address, command.code, response)
        next_offset = whole_of(following)
        if next_offset is None:
            raise CodecError(f"{address} answered a pull without nextBeginOffset: {response.ext_fields}")
        return bytes(response.body) if response.code == ResponseCode.SUCCESS else b"", next_offset

    async def messages_by_key(
        self, topic: str, key: str, *, messages_max: int = QUERY_MESSAGES, begin_ms: int = 0, end_ms: int = _TIME_MAX_MS
    ) -> list[StoredMessage]:
        """Messages of a topic with ``key`` among their KEYS, stored from ``begin_ms`` to ``end_ms``, oldest first.

        At most ``messages_max`` come from each broker.
        """
        found = await self._query(topic, key, messages_max, begin_ms, end_ms)
        # The index has only hashes.
        return [item for item in found if item.topic == topic and key in item.properties.get(names.KEYS, "").split()]

    async def messages_by_id(self, topic: str, message_id: str) -> list[StoredMessage]:
        """Messages of a topic with a unique id, oldest first: several when a producer repeated the send."""
        found = await self._query(topic, message_id, QUERY_MESSAGES, 0, _TIME_MAX_MS)
        return [item for item in found if item.topic == topic and item.properties.get(names.UNIQUE_KEY) == message_id]

    async def _query(self, topic: str, key: str, count: int, begin_ms: int, end_ms: int) -> list[StoredMessage]:
        found: list[StoredMessage] = []
        for address in await self._addresses(topic):
            records = await self.records_by_key(
                address, topic, key, count=count, begin_ms=begin_ms, until_ms=end_ms, timeout_ms=_QUERY_TIMEOUT_MS
            )
            found.extend(decode_records(records))
        return sorted(found, key=lambda message: message.store_timestamp_ms)

    async def consume_directly(self, group: str, client_id: str, offset_message_id: str) -> DirectConsumeResult:
        host, _ = parse_offset_message_id(offset_message_id)
        fields = {"consumerGroup": group, "clientId": client_id, "msgId": offset_message_id}
        command = RemotingCommand(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
        response = await self._instance.call(str(host), command, _DIRECT_TIMEOUT_MS)
        return read_consume_result(response.body)

    async def broker_settings(self, address: str) -> dict[str, str]:
        """Settings of a broker, under RocketMQ's keys."""
        return read_broker_settings(await self._body(address, RequestCode.GET_BROKER_CONFIG))
