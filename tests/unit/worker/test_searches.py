from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.errors import BugError, FilterError, StoreError, UsageError
from broker_core.protocol.retry_names import KnownNames
from broker_core.worker import search_turns
from broker_core.worker.channel.codec import decode_window_message, decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import Reply, Request
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.handlers import Handlers
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, SearchHits, SearchStarted, StartSearch
from broker_core.worker.search_turns import HITS_ENOUGH
from broker_core.worker.searches import SEARCHES_MAX, Searches
from tests.support.engine import Engine


@pytest.fixture
def queries(engine: Engine) -> Iterator[Queries]:
    made = Queries(engine, console=None, shut_down=lambda: None)
    yield made
    made.close()


def ask(queries: Queries, query: Question[Any]):
    return asyncio.run(queries.answer(query))


def rest_of(queries: Queries, search_id: int) -> list[SearchHits]:
    parts = []
    while not parts or not parts[-1].is_over:
        parts.append(ask(queries, ContinueSearch(search_id)))
    return parts


def offsets_found(queries: Queries, text: str) -> list[int]:
    started = ask(queries, StartSearch(text))
    return [offset for part in rest_of(queries, started.search_id) for offset in part.queue_offset]


@pytest.mark.parametrize(("text", "is_gathered"), [('tag = "a"', False), ('group = "g"', True)])
def test_names_are_gathered_only_where_a_filter_compares_groups(engine: Engine, text: str, is_gathered: bool):
    gathered = []

    def known() -> KnownNames:
        gathered.append(text)
        return KnownNames()

    engine.put("orders", 0, b"one", TAGS="a")
    searches = Searches(engine.store, clock=lambda: 1_000, known=known)
    table = Handlers(searches.handlers(), refusal=lambda _question: BugError("no such question"))
    try:
        asyncio.run(table.answer(StartSearch(text)))
    finally:
        searches.close()
    assert bool(gathered) == is_gathered


def test_a_search_brings_its_hits_turn_by_turn_and_says_that_it_is_complete(engine: Engine, queries: Queries):
    for number in range(1_000):
        engine.put("orders", number % 3, b"%d" % number, TAGS="even" if number % 2 == 0 else "odd", KEYS=f"k{number}")
    started = ask(queries, StartSearch('tag = "even" and not body = "4"'))
    assert isinstance(started, SearchStarted)
    assert started.total == 1_000
    assert "1,000 messages" in started.plan[0]
    parts = rest_of(queries, started.search_id)
    found = [body for part in parts for body in part.body_start]
    assert found == [b"%d" % number for number in range(0, 1_000, 2) if number != 4]
    assert len(parts) > 1
    assert all(len(part.topic) < 2 * HITS_ENOUGH for part in parts)
    last = parts[-1]
    assert (last.scanned, last.total, last.found, last.reasons) == (1_000, 1_000, 499, [])
    assert parts[0].keys[0] == "k0"
    with pytest.raises(UsageError, match="no search"):
        ask(queries, ContinueSearch(started.search_id))


def test_a_key_is_found_as_soon_as_its_put_has_returned(engine: Engine, queries: Queries):
    for number in range(50):
        engine.put("orders", 0, b"", KEYS=f"k{number}", UNIQ_KEY=f"ID{number}")
        for text in (f'key = "k{number}"', f'id = "ID{number}"', f'topic = "orders" and offset = {number}'):
            assert offsets_found(queries, text) == [number]


def test_turns_that_end_at_once_find_the_same(engine: Engine, queries: Queries, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(search_turns, "TURN_SECONDS", 0.0)
    for number in range(20):
        engine.put("orders", 0, b"", KEYS=f"k{number}")
        assert offsets_found(queries, f'key = "k{number}"') == [number]
    assert offsets_found(queries, "size > 0") == list(range(20))


def test_what_is_stored_after_the_start_is_not_part_of_a_search(engine: Engine, queries: Queries):
    engine.put("orders", 0, b"1")
    started = ask(queries, StartSearch("size > 0"))
    engine.put("orders", 0, b"2")
    assert [body for part in rest_of(queries, started.search_id) for body in part.body_start] == [b"1"]


def test_a_limit_makes_it_partial(engine: Engine, queries: Queries):
    for _ in range(5):
        engine.put("orders", 0, b"x")
    started = ask(queries, StartSearch("size > 0", limit=3))
    last = rest_of(queries, started.search_id)[-1]
    assert (last.found, last.reasons) == (3, ["the limit of 3 hits was reached"])


def test_a_wrong_filter_is_refused_with_its_place(queries: Queries):
    with pytest.raises(FilterError) as caught:
        ask(queries, StartSearch('topic == "a"'))
    assert caught.value.context["position"] == 7


def test_searches_are_given_up_and_only_so_many_are_open(engine: Engine, queries: Queries):
    engine.put("orders", 0, b"x")
    opened = [ask(queries, StartSearch("size > 0")).search_id for _ in range(SEARCHES_MAX)]
    with pytest.raises(UsageError, match="searches are open"):
        ask(queries, StartSearch("size > 0"))
    assert ask(queries, EndSearch(opened[0])) == Done()
    assert ask(queries, EndSearch(opened[0])) == Done()
    started = ask(queries, StartSearch("size > 0"))
    assert rest_of(queries, started.search_id)[-1].found == 1


def test_requests_and_answers_cross_the_channel(engine: Engine, queries: Queries):
    engine.put("orders", 1, b"body", TAGS="t")
    started = ask(queries, StartSearch("size > 0"))
    hits = rest_of(queries, started.search_id)[-1]
    for answer in (started, hits):
        [payload] = FrameReader().feed(encode_message(Reply(3, answer)))
        assert decode_worker_message(payload) == Reply(3, answer)
    for query in (StartSearch("size > 0"), ContinueSearch(1), EndSearch(1)):
        [payload] = FrameReader().feed(encode_message(Request(3, query)))
        assert decode_window_message(payload) == Request(3, query)


def test_a_search_that_fails_leaves_its_place_to_others(engine: Engine, queries: Queries, monkeypatch: pytest.MonkeyPatch):
    engine.put("orders", 0, b"x")
    started = ask(queries, StartSearch("size > 0"))

    def fail(_message: object) -> None:
        raise StoreError("the disk does not answer")

    with monkeypatch.context() as patch:
        patch.setattr(search_turns, "head_of", fail)
        with pytest.raises(StoreError, match="disk does not answer"):
            ask(queries, ContinueSearch(started.search_id))
    with pytest.raises(UsageError, match="there is no search"):
        ask(queries, ContinueSearch(started.search_id))
