"""A run that is cancelled where Python may lose the cancellation."""

import contextlib
import threading

import pytest

from broker_core.errors import ForeignStoreError
from spark_reports import run
from spark_reports.cancel import Cancellation
from spark_reports.catalog import find
from spark_reports.parameters import ReportParameters
from spark_reports.progress import ReportProgress
from spark_reports.session import SparkOptions


class Session:
    """One that knows nothing of its progress."""

    def progress(self):
        return None


def run_of(spec, folder):
    parameters = ReportParameters(None, None, (), {}, 0)
    return run.ReportRun(spec, (str(folder / "store"),), folder / "out", parameters, SparkOptions("local[1]"))


def test_a_report_whose_cancellation_was_swallowed_while_it_read_writes_nothing(tmp_path, monkeypatch):
    cancellation, spec = Cancellation(), find("throughput")
    (tmp_path / "store").mkdir()
    made = run_of(spec, tmp_path)
    monkeypatch.setattr(run, "own_session", lambda *_: contextlib.nullcontext(Session()))
    monkeypatch.setattr(run, "_gather", lambda *_: setattr(cancellation, "requested", True))

    with pytest.raises(KeyboardInterrupt):
        run.run_report(made, ReportProgress(spec, json_lines=True), cancellation)

    assert [path.name for path in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize(("name", "stores"), [("keys", []), ("lag", ["store"])])
def test_a_store_that_cannot_be_read_is_refused_before_java_starts(tmp_path, monkeypatch, name, stores):
    for store in stores:
        (tmp_path / store).mkdir()
    monkeypatch.setattr(run, "open_session", lambda _options: pytest.fail("a session was opened"))
    spec = find(name)

    with pytest.raises(ForeignStoreError):
        run.run_report(run_of(spec, tmp_path), ReportProgress(spec, json_lines=True), Cancellation())


def test_the_watch_ends_when_the_cancellation_comes_while_it_starts(monkeypatch):
    def start(thread, really=threading.Thread.start):
        really(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start)
    spec = find("throughput")

    with pytest.raises(KeyboardInterrupt), run.watching(Session(), ReportProgress(spec, json_lines=True), 1, count_rows=True):
        pytest.fail("the block is not entered")

    assert "spark-progress" not in [thread.name for thread in threading.enumerate()]
