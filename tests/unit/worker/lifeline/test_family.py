"""Messages that were sent again are told in one line, each life a branch with its own evidence."""

import pytest

from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.worker.lifeline import family
from broker_core.worker.lifeline.family import gather_family, join_family
from broker_core.worker.lifeline.gather import gather, id_of
from broker_core.worker.lifeline.join import LINK
from broker_core.worker.lifeline.model import EventKind, Evidence, Position
from tests.support.engine import Engine


@pytest.fixture
def lives(engine: Engine) -> list[int]:
    """A message that died and was sent again to its topic; that one was sent on to two others, edited."""

    def again(origin: int, topic: str, key: str, body: bytes) -> int:
        engine.clock.advance(1_000)
        return engine.put(topic, 0, body, UNIQ_KEY=key, KEYS="k1", **{ORIGIN_LINK: id_of(gather(engine.store, origin).message)})

    first = engine.put("orders", 0, b"a", UNIQ_KEY="U1", KEYS="k1")
    engine.clock.advance(1_000)
    dead = engine.put("%DLQ%billing", 0, b"a", reconsumed=16, UNIQ_KEY="U1", KEYS="k1", RETRY_TOPIC="orders")
    second = again(dead, "orders", "U2", b"a")
    return [first, dead, second, again(second, "audit", "U3", b"b"), again(second, "test", "U4", b"c")]


def told(engine: Engine, place: int, *positions: Position):
    return join_family(gather_family(engine.store, place), positions)


@pytest.mark.parametrize("asked", range(5))
def test_any_record_leads_to_the_whole_line(engine: Engine, lives: list[int], asked: int):
    story = told(engine, lives[asked])
    records = [
        (event.branch, event.kind, event.physical_offset)
        for event in story.events
        if event.kind not in (EventKind.PRODUCED, EventKind.ATTEMPT)
    ]
    first, dead, second, audit, test = lives
    assert records == [
        (0, EventKind.STORED, first),
        (0, EventKind.DEAD, dead),
        (1, EventKind.RESENT, second),
        (1, EventKind.STORED, second),
        (2, EventKind.RESENT, audit),
        (2, EventKind.STORED, audit),
        (3, EventKind.RESENT, test),
        (3, EventKind.STORED, test),
    ]


def test_a_branch_says_what_it_was_made_of_and_by_what_that_is_known(engine: Engine, lives: list[int]):
    resent = [event for event in told(engine, lives[0]).events if event.kind is EventKind.RESENT]
    assert [(event.branch, event.number, event.evidence, event.source) for event in resent] == [
        (1, 0, Evidence.STORED, LINK),
        (2, 1, Evidence.STORED, LINK),
        (3, 1, Evidence.STORED, LINK),
    ]


def test_groups_are_told_in_the_branch_whose_record_they_read(engine: Engine, lives: list[int]):
    found = gather_family(engine.store, lives[2])
    assert found.message.physical_offset == lives[2]
    assert found.places == [("audit", 0, 0), ("orders", 0, 0), ("orders", 0, 1), ("test", 0, 0)]
    story = join_family(found, [Position("billing", "orders", 0, 1, 2), Position("keeper", "audit", 0, 0, 0)])
    groups = [
        (event.branch, event.kind, event.group) for event in story.events if event.kind in (EventKind.PASSED, EventKind.AHEAD)
    ]
    assert groups == [(1, EventKind.PASSED, "billing"), (2, EventKind.AHEAD, "keeper")]
    assert len(set(story.missing)) == len(story.missing)


def test_a_life_that_is_alone_has_one_branch(engine: Engine):
    place = engine.put("orders", 0, b"a", UNIQ_KEY="U1")
    story = told(engine, place)
    assert [(event.branch, event.kind) for event in story.events] == [(0, EventKind.PRODUCED), (0, EventKind.STORED)]


def test_more_lives_than_one_line_tells_stay_links(engine: Engine, lives: list[int], monkeypatch):
    monkeypatch.setattr(family, "LIVES_MAX", 2)
    story = told(engine, lives[0])
    links = [(event.branch, event.number, event.physical_offset) for event in story.events if event.kind is EventKind.RESENT]
    assert links == [(1, 0, lives[2]), (1, -1, lives[3]), (1, -1, lives[4])]
    assert "More than 2 messages were made of one another" in story.missing[0]
