"""Decisions that wait for a start: as many as may, and no request is kept whole."""

import tracemalloc

import pytest

from broker_core.engine.processors import queued_decisions
from broker_core.engine.processors.queued_decisions import ENDS_PER_PEER_MAX, TEXT_CHARS_MAX, EarlyEnds
from broker_core.engine.transaction.engine import Decision, EndRequest
from broker_core.protocol.codes import RequestCode, SerializeType
from broker_core.protocol.frame import ONEWAY_FLAG, RemotingCommand
from tests.support.broker_bench import RecordingPeer


def request(message_id="m", group="PG"):
    return EndRequest(
        group=group, half_offset=1, physical_offset=2, decision=Decision.COMMIT, from_check=False, message_id=message_id
    )


def command(body=b"", **fields):
    return RemotingCommand(
        RequestCode.END_TRANSACTION, fields, body, opaque=9, flag=ONEWAY_FLAG, serialize_type=SerializeType.ROCKETMQ
    )


def test_they_come_back_in_order_with_what_an_answer_needs_and_once():
    ends, one, other = EarlyEnds(), RecordingPeer(), RecordingPeer()
    assert ends.keep(one, command(b"x" * 1000, more="y"), request("first"))
    assert ends.keep(other, command(), request("second"))
    taken = ends.take()
    assert [(end.peer, end.request.message_id) for end in taken] == [(one, "first"), (other, "second")]
    assert taken[0].command == RemotingCommand(
        RequestCode.END_TRANSACTION, opaque=9, flag=ONEWAY_FLAG, serialize_type=SerializeType.ROCKETMQ
    )
    assert ends.take() == []


def test_they_are_bounded_in_all_and_for_each_connection(monkeypatch):
    monkeypatch.setattr(queued_decisions, "ENDS_MAX", 5)
    monkeypatch.setattr(queued_decisions, "ENDS_PER_PEER_MAX", 3)
    ends, one, other = EarlyEnds(), RecordingPeer(), RecordingPeer()
    assert [ends.keep(one, command(), request()) for _ in range(4)] == [True, True, True, False]
    assert [ends.keep(other, command(), request()) for _ in range(3)] == [True, True, False]
    ends.take()
    assert ends.keep(one, command(), request())


@pytest.mark.parametrize("character", ["a", "日", "🐘"])
def test_what_those_of_one_connection_take_is_little(character):
    def text(length):
        return character * length

    ends, peer, held = EarlyEnds(), RecordingPeer(), 0
    assert not ends.keep(peer, command(), request(text(TEXT_CHARS_MAX), "G"))
    tracemalloc.start()
    while ends.keep(peer, command(bytes(10_000), field=text(10_000)), request(text(TEXT_CHARS_MAX - 2))):
        held += 1
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held == ENDS_PER_PEER_MAX
    assert taken < 1 << 20
