"""Copies messages to one target queue: one request after the other, so that every source queue keeps its order.

After a request without an answer the copier first reads the target queue: messages found there are copied, and only the others
are sent again, and reported as messages that may be there twice. After a restart it does the same before the first request.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby

from broker_core.client.admin import AdminClient
from broker_core.client.send_outcome import may_be_stored
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import OrbitError, RecordError, RemoteError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.tools.copying.control import FAULTS, CopyControl, CopyStoppedError
from broker_core.tools.copying.copied_message import copied_message, is_copy_of
from broker_core.tools.copying.reading import PartReader, SourceRead
from broker_core.tools.copying.receipt import CopyReceipt
from broker_core.tools.replay.item import ReplayItem, item_of_message
from broker_core.tools.replay.rewrite import Outgoing, Skipped
from broker_core.tools.replay.send_batch import RawSender, ReadyMessage, SendBatch

SEND_TIMEOUT_MS = 10_000
LOOKED_AT_MAX = 100_000
LOOKED_AT_BYTES_MAX = 64 * 1024 * 1024
"""Messages of the target queue, and their bodies, that are searched for one that may have arrived."""
_NEVER_TAKEN = frozenset((ResponseCode.MESSAGE_ILLEGAL,))


class QueueCopier:
    """All parts of one target queue; parts that share it are merged by store time.

    Args:
        readers: One for each part, at its next offset.
        target: Reads the target queue.
        sender: Sends to the target; must not create topics.
    """

    def __init__(
        self,
        queue: MessageQueue,
        readers: Sequence[PartReader],
        *,
        receipt: CopyReceipt,
        target: AdminClient,
        sender: RawSender,
        control: CopyControl,
    ) -> None:
        self._queue = queue
        self._readers = {reader.part.number: reader for reader in readers}
        self._receipt = receipt
        self._target = target
        self._sender = sender
        self._control = control
        self._target_end = max(receipt.parts[number].target_end for number in self._readers)
        self._maybe_sent = {number: receipt.parts[number].handed for number in self._readers}
        """CopyPart → source offset below which a message may be at the target without a line in the receipt."""
        self._handed: dict[int, int] = {}
        self._held: ReadyMessage | None = None
        self._what = f"sending to queue {queue.queue_id} of {queue.topic} on {queue.broker_name}"

    async def run(self) -> None:
        """Copy the remaining messages; raises `CopyStoppedError` after running requests have ended."""
        try:
            if self._receipt.is_resumed:
                await self._take_arrived()
            while (batch := await self._batch()) is not None:
                await self._control.turn(len(batch.messages))
                await self._deliver(batch)
        finally:
            # Messages that were read and not sent are surely not there.
            for number, maybe_sent in self._maybe_sent.items():
                self._receipt.hand_on(number, max(self._receipt.parts[number].next_offset, maybe_sent))

    # ---- next message --------------------------------------------------------------------------------------------------

    async def _next(self) -> tuple[PartReader, SourceRead] | None:
        """The reader whose message was stored first, and that message; a place without a message is returned at once."""
        first: tuple[PartReader, SourceRead] | None = None
        first_ms = 0
        for reader in self._readers.values():
            found = await reader.head()
            if found is None:
                continue
            if found.item is None:
                return reader, found
            if first is None or found.item.store_timestamp_ms < first_ms:
                first, first_ms = (reader, found), found.item.store_timestamp_ms
        return first

    async def _ready(self, *, alone: bool) -> ReadyMessage | None:
        """Take the next message that can be sent.

        A message that cannot be sent stays, unless it is ``alone``: all before it is done, and it is recorded and skipped.
        """
        while (found := await self._next()) is not None:
            reader, place = found
            number = reader.part.number
            message = _outgoing(place)
            if isinstance(message, Outgoing) and place.item is not None:
                self._hand_on(reader)
                reader.take()
                return ReadyMessage(number, place.item, message, encode_properties(message.properties))
            if not alone:
                return None
            if isinstance(message, Skipped):
                self._receipt.left_out(number, place.offset, message.reason)
            else:
                self._receipt.gone(number, place.offset, place.count)
            reader.take()
        return None

    def _hand_on(self, reader: PartReader) -> None:
        number, up_to = reader.part.number, reader.read_up_to
        if self._handed.get(number) != up_to:
            self._handed[number] = up_to
            self._receipt.hand_on(number, max(up_to, self._maybe_sent[number]))

    async def _batch(self) -> SendBatch | None:
        batch = SendBatch(self._queue)
        while True:
            ready, self._held = self._held, None
            if ready is None:
                ready = await self._ready(alone=not batch.messages)
            if ready is None:
                return batch if batch.messages else None
            if not batch.takes(ready) or len(batch.messages) >= self._control.messages_at_once:
                self._held = ready
                return batch
            batch.add(ready)

    # ---- sending -------------------------------------------------------------------------------------------------------

    async def _deliver(self, batch: SendBatch) -> None:
        began_s, attempt = self._control.now_s, 0
        messages = batch.messages
        while messages:
            try:
                raw = SendBatch(self._queue, list(messages)).raw()
                result = await self._control.answered(self._sender.send_raw(raw, self._queue, timeout_ms=SEND_TIMEOUT_MS))
            except CopyStoppedError:
                self._note_maybe_sent(messages)
                raise
            except FAULTS as error:
                if isinstance(error, RemoteError) and error.context.get("code") in _NEVER_TAKEN:
                    await self._refused(messages, error)
                    break
                may_be_there = may_be_stored(error)
                if may_be_there:
                    self._note_maybe_sent(messages)
                await self._control.wait_out(self._what, error, attempt, began_s)
                attempt += 1
                if may_be_there:
                    messages = self._without_arrived(messages, await self._look())
            else:
                before = self._target_end
                self._note_sent(messages, result.queue_offset)
                self._check_held(before, result.queue_offset)
                break
        self._control.is_over(self._what)

    def _note_maybe_sent(self, messages: Sequence[ReadyMessage]) -> None:
        for ready in messages:
            self._maybe_sent[ready.number] = max(self._maybe_sent[ready.number], ready.item.queue_offset + 1)

    async def _refused(self, messages: Sequence[ReadyMessage], error: OrbitError) -> None:
        """Send the messages of a refused batch one by one; a message refused alone is left out."""
        if len(messages) > 1:
            for ready in messages:
                await self._deliver(SendBatch(self._queue, [ready]))
            return
        self._receipt.left_out(messages[0].number, messages[0].item.queue_offset, error.message)

    def _check_held(self, end: int, at: int) -> None:
        """End the copy if a message was stored before the known end of the target queue.

        Its topic was deleted and created again, or a slave that lacked the newest messages became master.
        """
        if at >= end:
            return
        queue = self._queue
        text = (
            f"the target lost messages that it had acknowledged: queue {queue.queue_id} of {queue.topic} on "
            f"{queue.broker_name} ended at {end:,} and goes on at {at:,}. Begin a new copy"
        )
        self._control.stop(text, for_good=True)
        self._control.check()

    def _note_sent(self, messages: Sequence[ReadyMessage], at: int) -> None:
        def run_of(place: int) -> tuple[int, int, bool]:
            ready = messages[place]
            offset = ready.item.queue_offset
            return ready.number, offset - place, offset < self._maybe_sent[ready.number]

        for (number, _distance, twice), places in groupby(range(len(messages)), run_of):
            run = list(places)
            first = messages[run[0]].item.queue_offset
            self._receipt.copied(number, first, len(run), at + run[0], maybeTwice=twice)
        self._target_end = at + len(messages)

    # ---- arrived messages ----------------------------------------------------------------------------------------------

    async def _take_arrived(self) -> None:
        """After a restart: skip messages that are at the target without a line in the receipt."""
        arrived = await self._look()
        while arrived and self._held is None:
            ready = await self._ready(alone=True)
            if ready is None:
                return
            if self._without_arrived([ready], arrived):
                self._held = ready

    def _without_arrived(self, messages: Sequence[ReadyMessage], arrived: deque[tuple[int, ReplayItem]]) -> list[ReadyMessage]:
        """Record the first messages if they are at the target, and remove them from ``arrived``; returns the others."""
        for place, ready in enumerate(messages):
            behind = next((step for step, (_at, item) in enumerate(arrived) if is_copy_of(item, ready.message)), None)
            if behind is None:
                return list(messages[place:])
            for _step in range(behind):
                arrived.popleft()
            at, _item = arrived.popleft()
            self._receipt.copied(ready.number, ready.item.queue_offset, 1, at, found=True)
            self._target_end = at + 1
        return []

    async def _look(self) -> deque[tuple[int, ReplayItem]]:
        """Messages in the target queue after the last one that is known to be there."""
        queue = self._queue
        return await self._control.through(f"looking at queue {queue.queue_id} of {queue.topic}", self._looked)

    async def _looked(self) -> deque[tuple[int, ReplayItem]]:
        queue, found = self._queue, deque[tuple[int, ReplayItem]]()
        address = (await self._target.readable_route(queue.topic)).address_of(queue.broker_name)
        if address is None:
            raise RemoteError(f"broker {queue.broker_name} is not known to the name server", code=ResponseCode.TOPIC_NOT_EXIST)
        place = QueueSlice(queue.topic, queue.broker_name, address, queue.queue_id, self._target_end, self._target_end)
        puller = Puller(self._target)
        seen_bytes = 0
        part = replace(place, end=await puller.max_offset(place))
        async for pulled in puller.through(part, part.first):
            seen_bytes += len(pulled.body)
            for record in pulled.records():
                with contextlib.suppress(RecordError):  # an unreadable record is not a copy
                    message = decode_record(record)
                    found.append((message.queue_offset, item_of_message(message)))
            if len(found) >= LOOKED_AT_MAX or seen_bytes >= LOOKED_AT_BYTES_MAX:
                break
        return found


def _outgoing(place: SourceRead) -> Outgoing | Skipped | None:
    if place.item is not None:
        return copied_message(place.item)
    return Skipped(place.reason) if place.reason else None
