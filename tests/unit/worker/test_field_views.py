"""Fields of messages for the columns of a list, through the worker's queries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from broker_core.errors import FilterError, UsageError
from broker_core.worker.channel.codec import decode_window_message, decode_worker_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.channel.schema import Reply, Request
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.field_views import FIELDS_MAX, PLACES_AT_A_TIME, PLACES_MAX
from broker_core.worker.questions.stored_messages import FieldValues, ReadFields
from tests.support.engine import Engine


@pytest.fixture
def queries(engine: Engine) -> Iterator[Queries]:
    made = Queries(engine, console=None, shut_down=lambda: None)
    yield made
    made.close()


def read(queries: Queries, places: list[int], fields: list[str], around: str = "") -> FieldValues:
    answer = asyncio.run(queries.answer(ReadFields(places, fields, around)))
    assert isinstance(answer, FieldValues)
    return answer


def test_fields_come_in_the_order_of_the_places(engine: Engine, queries: Queries):
    count = PLACES_AT_A_TIME * 2 + 3
    places = [engine.put("orders", 0, b'{"n": %d}' % number, region=f"r{number}") for number in range(count)]
    wanted = places[::-1]
    values = read(queries, wanted, ["prop.region", "body.n"])
    assert values.texts == [[f"r{number}" for number in reversed(range(count))], [str(n) for n in reversed(range(count))]]
    assert values.body_start == [b'{"n": %d}' % number for number in reversed(range(count))]


def test_a_place_without_a_message_shows_nothing(engine: Engine, queries: Queries):
    place = engine.put("orders", 0, b"a", TAGS="x")
    assert read(queries, [place + 1, place, 1 << 40], ["tag"]) == FieldValues([["", "x", ""]], [b"", b"a", b""])


def test_without_fields_only_the_bodies_are_read(engine: Engine, queries: Queries):
    place = engine.put("orders", 0, b"x" * 500)
    assert read(queries, [place], []) == FieldValues([], [b"x" * 200])


def test_a_body_is_shown_from_what_was_looked_for_on(engine: Engine, queries: Queries):
    far = engine.put("orders", 0, ("杭" * 300 + "4711 is here").encode())
    near = engine.put("orders", 0, b"4711 at the beginning")
    none = engine.put("orders", 0, b"nothing of it")
    values = read(queries, [far, near, none], [], "4711")
    assert values.body_start[0].decode() == "…" + "杭" * 24 + "4711 is here"
    assert values.body_start[1:] == [b"4711 at the beginning", b"nothing of it"]
    with pytest.raises(UsageError, match="the regular expression cannot be read"):
        read(queries, [far], [], "(")


@pytest.mark.parametrize(
    ("places", "fields", "refusal"),
    [
        ([0], ["colour"], FilterError),
        ([0] * (PLACES_MAX + 1), ["tag"], UsageError),
        ([0], ["tag"] * (FIELDS_MAX + 1), UsageError),
    ],
)
def test_what_cannot_be_read_is_refused(queries: Queries, places: list[int], fields: list[str], refusal: type[Exception]):
    with pytest.raises(refusal):
        read(queries, places, fields)


def test_question_and_answer_travel_and_only_look():
    question = Request(7, ReadFields([1, 2], ["tag"]))
    answer = Reply(7, FieldValues([["a", "b"]], [b"x", b""]))
    for message, decode in ((question, decode_window_message), (answer, decode_worker_message)):
        (frame,) = FrameReader().feed(encode_message(message))
        assert decode(frame) == message
    assert not question.body.acts
