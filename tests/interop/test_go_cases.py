"""What the Go client can do beside sending and consuming, many cases in one process."""

import os

import pytest

from tests.support.foreign_client import case_results
from tests.support.interop_target import running_target
from tests.support.toolchains import go_module, go_program

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

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
        return case_results(command, environment)


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    assert outcome[case] == CASES[case]
