"""Reads full of sends: the kernel of sends, compiled and not, stores, answers and tells as processors do."""

from __future__ import annotations

import os
import random
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace

import pytest

from broker_core.engine.processors import dispatcher as dispatcher_module
from broker_core.engine.processors.send_reads import SendReads
from broker_core.engine.store.disk import Disk
from broker_core.engine.tables.latency import LatencyWindow
from broker_core.errors import FrameError, RequestRefusedError
from broker_core.native import lane_table
from broker_core.native import send_columns as s
from broker_core.native.lanes import OUT_END
from broker_core.protocol.codes import LanguageCode, SerializeType
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import FrameDecoder, RemotingCommand, encode_command
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, broker_bench, pull_fields
from tests.support.machine_code import library
from tests.support.send_reads import read
from tests.unit.engine.processors.test_plain_sends import frame_of

READS = int(os.environ.get("ORBIT_FUZZED_READS", "120"))
"""Of each seed."""
JSON, BINARY = SerializeType.JSON, SerializeType.ROCKETMQ


class BytesPeer(RecordingPeer):
    """Keeps all that it is sent, in order, as bytes."""

    def __init__(self, address: str = "10.0.0.7:4711") -> None:
        super().__init__(address)
        self.received = b""

    def send(self, command: RemotingCommand) -> bool:
        return self.send_frame(encode_command(command))

    def send_frame(self, frame: bytes) -> bool:
        self.received += frame
        return True

    def send_parts(self, parts: list, size: int) -> bool:
        assert sum(map(len, parts)) == size
        return self.send_frame(b"".join(parts))

    def answers(self) -> list[RemotingCommand]:
        received, self.received = self.received, b""
        return list(FrameDecoder().feed(received))


def serve(bench, peer: BytesPeer, data: bytes, *, decoded: bool = False) -> None:
    """Serve a read as a connection does; ``decoded`` without a look at its bytes."""

    def take(source: bytes, position: int, total: int) -> int:
        return bench.dispatcher.plain.serve(peer, source, position, total)

    for command in FrameDecoder().feed(data, None if decoded else take):
        peer.requests_in += 1
        peer.version, peer.serialize_type, peer.language = command.version, command.serialize_type, command.language
        answer = bench.dispatcher.handle(peer, command)
        if answer is not None:
            peer.send(answer)


def fault_of(bench, peer: BytesPeer, data: bytes, *, decoded: bool) -> str:
    """Serve a read; returns the fault that ends its connection, empty for none."""
    try:
        serve(bench, peer, data, decoded=decoded)
    except FrameError as error:
        return error.message
    return ""


@contextmanager
def kernel_bench(root, monkeypatch, kind: str, durable=None, **settings):
    """A bench whose sends the kernel serves; of kind ``none`` one without."""
    monkeypatch.setattr(dispatcher_module, "machine_code", lambda _: None)
    with broker_bench(root, **settings) as bench:
        plain = bench.dispatcher.plain
        if kind != "none":
            bench.puts = bench.state.store.plain_puts(library() if kind == "machine code" else None)
            plain.reads = SendReads(bench.state, bench.dispatcher.send, plain.send_codec, bench.puts, durable)
        yield bench


@pytest.fixture(params=["machine code", "python"])
def kind(request) -> str:
    return request.param


@pytest.fixture
def bench(tmp_path, monkeypatch, kind):
    with kernel_bench(tmp_path, monkeypatch, kind) as made:
        yield made


def taught(bench, *, kinds=(BINARY, JSON), queues=(0, 1, 2, 3)) -> BytesPeer:
    """A peer whose sends to some queues of ``T`` have lanes."""
    peer = BytesPeer()
    for _ in range(2):
        serve(bench, peer, b"".join(frame_of(e=str(queue), serialize_type=kind) for kind in kinds for queue in queues))
    assert {answer.code for answer in peer.answers()} == {R.SUCCESS}
    peer.requests_in = 0
    return peer


def calls_of(bench, monkeypatch) -> list[int]:
    """Why the kernel stops from now on."""
    found = []
    run = bench.puts.run
    monkeypatch.setattr(bench.puts, "run", lambda: found.append(run()) or found[-1])
    return found


def all_of(bench) -> tuple[object, ...]:
    """What sends leave in a broker."""
    store = bench.state.store
    log = bytes(store.bytes_at(0, min(store.commit_log_max_offset, 1 << 20)) or b"")
    queues = {key: (store.standing(*key), store.unit_bytes(*key, 0, store.max_offset(*key))) for key in store.queues()}
    counters = bench.state.counters
    counted = {name: (one.puts, one.put_messages, one.put_bytes) for name, one in counters.topics.items()}
    total = (counters.puts, counters.put_messages, counters.put_bytes, counters.put_failed)
    return log, store.commit_log_max_offset, queues, counted, total


@pytest.mark.parametrize("seed", range(3))
def test_a_read_leaves_and_answers_what_its_sends_would_one_by_one(tmp_path, monkeypatch, kind, seed):
    randomness, latencies, add = random.Random(seed), Counter(), LatencyWindow.add

    def noted(window, seconds, now_s, count=1) -> None:
        latencies[id(window)] += count
        add(window, seconds, now_s, count)

    monkeypatch.setattr(LatencyWindow, "add", noted)
    with (
        kernel_bench(tmp_path / "short", monkeypatch, kind) as short,
        kernel_bench(tmp_path / "long", monkeypatch, "none") as long,
    ):
        peer, other = BytesPeer(), BytesPeer()
        stops = calls_of(short, monkeypatch)
        for number in range(READS):
            data = read(randomness)
            for bench in (short, long):
                bench.clock.now_ms += number % 3
            assert fault_of(short, peer, data, decoded=False) == fault_of(long, other, data, decoded=True)
            assert peer.received == other.received
            assert (peer.version, peer.language, peer.serialize_type, peer.requests_in) == (
                other.version, other.language, other.serialize_type, other.requests_in,
            )  # fmt: skip
            peer.received = other.received = b""
            if number % 20 == 0 or number == READS - 1:
                assert all_of(short) == all_of(long)
        assert [latencies[id(bench.state.counters.put_latency)] for bench in (short, long)] == [short.state.counters.puts] * 2
        assert {s.ALL, s.NOT_PLAIN, s.NO_LANE} <= set(stops)


def test_the_log_rolls_and_queues_grow_within_a_read(bench, monkeypatch):
    peer = taught(bench, kinds=[BINARY])
    stops = calls_of(bench, monkeypatch)
    for number in range(40):
        data = b"".join(frame_of(body=bytes([number]) * 2_000, opaque=opaque, e=str(opaque % 4)) for opaque in range(30))
        serve(bench, peer, data)
        answers = peer.answers()
        assert [(answer.code, answer.opaque) for answer in answers] == [(R.SUCCESS, opaque) for opaque in range(30)]
    assert bench.state.store.commit_log_max_offset > 2 << 20
    assert peer.requests_in == 1_200
    assert set(stops) == {s.GO_ON, s.ALL}
    store = bench.state.store
    assert [store.stored_max_offset("T", queue_id) for queue_id in range(4)] == [322, 322, 282, 282]
    bodies = [decode_record(record).body[:1] for record in store.get_stored_messages("T", 2, 2 + 7 * 30, 14).records]
    assert bodies == [bytes([number]) for number in (30, 31) for _ in range(7)]


def test_the_log_rolls_and_queues_grow_within_a_read_of_batches(bench, monkeypatch):
    peer = taught(bench, kinds=[BINARY])
    stops = calls_of(bench, monkeypatch)
    for number in range(24):
        data = b"".join(batch_of(50, body=bytes([number]) * 100, opaque=opaque, e=str(opaque % 4)) for opaque in range(8))
        serve(bench, peer, data)
        assert [(answer.code, answer.opaque) for answer in peer.answers()] == [(R.SUCCESS, opaque) for opaque in range(8)]
    assert bench.state.store.commit_log_max_offset > 2 << 20
    assert (peer.requests_in, set(stops)) == (192, {s.NO_LANE, s.GO_ON, s.ALL})
    store = bench.state.store
    assert [store.stored_max_offset("T", queue_id) for queue_id in range(4)] == [2_402] * 4
    bodies = [decode_record(record).body[:1] for record in store.get_stored_messages("T", 2, 2 + 7 * 100, 14).records]
    assert bodies == [bytes([7])] * 14


def test_more_answers_than_have_room_leave_in_several_pieces(bench, monkeypatch):
    peer = taught(bench, kinds=[BINARY])
    stops = calls_of(bench, monkeypatch)
    bench.puts.state[OUT_END] = 5_000
    serve(bench, peer, b"".join(frame_of(opaque=opaque) for opaque in range(100)))
    assert [answer.opaque for answer in peer.answers()] == list(range(100))
    assert (set(stops), peer.requests_in) == ({s.OUT_FULL, s.GO_ON, s.ALL}, 100)
    assert bench.state.counters.topics["T"].put_messages == 108


def test_a_pull_that_waits_is_answered_before_the_producer(bench):
    taught(bench)
    order = []

    class Consumer(BytesPeer):
        def send(self, command: RemotingCommand) -> bool:
            order.append(("consumer", command.code, command.ext_fields["nextBeginOffset"]))
            return True

    class Producer(BytesPeer):
        def send_frame(self, frame: bytes) -> bool:
            order.append(("producer", len(list(FrameDecoder().feed(frame)))))
            return True

    consumer, producer = Consumer(), Producer()
    flags = 2 | 4
    for number, (queue, tag) in enumerate(((1, "*"), (2, "a"), (3, "b"))):
        fields = pull_fields("T", queue, 4, subscription=tag, sysFlag=flags, consumerGroup=f"G{number}")
        assert bench.ask(consumer, Q.PULL_MESSAGE, fields) is None
    serve(bench, producer, b"".join(frame_of(e=str(queue)) for queue in (0, 1, 2, 3, 1, 2)))
    assert sorted(order[:2]) == [("consumer", R.SUCCESS, "6"), ("consumer", R.SUCCESS, "6")]
    assert order[2:] == [("producer", 6)]
    assert len(bench.dispatcher.pull.holds) == 1
    serve(bench, producer, frame_of(e="3", properties="TAGS\x01b"))
    assert order[3:] == [("consumer", R.SUCCESS, "6"), ("producer", 1)]


def test_a_fault_of_one_who_is_told_loses_no_answer(bench, monkeypatch, caplog):
    peer = taught(bench)

    def fail(*_args) -> None:
        raise RuntimeError("a listener is broken")

    monkeypatch.setattr(bench.state.store, "tell_arrivals", fail)
    serve(bench, peer, frame_of(opaque=5))
    assert [answer.opaque for answer in peer.answers()] == [5]
    assert "a listener is broken" in caplog.text


def stops_at(bench, monkeypatch, peer, frame: bytes) -> tuple[list[int], int]:
    """Why the kernel stops at a send, and the code of its answer."""
    with monkeypatch.context() as patch:
        stops = calls_of(bench, patch)
        serve(bench, peer, frame)
    (answer,) = peer.answers()
    return stops, answer.code


def batch_of(members: int, *, properties: bytes = b"TAGS\x01a\x02WAIT\x01true", body: bytes = b"x", **fields) -> bytes:
    data = encode_batch([BatchMember(number, body, properties) for number in range(members)])
    return frame_of("WAIT\x01true", data, code=Q.SEND_BATCH_MESSAGE, m="true", **fields)


@pytest.mark.parametrize("header", [BINARY, JSON], ids=["binary", "json"])
@pytest.mark.parametrize("members", [1, 3, 1024])
def test_a_batch_is_served_from_the_first_one_on(bench, monkeypatch, header, members):
    peer, store = BytesPeer(), bench.state.store
    serve(bench, peer, frame_of(e="2", serialize_type=header))
    before = bench.state.counters.puts, bench.state.counters.put_messages
    peer.answers()
    for first in (1, 1 + members):
        stops = calls_of(bench, monkeypatch)
        serve(bench, peer, batch_of(members, e="2", serialize_type=header))
        assert (set(stops) - {s.NO_LANE, s.GO_ON}, stops[-1]) == ({s.ALL}, s.ALL)
        (answer,) = peer.answers()
        records = []
        while len(records) < members:
            found = store.get_stored_messages("T", 2, first + len(records), members - len(records)).records
            assert found
            records += [decode_record(record) for record in found]
        assert answer.code == R.SUCCESS
        ids = answer.ext_fields["msgId"].split(",")
        assert [int(one[16:], 16) for one in ids] == [record.physical_offset for record in records]
        assert (len(ids), answer.ext_fields["queueOffset"]) == (members, str(first))
        assert [record.flag for record in records] == list(range(members))
        expected = {"TAGS": "a", "WAIT": "true", "CLUSTER": "DefaultCluster"}
        assert all(record.properties == expected for record in records)
        assert {unit.tags_code for unit in store.queue_units("T", 2, first, members)} == {97}
    counters = bench.state.counters
    assert (counters.puts - before[0], counters.put_messages - before[1]) == (2, 2 * members)


@pytest.mark.parametrize(
    "frame",
    [
        batch_of(1025),
        batch_of(2, properties=b"DELAY\x010"),
        batch_of(2, properties=b"a\x01\xc3\xa9"),
        batch_of(2, properties=b"TAGS\x01a\x02TAGS\x01b"),
        batch_of(2, e="-1"),
    ],
    ids=["many members", "a delay of 0", "no ASCII", "two tags", "any queue"],
)
def test_a_batch_that_is_not_plain_is_stored_by_python(bench, monkeypatch, frame):
    peer = taught(bench)
    stops, code = stops_at(bench, monkeypatch, peer, frame)
    assert (s.ALL in stops, code) == (False, R.SUCCESS)


@pytest.mark.parametrize(
    ("fields", "body", "codes"),
    [
        ({"code": Q.SEND_BATCH_MESSAGE, "m": "true"}, encode_batch([BatchMember(0, b"x", b"TAGS\x01a")] * 9), R.SUCCESS),
        ({"m": "true"}, encode_batch([BatchMember(0, b"x", b"TAGS\x01a")] * 9), R.SUCCESS),
        ({"code": Q.SEND_BATCH_MESSAGE, "m": "true"}, encode_batch([BatchMember(0, b"", b"TAGS\x01a")] * 9), R.MESSAGE_ILLEGAL),
        ({}, b"", R.MESSAGE_ILLEGAL),
    ],
    ids=["batch whose request has properties", "batch of code 310", "members without bodies", "without a body"],
)
def test_unusual_batches_and_empty_bodies_are_left_to_python(bench, monkeypatch, fields, body, codes):
    peer = taught(bench)
    stops, code = stops_at(bench, monkeypatch, peer, frame_of(body=body, **fields))
    assert (s.ALL in stops, code) == (False, codes)
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.ALL], R.SUCCESS)


def test_a_topic_that_changes_is_looked_at_again(bench, monkeypatch):
    peer, topics = taught(bench), bench.state.topics
    topic = topics.get("T")
    topics.put(replace(topic, read_queues=2, write_queues=2))
    assert stops_at(bench, monkeypatch, peer, frame_of(e="3")) == ([s.NO_LANE], R.SYSTEM_ERROR)
    assert stops_at(bench, monkeypatch, peer, frame_of(e="1")) == ([s.NO_LANE], R.SUCCESS)
    assert stops_at(bench, monkeypatch, peer, frame_of(e="1")) == ([s.NO_LANE, s.ALL], R.SUCCESS)
    topics.put(topic)
    assert stops_at(bench, monkeypatch, peer, frame_of(e="3")) == ([s.NO_LANE, s.ALL], R.SUCCESS)
    assert stops_at(bench, monkeypatch, peer, frame_of(e="3")) == ([s.ALL], R.SUCCESS)


def test_a_topic_that_was_deleted_begins_anew(bench, monkeypatch):
    peer = taught(bench)
    bench.state.store.remove_topic("T")
    bench.state.topics.remove("T")
    assert bench.state.counters.put_messages == 16
    stops, code = stops_at(bench, monkeypatch, peer, frame_of(c="Nothing", e="1"))
    assert (stops, code) == ([s.NO_LANE], R.TOPIC_NOT_EXIST)
    for number in range(3):
        serve(bench, peer, frame_of(e="1"))
        assert peer.answers()[0].ext_fields["queueOffset"] == str(number)


def test_a_queue_that_goes_while_its_topic_stays_is_not_put_to(bench, monkeypatch):
    peer = taught(bench)
    bench.state.store.remove_topic("T")
    serve(bench, peer, frame_of(e="1"))
    assert peer.answers()[0].ext_fields["queueOffset"] == "0"


def test_settings_that_change_count_for_the_next_send(bench, monkeypatch):
    peer, most = taught(bench), bench.state.config.store.max_message_bytes
    frame = frame_of(body=b"x" * 100)
    bench.dispatcher.settings.change({"maxMessageSize": "99"})
    for number in range(3):
        stops, code = stops_at(bench, monkeypatch, peer, frame)
        assert (stops[-1], code) == (s.NOT_PLAIN if number else s.NO_LANE, R.MESSAGE_ILLEGAL)
    bench.dispatcher.settings.change({"maxMessageSize": str(most)})
    assert stops_at(bench, monkeypatch, peer, frame) == ([s.NO_LANE, s.ALL], R.SUCCESS)


def test_a_store_that_takes_nothing_refuses(bench, monkeypatch):
    peer = taught(bench)
    monkeypatch.setattr(Disk, "usage", lambda _disk, _path: (99, 100))
    bench.state.store.clean()
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.NOT_PLAIN], R.SERVICE_NOT_AVAILABLE)
    monkeypatch.setattr(Disk, "usage", lambda _disk, _path: (1, 100))
    bench.state.store.clean()
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.ALL], R.SUCCESS)


def test_a_log_that_cannot_grow_refuses_and_takes_again(bench, monkeypatch):
    peer, log = taught(bench), bench.state.store._parts.commit_log

    def fail(_size: int) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(log, "make_room", fail)
        log._reserved = log._position
        assert stops_at(bench, patch, peer, frame_of()) == ([s.NOT_PLAIN], R.SERVICE_NOT_AVAILABLE)
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.GO_ON, s.ALL], R.SUCCESS)
    assert not bench.state.store.write_refusal


def test_sends_that_waited_too_long_are_refused(bench, monkeypatch):
    peer, flow = taught(bench), bench.dispatcher.send.flow

    def refuse(_now: float) -> None:
        raise RequestRefusedError("broker busy", code=R.SYSTEM_BUSY)

    monkeypatch.setattr(flow, "check", refuse)
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([], R.SYSTEM_BUSY)


def test_an_address_of_sixteen_bytes_is_left_to_python(bench, monkeypatch):
    taught(bench)
    assert stops_at(bench, monkeypatch, BytesPeer("[2001:db8::1]:4711"), frame_of()) == ([], R.SUCCESS)


def test_a_topic_that_somebody_hears_every_message_of_is_left_to_python(bench, monkeypatch):
    peer, heard = taught(bench), []
    bench.state.store.add_arrival_listener(heard.append, ("T",))
    bench.puts.lanes.forget()
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.NO_LANE], R.SUCCESS)
    assert len(heard) == 1


def test_units_that_are_not_written_for_long_are_written_by_the_put(bench, monkeypatch):
    peer, parts = taught(bench), bench.state.store._parts
    bench.puts.state[s.UNWRITTEN_MAX] = 10
    serve(bench, peer, b"".join(frame_of() for _ in range(12)))
    assert parts.queues.get_or_add("T", 0).unwritten_units == 0


def test_sends_that_are_never_plain_are_tried_seldom(bench, monkeypatch):
    peer, stops = taught(bench), calls_of(bench, monkeypatch)
    for _ in range(100):
        serve(bench, peer, frame_of(properties="WAIT\x01false"))
    assert 8 < len(stops) <= 16
    stops.clear()
    for _ in range(30):
        serve(bench, peer, frame_of())
    assert stops.count(s.ALL) > 13
    assert [answer.code for answer in peer.answers()] == [R.SUCCESS] * 130


def test_a_forgotten_table_is_made_again(bench, monkeypatch):
    peer = taught(bench)
    bench.puts.lanes.forget()
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.NO_LANE], R.SUCCESS)
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.NO_LANE, s.ALL], R.SUCCESS)
    assert stops_at(bench, monkeypatch, peer, frame_of()) == ([s.ALL], R.SUCCESS)


class DurableByHand:
    """Keeps who waits for the disk."""

    def __init__(self) -> None:
        self.waiting = []

    def wait(self, physical_end, answer, size=1) -> None:
        self.waiting.append((physical_end, answer, size))


@pytest.mark.parametrize(
    "outcome", [(True, "", R.SUCCESS), (False, "", R.FLUSH_DISK_TIMEOUT), (False, "broken", R.SERVICE_NOT_AVAILABLE)]
)
def test_the_answers_of_a_read_wait_for_the_disk_together(tmp_path, monkeypatch, kind, outcome):
    durable, refusal, code = outcome
    by_hand = DurableByHand()
    with kernel_bench(tmp_path, monkeypatch, kind, by_hand) as bench:
        peer = BytesPeer()
        for _ in range(2):
            serve(bench, peer, frame_of() + frame_of(serialize_type=JSON))
        peer.answers()
        by_hand.waiting.clear()
        serve(bench, peer, b"".join(frame_of(opaque=n, serialize_type=(BINARY, JSON)[n % 2]) for n in range(9)))
        assert peer.received == b""
        ((end, answer, size),) = by_hand.waiting
        assert (end, size) == (bench.state.store.commit_log_max_offset, 9)
        monkeypatch.setattr(type(bench.state.store), "write_refusal", refusal)
        answer(durable)
        found = peer.answers()
        assert [(one.code, one.opaque, one.serialize_type) for one in found] == [
            (code, number, (BINARY, JSON)[number % 2]) for number in range(9)
        ]
        assert [one.ext_fields["queueOffset"] for one in found] == [str(number) for number in range(4, 13)]


def test_a_client_is_shown_as_its_last_send_says(bench):
    peer = taught(bench)
    serve(bench, peer, frame_of(version=401) + frame_of(version=408, language=LanguageCode.GO))
    assert (peer.version, peer.language, peer.serialize_type) == (408, LanguageCode.GO, BINARY)
    bench.dispatcher.disconnected(peer)
    assert peer not in bench.dispatcher.plain.reads._clients


def test_lanes_and_their_ends_stay_within_a_table_that_fills(tmp_path, monkeypatch, kind):
    monkeypatch.setattr(lane_table, "LANES_MAX", 3)
    with kernel_bench(tmp_path, monkeypatch, kind) as bench:
        peer, table = BytesPeer(), bench.puts.lanes
        for number in range(12):
            serve(bench, peer, frame_of(e=str(number % 4), k="false" if number % 3 else "true") * 2)
            assert len(table) <= 3
        assert table.generation > 1
        assert {answer.code for answer in peer.answers()} == {R.SUCCESS}
