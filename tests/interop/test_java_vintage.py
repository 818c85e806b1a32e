"""Java clients of many years: what all of them can do, against our broker or a real one: one JVM for each client version."""

import pytest

from tests.support.broker_process import running_broker
from tests.support.foreign_client import case_results
from tests.support.interop_target import running_target
from tests.support.real_broker import free_port
from tests.support.toolchains import java_class_path, java_command

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(400)]

CLIENTS = ("4.3.0", "4.4.0", "4.5.2", "4.6.0", "4.7.1", "4.9.8", "5.1.4", "5.2.0")
CASES = {
    "kinds": "async,batch1,batch2,oneway,sync",
    "scheduled-pull": "12",
    "blocking-pull": "awaited",
    "from-timestamp": "8",
    "suspended": "11",
    "by-tag": "3",
    "ordered-takeover": "120",
    "strategies": "40",
    "transaction": "true",
    "offsets": "1",
}


@pytest.fixture(scope="module", params=CLIENTS)
def outcome(request, tmp_path_factory):
    """Results by case."""
    folder = tmp_path_factory.mktemp("java")
    class_path = java_class_path(folder, request.param, "JavaCases.java", "JavaVintage.java")
    start, environment = java_command(class_path, folder)
    with running_target(folder) as name_server:
        return run(start, environment, name_server, CASES, vip=False)


def run(start, environment, name_server, cases, *, vip):
    options = ["--add-opens=java.base/java.nio=ALL-UNNAMED"]  # their netty looks into the JVM
    options.append(f"-Dcom.rocketmq.sendMessageWithVIPChannel={str(vip).lower()}")  # on in the oldest of them
    environment = {**environment, "JDK_JAVA_OPTIONS": " ".join(options)}
    return case_results([*start, "JavaVintage", name_server, *cases], environment)


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    assert outcome[case] == f"ok {CASES[case]}"


def test_clients_that_send_to_the_second_port(tmp_path):
    """``vipChannelEnabled``: two below the broker's port, which is then one that was chosen."""
    class_path = java_class_path(tmp_path, "4.9.4", "JavaCases.java", "JavaVintage.java")
    start, environment = java_command(class_path, tmp_path)
    with running_broker(tmp_path / "store", port=free_port()) as broker:
        results = run(start, environment, broker.name_server, ["kinds", "offsets"], vip=True)
    assert results == {case: f"ok {CASES[case]}" for case in ("kinds", "offsets")}
