"""Reports on a cluster that runs elsewhere: what is asked for, and what no command line may say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from broker_core.worker.questions.figures import NO_ANSWER
from gui.models.reports import past_run
from gui.operations.report_estimate import EstimateRequest, ReportEstimate
from gui.operations.reports import ReportRunner
from gui.operations.tasks import TaskList
from gui.processes.spark_child import SparkChild
from gui.theme.tokens import State
from gui.views.reports.view import ReportsView
from spark_reports.catalog import find
from tests.support.fake_child import FakeChild
from tests.support.fake_source import READY, FakeSource
from tests.support.shown_parts import elapse

NAME_SERVERS = "10.0.0.1:9876;10.0.0.2:9876"
CLUSTER = f"cluster://{NAME_SERVERS}"
SECRET = '{"accessKey": "reader", "secretKey": "hush"}'
ATTACHED = replace(READY, name_server=NAME_SERVERS, store_directory="/clusters/one", has_store=False)


@pytest.fixture
def child():
    return FakeChild()


@pytest.fixture
def asked():
    return FakeChild()


@pytest.fixture
def secrets():
    return {NAME_SERVERS: SECRET}


@pytest.fixture
def runner(qapp, child, asked, secrets, tmp_path):
    estimate = ReportEstimate(process=asked, details_of=lambda name_servers: secrets[name_servers])
    return ReportRunner(TaskList(), folder=tmp_path / "reports", process=child, estimate=estimate,
                        details_of=lambda name_servers: secrets[name_servers])  # fmt: skip


@pytest.fixture
def view(qtbot, show_page, runner):
    source = FakeSource()
    source.ready = ATTACHED
    made = show_page(ReportsView, source, reports=runner)
    made.status_changed(source.status)
    return made


def test_the_cluster_that_is_shown_is_what_a_report_reads(view, child):
    assert view.form.source.itemText(0) == "This cluster"
    view.form.run_button.click()
    (words,) = child.started
    assert words[2:4] == ["--ns", NAME_SERVERS]
    assert "--store" not in words
    assert "pulled from the brokers" in view.form.hint.text


def test_the_form_says_which_brokers_a_report_lacks(view):
    form, state = view.form, view.context.source.state
    lost = replace(
        state,
        catalog=replace(state.catalog, brokers=["a", "b"]),
        faults={"a": f"{NO_ANSWER} 3 s: gone", "b": "for 3 s: delay levels: refused"},
    )
    view.state_changed(lost)
    lack = "No answer of a: the report lacks what is stored there."
    assert lack in form.hint.text
    assert form.hint.property("tone") == State.WARNING.value
    form.show_report(find("lag"))
    assert lack not in form.hint.text, "it reads samples"
    form.show_report(find("throughput"))
    form.source.setCurrentIndex(1)
    assert lack not in form.hint.text, "it reads a folder"
    form.source.setCurrentIndex(0)
    view.state_changed(replace(lost, faults={}))
    assert lack not in form.hint.text


def test_keys_go_by_the_input_and_not_by_the_command_line(view, child):
    view.form.run_button.click()
    (words,) = child.started
    assert "--connection-details" in words
    assert "hush" not in " ".join(words)
    assert child.told == [SECRET]


def test_a_plain_cluster_is_told_nothing(view, child, secrets):
    secrets[NAME_SERVERS] = ""
    view.form.run_button.click()
    assert "--connection-details" not in child.started[0]
    assert child.told == []


def test_a_cluster_that_is_not_shown_is_reached_by_its_saved_connection(runner, child, secrets):
    secrets[NAME_SERVERS] = None
    runner.submit(runner.order(find("keys"), (CLUSTER,)))
    assert child.started[0][2:4] == ["--connection", NAME_SERVERS]
    assert child.told == []


def test_the_estimate_is_of_the_cluster(runner, asked):
    order = runner.order(find("keys"), (CLUSTER,), (("from", "-2h"),))
    question = EstimateRequest.of(order)
    runner.estimate.ask(question)
    elapse(runner.estimate)
    (words,) = asked.started
    assert words[:4] == ["report", "keys", "--ns", NAME_SERVERS]
    assert ("--connection-details" in words, asked.told) == (True, [SECRET])


def test_a_result_can_be_made_again(runner):
    text = json.dumps({"report": "keys", "state": "complete", "source": {"stores": [CLUSTER], "files": [], "bytes": -1}})
    order = runner.order_again(past_run(Path("/old"), text))
    assert order.name_servers == NAME_SERVERS
    assert order.command()[2:4] == ["--ns", NAME_SERVERS]


def test_spark_that_waits_gets_the_details_beside_the_words(qapp):
    process = FakeChild()
    child = SparkChild(process=process)
    child.start(["report", "keys", "--ns", NAME_SERVERS, "--connection-details"], SECRET)
    (order,) = process.told
    assert json.loads(order) == {"words": ["keys", "--ns", NAME_SERVERS, "--connection-details"], "details": SECRET}
    assert "hush" not in " ".join(process.started[0])


def test_a_store_is_read_as_ever(view, child):
    view.context.source.ready = READY
    view.status_changed(view.context.source.status)
    assert view.form.source.itemText(0) == "This broker"
    view.form.run_button.click()
    assert child.started[0][2:4] == ["--store", READY.store_directory]
