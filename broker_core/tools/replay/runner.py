"""Sends the messages of a journal, with pace, pause and stop, and records the result of each.

    journal ── outgoing ── batches (messages of one queue that fit one request) ── up to 64 running sends ── journal

Messages of one queue are sent in order on one connection; a message that the broker is too busy for is repeated, and may then
be stored after later ones.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from broker_core.client.message import SendResult
from broker_core.client.send_outcome import may_be_stored
from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError, UsageError
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.properties import UNIQUE_KEY, encode_properties
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.journal import ReplayJournal, Result
from broker_core.tools.replay.rewrite import Outgoing, Skipped, outgoing
from broker_core.tools.replay.send_batch import RawSender, ReadyMessage, SendBatch

GATHERED_MESSAGES_MAX = 512
GATHERED_BYTES_MAX = 4 * 1024 * 1024
SENDS_UNDER_WAY_MAX = 64
SEND_TIMEOUT_MS = 10_000
STOP_GRACE_S = 0.5
"""How long a stopped replay waits for pending answers; messages unanswered by then are in doubt."""
BUSY_PAUSES_S = (0.1, 0.4, 1.6, 3.2)
"""Waits before repeats of a message that the broker was too busy for."""
_BUSY = frozenset((ResponseCode.SYSTEM_BUSY,))


class ReplaySender(RawSender, Protocol):
    """The part of a producer that a replay uses."""

    async def queues(self, topic: str) -> list[MessageQueue]:
        """Queues for messages of a topic."""


@dataclass(frozen=True, slots=True)
class ReplaySurroundings:
    """A runner's clocks, waits and ids.

    Attributes:
        monotonic_s: A clock that only rises.
        wait: Waits for some seconds, or until a change is signalled.
        now_ms: Milliseconds since the epoch, for the receipt.
    """

    monotonic_s: Callable[[], float]
    wait: Callable[[float], Awaitable[None]]
    now_ms: Callable[[], int]
    new_id: Callable[[], str]


class ReplayRunner:
    """One run of a replay, on one event loop, with an open journal and a started producer of the target cluster.

    Args:
        failures_max: Failures after which it stops; the rest can be sent by a later run. A message that its broker never takes
            is none.
        one_by_one: Send each message after the answer to the one before, and count only consecutive failures, of any kind.
    """

    def __init__(
        self,
        journal: ReplayJournal,
        sender: ReplaySender,
        outside: ReplaySurroundings,
        *,
        failures_max: int,
        one_by_one: bool = False,
    ) -> None:
        if failures_max < 1:
            raise UsageError(f"a replay stops after 1 failure or more, not {failures_max}")
        self.stopped_because = ""
        """Why it ended before its last message."""
        self.last_failure = ""
        self._journal = journal
        self._sender = sender
        self._outside = outside
        self._failures_max = failures_max
        self._one_by_one = one_by_one
        self._failures = 0
        """Refused or unanswered messages: in this run, or since the last one sent."""
        self._queues: dict[str, list[MessageQueue]] = {}
        self._opened: set[tuple[str, str]] = set()
        self._slots = asyncio.Semaphore(SENDS_UNDER_WAY_MAX)
        self._under_way: set[asyncio.Task[None]] = set()
        self._gathered: list[ReadyMessage] = []
        self._gathered_bytes = 0
        self._skipped: list[Result] = []
        self._fault: BaseException | None = None
        self._is_paused = False
        self._paused_s = 0.0
        self._stopping = asyncio.Event()
        self._asking: asyncio.Task[list[MessageQueue]] | None = None
        """Request for the queues of a topic."""

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    def pause(self) -> None:
        """Send nothing more until `resume`; running sends are finished."""
        self._is_paused = True

    def resume(self) -> None:
        """Continue at the same pace, without catching up."""
        self._is_paused = False

    def stop(self, reason: str) -> None:
        """End soon, whether brokers answer or not; a later run can continue."""
        self._end(reason)
        self._stopping.set()

    def _end(self, reason: str) -> None:
        """Send nothing more; pending answers are awaited."""
        self.stopped_because = self.stopped_because or reason

    async def run(self) -> None:
        """Send the remaining messages, in order, and wait for the answers."""
        pace = self._journal.plan.pace
        began_s, first_ms, count = self._outside.monotonic_s(), None, 0
        giving_up = asyncio.create_task(self._give_up_when_stopped(), name="replay stop")
        try:
            for number, order_ms, item in self._journal.open_items():
                first_ms = order_ms if first_ms is None else first_ms
                if pace.is_limited or self._is_paused:
                    await self._until(began_s, pace.due_s(count, order_ms - first_ms))
                if self.stopped_because:
                    break
                count += 1
                self._gather(number, item)
                if self._one_by_one:
                    await self._send_alone()
                elif len(self._gathered) + len(self._skipped) >= GATHERED_MESSAGES_MAX or self._is_heavy():
                    await self._send_gathered()
            if not self.stopped_because:
                await self._send_gathered()
        finally:
            if self._under_way:
                await asyncio.wait(set(self._under_way))
            giving_up.cancel()
            self._journal.sync()
        if self._fault is not None:
            raise self._fault

    async def _send_alone(self) -> None:
        """Send the gathered message after all pending answers, which decide whether to continue."""
        if self._under_way:
            await asyncio.wait(set(self._under_way))
        if not self._is_stopping():
            await self._send_gathered()

    async def _give_up_when_stopped(self) -> None:
        """Once stopped, wait at most `STOP_GRACE_S` for brokers."""
        await self._stopping.wait()
        await asyncio.sleep(STOP_GRACE_S)
        waiting: set[asyncio.Task[Any]] = {*self._under_way, *([self._asking] if self._asking else [])}
        for task in waiting:
            task.cancel()

    def _is_heavy(self) -> bool:
        return self._gathered_bytes >= GATHERED_BYTES_MAX

    async def _until(self, began_s: float, due_s: float) -> None:
        """Wait until a message is due, and during a pause."""
        clock = self._outside.monotonic_s
        while not self._is_stopping():
            left_s = began_s + self._paused_s + due_s - clock()
            if left_s <= 0 and not self._is_paused:
                return
            await self._send_gathered()
            if self._is_stopping():  # stopped while sending: the wait would miss it
                return
            waited_from_s = clock()
            if self._is_paused:
                await self._outside.wait(3600.0)
                self._paused_s += clock() - waited_from_s
            else:
                await self._outside.wait(left_s)

    def _is_stopping(self) -> bool:
        return bool(self.stopped_because)

    def _gather(self, number: int, item: ReplayItem) -> None:
        target = self._journal.plan.target
        message = outgoing(item, target)
        if isinstance(message, Skipped):
            self._skipped.append(Result(number, item, "skipped", {"reason": message.reason}))
            return
        if target.any_queue:
            message = message._replace(queue_id=number)
        if target.new_ids:
            message.properties[UNIQUE_KEY] = self._outside.new_id()
        ready = ReadyMessage(number, item, message, encode_properties(message.properties))
        self._gathered.append(ready)
        self._gathered_bytes += ready.bytes

    async def _send_gathered(self) -> None:
        gathered, self._gathered, self._gathered_bytes = self._gathered, [], 0
        skipped, self._skipped = self._skipped, []
        if skipped:
            self._journal.note(skipped)
        if not gathered:
            await asyncio.sleep(0)  # others get their turn
            return
        batches = await self._batches(gathered)
        if self._is_stopping():
            return
        self._journal.hand_on([ready.number for batch in batches for ready in batch.messages])
        for index, batch in enumerate(batches):
            await self._slots.acquire()
            if self.stopped_because:
                self._slots.release()
                self._journal.hold([ready.number for kept in batches[index:] for ready in kept.messages])
                return
            task = asyncio.create_task(self._send(batch), name="replay send")
            self._under_way.add(task)
            task.add_done_callback(self._ended)
            if (batch.queue.topic, batch.queue.broker_name) not in self._opened:
                # The first send connects and registers; without this wait later ones would overtake it.
                self._opened.add((batch.queue.topic, batch.queue.broker_name))
                await asyncio.wait({task})

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        error = task.exception()
        if error is not None:
            self._fault = self._fault or error
            self._end("of a fault of Orbit itself")

    async def _batches(self, gathered: Sequence[ReadyMessage]) -> list[SendBatch]:
        batches: list[SendBatch] = []
        last: dict[MessageQueue, SendBatch] = {}
        unknown: dict[str, str] = {}
        for ready in gathered:
            topic = ready.message.topic
            if topic not in unknown:
                try:
                    queue = await self._queue(ready.message)
                except asyncio.CancelledError:
                    if not self.stopped_because:
                        raise
                    return []  # nothing of it is on its way
                except (RemoteError, NetworkError, UsageError) as error:
                    # Once for all messages of the topic, because a name server that does not answer takes seconds each time.
                    unknown[topic] = error.message
            if topic in unknown:
                self._note_failure([ready], unknown[topic], maybe_stored=False)
                continue
            batch = last.get(queue)
            if batch is None or not batch.takes(ready):
                batch = last[queue] = SendBatch(queue)
                batches.append(batch)
            batch.add(ready)
        return batches

    async def _queue(self, message: Outgoing) -> MessageQueue:
        queues = self._queues.get(message.topic)
        if queues is None:
            self._asking = asyncio.ensure_future(self._sender.queues(message.topic))
            try:
                queues = self._queues[message.topic] = await self._asking
            finally:
                self._asking.cancel()
                self._asking = None
        return queues[message.queue_id % len(queues)]

    async def _send(self, batch: SendBatch) -> None:
        try:
            await self._deliver(batch)
        finally:
            self._slots.release()

    async def _deliver(self, batch: SendBatch) -> None:
        try:
            result = await self._sent(batch)
        except (RemoteError, UsageError, NetworkError, CodecError) as error:
            await self._refused(batch, error)
        except asyncio.CancelledError:
            self._note_failure(batch.messages, "it was stopped before the answer came", maybe_stored=True)
        else:
            self._note_sent(batch, result)

    async def _refused(self, batch: SendBatch, error: OrbitError) -> None:
        """Note what failed. A broker that never takes a batch may take its messages one by one."""
        is_never_taken = isinstance(error, RemoteError) and error.context.get("code") == ResponseCode.MESSAGE_ILLEGAL
        if not is_never_taken or len(batch.messages) == 1:
            is_counted = self._one_by_one or not is_never_taken
            self._note_failure(batch.messages, error.message, maybe_stored=may_be_stored(error), is_counted=is_counted)
            return
        for index, ready in enumerate(batch.messages):
            if self.stopped_because:
                self._journal.hold([held.number for held in batch.messages[index:]])
                return
            await self._deliver(SendBatch(batch.queue, [ready]))

    async def _sent(self, batch: SendBatch) -> SendResult:
        raw = batch.raw()
        for pause_s in BUSY_PAUSES_S:
            try:
                return await self._sender.send_raw(raw, batch.queue, timeout_ms=SEND_TIMEOUT_MS)
            except RemoteError as error:
                if error.context.get("code") not in _BUSY or self.stopped_because:
                    raise
                await self._outside.wait(pause_s)
        return await self._sender.send_raw(raw, batch.queue, timeout_ms=SEND_TIMEOUT_MS)

    def _note_sent(self, batch: SendBatch, result: SendResult) -> None:
        if self._one_by_one:
            self._failures = 0
        ids = result.offset_message_id.split(",")
        now_ms = self._outside.now_ms()
        self._journal.note([
            Result(ready.number, ready.item, "sent", self._receipt(ready, result, index, ids, now_ms))
            for index, ready in enumerate(batch.messages)
        ])  # fmt: skip

    def _receipt(self, ready: ReadyMessage, result: SendResult, index: int, ids: list[str], now_ms: int) -> dict[str, Any]:
        more: dict[str, Any] = {
            "topic": ready.message.topic,
            "broker": result.queue.broker_name,
            "queueId": result.queue.queue_id,
            "queueOffset": result.queue_offset + index,
            "offsetMsgId": ids[index] if index < len(ids) else "",
            "uniqueKey": ready.message.properties.get(UNIQUE_KEY, ""),
            "storeStatus": result.status.value,
            "sentAt": now_ms,
        }
        return more | {"maybeTwice": True} if self._journal.is_in_doubt(ready.number) else more

    def _note_failure(
        self, messages: Sequence[ReadyMessage], reason: str, *, maybe_stored: bool, is_counted: bool = True
    ) -> None:
        self.last_failure = reason
        results = []
        for ready in messages:
            # A refusal does not concern an unanswered send of an earlier run.
            in_doubt = maybe_stored or self._journal.is_in_doubt(ready.number)
            more = {"reason": reason, **({"maybeStored": True} if in_doubt else {}), "topic": ready.message.topic}
            results.append(Result(ready.number, ready.item, "unknown" if in_doubt else "failed", more))
        self._journal.note(results)
        self._failures += len(messages) if is_counted else 0
        if self._failures >= self._failures_max:
            self._end(f"{self._failures:,} messages failed, the last because {reason}")
