import json

from broker_core.engine.processors import moved_offsets
from broker_core.engine.processors.moved_offsets import ROUND_MS
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer, pull_fields

PEER = RecordingPeer()


def moved(bench, **more):
    bench.state.topics.ensure("T", queues=4)
    response = bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=99, **more))
    assert response.code == R.PULL_OFFSET_MOVED


def notes(bench):
    store = bench.state.store
    found = store.get_messages("OFFSET_MOVED_EVENT", 0, 0, 32)
    return [decode_record(record) for record in found.records]


def test_a_consumer_that_is_sent_elsewhere_leaves_a_note_as_4_9_writes_it(bench):
    moved(bench)
    (note,) = notes(bench)
    assert note.body == (
        b'{"consumerGroup":"CG","messageQueue":{"brokerName":"broker-a","queueId":0,"topic":"T"},'
        b'"offsetNew":0,"offsetRequest":99}'
    )
    assert note.properties == {"KEYS": "CG", "DELAY": "0", "TAGS": "CG"}
    assert (note.born_host, note.sys_flag) == (note.store_host, 0)


def test_who_repeats_it_leaves_one_note_in_ten_seconds(bench):
    for _ in range(3):
        moved(bench)
    assert len(notes(bench)) == 1
    moved(bench, queueId=1)
    moved(bench, consumerGroup="other")
    assert [json.loads(note.body)["messageQueue"]["queueId"] for note in notes(bench)] == [0, 1, 0]
    bench.clock.advance(ROUND_MS)
    moved(bench)
    assert len(notes(bench)) == 4


def test_a_crowd_of_groups_does_not_grow_memory_without_end(bench, monkeypatch):
    monkeypatch.setattr(moved_offsets, "NOTES_MAX", 2)
    for number in range(5):
        moved(bench, consumerGroup=f"g{number}")
    assert len(notes(bench)) == 2
    bench.clock.advance(ROUND_MS)
    moved(bench, consumerGroup="g9")
    assert len(notes(bench)) == 3


def test_other_answers_leave_no_note(bench):
    bench.state.topics.ensure("T", queues=4)
    bench.put()
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull_fields()).code == R.SUCCESS
    assert bench.answer(PEER, Q.PULL_MESSAGE, pull_fields(offset=1)).code == R.PULL_NOT_FOUND
    assert notes(bench) == []
