"""Commands on a cluster whose broker falls silent: they can be ended, leave nothing behind, and say what was not done."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import contextmanager

import pytest

from broker_core.protocol.codes import RequestCode
from broker_core.tools.replay.journal import RECEIPT_FILE
from tests.support.broker_process import CHECKOUT
from tests.support.fake_cluster import FakeBroker, FakeCluster, on_a_thread, silent
from tests.support.remoting_peer import eventually

QUEUES, HELD = 2, 60
IN_THE_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$0" "$@"')
"""How a shell starts ``command &``: SIGINT is ignored."""


@pytest.fixture
def cluster():
    """A broker that runs on a thread."""
    broker = FakeBroker("a", {"orders": QUEUES}, {"orders": HELD})
    made = FakeCluster([broker])
    with on_a_thread(made):
        yield made


class Command:
    """A command of the program, as a process; what it says on its error output is collected."""

    def __init__(self, *words: object, start: Sequence[str] = ()) -> None:
        line = [*start, sys.executable, str(CHECKOUT / "main.py"), *map(str, words)]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        assert self.process.stderr is not None
        self._listener = threading.Thread(target=self.said.extend, args=(self.process.stderr,), name="what it says")
        self._listener.start()

    def until(self, condition: Callable[[], object]) -> None:
        """Wait for something, unless the command ends before."""
        asyncio.run(eventually(lambda: condition() or self.process.poll() is not None))
        assert self.process.poll() is None, self.said

    def end(self, number: int) -> int:
        """Signal it, and wait for its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(60)
        self._listener.join(60)
        return code


@contextmanager
def command(*words, start=()):
    made = Command(*words, start=start)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.communicate()


def falls_silent(broker: FakeBroker, code: RequestCode, after: int = 0) -> Callable[[], bool]:
    """Answer no request of a kind from some on; tells whether one waits."""
    known, asked = broker.known_answers().get(code), []

    def answer(connection, request):
        asked.append(request)
        return known(connection, request) if len(asked) <= after and known else silent(connection, request)

    broker.answers[code] = answer
    return lambda: len(asked) > after


@pytest.mark.parametrize("code", [RequestCode.GET_TOPIC_STATS_INFO, RequestCode.PULL_MESSAGE])
def test_a_search_that_is_interrupted_is_partial(cluster, code):
    waits = falls_silent(cluster.brokers[0], code)
    with command("search", "--ns", cluster.name_server, 'topic = "orders"') as search:
        search.until(waits)
        assert search.end(signal.SIGINT) == 130
        assert search.said[-1].startswith("partial: 0 hits in 0 messages; it was cancelled")


def test_an_export_that_is_given_up_leaves_no_file(cluster, tmp_path):
    waits = falls_silent(cluster.brokers[0], RequestCode.PULL_MESSAGE, after=1)
    with command("search", "--ns", cluster.name_server, 'topic = "orders"', "--out", tmp_path / "hits.jsonl") as search:
        search.until(waits)
        assert search.end(signal.SIGTERM) == 143
    assert list(tmp_path.iterdir()) == []


def test_a_replay_that_is_stopped_says_what_may_be_there(cluster, tmp_path):
    waits = falls_silent(cluster.brokers[0], RequestCode.SEND_MESSAGE_V2)
    waits_for_batch = falls_silent(cluster.brokers[0], RequestCode.SEND_BATCH_MESSAGE)
    words = ["replay", "--ns", cluster.name_server, 'topic = "orders"', "--to", "orders", "--journal", tmp_path / "j"]
    with command(*words) as replay:
        replay.until(lambda: waits() or waits_for_batch())
        assert replay.end(signal.SIGTERM) == 130
        assert f", {QUEUES * HELD} left; it was stopped; " in replay.said[-1]
    lines = [json.loads(line) for line in (tmp_path / "j" / RECEIPT_FILE).read_text("utf-8").splitlines()]
    results = [line for line in lines if "number" in line]
    assert results
    assert {(line["status"], line["maybeStored"]) for line in results} == {("unknown", True)}


def test_a_replay_that_is_given_up_while_it_gathers_leaves_nothing(cluster, tmp_path):
    waits = falls_silent(cluster.brokers[0], RequestCode.PULL_MESSAGE, after=1)
    words = ["replay", "--ns", cluster.name_server, 'topic = "orders"', "--to", "orders", "--journal", tmp_path / "j"]
    with command(*words) as replay:
        replay.until(waits)
        assert replay.end(signal.SIGTERM) != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("number", "start"), [(signal.SIGINT, ()), (signal.SIGTERM, ()), (signal.SIGINT, IN_THE_BACKGROUND)])
def test_a_copy_that_is_given_up_while_it_looks_copies_nothing(cluster, tmp_path, number, start):
    waits = falls_silent(cluster.brokers[0], RequestCode.GET_TOPIC_STATS_INFO)
    words = ["copy", "--from", cluster.name_server, "--to-store", tmp_path / "home", "--topic", "orders"]
    with command(*words, "--receipt", tmp_path / "receipt", start=start) as copying:
        copying.until(waits)
        assert copying.end(number) == 130, copying.said
        assert copying.said[-1] == "orbit copy: interrupted before anything was copied\n"
    assert not (tmp_path / "receipt").exists()


def test_a_copy_leaves_behind_groups_that_no_broker_creates_and_names_them(cluster, tmp_path):
    names = ("billing", "old.one", "g" * 256)
    cluster.brokers[0].groups = ["billing"]
    cluster.brokers[0].positions = {f"orders@{name}": {0: 2, 1: 2} for name in names}
    words = ["copy", "--from", cluster.name_server, "--to-store", tmp_path / "home", "--topic", "orders"]
    with command(*words, "--groups", "*", "--offsets", "--dry-run") as copying:
        assert copying.process.wait(90) == 0
        copying.end(0)
    said = "".join(copying.said)
    assert "group billing" in said
    assert f"warning: 2 groups have names that no broker creates, and stay behind: “{'g' * 40}”, “old.one”\n" in said


def test_a_copy_that_is_stopped_can_go_on(cluster, tmp_path):
    broker = cluster.brokers[0]
    words = ["copy", "--from", cluster.name_server, "--to-store", tmp_path / "home", "--topic", "orders"]

    def once_planned(connection, request):
        return None if (tmp_path / "receipt").exists() else broker.pull(connection, request)

    broker.answers[RequestCode.PULL_MESSAGE] = once_planned
    with command(*words, "--receipt", tmp_path / "receipt") as copying:
        copying.until(lambda: any(line.startswith("waiting: ") for line in copying.said))
        assert copying.end(signal.SIGTERM) == 130
        assert copying.said[-1].startswith(f"partial: 0 copied, {QUEUES * HELD} left; it was stopped; ")
    broker.answers.clear()
    with command("copy", "--resume", tmp_path / "receipt") as copying:
        assert copying.process.wait(90) == 0
        copying.end(0)
        assert copying.said[-1].startswith(f"complete: {QUEUES * HELD} copied; ")


def test_a_watch_ends_in_good_order(cluster, tmp_path):
    waits = falls_silent(cluster.brokers[0], RequestCode.GET_ALL_TOPIC_CONFIG)
    with command("watch", "--ns", cluster.name_server, "--folder", tmp_path / "recorded") as watch:
        watch.until(waits)
        watch.until(lambda: any("a: no answer: broker a did not answer within 3,000 ms" in line for line in watch.said))
        cluster.brokers[0].answers.clear()
        watch.until(lambda: any("a answers again as it should" in line for line in watch.said))
        assert watch.end(signal.SIGTERM) == 0
    assert sum("a: no answer: " in line for line in watch.said) == 1


def test_an_overview_names_what_does_not_answer(cluster):
    falls_silent(cluster.brokers[0], RequestCode.GET_ALL_TOPIC_CONFIG)
    with command("cluster", "--ns", cluster.name_server, "--json") as overview:
        out, _error = overview.process.communicate(timeout=60)
        assert overview.process.returncode == 1
    found = json.loads(out)
    assert (list(found["faults"]), found["brokers"][0]["answers"]) == (["a"], False)
