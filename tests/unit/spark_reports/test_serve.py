"""The process that stays: orders in, lines out; Spark and the reports themselves are stood in for."""

import io
import json
import queue
from pathlib import Path

import pytest

from broker_core.cluster.key_place import security_at
from broker_core.errors import CancelledByUserError, JavaError
from spark_reports import __main__ as program
from spark_reports import serve
from spark_reports.cancel import Cancellation

ORDER = ["throughput", "--store", "/s", "--out", "/o"]


class FakeSession:
    def __init__(self):
        self.calls = []
        self.is_running = True

    def connect(self):
        self.calls.append("connect")

    def tidy(self):
        self.calls.append("tidy")


@pytest.fixture
def world(monkeypatch):
    """A server whose reports only note that they ran; ``fails`` makes one fail."""

    class World:
        def __init__(self):
            self.session = FakeSession()
            self.orders = queue.Queue()
            self.out = io.StringIO()
            self.fails = []

        def run(self, *orders, idle_s=0.0):
            for order in orders:
                self.orders.put(order if isinstance(order, str) else json.dumps(order))
            cancellation = Cancellation()
            server = serve.ReportServer(self.session, cancellation, program.parse, self.orders, idle_s=idle_s, out=self.out)
            try:
                return server.run()
            finally:
                cancellation.uninstall()

        @property
        def told(self):
            return [json.loads(line) for line in self.out.getvalue().splitlines()]

        @property
        def states(self):
            return [line["state"] for line in self.told if line["stage"] == "session"]

    made = World()

    def carry_out(arguments, spec, cancellation, session):
        made.session.calls.append((spec.name, arguments.progress, session is made.session))
        if made.fails:
            raise made.fails.pop()

    monkeypatch.setattr(serve, "carry_out", carry_out)
    monkeypatch.setattr(serve, "warm_workers", lambda session: session.calls.append("workers"))
    monkeypatch.setattr(serve, "warm_report", lambda session, name, is_wanted: session.calls.append((name, is_wanted())))
    return made


def test_what_is_ordered_at_the_start_runs_before_any_warming_up(world):
    assert world.run(ORDER, idle_s=0.01) == 0
    assert world.session.calls == [("throughput", "json", True), "tidy"]
    assert world.states == ["starting", "busy", "ready"]
    assert all(line["memory_bytes"] > 0 for line in world.told)


def test_details_of_a_connection_have_a_place_while_their_order_runs(world, monkeypatch):
    places = []

    def carry_out(arguments, *_):
        places.append((arguments.details, security_at(arguments.details).credentials.secret_key))

    monkeypatch.setattr(serve, "carry_out", carry_out)
    details = '{"accessKey": "reader", "secretKey": "hush"}'
    world.run({"words": ["keys", "--ns", "x:1", "--out", "/o", "--connection-details"], "details": details}, idle_s=0.01)
    ((place, secret),) = places
    assert (secret, "hush" in place, Path(place).exists()) == ("hush", False, False)


@pytest.mark.parametrize(
    "order", ['{"details": "hush", "words": 1}', '{"details": "hush"', '{"details": 7, "words": ["hush"]}']
)
def test_an_order_that_is_none_is_refused_without_its_details(world, order):
    world.run(order, idle_s=0.01)
    (failed,) = [line for line in world.told if line["stage"] == "failed"]
    assert "hush" not in json.dumps(failed)


def test_without_an_order_it_starts_its_workers_and_leaves_after_its_rest(world):
    assert world.run() == 0
    assert world.session.calls == ["connect", "workers"]
    assert world.states == ["starting", "ready"]


def test_in_pauses_it_warms_up_each_report_and_then_keeps_its_workers(world, monkeypatch):
    monkeypatch.setattr(serve, "WARM_UP_PAUSE_S", 0.001)
    monkeypatch.setattr(serve, "KEEP_ALIVE_S", 0.001)
    monkeypatch.setattr(serve, "reports_to_warm", lambda _session: ("delay", "keys"))

    def warm_workers(session):
        session.calls.append("workers")
        if session.calls.count("workers") == 3:
            session.is_running = False  # after that order it leaves
            world.orders.put(json.dumps(ORDER))

    monkeypatch.setattr(serve, "warm_workers", warm_workers)
    world.run(idle_s=600)
    warm = ["workers", ("delay", True), ("keys", True), "tidy", "workers", "workers"]
    assert world.session.calls == ["connect", *warm, ("throughput", "json", True)]
    assert world.states == ["starting", *["ready"] * 5, "busy"]


def test_an_order_ends_the_warming_up_of_a_report(world, monkeypatch):
    monkeypatch.setattr(serve, "WARM_UP_PAUSE_S", 0.001)
    monkeypatch.setattr(serve, "reports_to_warm", lambda _session: ("delay",))

    def warm_report(session, name, is_wanted):
        session.is_running = False  # after that order it leaves
        session.calls.append(is_wanted())
        world.orders.put(json.dumps(ORDER))
        session.calls.append(is_wanted())

    monkeypatch.setattr(serve, "warm_report", warm_report)
    world.run(idle_s=600)
    assert world.session.calls == ["connect", "workers", True, False, "tidy", ("throughput", "json", True)]


@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("not json", "JSON list of words"),
        ('{"a": 1}', "JSON list of words"),
        ("[1]", "JSON list of words"),
        (["--no-such-option"], "no command line of a report"),
        (["nothing", "--store", "/s", "--out", "/o"], "there is no report “nothing”"),
        (["throughput"], "needs --store DIR"),
        (["throughput", "--connection", "home", "--out", "/o"], "home"),
    ],
)
def test_what_is_no_order_fails_alone(world, order, said):
    world.run(order, ORDER, idle_s=0.01)
    (failed,) = [line for line in world.told if line["stage"] == "failed"]
    assert said in failed["message"]
    assert world.states == ["starting", "busy", "ready", "busy", "ready"]
    assert ("throughput", "json", True) in world.session.calls


def test_a_failed_report_leaves_the_session(world, capsys):
    world.fails = [JavaError("too large")]
    world.run(ORDER, ORDER, idle_s=0.01)
    assert world.session.calls == [("throughput", "json", True), "tidy"] * 2
    assert "orbit: too large" in capsys.readouterr().err


def test_it_leaves_when_java_is_gone(world):
    world.fails = [JavaError("ended")]
    world.session.is_running = False
    assert world.run(ORDER, ORDER, idle_s=0.01) == 0
    assert world.states == ["starting", "busy"]
    assert world.orders.qsize() == 1


def test_a_cancelled_report_ends_it(world):
    world.fails = [CancelledByUserError("cancelled")]
    with pytest.raises(KeyboardInterrupt):
        world.run(ORDER, idle_s=0.01)
    assert world.states == ["starting", "busy"]
