"""A real report, cancelled while Java starts, and the one behind it taken back: no process and no file is left."""

from __future__ import annotations

import pytest

from gui.models.reports import RunState
from gui.operations.report_estimate import EstimateRequest, ReportEstimate
from gui.operations.reports import CANCEL_GRACE_MS, ReportRunner
from gui.operations.tasks import TaskList
from spark_reports.catalog import find
from tests.support import known_store as known
from tests.support.process_family import descendants, left_running

WAIT_MS = 120_000


@pytest.fixture
def order(qapp, tmp_path):
    store = known.write_known_store(tmp_path / "store")
    return ReportRunner(TaskList(), folder=tmp_path / "reports").order(find("queues"), (str(store.root),))


@pytest.mark.timeout(400)
def test_a_cancelled_report_leaves_nothing(qtbot, order, tmp_path):
    others = descendants()
    runner = ReportRunner(TaskList(), folder=tmp_path / "reports")
    runner.submit(order)
    qtbot.waitUntil(lambda: runner.run.running_stage is not None and runner.run.running_stage.key == "java", timeout=WAIT_MS)
    started = descendants() - others
    assert len(started) >= 2, "the report and its Java"

    with qtbot.waitSignal(runner.ended, timeout=WAIT_MS):
        runner.cancel()

    assert runner.run.state is RunState.CANCELLED
    assert left_running(started) == []
    assert not (tmp_path / "reports").exists() or list((tmp_path / "reports").iterdir()) == []
    assert CANCEL_GRACE_MS < 2_000  # the kill comes within what is promised


@pytest.mark.timeout(400)
def test_a_real_estimate_is_told(qtbot, order):
    estimate = ReportEstimate()
    with qtbot.waitSignal(estimate.found, timeout=WAIT_MS) as found:
        estimate.ask(EstimateRequest.of(order))
    assert found.args[1].fault == ""
    assert found.args[1].records > known.ORDERS // 2
