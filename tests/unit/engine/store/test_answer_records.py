"""Records that were taken out of their log, as pulls bring them."""

import pytest

from broker_core.engine.store.layout import answer_records
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record

HOST, WIDE = HostAddress.parse("127.0.0.1:10911"), HostAddress.parse("[::1]:10911")


def record(number, host=HOST):
    message = MessageToStore("orders", 3, 0, 0, 1, host, host, 0, 0, b"x" * number, b"")
    return encode_record(message, queue_offset=number, physical_offset=7_000_000 - number, store_timestamp_ms=1_000 + number)


@pytest.mark.parametrize("host", [HOST, WIDE])
def test_they_are_read_wherever_they_lay(host):
    heads = answer_records(b"".join(record(number, host) for number in range(50)))
    assert heads.queue_offset.tolist() == list(range(50))
    assert heads.physical_offset.tolist() == [7_000_000 - number for number in range(50)]
    assert (heads.store_ms.tolist(), heads.body_bytes.tolist()) == ([1_000 + number for number in range(50)], list(range(50)))


def test_what_is_no_record_ends_them():
    whole = record(1) + record(2)
    for rest in (b"", b"\0" * 200, record(3)[:-1], b"\x7f" * 7):
        heads = answer_records(whole + rest)
        assert (len(heads), heads.end) == (2, len(whole))


def test_nothing_is_no_record():
    assert (len(answer_records(b"")), answer_records(b"").end) == (0, 0)
