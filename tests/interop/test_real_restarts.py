"""Long operations over a real RocketMQ that is killed, or ended in good order, in their midst and started again; on demand.

Whatever happens, each message comes once, or what is missing or may be there twice is said.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import subprocess
import sys
from collections import Counter

import pytest

from broker_core.tools.replay.journal import RECEIPT_FILE
from spark_reports.datasource.cluster_source import ClusterReader
from spark_reports.datasource.schema import ALL_COLUMNS
from tests.support.attached import broker_on
from tests.support.broker_process import CHECKOUT
from tests.support.real_broker import RealBroker
from tests.support.real_traffic import fill, numbers_of

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

MESSAGES = 6_000
BODY = b"x" * 400
KILLS = pytest.mark.parametrize("kill", [True, False], ids=["killed", "ended"])


@pytest.fixture(params=["4.9.4", "5.3.3"])
def real(request, tmp_path):
    broker = RealBroker(request.param, tmp_path / "real", {"autoCreateTopicEnable": "true", "flushDiskType": "SYNC_FLUSH"})
    broker.start()
    broker.until_registered()
    yield broker
    broker.stop()


def restart(real, *, kill):
    real.stop(kill=kill)
    real.start()
    real.until_registered()


@contextlib.contextmanager
def running(*words):
    """The program, as a person runs it."""
    line = [sys.executable, str(CHECKOUT / "main.py"), *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def until(process, beginning):
    """What it has said up to a line that begins so."""
    said = []
    for line in process.stderr:
        said.append(line)
        if line.startswith(beginning):
            return said
    raise AssertionError(said)


@KILLS
def test_an_export_whose_reader_is_slow_has_every_message_once(real, kill):
    asyncio.run(fill(real.name_server, "T", MESSAGES, body=BODY))
    with running("search", "--ns", real.name_server, 'topic = "T"') as export:
        # It pulls no faster than it is read, so it stands in the midst of the queues.
        rows = [json.loads(export.stdout.readline()) for _number in range(MESSAGES // 4)]
        restart(real, kill=kill)
        # Not by `communicate`, which leaves out what was read ahead of the last line.
        rest, told = export.stdout.readlines(), export.stderr.read()
    rows += [json.loads(line) for line in rest]
    assert told.splitlines()[-1] == f"complete: {MESSAGES:,} hits in {MESSAGES:,} messages"
    assert len({(row["queueId"], row["queueOffset"]) for row in rows}) == len(rows) == MESSAGES


@KILLS
def test_rows_of_a_report_come_once(real, kill):
    asyncio.run(fill(real.name_server, "T", MESSAGES, body=BODY))
    options = {"name_servers": real.name_server, "topics": '["T"]', "slice_messages": "1000", "retry_seconds": "170"}
    reader = ClusterReader(options, ALL_COLUMNS)
    rows = []
    for number, part in enumerate(reader.partitions()):
        for batch in reader.read(part):
            rows += batch.to_pylist()
            if number == 1 and len(rows) < MESSAGES // 2:
                restart(real, kill=kill)
    assert [row for row in rows if row["skipped_reason"]] == []
    assert sorted(int(row["body"].split()[0]) for row in rows) == list(range(MESSAGES))


@KILLS
def test_a_copy_from_a_broker_that_restarts_is_whole_and_nothing_is_twice(real, tmp_path, kill):
    asyncio.run(fill(real.name_server, "T", MESSAGES, body=BODY))
    receipt = tmp_path / "receipt"
    words = ["copy", "--from", real.name_server, "--to-store", str(tmp_path / "home"), "--topic", "T", "--rate", "1000"]
    with running(*words, "--receipt", str(receipt)) as copying:
        said = until(copying, "progress: ")
        restart(real, kill=kill)
        said += copying.stderr.readlines()
        copying.wait()
    assert copying.returncode == 0, said
    assert any(line.startswith("waiting: ") for line in said)
    assert not [line for line in receipt.read_text("utf-8").splitlines() if json.loads(line).get("maybeTwice")]

    async def at_home():
        async with broker_on(tmp_path / "home") as home:
            return await numbers_of(home.name_server_address, "T")

    assert sorted(asyncio.run(at_home())) == list(range(MESSAGES))


@KILLS
def test_a_replay_goes_on_and_says_what_may_be_there_twice(real, tmp_path, kill):
    count = 2_000
    asyncio.run(fill(real.name_server, "T", count))
    journal = tmp_path / "journal"
    words = ["replay", "--ns", real.name_server, 'topic = "T"', "--to", "T", "--rate", "400", "--journal", str(journal)]
    with running(*words, "--failures-max", "5") as replaying:
        said = until(replaying, "progress: ")
        restart(real, kill=kill)
        said += replaying.stderr.readlines()
        replaying.wait()
    again = 0
    while replaying.returncode != 0:
        assert replaying.returncode == 1, said
        assert "; go on with: orbit replay --resume" in said[-1]
        again += 1
        assert again < 5, said
        with running("replay", "--resume", str(journal)) as replaying:
            said = replaying.stderr.readlines()
            replaying.wait()
    assert said[-1].startswith("complete: "), said
    found = Counter(asyncio.run(numbers_of(real.name_server, "T")))
    assert set(found) == set(range(count))
    lines = [json.loads(line) for line in (journal / RECEIPT_FILE).read_text("utf-8").splitlines()]
    doubtful = sum(bool(line.get("maybeTwice")) for line in lines)
    assert min(found.values()) >= 2, "lost"
    assert sum(found.values()) - 2 * count <= doubtful
