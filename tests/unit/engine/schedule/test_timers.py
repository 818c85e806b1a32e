"""Alarms of a real loop."""

import asyncio

from broker_core.engine.schedule.timers import LoopTimers


def test_alarms_ring_in_order_unless_they_are_cancelled():
    async def scenario():
        timers, rung, last = LoopTimers(asyncio.get_running_loop()), [], asyncio.Event()
        began_ms = timers.now_ms()
        timers.after(20, last.set)
        timers.after(10, lambda: rung.append("later"))
        timers.after(5, lambda: rung.append("cancelled")).cancel()
        timers.after(0, lambda: rung.append("at once"))
        assert rung == []
        await asyncio.wait_for(last.wait(), 60)
        assert rung == ["at once", "later"]
        assert timers.now_ms() > began_ms

    asyncio.run(scenario())
