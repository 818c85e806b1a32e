from dataclasses import replace

import pytest

from broker_core.engine.processors.send_flow import SendFlow
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import ResponseCode as R


class Turns:
    """A loop whose turns a test ends, and time of its thread."""

    def __init__(self):
        self.waiting, self.worked_s = [], 0.0

    def end(self):
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            call()


@pytest.fixture
def turns():
    return Turns()


@pytest.fixture
def flow(bench, turns):
    return SendFlow(bench.state, turns.waiting.append, worked=lambda: turns.worked_s)


def send(flow, turns, count, *, each_s=0.0, now_s=0.0):
    """How many of ``count`` sends of one turn are served, and the remark of the first that is not."""
    served, remark = 0, ""
    for _ in range(count):
        try:
            flow.check(now_s)
            served += 1
        except RequestRefusedError as refusal:
            remark = remark or f"{refusal.code} {refusal.message}"
        turns.worked_s += each_s
    return served, remark


def test_a_send_that_waited_200_ms_behind_others_is_told_that_the_broker_is_busy(flow, turns):
    served, remark = send(flow, turns, 1_000, each_s=0.001)
    assert 200 <= served < 220
    assert remark.startswith("2 [TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 20")


def test_the_next_turn_starts_with_a_clean_queue(flow, turns):
    send(flow, turns, 1_000, each_s=0.001)
    turns.end()
    assert send(flow, turns, 100, each_s=0.001) == (100, "")


def test_a_pause_of_the_machine_refuses_nothing(flow, turns):
    assert send(flow, turns, 100, now_s=1.0)[0] == 100
    assert send(flow, turns, 100, now_s=1.9)[0] == 100


def test_a_put_that_hangs_for_a_second_refuses_those_behind_it(flow, turns):
    send(flow, turns, 2, now_s=1.0)
    served, remark = send(flow, turns, 10, now_s=2.1)
    assert (served, remark[:22]) == (0, "2 [PCBUSY_CLEAN_QUEUE]")


def test_it_can_be_switched_off(bench, flow, turns):
    flow.reconfigure(replace(bench.state.config, fast_failure=False))
    assert send(flow, turns, 1_000, each_s=0.001)[0] == 1_000


def test_a_longer_wait_can_be_allowed(bench, flow, turns):
    flow.reconfigure(replace(bench.state.config, send_wait_max_ms=500))
    assert 500 <= send(flow, turns, 1_000, each_s=0.001)[0] < 520


@pytest.mark.parametrize("at_ms", [1 << 61, (1 << 63) - 1])
def test_a_time_beyond_all_calendars_refuses_sends_too(bench, flow, at_ms):
    flow.reconfigure(replace(bench.state.config, accept_sends_from_ms=at_ms))
    with pytest.raises(RequestRefusedError, match="broker unable to service, until 9999"):
        flow.check(0.0)


def test_sends_are_refused_before_the_time_from_which_they_are_taken(bench, flow):
    flow.reconfigure(replace(bench.state.config, accept_sends_from_ms=bench.clock() + 1_000))
    with pytest.raises(RequestRefusedError, match="broker unable to service, until") as refused:
        flow.check(0.0)
    assert refused.value.code == R.SYSTEM_ERROR
    bench.clock.advance(1_000)
    flow.check(0.0)


def test_after_a_read_of_sends_the_clock_is_read_again(flow, turns):
    assert flow.allows(0.0)
    flow.served(60)
    turns.worked_s += 0.1
    assert flow.allows(0.0)
    flow.served(2)
    turns.worked_s += 0.1
    assert not flow.allows(0.0)
    assert send(flow, turns, 3)[0] == 0
    turns.end()
    assert flow.allows(0.0)
