"""Preparing Java's classes in the background, with a child that is told when to end."""

from __future__ import annotations

import logging

import pytest
from PySide6.QtCore import QThreadPool

from broker_core.api import OrbitError
from gui.operations.preparation import ReportPreparation
from gui.operations.reports import ReportRunner
from gui.operations.tasks import TaskList, TaskState
from gui.processes.spark_child import SparkChild
from spark_reports import catalog
from tests.support.fake_child import FakeChild

WAIT_MS = 10_000


class Prepared:
    """A preparation and a runner over fake children."""

    def __init__(self, folder, is_missing) -> None:
        self.child, self.report_child, self.spark = FakeChild(), FakeChild(), FakeChild()
        self.session = SparkChild(process=self.spark)
        self.tasks = TaskList()
        self.preparation = ReportPreparation(self.tasks, process=self.child, is_missing=is_missing)
        self.runner = ReportRunner(
            self.tasks, folder=folder, process=self.report_child, session=self.session, preparation=self.preparation
        )

    def run_report(self) -> None:
        self.runner.start(self.runner.order(catalog.reports()[0], ("/store",)))


@pytest.fixture
def make(qapp, tmp_path):
    return lambda is_missing=lambda: True: Prepared(tmp_path, is_missing)


def test_it_is_started_once_listed_and_quiet(make, qtbot):
    made = make()
    made.runner.prepare()
    made.runner.prepare()
    qtbot.waitUntil(lambda: made.child.is_running, timeout=WAIT_MS)
    assert made.child.started == [["report", "--prepare", "--low-priority", "--parent-pipe"]]
    (task,) = made.tasks.running
    assert task.title == "Preparing reports"
    assert task.quiet
    made.child.end()
    assert task.state is TaskState.DONE
    made.preparation.resume()
    assert made.tasks.running == ()
    assert len(made.child.started) == 1


def test_nothing_is_started_when_it_is_there(make, qapp):
    looked = []
    made = make(lambda: bool(looked.append(1)))
    made.runner.prepare()
    assert QThreadPool.globalInstance().waitForDone(WAIT_MS)
    qapp.processEvents()
    assert looked == [1]
    assert made.child.started == []


def test_the_user_ends_it_for_good(make, qtbot):
    made = make()
    made.runner.prepare()
    qtbot.waitUntil(lambda: made.child.is_running, timeout=WAIT_MS)
    made.tasks.running[0].cancel()
    assert made.child.cancels == 1
    made.child.end(143, cancelled=True)
    assert made.tasks.tasks[0].state is TaskState.CANCELLED
    made.run_report()
    made.report_child.end(0)
    assert not made.child.is_running


def test_a_report_goes_before_and_it_begins_again_after(make, qtbot):
    made = make()
    made.runner.prepare()
    qtbot.waitUntil(lambda: made.child.is_running, timeout=WAIT_MS)
    made.run_report()
    assert made.child.cancels == 1
    assert made.report_child.is_running
    made.child.end(143, cancelled=True)
    assert len(made.child.started) == 1
    made.report_child.end(0)
    qtbot.waitUntil(lambda: len(made.child.started) == 2, timeout=WAIT_MS)


def test_it_does_not_start_while_a_report_runs(make, qtbot):
    made = make()
    made.run_report()
    made.runner.prepare()
    made.report_child.end(0)
    assert made.child.started == []
    made.runner.prepare()
    qtbot.waitUntil(lambda: made.child.is_running, timeout=WAIT_MS)


def test_a_failure_is_logged(make, qtbot, caplog):
    made = make()
    made.runner.prepare()
    qtbot.waitUntil(lambda: made.child.is_running, timeout=WAIT_MS)
    with caplog.at_level(logging.WARNING):
        made.child.end(8, error="no Java here")
    assert "no Java here" in caplog.text
    assert made.tasks.tasks[0].state is TaskState.FAILED


def test_a_machine_that_cannot_report_is_left_alone(make, qtbot, caplog):
    def refuse() -> bool:
        raise OrbitError("pyspark is not installed")

    made = make(refuse)
    with caplog.at_level(logging.WARNING):
        made.runner.prepare()
        qtbot.waitUntil(lambda: "pyspark is not installed" in caplog.text, timeout=WAIT_MS)
    assert made.tasks.tasks == ()
    assert made.child.started == []


def test_spark_starts_when_the_classes_are_there(make, qtbot):
    made = make(lambda: False)
    made.runner.prepare()
    qtbot.waitUntil(lambda: made.spark.is_running, timeout=WAIT_MS)
    made.session.rest()
    made.spark.end(130, cancelled=True)
    made.runner.prepare()  # the page is shown again
    assert len(made.spark.started) == 2


def test_spark_starts_when_the_classes_were_prepared(make, qtbot):
    made = make()
    made.runner.prepare()
    qtbot.waitUntil(lambda: made.child.is_running, timeout=WAIT_MS)
    assert made.spark.started == []
    made.child.end()
    assert made.spark.is_running
    made.runner.end()
    assert made.spark.cancels == 1


def test_spark_does_not_start_beside_a_report(make, qapp):
    made = make(lambda: False)
    made.runner.prepare()
    made.run_report()
    assert QThreadPool.globalInstance().waitForDone(WAIT_MS)
    qapp.processEvents()
    assert made.spark.started == []
