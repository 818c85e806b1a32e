"""The Go client against our name server and broker; needs Go, and its module proxy or cache."""

import asyncio
import os
import shutil
import subprocess

import pytest

from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from gui.views.welcome.samples import SAMPLES
from tests.support.broker_process import CHECKOUT, running_broker
from tests.support.cpp_client import body
from tests.support.foreign_client import ForeignClient, lag, produce
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
    return ForeignClient([str(program)], {**os.environ, "HOME": str(tmp_path)})


@pytest.fixture
def broker(tmp_path):
    with running_broker(tmp_path / "store") as running:
        yield running


def test_it_sends_in_every_way_and_our_client_reads_every_message(broker, go):
    sent = go.run("send", broker.name_server, "go-orders", COUNT)
    assert len(sent) == COUNT + COUNT + 1 + 1  # single, asynchronous, one batch; one-way has no answer, a last one has

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
            await eventually(lambda: len(got) > 4 * COUNT, seconds=60)
        return sorted(got)

    expected = sorted((body(number), f"Tag{'AB'[number % 2]}", [f"key-{number}"]) for number in range(4 * COUNT + 1))
    assert asyncio.run(read()) == expected


def test_its_tag_filter_leaves_others_out(broker, go):
    produce(broker.name_server, "tagged", range(40))
    got = go.consume_until(lambda got: len(got) >= 20, broker.name_server, "tagged", "CG-TAG", "TagB")
    assert sorted(words[3] for words in got) == sorted(f"key-{number}" for number in range(1, 40, 2))


def test_its_consumers_go_on_from_their_offsets_after_they_and_the_broker_were_restarted(tmp_path, go):
    def consume(broker, first, end):
        def all_consumed(got):
            return len(got) >= end - first and lag(broker.name_server, "our-orders", "CG-GO") == 0

        produce(broker.name_server, "our-orders", range(first, end))
        got = go.consume_until(all_consumed, broker.name_server, "our-orders", "CG-GO", "*")
        assert sorted(words[3] for words in got) == sorted(f"key-{number}" for number in range(first, end))

    with running_broker(tmp_path / "store") as broker:
        consume(broker, 0, 40)
    with running_broker(tmp_path / "store") as broker:
        consume(broker, 40, 60)


def test_two_of_its_consumers_share_the_queues_and_nothing_is_lost(broker, go):
    *got, (sent,) = go.run("share", broker.name_server, "shared", "CG-SHARE", 200)
    assert {instance for instance, *_ in got} == {"first", "second"}
    # A message that was under way while the queues changed hands comes twice: at least once is what is promised.
    assert {words[3] for words in got} == {str(number) for number in range(int(sent))}


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
