"""The demo shop's special messages: orders delayed until their timeout, and payments in transactions.

Most local transactions commit, some roll back; a few report no state, so that the broker checks them. One producer ends
between its half messages and its decisions, as a crashed program does: the broker has no producer to check them with.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Final

from broker_core.client.demo_shop import Shop
from broker_core.client.message import Message, ReceivedMessage
from broker_core.client.producer import Producer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.errors import NetworkError, RemoteError

PAYING_GROUP: Final = "pay-tx"
DYING_GROUP: Final = "risk-tx"
LEFT_OPEN: Final = 2
"""Transactions that the dying producer begins."""

_DELAYED_SHARE = 0.02
_DELAYED_PER_SECOND_MAX = 60
_TRANSACTION_SHARE = 0.01
_TRANSACTIONS_PER_SECOND_MAX = 20
_AT_ONCE_MAX = 64
_TICK_SECONDS = 0.1
_LOCAL_SECONDS_MAX = 0.3
_FIRST_WEIGHTS = (90, 6, 4)
"""Commit, roll back, unknown; when the local transaction ends."""
_CHECK_WEIGHTS = (45, 10, 45)
"""The same for a check of the broker."""
_STATES = (LocalState.COMMIT, LocalState.ROLLBACK, LocalState.UNKNOWN)


@dataclass(slots=True)
class DemoTotals:
    """Counts of a demo so far; ``consumed`` by group."""

    consumed: dict[str, int]
    sent: int = 0
    failed: int = 0
    last_failure: str = ""


class SideFlows:
    """Sends delayed messages and transactions until it is stopped.

    Args:
        rate: Messages a second of the whole shop; the flows take a small share.
        seed: Of the outcome of transactions.
        pause: Sleeps, at most until the end of the demo.
    """

    def __init__(
        self, shop: Shop, totals: DemoTotals, rate: int, seed: int, *, pause: Callable[[float], Awaitable[None]]
    ) -> None:
        self._shop = shop
        self._totals = totals
        self._delayed_per_second = min(rate * _DELAYED_SHARE, _DELAYED_PER_SECOND_MAX)
        self._transactions_per_second = min(rate * _TRANSACTION_SHARE, _TRANSACTIONS_PER_SECOND_MAX)
        self._random = random.Random(seed)
        self._pause = pause
        self._stopped = asyncio.Event()

    def stop(self) -> None:
        """Begin no more sends; each flow ends after its running ones."""
        self._stopped.set()

    def check(self, _message: ReceivedMessage) -> LocalState:
        return self._random.choices(_STATES, _CHECK_WEIGHTS)[0]

    @property
    def per_second(self) -> float:
        """Messages a second of all flows."""
        return self._delayed_per_second + self._transactions_per_second

    async def send_delayed(self, producer: Producer) -> None:
        await self._paced(self._delayed_per_second, lambda: self._counted(producer.send(self._shop.timeout())))

    async def send_transactions(self, producer: TransactionProducer) -> None:
        await self._paced(
            self._transactions_per_second,
            lambda: self._counted(producer.send_in_transaction(self._shop.pay_result(), self._execute)),
        )

    async def leave_open(self, name_server: str) -> None:
        """Begin transactions with a producer that ends before it decides them."""
        async with TransactionProducer(name_server, DYING_GROUP, self.check) as producer:
            for _ in range(LEFT_OPEN):
                await self._counted(producer.begin(self._shop.pay_result()))

    async def _execute(self, _message: Message) -> LocalState:
        await self._pause(self._random.random() ** 3 * _LOCAL_SECONDS_MAX)
        return self._random.choices(_STATES, _FIRST_WEIGHTS)[0]

    async def _paced(self, per_second: float, send: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Call ``send`` at this rate; calls overlap, at most `_AT_ONCE_MAX`, and further ones are skipped."""
        loop = asyncio.get_running_loop()
        made, start = 0, loop.time()
        async with asyncio.TaskGroup() as group:
            running: set[asyncio.Task[None]] = set()
            while not self._stopped.is_set():
                due = int((loop.time() - start) * per_second)
                for _ in range(min(due - made, _AT_ONCE_MAX - len(running))):
                    task = group.create_task(send())
                    running.add(task)
                    task.add_done_callback(running.discard)
                made = due
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._stopped.wait(), _TICK_SECONDS)

    async def _counted(self, sending: Awaitable[object]) -> None:
        try:
            await sending
        except (NetworkError, RemoteError) as error:
            self._totals.failed += 1
            self._totals.last_failure = error.message
        else:
            self._totals.sent += 1
