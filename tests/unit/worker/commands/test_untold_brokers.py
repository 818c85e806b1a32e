"""A broker that is registered and hangs, so that it never told its tables: what the others told is no sum of the cluster."""

import asyncio
import json
import math

import pytest

from broker_core.cluster.watch_settings import WatchSettings
from broker_core.protocol.codes import RequestCode
from broker_core.worker.commands import cluster as cluster_command
from monitoring.collector import Collector
from monitoring.history.figures import GROUP, TOPIC, TOTALS, Names, samples_of
from tests.support.attached import attached
from tests.support.fake_cluster import FakeBroker, FakeCluster, refused, silent
from tests.support.remoting_peer import eventually

HELD = 10
DEADLINE_S = 60


def brokers():
    """Both have orders and a group that is behind there; stock is on the first alone, bills on the second alone."""

    def made(name, own):
        topics = {"orders": 2, own: 1, "%DLQ%g": 1}
        positions = {"orders@g": {0: 4, 1: 4}}
        return FakeBroker(name, topics, {"orders": HELD, own: HELD}, ["g"], positions)

    return made("a", "stock"), made("b", "bills")


def overview(spoil, *words, capsys, hidden=()):
    """What `orbit cluster` prints of both, the second spoiled; and its exit code."""

    async def run():
        first, second = brokers()
        spoil(second)
        async with FakeCluster([first, second], hidden=set(hidden)) as fake:
            return await asyncio.to_thread(cluster_command.main, ["--ns", fake.name_server, *words])

    assert asyncio.run(run()) == cluster_command.EXIT_PARTIAL
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def found_at():
    """What is found where the second broker is silent, at all requests (0) or at those of a code: looked at side by side."""

    async def look(code):
        first, second = brokers()
        (hangs if code == 0 else answers_not(code))(second)
        async with FakeCluster([first, second]) as fake, attached(fake.name_server, WatchSettings()) as cluster:
            await cluster.sampling.once()
            return code, json.loads(json.dumps(cluster_command.overview_of(cluster)))

    async def run():
        return dict(await asyncio.gather(*map(look, (0, *LOST_AT))))

    return asyncio.run(run())


def answers_not(code):
    return lambda broker: broker.answers.update({code: silent})


def row_of(found, kind, name):
    (row,) = [one for one in found[kind] if one["name"] == name]
    return row


def hangs(broker):
    broker.answer_all(silent)


def refuses(broker):
    broker.answer_all(refused)


@pytest.mark.parametrize("spoil", [hangs, refuses])
def test_sums_of_a_cluster_are_unknown_and_rows_of_the_others_stay(spoil, found_at, capsys):
    found = found_at[0] if spoil is hangs else json.loads(overview(spoil, "--json", capsys=capsys))
    assert (found["brokers_untold"], list(found["faults"])) == (["b"], ["b"])
    assert [one["topics"] for one in found["brokers"]] == [3, None]
    orders, stock = row_of(found, "topics", "orders"), row_of(found, "topics", "stock")
    figures = ("read_queues", "write_queues", "messages", "last_stored_ms")
    assert [orders[name] for name in figures] == [None] * 4
    assert (stock["messages"], stock["write_queues"]) == (HELD, 1)
    group = row_of(found, "groups", "g")
    assert (group["lag_messages"], group["members"]) == (None, None)


def test_the_text_says_which_broker_is_missing_and_why(capsys):
    lines = overview(hangs, capsys=capsys).splitlines()
    cells = {line.split()[0]: line.split() for line in lines if line.startswith("  ")}
    assert cells["orders"] == ["orders", "?", "RW", "?"]
    assert cells["stock"] == ["stock", "1", "RW", str(HELD)]
    assert cells["g"] == ["g", "?", "?", "?"]
    assert "Topics of the other brokers: 3, and 0 of the brokers' own" in lines
    assert "? stands where b may hold a part: its topics and groups are not known" in lines
    assert lines[-1] == "b: no answer: broker b did not answer within 3,000 ms"


TABLES = {RequestCode.GET_ALL_TOPIC_CONFIG, RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG}
LOST_AT = [
    *sorted(TABLES),
    RequestCode.GET_ALL_CONSUMER_OFFSET,
    RequestCode.GET_TOPIC_STATS_INFO,
    RequestCode.GET_CONSUMER_CONNECTION_LIST,
]


@pytest.mark.parametrize("code", LOST_AT)
def test_a_broker_that_is_lost_between_its_requests_leaves_no_sums_of_a_part(code, found_at):
    found = found_at[code]
    assert found["faults"], "it is told, and is the exit code of the command"
    assert found["brokers_untold"] == (["b"] if code in TABLES else [])
    assert row_of(found, "topics", "orders")["messages"] is None
    assert row_of(found, "topics", "orders")["last_stored_ms"] is None
    assert row_of(found, "topics", "stock")["messages"] == HELD
    group = row_of(found, "groups", "g")
    assert (group["lag_messages"], group["members"]) == (None, None)


def test_what_one_broker_refuses_alone_is_unknown_alone(capsys):
    spoil = {RequestCode.GET_ALL_CONSUMER_OFFSET: refused}
    found = json.loads(overview(lambda broker: broker.answers.update(spoil), "--json", capsys=capsys))
    assert row_of(found, "topics", "orders")["messages"] == 4 * HELD
    group = row_of(found, "groups", "g")
    assert (group["lag_messages"], group["members"]) == (None, 0)


def test_all_is_known_where_all_answer(capsys):
    async def run():
        async with FakeCluster([*brokers()]) as fake:
            return await asyncio.to_thread(cluster_command.main, ["--ns", fake.name_server, "--json"])

    assert asyncio.run(run()) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["brokers_untold"] == []
    orders, group = row_of(found, "topics", "orders"), row_of(found, "groups", "g")
    assert (orders["messages"], orders["write_queues"], group["lag_messages"], group["members"]) == (4 * HELD, 4, 24, 0)


# ---- the window and the history ----------------------------------------------------------------------------------------


def state_of(cluster):
    """What the window shows now."""
    collector = Collector(None)
    cluster.figures._told_revision = -1
    collector.catalog_changed(cluster.figures.catalog())
    return collector.snapshot_taken(cluster.figures.snapshot())


def test_the_window_and_its_history_have_no_sums_of_a_part_until_all_have_told():
    async def run():
        first, second = brokers()
        second.answer_all(refused)
        async with FakeCluster([first, second]) as fake, attached(fake.name_server) as watched:
            await watched.sampling.greet()
            watched.sampling.start()
            await eventually(lambda: not state_of(watched).catalog.topic_in_part[2:].count(True), DEADLINE_S)
            await eventually(lambda: state_of(watched).topic_kept_messages[2] == HELD, DEADLINE_S)
            state = state_of(watched)
            assert state.catalog.topics == ["%DLQ%g", "orders", "stock"]
            assert state.catalog.topic_in_part == [True, True, False]
            assert state.topic_kept_messages.tolist() == [-1, -1, HELD]
            assert state.topic_last_store_ms[1] == -1
            assert math.isnan(state.group_lag_messages[0])
            assert [math.isnan(state.totals[name]) for name in ("lag_messages", "dead_letters")] == [True, True]
            assert "consumers" not in state.totals
            assert (state.silent_parts, state.lists_all) == (["b"], False)
            recorded = {one.kind: one for one in samples_of(state, Names(state.catalog), lambda _client: 0)}
            assert [math.isnan(row[2]) for row in recorded[TOPIC].values] == [True, True, False]
            assert all(math.isnan(recorded[GROUP].values[0][column]) for column in (0, 1, 2, 3))
            names = recorded[TOTALS].figures
            assert math.isnan(recorded[TOTALS].values[0][names.index("lag_messages")])

            second.answers.clear()
            await eventually(lambda: state_of(watched).topic_kept_messages.tolist() == [0, HELD, 4 * HELD, HELD], DEADLINE_S)
            await eventually(lambda: state_of(watched).group_lag_messages[0] == 24, DEADLINE_S)
            state = state_of(watched)
            assert (state.totals["lag_messages"], state.totals["dead_letters"], state.lists_all) == (24, 0, True)

    asyncio.run(run())


def test_topics_are_unknown_where_their_routes_cannot_be_had():
    async def run():
        first, second = brokers()
        second.answer_all(refused)
        async with FakeCluster([first, second]) as fake, attached(fake.name_server) as watched:
            fake.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = refused
            await watched.sampling.once()
            assert state_of(watched).topic_kept_messages.tolist() == [-1, -1, -1]
            fake.answers.clear()
            fake.hidden.add("b")  # its topics are in no route now, and it holds them all the same
            await watched.sampling.once()
            assert state_of(watched).topic_kept_messages.tolist() == [-1, -1, -1]
            fake.hidden.clear()
            await watched.sampling.once()
            assert state_of(watched).topic_kept_messages.tolist() == [-1, -1, HELD]

    asyncio.run(run())


def test_all_brokers_know_their_topics_without_routes():
    async def run():
        asked = []
        async with FakeCluster([*brokers()]) as fake, attached(fake.name_server) as watched:
            fake.answers[RequestCode.GET_ROUTEINFO_BY_TOPIC] = lambda _, command: asked.append(command) or refused(_, command)
            await watched.sampling.greet()
            watched.sampling.start()
            await eventually(lambda: state_of(watched).group_lag_messages[0] == 24, DEADLINE_S)
            assert asked == []

    asyncio.run(run())
