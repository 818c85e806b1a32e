"""Every message that was taken can be copied: with properties up to the last byte, and bodies above a lowered limit."""

from dataclasses import replace

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.processors.pop import revive_log, reviver
from broker_core.engine.processors.pop.checkpoint import CheckpointKey, PopCheckpoint
from broker_core.engine.processors.timer_processor import TimerMessages
from broker_core.engine.schedule.delay_delivery import DelayDelivery
from broker_core.engine.schedule.level_queue import LevelQueue
from broker_core.engine.schedule.overrides import Overrides
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.config_files import ConfigFiles
from broker_core.engine.transaction import engine
from broker_core.engine.transaction.ledger import TransactionOutcome
from broker_core.errors import RecordError
from broker_core.protocol.admin.groups import GroupConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.message_id import parse_offset_message_id
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import DISCARD_TOPIC, HALF_TOPIC, SCHEDULE_TOPIC, WHEEL_TIMER_TOPIC
from tests.support.broker_bench import SMALL_FILES, BrokerBench, RecordingPeer, broker_bench, send_fields
from tests.support.pop_bench import pop_bench, pop_fields, restart
from tests.support.schedule_bench import ManualTimers
from tests.support.transaction_bench import COMMIT, INTERVAL_MS, ROLLBACK, transaction_bench

FREE_BYTES = (*range(0, 30, 3), *range(30, 210, 10))
"""Bytes that the properties of a message leave of the 32,767 of its record."""
PEER = RecordingPeer()
LARGE = bytes(300_000)


def kept(text):
    """What a producer set: no copy may be without it."""
    return dict(item.split("\x01") for item in text.split("\x02") if item)


def filled(bench: BrokerBench, free, *, more="", **fields):
    """Send a message whose record has so many free bytes of properties; returns what the producer set, and the record."""

    def send(length):
        text = f"UNIQ_KEY\x01k{free:03}\x02{more}long\x01{'v' * length}"
        answer = bench.answer(PEER, Q.SEND_MESSAGE_V2, send_fields(properties=text, **fields), b"%d" % free)
        assert answer.code == R.SUCCESS, answer.remark
        _host, offset = parse_offset_message_id(answer.ext_fields["msgId"])
        return text, decode_record(bench.state.store.record_at(offset))

    _text, short = send(1)
    text, record = send(1 + PROPERTIES_BYTES_MAX - free - len(short.properties_bytes))
    assert len(record.properties_bytes) == PROPERTIES_BYTES_MAX - free
    return text, record


def messages(bench, topic, queue_id=0):
    store, found = bench.state.store, []
    while (offset := len(found)) < store.max_offset(topic, queue_id):
        found += [decode_record(record) for record in store.get_messages(topic, queue_id, offset, 32).records]
    return found


def by_key(found):
    return {message.properties["UNIQ_KEY"]: message for message in found if len(message.properties_bytes) > 20_000}


def has_all(message, text):
    return kept(text).items() <= message.properties.items()


def events(bench):
    return bench.state.set_aside.take()


@pytest.mark.parametrize("retries", [1, 0])
def test_popped_messages_come_again_or_are_dead_letters_with_their_neighbours(tmp_path, retries):
    with pop_bench(tmp_path / "store") as bench:
        bench.state.groups.put(GroupConfig("CG", retry_times_max=retries))
        sent = {}
        for free in FREE_BYTES:
            text, record = filled(bench, free)
            sent[record.properties["UNIQ_KEY"]] = text
            bench.put("T", 0, b"neighbour %d" % free)
        while bench.pop(queueId=0):
            pass
        for _ in range(5):
            bench.pass_time(11_000)
        found = messages(bench, "%RETRY%CG_T" if retries else "%DLQ%CG")
        assert len(found) == 3 * len(FREE_BYTES)
        assert all(has_all(message, sent[key]) for key, message in by_key(found).items())
        assert by_key(found).keys() == sent.keys()
        assert len(bench.dispatcher.pop.outstanding.ledger) == 0
        assert events(bench) == []


def test_what_is_sent_back_waits_for_its_retry_or_is_a_dead_letter_with_an_event(tmp_path):
    with broker_bench(tmp_path) as bench:
        sent = {}
        for free in FREE_BYTES:
            text, record = filled(bench, free)
            sent[record.properties["UNIQ_KEY"]] = text
            fields = {"group": "CG", "offset": record.physical_offset, "delayLevel": 0, "originTopic": "T"}
            assert bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields).code == R.SUCCESS
        deliver(bench, 3)
        retried, dead = by_key(messages(bench, "%RETRY%CG")), by_key(messages(bench, "%DLQ%CG"))
        assert retried.keys() | dead.keys() == sent.keys()
        assert not retried.keys() & dead.keys()
        assert all(has_all(message, sent[key]) for key, message in (retried | dead).items())
        assert all(message.properties["RETRY_TOPIC"] == "T" for message in retried.values())
        assert {"k050", "k060", "k200"} <= retried.keys()
        texts = [event.text for event in events(bench)]
        assert len(texts) == len(dead)
        assert all("its properties would be longer" in text and "it is a dead letter of CG now" in text for text in texts)


def test_the_last_send_back_is_a_dead_letter_without_an_event(tmp_path):
    with broker_bench(tmp_path) as bench:
        for free in FREE_BYTES:
            text, record = filled(bench, free)
            fields = {"group": "CG", "offset": record.physical_offset, "delayLevel": -1, "originTopic": "T"}
            assert bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields).code == R.SUCCESS
            assert has_all(messages(bench, "%DLQ%CG")[-1], text)
        assert events(bench) == []


def test_a_dead_letter_without_room_for_the_name_of_its_topic_has_what_the_producer_set(tmp_path):
    topic = "T" * 120
    with broker_bench(tmp_path) as bench:
        text, record = filled(bench, 0, topic=topic)
        fields = {"group": "CG", "offset": record.physical_offset, "delayLevel": -1, "originTopic": topic}
        assert bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields).code == R.SUCCESS
        (dead,) = messages(bench, "%DLQ%CG")
        assert has_all(dead, text)
        assert "RETRY_TOPIC" not in dead.properties, "the test leaves room for it"


def test_repeated_messages_of_which_one_has_no_room_for_a_handle_all_come_without(tmp_path):
    with pop_bench(tmp_path / "store") as bench:
        filled(bench, 0)
        bench.put("T", 0, b"neighbour")
        while bench.pop(queueId=0):
            pass
        bench.pass_time(11_000)
        answer = bench.answer(bench.peer, Q.POP_MESSAGE, pop_fields(bench.clock()))
        came = [decode_record(record) for record in answer.body_slices]
        assert [(message.topic, "POP_CK" in message.properties) for message in came] == [("%RETRY%CG_T", False)] * 3


@pytest.mark.parametrize("retries", [1, 0])
def test_a_popped_message_of_another_broker_whose_properties_are_no_text_comes_again_as_it_is(tmp_path, retries):
    with pop_bench(tmp_path / "store") as bench:
        bench.state.groups.put(GroupConfig("CG", retry_times_max=retries))
        bench.put("T", 0, b"neighbour")
        (sent,) = messages(bench, "T")
        properties = b"bytes\x01" + b"\xff" * 20_000
        bench.state.store.put(sent.copy_for("T", 0, properties))
        while bench.pop(queueId=0):
            pass
        bench.pass_time(11_000)
        copies = messages(bench, "%RETRY%CG_T" if retries else "%DLQ%CG")
        assert [properties in copy.properties_bytes for copy in copies] == [False, True]
        assert events(bench) == []


def deliver(bench, level):
    """Deliver what waits in a level."""
    timers = ManualTimers(bench.clock)
    delay_ms = bench.state.store.delay_levels.delay_ms(level)
    queue = LevelQueue(bench.state.store, level, delay_ms, 0)
    delivery = DelayDelivery(
        bench.state.store, {level: queue}, Overrides(), clock=bench.clock, timers=timers, set_aside=bench.state.set_aside
    )
    delivery.start()
    timers.advance(delay_ms)
    delivery.stop()
    assert queue.offset == bench.state.store.max_offset(SCHEDULE_TOPIC, level - 1)


def test_delayed_messages_are_delivered(tmp_path):
    with broker_bench(tmp_path) as bench:
        sent = {}
        for free in FREE_BYTES:
            text, record = filled(bench, free, more="DELAY\x012\x02")
            sent[record.properties["UNIQ_KEY"]] = text
        deliver(bench, 2)
        found = by_key(messages(bench, "T"))
        assert found.keys() == sent.keys()
        assert all(has_all(message, sent[key]) for key, message in found.items())


# ---- transactions ----

HALF = "TRAN_MSG\x01true\x02PGROUP\x01PG\x02"


def half(bench, free):
    return filled(bench.bench, free, more=HALF, sys_flag=4)[1]


def end(bench, half_offset, decision):
    pending = bench.engine.ledger.find(half_offset)
    fields = {
        "producerGroup": "PG", "tranStateTableOffset": pending.half_offset, "commitLogOffset": pending.physical_offset,
        "commitOrRollback": decision, "fromTransactionCheck": "true", "msgId": "",
    }  # fmt: skip
    return bench.bench.ask(PEER, Q.END_TRANSACTION, fields).code


@pytest.mark.parametrize("decision", [COMMIT, ROLLBACK])
def test_half_messages_are_checked_without_a_stop_and_decided(tmp_path, decision):
    with transaction_bench(tmp_path / "store") as bench:
        peer = bench.join()
        halves = [half(bench, free) for free in FREE_BYTES]
        last = bench.send(b"neighbour")
        for times in (1, 2):
            bench.clock.advance(INTERVAL_MS)
            bench.round()
            assert {bench.engine.ledger.find(record.queue_offset).check_times for record in halves} == {times}
            assert bench.engine.ledger.find(last.half_offset).check_times == times
        assert len(peer.pushed) == 2 * (2 * len(FREE_BYTES) + 1)
        assert all(end(bench, record.queue_offset, decision) == R.SUCCESS for record in halves)
        real = [message for message in messages(bench, "T") if len(message.properties_bytes) > 20_000]
        assert len(real) == (len(halves) if decision == COMMIT else 0)


def test_half_messages_are_given_up_and_resumed(tmp_path):
    with transaction_bench(tmp_path / "store") as bench:
        bench.join()
        bench.engine.settings = replace(bench.engine.settings, check_times_max=2)
        halves = [half(bench, free) for free in FREE_BYTES]
        for _ in range(3):
            bench.clock.advance(INTERVAL_MS)
            bench.round()
        assert len(bench.engine.ledger) == 0
        given_up = [message for message in messages(bench, DISCARD_TOPIC) if len(message.properties_bytes) > 20_000]
        assert len(given_up) == len(halves)
        for message in given_up:
            assert bench.engine.resume(message.physical_offset).code == R.SUCCESS
        assert len(bench.engine.ledger) == len(halves)
        assert events(bench) == []


def timed(bench):
    """The same bench with timers."""
    folder = bench.state.config.store.root / "config"
    TimerMessages(bench.state, bench.bench.dispatcher, ConfigFiles(folder), journal=ActionJournal(folder, clock=bench.clock))
    return bench


@pytest.mark.parametrize("checks", [0, 2])
def test_a_half_message_with_a_time_has_room_for_what_checks_and_the_commit_add(tmp_path, checks):
    with transaction_bench(tmp_path / "store") as made:
        bench, accepted = timed(made), {}
        bench.join()
        for length in range(32_100, 32_450):
            text = f"{HALF}TIMER_DELAY_SEC\x0160\x02long\x01{'v' * length}"
            answer = bench.bench.answer(PEER, Q.SEND_MESSAGE_V2, send_fields(properties=text, sys_flag=4), b"x")
            if answer.code != R.SUCCESS:
                assert "the broker adds its own" in answer.remark
                break
            accepted[length] = int(answer.ext_fields["queueOffset"])
        assert 32_100 < len(accepted) + 32_100 < 32_450
        bench.rounds(checks)
        for offset in accepted.values():
            assert end(bench, offset, COMMIT) == R.SUCCESS
        assert len(messages(bench, WHEEL_TIMER_TOPIC)) == len(accepted)


@pytest.mark.parametrize(
    "asked", ["DELAY\x01x", "TIMER_DELIVER_MS\x01soon", "TIMER_DELAY_SEC\x01999999999", "TIMER_DELAY_MS\x011e3"]
)
def test_a_half_message_whose_delay_no_commit_could_keep_is_refused(tmp_path, asked):
    with transaction_bench(tmp_path / "store") as made:
        bench = timed(made)
        answer = bench.bench.answer(PEER, Q.SEND_MESSAGE_V2, send_fields(properties=f"{HALF}{asked}", sys_flag=4), b"x")
        assert answer.code == R.MESSAGE_ILLEGAL
        assert bench.halves() == []


TIMED = f"{HALF}TIMER_DELAY_SEC\x015000"


def set_down(tmp_path, **settings):
    return StoreConfig(root=tmp_path / "store", **SMALL_FILES, **settings)


def send_timed(made):
    answer = timed(made).bench.answer(PEER, Q.SEND_MESSAGE_V2, send_fields(properties=TIMED, sys_flag=4), b"x")
    assert answer.code == R.SUCCESS
    return int(answer.ext_fields["queueOffset"])


def test_a_lowered_limit_of_times_holds_back_no_commit(tmp_path):
    with transaction_bench(tmp_path / "store") as made:
        offset = send_timed(made)
    with transaction_bench(tmp_path / "store", store=set_down(tmp_path, timer_max_delay_seconds=60)) as made:
        bench = timed(made)
        answer = bench.bench.answer(PEER, Q.SEND_MESSAGE_V2, send_fields(properties=TIMED, sys_flag=4), b"x")
        assert "timerMaxDelaySec" in answer.remark
        assert end(bench, offset, COMMIT) == R.SUCCESS
        assert [message.body for message in messages(bench, WHEEL_TIMER_TOPIC)] == [b"x"]


def test_a_commit_that_is_refused_until_the_transaction_is_given_up_is_an_event(tmp_path):
    """The switch of the timers is off after a restart, and the producer commits at each check; nobody hears an answer."""
    with transaction_bench(tmp_path / "store") as made:
        offset = send_timed(made)
    with transaction_bench(tmp_path / "store", store=set_down(tmp_path, timer_wheel=False)) as made:
        bench = timed(made)
        bench.join()
        bench.engine.settings = replace(bench.engine.settings, check_times_max=2)
        for _time in range(2):
            bench.rounds(1)
            assert end(bench, offset, COMMIT) == R.SYSTEM_ERROR
            assert events(bench) == []
        bench.rounds(1)
        (given_up,) = messages(bench, DISCARD_TOPIC)
        (event,) = events(bench)
        assert event.topic == "T"
        assert "is given up, because its commit to T was refused: " in event.text
        assert "timerWheelEnable is false" in event.text
    with transaction_bench(tmp_path / "store") as made:
        bench = timed(made)
        assert bench.engine.resume(given_up.physical_offset).code == R.SUCCESS
        (half_message,) = bench.engine.ledger
        assert end(bench, half_message.origin, COMMIT) == R.SUCCESS
        assert [message.body for message in messages(bench, WHEEL_TIMER_TOPIC)] == [b"x"]


def test_a_commit_that_no_store_takes_gives_the_transaction_up_once(tmp_path):
    with transaction_bench(tmp_path / "store") as bench:
        bench.join()
        bad, good = bench.send(b"bad", topic="T"), bench.send(b"good")
        bench.state.topics.ensure("t" * 256, queues=2)
        long = bench.send(b"long", topic="t" * 256)
        assert bench.code(long, COMMIT) == R.MESSAGE_ILLEGAL
        assert bench.code(bad, COMMIT) == bench.code(good, COMMIT) == R.SUCCESS
        assert bench.engine.ledger.outcome(long.half_offset) is TransactionOutcome.GIVEN_UP
        assert [message.body for message in messages(bench, DISCARD_TOPIC)] == [b"long"]
        assert bench.code(long, COMMIT) == R.MESSAGE_ILLEGAL
        (event,) = events(bench)
        assert event.topic == "t" * 256
        assert "its transaction is given up" in event.text


# ---- bodies ----


def lower_the_limit(bench):
    bench.dispatcher.settings.change({"maxMessageSize": "1000"})
    assert bench.put(body=LARGE).code == R.MESSAGE_ILLEGAL


def test_a_lowered_limit_of_bodies_holds_back_no_copy(tmp_path):
    with pop_bench(tmp_path / "store") as bench:
        sent = bench.put(body=LARGE)
        bench.put(body=LARGE, properties="DELAY\x012")
        lower_the_limit(bench)
        _host, offset = parse_offset_message_id(sent.ext_fields["msgId"])
        fields = {"group": "CG", "offset": offset, "delayLevel": 0, "originTopic": "T"}
        assert bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields).code == R.SUCCESS
        assert len(bench.pop(queueId=0)) == 1
        bench.pass_time(11_000)
        deliver(bench, 2)
        deliver(bench, 3)
        assert [message.body for topic in ("T", "%RETRY%CG", "%RETRY%CG_T") for message in messages(bench, topic)] == [
            LARGE
        ] * 4


def test_a_lowered_limit_of_bodies_holds_back_no_transaction(tmp_path):
    with transaction_bench(tmp_path / "store") as bench:
        bench.join()
        fields = send_fields("T", 0, properties=f"{HALF}UNIQ_KEY\x01k", sys_flag=4)
        assert bench.bench.answer(PEER, Q.SEND_MESSAGE_V2, fields, LARGE).code == R.SUCCESS
        lower_the_limit(bench.bench)
        bench.clock.advance(INTERVAL_MS)
        bench.round()
        assert len(messages(bench, HALF_TOPIC)) == 2
        assert end(bench, messages(bench, HALF_TOPIC)[0].queue_offset, COMMIT) == R.SUCCESS
        assert [message.body for message in messages(bench, "T")] == [LARGE]


# ---- records as large as a file ----


def fill_a_file(bench, topic, *, properties="", bodies=(b"neighbour",), sys_flag=0):
    """Send the largest body that fits into a file of the log, and others after it."""
    most = bench.state.config.store.commit_log_file_bytes
    fields = send_fields(topic, 0, properties=properties, sys_flag=sys_flag)
    while (answer := bench.answer(PEER, Q.SEND_MESSAGE_V2, fields, bytes(most))).code != R.SUCCESS:
        most -= 1
    for body in bodies:
        assert bench.answer(PEER, Q.SEND_MESSAGE_V2, fields, body).code == R.SUCCESS
    return parse_offset_message_id(answer.ext_fields["msgId"])[1]


def test_a_popped_message_as_large_as_a_file_stays_and_its_neighbour_comes_again(tmp_path):
    with pop_bench(tmp_path / "store") as bench:
        offset = fill_a_file(bench, "T")
        while bench.pop(queueId=0):
            pass
        bench.pass_time(11_000)
        assert [message.body for message in messages(bench, "%RETRY%CG_T")] == [b"neighbour"]
        assert len(bench.dispatcher.pop.outstanding.ledger) == 0
        (event,) = events(bench)
        assert f"The message at {offset} of the commit log cannot be copied to %RETRY%CG_T" in event.text
        fields = {"group": "CG", "offset": offset, "delayLevel": 0, "originTopic": "T"}
        answer = bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields)
        assert (answer.code, "does not fit into a file" in answer.remark) == (R.SYSTEM_ERROR, True)


def test_a_delayed_message_as_large_as_a_file_stays_and_its_neighbour_is_delivered(tmp_path):
    topic = "Long" * 10
    with broker_bench(tmp_path) as bench:
        bench.state.topics.ensure(topic, queues=1)
        fill_a_file(bench, topic, properties="DELAY\x012")
        deliver(bench, 2)
        assert [message.body for message in messages(bench, topic)] == [b"neighbour"]
        (event,) = events(bench)
        assert (event.topic, "it stays there and is not delivered" in event.text) == (topic, True)


def test_a_half_message_as_large_as_a_file_holds_up_no_check(tmp_path):
    with transaction_bench(tmp_path / "store") as bench:
        peer = bench.join()
        bench.engine.settings = replace(bench.engine.settings, check_times_max=1)
        fill_a_file(bench.bench, "T", properties=HALF, bodies=(b"one", b"two"), sys_flag=4)
        for _ in range(2):
            bench.clock.advance(INTERVAL_MS)
            bench.round()
        assert len(peer.pushed) == 3
        assert [message.body for message in messages(bench, DISCARD_TOPIC)] == [b"one", b"two"]
        assert len(bench.engine.ledger) == 0
        (event,) = events(bench)
        assert (event.topic, "it stays there" in event.text) == (DISCARD_TOPIC, True)


# ---- names ----


def hand_out(bench, group, topic):
    """Have a group hold the first message of a topic, as a store taken over from another broker says."""
    bench.state.groups.put(GroupConfig(group))
    key = CheckpointKey(topic, group, 0, 0, bench.clock())
    assert bench.dispatcher.pop.outstanding.hand_out(PopCheckpoint(key, 10_000, (0,), 0))


@pytest.mark.parametrize(
    ("length", "outcome"), [(240, "it is a dead letter of g"), (255, "it stays there and is not delivered")]
)
def test_a_group_whose_retry_topic_cannot_be_holds_up_nobody(tmp_path, length, outcome):
    with pop_bench(tmp_path / "store") as bench:
        for topic, group in (("t" * 100, "g" * length), ("T", "CG")):
            bench.put(topic)
            hand_out(bench, group, topic)
        bench.pass_time(11_000)
        assert len(messages(bench, "%RETRY%CG_T")) == 1
        assert len(bench.dispatcher.pop.outstanding.ledger) == 0
        (event,) = events(bench)
        assert "the name of the topic is too long" in event.text
        assert outcome in event.text
        assert all(len(name) <= 255 for name in bench.state.topics.all())
        bench.pass_time(11_000)
        assert events(bench) == []


def damage(monkeypatch, module, found):
    """Have a module find damaged records."""

    def decode(record):
        message = decode_record(record)
        if found(message):
            raise RecordError("the parts of the record do not add up")
        return message

    monkeypatch.setattr(module, "decode_record", decode)


def test_a_damaged_message_holds_up_no_other_that_was_popped(tmp_path, monkeypatch):
    with pop_bench(tmp_path / "store") as bench:
        for body in (b"damaged", b"sound"):
            bench.put(body=body)
        assert len(bench.pop(queueId=0)) == 2
        damage(monkeypatch, reviver, lambda message: message.body == b"damaged")
        bench.pass_time(11_000)
        assert [message.body for message in messages(bench, "%RETRY%CG_T")] == [b"sound"]
        assert len(bench.dispatcher.pop.outstanding.ledger) == 0


def test_a_damaged_record_of_the_revive_log_holds_up_no_other(tmp_path, monkeypatch):
    with pop_bench(tmp_path / "store") as bench:
        for body in (b"forgotten", b"sound"):
            bench.put(body=body)
            assert len(bench.pop(queueId=0)) == 1
        damage(monkeypatch, revive_log, lambda message: b'"so":0' in message.body)
        again = restart(bench)
        again.pass_time(11_000)
        assert [message.body for message in messages(again, "%RETRY%CG_T")] == [b"sound"]


def test_a_damaged_half_message_holds_up_no_other(tmp_path, monkeypatch):
    with transaction_bench(tmp_path / "store") as bench:
        peer = bench.join()
        damaged, sound = bench.send(b"damaged"), bench.send(b"sound")
        damage(monkeypatch, engine, lambda message: message.body == b"damaged")
        bench.clock.advance(INTERVAL_MS)
        bench.round()
        assert bench.engine.ledger.outcome(damaged.half_offset) is TransactionOutcome.EXPIRED
        assert bench.engine.ledger.find(sound.half_offset).check_times == 1
        assert len(peer.pushed) == 1


def test_a_send_back_to_a_group_of_an_impossible_retry_topic_says_so(tmp_path):
    with broker_bench(tmp_path) as bench:
        bench.put()
        fields = {"group": "g" * 255, "offset": 0, "delayLevel": 0, "originTopic": "T"}
        answer = bench.answer(PEER, Q.CONSUMER_SEND_MSG_BACK, fields)
        assert answer.code == R.SYSTEM_ERROR
        assert "the name of the topic is too long" in answer.remark
        assert "%RETRY%" + "g" * 255 not in bench.state.topics
