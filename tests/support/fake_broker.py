"""Answers of administration for the fake source: bodies as a broker writes them."""

from __future__ import annotations

from broker_core.api import MessageQueue, RequestCode
from broker_core.protocol.json_body import emit
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer

FOUND_OFFSET = 267_000
"""Where every queue stood at any time that is asked for."""
PAYMENT_QUEUES = 8
BEHIND_ALL = 1_000_000
"""A reset to the end finds it in every queue: messages came since the figures."""
JSTACK = """ConsumeMessageThread_1                   TID: 43 STATE: WAITING
ConsumeMessageThread_1                   sun.misc.Unsafe.park(Unsafe.java:-2)
ConsumeMessageThread_1                   java.util.concurrent.LinkedBlockingQueue.take(LinkedBlockingQueue.java:442)

ConsumeMessageThread_2                   TID: 44 STATE: WAITING
ConsumeMessageThread_2                   sun.misc.Unsafe.park(Unsafe.java:-2)
ConsumeMessageThread_2                   java.util.concurrent.LinkedBlockingQueue.take(LinkedBlockingQueue.java:442)

main                                     TID: 1 STATE: RUNNABLE
main                                     shop.Payments.main(Payments.java:31)
"""


def topic_config(name: str, **changes: object) -> dict[str, object]:
    """A TopicConfig of the shop."""
    config = {
        "attributes": {"message.type": "FIFO"} if name == "inventory-reserve" else {},
        "order": False,
        "perm": 6,
        "readQueueNums": 8,
        "topicFilterType": "SINGLE_TAG",
        "topicName": name,
        "topicSysFlag": 0,
        "writeQueueNums": 8,
    }
    return config | changes


GROUP_CONFIG = {
    "brokerId": 0,
    "consumeBroadcastEnable": True,
    "consumeEnable": True,
    "consumeFromMinEnable": True,
    "groupRetryPolicy": {"type": "CUSTOMIZED"},
    "notifyConsumerIdsChangedEnable": True,
    "retryMaxTimes": 16,
    "retryQueueNums": 1,
    "whichBrokerWhenConsumeSlowly": 1,
}
_NAMES = ("orders", "payments", "order-timeout", "inventory-reserve", "coupon-grant")
_ROUTE = {
    "brokerDatas": [{"brokerAddrs": {"0": "127.0.0.1:10911"}, "brokerName": "broker-a", "cluster": "DefaultCluster"}],
    "queueDatas": [{"brokerName": "broker-a", "perm": 6, "readQueueNums": 8, "topicSysFlag": 0, "writeQueueNums": 8}],
}


def running_info(client_id: str, *, expression: str = "*", stacks: bool = False) -> dict[str, object]:
    """A ConsumerRunningInfo of a client on payments."""
    held = {"cachedMsgCount": 12, "cachedMsgSizeInMiB": 1, "commitOffset": 5, "droped": False, "locked": False,
            "lastConsumeTimestamp": 1_795_227_302_000, "lastPullTimestamp": 1_795_227_302_500}  # fmt: skip
    status = {"consumeFailedTPS": 2.2, "consumeOKTPS": 190.0, "consumeRT": 20.8, "pullRT": 1.0, "pullTPS": 190.0}
    return {
        "jstack": JSTACK if stacks else None,
        "mqTable": {MessageQueue("payments", "broker-a", 0): held},
        "properties": {
            "PROP_CLIENT_VERSION": "V4_9_8",
            "PROP_CONSUMEORDERLY": "false",
            "PROP_CONSUME_TYPE": "CONSUME_PASSIVELY",
            "PROP_CONSUMER_START_TIMESTAMP": "1795200000000",
            "PROP_THREADPOOL_CORE_SIZE": "20",
        },
        "statusTable": {"payments": status},
        "subscriptionSet": [{"subString": expression, "topic": "payments", "expressionType": "TAG"}],
    }


def reset_answer(fields: dict[str, str]) -> BrokerAnswer:
    """Where a reset takes the members of a group."""
    queues, offset = range(PAYMENT_QUEUES), {"0": 0, "-1": BEHIND_ALL}.get(fields["timestamp"], FOUND_OFFSET)
    if "offset" in fields:
        queues, offset = range(int(fields["queueId"]), int(fields["queueId"]) + 1), int(fields["offset"])
    table = {MessageQueue(fields["topic"], "broker-a", queue): offset for queue in queues}
    return BrokerAnswer(body=emit({"offsetTable": table}))


def fake_broker_answer(request: AskBroker) -> BrokerAnswer:
    """What the shop's broker says; members of notify-sms disagree about their filter."""
    fields = request.fields
    match request.code:
        case RequestCode.GET_TOPIC_CONFIG:
            return BrokerAnswer(body=emit(topic_config(fields["topic"])))
        case RequestCode.GET_ALL_TOPIC_CONFIG:
            return BrokerAnswer(body=emit({"topicConfigTable": {name: topic_config(name) for name in _NAMES}}))
        case RequestCode.GET_ROUTEINFO_BY_TOPIC:
            return BrokerAnswer(body=emit(_ROUTE))
        case RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG:
            return BrokerAnswer(body=emit(GROUP_CONFIG | {"groupName": fields["group"]}))
        case RequestCode.GET_CONSUMER_RUNNING_INFO:
            client = fields["clientId"]
            differs = fields["consumerGroup"] == "notify-sms" and client.startswith("c2")
            info = running_info(
                client, expression="PAID || REFUND" if differs else "*", stacks=fields["jstackEnable"] == "true"
            )
            return BrokerAnswer(body=emit(info))
        case RequestCode.SEARCH_OFFSET_BY_TIMESTAMP:
            return BrokerAnswer({"offset": str(FOUND_OFFSET)})
        case RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
            return reset_answer(fields)
    return BrokerAnswer()
