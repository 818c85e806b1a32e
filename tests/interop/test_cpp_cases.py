"""What the unmodified C++ client can do beside plain sending and consuming, each case in a process of its own."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.broker_process import CHECKOUT
from tests.support.foreign_tools import need_package
from tests.support.interop_target import running_target

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

CASES = {
    "ways": "{0} 0 {}",
    "ordered": "[True, True, True] [1, 1, 1]",
    "broadcasting": "20",
    "takeover": "0",
    "retry": "[0, 1, 2]",
    "delay": "1 True",
    "pull": "True",
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """What each case printed, all run at once."""
    need_package("rocketmq")
    folder = tmp_path_factory.mktemp("cpp")

    def run(name_server, case):
        home = folder / case  # for the client's logs and offsets
        home.mkdir()
        command = [sys.executable, "-m", "tests.support.cpp_cases", name_server, case]
        environment = {**os.environ, "HOME": str(home)}
        return subprocess.run(command, check=False, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=200)

    with running_target(folder, messageDelayLevel="1s 1s 1s 1s 1s") as name_server:
        with ThreadPoolExecutor(len(CASES)) as threads:
            done = {case: threads.submit(run, name_server, case) for case in CASES}
        return {case: future.result() for case, future in done.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    done = outcome[case]
    assert f"ok {CASES[case]}" in done.stdout.splitlines(), (done.stdout + done.stderr)[-2000:]
