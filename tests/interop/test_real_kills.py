"""A real RocketMQ that is killed and started again in the midst of what the window and the commands do with it; on demand.

Beside `test_real_restarts` and `test_attached_faults`. What was acknowledged is there afterwards, once, or what is not is said.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter

import pytest
from PySide6.QtCore import QSettings

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.admin.offsets import read_consumer_offsets
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.worker.questions.administration import ListMembers
from broker_core.worker.questions.searches import ContinueFollow, ContinueSearch, StartFollow, StartSearch
from gui.operations.offset_reset import OffsetReset, ResetOrder
from gui.operations.snapshots import OffsetSnapshots
from monitoring.admin.offsets import QueueMove
from spark_reports.datasource.cluster_source import RocketMQClusterDataSource
from spark_reports.datasource.cluster_stream import ClusterStreamReader
from spark_reports.datasource.schema import ALL_COLUMNS
from spark_reports.session import ReportSession, SparkOptions
from tests.support.asking_source import AskingSource
from tests.support.attached import asking, attached, sampled
from tests.support.broker_process import CHECKOUT
from tests.support.own_consumer import own_consumer
from tests.support.real_broker import RealBroker
from tests.support.real_traffic import QUEUES, fill, numbers_of
from tests.support.remoting_peer import eventually, eventually_answers
from tests.support.streamed_topic import StreamedTopic

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

BROKER = "broker-a"
MESSAGES = 4_000
BODY = b"x" * 300
PATIENT_S = 240.0
QUICK = WatchSettings(round_ms=100, retry_ms=200, tables_ms=500, requests_per_second=300)


@pytest.fixture(scope="module", params=["4.9.4", "5.3.3"])
def started(request, tmp_path_factory):
    settings = {"autoCreateTopicEnable": "true", "flushDiskType": "SYNC_FLUSH"}
    broker = RealBroker(request.param, tmp_path_factory.mktemp("real") / "real", settings)
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture
def real(started):
    started.until_registered()
    return started


def restart(real):
    real.stop(kill=True)
    real.start()
    real.until_registered()


def program(*words, **more):
    line = [sys.executable, str(CHECKOUT / "main.py"), *words]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


async def sent_until(name_server, topic, count):
    """Send so many, each again until it is acknowledged."""
    async with Producer(name_server) as producer:
        for number in range(count):
            async with asyncio.timeout(PATIENT_S):
                while True:
                    try:
                        await producer.send(Message(topic, b"%d " % number))
                        break
                    except (NetworkError, RemoteError):
                        await asyncio.sleep(0.2)


def test_a_live_tail_shows_each_message_once_over_a_kill(real):
    count = 300

    async def scenario():
        await fill(real.name_server, "Tail", 1)
        async with attached(real.name_server, QUICK) as cluster, asking(cluster) as queries:
            await sampled(cluster)
            cluster.sampling.start()
            followed = await queries.answer(StartFollow(["Tail"]))
            sending = asyncio.create_task(sent_until(real.name_server, "Tail", count))
            shown, restarting, was_marked = [], None, False
            async with asyncio.timeout(PATIENT_S):
                while not sending.done() or len(shown) < len(await asyncio.to_thread(held, real)):
                    told = await queries.answer(ContinueFollow(followed.follow_id))
                    assert (told.left_out, told.is_over) == (0, False)
                    shown += [(queue, offset) for queue, offset in zip(told.queue_id, told.queue_offset, strict=True)]
                    if restarting is None and len(shown) >= count // 4:
                        restarting = asyncio.create_task(asyncio.to_thread(restart, real))
                    was_marked = was_marked or BROKER in cluster.figures.faults()
            await restarting
            assert was_marked
            assert Counter(shown) == Counter(await asyncio.to_thread(held, real))
            await sending
            await eventually(lambda: not cluster.figures.faults(), PATIENT_S)
        assert set(await numbers_of(real.name_server, "Tail")) >= set(range(count))

    def held(real):
        async def ends():
            async with AdminClient(real.name_server) as admin:
                return await admin.topic_stats("Tail")

        try:
            stats = asyncio.run(ends())
        except (NetworkError, RemoteError):
            return [()] * (1 << 20)  # nobody knows; ask again
        every = [(queue.queue_id, offset) for queue, one in stats.items() for offset in range(one.max_offset)]
        # The first was there before the tail began.
        return [one for one in every if one != (0, 0)]

    asyncio.run(scenario())


def carried_out(source, snapshots, offsets, now, **order):
    """Reset the group to these offsets; the error, if it failed."""
    moves = [QueueMove(queue, 0, 1_000, now[queue], after) for queue, after in offsets.items()]
    failures = []
    offline = {"group": "g", "topic": "Reset", "timestamp_ms": None, "has_members": False}
    order = ResetOrder(moves=moves, reason="offset", now_ms=1, **{**offline, **order})
    OffsetReset(source, snapshots, order).then(lambda _result: None, failures.append)
    return failures


def test_a_reset_that_a_kill_interrupts_says_how_far_it_came_and_can_be_undone(real, tmp_path):
    before = {queue: 40 + queue for queue in range(QUEUES)}
    snapshots = OffsetSnapshots(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))

    async def stands():
        async with AdminClient(real.name_server) as admin:
            return {queue: await admin.consumer_offset("g", MessageQueue("Reset", BROKER, queue)) for queue in range(QUEUES)}

    async def scenario():
        await fill(real.name_server, "Reset", QUEUES * 100)
        async with AdminClient(real.name_server) as admin:
            await admin.set_group("g")
            for queue, offset in before.items():
                await admin.set_consumer_offset("g", MessageQueue("Reset", BROKER, queue), offset)
        async with attached(real.name_server, QUICK) as cluster, asking(cluster) as queries:
            await sampled(cluster)
            cluster.sampling.start()
            source = AskingSource(asyncio.get_running_loop(), queries)
            sent = []

            def kill_at_the_third(request):
                if request.code == RequestCode.UPDATE_CONSUMER_OFFSET:
                    sent.append(request)
                    if len(sent) == 3:
                        real.stop(kill=True)

            source.before = kill_at_the_third
            failures = await asyncio.to_thread(carried_out, source, snapshots, dict.fromkeys(before, 7), before)
            assert len(failures) == 1
            assert failures[0].message.startswith(f"2 of {QUEUES} were done before: "), failures[0].message
            assert real.address in failures[0].message
            (kept,) = snapshots.of("g")
            assert dict(kept.offsets) == before
            await asyncio.to_thread(real.start)
            await eventually(lambda: not cluster.figures.faults(), PATIENT_S)
            # A broker that is killed forgets the offsets of its last seconds; what it knows now is what is shown.
            now = await stands()
            of = cluster.figures.of(BROKER)
            await eventually(lambda: known(of.positions.get(("g", "Reset"), {})) == known(now), PATIENT_S)
            source.before = lambda _request: None
            assert await asyncio.to_thread(carried_out, source, snapshots, dict(kept.offsets), now) == []
            assert await stands() == before

    asyncio.run(scenario())


def test_a_reset_of_a_whole_group_that_is_online_fails_with_the_broker_and_is_done_again(real, tmp_path):
    each = 50
    count = QUEUES * each
    snapshots = OffsetSnapshots(QSettings(str(tmp_path / "settings.ini"), QSettings.Format.IniFormat))
    order = {"group": "online", "topic": "Online", "timestamp_ms": 1, "has_members": True}

    async def scenario(bodies):
        async with attached(real.name_server, QUICK) as cluster, asking(cluster) as queries:
            await sampled(cluster)
            cluster.sampling.start()
            await eventually(lambda: len(set(bodies)) == count, PATIENT_S)
            source, sent = AskingSource(asyncio.get_running_loop(), queries), []

            def kill_at_the_reset(request):
                if request.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
                    sent.append(request)
                    real.stop(kill=True)

            source.before = kill_at_the_reset
            offsets, now = dict.fromkeys(range(QUEUES), 0), dict.fromkeys(range(QUEUES), each)
            failures = await asyncio.to_thread(carried_out, source, snapshots, offsets, now, **order)
            assert (len(failures), len(sent)) == (1, 1)
            assert real.address in failures[0].message
            await asyncio.to_thread(real.start)
            await eventually(lambda: not cluster.figures.faults(), PATIENT_S)

            async def is_online():
                # A broker that is killed forgets offsets; one that lacks a queue's says on 4.x that there is no such group.
                answer = await cluster.link.ask(BROKER, RemotingCommand(RequestCode.GET_ALL_CONSUMER_OFFSET))
                stored = read_consumer_offsets(answer.body).get(("online", "Online"), {})
                return len(stored) == QUEUES and (await queries.answer(ListMembers("online"))).client_id

            await eventually_answers(is_online, PATIENT_S)
            source.before, before = lambda _request: None, len(bodies)
            assert await asyncio.to_thread(carried_out, source, snapshots, offsets, now, **order) == []
            await eventually(lambda: len(set(bodies[before:])) == count, PATIENT_S)

    asyncio.run(fill(real.name_server, "Online", count))
    with own_consumer(real.name_server, "online", "Online") as bodies:
        asyncio.run(scenario(bodies))


def test_a_search_of_the_window_finds_each_message_once_over_a_kill_or_says_what_is_missing(real):
    async def searched(queries, began):
        started = await queries.answer(StartSearch('topic = "Search"'))
        found, hits = Counter(), None
        async with asyncio.timeout(PATIENT_S):
            while hits is None or not hits.is_over:
                hits = await queries.answer(ContinueSearch(started.search_id))
                found.update(zip(hits.queue_id, hits.queue_offset, strict=True))
                began(hits)
        return found, hits.reasons

    async def scenario():
        await fill(real.name_server, "Search", MESSAGES, body=BODY)
        async with attached(real.name_server, QUICK) as cluster, asking(cluster) as queries:
            await sampled(cluster)
            cluster.sampling.start()
            restarts = []

            def kill_once(hits):
                if not restarts and hits.found:
                    assert not hits.is_over
                    restarts.append(asyncio.create_task(asyncio.to_thread(restart, real)))

            found, reasons = await searched(queries, kill_once)
            await restarts[0]
            assert max(found.values()) == 1
            # A machine that is busy may take longer for the start than a search waits.
            assert (len(found) == MESSAGES) == (not reasons), reasons
            assert all("could not be read from offset" in reason for reason in reasons), reasons
            await eventually(lambda: not cluster.figures.faults(), PATIENT_S)
            found, reasons = await searched(queries, lambda _hits: None)
            assert (len(found), max(found.values()), reasons) == (MESSAGES, 1, [])

    asyncio.run(scenario())


def known(offsets):
    """Where it has none, a broker answers 0 for a queue that begins there; its table does not have that queue."""
    return {queue: max(offsets.get(queue) or 0, 0) for queue in range(QUEUES)}


def test_a_streaming_read_has_every_row_once_over_a_kill(real):
    asyncio.run(fill(real.name_server, "Stream", MESSAGES, body=BODY))
    options = {"name_servers": real.name_server, "topics": '["Stream"]', "slice_messages": "500", "retry_seconds": "170"}
    options["messages_per_batch"] = str(MESSAGES // 2)
    reader = ClusterStreamReader(options, ALL_COLUMNS)
    place, numbers = reader.initialOffset(), []
    for turn in range(3):
        end = reader.latestOffset(place, None)
        for number, part in enumerate(reader.partitions(place, end)):
            for batch in reader.read(part):
                numbers += [int(body.as_py().split()[0]) for body in batch.column("body")]
                if (turn, number) == (0, 1) and len(numbers) < MESSAGES // 2:
                    restart(real)
        place = end
    assert sorted(numbers) == list(range(MESSAGES))


@pytest.fixture(scope="module")
def spark():
    session = ReportSession(SparkOptions(master="local[2]", heap_bytes=1 << 29))
    connected = session.connect()
    connected.dataSource.register(RocketMQClusterDataSource)
    yield connected
    session.close()


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("retry_seconds", ["170", "0"], ids=["waits", "fails"])
def test_a_streaming_query_has_every_row_once_over_a_kill(real, spark, tmp_path, retry_seconds):
    topic, more = f"Query{retry_seconds}", MESSAGES // 4
    asyncio.run(fill(real.name_server, topic, MESSAGES, body=BODY))
    # Some seconds of reading, in several batches, so that the kill meets one of them.
    options = {"topics": json.dumps([topic]), "retry_seconds": retry_seconds, "messages_per_batch": "1000"}
    query = StreamedTopic(spark, real.name_server, tmp_path, {**options, "messages_per_second": "500"})
    with query:
        query.until_rows(1)
        restart(real)
        asyncio.run(fill(real.name_server, topic, more, first=MESSAGES))
        query.until_rows(MESSAGES + more)
    assert query.numbers() == list(range(MESSAGES + more))
    assert not query.failures or retry_seconds == "0", query.failures
    # Once more from the checkpoint: what is new comes, and nothing else.
    asyncio.run(fill(real.name_server, topic, 1, first=MESSAGES + more))
    with query:
        query.until_rows(MESSAGES + more + 1)
    assert query.numbers() == list(range(MESSAGES + more + 1))


def test_a_watch_records_the_loss_and_the_return(real, tmp_path):
    asyncio.run(fill(real.name_server, "Watched", QUEUES * 10))
    folder = tmp_path / "history"
    with program("watch", "--ns", real.name_server, "--folder", str(folder)) as watch:
        try:
            assert watch.stdout.readline().startswith("watching ")

            def kinds():
                database = folder / "orbit" / "history.db"
                if not database.exists():
                    return []
                with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as history:
                    return [kind for (kind,) in history.execute("select kind from events order by rowid")]

            async def recorded(kind):
                await eventually_answers(lambda: asyncio.to_thread(lambda: kind in kinds()), PATIENT_S)

            real.stop(kill=True)
            asyncio.run(recorded("broker_lost"))
            real.start()
            asyncio.run(recorded("broker_back"))
            watch.send_signal(signal.SIGTERM)
            assert watch.wait(60) == 0, watch.stderr.read()
        finally:
            watch.kill()


def test_the_doctor_names_the_hop_that_is_gone_and_finds_all_well_again(real):
    def doctor():
        with program("doctor", "--ns", real.name_server) as asked:
            said, _errors = asked.communicate(timeout=PATIENT_S)
            return asked.returncode, said

    assert doctor()[0] == 0
    real.stop(kill=True)
    code, said = doctor()
    assert (code, f"cannot connect to {real.name_server}" in said) == (1, True), said
    real.start()
    real.until_registered()
    code, said = doctor()
    assert code == 0, said
