import asyncio

from broker_core.engine.processors.slow_consumers import SlowConsumerGuard
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from tests.support.broker_bench import RecordingPeer, consumer_heartbeat, pull_fields

PEER = RecordingPeer()


def slow_group(bench):
    for _ in range(10):
        bench.put(body=b"x" * 1_000)
    bench.answer(PEER, Q.HEART_BEAT, {}, consumer_heartbeat("me", T="*"))
    bench.state.offsets.commit("CG", "T", 0, 1)


def test_a_group_that_fell_too_far_behind_may_no_longer_consume(bench):
    slow_group(bench)
    guard = SlowConsumerGuard(bench.state)
    assert guard.check() == [], "off by default"
    limits = b"disableConsumeIfConsumerReadSlowly=true\nconsumerFallbehindThreshold=5000"
    bench.answer(PEER, Q.UPDATE_BROKER_CONFIG, body=limits)
    assert guard.check() == ["CG"]
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull_fields()).code == R.NO_PERMISSION
    assert guard.check() == [], "once is enough"


def test_a_group_that_keeps_up_or_is_offline_is_left_alone(bench):
    slow_group(bench)
    limits = b"disableConsumeIfConsumerReadSlowly=true\nconsumerFallbehindThreshold=5000"
    bench.answer(PEER, Q.UPDATE_BROKER_CONFIG, body=limits)
    guard = SlowConsumerGuard(bench.state)
    bench.state.offsets.commit("CG", "T", 0, 9)
    assert guard.check() == []
    bench.state.offsets.commit("CG", "T", 0, 0)
    bench.dispatcher.disconnected(PEER)
    assert guard.check() == []


def test_it_ends_with_its_timer(bench):
    async def scenario():
        guard = SlowConsumerGuard(bench.state)
        guard.start()
        await guard.stop()
        return guard._timer

    assert asyncio.run(scenario()) is None
