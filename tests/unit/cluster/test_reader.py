"""Queues of our own broker, read through."""

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.pull_consumer import PullConsumer
from broker_core.cluster.link import ClusterLink
from broker_core.cluster.reader import CUT, EXPIRED, SliceReader
from broker_core.cluster.records import split_records
from broker_core.cluster.slices import QueueSlice, ReadLimits, SurveyRequest
from broker_core.errors import NetworkError, UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from tests.support.attached import BROKER
from tests.support.broker_thread import broker_thread

QUICK = ReadLimits(0, 0, 0)


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with broker_thread(tmp_path_factory.mktemp("broker") / "store") as made:
        made.create("orders", 2)
        for queue_id in range(2):
            made.send("orders", queue_id, [b"%d-%d" % (queue_id, number) for number in range(100)])
        made.create("pay", 1)
        made.send("pay", 0, [b"one"])
        yield made


@pytest.fixture
def reader(broker):
    with SliceReader(broker.name_server, limits=QUICK) as made:
        yield made


def bodies(turns):
    found = [decode_record(record).body for turn in turns for record in split_records(turn.records)]
    assert len(found) == len(set(found))
    return set(found)


def ranges(survey):
    return {(one.topic, one.queue_id): (one.first, one.end) for one in survey.slices}


def test_what_there_is_has_fixed_ends(broker, reader):
    found = reader.survey(SurveyRequest(("orders", "pay")))
    assert ranges(found) == {("orders", 0): (0, 100), ("orders", 1): (0, 100), ("pay", 0): (0, 1)}
    assert (found.unknown, found.brokers) == ((), (BROKER,))
    assert bodies(reader.turns(found.slices)) == {
        b"one", *(b"%d-%d" % (queue_id, number) for queue_id in range(2) for number in range(100))
    }  # fmt: skip


def test_all_topics_are_looked_at_unless_some_are_named(reader):
    assert ranges(reader.survey(SurveyRequest())) == {("orders", 0): (0, 100), ("orders", 1): (0, 100), ("pay", 0): (0, 1)}


def test_offsets_bound_a_queue(reader):
    found = reader.survey(SurveyRequest(("orders",), bounds=lambda _topic, _broker, queue_id: (90, 95) if queue_id else None))
    assert ranges(found) == {("orders", 1): (90, 95)}
    turns = list(reader.turns(found.slices))
    assert bodies(turns) == {b"1-%d" % number for number in range(90, 95)}


def test_a_time_behind_all_messages_leaves_nothing(reader):
    far_ms = 4_000_000_000_000
    assert reader.survey(SurveyRequest(from_ms=far_ms)).slices == ()
    assert len(reader.survey(SurveyRequest(to_ms=far_ms)).slices) == 3
    assert reader.survey(SurveyRequest(to_ms=1_000_000_000_000)).slices == ()


def test_a_topic_that_is_not_there_is_told(reader):
    found = reader.survey(SurveyRequest(("orders", "orderz")))
    assert [one.reason for one in found.unknown] == ["there is no topic orderz"]
    with pytest.raises(UsageError, match=r"no topic orderz.*Near: orders"):
        reader.survey(SurveyRequest(("orderz",)))


def test_a_broker_that_does_not_answer_is_told_and_the_others_are_read(broker, reader):
    (there,) = reader.survey(SurveyRequest(("pay",))).slices
    gone = QueueSlice("pay", "broker-b", "127.0.0.1:1", 0, 5, 30)
    turns = list(reader.turns([gone, gone, there]))
    lost = [left for turn in turns for left in turn.left]
    assert [(left.part, left.messages, isinstance(left.fault, NetworkError)) for left in lost] == [(gone, 25, True)] * 2
    assert bodies(turns) == {b"one"}


def test_a_queue_that_ends_before_its_planned_end_is_told(reader):
    (there,) = reader.survey(SurveyRequest(("pay",))).slices
    longer = QueueSlice("pay", there.broker, there.address, 0, 0, 4)
    (left,) = [left for turn in reader.turns([longer]) for left in turn.left]
    assert (left.messages, left.reason) == (3, CUT)


def test_what_was_cleaned_away_meanwhile_is_told(broker, reader, monkeypatch):
    there = reader.survey(SurveyRequest(("orders",))).slices[1]
    whole = ClusterLink.pull_records

    async def pull_records(client, address, queue, offset, count):
        return (b"", 40) if offset < 40 else await whole(client, address, queue, offset, count)

    async def min_offset_of(_client, _address, _queue):
        return 40

    monkeypatch.setattr(ClusterLink, "pull_records", pull_records)
    monkeypatch.setattr(ClusterLink, "min_offset_of", min_offset_of)
    turns = list(reader.turns([there]))
    assert [(left.messages, left.reason, left.fault) for turn in turns for left in turn.left] == [(40, EXPIRED, None)]
    assert bodies(turns) == {b"1-%d" % number for number in range(40, 100)}


def test_a_queue_that_may_not_be_pulled_is_read_record_by_record(reader):
    (there,) = reader.survey(SurveyRequest(("pay",))).slices
    singly = QueueSlice("pay", there.broker, there.address, 0, 0, 1, singly=True)
    assert bodies(reader.turns([singly])) == {b"one"}


def test_a_wrong_name_server_is_refused():
    with SliceReader("127.0.0.1:1", limits=QUICK) as reader, pytest.raises(NetworkError, match=r"127\.0\.0\.1:1"):
        reader.survey(SurveyRequest())


def test_nobody_s_offsets_move(broker, reader):
    broker.thread.call(_commit(broker, 7))
    list(reader.turns(reader.survey(SurveyRequest()).slices))
    assert broker.thread.call(_positions(broker)) == {("workers", "orders"): {0: 7}}


async def _commit(broker, offset):
    async with PullConsumer(broker.name_server, "workers") as consumer:
        await consumer.commit(MessageQueue("orders", BROKER, 0), offset)


async def _positions(broker):
    async with AdminClient(broker.name_server) as admin:
        return await admin.offsets_of_groups(broker.broker.broker_address)
