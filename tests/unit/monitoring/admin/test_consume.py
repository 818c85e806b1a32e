from __future__ import annotations

from broker_core.api import RequestCode
from broker_core.worker.questions.stored_messages import MessageDetail
from monitoring.admin.clients import consume_request
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
