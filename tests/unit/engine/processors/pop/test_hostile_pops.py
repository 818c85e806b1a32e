"""What one connection's held pops and notifications may take, whatever it asks for."""

import gc
import tracemalloc

import pytest

from broker_core.engine.processors.pop import request as pop_request
from broker_core.engine.processors.pop.pop_holds import HELD_BYTES_PER_PEER_MAX
from broker_core.protocol import frame
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.frame import FrameDecoder, RemotingCommand, encode_command
from tests.support.broker_bench import RecordingPeer
from tests.support.pop_bench import pop_bench, pop_fields

MIB = 1 << 20


def alike(_number):
    return {}


def with_long_texts(number):
    return {"attemptId": f"{number}" * 4_000}


def with_many_fields(number):
    return {f"field-{number}-{place}": str(place) for place in range(200)}


def with_own_tags(number):
    return {"exp": "||".join(str(1_000_000 + number * 100 + tag) for tag in range(100)), "expType": "TAG"}


def with_own_condition(number):
    return {"exp": " OR ".join(f"price = {number * 10 + part}" for part in range(40)), "expType": "SQL92"}


@pytest.mark.parametrize("code", [Q.POP_MESSAGE, Q.NOTIFICATION])
@pytest.mark.parametrize("wish", [alike, with_long_texts, with_many_fields, with_own_tags, with_own_condition])
def test_held_pops_of_one_connection_take_little(tmp_path, wish, code):
    with pop_bench(tmp_path, property_filter=True, pop_polling_size=10_000) as bench:
        bench.state.topics.put(TopicConfig("T", 4, 4))
        peer, decoder, held, answered = RecordingPeer(), FrameDecoder(), 0, 0

        def ask(number):
            fields = pop_fields(bench.clock(), pollTime=20_000, bornTime=bench.clock()) | wish(number)
            texts = {name: str(value) for name, value in fields.items()}
            request = RemotingCommand(code, texts, opaque=100_000 + number)
            (command,) = decoder.feed(encode_command(request))
            return bench.dispatcher.handle(peer, command)

        ask(9_999)  # what is made once
        bench.dispatcher.pop.forget(peer)
        before = traced()
        while answered < 5:
            held, answered = (held + 1, answered) if ask(held) is None else (held, answered + 1)
        taken = traced() - before
        tracemalloc.stop()
        assert held > 0
        assert taken < MIB // 4
        processor = bench.dispatcher.pop.processor
        assert all(sum(holds._peers.values()) <= HELD_BYTES_PER_PEER_MAX for holds in (processor.holds, processor.notices))
        bench.dispatcher.pop.forget(peer)
        assert (len(processor.holds), len(processor.notices)) == (0, 0)


def traced():
    """Bytes in use, without what is remembered for all connections together, within bounds of its own."""
    frame._KNOWN_FIELDS.clear()
    pop_request._parsed.cache_clear()
    pop_request.compile_filter.cache_clear()
    gc.collect()
    if not tracemalloc.is_tracing():
        tracemalloc.start()
    return tracemalloc.get_traced_memory()[0]
