"""Records of a queue from an offset on, however a broker gives them, and patience with one that does not answer.

Reads as the group of tools (`broker_core.client.record_admin`), so nobody's offsets move.

Source: spec remoting §2.2.3 (pulls), §2.5.5 (QUERY_CONSUME_QUEUE); broker §0.3 (queues that nobody may pull).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from broker_core.cluster.model import QueueSlice
from broker_core.cluster.queue_client import QueueClient
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.admin.offsets import read_offset, read_queue_units
from broker_core.protocol.codes import BUSY_CODES, RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue

_T = TypeVar("_T")

PULL_MESSAGES = 256
"""Asked for in one pull; a broker gives what its own bounds allow, 32 by default."""
_SINGLE_MESSAGES = 32
_PAUSE_SECONDS = 0.5


class BrokerPatience:
    """Asks again while a broker does not answer; one that did not come back is not waited for a second time.

    Args:
        retry_seconds: How long it is asked again.
        monotonic: Seconds.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        retry_seconds: float,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._retry_seconds = retry_seconds
        self._monotonic = monotonic
        self._sleep = sleep
        self._lost: dict[str, NetworkError | RemoteError] = {}

    async def ask(self, address: str, ask: Callable[[], Awaitable[_T]]) -> _T:
        """The answer of a broker.

        Raises:
            NetworkError: It does not answer, now or since an earlier question.
            RemoteError: It refuses.
        """
        if address in self._lost:
            raise self._lost[address]
        until = self._monotonic() + self._retry_seconds
        while True:
            try:
                return await ask()
            except (NetworkError, RemoteError) as error:
                if isinstance(error, RemoteError) and error.context.get("code") not in BUSY_CODES:
                    raise
                if self._monotonic() + _PAUSE_SECONDS > until:
                    self._lost[address] = error
                    raise
            await self._sleep(_PAUSE_SECONDS)


class RecordPuller:
    """Asks brokers for records. On one event loop.

    Args:
        client: To the cluster; it need not be started, as no name server is asked.
        patience: With brokers.
    """

    def __init__(self, client: QueueClient, patience: BrokerPatience) -> None:
        self._client = client
        self._patience = patience

    async def records(self, part: QueueSlice, offset: int, count: int) -> tuple[bytes, int]:
        """Records of the slice's queue from an offset on, at most ``count``, and the offset to go on at.

        Raises:
            NetworkError: The broker does not answer.
            RemoteError: It refuses.
            CodecError: Its answer cannot be read.
        """
        if part.singly:
            return await self._singly(part, offset, min(count, _SINGLE_MESSAGES))
        queue = MessageQueue(part.topic, part.broker, part.queue_id)
        try:
            return await self._patience.ask(
                part.address, lambda: self._client.pull_records(part.address, queue, offset, min(count, PULL_MESSAGES))
            )
        except RemoteError as error:
            # The op queue of 4.x has messages and no topic.
            if error.context.get("code") != ResponseCode.TOPIC_NOT_EXIST:
                raise
            return await self._singly(part, offset, min(count, _SINGLE_MESSAGES))

    async def min_offset(self, part: QueueSlice) -> int:
        """Where the slice's queue begins now; raises as `records`."""
        fields = {"topic": part.topic, "queueId": str(part.queue_id)}
        answer = await self._call(part.address, RequestCode.GET_MIN_OFFSET, fields)
        return read_offset(answer.ext_fields)

    async def _singly(self, part: QueueSlice, offset: int, count: int) -> tuple[bytes, int]:
        """The consume queue says where the records are, and they are asked for one by one."""
        fields = {"topic": part.topic, "queueId": str(part.queue_id), "index": str(offset), "count": str(count)}
        answer = await self._call(part.address, RequestCode.QUERY_CONSUME_QUEUE, fields)
        places = [unit.physical_offset for unit in read_queue_units(answer.body)][:count]
        found = await asyncio.gather(*(self._record_at(part.address, place) for place in places))
        return b"".join(found), offset + len(places)

    async def _record_at(self, address: str, physical_offset: int) -> bytes:
        """One record; empty where the broker has it no more."""
        try:
            answer = await self._call(address, RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(physical_offset)})
        except RemoteError as error:
            if error.context.get("code") != ResponseCode.SYSTEM_ERROR:
                raise
            return b""
        return bytes(answer.body)

    async def _call(self, address: str, code: RequestCode, fields: dict[str, str]) -> RemotingCommand:
        return await self._patience.ask(address, lambda: self._client.call(address, code, fields))
