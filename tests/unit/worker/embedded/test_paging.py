"""Paging through all queues of a topic by time: each message comes once, into both directions, whatever the queues are."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

from broker_core.worker.embedded.queries import Queries
from broker_core.worker.questions.stored_messages import BrowseTopic, TopicPage
from tests.support.engine import Engine

QUEUES = 200
SET_BACK_MS = 5_000
TOPIC = "orders-" + "long-" * 20
Ask = Callable[..., TopicPage]


@pytest.fixture
def queries(engine: Engine) -> Iterator[Queries]:
    made = Queries(engine, console=engine, shut_down=lambda: None)
    yield made
    made.close()


@pytest.fixture
def ask(engine: Engine, queries: Queries) -> Ask:
    """Pages of a topic of 200 queues: many of them empty, many messages of one moment, and a clock that was set back."""
    chance = random.Random(7)
    engine.add_topic(TOPIC, QUEUES)
    for number in range(3_000):
        engine.put(TOPIC, min(int(chance.expovariate(0.05)), QUEUES - 1), b"%d" % number)
        if number % 40 == 0:
            engine.clock.advance(chance.choice([0, 1, 1_000]))
        if number == 1_500:
            engine.clock.advance(-SET_BACK_MS)

    def page(count: int, **edge: object) -> TopicPage:
        answer = asyncio.run(queries.answer(BrowseTopic(TOPIC, count, **edge)))
        assert isinstance(answer, TopicPage)
        return answer

    return page


def places(page: TopicPage) -> list[tuple[int, int]]:
    return list(zip(page.page.queue_id, page.page.queue_offset, strict=True))


@pytest.mark.parametrize("count", [1, 7, 200, 1_000])
def test_older_pages_from_the_end_hold_each_message_once(ask, count):
    pages_max = 40 if count < 100 else 3_000
    seen: list[tuple[int, int]] = []
    found = ask(count)
    for _ in range(pages_max):
        if not found.page.queue_id:
            break
        seen += places(found)
        found = ask(count, edge_queue=found.queue, edge_offset=found.first)
    assert len(seen) == len(set(seen))
    assert len(seen) == 3_000 or len(seen) == pages_max * count


@pytest.mark.parametrize("count", [13, 500])
def test_newer_pages_from_the_begin_go_back_over_the_same_pages(ask, count):
    found = ask(count, newer=True)
    pages = []
    while found.page.queue_id:
        pages.append(found)
        found = ask(count, edge_queue=found.queue, edge_offset=found.end, newer=True)
    assert sorted(place for page in pages for place in places(page)) == sorted(set(places_of(ask)))
    for before, after in pairwise(pages):
        back = ask(len(before.page.queue_id), edge_queue=after.queue, edge_offset=after.first)
        assert (back.end, len(back.page.queue_id)) == (before.end, len(before.page.queue_id))


def test_from_a_time_newer_and_older_meet(ask):
    every = set(places_of(ask))
    newest = ask(1_000)
    for at_ms in sorted(set(newest.page.store_ms))[::5]:
        found = ask(50, at_ms=at_ms)
        older = ask(1_000, edge_queue=found.queue, edge_offset=found.first)
        assert not set(places(found)) & set(places(older))
        assert set(places(found)) | set(places(older)) <= every
        assert min(found.page.store_ms, default=at_ms) >= at_ms - SET_BACK_MS


def places_of(ask: Ask) -> Iterator[tuple[int, int]]:
    found = ask(1_000)
    while found.page.queue_id:
        yield from places(found)
        found = ask(1_000, edge_queue=found.queue, edge_offset=found.first)
