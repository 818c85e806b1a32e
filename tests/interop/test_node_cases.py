"""What the Node client can do beside sending and consuming, many cases in one process."""

import os

import pytest

from tests.support.broker_process import CHECKOUT
from tests.support.foreign_client import case_results
from tests.support.interop_target import running_target
from tests.support.toolchains import node_packages

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

CASES = {
    "delay": "true",
    "retry": "key-stubborn:0,key-stubborn:1,key-stubborn:2",
    "takeover": "true",
}


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """Results by case."""
    folder = tmp_path_factory.mktemp("node-cases")
    packages = node_packages(folder)
    with running_target(folder, messageDelayLevel="1s 1s 1s 1s 1s") as name_server:
        command = ["node", str(CHECKOUT / "tests" / "support" / "node_cases.js"), name_server, *CASES]
        environment = {**os.environ, "HOME": str(folder), "NODE_PATH": str(packages / "node_modules")}
        return case_results(command, environment)


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    assert outcome[case] == CASES[case]
