"""The queue of one level: where it stands, and what is due."""

import pytest

from broker_core.engine.schedule.level_queue import LevelQueue
from broker_core.engine.store.results import GetResult, GetStatus
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.queue_unit import QueueUnit
from tests.support.store_bench import message

DELAY_MS = 10_000
EXTENSION = -(1 << 40)


class Queue:
    """A queue as the store shows it."""

    def __init__(self, due_ms, *, low=0):
        self.due_ms, self.low = due_ms, low
        self.hole = range(0)
        self.record = None

    def min_offset(self, topic, queue_id):
        assert (topic, queue_id) == ("SCHEDULE_TOPIC_XXXX", 2)
        return self.low

    def max_offset(self, _topic, _queue_id):
        return self.low + len(self.due_ms)

    def queue_units(self, _topic, _queue_id, offset, max_count):
        if offset in self.hole:
            return []
        first = offset - self.low
        return [QueueUnit(100 * (first + index), 90, due) for index, due in enumerate(self.due_ms[first : first + max_count])]

    def get_messages(self, *_where):
        return GetResult(GetStatus.OFFSET_FOUND_NULL, [], self.hole.stop, self.low, 0, 0, suggest_slave=False)

    def record_at(self, _physical_offset):
        return self.record


def level_at(queue, offset, **more):
    return LevelQueue(queue, 3, DELAY_MS, offset, **more)


def test_the_first_message_that_is_not_delivered_is_next():
    level = level_at(Queue([5, 6, 7]), 1)
    assert level.look(0) == QueueUnit(100, 90, 6)
    assert level.due_ms == 6
    level.advance()
    assert (level.look(0), level.due_ms, level.offset) == (QueueUnit(200, 90, 7), 7, 2)
    level.advance()
    assert (level.look(0), level.head, level.due_ms) == (None, None, None)


@pytest.mark.parametrize(("stands", "goes_on"), [(99, 13), (3, 10), (-1, 10), (10, 10), (13, 13)])
def test_an_offset_outside_of_the_queue_is_brought_to_its_nearest_end(stands, goes_on):
    assert level_at(Queue([5, 6, 7], low=10), stands).offset == goes_on


def test_what_is_cleaned_away_meanwhile_is_passed_over():
    queue = Queue([5, 6, 7])
    level = level_at(queue, 0)
    level.look(0)
    queue.low, queue.due_ms = 2, [7]
    assert level.look(0).tags_code == 7
    assert level.offset == 2


def test_a_hole_in_the_files_is_passed_over_and_counted():
    queue = Queue([5, 6, 7, 8])
    queue.hole = range(1, 3)
    level = level_at(queue, 1)
    assert (level.look(0).tags_code, level.offset, level.skipped) == (8, 3, 2)
    queue.hole = range(3, 9)
    level = level_at(queue, 3)
    assert (level.look(0), level.offset, level.skipped) == (None, 4, 1)


@pytest.mark.parametrize(
    ("now_ms", "due_ms", "in_table", "counts"),
    [
        (1_000, 11_000, True, 11_000),  # just put
        (500, 11_000, True, 11_000),  # the clock went back a little
        (0, 11_001, True, 0),  # the clock went back, or the level was longer: now
        (0, 11_001, False, 11_001),  # a level that the table has no more: as it says
        (50_000, 11_000, True, 11_000),  # overdue
    ],
)
def test_nothing_waits_longer_than_its_level(now_ms, due_ms, in_table, counts):
    level = level_at(Queue([due_ms]), 0, in_table=in_table)
    level.look(now_ms)
    assert level.due_ms == counts


def test_a_due_time_that_lies_in_an_extension_is_computed_from_the_record():
    queue = Queue([EXTENSION])
    queue.record = memoryview(encode_record(message(b"x"), queue_offset=0, physical_offset=0, store_timestamp_ms=7_000))
    level = level_at(queue, 0)
    level.look(8_000)
    assert level.due_ms == 17_000
    queue.record = None
    level.look(8_000)
    assert level.due_ms == 0
