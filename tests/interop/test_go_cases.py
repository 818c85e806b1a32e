"""What the Go client can do beside sending and consuming, many cases in one process."""

import os
import subprocess

import pytest

from tests.support.interop_target import running_target
from tests.support.toolchains import go_module, go_program

pytestmark = [pytest.mark.go, pytest.mark.timeout(400)]

CASES = {
    "dead": "0,1 stubborn",
    "pull": "20",
    "request": "re: question",
    "takeover": "true",
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Results by case."""
    folder = tmp_path_factory.mktemp("go-cases")
    program = go_program(go_module(folder), "go_cases.go")
    with running_target(folder, messageDelayLevel="1s 1s 1s 1s 1s") as name_server:
        command = [str(program), name_server, *CASES]
        environment = {**os.environ, "HOME": str(folder)}
        done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    rows = [line.split(" ", 2) for line in done.stdout.splitlines() if line.startswith("case ")]
    return {name: result for _, name, result in rows}


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    assert outcome[case] == CASES[case]
