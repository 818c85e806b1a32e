"""The Go client against our name server and broker; needs Go, and its module proxy or cache."""

import asyncio
import os
import shutil
import subprocess

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from gui.views.welcome.samples import SAMPLES
from tests.support.broker_process import CHECKOUT, running_broker
from tests.support.cpp_client import body
from tests.support.remoting_peer import eventually

pytestmark = [pytest.mark.go, pytest.mark.timeout(400)]

CLIENT = "github.com/apache/rocketmq-client-go/v2@v2.1.2"
COUNT = 20


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """A folder with a module in which programs that use the client can be built."""
    if shutil.which("go") is None:
        pytest.skip("go is not installed")
    folder = tmp_path_factory.mktemp("go")
    for command in (["go", "mod", "init", "interop"], ["go", "get", CLIENT]):
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True, text=True, timeout=280)
        if done.returncode != 0:
            pytest.skip(f"Go cannot get the client: {done.stderr.strip()[-300:]}")
    return folder


@pytest.fixture(scope="module")
def program(module):
    shutil.copy(CHECKOUT / "tests" / "support" / "go_client.go", module)
    subprocess.run(["go", "build", "-o", "go_client", "go_client.go"], check=True, cwd=module, timeout=280)
    return module / "go_client"


@pytest.fixture
def go(program, tmp_path):
    def run(*arguments: object) -> list[list[str]]:
        command = [str(program), *map(str, arguments)]
        environment = {**os.environ, "HOME": str(tmp_path)}
        done = subprocess.run(command, check=False, env=environment, capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, done.stderr[-3000:]
        lines = [line.split(" ", 6) for line in done.stdout.splitlines()]
        return [words[1:] for words in lines if words[0] in ("sent", "got")]

    return run


@pytest.fixture
def broker(tmp_path):
    with running_broker(tmp_path / "store") as running:
        yield running


def test_it_sends_in_every_way_and_our_client_reads_every_message(broker, go):
    sent = go("send", broker.name_server, "go-orders", COUNT)
    assert len(sent) == COUNT + COUNT + 1  # single, asynchronous, one batch; one-way sends have no answer

    async def read():
        got = []
        consumer = PushConsumer(
            broker.name_server,
            "CG",
            {"go-orders": "*"},
            lambda messages: got.extend((m.body.decode(), m.tags, m.keys) for m in messages),
            consume_from=ConsumeFrom.FIRST_OFFSET,
        )
        async with consumer:
            await eventually(lambda: len(got) >= 4 * COUNT, seconds=60)
        return sorted(got)

    expected = sorted((body(number), f"Tag{'AB'[number % 2]}", [f"key-{number}"]) for number in range(4 * COUNT))
    assert asyncio.run(read()) == expected


def test_it_consumes_by_tag_and_goes_on_from_its_offsets_after_a_restart(broker, go):
    async def produce(numbers):
        async with Producer(broker.name_server) as producer:
            for number in numbers:
                tag = f"Tag{'AB'[number % 2]}"
                await producer.send(Message("our-orders", body(number).encode(), tags=tag, keys=(f"key-{number}",)))

    async def lag():
        async with AdminClient(broker.name_server) as admin:
            stats = await admin.consume_stats("CG-GO", "our-orders")
            return sum(offset.lag_messages for offset in stats.values())

    def consumed(count):
        return sorted(words[3] for words in go("consume", broker.name_server, "our-orders", "CG-GO", "TagA", count))

    asyncio.run(produce(range(40)))
    assert consumed(20) == sorted(f"key-{number}" for number in range(0, 40, 2))
    asyncio.run(produce(range(40, 60)))
    assert consumed(10) == sorted(f"key-{number}" for number in range(40, 60, 2))
    # A queue's last messages with the other tag are passed by without a commit of their own.
    assert asyncio.run(lag()) <= 4


def test_two_of_its_consumers_share_the_queues_and_nothing_comes_twice(broker, go):
    *got, (sent,) = go("share", broker.name_server, "shared", "CG-SHARE", 200)
    assert {instance for instance, *_ in got} == {"first", "second"}
    bodies = [words[3] for words in got]
    assert len(bodies) == int(sent)
    assert len(set(bodies)) == len(bodies)


def test_the_sample_program_runs_as_it_is_shown(broker, module, tmp_path):
    sample = next(sample for sample in SAMPLES if sample.title == "Go")
    (module / "hello").mkdir()
    (module / "hello" / "main.go").write_text(sample.code(broker.name_server))
    environment = {**os.environ, "GOFLAGS": f"{os.environ.get('GOFLAGS', '')} -mod=mod".strip()}
    done = subprocess.run(
        ["go", "run", "./hello"], check=False, cwd=module, env=environment, capture_output=True, text=True, timeout=280
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "sendStatus=0" in done.stdout
