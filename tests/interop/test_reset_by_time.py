"""Resets by time of groups in a real RocketMQ: exact, also where its own search answers with the nearest message; on demand."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import QSettings

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.pull_consumer import PullConsumer
from broker_core.clock import wall_clock_ms
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.questions.stored_messages import BrowseQueue, FindOffset, FoundOffset
from gui.operations.offset_reset import OffsetReset, OffsetsOfTime, ResetOrder, ResetResult, TimedOffsets
from gui.operations.snapshots import OffsetSnapshots
from monitoring.admin.offsets import QueueMove
from tests.support.asking_source import AskingSource, outcome
from tests.support.attached import QUICK, asking, attached, sampled
from tests.support.own_consumer import own_consumer
from tests.support.real_peer import running_peer
from tests.support.remoting_peer import eventually

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(600)]

QUEUE = MessageQueue("Burst", "broker-a", 0)
BEFORE, BURST, AFTER = 10, 100, 5
END = BEFORE + BURST + AFTER


@pytest.fixture(params=["4.9.4", "5.3.3"])
def real(request, tmp_path):
    with running_peer(request.param, tmp_path / "real", autoCreateTopicEnable="true") as broker:
        broker.until_registered()
        yield broker


async def fill(name_server: str) -> None:
    """Ten messages, a hundred of one millisecond, and five; none else in that millisecond."""
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        await admin.create_topic("Burst", queues=1)
        await admin.set_group("g")
        for number in range(BEFORE):
            await producer.send(Message("Burst", b"%d" % number), queue=QUEUE)
        await asyncio.sleep(0.1)  # another millisecond
        await producer.send_batch([Message("Burst", b"%d" % (BEFORE + number)) for number in range(BURST)], queue=QUEUE)
        await asyncio.sleep(0.1)
        for number in range(AFTER):
            await producer.send(Message("Burst", b"%d" % (BEFORE + BURST + number)), queue=QUEUE)


def test_a_millisecond_with_a_hundred_messages_begins_with_the_first_of_them(real, tmp_path):
    snapshots = OffsetSnapshots(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))

    def reset(source, after, request_ms, *, has_members):
        moves = [QueueMove(0, 0, END, END, after)]
        order = ResetOrder("g", "Burst", moves, request_ms, has_members, "time", 1)
        return outcome(OffsetReset(source, snapshots, order))

    async def scenario():
        await fill(real.name_server)
        async with attached(real.name_server, QUICK) as cluster, asking(cluster) as queries:
            await sampled(cluster)
            cluster.sampling.start()
            source = AskingSource(asyncio.get_running_loop(), queries)
            times = (await queries.answer(BrowseQueue("Burst", 0, 0, END))).store_ms
            burst_ms = times[BEFORE]
            assert times.count(burst_ms) == BURST
            for at_ms, offset in ((burst_ms, BEFORE), (burst_ms + 1, BEFORE + BURST), (wall_clock_ms(), END), (1, 0)):
                assert await queries.answer(FindOffset("Burst", 0, at_ms)) == FoundOffset(offset)

            def timed(at_ms, *, has_members):
                return outcome(OffsetsOfTime(source, "Burst", [0], at_ms, has_members=has_members))

            assert await asyncio.to_thread(timed, burst_ms, has_members=False) == TimedOffsets({0: BEFORE}, None)
            assert isinstance(await asyncio.to_thread(reset, source, BEFORE, None, has_members=False), ResetResult)
            async with PullConsumer(real.name_server, "g") as consumer:
                assert await consumer.committed(QUEUE) == BEFORE
                assert await consumer.offset_by_time(QUEUE, burst_ms) == BEFORE
                await consumer.commit(QUEUE, END)
            online = await asyncio.to_thread(timed, burst_ms, has_members=True)
            assert (online.offsets, online.request_ms in {burst_ms, burst_ms - 1}) == ({0: BEFORE}, True)
            with own_consumer(real.name_server, "g", "Burst") as bodies:
                await eventually(lambda: ("g", "Burst") in cluster.figures.of("broker-a").positions, 60)
                told = await asyncio.to_thread(reset, source, BEFORE, online.request_ms, has_members=True)
                assert isinstance(told, ResetResult), told
                assert told.by_members
                await eventually(lambda: len(bodies) == BURST + AFTER, 60)

    asyncio.run(scenario())
