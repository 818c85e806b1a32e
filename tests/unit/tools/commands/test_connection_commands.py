"""Commands on a cluster by a saved connection and by details of their input, as processes."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys

from PySide6.QtCore import QSettings

from broker_core.client.message import Message
from broker_core.client.producer import Producer
from gui.connections.cluster import ATTACHED, STORES_KEY, Cluster, kept_text
from tests.support.attached import broker_on
from tests.support.worker_driver import DEADLINE_S, MAIN

MAPPED = "inside.invalid:9876"
"""Nobody resolves it: only the address map leads to the server."""


def run(*words, line="", **environment):
    return subprocess.run(
        [sys.executable, *words], input=line, capture_output=True, text=True, timeout=DEADLINE_S, check=False,
        env={**os.environ, **environment}, cwd=MAIN.parent,
    )  # fmt: skip


def test_a_saved_connection_and_details_of_the_input_lead_to_the_cluster(tmp_path):
    (tmp_path / "orbit").mkdir()
    settings = QSettings(str(tmp_path / "orbit" / "window.ini"), QSettings.Format.IniFormat)

    async def scenario():
        async with broker_on(tmp_path / "store") as broker, Producer(broker.name_server_address) as producer:
            await producer.send(Message("orders", b"first", keys=("k1",)))
            mapped = {MAPPED: broker.name_server_address}
            saved = Cluster(ATTACHED, MAPPED, title="Shop", addresses=tuple(mapped.items()))
            settings.setValue(STORES_KEY, [kept_text(saved)])
            settings.sync()
            words = ("replay", "--connection", "shop", 'topic = "orders"', "--to", "orders", "--dry-run")
            details = json.dumps({"nameServers": MAPPED, "addresses": mapped})
            return await asyncio.gather(
                asyncio.to_thread(run, str(MAIN), *words, XDG_CONFIG_HOME=str(tmp_path)),
                asyncio.to_thread(
                    run, str(MAIN), "search", "--ns", MAPPED, "--connection-details", 'key = "k1"', line=f"{details}\n"
                ),
            )

    replay, search = asyncio.run(scenario())
    assert (replay.returncode, "search: complete: 1 hit" in replay.stderr) == (0, True), replay.stderr
    assert (search.returncode, json.loads(search.stdout)["properties"]["KEYS"]) == (0, "k1"), search.stderr
