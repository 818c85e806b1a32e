"""Life lines of an attached cluster are those that the broker itself would tell of the same traffic."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from broker_core.client.message import Message, RawMessage
from broker_core.client.producer import Producer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.clock import wall_clock_ms
from broker_core.cluster.numbering import QUEUES_OF_BROKER
from broker_core.engine.broker.embedded import EmbeddedBroker
from broker_core.errors import NetworkError, UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.message_id import PLACE_BITS
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.message.resent_properties import ORIGIN_LINK
from broker_core.worker.attached import lifelines
from broker_core.worker.attached.lifelines import ClusterLifelines, ClusterRecords
from broker_core.worker.lifeline.gather import id_of
from broker_core.worker.lifelines import read_lifeline
from broker_core.worker.questions.stored_messages import Lifeline, ReadLifeline
from tests.support.attached import BROKER, attached, broker_on
from tests.support.remoting_peer import eventually

NO_TRACES = "No trace records were found: tracing is off in its clients or in the broker."
PLACES = ("physical_offset", "queue_id")


def play(tmp_path, scenario, *, before=()):
    """Topics T and U, and whatever brokers were seen ``before`` the one that answers."""

    async def run():
        async with broker_on(tmp_path / "store") as broker, attached(broker.name_server_address) as cluster:
            cluster.link.numbers._names[:0] = before
            for name in before:
                cluster.figures.lost(name, "it is away")
            for topic in ("T", "U", "%RETRY%billing", "%DLQ%billing"):
                await cluster.link.create_topic(topic, queues=1)
            async with Producer(broker.name_server_address) as producer:
                await scenario(broker, cluster, producer)

    asyncio.run(run())


async def send(broker, producer, topic, body=b"a", **properties):
    encoded = encode_properties({"KEYS": "k1", **properties})
    result = await producer.send_raw(RawMessage(topic=topic, body=body, properties=encoded), MessageQueue(topic, BROKER, 0))
    return int(result.offset_message_id[16:], 16)


async def own(broker: EmbeddedBroker, place: int) -> Lifeline:
    return await read_lifeline(place, broker.store, broker.offsets, None, run=asyncio.to_thread, now_ms=wall_clock_ms())


async def outside(cluster, place) -> Lifeline:
    await cluster.sampling.once()
    shown = cluster.link.numbers.shown_place(BROKER, place)
    return await ClusterLifelines(cluster.link, cluster.figures, None).read(ReadLifeline(shown))


def renumbered(line: Lifeline, number: int) -> Lifeline:
    """A life line of the broker itself, as one who sees several brokers numbers it."""
    return replace(
        line,
        physical_offset=[(number << PLACE_BITS) + place if place >= 0 else -1 for place in line.physical_offset],
        queue_id=[number * QUEUES_OF_BROKER + queue if queue >= 0 else -1 for queue in line.queue_id],
    )


def index_all(broker):
    broker.store.query("T", "nothing", max_count=1)


@pytest.mark.parametrize("before", [(), ("aa-seen-before", "ab-too")])
def test_copies_groups_and_resends_are_told_as_the_broker_tells_them(tmp_path, before):
    async def scenario(broker, cluster, producer):
        first = await send(broker, producer, "T", UNIQ_KEY="U1")
        await send(broker, producer, "T", b"z", UNIQ_KEY="U8")
        retry = await send(broker, producer, "%RETRY%billing", UNIQ_KEY="U1", RETRY_TOPIC="T")
        dead = await send(broker, producer, "%DLQ%billing", UNIQ_KEY="U1", DLQ_ORIGIN_TOPIC="T")
        record = decode_record(broker.store.record_at(first))
        again = await send(broker, producer, "U", UNIQ_KEY="U2", **{ORIGIN_LINK: id_of(record)})
        await cluster.link.set_group("billing")
        await cluster.link.set_consumer_offset("billing", MessageQueue("T", BROKER, 0), 1)
        await cluster.link.set_consumer_offset("other", MessageQueue("U", BROKER, 0), 0)
        index_all(broker)
        for place in (first, retry, dead, again):
            expected = renumbered(await own(broker, place), len(before))
            assert len(expected.kind) >= 7
            told = await outside(cluster, place)
            assert replace(told, missing=[text for text in told.missing if "it is away" not in text]) == expected

    play(tmp_path, scenario, before=before)


def test_waits_and_transactions_are_told_as_the_broker_tells_them(tmp_path):
    async def scenario(broker, cluster, producer):
        await send(broker, producer, "T", UNIQ_KEY="W1", DELAY="18")
        waiting = broker.store.get_messages("SCHEDULE_TOPIC_XXXX", 17, 0, 1).records[0]
        place = decode_record(waiting).physical_offset
        del waiting
        line = await outside(cluster, place)
        assert line == await own(broker, place)
        (delayed,) = [number for number, kind in enumerate(line.kind) if kind == "delayed"]
        assert line.until_ms[delayed] > line.at_ms[delayed], "when it is due stands in the queue of its level alone"
        async with TransactionProducer(broker.name_server_address, "shop", lambda _message: LocalState.COMMIT) as shop:
            opened = await shop.begin(Message("T", b"paid", "", ("k2",)))
            await shop.end(opened, LocalState.COMMIT)
        real = await committed(broker)
        line = await outside(cluster, real)
        assert line == await own(broker, real)
        assert {"half", "committed", "stored"} <= set(line.kind)

    play(tmp_path, scenario)


async def committed(broker) -> int:
    """Place of the real message; a decision comes one-way."""
    await eventually(lambda: broker.store.max_offset("T", 0) >= 1, 60)
    record = broker.store.get_messages("T", 0, 0, 1).records[0]
    return decode_record(record).physical_offset


def test_what_was_not_asked_for_is_named(tmp_path, monkeypatch):
    async def scenario(broker, cluster, producer):
        place = await send(broker, producer, "T", UNIQ_KEY="U1")
        index_all(broker)
        monkeypatch.setattr(lifelines, "REQUESTS_MAX", 3)
        line = await outside(cluster, place)
        assert line.kind == ["produced", "stored"]
        assert NO_TRACES in line.missing
        assert "The brokers were asked 3 times for this life line; what more would tell is missing." in line.missing
        monkeypatch.undo()
        monkeypatch.setattr(lifelines, "OTHER_TOPICS_MAX", 1)
        assert any("resends were looked for in 1 of them" in text for text in (await outside(cluster, place)).missing)
        with pytest.raises(UsageError, match="there is no message at"):
            await outside(cluster, place + 1)

    play(tmp_path, scenario)


def test_a_broker_that_is_lost_is_named_and_the_others_tell_the_rest(tmp_path):
    async def scenario(broker, cluster, producer):
        place = await send(broker, producer, "T", UNIQ_KEY="U1")
        index_all(broker)
        await cluster.sampling.once()
        cluster.figures.lost("gone", "it does not answer")
        cluster.figures.of("gone").topics = dict(cluster.figures.of(BROKER).topics)
        line = await ClusterLifelines(cluster.link, cluster.figures, None).read(ReadLifeline(place))
        assert line.kind == ["produced", "stored"]
        assert any(text.startswith("Not all brokers answered") and text.endswith("it does not answer") for text in line.missing)

    play(tmp_path, scenario)


def test_a_record_of_a_broker_that_is_lost_is_missing_and_the_message_itself_is_not(monkeypatch):
    def fail(_broker, _offset):
        raise NetworkError("it is down")

    link = SimpleNamespace(numbers=SimpleNamespace(place_of=lambda place: ("b", place)))
    records = ClusterRecords(link, None, None)
    monkeypatch.setattr(records, "_viewed", fail)
    with pytest.raises(NetworkError):
        records.record_at(7)
    records._topics.add("T")
    assert records.record_at(7) is None
    assert records.missing == ["Not all brokers answered, and what they hold is missing here. b: it is down"]
