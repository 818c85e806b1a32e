"""The admin client: topics, groups, offsets, messages and brokers of a cluster.

Each call asks a name server or the brokers of its topic, and merges their answers.
"""

from __future__ import annotations

from functools import partial

from broker_core.client.group_admin import GroupAdmin
from broker_core.client.message_admin import MessageAdmin
from broker_core.client.time_bounds import first_checked, time_of_answer
from broker_core.client.topic_admin import TopicAdmin
from broker_core.errors import RemoteError
from broker_core.protocol.admin.offsets import ConsumeOffset, QueueOffsets, read_consume_stats, read_offset, read_queue_offsets
from broker_core.protocol.admin.topics import READ_AND_WRITE, TopicConfig, read_topic_names, topic_fields
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.model import StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import check_group, check_topic


class AdminClient(GroupAdmin, MessageAdmin, TopicAdmin):
    """Requests to a cluster. Use it as an async context manager, or call `start` and `close`.

    Every method raises `NetworkError` when no server answers and `RemoteError` when the answer is an error code.
    """

    async def topics(self) -> list[str]:
        """Names of all topics, sorted."""
        return read_topic_names(await self._name_server_body(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))

    async def create_topic(self, topic: str, *, queues: int = 8, permission: int = READ_AND_WRITE) -> None:
        """Create a topic on every master, or change its number of queues."""
        fields = topic_fields(TopicConfig(check_topic(topic), queues, queues, permission))
        await self._on_masters(RequestCode.UPDATE_AND_CREATE_TOPIC, fields)

    async def delete_topic(self, topic: str) -> None:
        """Delete a topic with its messages on every master, and its route."""
        fields = {"topic": check_topic(topic)}
        await self._on_masters(RequestCode.DELETE_TOPIC_IN_BROKER, fields)
        await self._instance.call_name_server(RemotingCommand(RequestCode.DELETE_TOPIC_IN_NAMESRV, fields))

    async def topic_stats(self, topic: str) -> dict[MessageQueue, QueueOffsets]:
        """Offsets of each queue of a topic."""
        found: dict[MessageQueue, QueueOffsets] = {}
        for address in await self._addresses(topic):
            found |= await self.topic_stats_of(address, topic)
        return found

    async def topic_stats_of(self, address: str, topic: str) -> dict[MessageQueue, QueueOffsets]:
        """Offsets of each queue of a topic on one broker."""
        return read_queue_offsets(await self._body(address, RequestCode.GET_TOPIC_STATS_INFO, {"topic": topic}))

    async def consume_stats(self, group: str, topic: str) -> dict[MessageQueue, ConsumeOffset]:
        """Offsets of a group in each queue of a topic."""
        found: dict[MessageQueue, ConsumeOffset] = {}
        fields = {"consumerGroup": check_group(group), "topic": topic}
        for address in await self._addresses(topic):
            found |= read_consume_stats(await self._body(address, RequestCode.GET_CONSUME_STATS, fields))
        return found

    async def max_offset(self, queue: MessageQueue) -> int:
        """The offset that the next message of the queue gets."""
        return await self._offset(RequestCode.GET_MAX_OFFSET, queue)

    async def min_offset(self, queue: MessageQueue) -> int:
        """The lowest offset that can be read."""
        return await self._offset(RequestCode.GET_MIN_OFFSET, queue)

    async def offset_by_time(self, queue: MessageQueue, timestamp_ms: int) -> int:
        """The first offset stored at or after a time, the max offset if there is none; raises `CodecError` as a pull."""
        address = await self._queue_address(queue)
        name = f"queue {queue.queue_id} of {queue.topic} on {queue.broker_name}"

        async def store_ms(offset: int) -> int:
            record, following = await self.pull_records(address, queue, offset, 1)
            return time_of_answer(record, offset, following, name=name)

        first, end = await self.min_offset_of(address, queue), await self.max_offset_of(address, queue)
        near = partial(self.offset_near_of, address, queue, timestamp_ms)
        return await first_checked(near, store_ms, timestamp_ms, first, end)

    async def offset_near_of(self, address: str, queue: MessageQueue, timestamp_ms: int) -> int:
        """The offset of a time as a broker answers it: the nearest message's on 4.x, the lower bound since 5.0."""
        more = {"timestamp": str(timestamp_ms), "boundaryType": "LOWER"}
        return await self._offset_of(address, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, queue, **more)

    async def min_offset_of(self, address: str, queue: MessageQueue) -> int:
        """As `min_offset`, at the broker of an address."""
        return await self._offset_of(address, RequestCode.GET_MIN_OFFSET, queue)

    async def max_offset_of(self, address: str, queue: MessageQueue) -> int:
        """As `max_offset`, at the broker of an address."""
        return await self._offset_of(address, RequestCode.GET_MAX_OFFSET, queue)

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
        """The message of an offset message id, from the broker whose address is in it.

        Raises `CodecError` when it is no such id, or the answer is no record.
        """
        return decode_record(await self.record_by_offset_id(offset_message_id))

    async def _queue_address(self, queue: MessageQueue) -> str:
        address = (await self.readable_route(queue.topic)).address_of(queue.broker_name)
        if address is None:
            text = f"topic {queue.topic} is not on broker {queue.broker_name}"
            raise RemoteError(text, code=int(ResponseCode.TOPIC_NOT_EXIST), topic=queue.topic)
        return address

    async def _offset(self, code: RequestCode, queue: MessageQueue, **more: str) -> int:
        return await self._offset_of(await self._queue_address(queue), code, queue, **more)

    async def _offset_of(self, address: str, code: RequestCode, queue: MessageQueue, **more: str) -> int:
        response = await self._instance.call(address, RemotingCommand(code, {**_queue_fields(queue), **more}))
        return read_offset(response.ext_fields)


def _queue_fields(queue: MessageQueue) -> dict[str, str]:
    return {"topic": queue.topic, "queueId": str(queue.queue_id)}
