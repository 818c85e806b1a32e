"""A report on a real RocketMQ that is killed while its messages are read, and comes back or does not; on demand.

Read by Spark as rows, and as sums that the reader makes: what is told is whole, or says how much it lacks and why.
"""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.delimited_text import open_csv
from tests.support.broker_process import CHECKOUT
from tests.support.real_broker import RealBroker
from tests.support.real_traffic import fill

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

MESSAGES, RATE = 4_000, 200
BODY = b"x" * 300
PATIENT_S = 600.0
QUERY = "select topic, count(distinct queue_id, queue_offset) as places, count(*) as messages from messages group by topic"
REPORTS = {
    "rows by Spark": ["sql", "--query", QUERY],
    "sums by Spark": ["throughput"],
}


@pytest.fixture(scope="module", params=["4.9.4", "5.3.3"])
def real(request, tmp_path_factory):
    settings = {"autoCreateTopicEnable": "true", "flushDiskType": "SYNC_FLUSH"}
    broker = RealBroker(request.param, tmp_path_factory.mktemp("real") / "real", settings)
    broker.start()
    broker.until_registered()
    asyncio.run(fill(broker.name_server, "Report", MESSAGES, body=BODY))
    yield broker
    broker.stop()


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with open_csv(folder / f"{name}.csv") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("returns", [True, False], ids=["returns", "stays away"])
@pytest.mark.parametrize("report", REPORTS)
def test_a_report_has_every_message_once_over_a_kill_or_says_how_many_it_lacks(real, tmp_path, report, returns):
    out = tmp_path / "out"
    # Some seconds of reading, so that the kill meets it.
    line = [sys.executable, str(CHECKOUT / "main.py"), "report", *REPORTS[report], "--rate-messages", str(RATE)]
    line += ["--ns", real.name_server, "--topic", "Report", "--out", str(out), "--progress", "json"]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            assert any(json.loads(told).get("stage") == "read" for told in iter(running.stdout.readline, ""))
            real.stop(kill=True)
            if returns:
                real.start()
            told = running.communicate(timeout=PATIENT_S)
        finally:
            running.kill()
            if not returns:
                real.start()
            real.until_registered()
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    lacked = {one["reason"]: one["rows"] for one in manifest["skipped"] if one["damaged"]}
    assert manifest["rows"]["read"] + sum(lacked.values()) == MESSAGES, (manifest["rows"], lacked, told)
    ended = (manifest["state"], running.returncode)
    assert ended == (("partial", 1) if lacked else ("complete", 0)), (ended, lacked, told)
    assert all(reason.startswith("not read from broker broker-a: ") for reason in lacked), lacked
    rows = table(out, "rows" if report.startswith("rows") else "by_topic")
    assert sum(int(row["messages"]) for row in rows) == manifest["rows"]["read"]
    assert all(row["places"] == row["messages"] for row in rows if "places" in row), rows
    assert returns or lacked
