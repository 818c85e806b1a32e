"""What one connection's held pulls may take, whatever it asks for."""

import gc
import tracemalloc

import pytest

from broker_core.engine.processors import pull_admission
from broker_core.engine.processors.pull_holds import HELD_BYTES_PER_PEER_MAX
from broker_core.protocol import frame
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import SerializeType
from broker_core.protocol.frame import FrameDecoder, RemotingCommand, encode_command
from tests.support.broker_bench import RecordingPeer, broker_bench, pull_fields

SUSPEND, INLINE = 2, 4
MIB = 1 << 20


def alike(_number):
    return {}


def of_own_terms(number):
    return {"suspendTimeoutMillis": 100_000 + number}


def of_own_queues(number):
    return {"queueId": number}


def with_own_tags(number):
    return {"subscription": "||".join(str(1_000_000 + number * 20 + tag) for tag in range(20))}


def with_a_thousand_tags(number):
    return {"subscription": "||".join(f"{tag:x}" for tag in range(number, number + 1_000))}


def with_own_condition(number):
    condition = " OR ".join(f"price = {number * 10 + part}" for part in range(10))
    return {"subscription": condition, "expressionType": "SQL92"}


@pytest.mark.parametrize("wish", [alike, of_own_terms, of_own_queues, with_own_tags, with_a_thousand_tags, with_own_condition])
def test_held_pulls_of_one_connection_take_less_than_a_mebibyte(tmp_path, wish):
    with broker_bench(tmp_path, property_filter=True) as bench:
        bench.state.topics.put(TopicConfig("T", 4000, 4000))
        peer, decoder, held, answered = RecordingPeer(), FrameDecoder(), 0, 0

        def ask(number):
            fields = pull_fields("T", suspendTimeoutMillis=100_000, sysFlag=SUSPEND | INLINE, expressionType="TAG") | wish(
                number
            )
            texts = {name: str(value) for name, value in fields.items()}
            request = RemotingCommand(Q.PULL_MESSAGE, texts, opaque=100_000 + number, serialize_type=SerializeType.ROCKETMQ)
            (command,) = decoder.feed(encode_command(request))
            return bench.dispatcher.handle(peer, command)

        ask(3_999)  # what is made once
        bench.dispatcher.pull.forget(peer)
        before = traced(bench)
        while answered < 5:  # pulls beyond the bound are answered at once, and their connection is slowed down
            held, answered = (held + 1, answered) if ask(held) is None else (held, answered + 1)
        taken = traced(bench) - before
        tracemalloc.stop()
        assert held > 0
        assert peer.slowed_down == answered
        assert taken < MIB
        assert sum(bench.dispatcher.pull.holds._peers.values()) <= HELD_BYTES_PER_PEER_MAX
        bench.dispatcher.pull.forget(peer)
        assert len(bench.dispatcher.pull.holds) == 0
        assert ask(0) is None


def traced(bench):
    """Bytes in use, without what is remembered for all connections together, within bounds of its own."""
    frame._KNOWN_FIELDS.clear()
    bench.dispatcher.pull.terms._known.clear()
    pull_admission._parsed.cache_clear()
    pull_admission.compile_filter.cache_clear()
    gc.collect()
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]
