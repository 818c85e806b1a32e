"""What clients rarely do, with the official Java client: limits, odd names, many members, topics and brokers that vanish."""

import asyncio
import contextlib
import subprocess
import threading

import pytest

from broker_core.client.admin import AdminClient
from tests.support.broker_process import running_broker
from tests.support.foreign_client import case_results
from tests.support.interop_target import running_target
from tests.support.toolchains import java_class_path, java_command

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

CLIENTS = [  # version, and how it writes headers
    ("5.3.3", "JSON"),
    pytest.param(("4.9.8", "ROCKETMQ"), marks=pytest.mark.slow),
    pytest.param(("4.9.4", "JSON"), marks=pytest.mark.slow),
]
CASES = {
    "largest-body": "13",  # the code for one byte more
    "largest-properties": "13",
    "unicode": "1",
    "odd-names": "j%odd|topic 1",
    "dead-name-server": "10",
    "members": "20",
    "deleted-topic": "again",
}
MEMBERS = 20


@pytest.fixture(scope="module", params=CLIENTS, ids="-".join)
def program(request, tmp_path_factory):
    """Start of its command line, and its environment."""
    version, serialize = request.param
    folder = tmp_path_factory.mktemp("java")
    class_path = java_class_path(folder, version, "JavaCases.java", "JavaEdges.java")
    start, environment = java_command(class_path, folder, serialize=serialize)
    return [*start, "JavaEdges"], environment


@pytest.fixture(scope="module")
def outcome(program, tmp_path_factory):
    """Results by case."""
    start, environment = program
    with running_target(tmp_path_factory.mktemp("broker")) as name_server:
        asyncio.run(create(name_server, "j-members", MEMBERS))
        return case_results([*start, name_server, *CASES], environment)


async def create(name_server, topic, queues):
    async with AdminClient(name_server) as admin:
        await admin.create_topic(topic, queues=queues)


@pytest.mark.parametrize("case", CASES)
def test_an_edge_is_held(outcome, case):
    assert outcome[case] == f"ok {CASES[case]}"


class Follower:
    """A Java program that sends and consumes until it is told to end."""

    def __init__(self, command, environment):
        self.sent, self.got, self.over = set(), set(), False
        self._changed = threading.Condition()
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        self._reader = threading.Thread(target=self._read, name="follower output")
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            word, _, number = line.strip().partition(" ")
            with self._changed:
                if word in ("sent", "got"):
                    (self.sent if word == "sent" else self.got).add(int(number))
                elif word == "over":
                    self.over = True
                self._changed.notify_all()

    def wait_for(self, condition):
        with self._changed:
            assert self._changed.wait_for(condition, 120), "the condition did not come true in time"

    def stop_sending(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.wait_for(lambda: self.over)

    def close(self):
        """End it, and by force where it does not end."""
        self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join()
            self.process.stdout.close()


def test_its_clients_go_on_by_themselves_after_the_broker_was_killed(program, tmp_path):
    start, environment = program
    with contextlib.ExitStack() as stack:
        with running_broker(tmp_path / "store", "--flush", "sync") as broker:
            ports = {
                "name_server_port": int(broker.name_server.rpartition(":")[2]),
                "port": int(broker.broker.rpartition(":")[2]),
            }
            follower = Follower([*start, broker.name_server, "follow", "followed"], environment)
            stack.callback(follower.close)
            follower.wait_for(lambda: len(follower.got) >= 100)
            broker.kill()
        before = len(follower.sent)
        with running_broker(tmp_path / "store", "--flush", "sync", **ports):
            follower.wait_for(lambda: len(follower.sent) >= before + 100)
            follower.stop_sending()
            follower.wait_for(lambda: follower.sent <= follower.got)
            stack.close()
