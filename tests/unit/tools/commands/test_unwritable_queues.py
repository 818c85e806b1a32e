"""Queues that may be read but no longer written, which brokers of 4.x do not list with what a topic holds."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from broker_core.cluster.reader import SliceReader
from broker_core.cluster.slices import ReadLimits, SurveyRequest
from tests.support.broker_process import CHECKOUT
from tests.support.fake_cluster import V4_9_4, FakeBroker, FakeCluster, on_a_thread

QUEUES, UNWRITABLE, HELD, READ = 4, 2, 30, 10


@pytest.fixture
def cluster():
    """A topic that has fewer queues to write than to read, and a group that is behind in all of them."""
    broker = FakeBroker(
        "a", {"orders": QUEUES}, {"orders": HELD}, groups=["settle"], version=V4_9_4, unwritable={"orders": UNWRITABLE},
        positions={"orders@settle": dict.fromkeys(range(QUEUES), READ)},
    )  # fmt: skip
    made = FakeCluster([broker])
    with on_a_thread(made):
        yield made


def told(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(CHECKOUT / "main.py"), *map(str, words)], capture_output=True, text=True, check=False, timeout=120
    )


def test_a_search_reads_them(cluster):
    done = told("search", "--ns", cluster.name_server, 'topic = "orders"')
    assert done.returncode == 0
    assert f"complete: {QUEUES * HELD} hits in {QUEUES * HELD} messages" in done.stderr


def test_the_overview_counts_them(cluster):
    overview = json.loads(told("cluster", "--ns", cluster.name_server, "--json").stdout)
    (topic,) = [one for one in overview["topics"] if one["name"] == "orders"]
    (group,) = [one for one in overview["groups"] if one["name"] == "settle"]
    assert (topic["messages"], group["lag_messages"]) == (QUEUES * HELD, QUEUES * (HELD - READ))


def test_a_report_reads_them(cluster):
    with SliceReader(cluster.name_server, limits=ReadLimits(0, 0)) as reader:
        survey = reader.survey(SurveyRequest(topics=("orders",)))
    assert [(one.queue_id, one.first, one.end) for one in survey.slices] == [(queue, 0, HELD) for queue in range(QUEUES)]
    assert survey.unknown == ()
