"""The Go client against our name server and broker; needs Go, and its module proxy or cache."""

import asyncio
import os
import subprocess

import pytest

from broker_core.client.push_consumer import ConsumeFrom, PushConsumer
from gui.views.welcome.samples import SAMPLES
from tests.support.broker_process import running_broker
from tests.support.cpp_client import body
from tests.support.foreign_client import ForeignClient, lag, produce
from tests.support.remoting_peer import eventually
from tests.support.toolchains import go_module, go_program

pytestmark = [pytest.mark.clients, pytest.mark.timeout(400)]

COUNT = 20


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    return go_module(tmp_path_factory.mktemp("go"))


@pytest.fixture(scope="module")
def program(module):
    return go_program(module, "go_client.go")


@pytest.fixture
def go(program, tmp_path):
    return ForeignClient([str(program)], {**os.environ, "HOME": str(tmp_path)})


@pytest.fixture
def broker(tmp_path):
    with running_broker(tmp_path / "store", "--set", "enablePropertyFilter=true") as running:
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


def test_its_sql_filter_leaves_others_out(broker, go):
    produce(broker.name_server, "priced", range(40))
    expression = "sql:TAGS = 'TagB' AND KEYS <> 'key-1'"
    got = go.consume_until(lambda got: len(got) >= 19, broker.name_server, "priced", "CG-SQL", expression)
    assert sorted(words[3] for words in got) == sorted(f"key-{number}" for number in range(3, 40, 2))


def test_its_orderly_consumer_gets_each_queue_in_order(broker, go):
    produce(broker.name_server, "in-order", range(40))
    got = go.consume_until(lambda got: len(got) >= 40, broker.name_server, "in-order", "CG-ORDER", "*", "orderly")
    assert sorted(words[3] for words in got) == sorted(f"key-{number}" for number in range(40))
    for queue_id in {words[0] for words in got}:
        offsets = [int(words[1]) for words in got if words[0] == queue_id]
        assert offsets == sorted(offsets)


def test_its_broadcasting_consumer_has_every_message_and_leaves_no_offset_at_the_broker(broker, go):
    produce(broker.name_server, "news", range(20))
    got = go.consume_until(lambda got: len(got) >= 20, broker.name_server, "news", "CG-NEWS", "*", "broadcasting")
    assert sorted(words[3] for words in got) == sorted(f"key-{number}" for number in range(20))
    assert lag(broker.name_server, "news", "CG-NEWS") == 20


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
