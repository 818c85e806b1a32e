"""Searches of a cluster by group, where retry topics have the names of several groups."""

from __future__ import annotations

import asyncio

from broker_core.client.admin import AdminClient
from broker_core.tools.search.cluster import ClusterSearch
from broker_core.tools.search.language import parse_filter
from tests.support.fake_cluster import FakeBroker, FakeCluster

COLLIDING, NEWER = "%RETRY%g_a_t", "%RETRY%g_a+t"
POPPED = b"1ST_POP_TIME\x011"
NOTE = f"2 hits are in retry topic {COLLIDING}, which fits several pairs of group and topic: g+a_t, g_a+t"


def searched(text: str, *, groups: tuple[str, ...], topics: tuple[str, ...]) -> tuple[dict[str, int], tuple[str, ...]]:
    """Hits by topic, and the notes of a complete search."""
    held = dict.fromkeys(topics, 0) | {COLLIDING: 2, NEWER: 3}
    broker = FakeBroker("a", dict.fromkeys(held, 1), held, groups=list(groups), properties=POPPED)

    async def run() -> tuple[dict[str, int], tuple[str, ...]]:
        found: dict[str, int] = {}
        async with FakeCluster([broker]) as cluster, AdminClient(cluster.name_server) as admin:
            search = ClusterSearch(admin, parse_filter(text, now_ms=0))
            await search.prepare()
            async for step in search.steps():
                for hit in step.hits:
                    found[hit.message.topic] = found.get(hit.message.topic, 0) + 1
        assert search.outcome is not None
        assert search.outcome.is_complete, search.outcome
        return found, search.outcome.notes

    return asyncio.run(run())


def test_messages_of_a_shared_topic_are_found_for_both_groups_and_it_is_said():
    known = {"groups": ("g", "g_a"), "topics": ("t", "a_t")}
    assert searched('group = "g"', **known) == ({COLLIDING: 2}, (NOTE,))
    assert searched('group = "g_a"', **known) == ({COLLIDING: 2, NEWER: 3}, (NOTE,))


def test_where_one_pair_is_known_the_messages_are_its():
    known = {"groups": ("g_a",), "topics": ("t",)}
    assert searched('group = "g_a"', **known) == ({COLLIDING: 2, NEWER: 3}, ())
    assert searched('group = "g"', **known) == ({}, ())


def test_where_nothing_is_known_every_pair_may_be_meant():
    for group, found in (("g", {COLLIDING: 2}), ("g_a", {COLLIDING: 2, NEWER: 3})):
        assert searched(f'group = "{group}"', groups=(), topics=()) == (found, (NOTE,))


def test_a_topic_of_the_newer_name_is_read():
    assert searched(f'topic = "{NEWER}"', groups=(), topics=()) == ({NEWER: 3}, ())
