"""The broker without a window keeps its history too."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest

from tests.support.broker_process import running_broker

DEADLINE_S = 60.0


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
    end = time.monotonic() + DEADLINE_S
    while not (found := rows(store, question)):
        assert time.monotonic() < end, f"nothing came: {question}"
        time.sleep(0.05)
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
