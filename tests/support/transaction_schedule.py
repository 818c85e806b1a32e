"""Random schedules of sends, ends, checks, crashes and power cuts, run against the transaction engine with a simulated clock.

Every transaction has a fate that its producer knows: commit or rollback. Ends are lost, late or repeated, checks are answered
by the fate, not at all, or late; the process dies before or after any put. What must hold whatever happens:

    a transaction whose half was on disk and whose fate is commit is delivered at least once, or lies in the discard topic
    one that is rolled back is never delivered
    one is delivered more than once at most as often as there were crashes, and never without one
    progress never passes an undecided half message
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

from broker_core.engine.processors.put_rewrites import PutDraft, to_internal_queue
from broker_core.engine.store.results import PutStatus
from broker_core.engine.transaction.engine import CheckRequest, Decision, EndRequest, TransactionEngine
from broker_core.engine.transaction.progress import DurableProgress, TransactionProgress
from broker_core.engine.transaction.settings import TransactionSettings
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, TRANSACTION_QUEUE_ID
from tests.support.clock import ManualClock
from tests.support.memory_store import CrashError, MemoryStore

_HOST = HostAddress.parse("127.0.0.1:10911")
STEPS = 60


@dataclass(slots=True)
class Transaction:
    """What its producer knows."""

    number: int
    fate: Decision
    safe: bool = False
    """Its half was on disk when the producer was told so."""


@dataclass(frozen=True, slots=True)
class End:
    """An END_TRANSACTION under way."""

    transaction: Transaction
    half_offset: int
    physical_offset: int
    from_check: bool


class Schedule:
    """One run.

    Args:
        seed: Decides everything.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.clock = ManualClock()
        self.store = MemoryStore(self.clock)
        self.settings = TransactionSettings(
            op_batch_interval_ms=self.random.choice((0, 0, 3_000)),
            op_batch_bytes=self.random.choice((8, 4_096)),
            check_times_max=self.random.choice((3, 15)),
            span_max=self.random.choice((5, 200_000)),
        )
        self.transactions: list[Transaction] = []
        self.under_way: list[End] = []
        self.crashes = 0
        self.told = TransactionProgress(-1, -1)
        self.connected = True
        self.answering = 0.7
        self._start()

    # ---- the broker ----

    def _start(self) -> None:
        self.engine = TransactionEngine(self.store, self, self.settings, clock=self.clock, host=_HOST)
        self.engine.load(self.told.half, self.told.op)
        self.store.listeners.append(self.engine.arrived)
        self.progress = DurableProgress()

    def _crash(self) -> None:
        self.crashes += 1
        self.store = self.store.restarted(power_cut=self.random.random() < 0.3)
        self._start()

    # ---- producers, as the engine sees them ----

    def living(self, _group: str) -> int:
        """All of a group or none."""
        return int(self.connected)

    def ask(self, request: CheckRequest) -> bool:
        """Answer by the fate, later or never."""
        transaction = self.transactions[int(request.fields["msgId"])]
        if self.random.random() < self.answering:
            fields = request.fields
            end = End(transaction, int(fields["tranStateTableOffset"]), int(fields["commitLogOffset"]), from_check=True)
            self.under_way.append(end)
        return True

    # ---- steps ----

    def run(self) -> None:
        """Do some steps, then let everything come to its end, and check what must hold."""
        steps = (
            self._send,
            self._send,
            self._deliver_end,
            self._deliver_end,
            self._round,
            self._flush,
            self._tick,
            self._switch,
        )
        for _ in range(STEPS):
            if self.store.puts_left < 0 and self.random.random() < 0.05:
                self.store.puts_left = self.random.randrange(6)
                self.store.crash_before = self.random.random() < 0.5
            try:
                self.random.choice(steps)()
            except CrashError:
                self._crash()
            self._check_progress()
        self._come_to_an_end()
        self._check_deliveries()

    def _send(self) -> None:
        number = len(self.transactions)
        fate = self.random.choice((Decision.COMMIT, Decision.ROLLBACK))
        transaction = Transaction(number, fate)
        self.transactions.append(transaction)
        properties = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": f"{number:032}"}
        if self.random.random() < 0.2:
            properties["CHECK_IMMUNITY_TIME_IN_SECONDS"] = self.random.choice(("1", "120", "-1"))
        draft = to_internal_queue(PutDraft(topic="T", queue_id=0, properties=properties), HALF_TOPIC, TRANSACTION_QUEUE_ID)
        place, body = (draft.topic, draft.queue_id), b"%d" % number
        half = MessageToStore(*place, 0, 0, self.clock(), _HOST, _HOST, 0, 0, body, encode_properties(draft.properties))
        result = self.store.put(half)
        assert result.status is PutStatus.PUT_OK
        transaction.safe = True
        if self.random.random() < 0.8:
            end = End(transaction, result.queue_offset, result.physical_offset, from_check=False)
            self.under_way.extend([end] * self.random.choice((1, 1, 1, 2)))

    def _deliver_end(self) -> None:
        if not self.under_way:
            return
        end = self.under_way.pop(self.random.randrange(len(self.under_way)))
        if self.random.random() < 0.1:
            return
        decision = end.transaction.fate if self.random.random() < 0.8 else Decision.UNKNOWN
        self._end(end, decision)

    def _end(self, end: End, decision: Decision) -> None:
        self.engine.end(
            EndRequest(
                group="PG",
                half_offset=end.half_offset,
                physical_offset=end.physical_offset,
                decision=decision,
                from_check=end.from_check,
                message_id=f"{end.transaction.number:032}",
            )
        )

    def _round(self) -> None:
        self.clock.advance(self.random.choice((1_000, 60_000)))
        for _slice in self.engine.check_round():
            pass

    def _flush(self) -> None:
        self.store.flush()

    def _tick(self) -> None:
        self.engine.write_owed_ops()
        told = self.progress.take(self.store.flushed)
        if told is not None:
            self.told = told
        self.progress.stage(self.engine.ledger, self.store.end)

    def _switch(self) -> None:
        self.connected = not self.connected

    # ---- what must hold ----

    def _check_progress(self) -> None:
        ledger = self.engine.ledger
        first = min((half.half_offset for half in ledger), default=ledger.half_end)
        assert ledger.half_progress == first
        assert self.told.half <= first

    def _come_to_an_end(self) -> None:
        """No more crashes; producers are there and answer every check by the fate."""
        self.store.puts_left = -1
        self.connected, self.answering = True, 1.0
        for _ in range(40):
            while self.under_way:
                end = self.under_way.pop()
                self._end(end, end.transaction.fate)
            if not len(self.engine.ledger):
                return
            self._round()
        raise AssertionError(f"undecided for ever: {list(self.engine.ledger)}")

    def _check_deliveries(self) -> None:
        delivered = Counter(int(message.body) for message in self.store.messages("T"))
        given_up = {int(message.body) for message in self.store.messages(DISCARD_TOPIC)}
        lost_halves = self._lost_halves()
        for transaction in self.transactions:
            times = delivered[transaction.number]
            if transaction.fate is Decision.ROLLBACK:
                assert times == 0, f"rolled back {transaction.number} was delivered"
            elif transaction.safe and transaction.number not in given_up | lost_halves:
                assert times >= 1, f"committed {transaction.number} was lost"
            assert times <= 1 + self.crashes, f"{transaction.number} came {times} times after {self.crashes} crashes"

    def _lost_halves(self) -> set[int]:
        """Transactions whose half message a power cut took before it was on disk: they never were."""
        kept = {int(message.body) for message in self.store.messages(HALF_TOPIC)}
        return {transaction.number for transaction in self.transactions} - kept
