"""Groups that read too far behind lose the right to consume."""

import asyncio

from broker_core.broker.slow_consumers import FORGET_MS, SlowConsumerGuard, SlowConsumers, switch_off_slow_groups
from broker_core.remoting.codes import RequestCode as Q
from broker_core.remoting.codes import ResponseCode as R
from tests.support.broker_bench import RecordingPeer, broker_bench, pull_fields
from tests.support.remoting_peer import eventually


def test_the_furthest_queue_counts_and_old_news_do_not():
    slow = SlowConsumers()
    slow.read("g", "T", 0, 50, 0)
    slow.read("g", "T", 1, 70, 5)
    slow.read("h", "T", 1, 40, 5)
    assert slow.beyond(40, 10) == {"g": 70}
    slow.read("g", "T", 1, 0, 20)
    assert slow.beyond(40, 20) == {"g": 50}
    assert slow.beyond(40, FORGET_MS + 1) == {}


def test_a_slow_group_is_switched_off_only_where_that_is_wanted(tmp_path):
    for wanted in (False, True):
        with broker_bench(tmp_path / str(wanted), disable_slow_consumers=wanted, slow_consumer_bytes=1_000) as bench:
            peer = RecordingPeer()
            for _ in range(40):
                bench.put(body=b"x" * 100)
            bench.answer(peer, Q.PULL_MESSAGE, pull_fields())
            assert switch_off_slow_groups(bench.state, bench.dispatcher.pull.slow) == (["CG"] if wanted else [])
            code = bench.answer(peer, Q.PULL_MESSAGE, pull_fields(offset=32)).code
            assert code == (R.NO_PERMISSION if wanted else R.SUCCESS)
            assert switch_off_slow_groups(bench.state, bench.dispatcher.pull.slow) == []


def test_the_guard_looks_again_and_again(tmp_path):
    async def scenario():
        with broker_bench(tmp_path, disable_slow_consumers=True, slow_consumer_bytes=10) as bench:
            guard = SlowConsumerGuard(bench.state, bench.dispatcher.pull.slow, interval_s=0.001)
            guard.start()
            bench.state.groups.find("CG")
            bench.dispatcher.pull.slow.read("CG", "T", 0, 11, bench.clock())
            await eventually(lambda: not bench.state.groups.get("CG").consume_enabled)
            await guard.stop()

    asyncio.run(scenario())
