"""Undecided transactions of a broker from outside: its half and op queue are read and matched as a broker does itself.

    from the progress that the broker's own check group has stored, halves first, then ops; the next look reads what is new

The undecided half messages are then known exactly, as far as the queues were read. Only the broker itself knows when it asks a
producer next and what a decision was.

Source: docs/spec/broker.md §4.1, §4.6.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.engine.transaction.ledger import TransactionLedger, TransactionOutcome
from broker_core.engine.transaction.messages import HalfMessage, read_half, read_op
from broker_core.errors import RecordError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import CHECK_GROUP, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID
from broker_core.worker.transaction_search import HalfHead, half_head

logger = logging.getLogger(__name__)

RECORDS_A_LOOK = 20_000
"""Records of one queue that one look reads; the next look reads the following ones."""
SINGLES_A_LOOK = 2_000
"""The same of a queue that brokers do not let pull: the op queue of 4.x (Source: docs/spec/broker.md §0.3)."""
_TIMEOUT_MS = 6_000
"""The brokers' default of ``transactionTimeOut``; used for immunity times that are no numbers."""


class HalfQueue:
    """Undecided transactions of one broker. On one event loop.

    Attributes:
        ledger: The undecided transactions.
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
        """Read what is new since the last look. Looks take turns, because records are read in order. Raises as `Puller`."""
        async with self._turn:
            await self._look()

    async def _look(self) -> None:
        half_progress, op_progress = await self._progress(HALF_TOPIC), await self._progress(OP_TOPIC)
        if self.ledger is None or half_progress > self.ledger.half_end:
            self.ledger, self.heads = TransactionLedger(half_start=half_progress, op_start=op_progress), {}
        ledger = self.ledger
        # Halves first: an op then names a half that is known, or one that arrived while the halves were read.
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
        """How far the broker is done with a queue; its beginning without a stored offset."""
        queue = MessageQueue(topic, self._broker, TRANSACTION_QUEUE_ID)
        stored = await self._link.stored_offset(CHECK_GROUP, queue)
        return max(stored, await Puller(self._link).min_offset(self._link.slice_of(queue)))

    async def _take(self, topic: str, offset: int, take: Callable[[memoryview], None]) -> int:
        """Read a queue from an offset to its end, within the limits of a look; returns the records left."""
        puller = Puller(self._link)
        part = self._link.slice_of(MessageQueue(topic, self._broker, TRANSACTION_QUEUE_ID))
        end = await puller.max_offset(part)
        stop, singles_stop = min(end, offset + RECORDS_A_LOOK), offset + SINGLES_A_LOOK
        async for pulled in puller.through(replace(part, end=stop), offset):
            for record in pulled.records():
                self._take_one(record, take)
            offset = pulled.following
            if offset >= singles_stop and puller.reads_singly(part):
                break
        return max(end - offset, 0)

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
        self.heads[half.half_offset] = half_head(record)
