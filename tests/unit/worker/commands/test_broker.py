"""The broker without a window keeps its history too."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from broker_core.client.admin import AdminClient
from broker_core.errors import OrbitError
from broker_core.worker.commands.broker import EXIT_UNWRITTEN
from tests.support.broker_process import running_broker
from tests.support.waiting import wait_until


def rows(store: Path, question: str) -> list[tuple[object, ...]]:
    """What the history holds; nothing while there is none."""
    path = store / "orbit" / "history.db"
    if not path.exists():
        return []
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        try:
            return connection.execute(question).fetchall()
        except sqlite3.OperationalError:  # not made yet
            return []


def wait_for_rows(store: Path, question: str) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    wait_until(lambda: found.extend(rows(store, question)) or found, f"nothing came: {question}", pause_s=0.05)
    return found


@pytest.mark.timeout(240)
def test_history_is_kept_without_a_window_and_survives_a_kill(tmp_path):
    store = tmp_path / "store"
    with running_broker(store) as broker:
        wait_for_rows(store, "SELECT start FROM journal")
        broker.kill()
    with running_broker(store):
        wait_for_rows(store, "SELECT 1 FROM events WHERE text LIKE '%had ended unexpectedly'")
    kinds = [kind for (kind,) in rows(store, "SELECT kind FROM events ORDER BY id")]
    assert kinds[0] == "broker_started"
    assert kinds[-1] == "broker_stopped"
    assert rows(store, "SELECT 1 FROM runs"), "what was sampled before the kill is there"


@pytest.mark.timeout(120)
def test_history_can_be_switched_off(tmp_path):
    with running_broker(tmp_path / "store", "--set", "orbitHistory=false"):
        pass
    assert not (tmp_path / "store" / "orbit" / "history.db").exists()


@pytest.mark.timeout(120)
def test_a_stop_that_cannot_write_a_configuration_file_ends_with_1(tmp_path):
    config = tmp_path / "store" / "config"
    with running_broker(tmp_path / "store", "--set", "orbitHistory=false") as broker:

        async def change() -> None:
            async with AdminClient(broker.name_server) as admin:
                await admin.create_topic("orders", queues=1)
                config.rename(tmp_path / "away")
                config.touch()  # a file in its place refuses as a full disk does, also for root
                with pytest.raises(OrbitError):
                    await admin.create_topic("lost", queues=1)

        asyncio.run(change())
        broker.was_killed = True
        broker.process.terminate()
        assert broker.process.wait(60) == EXIT_UNWRITTEN
