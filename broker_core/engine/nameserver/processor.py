"""Answers of the name server; their JSON in both forms that clients read (Source: docs/spec/remoting.md §4.1, §4.4).

Clients before 4.9.4 expect maps with bare integer keys (``{0:"host:port"}``), later ones request strict JSON.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace

from broker_core.engine.nameserver.kv_config import ORDER_TOPIC_NAMESPACE, KvConfig
from broker_core.engine.nameserver.registration import FLAG_UNIT, FLAG_UNIT_SUB, DataVersion, Registration
from broker_core.engine.nameserver.route_info import BrokerData, BrokerIdentity, RouteInfo, TopicRoute
from broker_core.engine.nameserver.settings import (
    ALL_TOPIC_LIST,
    ORDER_MESSAGES,
    ORDER_TO_BROKERS,
    TOPIC_LIST,
    NameServerSettings,
)
from broker_core.errors import CodecError, RequestRefusedError
from broker_core.protocol.admin.routes import QueueData
from broker_core.protocol.codes import VERSION_STRICT_JSON_ROUTES, RequestCode, ResponseCode
from broker_core.protocol.fields import Fields, bool_field, int_field, long_field, text_field
from broker_core.protocol.frame import Buffer, RemotingCommand
from broker_core.protocol.json_body import JsonValue, emit, parse_object
from broker_core.protocol.mandatory import check_mandatory_fields

_CRC_MASK = 0x7FFFFFFF
_SILENCE_MS_MAX = 3_600_000

_NO_ROUTE = (
    "No topic route info in name server for the topic: {}\nSee http://rocketmq.apache.org/docs/faq/ for further details."
)


def encode_route(route: TopicRoute, *, strict: bool) -> bytes:
    """TopicRouteData; ``strict`` chooses quoted broker ids and ASCII only over bare ids."""
    value = {
        "brokerDatas": [_broker(broker) for broker in route.brokers],
        "filterServerTable": {address: list(names) for address, names in route.filter_servers.items()},
        "orderTopicConf": route.order_conf,
        "queueDatas": [_queue(data) for data in route.queues],
    }
    return emit(value, bare_int_keys=not strict, ascii_only=strict)


def encode_cluster_info(brokers: Mapping[str, BrokerData], clusters: Mapping[str, Sequence[str]]) -> bytes:
    """ClusterInfo; broker ids are quoted, which every known reader takes."""
    table = {name: _broker(broker) for name, broker in brokers.items()}
    return emit({"brokerAddrTable": table, "clusterAddrTable": clusters})


def encode_topic_list(topics: Sequence[str], broker_address: str | None = None) -> bytes:
    return emit({"brokerAddr": broker_address, "topicList": topics})


def decode_queues(body: Buffer) -> list[QueueData]:
    """The queues of a TopicRouteData. Raises `CodecError` for any other body."""
    items = parse_object(body).get("queueDatas")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise CodecError("queueDatas of a topic route is no list of queue data")
    return [_queue_data(item) for item in items]


def _queue_data(item: Mapping[str, JsonValue]) -> QueueData:
    numbers = [item.get(name, 0) for name in ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")]
    whole = [number for number in numbers if isinstance(number, int) and not isinstance(number, bool) and number >= 0]
    name = item.get("brokerName")
    if not isinstance(name, str) or len(whole) != len(numbers):
        raise CodecError(f"the queue data {str(item)[:200]} of a topic route cannot be read")
    return QueueData(name, *whole)


def _broker(broker: BrokerData) -> JsonValue:
    return {"brokerAddrs": broker.addresses, "brokerName": broker.broker_name, "cluster": broker.cluster}


def _queue(data: QueueData) -> JsonValue:
    return {
        "brokerName": data.broker_name,
        "perm": data.permission,
        "readQueueNums": data.read_queues,
        "topicSysFlag": data.topic_sys_flag,
        "writeQueueNums": data.write_queues,
    }


class NameServerProcessor:
    """Answers every request of the name server, without I/O (Source: docs/spec/remoting.md §2.7).

    ``settings`` are those of a new one by default.
    """

    def __init__(
        self, routes: RouteInfo, kv: KvConfig, *, clock: Callable[[], int], settings: NameServerSettings | None = None
    ) -> None:
        self._settings = NameServerSettings() if settings is None else settings
        self._routes = routes
        self._kv = kv
        self._clock = clock
        self._serve: dict[int, Callable[[Hashable, RemotingCommand], RemotingCommand]] = {
            RequestCode.GET_ROUTEINFO_BY_TOPIC: self._route,
            RequestCode.REGISTER_BROKER: self._register,
            RequestCode.UNREGISTER_BROKER: self._unregister,
            RequestCode.QUERY_DATA_VERSION: self._query_version,
            RequestCode.BROKER_HEARTBEAT: self._heartbeat,
            RequestCode.GET_BROKER_CLUSTER_INFO: self._cluster_info,
            RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: self._topics,
            RequestCode.GET_TOPICS_BY_CLUSTER: self._topics_of_cluster,
            RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: self._system_topics,
            RequestCode.DELETE_TOPIC_IN_NAMESRV: self._delete_topic,
            RequestCode.REGISTER_TOPIC_IN_NAMESRV: self._put_topic,
            RequestCode.WIPE_WRITE_PERM_OF_BROKER: self._wipe_write,
            RequestCode.ADD_WRITE_PERM_OF_BROKER: self._add_write,
            RequestCode.PUT_KV_CONFIG: self._put_kv,
            RequestCode.GET_KV_CONFIG: self._get_kv,
            RequestCode.DELETE_KV_CONFIG: self._delete_kv,
            RequestCode.GET_KVLIST_BY_NAMESPACE: self._kv_namespace,
            RequestCode.GET_NAMESRV_CONFIG: self._read_settings,
            RequestCode.UPDATE_NAMESRV_CONFIG: self._change_settings,
            RequestCode.GET_UNIT_TOPIC_LIST: self._unit_topics,
            RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: self._unit_sub_topics,
            RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: self._unit_sub_ununit_topics,
            RequestCode.GET_BROKER_MEMBER_GROUP: self._members,
        }

    def handle(self, connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        """Serve one request of a connection; a fault in it becomes the answer's remark."""
        serve = self._serve.get(command.code)
        if serve is None:
            return command.not_supported()
        try:
            check_mandatory_fields(command)
            return serve(connection, command)
        except RequestRefusedError as refusal:
            return command.reply(refusal.code, refusal.message)
        except CodecError as error:
            return command.reply(ResponseCode.SYSTEM_ERROR, error.message)

    # ---- routes ----

    def _route(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        topic = text_field(command.ext_fields, "topic")
        route = self._routes.route(topic)
        if route is None:
            return command.reply(ResponseCode.TOPIC_NOT_EXIST, _NO_ROUTE.format(topic))
        if self._settings.is_on(ORDER_MESSAGES):
            route = replace(route, order_conf=self._kv.get(ORDER_TOPIC_NAMESPACE, topic))
        strict = command.version >= VERSION_STRICT_JSON_ROUTES or bool_field(command.ext_fields, "acceptStandardJsonOnly")
        return command.reply(body=encode_route(route, strict=strict))

    def _cluster_info(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=encode_cluster_info(self._routes.brokers(), self._routes.clusters()))

    def _members(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        cluster, name = text_field(command.ext_fields, "clusterName"), text_field(command.ext_fields, "brokerName")
        broker = self._routes.brokers().get(name)
        addresses = {} if broker is None or broker.cluster != cluster else broker.addresses
        group = {"brokerAddrs": addresses, "brokerName": name, "cluster": cluster}
        return command.reply(body=emit({"brokerMemberGroup": group}))

    def _unit_topics(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=encode_topic_list(self._routes.topics_with_flag(FLAG_UNIT)))

    def _unit_sub_topics(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=encode_topic_list(self._routes.topics_with_flag(FLAG_UNIT_SUB)))

    def _unit_sub_ununit_topics(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=encode_topic_list(self._routes.topics_with_flag(FLAG_UNIT_SUB, FLAG_UNIT)))

    def _topics(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        self._check_lists(ALL_TOPIC_LIST)
        return command.reply(body=encode_topic_list(self._routes.topics()))

    def _topics_of_cluster(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        self._check_lists(TOPIC_LIST)
        return command.reply(body=encode_topic_list(self._routes.topics_of_cluster(text_field(command.ext_fields, "cluster"))))

    def _check_lists(self, setting: str) -> None:
        if not self._settings.is_on(setting):
            raise RequestRefusedError(f"disable: {setting} is false", code=ResponseCode.SYSTEM_ERROR)

    def _system_topics(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        brokers = self._routes.brokers()
        addresses = [address for broker in brokers.values() for address in broker.addresses.values()]
        topics = [*self._routes.clusters(), *brokers]
        return command.reply(body=encode_topic_list(topics, addresses[0] if addresses else None))

    def _delete_topic(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        self._routes.delete_topic(text_field(command.ext_fields, "topic"), command.ext_fields.get("clusterName"))
        return command.reply()

    def _put_topic(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        queues = decode_queues(command.body) if len(command.body) else []
        self._routes.put_topic(text_field(command.ext_fields, "topic"), queues)
        return command.reply()

    def _wipe_write(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        count = self._routes.wipe_write_permission(text_field(command.ext_fields, "brokerName"))
        return command.reply(ext_fields={"wipeTopicCount": str(count)})

    def _add_write(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        count = self._routes.add_write_permission(text_field(command.ext_fields, "brokerName"))
        return command.reply(ext_fields={"addTopicCount": str(count)})

    # ---- brokers ----

    def _register(self, connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        fields = command.ext_fields
        body = bytes(command.body)
        crc = int_field(fields, "bodyCrc32", 0)
        if crc and crc != zlib.crc32(body) & _CRC_MASK:
            return command.reply(ResponseCode.SYSTEM_ERROR, "crc32 not match")
        if body:
            registration = Registration.from_bytes(body, compressed=bool_field(fields, "compressed"))
        else:
            registration = Registration(DataVersion(0, 0), {})
        answer = self._routes.register(
            _identity(command),
            registration,
            ha_address=fields.get("haServerAddr", ""),
            connection=connection,
            now_ms=self._clock(),
            silence_max_ms=_silence_ms(fields),
        )
        known = {"masterAddr": answer.master_address, "haServerAddr": answer.ha_address}
        ext_fields = {name: value for name, value in known.items() if value is not None}
        order = self._kv.namespace(ORDER_TOPIC_NAMESPACE) if self._settings.is_on(ORDER_TO_BROKERS) else None
        return command.reply(ext_fields=ext_fields, body=b"" if order is None else emit({"table": order}))

    def _unregister(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        self._routes.unregister(_identity(command))
        return command.reply()

    def _query_version(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        asked = DataVersion.from_json(parse_object(command.body))
        changed, known = self._routes.touch(_identity(command).address, asked, now_ms=self._clock())
        ext_fields = {"changed": "true" if changed else "false"}
        return command.reply(ext_fields=ext_fields, body=b"" if known is None else emit(known.to_json()))

    def _heartbeat(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        self._routes.heard(text_field(command.ext_fields, "brokerAddr"), now_ms=self._clock())
        return command.reply()

    # ---- settings ----

    def _read_settings(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        return command.reply(body=self._settings.to_text().encode())

    def _change_settings(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        try:
            text = bytes(command.body).decode()
        except UnicodeDecodeError as error:
            remark = f"string2Properties error: the settings are not UTF-8 text ({error})"
            raise RequestRefusedError(remark, code=ResponseCode.SYSTEM_ERROR) from error
        self._settings.change(text)
        return command.reply()

    # ---- configuration items ----

    def _put_kv(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        fields = command.ext_fields
        self._kv.put(text_field(fields, "namespace"), text_field(fields, "key"), fields.get("value", ""))
        return command.reply()

    def _get_kv(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        namespace, key = text_field(command.ext_fields, "namespace"), text_field(command.ext_fields, "key")
        value = self._kv.get(namespace, key)
        if value is None:
            return command.reply(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {namespace} Key: {key}")
        return command.reply(ext_fields={"value": value})

    def _delete_kv(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        self._kv.delete(text_field(command.ext_fields, "namespace"), text_field(command.ext_fields, "key"))
        return command.reply()

    def _kv_namespace(self, _connection: Hashable, command: RemotingCommand) -> RemotingCommand:
        namespace = text_field(command.ext_fields, "namespace")
        items = self._kv.namespace(namespace)
        if items is None:
            return command.reply(ResponseCode.QUERY_NOT_FOUND, f"No config item, Namespace: {namespace}")
        return command.reply(body=emit({"table": items}))


def _silence_ms(fields: Fields) -> int | None:
    """The silence that a 5.x broker announces; an hour at most, or it would never be dropped."""
    given = long_field(fields, "heartbeatTimeoutMillis", 0)
    return min(given, _SILENCE_MS_MAX) if given > 0 else None


def _identity(command: RemotingCommand) -> BrokerIdentity:
    fields = command.ext_fields
    return BrokerIdentity(
        cluster=text_field(fields, "clusterName"),
        broker_name=text_field(fields, "brokerName"),
        broker_id=long_field(fields, "brokerId"),
        address=text_field(fields, "brokerAddr"),
    )
