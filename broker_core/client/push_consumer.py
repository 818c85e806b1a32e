"""The push consumer: a pull loop per queue that hands messages to a listener.

A listener that fails gets the same messages again, here, after a pause that doubles; the offset of their queue waits
for them. They are not sent back to the broker, so they do not count as retries there and never become dead letters.
No broadcasting, no orderly locks, no SQL filters. Pulls go to the master. Asyncio; all on one loop.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from broker_core.client.allocation import Strategy, allocate_average
from broker_core.client.instance import ClientInstance, answer_error, repeat
from broker_core.client.message import ReceivedMessage
from broker_core.client.names import check_group, check_topic, retry_topic
from broker_core.client.process_queue import ProcessQueue
from broker_core.client.producer import wall_clock_ms
from broker_core.client.route import Route
from broker_core.client.subscription import TagSubscription, subscribe
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import CodecError, NetworkError, RemoteError, UsageError
from broker_core.message.record import decode_record
from broker_core.remoting.codes import RequestCode, ResponseCode
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.json_body import MessageQueue, parse_object

logger = logging.getLogger(__name__)

Listener = Callable[[Sequence[ReceivedMessage]], Awaitable[None] | None]
"""Consumes messages of one queue. Returning means done; raising means again later."""

DEFAULT_CONCURRENCY = 20
_FLAG_COMMIT_OFFSET = 1
_FLAG_SUSPEND = 2
_FLAG_SUBSCRIPTION = 4
_RETRY_DOUBLINGS_MAX = 16


class ConsumeFrom(StrEnum):
    """Where a group begins that has no offset yet, by its names in a heartbeat."""

    LAST_OFFSET = "CONSUME_FROM_LAST_OFFSET"
    FIRST_OFFSET = "CONSUME_FROM_FIRST_OFFSET"
    TIMESTAMP = "CONSUME_FROM_TIMESTAMP"


class PushConsumer:
    """Consumes topics as a member of a group. Use it as an async context manager, or call `start` and `close`.

    Args:
        name_servers: ``host:port``, several with ``;`` between them.
        group: Consumer group; its members share the queues.
        subscriptions: Topic → tag expression (``*``, or tags with ``||`` between them).
        listener: Called with 1 to ``batch_messages`` messages of one queue; a coroutine function or a quick function.
        batch_messages: Most messages of one call.
        concurrency: Calls of a coroutine listener that run at once.
        consume_from: Where to begin in queues for which the group has no offset.
        consume_from_ms: The time for `ConsumeFrom.TIMESTAMP`.
        strategy: Shares queues among members; must be the same in all of them.
        config: Times and bounds.
        limits: Bounds of each connection.
        clock: Milliseconds since the epoch, for subscription versions.

    Attributes:
        consumed_messages: Messages that the listener is done with.
        failed_calls: Calls of the listener that raised.
    """

    def __init__(
        self,
        name_servers: str,
        group: str,
        subscriptions: Mapping[str, str],
        listener: Listener,
        *,
        batch_messages: int = 1,
        concurrency: int = DEFAULT_CONCURRENCY,
        consume_from: ConsumeFrom = ConsumeFrom.LAST_OFFSET,
        consume_from_ms: int = 0,
        strategy: Strategy = allocate_average,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        clock: Callable[[], int] = wall_clock_ms,
    ) -> None:
        self.group = check_group(group)
        if not subscriptions:
            raise UsageError(f"group {group} subscribes to no topic: give at least one")
        if batch_messages < 1 or concurrency < 1:
            raise UsageError(f"batch_messages and concurrency start at 1, given are {batch_messages} and {concurrency}")
        version = clock()
        topics = {**{check_topic(topic): text for topic, text in subscriptions.items()}, retry_topic(group): "*"}
        self._subscriptions = {topic: subscribe(topic, text, version) for topic, text in topics.items()}
        self._listener = listener
        self._batch_messages = batch_messages
        self._concurrency = concurrency
        self._consume_from = consume_from
        self._consume_from_ms = consume_from_ms
        self._strategy = strategy
        self._clock = clock
        self._instance = ClientInstance(name_servers, member=self, config=config, limits=limits)
        self._config = self._instance.config
        self._instance.on_routes_changed(self._wake_rebalance)
        self._process_queues: dict[MessageQueue, ProcessQueue] = {}
        self._pulls: dict[MessageQueue, asyncio.Task[None]] = {}
        # Not bounded here: flow control of each queue bounds what is fetched and thereby what waits.
        self._work: asyncio.Queue[tuple[ProcessQueue, Sequence[ReceivedMessage]] | None] = asyncio.Queue()
        self._workers: list[asyncio.Task[None]] = []
        self._background: list[asyncio.Task[None]] = []
        self._retries: set[asyncio.TimerHandle] = set()
        self._rebalance_wanted = asyncio.Event()
        self._known_brokers: set[str] = set()
        self._closing = False
        self.consumed_messages = 0
        self.failed_calls = 0

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def client_id(self) -> str:
        """Its id in the group."""
        return self._instance.client_id

    @property
    def queues(self) -> list[MessageQueue]:
        """Queues it consumes now, sorted."""
        return sorted(self._process_queues)

    @property
    def waiting_messages(self) -> int:
        """Messages fetched and not consumed."""
        return sum(map(len, self._process_queues.values()))

    async def start(self) -> None:
        """Join the group and begin to consume.

        A topic that does not exist yet is taken up when it appears.

        Raises:
            NetworkError: No name server can be reached.
        """
        await self._instance.start()
        for _ in range(self._concurrency):
            self._workers.append(asyncio.create_task(self._consume_loop(), name=f"{self.group} consume"))
        await self.rebalance()
        self._background = [
            asyncio.create_task(self._rebalance_loop(), name=f"{self.group} rebalance"),
            asyncio.create_task(repeat(self._config.commit_interval_ms, self.commit), name=f"{self.group} commit"),
        ]

    async def close(self) -> None:
        """Finish what the listener has in hand, commit offsets, leave the group. Safe to call again."""
        if self._closing:
            return
        self._closing = True
        for timer in self._retries:
            timer.cancel()
        await _cancel([*self._background, *self._pulls.values()])
        await self._finish_workers()
        await self.commit()
        self._process_queues.clear()
        await self._instance.unregister()
        await self._instance.close()

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def producer_group(self) -> str | None:
        """None: it sends nothing."""
        return None

    def consumer_data(self) -> dict[str, Any] | None:
        """ConsumerData of the heartbeat (Source: spec remoting §4.5)."""
        return {
            "consumeFromWhere": str(self._consume_from),
            "consumeType": "CONSUME_PASSIVELY",
            "groupName": self.group,
            "messageModel": "CLUSTERING",
            "subscriptionDataSet": [item.to_json() for item in self._subscriptions.values()],
            "unitMode": False,
        }

    def group_changed(self, group: str) -> None:
        """Share the queues anew, as members came or went."""
        if group == self.group:
            self._wake_rebalance()

    def _wake_rebalance(self) -> None:
        self._rebalance_wanted.set()

    async def _rebalance_loop(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._config.rebalance_interval_ms / 1000):
                    await self._rebalance_wanted.wait()
            except TimeoutError:
                logger.debug("group %s looks at its queues again", self.group)
            self._rebalance_wanted.clear()
            await repeat(0, self.rebalance, rounds=1)

    async def rebalance(self) -> None:
        """Find out which queues are this member's, give up others, take up new ones."""
        changed = False
        for topic in self._subscriptions:
            try:
                mine = await self._allocation(topic)
                if mine is not None:
                    changed |= await self._assign(topic, mine)
            except (NetworkError, RemoteError, CodecError) as error:
                # Its queues stay as they are; the next round tries again.
                logger.warning("queues of topic %s cannot be shared in group %s: %s", topic, self.group, error)
        if changed:
            version = self._clock()
            self._subscriptions = {topic: item.renewed(version) for topic, item in self._subscriptions.items()}
            await self._instance.heartbeat()

    async def _allocation(self, topic: str) -> list[MessageQueue] | None:
        """Queues of ``topic`` for this member; None when it cannot be told now."""
        route = await self._instance.route(topic)
        if route is None:
            return None
        brokers = set(self._instance.broker_addresses())
        if not brokers <= self._known_brokers:
            self._known_brokers |= brokers
            await self._instance.heartbeat()
        client_ids = await self._client_ids(route)
        queues = route.subscribe_queues()
        if not client_ids or not queues:
            return None
        return self._strategy(self.client_id, queues, sorted(client_ids))

    async def _client_ids(self, route: Route) -> list[str]:
        """Members of the group, as the first broker that answers knows them."""
        failure: NetworkError | RemoteError | None = None
        for broker_name in route.brokers:
            address = route.address_of(broker_name)
            if address is None:
                continue
            command = RemotingCommand(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self.group})
            try:
                response = await self._instance.call(address, command)
            except (NetworkError, RemoteError) as error:
                failure = error
                continue
            return [str(client_id) for client_id in parse_object(response.body).get("consumerIdList") or ()]
        if failure is not None:
            raise failure
        return []

    async def _assign(self, topic: str, mine: Sequence[MessageQueue]) -> bool:
        before = {queue for queue in self._process_queues if queue.topic == topic}
        for queue in before - set(mine):
            await self._give_up(queue)
        changed = bool(before - set(mine))
        for queue in mine:
            if queue not in before:
                self._take_up(ProcessQueue(queue, await self._start_offset(queue)))
                changed = True
        return changed

    def _take_up(self, process_queue: ProcessQueue) -> None:
        queue = process_queue.queue
        self._process_queues[queue] = process_queue
        name = f"{self.group} pull {queue.topic} {queue.queue_id}"
        self._pulls[queue] = asyncio.create_task(self._pull_loop(process_queue), name=name)

    async def _give_up(self, queue: MessageQueue) -> None:
        process_queue = self._process_queues.pop(queue)
        await _cancel([self._pulls.pop(queue)])
        await self._commit(process_queue)
        process_queue.dropped = True

    # ── offsets ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def commit(self) -> None:
        """Tell brokers the offsets that changed since the last time."""
        for process_queue in list(self._process_queues.values()):
            await self._commit(process_queue)

    async def _commit(self, process_queue: ProcessQueue) -> None:
        offset = process_queue.committable_offset
        if offset == process_queue.committed_offset:
            return
        fields = {**self._queue_fields(process_queue.queue), "commitOffset": str(offset)}
        try:
            address = await self._address(process_queue.queue)
            await self._instance.send_oneway(address, RemotingCommand(RequestCode.UPDATE_CONSUMER_OFFSET, fields))
        except (NetworkError, RemoteError) as error:
            logger.warning("offset %d of %s is not committed yet: %s", offset, process_queue.queue, error)
            return
        process_queue.committed_offset = offset

    async def _start_offset(self, queue: MessageQueue) -> int:
        """The group's offset, or where it begins (Source: spec broker §6.4)."""
        address = await self._address(queue)
        command = RemotingCommand(RequestCode.QUERY_CONSUMER_OFFSET, self._queue_fields(queue))
        response = await self._instance.request(address, command)
        if response.code == ResponseCode.SUCCESS:
            return _number(response, "offset", address)
        if response.code != ResponseCode.QUERY_NOT_FOUND:
            raise answer_error(address, command.code, response)
        return await self._first_start_offset(queue, address)

    async def _first_start_offset(self, queue: MessageQueue, address: str) -> int:
        is_retry = queue.topic == retry_topic(self.group)
        fields = {"topic": queue.topic, "queueId": str(queue.queue_id)}
        code = RequestCode.GET_MAX_OFFSET
        if self._consume_from is ConsumeFrom.FIRST_OFFSET or (is_retry and self._consume_from is ConsumeFrom.LAST_OFFSET):
            code = RequestCode.GET_MIN_OFFSET
        elif self._consume_from is ConsumeFrom.TIMESTAMP and not is_retry:
            code = RequestCode.SEARCH_OFFSET_BY_TIMESTAMP
            fields["timestamp"] = str(self._consume_from_ms)
        return _number(await self._instance.call(address, RemotingCommand(code, fields)), "offset", address)

    def _queue_fields(self, queue: MessageQueue) -> dict[str, str]:
        return {"consumerGroup": self.group, "topic": queue.topic, "queueId": str(queue.queue_id)}

    async def _address(self, queue: MessageQueue) -> str:
        route = await self._instance.route(queue.topic)
        address = route.address_of(queue.broker_name) if route else None
        if address is None:
            text = f"broker {queue.broker_name} of topic {queue.topic} is not known to the name server at the moment"
            raise RemoteError(text, code=int(ResponseCode.TOPIC_NOT_EXIST), topic=queue.topic)
        return address

    # ── pulling ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _pull_loop(self, process_queue: ProcessQueue) -> None:
        while not process_queue.dropped:
            if not process_queue.has_room(self._config):
                await asyncio.sleep(self._config.flow_control_pause_ms / 1000)
                continue
            before = process_queue.next_offset
            try:
                process_queue = await self._pull(process_queue)
            except (NetworkError, RemoteError, CodecError) as error:
                logger.warning("pull from %s is tried again: %s", process_queue.queue, error)
                await asyncio.sleep(self._config.pull_retry_ms / 1000)
                continue
            if process_queue.next_offset == before:
                # A broker that does not hold pulls must not be asked in a tight loop.
                await asyncio.sleep(self._config.flow_control_pause_ms / 1000)

    async def _pull(self, process_queue: ProcessQueue) -> ProcessQueue:
        """Pull once; returns what to pull into next: another one after the broker has moved the offset."""
        queue = process_queue.queue
        address = await self._address(queue)
        command = self._pull_command(process_queue)
        response = await self._instance.request(address, command, self._config.pull_timeout_ms)
        if response.code == ResponseCode.SUCCESS:
            self._deliver(process_queue, response, _number(response, "nextBeginOffset", address))
        elif response.code in (ResponseCode.PULL_NOT_FOUND, ResponseCode.PULL_RETRY_IMMEDIATELY):
            process_queue.add((), _number(response, "nextBeginOffset", address))
        elif response.code == ResponseCode.PULL_OFFSET_MOVED:
            return await self._move(process_queue, _number(response, "nextBeginOffset", address))
        else:
            raise answer_error(address, command.code, response)
        return process_queue

    def _pull_command(self, process_queue: ProcessQueue) -> RemotingCommand:
        subscription = self._subscriptions[process_queue.queue.topic]
        committable = process_queue.committable_offset
        flags = _FLAG_SUSPEND | _FLAG_SUBSCRIPTION | (_FLAG_COMMIT_OFFSET if committable > 0 else 0)
        fields = {
            **self._queue_fields(process_queue.queue),
            "queueOffset": str(process_queue.next_offset),
            "maxMsgNums": str(self._config.pull_batch_messages),
            "sysFlag": str(flags),
            "commitOffset": str(committable),
            "suspendTimeoutMillis": str(self._config.pull_suspend_ms),
            "subscription": subscription.expression,
            "subVersion": str(subscription.version),
            "expressionType": "TAG",
        }
        return RemotingCommand(RequestCode.PULL_MESSAGE, fields)

    async def _move(self, process_queue: ProcessQueue, offset: int) -> ProcessQueue:
        """Go on at the offset the broker gave; what was fetched before counts no more for commits."""
        queue = process_queue.queue
        logger.warning(
            "offset %d of %s in group %s does not exist at the broker, it goes on at %d",
            process_queue.next_offset, queue, self.group, offset,
        )  # fmt: skip
        process_queue.dropped = True
        moved = ProcessQueue(queue, offset)
        self._process_queues[queue] = moved
        await self._commit(moved)
        return moved

    def _deliver(self, process_queue: ProcessQueue, response: RemotingCommand, next_offset: int) -> None:
        subscription = self._subscriptions[process_queue.queue.topic]
        messages = _decode(bytes(response.body), process_queue.queue, subscription)
        process_queue.add(messages, next_offset)
        for start in range(0, len(messages), self._batch_messages):
            self._work.put_nowait((process_queue, messages[start : start + self._batch_messages]))

    # ── consuming ───────────────────────────────────────────────────────────────────────────────────────────────────

    async def _consume_loop(self) -> None:
        while not self._closing:
            work = await self._work.get()
            if work is None or self._closing:
                return
            process_queue, messages = work
            if not process_queue.dropped:
                await self._consume(process_queue, messages)
            # A listener that never awaits must not keep the loop from everything else.
            await asyncio.sleep(0)

    async def _consume(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage]) -> None:
        try:
            result = self._listener(messages)
            if inspect.isawaitable(result):
                await result
        except Exception:
            self.failed_calls += 1
            delay_ms = self._retry_delay_ms(messages[0].attempts)
            logger.exception(
                "the listener of group %s failed on %d messages of %s from offset %d; again in %d ms",
                self.group, len(messages), process_queue.queue, messages[0].queue_offset, delay_ms,
            )  # fmt: skip
            self._consume_later(process_queue, messages, delay_ms)
            return
        process_queue.remove(messages)
        self.consumed_messages += len(messages)

    def _retry_delay_ms(self, attempts: int) -> int:
        doubled = self._config.consume_retry_ms << min(attempts, _RETRY_DOUBLINGS_MAX)
        return min(doubled, self._config.consume_retry_max_ms)

    def _consume_later(self, process_queue: ProcessQueue, messages: Sequence[ReceivedMessage], delay_ms: int) -> None:
        for message in messages:
            message.attempts += 1

        def again() -> None:
            self._retries.discard(timer)
            self._work.put_nowait((process_queue, messages))

        timer = asyncio.get_running_loop().call_later(delay_ms / 1000, again)
        self._retries.add(timer)

    async def _finish_workers(self) -> None:
        for _ in self._workers:
            self._work.put_nowait(None)
        if self._workers:
            await asyncio.wait(self._workers, timeout=self._config.close_wait_ms / 1000)
        await _cancel(self._workers)


def _decode(body: bytes, queue: MessageQueue, subscription: TagSubscription) -> list[ReceivedMessage]:
    messages: list[ReceivedMessage] = []
    position = 0
    while position < len(body):
        stored = decode_record(body, position)
        position += stored.store_size
        message = ReceivedMessage(stored, queue)
        if subscription.accepts(message.tags):
            messages.append(message)
    return messages


def _number(response: RemotingCommand, name: str, address: str) -> int:
    text = response.ext_fields.get(name, "")
    try:
        return int(text)
    except ValueError as error:
        raise RemoteError(f"{address} answered with {name} “{text}”, not a number", code=response.code) from error


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
