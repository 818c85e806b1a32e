"""Demo traffic: a shop with a producer and the groups that consume its messages, as real clients on the real port.

It uses no internals of a broker, so it works with any RocketMQ 4.x.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from broker_core.client.admin import AdminClient
from broker_core.client.demo_flows import PAYING_GROUP, DemoTotals, SideFlows
from broker_core.client.demo_shop import (
    INVENTORY,
    ORDER_TIMEOUT,
    ORDERS,
    PAY_RESULT,
    PAYMENTS,
    POINTS,
    SHIPMENTS,
    TOPIC_QUEUES,
    TOPIC_SHARES,
    Shop,
    lacks_stock,
)
from broker_core.client.message import Message, ReceivedMessage
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, ConsumeResult, Listener, PushConsumer
from broker_core.client.transaction import TransactionProducer
from broker_core.clock import wall_clock_ms
from broker_core.errors import NetworkError, RemoteError, UsageError
from broker_core.platform import signals
from broker_core.protocol.message.tags import java_string_hash
from broker_core.transport.event_loop import interrupts

DEFAULT_RATE: Final = 1_200
RATE_MAX: Final = 20_000
DEFAULT_SEED: Final = 20_26

_TICK_SECONDS = 0.05
_BATCH_MESSAGES_MAX = 64
_CATCH_UP_SECONDS = 1.0
_SENDS_AT_ONCE_MAX = 64
_TOPIC_WAIT_SECONDS = 5.0
_COMPRESSED_FROM_BYTES = 4_096
_PAYMENT_GROUP, _STOCK_GROUP = "payment-settle", "stock-worker"
_PAYMENT_WAVE_SECONDS = 150.0
_PAYMENT_SLOW_SECONDS = 90.0
_PAYMENT_SLOW_SHARE = 0.6
_PAYMENT_FAST_SHARE = 1.6


@dataclass(frozen=True, slots=True)
class DemoGroup:
    name: str
    topic: str
    expression: str = "*"
    members: int = 1
    concurrency: int = 4
    batch_messages: int = 32
    reconsume_times_max: int | None = None


GROUPS: Final = (
    DemoGroup("order-service", ORDERS, members=2),
    DemoGroup(_PAYMENT_GROUP, PAYMENTS, members=2, batch_messages=8),
    DemoGroup(_STOCK_GROUP, INVENTORY, members=2, batch_messages=1, reconsume_times_max=2),
    DemoGroup("notify-sms", SHIPMENTS, "PAID || SHIPPED"),
    DemoGroup("points-calc", POINTS),
    DemoGroup("timeout-cancel", ORDER_TIMEOUT),
    DemoGroup("ledger", PAY_RESULT),
)


async def play(
    name_server: str,
    *,
    rate: int = DEFAULT_RATE,
    seconds: float | None = None,
    seed: int = DEFAULT_SEED,
    parent_pipe: bool = False,
    say: Callable[[str], None] | None = None,
) -> DemoTotals:
    """Play the shop until ``seconds`` have passed, SIGTERM or SIGINT arrives, or the parent ends.

    Args:
        name_server: ``host:port``, several with ``;`` between them.
        rate: Messages per second, 1 to 20,000.
        seconds: How long; None: no end.
        seed: Of all choices in the messages.
        parent_pipe: End when standard input ends; for a program that starts this one.
        say: Gets one line of progress each second; None: standard output.

    Raises:
        UsageError: The rate is out of range.
        NetworkError: The name server cannot be reached.
        RemoteError: The topics cannot be created.
    """
    if not 1 <= rate <= RATE_MAX:
        raise UsageError(f"a rate of {rate} cannot be played: give 1 to {RATE_MAX} messages per second")
    if seconds is not None and seconds <= 0:
        raise UsageError(f"{seconds} seconds cannot be played: give more than 0")
    demo = _Demo(name_server, rate, seed, say or _print_line)
    with interrupts(demo.stop):
        if parent_pipe:
            signals.end_with_input()
        await demo.run(seconds)
    return demo.totals


class _Demo:
    def __init__(self, name_server: str, rate: int, seed: int, say: Callable[[str], None]) -> None:
        self.totals = DemoTotals({group.name: 0 for group in GROUPS})
        self._name_server = name_server
        self._rate = rate
        self._shop = Shop(seed, wall_clock_ms)
        self._flows = SideFlows(self._shop, self.totals, rate, seed, pause=self._pause)
        self._say = say
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._stopped = asyncio.Event()
        self._sends: set[asyncio.Task[None]] = set()

    def stop(self) -> None:
        self._stopped.set()

    async def run(self, seconds: float | None) -> None:
        await _create_topics(self._name_server)
        async with contextlib.AsyncExitStack() as stack:
            for plan in GROUPS:
                for _ in range(plan.members):
                    await stack.enter_async_context(self._consumer(plan))
            producer = await stack.enter_async_context(Producer(self._name_server, "order-api"))
            paying = TransactionProducer(self._name_server, PAYING_GROUP, self._flows.check)
            await stack.enter_async_context(paying)
            self._began = self._loop.time()
            reporter = asyncio.create_task(self._report(), name="demo report")
            flows = [
                asyncio.create_task(self._flows.send_delayed(producer), name="demo delayed messages"),
                asyncio.create_task(self._flows.send_transactions(paying), name="demo transactions"),
                asyncio.create_task(self._flows.leave_open(self._name_server), name="demo producer that dies"),
            ]
            try:
                await self._produce(producer, seconds)
                self._flows.stop()
                await asyncio.gather(*self._sends)
                await asyncio.wait(flows)
            finally:
                for task in (reporter, *flows):
                    task.cancel()
                for outcome in await asyncio.gather(reporter, *flows, return_exceptions=True):
                    if isinstance(outcome, Exception):
                        self._say(f"a part of the demo has ended early: {outcome}")
        self._say(self._line("done"))

    async def _produce(self, producer: Producer, seconds: float | None) -> None:
        made = 0
        start = self._began
        rate = self._rate - self._flows.per_second
        while not self._stopped.is_set():
            elapsed = self._loop.time() - start
            if seconds is not None and elapsed >= seconds:
                return
            due = int(elapsed * rate) - made
            if due > rate * _CATCH_UP_SECONDS:
                # The broker was down or the machine asleep: continue at the rate, without all the missed messages.
                made += due - int(rate)
                due = int(rate)
            made += due
            await self._send_all(producer, self._shop.next_messages(due))
            await self._pause(_TICK_SECONDS)

    async def _send_all(self, producer: Producer, messages: Sequence[Message]) -> None:
        for batch in batches(messages):
            if len(self._sends) >= _SENDS_AT_ONCE_MAX:
                await asyncio.wait(self._sends, return_when=asyncio.FIRST_COMPLETED)
            task = asyncio.create_task(self._send(producer, batch))
            self._sends.add(task)
            task.add_done_callback(self._sends.discard)

    async def _send(self, producer: Producer, batch: Sequence[Message]) -> None:
        first = batch[0]
        try:
            if len(batch) == 1:
                await producer.send(first, sharding_key=first.properties.get("sku"))
            elif first.topic == INVENTORY:
                queues = await producer.queues(first.topic)
                await producer.send_batch(batch, queue=queues[_sku_hash(first) % len(queues)])
            else:
                await producer.send_batch(batch)
        except (NetworkError, RemoteError) as error:
            self.totals.failed += len(batch)
            self.totals.last_failure = error.message
            # A broker that is down refuses at once; without a pause the failures would use all of the processor.
            await self._pause(_TICK_SECONDS)
        else:
            self.totals.sent += len(batch)

    def _consumer(self, plan: DemoGroup) -> PushConsumer:
        return PushConsumer(
            self._name_server,
            plan.name,
            {plan.topic: plan.expression},
            self._listener(plan),
            batch_messages=plan.batch_messages,
            concurrency=plan.concurrency,
            reconsume_times_max=plan.reconsume_times_max,
            consume_from=ConsumeFrom.LAST_OFFSET,
        )

    def _listener(self, plan: DemoGroup) -> Listener:
        consumed = self.totals.consumed

        async def settle(messages: Sequence[ReceivedMessage]) -> None:
            seconds_each = plan.members * plan.concurrency / self._settled_per_second()
            await self._pause(len(messages) * seconds_each)
            consumed[plan.name] += len(messages)

        def count(messages: Sequence[ReceivedMessage]) -> None:
            consumed[plan.name] += len(messages)

        def reserve(messages: Sequence[ReceivedMessage]) -> ConsumeResult | None:
            if any(lacks_stock(message.keys, message.reconsume_times) for message in messages):
                return ConsumeResult.AGAIN_LATER
            consumed[plan.name] += len(messages)
            return None

        return {_PAYMENT_GROUP: settle, _STOCK_GROUP: reserve}.get(plan.name, count)

    def _settled_per_second(self) -> float:
        """Payments settled per second: first fewer than arrive, so that a backlog builds, then more, until the next wave."""
        payments_per_second = self._rate * TOPIC_SHARES[PAYMENTS] / 100
        in_wave = (self._loop.time() - self._began) % _PAYMENT_WAVE_SECONDS
        share = _PAYMENT_SLOW_SHARE if in_wave < _PAYMENT_SLOW_SECONDS else _PAYMENT_FAST_SHARE
        return payments_per_second * share

    async def _report(self) -> None:
        sent_before = 0
        while True:
            await asyncio.sleep(1)
            rate = self.totals.sent - sent_before
            sent_before = self.totals.sent
            self._say(self._line(f"{rate:,}/s"))

    def _line(self, note: str) -> str:
        totals = self.totals
        consumed = ", ".join(f"{name} {count:,}" for name, count in totals.consumed.items())
        failed = f"; failed {totals.failed:,} ({totals.last_failure})" if totals.failed else ""
        elapsed = self._loop.time() - self._began
        return f"{elapsed:.0f} s: sent {totals.sent:,} ({note}); consumed {consumed}{failed}"

    async def _pause(self, seconds: float) -> None:
        """Sleep, at most until the end of the demo."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stopped.wait()


def batches(messages: Sequence[Message]) -> list[list[Message]]:
    """Group messages that can be sent together: one topic, for stock one article; long ones alone."""
    groups: dict[tuple[str, str], list[Message]] = defaultdict(list)
    result: list[list[Message]] = []
    for message in messages:
        if len(message.body) >= _COMPRESSED_FROM_BYTES:
            result.append([message])
        else:
            groups[message.topic, message.properties.get("sku", "")].append(message)
    for group in groups.values():
        result += [group[start : start + _BATCH_MESSAGES_MAX] for start in range(0, len(group), _BATCH_MESSAGES_MAX)]
    return result


def _sku_hash(message: Message) -> int:
    return abs(java_string_hash(message.properties["sku"]))


async def _create_topics(name_server: str) -> None:
    """Create the missing topics of the shop, and wait until the name server knows them."""
    async with AdminClient(name_server) as admin:
        for topic in sorted(TOPIC_QUEUES.keys() - set(await admin.topics())):
            await admin.create_topic(topic, queues=TOPIC_QUEUES[topic])
        deadline = asyncio.get_running_loop().time() + _TOPIC_WAIT_SECONDS
        while missing := TOPIC_QUEUES.keys() - set(await admin.topics()):
            if asyncio.get_running_loop().time() > deadline:
                names = ", ".join(sorted(missing))
                raise NetworkError(f"the name server {name_server} does not know {names}: is a broker registered with it?")
            await asyncio.sleep(_TICK_SECONDS)


def _print_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
