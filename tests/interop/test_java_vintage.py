"""Java clients of many years: what all of them can do, against our broker or a real one: one JVM for each client version."""

import subprocess

import pytest

from tests.support.interop_target import running_target
from tests.support.toolchains import java_class_path, java_command

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

CLIENTS = [
    "4.5.2",
    *(
        pytest.param(version, marks=pytest.mark.slow)
        for version in ("4.3.0", "4.4.0", "4.6.0", "4.7.1", "4.9.8", "5.1.4", "5.2.0")
    ),
]
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
    environment["JDK_JAVA_OPTIONS"] = "--add-opens=java.base/java.nio=ALL-UNNAMED"  # their netty looks into the JVM
    with running_target(folder) as name_server:
        command = [*start, "JavaVintage", name_server, *CASES]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=280)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    rows = [line.split(" ", 2) for line in done.stdout.splitlines() if line.startswith("case ")]
    return {name: result for _, name, result in rows}


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    assert outcome[case] == f"ok {CASES[case]}"
