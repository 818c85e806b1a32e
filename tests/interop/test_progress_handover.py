"""One store in turn with our broker and a real RocketMQ: consumers, transactions and timers go on where the other left them."""

import asyncio
from collections import Counter
from contextlib import contextmanager

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from broker_core.client.transaction import LocalState, TransactionProducer
from tests.support.broker_process import running_broker
from tests.support.foreign_transactions import delivered
from tests.support.real_peer import running_peer_addresses
from tests.support.remoting_peer import eventually

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(500)]

TOPIC = "in-turn"
SETTINGS = {
    "transactionTimeOut": "2000", "transactionCheckInterval": "3000", "transactionCheckMax": "1000",
    "mappedFileSizeCommitLog": "67108864",
}  # fmt: skip
OPS_AT_ONCE = {"transactionOpBatchInterval": "100"}
"""A real 5.x broker checks a decided transaction once more where the next round comes before its op record."""
SOON_MS, LATE_MS = 2_000, 75_000
"""Times of timers: delivered in the same turn, and after the store has changed hands."""


@contextmanager
def ours(folder, _version):
    options = [option for key, value in SETTINGS.items() for option in ("--set", f"{key}={value}")]
    with running_broker(folder / "store", *options) as broker:
        yield broker.name_server


@contextmanager
def theirs(folder, version):
    with running_peer_addresses(version, folder, **SETTINGS, **OPS_AT_ONCE) as (name_server, _broker):
        yield name_server


class Turn:
    """What one broker does with the store.

    Args:
        number: Of the turn; the bodies begin with it.
        has_timers: Whether both brokers know timers.
    """

    def __init__(self, number, *, has_timers):
        self.number = number
        self._has_timers = has_timers
        self.consumed = Counter()

    async def run(self, name_server, pending):
        """Send of all kinds, and wait for that and for what is pending of the turn before; returns what is pending now."""
        if not self.number:
            async with AdminClient(name_server) as admin:
                await admin.create_topic(TOPIC, queues=1)
        consumer = PushConsumer(name_server, "CG-in-turn", {TOPIC: "*"}, self._consume, consume_from=ConsumeFrom.FIRST_OFFSET)
        async with consumer, TransactionProducer(name_server, "tx-in-turn", self._state) as producer:
            await producer.answer_checks(TOPIC)
            await self._send(producer)
            expected = self._names("plain", "commit", timers=("soon",)) | pending
            await eventually(lambda: expected <= self.consumed.keys(), seconds=150)
        return self._names("open", timers=("late",))

    def kept(self):
        """What must come once: all but what was rolled back."""
        return self._names("plain", "commit", "open", timers=("soon", "late"))

    async def _send(self, producer):
        await producer.send(Message(TOPIC, self._name("plain").encode()))
        await producer.begin(Message(TOPIC, self._name("open").encode()))
        for kind, state in (("commit", LocalState.COMMIT), ("rollback", LocalState.ROLLBACK)):
            body = self._name(kind).encode()
            await producer.send_in_transaction(Message(TOPIC, body), lambda _message, state=state: state)
        for kind, delay_ms in (("late", LATE_MS), ("soon", SOON_MS)) if self._has_timers else ():
            body = self._name(kind).encode()
            await producer.send(Message(TOPIC, body, properties={"TIMER_DELAY_MS": str(delay_ms)}))

    def _name(self, kind):
        return f"{self.number}-{kind}"

    def _names(self, *kinds, timers):
        return {self._name(kind) for kind in (*kinds, *(timers if self._has_timers else ()))}

    def _state(self, message):
        """An open transaction is committed by the next turn."""
        return LocalState.UNKNOWN if bytes(message.body).decode() == self._name("open") else LocalState.COMMIT

    def _consume(self, messages):
        self.consumed.update(bytes(message.body).decode() for message in messages)


@pytest.mark.parametrize("first", [ours, theirs])
@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_all_comes_once_through_three_turns(tmp_path, version, first):
    order = [first, theirs if first is ours else ours, first]
    pending, all_sent, consumed = set(), set(), Counter()
    for number, broker in enumerate(order):
        turn = Turn(number, has_timers=version.startswith("5."))
        with broker(tmp_path, version) as name_server:
            pending = asyncio.run(turn.run(name_server, pending))
        consumed += turn.consumed
        all_sent |= turn.kept()
    assert consumed == dict.fromkeys(all_sent - pending, 1)
    assert delivered(tmp_path / "store", TOPIC) == consumed
