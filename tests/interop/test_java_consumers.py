"""What consumers of the official Java client can do, against our broker or a real one: one JVM for each client version."""

import pytest

from tests.support.foreign_client import case_results
from tests.support.interop_target import running_target
from tests.support.toolchains import java_class_path, java_command

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

CLIENTS = [  # version, and how it writes headers
    ("4.9.4", "JSON"),
    ("5.3.3", "ROCKETMQ"),
    pytest.param(("4.9.8", "ROCKETMQ"), marks=pytest.mark.slow),
]
CASES = {
    "sql": "10,10 again,12,6,8",
    "ordered": "60",
    "broadcasting": "21",
    "takeover": None,  # messages sent, as many as it took
    "pull": "12",
    "assigned": None,  # queues with messages
    "trace": "Pub,SubAfter,SubBefore",
    "retry": "[0,1,2]",
    "request": "re: question",
}


@pytest.fixture(scope="module", params=CLIENTS, ids="-".join)
def outcome(request, tmp_path_factory):
    """Results by case."""
    version, serialize = request.param
    folder = tmp_path_factory.mktemp("java")
    class_path = java_class_path(folder, version, "JavaCases.java", "JavaConsumers.java")
    start, environment = java_command(class_path, folder, serialize=serialize)
    with running_target(folder, enablePropertyFilter="true") as name_server:
        return case_results([*start, "JavaConsumers", name_server, *CASES], environment)


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    result = outcome[case]
    assert result.startswith("ok ")
    assert CASES[case] in (None, result.removeprefix("ok "))


@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_expressions_go_to_a_broker_that_announces_4_9_too(tmp_path, version):
    """The one thing for which these clients look at the version of a broker."""
    class_path = java_class_path(tmp_path, version, "JavaCases.java", "JavaConsumers.java")
    start, environment = java_command(class_path, tmp_path)
    with running_target(tmp_path, enablePropertyFilter="true", orbitAnnouncedVersion="4.9.8") as name_server:
        assert case_results([*start, "JavaConsumers", name_server, "sql"], environment)["sql"] == f"ok {CASES['sql']}"
