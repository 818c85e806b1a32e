"""The real worker process, attached to our own broker: the window's end cannot tell it from an engine."""

import asyncio
import re
import textwrap

import pytest

from broker_core.api import ReadOnlyConnectionError, UsageError
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.worker.questions.alerts import MuteAlert, ReadAlerts
from broker_core.worker.questions.delays import ListTimers
from broker_core.worker.questions.figures import Catalog, Snapshot
from broker_core.worker.questions.history import ReadEvents
from broker_core.worker.questions.letter_notes import NoteLetters, ReadLetterNotes
from broker_core.worker.questions.lifecycle import Shutdown, Stage
from broker_core.worker.questions.stored_messages import BrowseQueue, SendMessage
from monitoring.alert_rules import rules_from_json
from tests.support.worker_driver import DEADLINE_S, WorkerDriver


async def send(name_server):
    async with Producer(name_server) as producer:
        for number in range(8):
            await producer.send(Message("orders", b"%d" % number))


@pytest.fixture
def engine(tmp_path):
    with WorkerDriver(tmp_path / "engine") as worker:
        yield worker


def put_messages(worker):
    shot = worker.last(Snapshot)
    return -1 if shot is None else shot.totals.get("put_messages", -1)


def test_it_shows_answers_records_and_ends(tmp_path, engine):
    ready = engine.wait_ready()
    asyncio.run(send(ready.name_server))
    with WorkerDriver(tmp_path / "attached", ["--connect", ready.name_server]) as worker:
        attached = worker.wait_ready()
        assert (attached.name_server, attached.broker_name, attached.broker) == (
            ready.name_server,
            ready.broker_name,
            ready.broker,
        )
        worker.wait(lambda: "orders" in getattr(worker.last(Catalog), "topics", ()))
        worker.wait(lambda: put_messages(worker) == 8)
        assert len(worker.ask(BrowseQueue("orders", -1, 0, 100)).keys) == 8
        worker.ask(SendMessage("orders", -1, b"from the window", {}))
        worker.wait(lambda: put_messages(worker) == 9)
        with pytest.raises(UsageError, match="attached cluster"):
            worker.ask(ListTimers(0, -1, 10))
        assert worker.ask(ReadEvents(0, 1 << 62, kinds=["recording_began"])).total == 1
        worker.ask(Shutdown())
        assert worker.process.wait(DEADLINE_S) == 0


def test_a_read_only_one_refuses_to_act(tmp_path, engine):
    name_server = engine.wait_ready().name_server
    with WorkerDriver(tmp_path / "attached", ["--connect", name_server, "--read-only"]) as worker:
        assert worker.wait_ready().read_only
        with pytest.raises(ReadOnlyConnectionError):
            worker.ask(SendMessage("orders", -1, b"no", {}))


def test_a_second_one_on_the_same_folder_reads_what_the_first_records(tmp_path, engine):
    line = ["--connect", engine.wait_ready().name_server]
    with WorkerDriver(tmp_path / "attached", line) as first:
        assert first.wait_ready().notice == ""
        assert first.ask(ReadEvents(0, 1 << 62, kinds=["recording_began"])).total == 1
        with WorkerDriver(tmp_path / "attached", [*line, "--read-only"]) as second:
            assert "Another Orbit process records" in second.wait_ready().notice
            assert second.ask(ReadEvents(0, 1 << 62, kinds=["recording_began"])).total == 1
            second.ask(MuteAlert("lag", -1))
            second.ask(NoteLetters(["A"], "of the second"))
            assert first.ask(ReadLetterNotes(["A"])).text == ["of the second"]
            rules = {rule.rule_id: rule for rule in rules_from_json(first.ask(ReadAlerts()).rules)}
            assert rules["lag"].muted_until_ms == -1


def test_names_are_told_before_anything_more_is_asked(tmp_path, engine):
    prelude = textwrap.dedent("""
        import sys
        from broker_core.worker.attached.sampling import Sampling
        from broker_core.worker.channel.worker_end import ChannelWriter
        start, send, looks = Sampling.start, ChannelWriter.send, iter([False] * 20)
        order = []
        ChannelWriter.is_idle = property(lambda self: next(looks, True))
        ChannelWriter.send = lambda self, message: (order.append(type(message).__name__), send(self, message))[1]
        Sampling.start = lambda self: (sys.stderr.write(f"sent {' '.join(order)}\\n"), start(self))[1]
    """)
    sent = re.compile(r"sent (.*)\n")  # whole: the file is read while it is written
    line = ["--connect", engine.wait_ready().name_server]
    with WorkerDriver(tmp_path / "attached", line, prelude=prelude) as worker:
        worker.wait(lambda: put_messages(worker) >= 0)
        worker.wait(lambda: sent.search(worker.error_log.read_text()))  # the window may have the figures before
        assert sent.search(worker.error_log.read_text())[1] == "Hello Stage Ready Catalog Snapshot"


def test_without_a_name_server_it_says_why_and_still_ends(tmp_path):
    with WorkerDriver(tmp_path / "attached", ["--connect", "127.0.0.1:1"]) as worker:
        worker.wait(lambda: "cannot connect" in getattr(worker.last(Stage), "text", ""))
        assert worker.end_input() == 0
