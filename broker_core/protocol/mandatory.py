"""Header fields that a request cannot do without, and the refusal of one that lacks them.

RocketMQ declares fields as mandatory, but decodes a header without them: a missing one is null, and the request fails with code
1 where the field is used. So it takes requests without a declared field that it does not use. The table has the fields that 4.9
or 5.x declare, without those that neither needs: producer group, template topic and its queues of a send; commit offset, wait
and version of a pull; times and start of a pop; order of a topic; address of the replication; id of a client that leaves.

Source: docs/spec/remoting.md §1.5 and §2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from broker_core.errors import RequestRefusedError
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.names import BLANK_TOPIC

_SEND = "topic queueId sysFlag bornTimestamp flag"
_SHORT_SEND = "b e f g h"
_PULL = "consumerGroup topic queueId queueOffset maxMsgNums sysFlag"
_QUEUE = "topic queueId"
_GROUP_AND_QUEUE = "consumerGroup topic queueId"
_BROKER = "clusterName brokerName brokerAddr brokerId"

_TABLE: Mapping[int, tuple[str, ...]] = {
    int(code): tuple(names.split())
    for code, names in {
        RequestCode.SEND_MESSAGE: _SEND,
        RequestCode.SEND_MESSAGE_V2: _SHORT_SEND,
        RequestCode.SEND_BATCH_MESSAGE: _SHORT_SEND,
        RequestCode.SEND_REPLY_MESSAGE: _SEND,
        RequestCode.SEND_REPLY_MESSAGE_V2: _SHORT_SEND,
        RequestCode.PULL_MESSAGE: _PULL,
        RequestCode.LITE_PULL_MESSAGE: _PULL,
        RequestCode.QUERY_MESSAGE: "topic key maxNum beginTimestamp endTimestamp",
        RequestCode.QUERY_CONSUMER_OFFSET: _GROUP_AND_QUEUE,
        RequestCode.UPDATE_CONSUMER_OFFSET: f"{_GROUP_AND_QUEUE} commitOffset",
        RequestCode.UPDATE_AND_CREATE_TOPIC: "topic readQueueNums writeQueueNums perm topicFilterType",
        RequestCode.SEARCH_OFFSET_BY_TIMESTAMP: f"{_QUEUE} timestamp",
        RequestCode.GET_MAX_OFFSET: _QUEUE,
        RequestCode.GET_MIN_OFFSET: _QUEUE,
        RequestCode.GET_EARLIEST_MSG_STORETIME: _QUEUE,
        RequestCode.VIEW_MESSAGE_BY_ID: "offset",
        RequestCode.CONSUMER_SEND_MSG_BACK: "offset group delayLevel",
        RequestCode.END_TRANSACTION: "producerGroup tranStateTableOffset commitLogOffset commitOrRollback",
        RequestCode.GET_CONSUMER_LIST_BY_GROUP: "consumerGroup",
        RequestCode.GET_TOPIC_STATS_INFO: "topic",
        RequestCode.GET_CONSUMER_CONNECTION_LIST: "consumerGroup",
        RequestCode.GET_PRODUCER_CONNECTION_LIST: "producerGroup",
        RequestCode.DELETE_SUBSCRIPTIONGROUP: "groupName",
        RequestCode.GET_CONSUME_STATS: "consumerGroup",
        RequestCode.DELETE_TOPIC_IN_BROKER: "topic",
        RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: "topic group timestamp",
        RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: "topic group",
        RequestCode.QUERY_TOPIC_CONSUME_BY_WHO: "topic",
        RequestCode.REGISTER_FILTER_SERVER: "filterServerAddr",
        RequestCode.QUERY_CONSUME_TIME_SPAN: "topic group",
        RequestCode.GET_CONSUMER_RUNNING_INFO: "consumerGroup clientId",
        RequestCode.QUERY_CORRECTION_OFFSET: "topic compareGroup",
        RequestCode.CONSUME_MESSAGE_DIRECTLY: "consumerGroup",
        RequestCode.CLONE_GROUP_OFFSET: "srcGroup destGroup",
        RequestCode.VIEW_BROKER_STATS_DATA: "statsName statsKey",
        RequestCode.QUERY_TOPICS_BY_CONSUMER: "group",
        RequestCode.QUERY_SUBSCRIPTION_BY_CONSUMER: "group",
        RequestCode.GET_TOPIC_CONFIG: "topic",
        RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG: "group",
        RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN: "group topic",
        RequestCode.RESET_MASTER_FLUSH_OFFSET: "masterFlushOffset",
        RequestCode.POP_MESSAGE: f"{_GROUP_AND_QUEUE} maxMsgNums invisibleTime",
        RequestCode.PEEK_MESSAGE: f"{_GROUP_AND_QUEUE} maxMsgNums",
        RequestCode.ACK_MESSAGE: f"{_GROUP_AND_QUEUE} extraInfo offset",
        RequestCode.CHANGE_MESSAGE_INVISIBLETIME: f"{_GROUP_AND_QUEUE} extraInfo offset invisibleTime",
        RequestCode.NOTIFICATION: _GROUP_AND_QUEUE,
        RequestCode.POLLING_INFO: _GROUP_AND_QUEUE,
        RequestCode.PUT_KV_CONFIG: "namespace key",
        RequestCode.GET_KV_CONFIG: "namespace key",
        RequestCode.DELETE_KV_CONFIG: "namespace key",
        RequestCode.GET_KVLIST_BY_NAMESPACE: "namespace",
        RequestCode.REGISTER_BROKER: _BROKER,
        RequestCode.UNREGISTER_BROKER: _BROKER,
        RequestCode.QUERY_DATA_VERSION: _BROKER,
        RequestCode.BROKER_HEARTBEAT: "clusterName brokerName brokerAddr",
        RequestCode.GET_BROKER_MEMBER_GROUP: "clusterName brokerName",
        RequestCode.GET_ROUTEINFO_BY_TOPIC: "topic",
        RequestCode.WIPE_WRITE_PERM_OF_BROKER: "brokerName",
        RequestCode.ADD_WRITE_PERM_OF_BROKER: "brokerName",
        RequestCode.DELETE_TOPIC_IN_NAMESRV: "topic",
        RequestCode.REGISTER_TOPIC_IN_NAMESRV: "topic",
        RequestCode.GET_TOPICS_BY_CLUSTER: "cluster",
    }.items()
}
_NOTHING_FOUND: Mapping[int, tuple[ResponseCode, tuple[str, ...]]] = {
    RequestCode.QUERY_MESSAGE: (ResponseCode.QUERY_NOT_FOUND, ("topic", "key")),
    RequestCode.GET_KV_CONFIG: (ResponseCode.QUERY_NOT_FOUND, ("namespace", "key")),
    RequestCode.GET_KVLIST_BY_NAMESPACE: (ResponseCode.QUERY_NOT_FOUND, ("namespace",)),
    RequestCode.GET_ROUTEINFO_BY_TOPIC: (ResponseCode.TOPIC_NOT_EXIST, ("topic",)),
}
"""Codes of answers where RocketMQ looks for something without a name, and finds nothing."""

_TELL_A_BLANK_TOPIC = frozenset(
    {
        RequestCode.SEND_MESSAGE,
        RequestCode.SEND_MESSAGE_V2,
        RequestCode.SEND_BATCH_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE,
        RequestCode.SEND_REPLY_MESSAGE_V2,
        RequestCode.UPDATE_AND_CREATE_TOPIC,
        RequestCode.DELETE_TOPIC_IN_BROKER,
    }
)


def mandatory_fields(code: int) -> tuple[str, ...]:
    """Fields that a request of this code has to have; none for a code without such fields or an unknown one."""
    return _TABLE.get(code, ())


def check_mandatory_fields(command: RemotingCommand) -> None:
    """Refuse a request that lacks a mandatory field, or has an empty one, by `RequestRefusedError` that names it."""
    fields = command.ext_fields
    for name in _TABLE.get(command.code, ()):
        if not fields.get(name):
            _refuse(command.code, name)


def _refuse(code: int, name: str) -> NoReturn:
    answer, names = _NOTHING_FOUND.get(code, (ResponseCode.SYSTEM_ERROR, ()))
    is_blank_topic = name in ("topic", "b") and code in _TELL_A_BLANK_TOPIC
    remark = BLANK_TOPIC if is_blank_topic else f"the header field {name} is missing"
    raise RequestRefusedError(remark, code=answer if name in names else ResponseCode.SYSTEM_ERROR)
