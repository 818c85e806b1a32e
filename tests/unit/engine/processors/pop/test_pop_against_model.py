"""Pop, ack, change, expire and kill in any order: every message is acked or comes again, and never comes early."""

import tempfile
from collections import defaultdict
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.message.receipt_handle import parse_handle
from tests.support.clock import ManualClock
from tests.support.pop_bench import Popped, pop_bench, restart

INVISIBLE_MS = 10_000
GRACE_MS = 3_500


class PopMachine(RuleBasedStateMachine):
    """The model: what was sent, what is acked, and who has what until when."""

    buffered = False

    def __init__(self):
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.clock = ManualClock()
        self.context = pop_bench(Path(self.folder.name) / "store", self.clock, pop_buffer_merge=self.buffered)
        self.bench = self.context.__enter__()
        self.bench.state.groups.put(GroupConfig("CG", retry_times_max=1_000))
        self.sent = []
        self.acked = set()
        self.held = {}
        self.stale = []
        self.perhaps_acked = set()
        self.may_repeat = set()
        self.written = self.offsets()

    def offsets(self):
        return self.bench.dispatcher.pop.outstanding.offsets_to_write(self.bench.state.offsets)

    def teardown(self):
        try:
            self.drain()
        finally:
            self.context.__exit__(None, None, None)
            self.folder.cleanup()

    @rule(queue=st.integers(0, 1), count=st.integers(1, 4))
    def send(self, queue, count):
        for _ in range(count):
            body = b"%d" % len(self.sent)
            self.bench.put("T", queue, body)
            self.sent.append(body)

    @rule(count=st.integers(1, 8), queue=st.integers(-1, 1), invisible_ms=st.sampled_from([500, 4_000, INVISIBLE_MS]))
    def pop(self, count, queue, invisible_ms):
        self.take(self.bench.pop(maxMsgNums=count, queueId=queue, invisibleTime=invisible_ms))

    def take(self, messages):
        for message in messages:
            body = message.body
            if body not in self.may_repeat:
                assert body not in self.acked
                assert body not in self.held or self.held[body][1] <= self.clock()
            if body in self.held:
                self.stale.append(self.held[body][0])
            self.held[body] = (message, message.handle.pop_time_ms + message.handle.invisible_ms)

    @precondition(lambda self: self.held)
    @rule(data=st.data())
    def ack(self, data):
        body = data.draw(st.sampled_from(sorted(self.held)))
        message, until_ms = self.held.pop(body)
        assert self.bench.ack(message).code == ResponseCode.SUCCESS
        if until_ms > self.clock():
            self.acked.add(body)
        else:
            self.perhaps_acked.add(body)  # too late, or just in time
            self.may_repeat.add(body)

    @precondition(lambda self: self.stale)
    @rule(data=st.data())
    def ack_with_an_old_handle(self, data):
        assert self.bench.ack(data.draw(st.sampled_from(self.stale))).code == ResponseCode.SUCCESS

    @precondition(lambda self: self.held)
    @rule(data=st.data(), invisible_ms=st.sampled_from([0, 1_000, INVISIBLE_MS]))
    def postpone(self, data, invisible_ms):
        body = data.draw(st.sampled_from(sorted(self.held)))
        message, until_ms = self.held.pop(body)
        response = self.bench.postpone(message, invisible_ms)
        self.stale.append(message)
        if response.code == ResponseCode.NO_MESSAGE:
            # In memory only, it was lost with the broker: the message comes again at once, as the offset was not written.
            assert until_ms <= self.clock() or body in self.may_repeat
            return
        assert response.code == ResponseCode.SUCCESS
        handle, fields = message.handle, response.ext_fields
        new = parse_handle(
            f"{handle.offset} {fields['popTime']} {fields['invisibleTime']} {fields['reviveQid']} {handle.flag} broker-a "
            f"{handle.queue_id} {handle.offset}"
        )
        self.held[body] = (Popped(message.message, new), new.pop_time_ms + new.invisible_ms)

    @rule(milliseconds=st.sampled_from([1, 400, 1_100, 5_000, 11_000]))
    def wait(self, milliseconds):
        self.bench.pass_time(milliseconds)

    @invariant()
    def nothing_is_unknown(self):
        assert set(self.held) <= set(self.sent)

    def drain(self):
        """In the end whatever is not acked comes, and once it is acked nothing comes any more."""
        came = defaultdict(int)
        for _ in range(6):
            self.bench.pass_time(INVISIBLE_MS + GRACE_MS)
            while messages := self.bench.pop():
                for message in messages:
                    came[message.body] += 1
                    self.bench.ack(message)
        assert set(self.sent) == self.acked | self.perhaps_acked | set(came)
        assert not (self.acked & set(came)) - self.may_repeat
        self.bench.pass_time(INVISIBLE_MS + GRACE_MS)
        assert not self.bench.pop()
        assert len(self.bench.dispatcher.pop.outstanding.ledger) == 0


class KilledPopMachine(PopMachine):
    """With kills: what was sent before one may come more than once."""

    @rule(sync=st.booleans())
    def write_offsets(self, sync):
        """The offsets file is written now and then, never ahead of what the log says on the disk."""
        if sync:
            self.bench.state.store.flush()
        self.written = self.offsets()

    @rule()
    def kill(self):
        """What is in memory is lost, the offsets are those of the last write: much may come again, nothing may be lost."""
        self.may_repeat.update(self.sent)
        # Handles of both lives may not be the same: each change of an invisible time within a millisecond takes the next one.
        self.clock.advance(100)
        self.bench = restart(self.bench, self.written)


class BufferedPopMachine(PopMachine):
    buffered = True


class BufferedKilledPopMachine(KilledPopMachine):
    buffered = True


SETTINGS = settings(max_examples=40, stateful_step_count=30, deadline=None)

TestPop = PopMachine.TestCase
TestPop.settings = SETTINGS
TestBufferedPop = BufferedPopMachine.TestCase
TestBufferedPop.settings = SETTINGS
TestKilledPop = KilledPopMachine.TestCase
TestKilledPop.settings = SETTINGS
TestBufferedKilledPop = BufferedKilledPopMachine.TestCase
TestBufferedKilledPop.settings = SETTINGS
