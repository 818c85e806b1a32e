import pytest

from broker_core.protocol.admin import offsets
from broker_core.protocol.admin.offsets import ConsumeOffset, QueueOffsets
from broker_core.protocol.json_body import JsonBodyError, MessageQueue
from broker_core.protocol.queue_unit import QueueUnit

QUEUE = MessageQueue("T", "a", 1)
KEY = b'{"brokerName":"a","queueId":1,"topic":"T"}'


def table(row: bytes) -> bytes:
    return b'{"offsetTable":{' + KEY + b":" + row + b"}}"


def test_offsets_of_queues_are_read():
    found = offsets.read_queue_offsets(table(b'{"lastUpdateTimestamp":9,"maxOffset":7,"minOffset":2}'))
    assert found == {QUEUE: QueueOffsets(2, 7, 9)}
    assert offsets.read_queue_offsets(b"{}") == {}


def test_offsets_of_a_group_are_read():
    body = table(b'{"brokerOffset":9,"consumerOffset":4,"lastTimestamp":5}')
    assert offsets.read_consume_stats(body) == {QUEUE: ConsumeOffset(9, 4, 5)}
    assert ConsumeOffset(9, 4, 5).lag_messages == 5
    assert offsets.read_reset_offsets(table(b"12")) == {QUEUE: 12}
    body = b'{"offsetTable":{"T@g":{0:5,1:6},"odd":{0:1}}}'
    assert offsets.read_consumer_offsets(body) == {("g", "T"): {0: 5, 1: 6}}


def test_levels_timers_and_entries_of_queues_are_read():
    assert offsets.read_delay_offsets(b'{"offsetTable":{3:7}}') == {3: 7}
    assert offsets.read_timer_counts(b'{"timingCount":{"T":{"count":3,"timeStamp":9}}}') == {"T": 3}
    body = b'{"queueData":[{"physicOffset":5,"physicSize":90,"tagsCode":-1}]}'
    assert offsets.read_queue_units(body) == [QueueUnit(5, 90, -1)]


@pytest.mark.parametrize(
    ("read", "body"),
    [
        (offsets.read_queue_offsets, b'{"offsetTable":{"T":{}}}'),
        (offsets.read_queue_offsets, table(b"{}")),
        (offsets.read_queue_offsets, b"[]"),
        (offsets.read_consume_stats, table(b'{"brokerOffset":9}')),
        (offsets.read_reset_offsets, table(b"{}")),
        (offsets.read_consumer_offsets, b'{"offsetTable":{"T@g":{"x":1}}}'),
        (offsets.read_delay_offsets, b'{"offsetTable":[1]}'),
        (offsets.read_timer_counts, b'{"timingCount":{"T":{"count":"many"}}}'),
        (offsets.read_timer_counts, b'{"timingCount":{"T":3}}'),
        (offsets.read_queue_units, b'{"queueData":[{}]}'),
    ],
)
def test_an_answer_of_another_shape_is_refused(read, body):
    with pytest.raises(JsonBodyError):
        read(body)


def test_the_offset_of_an_answer():
    assert offsets.read_offset({"offset": "7"}) == 7
    assert offsets.read_offset({"offset": "-1"}) == -1
    for fields in ({}, {"offset": "many"}):
        with pytest.raises(JsonBodyError, match="no number offset"):
            offsets.read_offset(fields)
