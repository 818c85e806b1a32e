"""A search over the network against the same search of the files: our broker, and real ones, on a store of a real broker."""

from __future__ import annotations

import asyncio
import json
import shutil

import pytest

from broker_core.client.admin import AdminClient
from broker_core.client.message import Message
from broker_core.client.producer import Producer
from broker_core.tools.commands.search import main
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.scan import StoreSearch
from tests.support.broker_process import running_broker
from tests.support.golden import golden_store
from tests.support.real_peer import running_peer
from tests.support.remoting_peer import eventually_answers

pytestmark = pytest.mark.timeout(300)
TOPIC = "ShopOrders"


@pytest.fixture(
    scope="module",
    params=["orbit", pytest.param("4.9.4", marks=pytest.mark.clients), pytest.param("5.3.3", marks=pytest.mark.clients)],
)
def serving(request, tmp_path_factory):
    """Name server of a broker on a golden store, the files as they were before, and a wait until the one leads to the other."""
    folder = tmp_path_factory.mktemp(request.param)
    files = golden_store("normal").unpack(folder / "files")
    shutil.copytree(files, folder / "store")
    if request.param == "orbit":
        with running_broker(folder / "store") as broker:
            yield broker.name_server, files, lambda: None
        return
    with running_peer(request.param, folder, **golden_store("normal").expected["settings"]) as peer:
        yield peer.name_server, files, peer.until_registered


@pytest.fixture
def served(serving):
    name_server, files, until_registered = serving
    until_registered()
    return name_server, files


def found_in_files(root, text):
    search = StoreSearch(root, parse_filter(text, now_ms=0))
    found = {hit.record for step in search.steps() for hit in step.hits}
    assert search.outcome.is_complete
    return found


async def searched(name_server, text, *, limit=None):
    async with AdminClient(name_server) as admin:
        search = ClusterSearch(admin, parse_filter(text, now_ms=0), limit=limit)
        await search.prepare()
        found = [hit async for step in search.steps() for hit in step.hits]
        return found, search


def middle_times(files):
    times = sorted(message.columns["storeTimestamp"] for message in golden_store("normal").messages())
    return times[len(times) // 3], times[len(times) // 2]


def test_what_is_found_over_the_network_is_what_the_files_hold(served):
    name_server, files = served
    low, high = middle_times(files)
    message = next(message for message in golden_store("normal").messages() if "UNIQ_KEY" in message.columns["properties"])
    texts = [
        f'topic = "{TOPIC}"',
        f'topic = "{TOPIC}" and queue = 1 and offset >= 5 and offset < 20',
        f'topic = "{TOPIC}" and stored >= {low} and stored <= {high}',
        'topic = "ShopPayments" and not body contains "a"',
        f'topic = "{TOPIC}" and key = "K1"',
        f'topic = "{message.topic}" and id = "{message.columns["properties"]["UNIQ_KEY"]}"',
    ]

    async def run():
        for text in texts:
            found, search = await searched(name_server, text)
            records = {hit.record for hit in found}
            assert len(records) == len(found) == search.outcome.found
            assert records == found_in_files(files, text), (text, search.plan)
            assert records or "key" in text, text
            assert search.outcome.is_complete, str(search.outcome)

    asyncio.run(run())


def test_a_message_is_found_by_both_of_its_ids_and_a_limit_is_told(served):
    name_server, _files = served

    async def run():
        async with Producer(name_server, "search") as producer:
            sent = [await producer.send(Message("SearchNew", b"x", keys="k")) for _ in range(3)]
        for one in (sent[0].offset_message_id, sent[0].message_id):
            found, search = await eventually_found(name_server, f'topic = "SearchNew" and id = "{one}"')
            assert [hit.message.queue_offset for hit in found] == [sent[0].queue_offset]
            assert search.outcome.is_complete
        found, search = await searched(name_server, 'topic = "SearchNew"', limit=2)
        assert (len(found), search.outcome.is_complete) == (2, False)
        assert "limit of 2" in str(search.outcome)

    asyncio.run(run())


async def eventually_found(name_server, text):
    """A real broker fills its index behind the put."""

    answers = []

    async def is_found():
        answers.append(await searched(name_server, text))
        return answers[-1][0]

    await eventually_answers(is_found)
    return answers[-1]


def test_the_command_prints_the_messages_of_a_cluster(served, capsys):
    name_server, files = served
    assert main(["--ns", name_server, f'topic = "{TOPIC}" and queue = 0']) == 0
    output = capsys.readouterr()
    rows = [json.loads(line) for line in output.out.splitlines()]
    assert main(["--store", str(files), f'topic = "{TOPIC}" and queue = 0']) == 0
    assert rows == [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert output.err.splitlines()[-1].startswith(f"complete: {len(rows):,} hits")
