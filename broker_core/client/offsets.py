"""Offsets of a group: at the broker, or in a file for broadcasting (Source: docs/spec/broker.md §6.4, §6.5)."""

from __future__ import annotations

import asyncio
import logging
from enum import StrEnum
from functools import partial
from pathlib import Path

from broker_core.client.instance import ClientInstance, answer_error
from broker_core.client.pulling import QueuePuller, number
from broker_core.client.subscription import subscribe
from broker_core.client.time_bounds import first_checked, time_of_answer
from broker_core.errors import CodecError, UsageError
from broker_core.kept_file import KeptFile
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.filter.rejection import ALL_TAGS
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, as_message_queue, emit, parse_object
from broker_core.protocol.names import retry_topic
from broker_core.transport.event_loop import finished

logger = logging.getLogger(__name__)


class ConsumeFrom(StrEnum):
    """Where a group without an offset begins; the values are RocketMQ's names in a heartbeat."""

    LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class BrokerOffsets:
    """Offsets at the brokers, shared by all members of a group."""

    def __init__(self, instance: ClientInstance, group: str) -> None:
        self._instance = instance
        self._group = group

    async def read(self, queue: MessageQueue) -> int | None:
        """The offset of the group in a queue; None when it has none. A broker answers 0 for a new group on a young queue.

        Raises `RemoteError` when the broker refuses, and `NetworkError` when no server answers.
        """
        address = await self._instance.address_of(queue)
        command = RemotingCommand(RequestCode.QUERY_CONSUMER_OFFSET, self._fields(queue))
        response = await self._instance.request(address, command)
        if response.code == ResponseCode.SUCCESS:
            return number(response, "offset", address)
        if response.code != ResponseCode.QUERY_NOT_FOUND:
            raise answer_error(address, command.code, response)
        return None

    async def write(self, queue: MessageQueue, offset: int, *, confirmed: bool = False) -> None:
        """Store an offset; with ``confirmed`` return when it is stored, else when it is sent. Raises as `read`."""
        command = RemotingCommand(RequestCode.UPDATE_CONSUMER_OFFSET, {**self._fields(queue), "commitOffset": str(offset)})
        address = await self._instance.address_of(queue)
        if confirmed:
            await self._instance.call(address, command)
        else:
            await self._instance.send_oneway(address, command)

    def _fields(self, queue: MessageQueue) -> dict[str, str]:
        return {"consumerGroup": self._group, "topic": queue.topic, "queueId": str(queue.queue_id)}


class LocalOffsets:
    """Offsets in ``path`` on this machine, in the Java client's form, with the previous state in ``.bak``."""

    def __init__(self, path: Path) -> None:
        self._file = KeptFile(path, _parse_offsets)
        self._offsets: dict[MessageQueue, int] | None = None
        self._lock = asyncio.Lock()

    async def read(self, queue: MessageQueue) -> int | None:
        """As `BrokerOffsets.read`; raises `UsageError` when neither the file nor its backup can be read."""
        return (await self._loaded()).get(queue)

    async def write(self, queue: MessageQueue, offset: int, *, confirmed: bool = False) -> None:  # noqa: ARG002  it always is
        """As `BrokerOffsets.write`; on disk when it returns. Raises `OSError` when it cannot be written."""
        offsets = await self._loaded()
        offsets[queue] = offset
        async with self._lock:
            await finished(asyncio.to_thread(self._file.write, emit({"offsetTable": dict(offsets)})))

    async def _loaded(self) -> dict[MessageQueue, int]:
        async with self._lock:
            if self._offsets is None:
                self._offsets = await finished(asyncio.to_thread(self._load))
            return self._offsets

    def _load(self) -> dict[MessageQueue, int]:
        try:
            found = self._file.read()
            if found.value is None and found.faults:
                raise UsageError(
                    f"the offsets of a broadcasting group in {self._file.path} cannot be read ({found.faults_text}): restore "
                    "the file, or remove it and its .bak to begin like a new group"
                )
            if found.is_backup:
                kept = self._file.mend(found)
                logger.warning("%s is damaged (%s), its backup is used; kept as %s", self._file.path, found.faults_text, kept)
        except OSError as error:
            raise UsageError(
                f"the offsets in {self._file.path} cannot be read: {error.strerror}. Check its permissions"
            ) from error
        return found.value or {}


OffsetStore = BrokerOffsets | LocalOffsets


def _parse_offsets(content: bytes) -> dict[MessageQueue, int]:
    table = parse_object(content).get("offsetTable")
    if not isinstance(table, dict):
        raise CodecError("it has no object “offsetTable”")
    offsets = {}
    for key, value in table.items():
        queue = as_message_queue(key)
        # A newer Java client writes a counter object instead of the plain number.
        figure = value.get("offset") if isinstance(value, dict) else value
        if queue is None or isinstance(figure, bool) or not isinstance(figure, int):
            raise CodecError(f"an entry of the offsets is none: {key!r}: {value!r}")
        offsets[queue] = figure
    return offsets


def local_offsets_path(directory: Path | None, client_id: str, group: str) -> Path:
    """The Java client's file for the offsets of a broadcasting group; ``directory`` replaces ``~/.rocketmq_offsets``."""
    root = Path.home() / ".rocketmq_offsets" if directory is None else directory
    return root / client_id.replace("/", "_") / group / "offsets.json"


async def first_offset(
    instance: ClientInstance, group: str, queue: MessageQueue, consume_from: ConsumeFrom, consume_from_ms: int
) -> int:
    """Where a group without an offset begins in a queue (Source: docs/spec/broker.md §6.4).

    Raises `RemoteError` when the broker refuses, and `NetworkError` when no server answers.
    """
    is_retry = queue.topic == retry_topic(group)
    code = RequestCode.GET_MAX_OFFSET
    if consume_from is ConsumeFrom.FIRST_OFFSET or (is_retry and consume_from is ConsumeFrom.LAST_OFFSET):
        code = RequestCode.GET_MIN_OFFSET
    elif consume_from is ConsumeFrom.TIMESTAMP and not is_retry:
        return await first_stored_from(instance, group, queue, consume_from_ms)
    return await queue_offset(instance, code, queue)


async def first_stored_from(instance: ClientInstance, group: str, queue: MessageQueue, at_ms: int) -> int:
    """The first offset stored at or after a time, the max offset if there is none; raises as `QueuePuller.pull`.

    Whatever the broker answers: the messages beside its answer are pulled, and nothing is committed.
    """
    puller, everything = QueuePuller(instance, group), subscribe(queue.topic, ALL_TAGS, 0)
    name = f"queue {queue.queue_id} of {queue.topic} on {queue.broker_name}"

    async def store_ms(offset: int) -> int:
        pulled = await puller.pull(queue, offset, everything, messages_max=1)
        if pulled.messages:
            return pulled.messages[0].stored.store_timestamp_ms
        return time_of_answer(b"", offset, pulled.next_offset, name=name)

    near = partial(queue_offset, instance, RequestCode.SEARCH_OFFSET_BY_TIMESTAMP, queue, timestamp=str(at_ms))
    first = await queue_offset(instance, RequestCode.GET_MIN_OFFSET, queue)
    end = await queue_offset(instance, RequestCode.GET_MAX_OFFSET, queue)
    return await first_checked(near, store_ms, at_ms, first, end)


async def queue_offset(instance: ClientInstance, code: RequestCode, queue: MessageQueue, **more: str) -> int:
    """One of the offsets of a queue, from its broker; raises as `ClientInstance.call`."""
    fields = {"topic": queue.topic, "queueId": str(queue.queue_id), **more}
    address = await instance.address_of(queue)
    return number(await instance.call(address, RemotingCommand(code, fields)), "offset", address)
