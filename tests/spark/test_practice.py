"""Every report can be practised on made-up rows, in the queries that a real one runs."""

import pytest

from spark_reports import practice

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_practice_of_a_report_ends_where_somebody_waits(report_session, spark):
    spec = next(one for one in practice.lessons(report_session) if one.name == "queues")
    asked = []

    def is_wanted():
        asked.append(len(asked))
        return len(asked) < 2

    practice.practise_report(report_session, spec, is_wanted)
    assert len(asked) == 2
    assert list(report_session.folder.glob("practice-*")) == []


@pytest.mark.slow
def test_every_report_can_be_practised(report_session, spark):
    asked = []
    for spec in practice.lessons(report_session):
        practice.practise_report(report_session, spec, lambda name=spec.name: not asked.append(name))
    assert set(asked) == {one.name for one in practice.lessons(report_session)}
    assert len(set(asked)) > 15
