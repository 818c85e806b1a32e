"""Every report can be warmed up on an empty store, in the queries that a real one runs."""

import pytest

from spark_reports import catalog, warm_up

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900), pytest.mark.filterwarnings("ignore::ResourceWarning")]


def test_warming_up_a_report_ends_when_an_order_comes(report_session, spark):
    spec = catalog.find("queues")
    asked = []

    def is_wanted():
        asked.append(len(asked))
        return len(asked) < 2

    warm_up.warm_report(report_session, spec, is_wanted)
    assert len(asked) == 2
    assert list(report_session.folder.glob("warm-up-*")) == []


@pytest.mark.slow
def test_every_report_can_be_warmed_up(report_session, spark):
    asked = []
    for spec in warm_up.reports_to_warm(report_session):
        warm_up.warm_report(report_session, spec, lambda name=spec.name: not asked.append(name))
    assert set(asked) == {one.name for one in warm_up.reports_to_warm(report_session)}
    assert len(set(asked)) == len(catalog.reports())
