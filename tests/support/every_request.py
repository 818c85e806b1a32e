"""A complete request of every code that is served, and a running broker that has what they ask for."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.protocol.codes import RequestCode as Q
from broker_core.protocol.codes import ResponseCode as R
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import emit
from broker_core.protocol.message.batch import BatchMember, encode_batch
from broker_core.transport.connection import Connection
from tests.support.broker_bench import consumer_heartbeat, pull_fields, send_fields

TOPIC = {"topic": "T"}
QUEUE = {"topic": "T", "queueId": 0}
GROUP = {"consumerGroup": "CG"}
ORDER_LOCK = {"clientId": "c", "consumerGroup": "CG", "mqSet": [{"brokerName": "broker-a", "queueId": 0, "topic": "T"}]}
GROUP_CONFIG = {"groupName": "made"}
MADE = {
    "topic": "Made", "defaultTopic": "TBW102", "readQueueNums": 1, "writeQueueNums": 1, "perm": 6,
    "topicFilterType": "SINGLE_TAG", "topicSysFlag": 0, "order": "false",
}  # fmt: skip
LONG_NAMES = {
    "producerGroup": "PG", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": 4, "queueId": 0, "sysFlag": 0,
    "bornTimestamp": 1, "flag": 0, "properties": "", "reconsumeTimes": 0,
}  # fmt: skip
ASSIGNMENT = {"clientId": "c", "consumerGroup": "CG", "messageModel": "CLUSTERING", "strategyName": "AVG", "topic": "T"}
MODE = {"topic": "T", "consumerGroup": "CG", "mode": "PULL", "popShareQueueNum": 0}
CHECKED = {"clientId": "c", "group": "CG", "subscriptionData": {"topic": "T", "subString": "a>1", "expressionType": "SQL92"}}
BATCH = encode_batch([BatchMember(0, b"a", b""), BatchMember(0, b"b", b"")])
NOT_ONLINE = "not online"
THE_MESSAGE = "id of the first message"
"""Replaced by it."""

# Request → fields, body, code of the answer, and words of its remark or its body.
BROKER = {
    Q.SEND_MESSAGE: (LONG_NAMES, b"x", R.SUCCESS, ""),
    Q.SEND_MESSAGE_V2: (send_fields("T"), b"x", R.SUCCESS, ""),
    Q.SEND_BATCH_MESSAGE: (send_fields("T", batch="true"), BATCH, R.SUCCESS, ""),
    Q.PULL_MESSAGE: (pull_fields("T"), b"", R.SUCCESS, "body"),
    Q.LITE_PULL_MESSAGE: (pull_fields("T"), b"", R.SUCCESS, "body"),
    Q.QUERY_MESSAGE: (TOPIC | {"key": "k", "maxNum": 1, "beginTimestamp": 0, "endTimestamp": 1 << 62}, b"", R.SUCCESS, "first"),
    Q.QUERY_CONSUMER_OFFSET: (QUEUE | GROUP, b"", R.SUCCESS, ""),
    Q.UPDATE_CONSUMER_OFFSET: (QUEUE | GROUP | {"commitOffset": 1}, b"", R.SUCCESS, ""),
    Q.UPDATE_AND_CREATE_TOPIC: (MADE, b"", R.SUCCESS, ""),
    Q.UPDATE_AND_CREATE_TOPIC_LIST: ({}, {"topicConfigList": [{"topicName": "Made"}]}, R.SUCCESS, ""),
    Q.GET_ALL_TOPIC_CONFIG: ({}, b"", R.SUCCESS, "topicConfigTable"),
    Q.UPDATE_BROKER_CONFIG: ({}, b"fileReservedTime=48\n", R.SUCCESS, ""),
    Q.GET_BROKER_CONFIG: ({}, b"", R.SUCCESS, "fileReservedTime=48"),
    Q.GET_BROKER_RUNTIME_INFO: ({}, b"", R.SUCCESS, "putTps"),
    Q.SEARCH_OFFSET_BY_TIMESTAMP: (QUEUE | {"timestamp": 0}, b"", R.SUCCESS, ""),
    Q.GET_MAX_OFFSET: (QUEUE, b"", R.SUCCESS, ""),
    Q.GET_MIN_OFFSET: (QUEUE, b"", R.SUCCESS, ""),
    Q.GET_EARLIEST_MSG_STORETIME: (QUEUE, b"", R.SUCCESS, ""),
    Q.VIEW_MESSAGE_BY_ID: ({"offset": 0}, b"", R.SUCCESS, "first"),
    Q.HEART_BEAT: ({}, consumer_heartbeat("c", T="*"), R.SUCCESS, ""),
    Q.UNREGISTER_CLIENT: ({"clientID": "x", "consumerGroup": "other"}, b"", R.SUCCESS, ""),
    Q.CONSUMER_SEND_MSG_BACK: ({"offset": 0, "group": "CG", "delayLevel": 0}, b"", R.SUCCESS, ""),
    Q.END_TRANSACTION: (
        {"producerGroup": "PG", "tranStateTableOffset": 0, "commitLogOffset": 0, "commitOrRollback": 8, "msgId": "m"},
        b"", R.SYSTEM_ERROR, "transaction",
    ),
    Q.GET_CONSUMER_LIST_BY_GROUP: (GROUP, b"", R.SUCCESS, '["c"]'),
    Q.LOCK_BATCH_MQ: ({}, ORDER_LOCK, R.SUCCESS, "lockOKMQSet"),
    Q.UNLOCK_BATCH_MQ: ({}, ORDER_LOCK, R.SUCCESS, ""),
    Q.GET_ALL_CONSUMER_OFFSET: ({}, b"", R.SUCCESS, "offsetTable"),
    Q.GET_ALL_DELAY_OFFSET: ({}, b"", R.SUCCESS, "offsetTable"),
    Q.CHECK_CLIENT_CONFIG: ({}, CHECKED, R.SYSTEM_ERROR, "SQL92"),
    Q.UPDATE_AND_CREATE_ACL_CONFIG: ({"accessKey": "abcdefgh", "secretKey": "12345678"}, b"", 209, "access control is off"),
    Q.DELETE_ACL_CONFIG: ({"accessKey": "abcdefgh"}, b"", 210, "access control is off"),
    Q.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: ({"globalWhiteAddrs": "1.1.1.1"}, b"", 211, "access control is off"),
    Q.GET_BROKER_CLUSTER_ACL_INFO: ({}, b"", R.SYSTEM_ERROR, "access control is off"),
    Q.GET_BROKER_CLUSTER_ACL_CONFIG: ({}, b"", R.SYSTEM_ERROR, "access control is off"),
    Q.GET_TIMER_CHECK_POINT: ({}, b"", R.SUCCESS, "\0\0"),
    Q.GET_TIMER_METRICS: ({}, b"", R.SUCCESS, "timingCount"),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: ({}, GROUP_CONFIG, R.SUCCESS, ""),
    Q.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: ({}, {"groupConfigList": [GROUP_CONFIG]}, R.SUCCESS, ""),
    Q.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: ({}, b"", R.SUCCESS, "subscriptionGroupTable"),
    Q.GET_SUBSCRIPTIONGROUP_CONFIG: ({"group": "CG"}, b"", R.SUCCESS, "retryMaxTimes"),
    Q.DELETE_SUBSCRIPTIONGROUP: ({"groupName": "made", "removeOffset": "true"}, b"", R.SUCCESS, ""),
    Q.GET_TOPIC_STATS_INFO: (TOPIC, b"", R.SUCCESS, "offsetTable"),
    Q.GET_CONSUMER_CONNECTION_LIST: (GROUP, b"", R.SUCCESS, "connectionSet"),
    Q.GET_PRODUCER_CONNECTION_LIST: ({"producerGroup": "none"}, b"", R.SYSTEM_ERROR, "not exist"),
    Q.GET_ALL_PRODUCER_INFO: ({}, b"", R.SUCCESS, "data"),
    Q.GET_CONSUME_STATS: (GROUP, b"", R.SUCCESS, "consumeTps"),
    Q.GET_BROKER_CONSUME_STATS: ({"isOrder": "false"}, b"", R.SUCCESS, "totalDiff"),
    Q.DELETE_TOPIC_IN_BROKER: ({"topic": "Made"}, b"", R.SUCCESS, ""),
    Q.INVOKE_BROKER_TO_RESET_OFFSET: (
        {"topic": "T", "group": "CG", "timestamp": -1, "isForce": "true"}, b"", R.SUCCESS, "offsetTable",
    ),
    Q.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: ({"topic": "T", "group": "none"}, b"", R.SYSTEM_ERROR, "online"),
    Q.QUERY_TOPIC_CONSUME_BY_WHO: (TOPIC, b"", R.SUCCESS, "CG"),
    Q.QUERY_TOPICS_BY_CONSUMER: ({"group": "CG"}, b"", R.SUCCESS, "topicList"),
    Q.QUERY_SUBSCRIPTION_BY_CONSUMER: ({"group": "CG", "topic": "T"}, b"", R.SUCCESS, "subscriptionData"),
    Q.QUERY_CONSUME_TIME_SPAN: ({"group": "CG", "topic": "T"}, b"", R.SUCCESS, "consumeTimeSpanSet"),
    Q.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: ({}, b"", R.SUCCESS, "TBW102"),
    Q.CLEAN_EXPIRED_CONSUMEQUEUE: ({}, b"", R.SUCCESS, ""),
    Q.CLEAN_UNUSED_TOPIC: ({}, b"", R.SUCCESS, ""),
    Q.DELETE_EXPIRED_COMMITLOG: ({}, b"", R.SUCCESS, ""),
    Q.GET_CONSUMER_RUNNING_INFO: ({"consumerGroup": "CG", "clientId": "none"}, b"", R.SYSTEM_ERROR, NOT_ONLINE),
    Q.CONSUME_MESSAGE_DIRECTLY: (
        {"consumerGroup": "CG", "clientId": "none", "msgId": THE_MESSAGE}, b"", R.SYSTEM_ERROR, NOT_ONLINE,
    ),
    Q.QUERY_CORRECTION_OFFSET: ({"topic": "T", "compareGroup": "CG"}, b"", R.SUCCESS, "correctionOffsets"),
    Q.CLONE_GROUP_OFFSET: ({"srcGroup": "CG", "destGroup": "copy", "topic": "T", "offline": "true"}, b"", R.SUCCESS, ""),
    Q.VIEW_BROKER_STATS_DATA: ({"statsName": "TOPIC_PUT_NUMS", "statsKey": "nowhere"}, b"", R.SYSTEM_ERROR, "not exist"),
    Q.QUERY_CONSUME_QUEUE: (QUEUE | GROUP | {"index": 0, "count": 1}, b"", R.SUCCESS, "physicOffset"),
    Q.RESUME_CHECK_HALF_MESSAGE: ({"msgId": THE_MESSAGE}, b"", R.SYSTEM_ERROR, "half"),
    Q.SEND_REPLY_MESSAGE: (LONG_NAMES | {"topic": "DefaultCluster_REPLY_TOPIC"}, b"x", R.SYSTEM_ERROR, "REPLY_TO_CLIENT"),
    Q.SEND_REPLY_MESSAGE_V2: (send_fields("DefaultCluster_REPLY_TOPIC"), b"x", R.SYSTEM_ERROR, "REPLY_TO_CLIENT"),
    Q.GET_TOPIC_CONFIG: (TOPIC, b"", R.SUCCESS, "readQueueNums"),
    Q.UPDATE_AND_GET_GROUP_FORBIDDEN: ({"group": "CG", "topic": "T", "readable": "true"}, b"", R.SUCCESS, "readable"),
    Q.RECALL_MESSAGE: ({"topic": "T", "recallHandle": "x"}, b"", R.NO_PERMISSION, "recallMessageEnable"),
    Q.REGISTER_FILTER_SERVER: ({"filterServerAddr": "127.0.0.1:7777"}, b"", R.SUCCESS, "'brokerName': 'broker-a'"),
    Q.QUERY_ASSIGNMENT: ({}, ASSIGNMENT, R.SUCCESS, "messageQueueAssignments"),
    Q.SET_MESSAGE_REQUEST_MODE: ({}, MODE, R.SUCCESS, ""),
    Q.GET_ALL_MESSAGE_REQUEST_MODE: ({}, b"", R.SUCCESS, "messageRequestModeMap"),
    Q.GET_BROKER_HA_STATUS: ({}, b"", R.SUCCESS, "masterCommitLogMaxOffset"),
    Q.RESET_MASTER_FLUSH_OFFSET: ({"masterFlushOffset": 0}, b"", R.SUCCESS, ""),
    Q.POP_MESSAGE: (
        QUEUE | GROUP | {"maxMsgNums": 1, "invisibleTime": 10_000, "pollTime": 0, "bornTime": 0, "initMode": 0},
        b"", R.SUCCESS, "FOUND",
    ),
    Q.PEEK_MESSAGE: (QUEUE | GROUP | {"maxMsgNums": 1}, b"", R.SUCCESS, "FOUND"),
    Q.ACK_MESSAGE: (QUEUE | GROUP | {"extraInfo": "x", "offset": 0}, b"", R.MESSAGE_ILLEGAL, "receipt handle"),
    Q.BATCH_ACK_MESSAGE: ({}, {"acks": []}, R.MESSAGE_ILLEGAL, "acks"),
    Q.CHANGE_MESSAGE_INVISIBLETIME: (
        QUEUE | GROUP | {"extraInfo": "x", "offset": 0, "invisibleTime": 1}, b"", R.MESSAGE_ILLEGAL, "receipt handle",
    ),
    Q.NOTIFICATION: (QUEUE | GROUP | {"pollTime": 0, "bornTime": 0}, b"", R.SUCCESS, ""),
    Q.POLLING_INFO: (QUEUE | GROUP, b"", R.SUCCESS, ""),
    Q.POP_ROLLBACK: ({}, b"", R.SUCCESS, ""),
}  # fmt: skip

NAME_SERVER = {
    Q.PUT_KV_CONFIG: ({"namespace": "n", "key": "k", "value": "v"}, b"", R.SUCCESS, ""),
    Q.GET_KV_CONFIG: ({"namespace": "n", "key": "k"}, b"", R.SUCCESS, ""),
    Q.GET_KVLIST_BY_NAMESPACE: ({"namespace": "n"}, b"", R.SUCCESS, "table"),
    Q.DELETE_KV_CONFIG: ({"namespace": "n", "key": "k"}, b"", R.SUCCESS, ""),
    Q.REGISTER_BROKER: (
        {"brokerName": "b", "brokerAddr": "127.0.0.1:1", "clusterName": "c", "haServerAddr": "", "brokerId": 0},
        b"", R.SUCCESS, "",
    ),
    Q.QUERY_DATA_VERSION: (
        {"brokerName": "b", "brokerAddr": "127.0.0.1:1", "clusterName": "c", "brokerId": 0}, {}, R.SUCCESS, "",
    ),
    Q.BROKER_HEARTBEAT: ({"brokerName": "b", "brokerAddr": "127.0.0.1:1", "clusterName": "c"}, b"", R.SUCCESS, ""),
    Q.UNREGISTER_BROKER: (
        {"brokerName": "b", "brokerAddr": "127.0.0.1:1", "clusterName": "c", "brokerId": 0}, b"", R.SUCCESS, "",
    ),
    Q.GET_ROUTEINFO_BY_TOPIC: (TOPIC, b"", R.SUCCESS, "queueDatas"),
    Q.GET_BROKER_CLUSTER_INFO: ({}, b"", R.SUCCESS, "brokerAddrTable"),
    Q.GET_BROKER_MEMBER_GROUP: ({"clusterName": "DefaultCluster", "brokerName": "broker-a"}, b"", R.SUCCESS, "broker-a"),
    Q.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: ({}, b"", R.SUCCESS, '"T"'),
    Q.GET_TOPICS_BY_CLUSTER: ({"cluster": "DefaultCluster"}, b"", R.SUCCESS, '"T"'),
    Q.GET_SYSTEM_TOPIC_LIST_FROM_NS: ({}, b"", R.SUCCESS, "broker-a"),
    Q.REGISTER_TOPIC_IN_NAMESRV: (
        {"topic": "Told"},
        {"queueDatas": [{"brokerName": "broker-a", "perm": 6, "readQueueNums": 1, "writeQueueNums": 1, "topicSysFlag": 0}]},
        R.SUCCESS, "",
    ),
    Q.DELETE_TOPIC_IN_NAMESRV: ({"topic": "Told"}, b"", R.SUCCESS, ""),
    Q.WIPE_WRITE_PERM_OF_BROKER: ({"brokerName": "broker-a"}, b"", R.SUCCESS, ""),
    Q.ADD_WRITE_PERM_OF_BROKER: ({"brokerName": "broker-a"}, b"", R.SUCCESS, ""),
    Q.GET_NAMESRV_CONFIG: ({}, b"", R.SUCCESS, "config/kvConfig.json"),
    Q.UPDATE_NAMESRV_CONFIG: ({}, b"orderMessageEnable=true\n", R.SUCCESS, ""),
    Q.GET_UNIT_TOPIC_LIST: ({}, b"", R.SUCCESS, "topicList"),
    Q.GET_HAS_UNIT_SUB_TOPIC_LIST: ({}, b"", R.SUCCESS, "topicList"),
    Q.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: ({}, b"", R.SUCCESS, "topicList"),
}  # fmt: skip


class Asked:
    """Connections to a broker with a topic, a member of a group, and a message; knows the message's id."""

    def __init__(self, client: Connection, names: Connection) -> None:
        self.client, self.names = client, names
        self.message_id = ""

    async def ask(self, connection: Connection, code: int, fields: Mapping[str, object], body: object) -> RemotingCommand:
        """The answer to one request; a body that is no bytes is sent as JSON."""
        ext = {name: str(value) for name, value in fields.items()}
        if ext.get("msgId") == THE_MESSAGE:
            ext["msgId"] = self.message_id
        data = body if isinstance(body, bytes) else emit(body)
        return await connection.request(RemotingCommand(code, ext, data), 20_000)

    async def fill(self) -> None:
        """Make the topic, the group and the message."""
        await self.ask(self.client, Q.UPDATE_AND_CREATE_TOPIC, MADE | TOPIC | {"readQueueNums": 4, "writeQueueNums": 4}, b"")
        await self.ask(self.client, Q.HEART_BEAT, {}, consumer_heartbeat("c", T="*"))
        sent = await self.ask(self.client, Q.SEND_MESSAGE_V2, send_fields("T", properties="KEYS\x01k"), b"first body")
        self.message_id = sent.ext_fields["msgId"]
