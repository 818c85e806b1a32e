from __future__ import annotations

import pytest

from broker_core.api import JsonBodyError, RequestCode
from broker_core.worker.questions.stored_messages import MessageDetail
from monitoring.admin.consume import Outcome, consume_request, read_consume_result
from tests.support.fake_source import fake_detail


def test_the_request_names_group_client_and_stored_message():
    detail: MessageDetail = fake_detail(1_000)
    request = consume_request("settle", "c1@10.0.0.1", detail)
    assert request.code == RequestCode.CONSUME_MESSAGE_DIRECTLY
    assert request.fields == {
        "consumerGroup": "settle",
        "clientId": "c1@10.0.0.1",
        "msgId": detail.offset_message_id,
        "topic": detail.topic,
    }


def test_results_are_read_as_clients_write_them():
    body = b'{"autoCommit":true,"consumeResult":"CR_SUCCESS","order":false,"remark":"\xe5\xa5\xbd","spentTimeMills":2}'
    found = read_consume_result(body)
    assert (found.outcome, found.remark, found.spent_ms, found.is_orderly) == (Outcome.SUCCESS, "好", 2, False)
    assert found.outcome.is_consumed
    found = read_consume_result(b'{"consumeResult":"CR_THROW_EXCEPTION","order":true}')
    assert (found.outcome, found.remark, found.spent_ms, found.is_orderly) == (Outcome.THREW, "", -1, True)
    assert not found.outcome.is_consumed
    found = read_consume_result(b'{"consumeResult":"CR_NEW"}')
    assert (found.outcome, found.name) == (Outcome.UNKNOWN, "CR_NEW")


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"consumeResult":7}', b"\xff"])
def test_what_is_no_result_is_refused(body: bytes):
    with pytest.raises(JsonBodyError):
        read_consume_result(body)
