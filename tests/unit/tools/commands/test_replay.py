"""Replays from the command line, against a real broker process."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message, RawMessage
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import PushConsumer
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.protocol.message.sys_flag import Compression, with_compression
from broker_core.tools.commands.replay import main
from broker_core.tools.commands.search import main as search
from tests.support.broker_process import CHECKOUT, running_broker
from tests.support.remoting_peer import eventually_answers

SET_BY_PRODUCERS = ("queueId", "sysFlag", "flag", "bornTimestamp", "properties", "bodyLength", "body")


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker") / "store") as running:
        asyncio.run(_fill(running.name_server))
        yield running


async def _fill(name_server: str) -> None:
    """Twelve messages of all kinds that a producer can make, and topics to replay to."""
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        for topic in ("orders", "again", "from-file", "slow", "crash", "lossless-jsonl", "lossless-csv", "lossless-parquet"):
            await admin.create_topic(topic, queues=4)
        queues = await producer.queues("orders")
        for number in range(8):
            message = Message("orders", b'{"n":%d}' % number, "paid", (f"k{number}",), {"city": '杭州, "x"\r\n'}, number - 4)
            await producer.send(message, queue=queues[number % 4])
        for number, compression in enumerate(Compression):
            await producer.send_raw(_compressed(number, compression), queues[number])


def _compressed(number: int, compression: Compression) -> RawMessage:
    return RawMessage(
        topic="orders",
        body=compress_body(bytes(range(256)) * 20, compression),
        properties=encode_properties({"UNIQ_KEY": f"U{number}", "KEYS": "a b"}),
        flag=-(1 << 31),
        sys_flag=with_compression(0, compression),
        born_timestamp_ms=1_000 + number,
    )


def rows_of(broker, topic: str, capsys) -> list[dict]:
    capsys.readouterr()
    assert search(["--ns", broker.name_server, f'topic = "{topic}"']) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def of_producers(rows: Sequence[dict], *left_out: str) -> list[str]:
    found = [{name: row[name] for name in SET_BY_PRODUCERS} for row in rows]
    for row in found:
        row["properties"] = {name: value for name, value in row["properties"].items() if name not in left_out}
    return sorted(json.dumps(row, sort_keys=True) for row in found)


def receipt_of(folder: Path) -> list[dict]:
    lines = (folder / "receipt.jsonl").read_text("utf-8").splitlines()
    return [row for row in map(json.loads, lines) if "number" in row]


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_what_is_exported_and_replayed_is_the_same(broker, tmp_path, capsys, form):
    file, topic = tmp_path / f"hits.{form}", f"lossless-{form}"
    assert search(["--ns", broker.name_server, 'topic = "orders"', "--format", form, "--out", str(file)]) == 0
    line = ["--from-file", str(file), "--to", topic, "--to-ns", broker.name_server, "--no-link"]
    assert main([*line, "--journal", str(tmp_path / "journal")]) == 0
    assert of_producers(rows_of(broker, topic, capsys)) == of_producers(rows_of(broker, "orders", capsys))


def test_a_search_is_replayed_with_links_and_a_receipt(broker, tmp_path, capsys):
    line = ["--ns", broker.name_server, 'topic = "orders" and flag_is_no_field = 1', "--to", "again"]
    assert main(line) == 2
    assert "at character 22" in capsys.readouterr().err
    folder = tmp_path / "journal"
    assert main(["--ns", broker.name_server, 'topic = "orders"', "--to", "again", "--journal", str(folder)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"complete: 12 sent; receipt: {folder / 'receipt.jsonl'}"
    assert "  12 from orders to again" in said
    orders, again = rows_of(broker, "orders", capsys), rows_of(broker, "again", capsys)
    assert of_producers(again, ORIGIN_LINK) == of_producers(orders)
    assert {row["offsetMsgId"]: row["properties"][ORIGIN_LINK] for row in again} == {
        row["offsetMsgId"]: row["originId"] for row in receipt_of(folder)
    }
    assert {row["originId"] for row in receipt_of(folder)} == {row["offsetMsgId"] for row in orders}
    assert main(["--resume", str(folder)]) == 0
    assert len(rows_of(broker, "again", capsys)) == 12


def test_a_directory_is_replayed_to_a_broker(broker, tmp_path, capsys):
    folder = tmp_path / "journal"
    store = ["--store", str(broker.store), 'topic = "orders" and body.n in (1, 2)']
    assert main([*store, "--to", "slow"]) == 2
    assert "--to-ns" in capsys.readouterr().err
    assert main([*store, "--to", "slow", "--to-ns", broker.name_server, "--new-ids", "--journal", str(folder)]) == 0
    found, orders = rows_of(broker, "slow", capsys), rows_of(broker, "orders", capsys)
    assert {row["flag"] for row in found} == {-3, -2}
    assert not {row["properties"]["UNIQ_KEY"] for row in found} & {row["properties"]["UNIQ_KEY"] for row in orders}


def test_a_dry_run_sends_nothing(broker, tmp_path, capsys):
    folder = tmp_path / "journal"
    line = ["--ns", broker.name_server, 'topic = "orders"', "--to-origin", "--rate", "4", "--journal", str(folder)]
    before = len(rows_of(broker, "orders", capsys))
    assert main([*line, "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert "plan: 12 messages with" in said
    assert "in 0:00:03 h or more" in said
    assert said.splitlines()[-1] == "dry run: nothing was sent"
    assert not folder.exists()
    assert len(rows_of(broker, "orders", capsys)) == before


def test_a_production_target_is_confirmed_by_its_name(broker, tmp_path, capsys):
    def refusal(target: str, confirmed: str) -> str:
        assert target == broker.name_server
        return "" if confirmed == "Shop" else "confirm it"

    journal = tmp_path / "journal"
    line = ["--ns", broker.name_server, 'topic = "orders" and key = "k1"', "--to", "again", "--journal", str(journal)]
    before = rows_of(broker, "again", capsys)
    assert main(line, refusal=refusal) == 2
    assert f"nothing is sent to {broker.name_server}: confirm it" in capsys.readouterr().err
    assert main([*line, "--dry-run"], refusal=refusal) == 0
    assert "a run would be refused: confirm it" in capsys.readouterr().err
    assert not journal.exists()
    assert rows_of(broker, "again", capsys) == before
    assert main([*line, "--production", "Shop"], refusal=refusal) == 0
    assert len(rows_of(broker, "again", capsys)) == len(before) + 1
    assert main(["--resume", str(journal)], refusal=refusal) == 2


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_read(broker, tmp_path, capsys, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("broker_core.tools.commands.replay.replays_folder", lambda: tmp_path / "file")
    assert main(["--ns", broker.name_server, 'topic = "orders"', "--to", "again", "--to-ns", broker.name_server]) == 2
    said = capsys.readouterr().err
    assert "cannot be made: Not a directory; name a folder with --journal" in said
    assert "--resume" not in said


def test_what_a_group_would_reject_is_said_before_anything_is_sent(broker, capsys):
    orders = ["--ns", broker.name_server, 'topic = "orders"', "--dry-run"]

    async def scenario():
        wanted = {"orders": "new || paid", "again": "new"}
        async with (
            PushConsumer(broker.name_server, "picky", wanted, lambda _messages: None),
            AdminClient(broker.name_server) as admin,
        ):

            async def is_known():
                return "%RETRY%picky" in await admin.topics() and set(wanted) <= set(await admin.subscriptions("picky") or ())

            await eventually_answers(is_known)
            return [await asyncio.to_thread(main, [*orders, *goal]) for goal in (["--to-group", "picky"], ["--to", "again"])]

    assert asyncio.run(scenario()) == [0, 0]
    to_group, to_topic = (line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: "))
    assert to_group == (
        "warning: picky would reject 4 of 12 messages: 4 as its filter takes other tags (orders: new || paid); "
        "they reach it all the same, as they are sent to it alone"
    )
    assert to_topic == (
        "warning: picky would reject 12 of 12 messages: 12 as its filter takes other tags (again: new); it will not get them"
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (["--to", "no-such-topic"], "has no topic no-such-topic: create it first. Nothing was sent"),
        (["--to", "not a topic"], "is no topic name"),
        (["--limit", "0", "--to", "again"], "1 hit or more"),
        (["--to-group", "g", "--rate", "0"], "a rate of 0.0 cannot be kept"),
        ([], "name one of them"),
    ],
)
def test_what_cannot_be_sent_is_refused_before_anything_is(broker, tmp_path, capsys, line, fault):
    folder = tmp_path / "journal"
    assert main(["--ns", broker.name_server, 'topic = "orders"', *line, "--journal", str(folder)]) == 2
    assert fault in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (["--ns", "a:1", "--to", "t"], "give a FILTER"),
        (["--from-file", "x.csv", "topic = 1", "--to", "t"], "leave FILTER"),
        (["--resume", "x", "--rate", "3"], "leave out rate"),
        (["--resume", "x", "--dry-run"], "leave out dry-run"),
        (["--resume", "x", "--new-ids", "--no-link"], "leave out new-ids, no-link"),
        (["--resume", "none-there"], "holds no replay"),
        (["--from-file", "none.csv", "--to", "t", "--dry-run"], "cannot be read"),
    ],
)
def test_arguments_that_do_not_go_together(capsys, line, fault):
    assert main(line) == 2
    assert fault in capsys.readouterr().err


class ReplayProcess:
    """A replay in a process of its own, at a rate of ten a second."""

    def __init__(self, broker, folder: Path, topic: str) -> None:
        line = ["--ns", broker.name_server, 'topic = "orders"', "--to", topic, "--rate", "10", "--journal", str(folder)]
        self.process = subprocess.Popen(
            [sys.executable, "main.py", "replay", *line, "--control"],
            cwd=CHECKOUT,
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def wait_for(self, part: str) -> str:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if part in line:
                return line
        raise AssertionError(f"it ended with {self.process.wait()} and never said “{part}”")

    def say(self, word: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{word}\n")
        self.process.stdin.flush()


def test_pause_resume_and_stop_as_lines_on_standard_input(broker, tmp_path, capsys):
    folder = tmp_path / "journal"
    with ReplayProcess(broker, folder, "from-file") as replay:
        replay.wait_for("messages to send")
        replay.say("pause")
        paused = replay.wait_for("paused")
        assert replay.wait_for("paused") == paused
        replay.say("dance")
        replay.wait_for("there is no command")
        replay.say("resume")
        replay.wait_for("progress: ")
        replay.say("stop")
        last = replay.wait_for("receipt: ")
        code = replay.process.wait(60)
    # Slow machines may have sent all of them by then.
    assert (code, last.split(":")[0]) in {(130, "partial"), (0, "complete")}
    assert main(["--resume", str(folder)]) == 0
    assert len(rows_of(broker, "from-file", capsys)) == 12


def test_a_replay_that_was_killed_goes_on(broker, tmp_path, capsys):
    folder = tmp_path / "journal"
    with ReplayProcess(broker, folder, "crash") as replay:
        replay.wait_for("progress: ")
        replay.process.send_signal(signal.SIGKILL)
        replay.process.wait(60)
    done = len(receipt_of(folder))
    assert main(["--resume", str(folder)]) == 0
    receipt = receipt_of(folder)
    assert sorted(row["number"] for row in receipt) == list(range(12))
    again = [row for row in receipt if row.get("maybeTwice")]
    assert {row["number"] for row in again} <= set(range(done, 12))
    rows = rows_of(broker, "crash", capsys)
    assert 12 <= len(rows) <= 12 + len(again)
    assert len({row["properties"][ORIGIN_LINK] for row in rows}) == 12


def test_an_interrupt_stops_in_good_order(broker, tmp_path):
    folder = tmp_path / "journal"
    with ReplayProcess(broker, folder, "crash") as replay:
        replay.wait_for("messages to send")
        replay.say("pause")
        replay.wait_for("paused")
        os.kill(replay.process.pid, signal.SIGINT)
        assert "go on with: orbit replay --resume" in replay.wait_for("receipt: ")
        assert replay.process.wait(60) == 130


def test_one_queue_keeps_its_order(broker, tmp_path, capsys):
    queue = MessageQueue("ordered", "", 2)
    asyncio.run(_send_ordered(broker.name_server, queue.queue_id))
    line = ["--ns", broker.name_server, 'topic = "ordered"', "--to", "ordered-copy", "--journal", str(tmp_path / "j")]
    assert main([*line, "--born-now"]) == 0
    rows = sorted(rows_of(broker, "ordered-copy", capsys), key=lambda row: row["queueOffset"])
    assert [row["flag"] for row in rows] == list(range(500))
    assert {row["queueId"] for row in rows} == {queue.queue_id}


async def _send_ordered(name_server: str, queue_id: int) -> None:
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        for topic in ("ordered", "ordered-copy"):
            await admin.create_topic(topic, queues=4)
        queue = (await producer.queues("ordered"))[queue_id]
        for start in range(0, 500, 50):
            await producer.send_batch([Message("ordered", b"x", flag=start + n) for n in range(50)], queue=queue)
