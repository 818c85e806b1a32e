"""Copies from the command line: previews, refusals, stores as targets, pauses and stops; against a real broker process."""

from __future__ import annotations

import asyncio
import base64
import json
import signal
import subprocess
import sys

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.cluster.access import no_saved
from broker_core.errors import UsageError
from broker_core.protocol.signature import Credentials
from broker_core.tools.commands.copy import main, parser, use_connections
from broker_core.tools.commands.search import main as search
from tests.support.broker_process import CHECKOUT, running_broker


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with running_broker(tmp_path_factory.mktemp("broker") / "store") as running:
        asyncio.run(_fill(running.name_server))
        yield running


async def _fill(name_server):
    async with AdminClient(name_server) as admin, Producer(name_server) as producer:
        await admin.create_topic("orders", queues=2)
        queues = await producer.queues("orders")
        for number in range(60):
            await producer.send(Message("orders", b"%d" % number, "paid", (f"k{number}",)), queue=queues[number % 2])


def bodies(store, capsys):
    capsys.readouterr()
    assert search(["--store", str(store), 'topic = "orders"']) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return sorted(int(base64.b64decode(row["body"])) for row in rows)


def test_a_preview_changes_nothing_and_a_copy_fills_a_store(broker, tmp_path, capsys):
    store, receipt = tmp_path / "home" / "store", tmp_path / "receipt.jsonl"
    line = ["--from", broker.name_server, "--to-store", str(store), "--topic", "orders", "--last", "10"]
    assert main([*line, "--dry-run"]) == 0
    said = capsys.readouterr().err
    assert "plan: 20 messages with" in said
    assert "topic orders: 20 messages of 2 queues; it is created" in said
    assert said.splitlines()[-1] == "dry run: nothing was changed"
    assert not store.exists()
    assert main([*line, "--receipt", str(receipt)]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == f"complete: 20 copied; receipt: {receipt}"
    assert bodies(store, capsys) == list(range(40, 60))
    assert main(["--resume", str(receipt)]) == 0
    assert bodies(store, capsys) == list(range(40, 60))


def test_a_store_that_is_not_the_one_of_before_is_refused(broker, tmp_path, capsys):
    receipt = tmp_path / "receipt.jsonl"
    line = ["--from", broker.name_server, "--to-store", str(tmp_path / "one"), "--topic", "orders", "--receipt", str(receipt)]
    assert main(line) == 0
    assert main(["--resume", str(receipt), "--to-store", str(tmp_path / "other")]) == 2
    assert "does not hold what was copied: queue 0 of orders" in capsys.readouterr().err
    assert main(["--resume", str(receipt), "--from", broker.name_server, "--to-store", str(tmp_path / "one")]) == 0
    assert main([*line[:-1], str(tmp_path / "again"), "--to-store", str(tmp_path / "other")]) == 0
    (tmp_path / "other").rename(tmp_path / "moved")
    capsys.readouterr()
    assert main(["--resume", str(tmp_path / "again"), "--to-store", str(tmp_path / "moved")]) == 0
    assert "complete: 60 copied" in capsys.readouterr().err


def test_a_store_that_another_process_has_is_refused_with_what_to_do(broker, tmp_path, capsys):
    line = ["--from", broker.name_server, "--to-store", str(broker.store), "--topic", "orders", "--dry-run"]
    assert main(line) == 3
    assert "or name the broker that runs on it with --to HOST:PORT" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ([], "say with --topic"),
        (["--topic", "orders", "--since", "soon"], "“soon” of --since is no time"),
        (["--topic", "orders", "--offsets"], "say with --groups"),
        (["--topic", "orders", "--rate", "0"], "a rate of 0.0 cannot be kept"),
        (["--topic", "orders", "--wait-max", "0"], "a fault that may last 0 s"),
        (["--topic", "orders", "--to", "x:1"], "say with --to HOST:PORT or with --to-store DIR"),
        (["--topic", "orders", "--from-offset", "1", "--since", "1"], "a range is one of time or one of offsets"),
        (["--topic", "nothing"], "has no topic nothing"),
    ],
)
def test_wrong_arguments_are_refused_and_leave_nothing(broker, tmp_path, capsys, wrong, words):
    line = ["--from", broker.name_server, "--to-store", str(tmp_path / "store"), "--dry-run"]
    assert main([*line, *wrong]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_a_target_that_may_not_be_changed_is_refused_but_can_be_previewed(broker, tmp_path, capsys):
    line = ["--from", broker.name_server, "--to-store", str(tmp_path / "store"), "--topic", "orders"]

    def refusal(_target, _is_store):
        return "it is read-only"

    assert main(line, refusal=refusal) == 2
    assert "nothing is copied to" in capsys.readouterr().err
    assert not (tmp_path / "store").exists()
    assert main([*line, "--dry-run"], refusal=refusal) == 0
    assert "a run would be refused: it is read-only" in capsys.readouterr().err


def test_saved_connections_stand_for_addresses_and_read_only_ones_are_no_targets(broker, tmp_path, capsys):
    def find_saved(name):
        return json.dumps({"nameServers": broker.name_server, "readOnly": name == "looked at"}).encode()

    line = ["--from-connection", "prod", "--topic", "orders"]
    assert main([*line, "--to-store", str(tmp_path / "store"), "--receipt", str(tmp_path / "r")], find_saved=find_saved) == 0
    assert "complete: 60 copied" in capsys.readouterr().err
    assert main([*line, "--to-connection", "looked at"], find_saved=find_saved) == 2
    assert "the connection “looked at” is read-only" in capsys.readouterr().err
    assert main([*line, "--from", "x:1", "--to-connection", "other"], find_saved=find_saved) == 2
    assert "the source is given 2 times" in capsys.readouterr().err


def test_files_of_connections_and_keys_of_the_environment_lead_to_both_ends(tmp_path, monkeypatch):
    file = tmp_path / "prod.json"
    file.write_text(json.dumps({"nameServers": "h:1", "accessKey": "ann", "secretKey": "hidden"}))
    file.chmod(0o600)
    monkeypatch.setenv("ORBIT_TO_ACCESS_KEY", "bob")
    monkeypatch.setenv("ORBIT_TO_SECRET_KEY", "also hidden")
    found = used("--from-connection-file", str(file), "--to", "t:1")
    assert (found.source, found.target) == ("h:1", "t:1")
    assert found.security["source"].credentials == Credentials("ann", "hidden")
    assert found.security["target"].credentials == Credentials("bob", "also hidden")
    monkeypatch.setenv("ORBIT_ACCESS_KEY", "cid")
    monkeypatch.setenv("ORBIT_SECRET_KEY", "of the source")
    monkeypatch.delenv("ORBIT_TO_ACCESS_KEY")
    monkeypatch.delenv("ORBIT_TO_SECRET_KEY")
    found = used("--from", "h:2", "--to", "t:1")
    assert found.security["source"].credentials == Credentials("cid", "of the source")
    assert found.security["target"].credentials is None  # what it signs is not shown to another cluster
    monkeypatch.delenv("ORBIT_SECRET_KEY")
    with pytest.raises(UsageError, match="no ORBIT_SECRET_KEY"):
        used("--from", "h:2", "--to", "t:1")


def used(*words):
    arguments = parser().parse_args(words)
    use_connections(arguments, no_saved)
    return arguments


def test_what_is_given_twice_with_a_receipt_is_refused(broker, tmp_path, capsys):
    assert main(["--resume", str(tmp_path / "none")]) == 2
    assert "there is no file" in capsys.readouterr().err
    assert main(["--resume", str(tmp_path / "none"), "--topic", "orders", "--last", "3"]) == 2
    assert "leave out --topic, --last" in capsys.readouterr().err


def test_a_paused_copy_goes_on_and_a_stopped_one_later(broker, tmp_path, capsys):
    receipt = tmp_path / "receipt.jsonl"
    line = [
        sys.executable,
        str(CHECKOUT / "main.py"),
        "copy",
        "--from",
        broker.name_server,
        "--to-store",
        str(tmp_path / "store"),
    ]
    line += ["--topic", "orders", "--rate", "1", "--receipt", str(receipt), "--control"]
    with subprocess.Popen(line, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as copying:

        def until(words):
            return next(text for text in copying.stderr if words in text)

        def tell(word):
            copying.stdin.write(f"{word}\n")
            copying.stdin.flush()

        until("journal: ")
        tell("pause")
        until(", paused")
        tell("resume")
        until("progress: ")
        copying.send_signal(signal.SIGTERM)
        last = until("partial: ")
        assert copying.wait(60) == 130
    assert f"it was stopped; receipt: {receipt}; go on with: orbit copy --resume {receipt}" in last
    assert main(["--resume", str(receipt), "--rate", "100000"]) == 0
    assert "complete: 60 copied; receipt" in capsys.readouterr().err
    assert bodies(tmp_path / "store", capsys) == list(range(60))
