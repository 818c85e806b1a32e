"""A child with children of its own, ended as a whole."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
import pytest

from broker_core.platform import process_groups

SECONDS = 60

pytestmark = pytest.mark.usefixtures("both_platforms")

PARENT = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
print(child.pid, flush=True)
child.wait()
"""


@pytest.fixture
def family():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True, **process_groups.apart())
    assert parent.stdout is not None
    child = psutil.Process(int(parent.stdout.readline()))
    yield parent, child
    for process in (child, psutil.Process(parent.pid) if parent.poll() is None else None):
        if process is not None and process.is_running():
            process.kill()
    parent.wait(SECONDS)
    parent.stdout.close()


def test_a_child_has_a_group_of_its_own(family):
    parent, _ = family
    assert os.getpgid(parent.pid) == parent.pid != os.getpgid(0)


def test_a_killed_group_leaves_no_child(family):
    parent, child = family
    process_groups.kill_group(parent.pid)
    parent.wait(SECONDS)
    assert psutil.wait_procs([child], SECONDS)[0] == [child]


def test_a_group_is_asked_to_end_where_the_system_can(family):
    parent, child = family
    if process_groups.ask_group_to_end(parent.pid):
        parent.wait(SECONDS)
        assert psutil.wait_procs([child], SECONDS)[0] == [child]
    else:
        assert os.environ["ORBIT_PLATFORM"] == "plain"
        assert parent.poll() is None


def test_a_group_that_is_gone_is_no_error():
    gone = subprocess.Popen([sys.executable, "-c", ""], **process_groups.apart())
    gone.wait(SECONDS)
    process_groups.kill_group(gone.pid)
    assert not process_groups.ask_group_to_end(gone.pid)
