import pytest

from broker_core.errors import CodecError, WorkerError
from broker_core.worker.channel.client import WorkerClient
from broker_core.worker.channel.codec import decode_window_message, encode_message
from broker_core.worker.channel.schema import PROTOCOL_VERSION, Cancel, Failure, Reply, Request
from broker_core.worker.questions.administration import ListMembers
from broker_core.worker.questions.lifecycle import Done, Hello, Shutdown, Stage
from broker_core.worker.questions.stored_messages import FoundOffset


def test_each_request_has_an_id_of_its_own():
    client = WorkerClient()
    first, data = client.request(ListMembers("g"))
    second, _ = client.request(ListMembers("g"))
    assert first != second
    assert decode_window_message(data[4:]) == Request(first, ListMembers("g"))
    assert client.outstanding == {first, second}


def test_an_answer_is_given_out_once():
    client = WorkerClient()
    request_id, _ = client.request(Shutdown())
    reply = Reply(request_id, Done())
    assert client.receive(encode_message(reply)) == [reply]
    assert client.receive(encode_message(reply)) == []
    assert not client.outstanding


def test_answers_to_unknown_and_cancelled_requests_are_dropped():
    client = WorkerClient()
    request_id, _ = client.request(Shutdown())
    assert decode_window_message(client.cancel(request_id)[4:]) == Cancel(request_id)
    late = encode_message(Reply(request_id, FoundOffset(1))) + encode_message(Failure(99, "UsageError", "no"))
    assert client.receive(late + encode_message(Stage("on"))) == [Stage("on")]


def test_cancelling_an_answered_request_sends_nothing():
    client = WorkerClient()
    assert client.cancel(1) == b""


def test_requests_without_answers_are_bounded():
    client = WorkerClient(outstanding_max=2)
    client.request(Shutdown())
    client.request(Shutdown())
    with pytest.raises(WorkerError, match="2 requests"):
        client.request(Shutdown())


def test_a_worker_of_another_protocol_is_refused_with_both_versions():
    hello = Hello(PROTOCOL_VERSION + 1, 77, "9.9")
    with pytest.raises(WorkerError, match=f"speaks version {PROTOCOL_VERSION + 1}.*this window speaks {PROTOCOL_VERSION}"):
        WorkerClient().receive(encode_message(hello))


def test_messages_may_come_in_pieces_and_a_torn_one_shows():
    client = WorkerClient()
    data = encode_message(Stage("one")) + encode_message(Stage("two"))
    assert client.receive(data[:-3]) == [Stage("one")]
    assert client.pending_bytes > 0
    assert client.receive(data[-3:]) == [Stage("two")]
    assert client.pending_bytes == 0


def test_garbage_is_a_codec_error():
    with pytest.raises(CodecError):
        WorkerClient().receive(b"HTTP/1.1 200 OK\r\n\r\n")
