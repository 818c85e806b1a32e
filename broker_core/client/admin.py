"""The admin client: topics, groups, offsets, messages and brokers of a cluster.

Each call goes to a name server or to the brokers that its topic is on, and merges their answers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from broker_core.client.group_admin import GroupAdmin
from broker_core.client.instance import DEFAULT_TOPIC, ClientInstance, ClientSecurity
from broker_core.client.lifecycle import OpenedClient
from broker_core.client.message_admin import MessageAdmin
from broker_core.client.names import check_group, check_topic
from broker_core.client.record_admin import RecordAdmin
from broker_core.client.topic_admin import TopicAdmin
from broker_core.clock import wall_clock_ms
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import CodecError, RemoteError
from broker_core.protocol.admin.routes import MASTER_ID, Route
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonBodyError, MessageQueue, as_message_queue, parse_object
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record

PERMISSION_READ_WRITE = 6


@dataclass(frozen=True, slots=True)
class TopicOffset:
    """What a queue holds: offsets from ``min_offset`` up to, not with, ``max_offset``; 0 ms means never written."""

    min_offset: int
    max_offset: int
    last_update_ms: int


@dataclass(frozen=True, slots=True)
class ConsumeOffset:
    """How far a group is in a queue; ``last_consumed_ms`` is the store time of the last consumed message, or 0."""

    broker_offset: int
    consumer_offset: int
    last_consumed_ms: int

    @property
    def lag_messages(self) -> int:
        """Messages that the group has not consumed."""
        return self.broker_offset - self.consumer_offset


class AdminClient(OpenedClient, GroupAdmin, MessageAdmin, RecordAdmin, TopicAdmin):
    """Questions and orders to a cluster. Use it as an async context manager, or call `start` and `close`.

    Every method raises `NetworkError` when nobody answers and `RemoteError` when the answer is an error code.

    Args:
        name_servers: ``host:port``, several with ``;`` between them.
        config: Times and bounds.
        limits: Bounds of each connection.
        security: TLS and credentials.
        clock: Milliseconds since the epoch.
    """

    def __init__(
        self,
        name_servers: str,
        *,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self._instance = ClientInstance(name_servers, config=config, limits=limits, security=security)
        self._clock = clock

    async def registered_brokers(self) -> dict[str, dict[int, str]]:
        """Broker name → broker id → address, of all brokers that the name server knows now."""
        body = await self._name_server_object(RequestCode.GET_BROKER_CLUSTER_INFO, {})
        try:
            return {
                str(name): {int(number): str(address) for number, address in (data.get("brokerAddrs") or {}).items()}
                for name, data in (body.get("brokerAddrTable") or {}).items()
            }
        except (AttributeError, TypeError, ValueError) as error:
            raise JsonBodyError(f"the list of brokers cannot be read: {body!r:.200}") from error

    async def master_addresses(self) -> dict[str, str]:
        """Broker name → address of its master, over all clusters."""
        brokers = await self.registered_brokers()
        return {name: addresses[MASTER_ID] for name, addresses in brokers.items() if addresses.get(MASTER_ID)}

    async def topics(self) -> list[str]:
        """Names of all topics, sorted."""
        body = await self._name_server_object(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {})
        return sorted(str(topic) for topic in body.get("topicList") or ())

    async def create_topic(self, topic: str, *, queues: int = 8, permission: int = PERMISSION_READ_WRITE) -> None:
        """Create a topic on every master, or give it other queues."""
        fields = {
            "topic": check_topic(topic),
            "defaultTopic": DEFAULT_TOPIC,
            "readQueueNums": str(queues),
            "writeQueueNums": str(queues),
            "perm": str(permission),
            "topicFilterType": "SINGLE_TAG",
            "topicSysFlag": "0",
            "order": "false",
        }
        for address in (await self.master_addresses()).values():
            await self._instance.call(address, RemotingCommand(RequestCode.UPDATE_AND_CREATE_TOPIC, dict(fields)))

    async def delete_topic(self, topic: str) -> None:
        """Delete a topic and what it holds on every master, and forget its route."""
        fields = {"topic": check_topic(topic)}
        for address in (await self.master_addresses()).values():
            await self._instance.call(address, RemotingCommand(RequestCode.DELETE_TOPIC_IN_BROKER, dict(fields)))
        await self._instance.call_name_server(RemotingCommand(RequestCode.DELETE_TOPIC_IN_NAMESRV, fields))

    async def topic_stats(self, topic: str) -> dict[MessageQueue, TopicOffset]:
        """What each queue of a topic holds."""
        found: dict[MessageQueue, TopicOffset] = {}
        for address in await self._addresses(topic):
            found |= await self.topic_stats_of(address, topic)
        return found

    async def topic_stats_of(self, address: str, topic: str) -> dict[MessageQueue, TopicOffset]:
        """What each queue of a topic on one broker holds."""
        table = await self._offset_table(address, RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic})
        return {
            queue: TopicOffset(_int(value, "minOffset"), _int(value, "maxOffset"), _int(value, "lastUpdateTimestamp"))
            for queue, value in table.items()
        }

    async def unlisted_queues_of(
        self, address: str, broker: str, topic: str, read_queues: int, listed: Collection[int]
    ) -> dict[MessageQueue, TopicOffset]:
        """What those queues of a topic on one broker hold that may be read but are not ``listed`` by `topic_stats_of`.

        Brokers of 4.x leave out queues that may no longer be written. When they were written last is not known (0).

        Source: remoting specification §2.5.6.
        """
        found = {}
        for queue_id in range(read_queues):
            if queue_id not in listed:
                queue = MessageQueue(topic, broker, queue_id)
                end = await self._offset_of(address, RequestCode.GET_MAX_OFFSET, queue)
                found[queue] = TopicOffset(await self.min_offset_of(address, queue), end, 0)
        return found

    async def consume_stats(self, group: str, topic: str) -> dict[MessageQueue, ConsumeOffset]:
        """How far a group is in each queue of a topic."""
        found: dict[MessageQueue, ConsumeOffset] = {}
        fields = {"consumerGroup": check_group(group), "topic": topic}
        for address in await self._addresses(topic):
            table = await self._offset_table(address, RequestCode.GET_CONSUME_STATS, fields)
            for queue, value in table.items():
                found[queue] = ConsumeOffset(
                    _int(value, "brokerOffset"), _int(value, "consumerOffset"), _int(value, "lastTimestamp")
                )
        return found

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of the queue gets."""
        return await self._offset(RequestCode.GET_MAX_OFFSET, queue)

    async def min_offset(self, queue: MessageQueue) -> int:
        """The lowest offset that can be read."""
        return await self._offset(RequestCode.GET_MIN_OFFSET, queue)

    async def offset_by_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """The first offset stored at or after a time, the max offset where there is none; 4.x brokers give the nearest."""
        return await self.offset_by_time_of(await self._queue_address(queue), queue, timestamp_ms)

    async def offset_by_time_of(self, address: str, queue: MessageQueue, timestamp_ms: int) -> int:
        """The same, asked of the broker at an address."""
        more = {"timestamp": str(timestamp_ms), "boundaryType": "LOWER"}
        return await self._offset_of(address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, queue, **more)

    async def min_offset_of(self, address: str, queue: MessageQueue) -> int:
        """As `min_offset`, asked of the broker at an address."""
        return await self._offset_of(address, RequestCode.GET_MIN_OFFSET, queue)

    async def consumer_offset(self, group: str, queue: MessageQueue) -> int | None:
        """The offset of a group in a queue, None when it has none."""
        try:
            return await self._offset(RequestCode.QUERY_CONSUMER_OFFSET, queue, consumerGroup=check_group(group))
        except RemoteError as error:
            if error.context.get("code") == ResponseCode.QUERY_NOT_FOUND:
                return None
            raise

    async def set_consumer_offset(self, group: str, queue: MessageQueue, offset: int) -> None:
        """Set the offset of a group in a queue; members that are online may overwrite it."""
        fields = {**_queue_fields(queue), "consumerGroup": check_group(group), "commitOffset": str(offset)}
        address = await self._queue_address(queue)
        await self._instance.call(address, RemotingCommand(RequestCode.UPDATE_CONSUMER_OFFSET, fields))

    async def message_by_offset_id(self, offset_message_id: str) -> StoredMessage:
        """The message an offset message id points to, from the broker whose address is in it.

        Raises:
            CodecError: It is no such id, or the answer is no record.
        """
        host, physical_offset = parse_offset_message_id(offset_message_id)
        command = RemotingCommand(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(physical_offset)})
        response = await self._instance.call(str(host), command)
        return decode_record(response.body)

    def _now_ms(self) -> int:
        return self._clock()

    async def _route(self, topic: str) -> Route:
        route = await self._instance.route_once(check_topic(topic))
        if route is None:
            raise RemoteError(f"there is no topic {topic}", code=int(ResponseCode.TOPIC_NOT_EXIST), topic=topic)
        return route

    async def _addresses(self, topic: str) -> list[str]:
        route = await self._route(topic)
        addresses = (route.address_of(name) for name in sorted(route.brokers))
        return [address for address in addresses if address is not None]

    async def _queue_address(self, queue: MessageQueue) -> str:
        address = (await self._route(queue.topic)).address_of(queue.broker_name)
        if address is None:
            text = f"topic {queue.topic} is not on broker {queue.broker_name}"
            raise RemoteError(text, code=int(ResponseCode.TOPIC_NOT_EXIST), topic=queue.topic)
        return address

    async def _offset(self, code: RequestCode, queue: MessageQueue, **more: str) -> int:
        return await self._offset_of(await self._queue_address(queue), code, queue, **more)

    async def _offset_of(self, address: str, code: RequestCode, queue: MessageQueue, **more: str) -> int:
        response = await self._instance.call(address, RemotingCommand(code, {**_queue_fields(queue), **more}))
        return _int(response.ext_fields, "offset")

    async def _offset_table(
        self, address: str, code: RequestCode, fields: dict[str, str]
    ) -> dict[MessageQueue, dict[str, Any]]:
        response = await self._instance.call(address, RemotingCommand(code, dict(fields)))
        table = parse_object(response.body).get("offsetTable") or {}
        found = {}
        for key, value in table.items():
            queue = as_message_queue(key)
            if queue is None or not isinstance(value, dict):
                raise JsonBodyError(f"{address} sent an offset table with an entry that is none: {key!r}")
            found[queue] = value
        return found

    async def _name_server_object(self, code: RequestCode, fields: dict[str, str]) -> dict[Any, Any]:
        response = await self._instance.call_name_server(RemotingCommand(code, fields))
        return parse_object(response.body)


def _queue_fields(queue: MessageQueue) -> dict[str, str]:
    return {"topic": queue.topic, "queueId": str(queue.queue_id)}


def _int(fields: dict[str, Any], name: str) -> int:
    try:
        return int(fields[name])
    except (KeyError, TypeError, ValueError) as error:
        raise CodecError(f"an answer has no number {name}: {fields}") from error
