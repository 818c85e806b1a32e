"""The process that stays, with real Spark: reports do not see each other, and nothing is left."""

import contextlib
import json
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.support import known_store as known
from tests.support.known_history import write_known_history

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(1500)]

ROOT = Path(__file__).resolve().parents[2]
TOTALS = "select count(*) as n from messages"
LAG = "select max(lag_messages) as n from lag"


class Kept:
    """The process and its lines."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "spark_reports", "--serve"],
            cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def until(self, **wanted):
        """Lines up to the one that says all of that."""
        lines = []
        for text in self.process.stdout:
            lines.append(json.loads(text))
            if wanted.items() <= lines[-1].items():
                return lines
        pytest.fail(f"it ended with {self.process.wait()}: {self.process.stderr.read()[-2000:]}")

    def order(self, *words):
        self.process.stdin.write(json.dumps([*map(str, words)]) + "\n")
        self.process.stdin.flush()


@pytest.fixture
def kept():
    made = Kept()
    yield made
    with contextlib.suppress(BrokenPipeError), made.process:
        made.process.kill()


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    first, second = (known.write_known_store(folder / name) for name in ("first", "second"))
    write_known_history(first.root)
    return first, second.root


def test_reports_one_after_the_other_do_not_see_each_other(kept, stores, tmp_path):
    first, without_history = stores
    ready = kept.until(state="ready")[-1]
    assert ready["memory_bytes"] > 100 << 20
    kept.order("throughput", "--store", first.root, "--out", tmp_path / "a")
    told = kept.until(state="ready")
    assert [line["stage"] for line in told if line.get("done") == 0] == ["plan", "java", "read", "write"]
    assert told[-2]["rows"] == first.records
    assert max(line["rows"] for line in told if line["stage"] == "read") == first.records
    kept.order("sql", "--store", first.root, "--out", tmp_path / "b", "--query", LAG)
    assert kept.until(state="ready")[-2]["state"] == "complete"
    kept.order("sql", "--store", without_history, "--out", tmp_path / "c", "--query", LAG)
    failed = kept.until(state="ready")[-2]
    assert (failed["stage"], "TABLE_OR_VIEW_NOT_FOUND" in failed["message"]) == ("failed", True)
    kept.order("sql", "--store", without_history, "--out", tmp_path / "d", "--query", TOTALS)
    assert kept.until(state="ready")[-2]["stage"] == "done"
    children = psutil.Process(kept.process.pid).children(recursive=True)
    kept.process.stdin.close()
    assert kept.process.wait(120) == 130
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "d"]


def test_a_cancelled_order_leaves_nothing(kept, stores, tmp_path):
    kept.order("throughput", "--store", stores[0].root, "--out", tmp_path / "out")
    kept.until(stage="read")
    children = psutil.Process(kept.process.pid).children(recursive=True)
    assert children
    kept.process.send_signal(signal.SIGTERM)
    assert json.loads(kept.process.stdout.readlines()[-1]) == {"stage": "cancelled"}
    assert kept.process.wait(120) == 130
    assert psutil.wait_procs(children, timeout=60)[1] == []
    assert list(tmp_path.iterdir()) == []
