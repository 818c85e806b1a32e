"""What the window is told of a retry topic that two pairs of group and topic share."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.worker import searches as searches_module
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.searches import (
    ContinueFollow,
    ContinueSearch,
    Followed,
    SearchHits,
    StartFollow,
    StartSearch,
)
from broker_core.worker.questions.stored_messages import FieldValues, Lifeline, ReadFields, ReadLifeline
from tests.support.engine import Engine

COLLIDING = "%RETRY%g_a_t"
POPPED = {"1ST_POP_TIME": "1", "UNIQ_KEY": "U1"}
NOTE = f"1 hit is in retry topic {COLLIDING}, which fits several pairs of group and topic: g+a_t, g_a+t"


@pytest.fixture
def queries(engine: Engine) -> Iterator[Queries]:
    made = Queries(engine, console=None, shut_down=lambda: None)
    yield made
    made.close()


def ask(queries: Queries, query: Question[Any]) -> Any:
    return asyncio.run(queries.answer(query))


def searched(queries: Queries, text: str) -> tuple[list[str], list[str]]:
    """Topics of the hits, and the notes."""
    started = ask(queries, StartSearch(text))
    topics: list[str] = []
    while True:
        hits = ask(queries, ContinueSearch(started.search_id))
        assert isinstance(hits, SearchHits)
        topics += hits.topic
        if hits.is_over:
            return topics, hits.notes


def groups_shown(queries: Queries, place: int) -> str:
    values = ask(queries, ReadFields([place], ["group"]))
    assert isinstance(values, FieldValues)
    return values.texts[0][0]


def known_pairs(engine: Engine, *pairs: tuple[str, str]) -> None:
    for group, topic in pairs:
        engine.groups.find(group)
        engine.put(topic, 0, b"of this topic")


@pytest.mark.parametrize("in_a_process", [False, True])
def test_a_shared_topic_is_found_for_both_groups_and_said_to_be_shared(
    engine: Engine, queries: Queries, monkeypatch: pytest.MonkeyPatch, *, in_a_process: bool
):
    if in_a_process:
        monkeypatch.setattr(searches_module, "BESIDE_FROM_MESSAGES", 0)
    known_pairs(engine, ("g", "a_t"), ("g_a", "t"))
    place = engine.put(COLLIDING, 0, b"popped", **POPPED)
    for group in ("g", "g_a"):
        assert searched(queries, f'group = "{group}"') == ([COLLIDING], [NOTE])
    assert searched(queries, 'group = "g_a_t"') == ([], [])
    assert groups_shown(queries, place) == "g / g_a"


def test_where_one_pair_is_known_its_group_is_named(engine: Engine, queries: Queries):
    known_pairs(engine, ("g_a", "t"))
    place = engine.put(COLLIDING, 0, b"popped", **POPPED)
    assert searched(queries, 'group = "g_a"') == ([COLLIDING], [])
    assert searched(queries, 'group = "g"') == ([], [])
    assert groups_shown(queries, place) == "g_a"


def test_a_life_line_names_the_group_that_popped_the_topic_of_its_message(engine: Engine, queries: Queries):
    known_pairs(engine, ("g", "a_t"), ("g_a", "t"))
    place = engine.put("t", 0, b"x", UNIQ_KEY="U1")
    engine.put(COLLIDING, 0, b"x", **POPPED)
    alone = engine.put(COLLIDING, 0, b"y", **POPPED | {"UNIQ_KEY": "U2"})
    life = ask(queries, ReadLifeline(place))
    assert isinstance(life, Lifeline)
    assert [group for kind, group in zip(life.kind, life.group, strict=True) if kind == "retry"] == ["g_a"]
    lost = ask(queries, ReadLifeline(alone))
    assert [group for kind, group in zip(lost.kind, lost.group, strict=True) if kind == "retry"] == ["g / g_a"]
    assert f"Retry topic {COLLIDING} fits several pairs of group and topic: g+a_t, g_a+t." in lost.missing


def test_a_live_tail_by_group_shows_messages_of_a_shared_topic(engine: Engine, queries: Queries):
    known_pairs(engine, ("g", "a_t"), ("g_a", "t"))

    async def followed() -> Followed:
        started = await queries.answer(StartFollow([], 'group = "g_a"', [], -1))
        engine.put(COLLIDING, 0, b"popped", **POPPED)
        found = await queries.answer(ContinueFollow(started.follow_id))
        assert isinstance(found, Followed)
        return found

    assert asyncio.run(followed()).topic == [COLLIDING]
