"""The report process that stays, over a child that is told what to say."""

import json
import logging

import pytest

from gui.processes.spark_child import SparkChild, SparkState, session_line
from tests.support.fake_child import FakeChild

ORDER = ["report", "throughput", "--store", "/数据"]
LINE = json.dumps(ORDER[1:], ensure_ascii=False)


class Kept:
    """A `SparkChild` and what it said."""

    def __init__(self) -> None:
        self.process = FakeChild()
        self.child = SparkChild(process=self.process)
        self.lines, self.ends, self.gone = [], [], []
        self.child.line_read.connect(self.lines.append)
        self.child.ended.connect(self.ends.append)
        self.child.gone.connect(lambda: self.gone.append(True))

    def tell(self, state, memory_bytes=1):
        self.process.say(stage="session", state=state, memory_bytes=memory_bytes)


@pytest.fixture
def kept(qapp):
    return Kept()


def test_spark_is_started_once_and_takes_one_order_after_the_other(kept):
    kept.child.warm()
    kept.child.warm()
    assert len(kept.process.started) == 1
    assert kept.process.started[0][:2] == ["report", "--serve"]
    assert kept.child.state is SparkState.STARTING
    kept.tell("ready", 700)
    assert (kept.child.state, kept.child.memory_bytes) == (SparkState.READY, 700)
    for turn in (1, 2):
        kept.child.start(ORDER)
        assert kept.process.told == [LINE] * turn
        kept.tell("ready")  # told before the order arrived: it is not over
        assert len(kept.ends) == turn - 1
        kept.tell("busy")
        kept.process.say(stage="read", done=1, total=2, rows=3)
        kept.process.say(stage="done", state="complete")
        kept.tell("ready")
        assert len(kept.ends) == turn
        assert kept.ends[-1].ok
    assert [json.loads(line)["stage"] for line in kept.lines] == ["read", "done"] * 2
    assert len(kept.process.started) == 1


def test_an_order_starts_spark_where_it_is_not(kept):
    kept.child.start(ORDER)
    assert (len(kept.process.started), kept.process.told) == (1, [LINE])


def test_the_next_order_can_be_given_when_the_one_before_ended(kept):
    kept.child.ended.connect(lambda _end: kept.child.start(ORDER) if len(kept.ends) == 1 else None)
    kept.child.start(ORDER)
    kept.tell("busy")
    kept.tell("ready")
    assert kept.process.told == [LINE, LINE]
    assert len(kept.ends) == 1


def test_cancelling_an_order_ends_the_process(kept):
    kept.child.cancel()
    assert kept.process.cancels == 0
    kept.child.start(ORDER)
    kept.tell("busy")
    kept.child.cancel()
    assert kept.process.cancels == 1
    assert kept.ends == []
    kept.process.end(130, cancelled=True)
    assert [end.cancelled for end in kept.ends] == [True]
    assert kept.gone == [True]
    assert kept.child.state is SparkState.OFF


def test_an_order_that_was_cancelled_before_it_was_taken_is_not_repeated(kept):
    kept.child.start(ORDER)
    kept.child.cancel()
    kept.process.end(130, cancelled=True)
    assert len(kept.process.started) == 1
    assert [end.cancelled for end in kept.ends] == [True]


@pytest.mark.parametrize("left", [{"exit_code": 0}, {"exit_code": 130, "cancelled": True}])
def test_an_order_that_comes_while_the_process_leaves_goes_to_the_next(kept, left):
    kept.child.warm()
    kept.tell("ready")
    if left.get("cancelled"):
        kept.child.rest()
    kept.child.start(ORDER)
    kept.process.end(**left)
    assert len(kept.process.started) == 2
    assert kept.process.told[-1] == LINE
    assert kept.ends == []
    kept.process.end(0)  # once more without having taken it: that is told, not tried for ever
    assert len(kept.process.started) == 2
    assert len(kept.ends) == 1


def test_a_process_that_fails_takes_its_order_with_it(kept):
    kept.child.start(ORDER)
    kept.process.end(8, error="orbit: no Java here")
    assert [end.error_text for end in kept.ends] == ["no Java here"]


def test_a_failure_without_an_order_is_only_logged(kept, caplog):
    kept.child.warm()
    with caplog.at_level(logging.WARNING):
        kept.process.end(8, error="orbit: too little memory")
    assert "too little memory" in caplog.text
    assert (kept.ends, kept.gone) == ([], [True])


def test_the_end_is_for_good(kept):
    kept.child.warm()
    kept.child.end()
    assert kept.process.cancels == 1
    kept.process.end(130, cancelled=True)
    kept.child.warm()
    assert len(kept.process.started) == 1
    assert kept.gone == [True]


@pytest.mark.parametrize("text", ["", "[]", "5", '{"stage": "read"}', '{"stage": "session", "state": "odd", "memory_bytes": 1}',
                                  '{"stage": "session", "state": "ready"}'])  # fmt: skip
def test_other_lines_are_no_words_of_the_session(text):
    assert session_line(text) is None
