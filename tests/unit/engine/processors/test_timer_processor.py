"""Timer messages over requests: what is taken, refused, recalled, and delivered by a running broker."""

import asyncio
import base64
import json
from contextlib import contextmanager
from dataclasses import replace

import pytest

from broker_core.config import BrokerConfig, StoreConfig
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.engine.processors.timer_processor import TimerMessages
from broker_core.engine.schedule.timer.timer_store import TimerStore
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import SMALL_FILES, BrokerBench, RecordingPeer, bench_state, send_fields
from tests.support.clock import ManualClock
from tests.support.remoting_peer import eventually

WHEEL = "rmq_sys_wheel_timer"
PRODUCER = RecordingPeer()
HOUR_MS = 3_600_000


@contextmanager
def timer_bench(root, **settings):
    clock = ManualClock()
    store_settings = {name: value for name, value in settings.items() if name.startswith("timer_")}
    others = {name: value for name, value in settings.items() if name not in store_settings}
    store_config = StoreConfig(root=root, **SMALL_FILES, **store_settings)
    with MessageStore.open(store_config, clock=clock) as store:
        bench = BrokerBench(bench_state(replace(BrokerConfig(store=store_config), **others), store, clock), clock)
        files = ConfigFiles(root / "config")
        journal = ActionJournal(root / "config", clock=clock)
        bench.timers = TimerMessages(bench.state, bench.dispatcher, files, journal=journal, choose=lambda _below: 0)
        yield bench


@pytest.fixture
def bench(tmp_path):
    with timer_bench(tmp_path / "store", recall_messages=True) as made:
        yield made


def send(bench, unique_key="U1", topic="Orders", **properties):
    text = "\x02".join(f"{name}\x01{value}" for name, value in {"UNIQ_KEY": unique_key, **properties}.items())
    fields = send_fields(topic, 3, properties=text)
    return bench.answer(PRODUCER, Q.SEND_MESSAGE_V2, fields, b"body")


def stored(bench, response):
    _, offset = parse_offset_message_id(response.ext_fields["msgId"])
    return decode_record(bench.state.store.record_at(offset))


def recall(bench, handle, topic="Orders"):
    fields = {"producerGroup": "PG", "topic": topic, "recallHandle": handle}
    return bench.answer(PRODUCER, Q.RECALL_MESSAGE, fields)


@pytest.mark.parametrize(
    ("asked", "ahead_ms", "out_ms"),
    [
        ({"TIMER_DELAY_SEC": "10"}, 0, 9_000),
        ({"TIMER_DELAY_MS": "2500"}, 0, 2_000),
        ({"TIMER_DELAY_MS": "2500"}, 700, 3_000),
        ({"TIMER_DELIVER_MS": "1700000005000"}, 0, 4_000),
        ({"TIMER_DELIVER_MS": "1700000005001"}, 0, 5_000),
        ({"TIMER_DELIVER_MS": "1700000009000", "TIMER_DELAY_MS": "4000"}, 0, 3_000),
        ({"TIMER_DELAY_MS": "4000", "TIMER_DELAY_SEC": "60"}, 0, 59_000),
        ({"TIMER_DELAY_SEC": "259200"}, 0, 259_199_000),
    ],
)
def test_a_message_with_a_time_goes_into_the_wheel_topic(bench, asked, ahead_ms, out_ms):
    bench.clock.advance(ahead_ms)
    response = send(bench, **asked)
    assert (response.code, response.ext_fields["queueId"]) == (R.SUCCESS, "3")
    message = stored(bench, response)
    assert (message.topic, message.queue_id) == (WHEEL, 0)
    assert message.properties == {
        "UNIQ_KEY": "U1", **asked, "CLUSTER": "DefaultCluster", "REAL_TOPIC": "Orders", "REAL_QID": "3",
        "TIMER_OUT_MS": str(1_700_000_000_000 + out_ms),
    }  # fmt: skip


def test_the_answer_names_a_handle_as_5x_builds_it(bench):
    handle = send(bench, TIMER_DELAY_SEC=10).ext_fields["recallHandle"]
    assert base64.urlsafe_b64decode(handle) == b"v1 Orders broker-a 1700000009001 U1"


@pytest.mark.parametrize("asked", [{"TIMER_DELIVER_MS": "1"}, {"TIMER_DELAY_MS": "0"}, {"TIMER_DELAY_SEC": "-5"}])
def test_a_time_that_has_passed_is_no_delay(bench, asked):
    response = send(bench, **asked)
    assert stored(bench, response).topic == "Orders"
    assert "recallHandle" not in response.ext_fields


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"TIMER_DELAY_SEC": "259201"}, "max delay 259200000ms"),
        ({"TIMER_DELAY_MS": "soon"}, "TIMER_DELAY_MS=soon is no whole number"),
        ({"TIMER_DELAY_MS": "9" * 19}, "is no whole number of 64 bits"),
        ({"TIMER_DELIVER_MS": "1", "TIMER_DEL_UNIQKEY": "Orders+x"}, "has passed"),
        ({"TIMER_DELAY_SEC": "5", "note": "n" * 32_450}, "the broker adds its own"),
    ],
)
def test_what_cannot_be_kept_is_refused_with_the_reason(bench, asked, told):
    response = send(bench, **asked)
    assert response.code == R.MESSAGE_ILLEGAL
    assert told in response.remark
    assert bench.state.store.max_offset(WHEEL, 0) == 0


def test_nobody_but_the_broker_writes_into_the_wheel_topic(bench):
    response = send(bench, topic=WHEEL, REAL_TOPIC="Secret", REAL_QID=0, TIMER_OUT_MS=1_700_000_001_000)
    assert response.code == R.NO_PERMISSION
    assert bench.state.store.max_offset(WHEEL, 0) == 0


def test_a_level_beside_the_time_wins(bench):
    message = stored(bench, send(bench, TIMER_DELAY_SEC=10, DELAY=2))
    assert message.topic == "SCHEDULE_TOPIC_XXXX"
    assert "TIMER_DELAY_SEC" not in message.properties


def test_a_batch_with_times_is_refused(bench):
    body = encode_batch([BatchMember(0, b"x", b"TIMER_DELAY_SEC\x015")])
    response = bench.answer(PRODUCER, Q.SEND_BATCH_MESSAGE, send_fields("Orders", 0, batch="true"), body)
    assert response.code == R.MESSAGE_ILLEGAL


def test_without_the_wheel_a_time_is_refused(tmp_path):
    with timer_bench(tmp_path / "store", timer_wheel=False) as bench:
        response = send(bench, TIMER_DELAY_SEC=10)
        assert (response.code, "timerWheelEnable is false" in response.remark) == (R.SYSTEM_ERROR, True)
        bench.timers.start()
        assert bench.state.topics.get(WHEEL) is None


def test_a_crowded_second_is_refused(tmp_path):
    with timer_bench(tmp_path / "store", timer_congest_messages=10) as bench:
        waiting = {"count": 10}
        bench.timers._congestion = lambda _slot_ms: waiting["count"]
        assert send(bench, TIMER_DELAY_SEC=10).code == R.SUCCESS
        waiting["count"] = 11
        response = send(bench, TIMER_DELAY_SEC=10)
        assert (response.code, "flow control" in response.remark) == (R.SYSTEM_ERROR, True)


def test_a_recall_stores_the_cancel_that_5x_stores(bench):
    handle = send(bench, TIMER_DELAY_SEC=10).ext_fields["recallHandle"]
    bench.clock.advance(1_000)
    response = recall(bench, handle)
    assert (response.code, response.ext_fields["msgId"]) == (R.SUCCESS, "U1")
    unit = bench.state.store.queue_units(WHEEL, 0, 1, 1)[0]
    message = decode_record(bench.state.store.record_at(unit.physical_offset))
    assert (message.body, message.topic, message.queue_id) == (b"0", WHEEL, 0)
    assert message.properties == {
        "TAGS": "_RECALL_TAG_", "TIMER_DEL_UNIQKEY": "Orders+U1", "UNIQ_KEY": "U1", "TIMER_DELIVER_MS": "1700000009001",
        "BORN_TIMESTAMP": "1700000001000", "PGROUP": "PG", "REAL_TOPIC": "Orders", "REAL_QID": "0",
        "TIMER_OUT_MS": "1700000009000",
    }  # fmt: skip


def handle_of(text):
    return base64.urlsafe_b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("topic", "handle", "code"),
    [
        ("Nowhere", handle_of("v1 Nowhere broker-a 1700000009001 U1"), R.TOPIC_NOT_EXIST),
        ("Orders", "", R.ILLEGAL_OPERATION),
        ("Orders", "%%%", R.ILLEGAL_OPERATION),
        ("Orders", handle_of("v2 Orders broker-a 1700000009001 U1"), R.ILLEGAL_OPERATION),
        ("Orders", handle_of("v1 Orders broker-a 1700000009001"), R.ILLEGAL_OPERATION),
        ("Orders", handle_of("v1 Other broker-a 1700000009001 U1"), R.ILLEGAL_OPERATION),
        ("Orders", handle_of("v1 Orders broker-b 1700000009001 U1"), R.ILLEGAL_OPERATION),
        ("Orders", handle_of("v1 Orders broker-a 1700000000000 U1"), R.ILLEGAL_OPERATION),
        ("Orders", handle_of("v1 Orders broker-a 1800000000000 U1"), R.ILLEGAL_OPERATION),
        ("Orders", handle_of("v1 Orders broker-a then U1"), R.ILLEGAL_OPERATION),
    ],
)
def test_a_recall_that_cannot_be_is_refused(bench, topic, handle, code):
    send(bench, TIMER_DELAY_SEC=10)
    response = recall(bench, handle, topic)
    assert response.code == code
    assert response.remark
    assert bench.state.store.max_offset(WHEEL, 0) == 1


@pytest.mark.parametrize(
    ("settings", "code"), [({}, R.NO_PERMISSION), ({"recall_messages": True, "permission": 4}, R.SERVICE_NOT_AVAILABLE)]
)
def test_recall_is_off_by_default_and_for_a_broker_that_takes_no_messages(tmp_path, settings, code):
    with timer_bench(tmp_path / "store", **settings) as bench:
        assert recall(bench, handle_of("v1 Orders broker-a 1700000009001 U1")).code == code


def config_for(root, **settings):
    store = StoreConfig(root=root / "store", **SMALL_FILES)
    return replace(BrokerConfig(listen_port=0, name_server_port=0, recall_messages=True, store=store), **settings)


def test_a_running_broker_delivers_by_its_clock_and_again_after_a_restart(tmp_path):
    async def talk():
        clock = ManualClock()
        broker = EmbeddedBroker(config_for(tmp_path), clock=clock)
        await broker.start()
        for number, seconds in enumerate((5, 3, HOUR_MS // 1_000)):
            await put(broker, f"U{number}", seconds)
        await eventually(lambda: timers_of(broker).service.work and timers_of(broker).service.work.store.waiting == 3)
        clock.advance(4_000)
        timers_of(broker).service.turn_soon()
        await eventually(lambda: broker.store.max_offset("Orders", 3) == 1)
        await broker.stop()
        metrics = json.loads((tmp_path / "store" / "config" / "timermetrics").read_text("utf-8"))
        assert metrics["timingCount"] == {"Orders": {"count": 2, "timeStamp": clock()}}
        clock.advance(1_000)
        broker = EmbeddedBroker(config_for(tmp_path), clock=clock)
        await broker.start()
        await eventually(lambda: broker.store.max_offset("Orders", 3) == 2)
        assert timers_of(broker).service.work.store.waiting == 1
        found = broker.store.get_messages("Orders", 3, 0, 32).records
        assert [decode_record(record).properties["UNIQ_KEY"] for record in found] == ["U1", "U0"]
        assert broker.counters.topics["Orders"].put_messages == 1
        await broker.stop()

    asyncio.run(talk())


async def put(broker, unique_key, delay_seconds):
    properties = {"UNIQ_KEY": unique_key, "TIMER_DELAY_SEC": str(delay_seconds)}
    return await broker.put_from_console("Orders", 3, b"body", properties)


def timers_of(broker):
    return next(service for service in broker._services if isinstance(service, TimerMessages))


def test_timer_files_that_cannot_be_opened_are_told_to_whoever_sends(tmp_path, caplog):
    async def talk():
        log = tmp_path / "store" / "timerlog"
        log.mkdir(parents=True)
        (log / f"{0:020d}").write_bytes(bytes(8_192))
        (log / f"{8_192:020d}").write_bytes(bytes(9_000))
        (tmp_path / "store" / "commitlog").mkdir()
        broker = EmbeddedBroker(config_for(tmp_path))
        await broker.start()
        await eventually(lambda: timers_of(broker).service.fault)
        with pytest.raises(RequestRefusedError, match="Move the directory away") as refused:
            await put(broker, "U1", 10)
        assert refused.value.code == R.SERVICE_NOT_AVAILABLE
        await broker.stop()

    asyncio.run(talk())
    assert "cannot be opened" in caplog.text


def test_a_stop_delivers_the_slot_that_is_begun_and_writes_progress_behind_the_log(tmp_path, monkeypatch):
    unsynced = []

    async def talk():
        clock = ManualClock()
        broker = EmbeddedBroker(config_for(tmp_path), clock=clock)
        await broker.start()
        for number in range(600):
            await put(broker, f"U{number}", 5)
        service = timers_of(broker).service
        await eventually(lambda: service.work and service.work.store.waiting == 600)
        write = TimerStore.write

        def written(store, flush):
            if flush.checkpoint.progress.slot_ms:
                unsynced.append(broker.store.commit_log_max_offset - broker.store.flushed_offset)
            write(store, flush)

        monkeypatch.setattr(TimerStore, "write", written)
        clock.advance(6_000)
        while not broker.store.max_offset("Orders", 3):
            service.work.turn(clock())
        assert broker.store.max_offset("Orders", 3) < 600
        assert service.work.is_in_slot
        await broker.stop()
        assert broker.store.max_offset("Orders", 3) == 600

    asyncio.run(talk())
    assert unsynced == [0] * len(unsynced) != []
