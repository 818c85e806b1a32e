import pytest

from broker_core.api import CodecError, StoreError
from broker_core.worker.questions.figures import HistorySample, Occurred
from monitoring.history.alert_judging import EVENTS_UNWRITTEN_MAX, Judgement
from tests.unit.monitoring.test_collector import CATALOG, snapshot


def no_alerts():
    raise StoreError("the alerts cannot be opened")


def event(number: int) -> Occurred:
    return Occurred("note", f"{number}", number)


def test_a_sample_that_cannot_be_understood_keeps_its_events():
    judgement = Judgement(no_alerts)
    assert judgement.take(HistorySample(CATALOG, snapshot(), [])) is not None
    with pytest.raises(CodecError):
        judgement.take(HistorySample(None, snapshot(queues={}), [event(1)]))
    assert judgement.unwritten == [event(1)]


def test_events_that_cannot_be_written_are_bounded():
    judgement = Judgement(no_alerts)
    for number in range(3):
        judgement.pass_by(HistorySample(None, snapshot(), [event(number)] * (EVENTS_UNWRITTEN_MAX // 2)))
    assert len(judgement.unwritten) == EVENTS_UNWRITTEN_MAX
    assert judgement.unwritten[-1] == event(2)


def test_alerts_that_cannot_be_opened_are_told_once(caplog):
    judgement = Judgement(no_alerts)
    for _sample in range(3):
        judgement.take(HistorySample(CATALOG, snapshot(), []))
    assert len(caplog.records) == 1
    assert judgement.alerts_refusal is not None
