"""What reports read of a cluster one of whose brokers falls silent, or stops in the midst of an answer."""

from collections import Counter

import pytest

from broker_core.cluster import reader as reading
from broker_core.cluster.reader import SliceReader
from broker_core.cluster.records import split_records
from broker_core.cluster.slices import ReadLimits, SurveyRequest
from broker_core.protocol.message.record import decode_record
from tests.support.fake_cluster import FakeBroker, FakeCluster, Stopping, on_a_thread

HELD, QUEUES = 300, 2


@pytest.fixture
def cluster():
    made = FakeCluster([FakeBroker(name, {"orders": QUEUES}, {"orders": HELD}) for name in ("a", "b")])
    with on_a_thread(made):
        yield made


@pytest.mark.parametrize("half", [False, True])
@pytest.mark.parametrize("answers", [0, 3])
def test_the_other_is_read_whole_and_what_is_missing_is_counted(cluster, monkeypatch, answers, half):
    limits = ReadLimits(0, 0, retry_seconds=0.1)
    with SliceReader(cluster.name_server, limits=limits) as reader:
        survey = reader.survey(SurveyRequest(topics=("orders",)))
    assert [part.broker for part in survey.slices] == ["a", "a", "b", "b"]
    cluster.brokers[0].manner = Stopping(answers, half=half)
    monkeypatch.setattr(reading, "ANSWER_MS", 2_000)
    with SliceReader(cluster.name_server, limits=limits) as reader:
        turns = list(reader.turns(survey.slices))
    read = Counter((turn.part.broker, decode_record(one).body) for turn in turns for one in split_records(turn.records))
    missing = Counter[str]()
    for turn in turns:
        for left in turn.left:
            missing[left.part.broker] += left.messages
            assert left.reason.startswith("not read from broker a: "), left
    of = Counter(broker for broker, _body in read)
    assert max(read.values()) == 1
    assert (of["b"], missing["b"]) == (QUEUES * HELD, 0)
    assert of["a"] + missing["a"] == QUEUES * HELD
    assert missing["a"] > 0


def test_a_survey_names_who_is_silent_and_plans_the_other(cluster, monkeypatch):
    monkeypatch.setattr(reading, "ANSWER_MS", 1_000)
    cluster.brokers[0].manner = Stopping()
    with SliceReader(cluster.name_server, limits=ReadLimits(0, 0, retry_seconds=0.1)) as reader:
        survey = reader.survey(SurveyRequest(topics=("orders",)))
    assert {part.broker for part in survey.slices} == {"b"}
    assert [one.broker for one in survey.unknown] == ["a"]
    assert "did not answer" in survey.unknown[0].reason


def test_a_topic_is_read_whatever_its_name():
    odd = "%RETRY%" + "g" * 200
    cluster = FakeCluster([FakeBroker("a", {odd: 1}, {odd: 3})])
    with on_a_thread(cluster), SliceReader(cluster.name_server, limits=ReadLimits(0, 0, retry_seconds=0.1)) as reader:
        survey = reader.survey(SurveyRequest())
    assert [(part.topic, part.messages) for part in survey.slices] == [(odd, 3)]
