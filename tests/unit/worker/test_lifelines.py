"""Lives as the worker answers them: with the offsets of groups, and the time from their history."""

import asyncio
import struct
from array import array
from collections.abc import Iterator

import pytest

from broker_core.errors import StoreError, UsageError
from broker_core.worker.channel.codec import decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import Reply
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.lifeline.model import Position
from broker_core.worker.lifelines import dated
from broker_core.worker.questions.figures import HistorySample
from broker_core.worker.questions.history import EventPage, HistoryLines, ReadEvents, ReadHistory
from broker_core.worker.questions.stored_messages import Lifeline, ReadLifeline
from tests.support.engine import Engine

BEGIN_MS = 1_000_000


class Offsets:
    """A history of one offset, one sample a second, in stretches as wide as asked for."""

    def __init__(self, offsets: dict[int, float]) -> None:
        self._offsets = offsets
        self.asked: list[ReadHistory] = []

    def take(self, sample: HistorySample) -> None: ...

    def close(self) -> None: ...

    def answer(self, query: ReadHistory | ReadEvents) -> HistoryLines | EventPage:
        assert isinstance(query, ReadHistory)
        self.asked.append(query)
        step_ms = max(1_000, (query.to_ms - query.from_ms) // query.points)
        stretches: dict[int, list[tuple[int, float]]] = {}
        for at_ms, offset in sorted(self._offsets.items()):
            if query.from_ms <= at_ms < query.to_ms:
                stretches.setdefault((at_ms - query.from_ms) // step_ms, []).append((at_ms, offset))
        kept = list(stretches.values())
        times = array("q", [stretch[0][0] for stretch in kept]).tobytes()
        low = array("d", [min(offset for _, offset in stretch) for stretch in kept]).tobytes()
        high = array("d", [max(offset for _, offset in stretch) for stretch in kept]).tobytes()
        count = len(query.names)
        return HistoryLines(step_ms, BEGIN_MS, [times] * count, [low] * count, [high] * count, [high] * count)


def passing(*, at_second: int, seconds: int, first: int = 0) -> Offsets:
    """A group that comes past offset 7 at a second, watched for some seconds."""
    return Offsets({BEGIN_MS + second * 1_000: 8.0 if second >= at_second else 3.0 for second in range(first, seconds)})


@pytest.mark.parametrize("seconds", [20, 400, 90_000])
def test_the_time_of_passing_is_found_to_the_second_however_long_the_history(seconds: int):
    history = passing(at_second=11, seconds=seconds)
    position = Position("billing", "orders", 0, 7, 8)

    found = dated(history, [position], BEGIN_MS, BEGIN_MS + seconds * 1_000)

    assert abs(found[0].passed_ms - (BEGIN_MS + 11_000)) <= 1_000
    assert len(history.asked) <= 4


def test_what_was_passed_before_the_record_begins_has_no_time():
    history = passing(at_second=0, seconds=60, first=30)
    position = Position("billing", "orders", 0, 7, 8)

    assert dated(history, [position], BEGIN_MS, BEGIN_MS + 60_000) == [position]


def test_what_was_passed_at_once_is_dated_by_the_first_sample_behind_the_message():
    history = passing(at_second=0, seconds=60)

    found = dated(history, [Position("billing", "orders", 0, 7, 8)], BEGIN_MS - 400, BEGIN_MS + 60_000)

    assert found[0].passed_ms == BEGIN_MS


def test_a_group_that_has_not_come_to_it_is_not_looked_up():
    history = passing(at_second=5, seconds=60)

    assert dated(history, [Position("billing", "orders", 0, 7, 3)], BEGIN_MS, BEGIN_MS + 60_000)[0].passed_ms == -1
    assert history.asked == []


def test_the_width_of_a_time_is_that_of_the_history():
    assert (array("q").itemsize, array("d").itemsize) == (struct.calcsize("<q"), struct.calcsize("<d"))


@pytest.fixture
def queries(engine: Engine) -> Iterator[Queries]:
    made = Queries(engine, console=None, shut_down=lambda: None)
    yield made
    made.close()


def test_an_answer_tells_where_the_groups_are_and_goes_over_the_channel(engine: Engine, queries: Queries):
    place = engine.put("orders", 0, b"a", UNIQ_KEY="U1", KEYS="k1")
    engine.offsets.commit("billing", "orders", 0, 1)
    engine.offsets.commit("search", "orders", 0, 0)

    line = asyncio.run(queries.answer(ReadLifeline(place)))

    assert isinstance(line, Lifeline)
    assert list(zip(line.kind, line.group, strict=True)) == [
        ("produced", ""), ("stored", ""), ("passed", "billing"), ("ahead", "search"),
    ]  # fmt: skip
    assert any("No history of offsets" in text for text in line.missing)
    [payload] = FrameReader().feed(encode_message(Reply(1, line)))
    assert decode_worker_message(payload) == Reply(1, line)


def test_a_place_without_a_message_is_refused(queries: Queries):
    with pytest.raises(UsageError, match="no message at 3"):
        asyncio.run(queries.answer(ReadLifeline(3)))


class Broken(Offsets):
    """A history that cannot be read."""

    def answer(self, query: ReadHistory | ReadEvents) -> HistoryLines | EventPage:  # noqa: ARG002  whatever is asked
        raise StoreError("the disk does not answer")


def test_a_history_that_cannot_be_read_is_named_and_the_records_tell_the_rest(engine: Engine):
    place = engine.put("orders", 0, b"a", UNIQ_KEY="U1")
    engine.offsets.commit("billing", "orders", 0, 1)
    engine.clock.advance(1)
    queries = Queries(engine, console=None, shut_down=lambda: None, history=Broken({}))

    line = asyncio.run(queries.answer(ReadLifeline(place)))
    queries.close()

    assert line.kind == ["produced", "stored", "passed"]
    assert "The history of offsets cannot be read: the disk does not answer" in line.missing
