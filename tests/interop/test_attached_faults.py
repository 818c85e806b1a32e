"""A real RocketMQ that is killed, restarted or watched for long while the console works on it; on demand.

``ORBIT_HELD_STILL_S`` sets for how many seconds an idle cluster is watched.
"""

import asyncio
import json
import os
import threading

import pytest

from broker_core.client.admin import AdminClient
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.names import HALF_TOPIC
from broker_core.tools.commands import search as search_command
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.searches import ContinueSearch, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue
from tests.support.attached import asking, attached, sampled
from tests.support.held_still import furnish, look_at_everything, picture_of
from tests.support.real_broker import RealBroker
from tests.support.real_traffic import fill
from tests.support.remoting_peer import eventually, eventually_answers

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(900)]

BROKER = "broker-a"
HELD_STILL_S = float(os.environ.get("ORBIT_HELD_STILL_S", "60"))
MESSAGES = 6_000
BODY = b"x" * 400


@pytest.fixture(params=["4.9.4", "5.3.3"])
def real(request, tmp_path):
    broker = RealBroker(request.param, tmp_path / "real", {"autoCreateTopicEnable": "true", "flushDiskType": "SYNC_FLUSH"})
    broker.start()
    broker.until_registered()
    yield broker
    broker.stop()


async def restart(real, *, kill):
    await asyncio.to_thread(real.stop, kill=kill)
    await asyncio.to_thread(real.start)


@pytest.mark.parametrize("kill", [True, False])
def test_a_search_goes_on_where_it_stood_when_the_broker_restarts(real, kill):
    async def scenario():
        await fill(real.name_server, "T", MESSAGES, body=BODY)
        async with AdminClient(real.name_server) as admin:
            # More patient than people: a loaded machine takes long to start a broker.
            search = ClusterSearch(admin, parse_filter('topic = "T"', now_ms=0), retry_pauses_s=(5,) * 36)
            await search.prepare()
            found, restarting = [], None
            async for step in search.steps():
                found += [hit.message.body for hit in step.hits]
                if restarting is None and len(found) >= MESSAGES // 4:
                    restarting = asyncio.create_task(restart(real, kill=kill))
                    # Until the connection is gone every further pull is a good one.
                    await asyncio.sleep(0)
            await restarting
        assert (len(found), len(set(found)), str(search.outcome)) == (
            MESSAGES,
            MESSAGES,
            f"complete: {MESSAGES:,} hits in {MESSAGES:,} messages",
        )

    asyncio.run(scenario())


def test_an_export_is_whole_or_says_that_it_is_not_when_the_broker_is_killed(real, tmp_path, capsys):
    asyncio.run(fill(real.name_server, "T", MESSAGES, body=BODY))
    out = tmp_path / "out.jsonl"
    killing = threading.Thread(target=lambda: real.stop(kill=True))
    killing.start()
    code = search_command.main(["--ns", real.name_server, 'topic = "T"', "--out", str(out)])
    killing.join()
    told = capsys.readouterr().err.splitlines()[-1]
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()] if out.exists() else []
    if code == 0:
        assert told == f"complete: {MESSAGES:,} hits in {MESSAGES:,} messages"
        assert len(rows) == MESSAGES
    else:
        assert told.startswith(f"partial: {len(rows):,} hits") or (not rows and "127.0.0.1" in told), told
    real.start()


def test_what_is_watched_is_marked_while_it_is_away_and_comes_back(real):
    async def scenario():
        async with attached(real.name_server, WatchSettings(retry_ms=500)) as cluster, asking(cluster) as queries:
            await fill(real.name_server, "T", 100)
            await sampled(cluster)
            lacks = {Ability.TIMERS, Ability.POP, Ability.RESET_ONE_QUEUE} if real.version.startswith("4.") else set()
            catalog = cluster.figures.catalog()
            assert {Ability(name) for name in catalog.broker_cannot[0]} == lacks | {
                Ability.SQL_FILTERS,
                Ability.TRACE,
                Ability.ACCESS_CONTROL,
                Ability.ATOMIC_TRANSACTIONS,
            }
            assert catalog.broker_version == [f"V{real.version.replace('.', '_')}"]
            cluster.sampling.start()
            await asyncio.to_thread(real.stop, kill=True)
            await eventually(lambda: set(cluster.figures.faults()) == {"name server", BROKER}, 120)
            assert cluster.figures.faults()[BROKER].startswith("no answer for ")
            await asyncio.to_thread(real.start)
            await eventually(lambda: not cluster.figures.faults(), 180)
            assert len((await queries.answer(BrowseQueue("T", -1, 0, 50))).queue_id) == 50
            started = await queries.answer(StartSearch('topic = "T"'))
            while not (hits := await queries.answer(ContinueSearch(started.search_id))).is_over:
                pass
            assert (hits.found, hits.reasons) == (100, [])

    asyncio.run(scenario())


async def has_looked_for_transactions(cluster):
    """A broker makes the topic of half messages when it looks at it first: 4.x a minute after its start, whoever watches."""
    answer = await cluster.link.ask(BROKER, RemotingCommand(RequestCode.GET_ALL_TOPIC_CONFIG))
    return HALF_TOPIC.encode() in bytes(answer.body)


@pytest.mark.timeout(round(HELD_STILL_S) + 900)
def test_watching_an_idle_cluster_moves_nothing(real):
    async def scenario():
        async with attached(real.name_server, WatchSettings()) as cluster:
            await furnish(cluster, BROKER)
            await eventually_answers(lambda: has_looked_for_transactions(cluster), 180)
            await sampled(cluster)
            before = await picture_of(cluster, BROKER)
            cluster.sampling.start()
            async with asking(cluster) as queries:
                await look_at_everything(queries)
                await asyncio.sleep(HELD_STILL_S)
                await look_at_everything(queries)
            assert not cluster.figures.faults()
            assert await picture_of(cluster, BROKER) == before

    asyncio.run(scenario())
