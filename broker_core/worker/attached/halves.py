"""Undecided transactions of a broker from outside: its half and op queue are read and matched as a broker does itself.

    from the progress that the broker's own check group has stored, halves first, then ops; the next look reads what is new

Which half messages are undecided is then known exactly, as far as the queues were read; when a producer is asked next and
what a decision was, are known inside the broker only.

Source: spec broker §4.1, §4.6.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import NamedTuple

from broker_core.cluster.answers import read_queue_places
from broker_core.cluster.link import ClusterLink, refused_as
from broker_core.engine.transaction.ledger import TransactionLedger, TransactionOutcome
from broker_core.engine.transaction.messages import HalfMessage, read_half, read_op
from broker_core.errors import RecordError, RemoteError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.record import check_record
from broker_core.protocol.transaction_topics import CHECK_GROUP, HALF_TOPIC, OP_TOPIC, QUEUE_ID
from broker_core.tools.search.cluster import split_records
from broker_core.worker.attached.browsing import bound_of

logger = logging.getLogger(__name__)

RECORDS_A_LOOK = 20_000
"""Records of one queue that are read for one look; what lies behind them is read by the next."""
SINGLES_A_LOOK = 2_000
"""The same of a queue that brokers do not let pull: the op queue of 4.x (Source: spec broker §0.3)."""
_BATCH = 32
_TIMEOUT_MS = 6_000
"""``transactionTimeOut`` as brokers have it; used for immunity times that are no numbers."""


class HalfHead(NamedTuple):
    """What a list shows of the message of a transaction."""

    keys: str
    tag: str
    unique_key: str
    body_bytes: int


class HalfQueue:
    """Undecided transactions of one broker. On one event loop.

    Args:
        link: To the cluster.
        broker: Its name.

    Attributes:
        ledger: What is undecided.
        heads: Half offset → what a list shows of it.
        unread: Records of both queues that this look has left for the next.
        op_lag: Op records that are still needed.
    """

    def __init__(self, link: ClusterLink, broker: str) -> None:
        self._link = link
        self._broker = broker
        self.ledger: TransactionLedger | None = None
        self.heads: dict[int, HalfHead] = {}
        self.unread = 0
        self.op_lag = 0
        self._has_warned = False
        self._turn = asyncio.Lock()

    async def look(self) -> None:
        """Take in what is new since the last look; looks come one after the other, as records must.

        Raises:
            NetworkError: The broker does not answer.
            RemoteError: It refuses.
            CodecError: Its answer cannot be read.
        """
        async with self._turn:
            await self._look()

    async def _look(self) -> None:
        half_progress, op_progress = await self._progress(HALF_TOPIC), await self._progress(OP_TOPIC)
        if self.ledger is None or half_progress > self.ledger.half_end:
            self.ledger, self.heads = TransactionLedger(half_start=half_progress, op_start=op_progress), {}
        ledger = self.ledger
        # Halves first: an op that is read names a half that is known, or one that came while the halves were read.
        left = await self._take(HALF_TOPIC, ledger.half_end, lambda record: self._half(ledger, record))
        left += await self._take(OP_TOPIC, max(ledger.op_end, op_progress), lambda record: ledger.op_arrived(*read_op(record)))
        for half in list(ledger):
            if half.half_offset < half_progress:
                ledger.resolve(half, TransactionOutcome.DECIDED)
        self.unread = left
        self.op_lag = ledger.op_end - ledger.op_progress  # asking for the progress is also what lets go of older op records
        live = {half.half_offset for half in ledger}
        self.heads = {offset: head for offset, head in self.heads.items() if offset in live}

    async def _progress(self, topic: str) -> int:
        """How far the broker is done with a queue; its beginning where it stored nothing."""
        queue = MessageQueue(topic, self._broker, QUEUE_ID)
        stored = await self._link.stored_offset(CHECK_GROUP, queue)
        return max(stored, await bound_of(self._link, RequestCode.GET_MIN_OFFSET, queue))

    async def _take(self, topic: str, offset: int, take: Callable[[memoryview], None]) -> int:
        """Read a queue from an offset to its end, but not too much of it; returns how much is left."""
        queue = MessageQueue(topic, self._broker, QUEUE_ID)
        end = await bound_of(self._link, RequestCode.GET_MAX_OFFSET, queue)
        stop = min(end, offset + RECORDS_A_LOOK)
        address = self._link.address_of(self._broker)
        while offset < stop:
            try:
                body, following = await self._link.pull_records(address, queue, offset, min(_BATCH, stop - offset))
            except RemoteError as error:
                if not refused_as(error, ResponseCode.TOPIC_NOT_EXIST):
                    raise
                following = await self._take_singly(queue, offset, min(stop, offset + SINGLES_A_LOOK), take)
                return max(end - following, 0)
            if following <= offset:
                break
            for record in split_records(body):
                self._take_one(record, take)
            offset = following
        return max(end - offset, 0)

    async def _take_singly(self, queue: MessageQueue, offset: int, stop: int, take: Callable[[memoryview], None]) -> int:
        """Read a queue that the broker does not let pull, as its topic is in no table; returns where to go on.

        Its consume queue says where the records are, and they are asked for one by one.
        """
        while offset < stop:
            fields = {"topic": queue.topic, "queueId": str(queue.queue_id), "index": str(offset), "count": str(_BATCH)}
            answer = await self._link.ask(self._broker, RemotingCommand(RequestCode.QUERY_CONSUME_QUEUE, fields))
            places = read_queue_places(answer.body)[: stop - offset]
            if not places:
                break
            for place in places:
                view = RemotingCommand(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(place)})
                self._take_one(bytes((await self._link.ask(self._broker, view)).body), take)
            offset += len(places)
        return offset

    def _take_one(self, record: bytes, take: Callable[[memoryview], None]) -> None:
        try:
            take(memoryview(record))
        except RecordError as error:
            if not self._has_warned:
                self._has_warned = True
                logger.warning(
                    "undecided transactions of %s are shown without a record that cannot be read: %s", self._broker, error
                )

    def _half(self, ledger: TransactionLedger, record: memoryview) -> None:
        half: HalfMessage = read_half(record, timeout_ms=_TIMEOUT_MS)
        ledger.half_arrived(half)
        parts = check_record(record, 0, len(record), check_crc=False)
        found = props.decode_properties(parts.properties)
        self.heads[half.half_offset] = HalfHead(
            found.get(props.KEYS, ""), found.get(props.TAGS, ""), found.get(props.UNIQUE_KEY, ""), parts.head.body_bytes
        )
