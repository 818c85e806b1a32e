"""Transactions of a cluster for the window's list, from the half and op queues of its brokers.

The queues are read from outside and matched as a broker does itself,

    from the progress that the broker's own check group has stored, halves first, then ops; the next look reads what is new

The undecided half messages are then known exactly, as far as the queues were read. Only the broker itself knows when it asks a
producer next and what a decision was.

Source: docs/spec/broker.md §4.1, §4.6.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.engine.transaction.ledger import TransactionLedger, TransactionOutcome
from broker_core.engine.transaction.messages import HalfMessage, read_half, read_op
from broker_core.errors import RecordError, UsageError
from broker_core.protocol.admin.connections import read_members
from broker_core.protocol.admin.values import whole_number
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.message_id import offset_message_id
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import CHECK_GROUP, HALF_TOPIC, OP_TOPIC, TRANSACTION_QUEUE_ID
from broker_core.worker.attached.browsing import record_of
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.lost_brokers import LostParts, body_unless
from broker_core.worker.columns import columns_of
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.transactions import ListTransactions, ResumeTransaction, TransactionPage
from broker_core.worker.transaction_search import HalfHead, half_head
from broker_core.worker.transactions import check_page

logger = logging.getLogger(__name__)

RECORDS_A_LOOK = 20_000
"""Records of one queue that one look reads; the next look reads the following ones."""
SINGLES_A_LOOK = 2_000
"""The same of a queue that brokers do not let pull: the op queue of 4.x (Source: docs/spec/broker.md §0.3)."""
_TIMEOUT_MS = 6_000
"""The brokers' default of ``transactionTimeOut``; used for immunity times that are no numbers."""
_UNKNOWN = -1
_PRODUCERS_KEPT_S = 10.0
"""How long the number of a group's producers counts as true."""


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


class _BrokerHalf(NamedTuple):
    broker: str
    half: HalfMessage
    head: HalfHead
    op_end: int


class ClusterTransactions:
    """Lists undecided transactions and resumes given-up ones; ``monotonic`` returns seconds. On one event loop."""

    def __init__(self, link: ClusterLink, figures: ClusterFigures, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._figures = figures
        self._monotonic = monotonic
        self._queues: dict[str, HalfQueue] = {}
        self._producers: dict[tuple[str, str], tuple[float, int]] = {}

    def handlers(self) -> list[Handler]:
        return [ListTransactions.answered_by(self.list_undecided), ResumeTransaction.answered_by(self.resume)]

    async def list_undecided(self, query: ListTransactions) -> TransactionPage:
        """One page, broker after broker; a notice names those that do not answer.

        Raises:
            UsageError: The page is empty, too large or before the first, or ended ones are asked for.
            NetworkError: No broker answers; so `RemoteError` and `CodecError`, when it answers otherwise.
        """
        if query.ended:
            raise UsageError(
                "how a transaction ended is known inside a broker only: an op record says that it was decided, not which way. "
                "Search for its key: a committed message is in its topic"
            )
        check_page(query.start, query.count)
        words = query.words.casefold().split()
        lost = LostParts(self._figures)
        found = [row for row in await self._looked(lost) if _is_meant(row, query.group, words)]
        rows = found[query.start : query.start + query.count]
        producers = {(row.broker, row.half.group): _UNKNOWN for row in rows if row.half.group}
        await self._count_living(producers, lost)
        living = [producers.get((row.broker, row.half.group), _UNKNOWN) for row in rows]
        return replace(self._page(len(found), rows, living), notice=lost.notice())

    async def resume(self, command: ResumeTransaction) -> Done:
        """Have a broker put a given-up message back into its half queue (docs/spec/remoting.md §2.5.8)."""
        broker, physical_offset = self._link.numbers.place_of(command.physical_offset)
        record = decode_record(await record_of(self._link, broker, physical_offset))
        fields = {"msgId": offset_message_id(record.store_host, physical_offset), "topic": record.topic}
        await self._link.ask(broker, RemotingCommand(RequestCode.RESUME_CHECK_HALF_MESSAGE, fields))
        return Done()

    async def _looked(self, lost: LostParts) -> list[_BrokerHalf]:
        """Undecided transactions of the brokers that answer; the others are noted."""
        rows: dict[str, list[_BrokerHalf]] = {}

        async def ask(broker: str) -> None:
            queue = self._queues.setdefault(broker, HalfQueue(self._link, broker))
            await queue.look()
            rows[broker] = found = list(_rows(broker, queue))
            self._figures.undecided_counted(
                broker, len(found), sum(row.half.check_times > 0 for row in found), unread=queue.unread
            )

        await lost.each(self._link.numbers.names, ask, within_ms=self._link.settings.page_ms)
        return [row for broker in self._link.numbers.names for row in rows.get(broker, [])]

    async def _count_living(self, producers: dict[tuple[str, str], int], lost: LostParts) -> None:
        """Count the producers of groups, each on its broker; without an answer they stay unknown."""

        async def ask(broker: str) -> None:
            for asked, group in list(producers):
                if asked == broker:
                    producers[broker, group] = await self._living(broker, group)

        brokers = {broker for broker, _group in producers}
        await asyncio.gather(*(lost.one(broker, ask, within_ms=self._link.settings.page_ms) for broker in brokers))

    async def _living(self, broker: str, group: str) -> int:
        asked_s, count = self._producers.get((broker, group), (-_PRODUCERS_KEPT_S, _UNKNOWN))
        now_s = self._monotonic()
        if now_s - asked_s < _PRODUCERS_KEPT_S:
            return count
        command = RemotingCommand(RequestCode.GET_PRODUCER_CONNECTION_LIST, {"producerGroup": group})
        # Brokers answer so when no producer of the group is connected.
        count = len(read_members(await body_unless(self._link.ask(broker, command), ResponseCode.SYSTEM_ERROR)))
        self._producers = {key: kept for key, kept in self._producers.items() if now_s - kept[0] < _PRODUCERS_KEPT_S}
        self._producers[broker, group] = (now_s, count)
        return count

    def _page(self, total: int, rows: list[_BrokerHalf], producers: list[int]) -> TransactionPage:
        numbers = self._link.numbers
        unknown = [_UNKNOWN] * len(rows)
        times_max = [self._figures.of(row.broker).config.get("transactionCheckMax") for row in rows]
        return TransactionPage(
            total=total,
            check_times_max=max((number for text in times_max if (number := whole_number(text)) is not None), default=_UNKNOWN),
            origin=[numbers.shown_place(row.broker, row.half.origin) for row in rows],
            **columns_of([row.half for row in rows], ("half_offset", "group", "topic", "born_ms", "check_times")),
            **columns_of([row.head for row in rows], HalfHead._fields),
            op_offset=[row.op_end for row in rows],
            physical_offset=[numbers.shown_place(row.broker, row.half.physical_offset) for row in rows],
            real_offset=unknown,
            state=[_state(row.half, living) for row, living in zip(rows, producers, strict=True)],
            producers=producers,
            queue_id=[numbers.shown_queue(row.broker, row.half.queue_id) if row.half.queue_id >= 0 else -1 for row in rows],
            asked_ms=unknown,
            next_check_ms=unknown,
            ended_ms=unknown,
        )


def _rows(broker: str, queue: HalfQueue) -> Iterator[_BrokerHalf]:
    if queue.ledger is not None:
        for half in queue.ledger:
            yield _BrokerHalf(broker, half, queue.heads.get(half.half_offset, HalfHead()), queue.ledger.op_end)


def _is_meant(row: _BrokerHalf, group: str, words: list[str]) -> bool:
    if group and row.half.group != group:
        return False
    parts = (row.half.topic, row.half.group, row.head.keys, row.head.tag, row.head.unique_key)
    text = " ".join(parts).casefold()
    return all(word in text for word in words)


def _state(half: HalfMessage, producers: int) -> str:
    if producers == 0:
        return "waiting"
    return "checking" if half.check_times else "prepared"
