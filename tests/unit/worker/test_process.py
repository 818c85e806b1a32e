"""The real worker process: it starts, says so, answers, and ends in every case."""

import signal
import socket
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from broker_core.api import (
    CodecError,
    ForeignStoreError,
    PortInUseError,
    RemoteError,
    RequestCode,
    StoreLockedError,
    UsageError,
    read_topic_settings,
)
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, CreateTopic, ListMembers, Members
from broker_core.worker.questions.figures import Catalog, Occurred, Snapshot
from broker_core.worker.questions.lifecycle import Done, Hello, Ready, Shutdown
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FindOffset,
    FoundOffset,
    MessageDetail,
    MessagePage,
    ReadMessage,
    ReadMessageById,
    SendMessage,
    SendReceipt,
)
from tests.support.worker_driver import DEADLINE_S, MAIN, WorkerDriver


def wait_until(condition, what: str) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


def send(worker: WorkerDriver, body: bytes, topic: str = "orders", **properties: str) -> SendReceipt:
    receipt = worker.ask(SendMessage(topic, 0, body, properties))
    assert isinstance(receipt, SendReceipt)
    return receipt


def taken_port() -> socket.socket:
    listener = socket.create_server(("127.0.0.1", 0))
    assert listener.getsockname()[1] > 0
    return listener


def test_it_says_hello_then_ready_then_what_there_is(tmp_path: Path):
    with WorkerDriver(tmp_path / "store") as worker:
        ready = worker.wait_ready()
        worker.wait(lambda: worker.last(Snapshot))
        kinds = [type(message) for message in worker.messages]
        assert kinds[0] is Hello
        assert kinds.index(Ready) < kinds.index(Catalog) < kinds.index(Snapshot)
        hello, snapshot = worker.last(Hello), worker.last(Snapshot)
        assert hello is not None
        assert snapshot is not None
        assert hello.pid == worker.process.pid
        assert ready.store_directory == str(tmp_path / "store")
        assert snapshot.totals["commit_log_max"] == 0
        assert worker.end_input() == 0
        assert not (tmp_path / "store" / "abort").exists()


def test_messages_sent_from_the_console_are_listed_read_and_counted(tmp_path: Path):
    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        assert worker.ask(CreateTopic("orders", 1, 1, message_type="NORMAL")) == Done()
        settings = worker.ask(AskBroker(RequestCode.GET_TOPIC_CONFIG, {"topic": "orders"}))
        assert isinstance(settings, BrokerAnswer)
        assert read_topic_settings(settings.body).attributes == {"message.type": "NORMAL"}
        receipts = [send(worker, f"body {n}".encode(), TAGS="new", KEYS=f"k{n}") for n in range(70)]
        page = worker.ask(BrowseQueue("orders", 0, 0, 1_000))
        assert isinstance(page, MessagePage)
        assert page.queue_offset == list(range(70))
        assert (page.min_offset, page.max_offset, page.next_offset, page.notice) == (0, 70, 70, "")
        assert page.body_start[42] == b"body 42"
        assert page.keys[42] == "k42"
        newest = worker.ask(BrowseQueue("orders", -1, 0, 50))
        assert isinstance(newest, MessagePage)
        assert sorted(newest.queue_offset, reverse=True) == list(range(69, 19, -1))
        detail = worker.ask(ReadMessageById(receipts[7].offset_message_id))
        assert isinstance(detail, MessageDetail)
        assert (detail.body, detail.queue_offset, detail.properties["TAGS"]) == (b"body 7", 7, "new")
        assert worker.ask(ReadMessage(detail.physical_offset)) == detail
        assert worker.ask(FindOffset("orders", 0, receipts[0].store_ms)) == FoundOffset(0)
        assert worker.ask(FindOffset("orders", 0, receipts[-1].store_ms + 1)) == FoundOffset(70)
        worker.wait(lambda: any(m.totals["put_messages"] == 70 for m in worker.messages if isinstance(m, Snapshot)))
        worker.wait(lambda: any(m.subject == "orders" for m in worker.messages if isinstance(m, Occurred)))


def test_what_cannot_be_answered_fails_with_its_reason(tmp_path: Path):
    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        with pytest.raises(UsageError, match="no topic nowhere"):
            worker.ask(BrowseQueue("nowhere", 0, 0, 10))
        with pytest.raises(UsageError, match="1 to 1000 messages, not 1001"):
            worker.ask(BrowseQueue("TBW102", 0, 0, 1_001))
        with pytest.raises(UsageError, match="no message at 12345"):
            worker.ask(ReadMessage(12_345))
        with pytest.raises(CodecError, match="no offset message id"):
            worker.ask(ReadMessageById("xyz"))
        with pytest.raises(RemoteError, match="illegal characters") as caught:
            worker.ask(CreateTopic("a b", 1, 1))
        assert caught.value.context["code"] == 1
        worker.ask(CreateTopic("orders", 2, 2))
        with pytest.raises(RemoteError, match=r"queueId\[99\]"):
            worker.ask(SendMessage("orders", 99, b"x", {}))
        members = worker.ask(ListMembers("nobody"))
        assert isinstance(members, Members)
        assert members.client_id == []


def test_commands_that_the_window_starts_reach_a_broker_with_accounts(tmp_path: Path):
    store = tmp_path / "store"
    accounts = store / "config" / "plain_acl.yml"
    accounts.parent.mkdir(parents=True)
    accounts.write_text("accounts:\n  - {accessKey: administrator, secretKey: administrator, admin: true}\n")
    with WorkerDriver(store, ["--set", "aclEnable=true"]) as worker:
        ready = worker.wait_ready()
        worker.ask(CreateTopic("orders", 1, 1))
        send(worker, b"kept")
        search = [sys.executable, str(MAIN), "search", "--ns", ready.name_server, 'topic = "orders"']
        refused = subprocess.run(search, input="", capture_output=True, text=True, check=False, timeout=60)
        found = subprocess.run(
            [*search, "--connection-details"],
            input=f"{ready.own_access}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
    assert refused.returncode != 0
    assert "complete" not in refused.stderr
    assert (found.returncode, len(found.stdout.splitlines())) == (0, 1), found.stderr


def test_shutdown_is_answered_and_then_done(tmp_path: Path):
    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        assert worker.ask(Shutdown()) == Done()
        assert worker.process.wait(DEADLINE_S) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(tmp_path: Path, number: signal.Signals):
    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        worker.process.send_signal(number)
        assert worker.process.wait(DEADLINE_S) == 0
        assert not (tmp_path / "store" / "abort").exists()


@pytest.mark.parametrize("sent", [b"\x00", b"\x00\x00\x00\x09\x93"], ids=["in the length", "in the payload"])
def test_input_that_ends_within_a_message_ends_it_in_order(tmp_path: Path, sent: bytes):
    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        worker.send(sent)
        assert worker.end_input() == 0
        assert "its rest did not" in worker.error_log.read_text()
        assert not (tmp_path / "store" / "abort").exists()


def test_input_that_is_no_message_ends_it_in_order(tmp_path: Path):
    with WorkerDriver(tmp_path / "store") as worker:
        worker.wait_ready()
        worker.send(b"GET / HTTP/1.1\r\n\r\n")
        assert worker.process.wait(DEADLINE_S) == 0


def test_input_that_ends_before_it_is_ready_ends_it(tmp_path: Path):
    with WorkerDriver(tmp_path / "store") as worker:
        assert worker.end_input() == 0


def test_what_libraries_print_never_reaches_the_channel(tmp_path: Path):
    prelude = textwrap.dedent("""
        import os, threading
        def chatter():
            for number in range(50):
                print("printed by Python", number, flush=True)
                os.write(1, b"printed by C\\n")
        from broker_core.worker import process
        said = process._Worker.say_hello
        process._Worker.say_hello = lambda self: (said(self), threading.Thread(target=chatter).start())[0]
    """)
    with WorkerDriver(tmp_path / "store", prelude=prelude) as worker:
        worker.wait_ready()
        worker.wait(lambda: worker.last(Snapshot))
        assert worker.end_input() == 0
        assert worker.fault is None
        log = worker.error_log.read_text()
        assert log.count("printed by C\n") == 50
        assert "printed by Python 49" in log


def test_a_second_owner_is_told_the_process_of_the_first(tmp_path: Path):
    with WorkerDriver(tmp_path / "store") as first:
        first.wait_ready()
        with WorkerDriver(tmp_path / "store") as second:
            with pytest.raises(StoreLockedError) as caught:
                second.wait_ready()
            assert caught.value.context["pid"] == first.process.pid
            assert str(first.process.pid) in caught.value.message
            assert second.process.wait(DEADLINE_S) == StoreLockedError.exit_code
        send(first, b"still served", topic="TBW102X")


def test_a_directory_of_another_program_is_refused(tmp_path: Path):
    store = tmp_path / "store"
    store.mkdir()
    (store / "package.json").write_text("{}")
    with WorkerDriver(store) as worker:
        with pytest.raises(ForeignStoreError):
            worker.wait_ready()
        assert worker.process.wait(DEADLINE_S) == ForeignStoreError.exit_code
    assert sorted(path.name for path in store.iterdir()) == ["package.json"]


def test_a_port_in_use_is_named(tmp_path: Path):
    with taken_port() as listener:
        port = listener.getsockname()[1]
        with WorkerDriver(tmp_path / "store", ["--ns-port", str(port), "--port", "0"]) as worker:
            with pytest.raises(PortInUseError, match=str(port)):
                worker.wait_ready()
            assert worker.process.wait(DEADLINE_S) == PortInUseError.exit_code


def test_other_ports_are_taken_where_that_is_allowed_and_it_says_so(tmp_path: Path):
    with taken_port() as listener:
        port = listener.getsockname()[1]
        with WorkerDriver(tmp_path / "store", ["--ns-port", str(port), "--port", "0", "--any-port"]) as worker:
            ready = worker.wait_ready()
            assert ready.name_server != f"127.0.0.1:{port}"
            assert ready.notice.startswith(f"{port} is in use by another program")


def test_no_worker_is_left_when_the_window_is_killed(tmp_path: Path):
    window = textwrap.dedent(f"""
        import sys, time
        sys.path.insert(0, {str(MAIN.parent)!r})
        from pathlib import Path
        from tests.support.worker_driver import WorkerDriver
        worker = WorkerDriver(Path({str(tmp_path / "store")!r}))
        worker.wait_ready()
        print(worker.process.pid, flush=True)
        time.sleep(600)
    """)
    parent = subprocess.Popen([sys.executable, "-c", window], stdout=subprocess.PIPE)
    try:
        assert parent.stdout is not None
        worker = psutil.Process(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
        parent.stdout.close()
        wait_until(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "the worker is an orphan")
        assert not (tmp_path / "store" / "abort").exists()
    finally:
        parent.kill()


def test_nothing_acknowledged_is_lost_when_it_is_killed(tmp_path: Path):
    store = tmp_path / "store"
    with WorkerDriver(store, ["--flush", "sync"]) as worker:
        worker.wait_ready()
        worker.ask(CreateTopic("orders", 1, 1))
        for number in range(20):
            send(worker, b"%d" % number)
        worker.process.kill()
        worker.process.wait()
    with WorkerDriver(store) as worker:
        worker.wait_ready()
        page = worker.ask(BrowseQueue("orders", 0, 0, 100))
        assert isinstance(page, MessagePage)
        assert page.body_start == [b"%d" % number for number in range(20)]


def test_a_hanging_end_is_forced(tmp_path: Path):
    prelude = textwrap.dedent("""
        import time
        from broker_core.worker import process
        process.STOP_SECONDS_MAX = 0.5
        from broker_core.engine.broker import embedded
        async def hang(self):
            time.sleep(600)
        embedded.EmbeddedBroker.stop = hang
    """)
    with WorkerDriver(tmp_path / "store", prelude=prelude) as worker:
        worker.wait_ready()
        assert worker.end_input() == 71
