"""QUERY_MESSAGE: by key, by unique key, in a time range."""

import pytest

from broker_core.engine.processors import query_processor
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.message.record import decode_record
from tests.support.broker_bench import RecordingPeer

PEER = RecordingPeer()
LATEST = (1 << 63) - 1


def ask(bench, wanted, **more) -> RemotingCommand:
    fields = {"topic": "T", "key": wanted, "maxNum": 64, "beginTimestamp": 0, "endTimestamp": LATEST}
    return bench.answer(PEER, Q.QUERY_MESSAGE, fields | more)


def bodies(response) -> list[bytes]:
    return [decode_record(record).body for record in response.body_slices]


def put(bench, body: bytes, keys: str, unique: str = "") -> None:
    bench.clock.advance(1_000)
    bench.put(body=body, properties=f"KEYS\x01{keys}" + (f"\x02UNIQ_KEY\x01{unique}" if unique else ""))


def test_messages_are_found_by_key_in_the_order_of_the_log(bench):
    put(bench, b"one", "a b")
    put(bench, b"two", "b")
    put(bench, b"three", "c")
    assert bodies(ask(bench, "b")) == [b"one", b"two"]
    response = ask(bench, "c")
    assert (response.code, bodies(response)) == (R.SUCCESS, [b"three"])
    last = decode_record(response.body_slices[0])
    assert response.ext_fields == {
        "indexLastUpdateTimestamp": str(bench.clock.now_ms),
        "indexLastUpdatePhyoffset": str(last.physical_offset),
    }


def test_of_too_many_the_newest_are_given(bench):
    for number in range(70):
        put(bench, b"%d" % number, "k")
    assert bodies(ask(bench, "k", maxNum=2)) == [b"68", b"69"]
    assert len(bodies(ask(bench, "k", maxNum=1_000))) == 64


def test_a_unique_key_query_looks_at_unique_keys_alone_and_takes_the_default_count(bench):
    for number in range(40):
        put(bench, b"%d" % number, "u", unique="u" if number else "")
    assert len(bodies(ask(bench, "u", maxNum=1, _UNIQUE_KEY_QUERY="true"))) == 32
    put(bench, b"x", "only-a-key", unique="only-unique")
    assert ask(bench, "only-a-key", _UNIQUE_KEY_QUERY="true").code == R.QUERY_NOT_FOUND
    assert bodies(ask(bench, "only-unique", _UNIQUE_KEY_QUERY="true")) == [b"x"]
    assert bodies(ask(bench, "only-unique", _UNIQUE_KEY_QUERY="false")) == [b"x"]


def test_both_ends_of_the_time_range_count(bench):
    start_ms = bench.clock.now_ms
    for number in range(4):
        put(bench, b"%d" % number, "k")
    found = ask(bench, "k", beginTimestamp=start_ms + 2_000, endTimestamp=start_ms + 3_000)
    assert bodies(found) == [b"1", b"2"]


@pytest.mark.parametrize("change", [{"topic": "Other"}, {"key": "nothing"}, {"endTimestamp": 5}, {"maxNum": 0}])
def test_without_a_message_the_answer_says_so(bench, change):
    put(bench, b"one", "k")
    response = ask(bench, "k", **change)
    assert (response.code, response.remark) == (R.QUERY_NOT_FOUND, "can not find message, maybe time range not correct")


@pytest.mark.parametrize("missing", ["topic", "key", "maxNum", "beginTimestamp", "endTimestamp"])
def test_a_missing_field_is_named(bench, missing):
    fields = {"topic": "T", "key": "k", "maxNum": 64, "beginTimestamp": 0, "endTimestamp": LATEST}
    del fields[missing]
    response = bench.answer(PEER, Q.QUERY_MESSAGE, fields)
    assert response.code == (R.QUERY_NOT_FOUND if missing in ("topic", "key") else R.SYSTEM_ERROR)
    assert missing in response.remark


def test_an_answer_stays_within_a_frame_that_clients_take(bench, monkeypatch):
    monkeypatch.setattr(query_processor, "ANSWER_BYTES_MAX", 2_500)
    for letter in b"abc":
        put(bench, bytes([letter]) * 1_000, "k")
    assert [body[:1] for body in bodies(ask(bench, "k"))] == [b"b", b"c"]
    put(bench, b"d" * 4_000, "k")
    assert [body[:1] for body in bodies(ask(bench, "k"))] == [b"d"]
