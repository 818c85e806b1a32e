"""Delivery of one message to one consumer, outside of its queue. Pure.

Source: docs/spec/remoting.md §2.4 (309).
"""

from __future__ import annotations

from broker_core.api import RequestCode
from broker_core.worker.questions.administration import AskBroker
from broker_core.worker.questions.stored_messages import MessageDetail


def consume_request(group: str, client_id: str, detail: MessageDetail) -> AskBroker:
    """Send a stored message to one client's listener. No offset changes, but the listener's side effects are real.

    Answer: `read_consume_result`.
    """
    fields = {
        "consumerGroup": group,
        "clientId": client_id,
        "msgId": detail.offset_message_id,
        "topic": detail.topic,
    }
    return AskBroker(RequestCode.CONSUME_MESSAGE_DIRECTLY, fields)
