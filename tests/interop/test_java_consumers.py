"""What consumers of the official Java client can do, against our broker: many cases in one JVM for each client version."""

import asyncio
import subprocess

import pytest

from broker_core.client.pull_consumer import PullConsumer
from broker_core.remoting.json_body import MessageQueue
from tests.support.broker_process import running_broker
from tests.support.remoting_peer import BROKER
from tests.support.toolchains import java_class_path, java_command

pytestmark = [pytest.mark.java, pytest.mark.timeout(400)]

CLIENTS = [("4.9.8", "JSON"), ("5.3.3", "ROCKETMQ")]  # version, and how it writes headers
CASES = {
    "sql": "10,10 again,12,6,8",
    "ordered": "60",
    "broadcasting": "21",
    "takeover": None,  # messages sent, as many as it took
    "pull": "12",
    "assigned": None,  # queues with messages
    "trace": None,  # id of the traced message
    "retry": "[0,1,2]",
}


@pytest.fixture(scope="module", params=CLIENTS, ids="-".join)
def outcome(request, tmp_path_factory):
    """Lines of all cases by name, and a name server that still runs."""
    version, serialize = request.param
    folder = tmp_path_factory.mktemp("java")
    class_path = java_class_path(folder, version, "JavaConsumers.java")
    start, environment = java_command(class_path, folder, serialize=serialize)
    with running_broker(folder / "store", "--set", "enablePropertyFilter=true") as broker:
        command = [*start, "JavaConsumers", broker.name_server, *CASES]
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=280)
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        rows = [line.split(" ", 2) for line in done.stdout.splitlines() if line.startswith("case ")]
        yield {name: result for _, name, result in rows}, broker.name_server


@pytest.mark.parametrize("case", CASES)
def test_a_case_goes_well(outcome, case):
    result = outcome[0][case]
    assert result.startswith("ok ")
    assert CASES[case] in (None, result.removeprefix("ok "))


def test_a_traced_message_is_found_by_its_id_from_sending_to_consuming(outcome):
    results, name_server = outcome
    message_id = results["trace"].removeprefix("ok ")

    async def records():
        found = set()
        async with PullConsumer(name_server, "trace-reader") as puller:
            for queue in await puller.queues("RMQ_SYS_TRACE_TOPIC"):
                offset = 0
                while (result := await puller.pull(MessageQueue(queue.topic, BROKER, queue.queue_id), offset)).messages:
                    offset = result.next_offset
                    bodies = [message.body.decode() for message in result.messages if message_id in message.keys]
                    found |= {record.split("\x01")[0] for body in bodies for record in body.split("\x02") if record}
        return found

    assert asyncio.run(records()) >= {"Pub", "SubBefore", "SubAfter"}
