"""The timers against a plain model: any order of sends, cancels, time, writes, kills and lost files."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from broker_core.engine.schedule.timer import work
from broker_core.engine.store.results import PutStatus
from tests.support.timer_bench import DAY_MS, TOPIC, TimerBench

SECOND = 1_000
DELAYS = st.one_of(
    st.integers(1, 30 * SECOND),
    st.sampled_from([SECOND, 5 * SECOND, 60 * SECOND]),
    st.integers(1, 3 * DAY_MS),
    st.integers(1, 30 * DAY_MS),
)
STEPS = st.one_of(st.integers(0, 20 * SECOND), st.integers(0, 2 * DAY_MS), st.integers(0, 20 * DAY_MS))


class TimerMachine(RuleBasedStateMachine):
    """Every message is delivered after its time, once if nothing was killed; a cancelled one never is."""

    @initialize(precision_ms=st.sampled_from([1_000, 250]))
    def begin(self, precision_ms: int) -> None:
        self.root = Path(tempfile.mkdtemp())
        self.few_a_turn = patch.object(work, "UNITS_A_TURN", 2)
        self.few_a_turn.start()
        self.bench = TimerBench(self.root / "store", precision_ms=precision_ms).open()
        self.due: dict[str, int] = {}
        self.cancelled: set[str] = set()
        self.was_killed = False
        self.is_blocked = False

    def teardown(self) -> None:
        if not hasattr(self, "bench"):
            return
        self.unblock()
        self.bench.pass_time(40 * DAY_MS)
        self.check(complete=True)
        for store in self.bench.stores.opened:
            store.close()
        self.few_a_turn.stop()
        shutil.rmtree(self.root)

    @rule(delay_ms=DELAYS)
    def send(self, delay_ms: int) -> None:
        key = f"k{len(self.due)}"
        self.due[key] = self.bench.clock() + delay_ms
        self.bench.send(key, self.due[key])

    @rule(delay_ms=DELAYS, count=st.integers(3, 9))
    def send_a_burst(self, delay_ms: int, count: int) -> None:
        due_ms = self.bench.clock() + delay_ms
        for _ in range(count):
            key = f"k{len(self.due)}"
            self.due[key] = due_ms
            self.bench.send(key, due_ms)

    @rule(data=st.data(), turns=st.integers(1, 8))
    def stop_in_a_slot(self, data: st.DataObject, turns: int) -> None:
        """Go to the time of a message, take some turns, stop in good order."""
        self.pass_time(0)
        due = sorted({due for due in self.due.values() if due > self.bench.clock()})
        if due and not self.is_blocked:
            self.bench.clock.now_ms = data.draw(st.sampled_from(due)) + self.bench.work.store.precision_ms
            for _ in range(turns):
                self.turn()
        self.reopen()

    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        waiting = [key for key, due in self.due.items() if due > self.bench.clock() and key not in self.cancelled]
        if waiting:
            key = data.draw(st.sampled_from(waiting))
            self.bench.send(f"c-{key}", self.due[key], cancels=key)
            self.cancelled.add(key)

    @rule(milliseconds=STEPS)
    def pass_time(self, milliseconds: int) -> None:
        if self.is_blocked:
            self.bench.clock.advance(milliseconds)
            self.bench.turns()
        else:
            self.bench.pass_time(milliseconds)

    @rule()
    def turn(self) -> None:
        self.bench.work.turn(self.bench.clock())

    @rule()
    def flush(self) -> None:
        self.bench.flush()

    @rule()
    def block(self) -> None:
        self.bench.put_status = PutStatus.SERVICE_NOT_AVAILABLE
        self.is_blocked = True

    @precondition(lambda self: self.is_blocked)
    @rule()
    def unblock(self) -> None:
        self.bench.put_status = None
        self.is_blocked = False

    @rule()
    def reopen(self) -> None:
        self.bench.close()
        self.bench.open()

    @rule()
    def kill(self) -> None:
        self.was_killed = True
        self.bench.crash()
        self.bench.open()

    @rule()
    def lose_the_timer_log(self) -> None:
        self.bench.close()
        written = self.bench.work.store.checkpoint
        self.was_killed |= written.progress.slot_ms >= written.read_ms > 0  # what is delivered of a slot is lost with its units
        shutil.rmtree(self.bench.paths.log, ignore_errors=True)
        self.bench.open()

    @invariant()
    def never_early(self) -> None:
        if hasattr(self, "bench"):
            self.check(complete=False)

    def check(self, *, complete: bool) -> None:
        arrivals = self.bench.arrivals(TOPIC)
        for at_ms, properties in arrivals:
            assert at_ms >= self.due[properties["UNIQ_KEY"]]
        keys = [properties["UNIQ_KEY"] for _at, properties in arrivals]
        if not self.was_killed:
            assert len(keys) == len(set(keys))
            assert not self.cancelled.intersection(keys)
        if complete:
            assert set(keys) | self.cancelled == self.due.keys()
            assert self.bench.work.store.waiting == 0
            assert not self.bench.work.far.days


TestTimers = TimerMachine.TestCase
TestTimers.settings = settings(max_examples=40, stateful_step_count=30, deadline=None, derandomize=True)
