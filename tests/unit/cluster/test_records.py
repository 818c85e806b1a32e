import pytest

from broker_core.cluster.records import cut_to, queue_offset_of, record_count, split_records
from broker_core.errors import RecordError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record

HOST = HostAddress.parse("127.0.0.1:10911")


def record(offset):
    message = MessageToStore("orders", 0, 0, 0, 1, HOST, HOST, 0, 0, b"x", b"")
    return encode_record(message, queue_offset=offset, physical_offset=offset * 200, store_timestamp_ms=1_000)


def test_an_answer_is_split_into_its_records():
    records = [record(number) for number in range(3)]
    assert list(split_records(b"".join(records))) == records
    assert record_count(b"".join(records)) == 3
    assert [queue_offset_of(one) for one in records] == [0, 1, 2]


@pytest.mark.parametrize("broken", [record(0)[:-1], record(0) + b"xx", bytes(8)])
def test_an_answer_that_does_not_add_up_is_refused(broken):
    with pytest.raises(RecordError, match="no whole record"):
        list(split_records(broken))


def test_an_answer_is_cut_to_some_offsets_and_what_cannot_be_read_stays():
    body = b"".join(map(record, (4, 5, 6, 7))) + b"rest"
    assert cut_to(body, 5, 7) == record(5) + record(6) + b"rest"
