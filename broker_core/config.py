"""Settings of name server, broker and store, under their RocketMQ keys.

Attributes are snake_case with the unit last; the RocketMQ key of each is in the field's metadata, the only place where
it is spelled. Defaults are those of RocketMQ 4.9 (Source: docs/spec/store.md §15, docs/spec/broker.md §15).
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from broker_core.errors import UsageError

FlushDiskType = Literal["ASYNC_FLUSH", "SYNC_FLUSH"]
TlsMode = Literal["disabled", "permissive", "enforcing"]
Switch = Literal["on", "off"]
Release = Literal["5.3.3", "4.9.8"]
ClientAuth = Literal["none", "optional", "require"]

CONSUME_QUEUE_UNIT_BYTES = 20
BODY_BYTES_MAX = 16 * 1024 * 1024 - 65_536
"""Largest body that a client gets: a frame has 16 MiB, with the properties and the rest of the record."""


def _setting(key: str, default: Any, *, secret: bool = False, live: bool | tuple[int, int] = False) -> Any:  # noqa: ANN401  dataclasses.field is typed so
    """A setting under its RocketMQ key.

    Args:
        key: As in ``broker.conf``.
        default: Value of an absent setting.
        secret: Never shown, logged or reported.
        live: Whether UPDATE_BROKER_CONFIG may change it at run time: True, or the smallest and the largest number allowed.
            A live setting must be read at each use; a path, an address or a name is never live.
    """
    return field(default=default, repr=not secret, metadata={"key": key, "secret": secret, "live": live})


@dataclass(frozen=True, slots=True)
class StoreConfig:
    """How a store directory is laid out and served. Sizes in bytes, times in milliseconds."""

    root: Path = _setting("storePathRootDir", Path("store"))
    commit_log_paths: str = _setting("storePathCommitLog", "")
    commit_log_paths_read_only: str = _setting("readOnlyCommitLogStorePaths", "")
    commit_log_file_bytes: int = _setting("mappedFileSizeCommitLog", 1 << 30)
    consume_queue_file_bytes: int = _setting("mappedFileSizeConsumeQueue", 6_000_000)
    consume_queue_ext: bool = _setting("enableConsumeQueueExt", False)
    consume_queue_ext_file_bytes: int = _setting("mappedFileSizeConsumeQueueExt", 50_331_648)
    multi_dispatch: bool = _setting("enableMultiDispatch", False)
    lmq: bool = _setting("enableLmq", False)
    lmq_queues_max: int = _setting("maxLmqConsumeQueueNum", 20_000)
    message_index: bool = _setting("messageIndexEnable", True)
    max_hash_slots: int = _setting("maxHashSlotNum", 5_000_000)
    max_index_items: int = _setting("maxIndexNum", 20_000_000)
    query_messages_max: int = _setting("maxMsgsNumBatch", 64, live=(1, 10_000))
    default_query_messages: int = _setting("defaultQueryMaxNum", 32, live=(1, 10_000))
    flush_disk_type: FlushDiskType = _setting("flushDiskType", "ASYNC_FLUSH")
    flush_commit_log_interval_ms: int = _setting("flushIntervalCommitLog", 500, live=(1, 60_000))
    flush_commit_log_least_pages: int = _setting("flushCommitLogLeastPages", 4, live=(0, 1_000_000))
    flush_commit_log_thorough_interval_ms: int = _setting("flushCommitLogThoroughInterval", 10_000, live=(1, 3_600_000))
    flush_consume_queue_interval_ms: int = _setting("flushIntervalConsumeQueue", 1_000, live=(1, 60_000))
    flush_consume_queue_least_pages: int = _setting("flushConsumeQueueLeastPages", 2)
    flush_consume_queue_thorough_interval_ms: int = _setting("flushConsumeQueueThoroughInterval", 60_000, live=(1, 3_600_000))
    sync_flush_timeout_ms: int = _setting("syncFlushTimeout", 5_000, live=(1, 3_600_000))
    max_message_bytes: int = _setting("maxMessageSize", 4 * 1024 * 1024, live=(1, BODY_BYTES_MAX))
    check_crc_on_recover: bool = _setting("checkCRCOnRecover", True)
    max_transfer_bytes_in_memory: int = _setting("maxTransferBytesOnMessageInMemory", 262_144, live=(1, 64 * 1024 * 1024))
    max_transfer_count_in_memory: int = _setting("maxTransferCountOnMessageInMemory", 32, live=(1, 10_000))
    max_transfer_bytes_on_disk: int = _setting("maxTransferBytesOnMessageInDisk", 65_536, live=(1, 64 * 1024 * 1024))
    max_transfer_count_on_disk: int = _setting("maxTransferCountOnMessageInDisk", 8, live=(1, 10_000))
    force_record_crc: bool = _setting("forceVerifyPropCRC", False)
    access_in_memory_max_ratio_percent: int = _setting("accessMessageInMemoryMaxRatio", 40)
    disk_max_used_percent: int = _setting("diskMaxUsedSpaceRatio", 75, live=(10, 95))
    disk_warning_percent: int = _setting("diskSpaceWarningLevelRatio", 90, live=(35, 100))
    disk_clean_forcibly_percent: int = _setting("diskSpaceCleanForciblyRatio", 85, live=(35, 100))
    clean_forcibly: bool = _setting("cleanFileForciblyEnable", True, live=True)
    clean_interval_ms: int = _setting("cleanResourceInterval", 10_000, live=(1, 3_600_000))
    delete_when: str = _setting("deleteWhen", "04", live=True)
    file_reserved_hours: int = _setting("fileReservedTime", 72, live=(0, 1_000_000))
    delete_batch_files: int = _setting("deleteFileBatchMax", 10, live=(1, 1_000))
    message_delay_level: str = _setting("messageDelayLevel", "1s 5s 10s 30s 1m 2m 3m 4m 5m 6m 7m 8m 9m 10m 20m 30m 1h 2h")
    timer_wheel: bool = _setting("timerWheelEnable", True)
    timer_precision_ms: int = _setting("timerPrecisionMs", 1_000)
    timer_max_delay_seconds: int = _setting("timerMaxDelaySec", 259_200)
    timer_roll_window_slots: int = _setting("timerRollWindowSlot", 172_800)
    timer_congest_messages: int = _setting("timerCongestNumEachSlot", (1 << 31) - 1)
    timer_flush_interval_ms: int = _setting("timerFlushIntervalMs", 1_000)
    timer_log_file_bytes: int = _setting("mappedFileSizeTimerLog", 100 * 1024 * 1024)
    native: Switch = _setting("orbitNative", "on")

    @property
    def consume_queue_file_bytes_rounded(self) -> int:
        """Consume queue file size, rounded up to whole units (Source: docs/spec/store.md §4.1)."""
        units = -(-self.consume_queue_file_bytes // CONSUME_QUEUE_UNIT_BYTES)
        return units * CONSUME_QUEUE_UNIT_BYTES


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """Identity, address and behaviour of the broker. Times in milliseconds."""

    cluster_name: str = _setting("brokerClusterName", "DefaultCluster")
    broker_name: str = _setting("brokerName", "broker-a")
    broker_id: int = _setting("brokerId", 0)
    listen_port: int = _setting("listenPort", 10911)
    name_server_port: int = _setting("namesrvPort", 9876)
    busy_poll: Switch = _setting("orbitBusyPoll", "on")
    grpc: Switch = _setting("orbitGrpc", "on")
    grpc_port: int = _setting("grpcServerPort", 8081)
    bind_host: str = _setting("bindAddress", "127.0.0.1")
    advertised_host: str = _setting("brokerIP1", "127.0.0.1")
    default_topic_queue_count: int = _setting("defaultTopicQueueNums", 8)
    auto_create_topic: bool = _setting("autoCreateTopicEnable", True, live=True)
    auto_create_group: bool = _setting("autoCreateSubscriptionGroup", True, live=True)
    auto_create_topics_max: int = _setting("orbitAutoCreateTopicsMax", 20_000, live=(0, 1_000_000))
    auto_create_groups_max: int = _setting("orbitAutoCreateGroupsMax", 20_000, live=(0, 1_000_000))
    permission: int = _setting("brokerPermission", 6, live=(0, 7))
    flush_consumer_offset_interval_ms: int = _setting("flushConsumerOffsetInterval", 5_000, live=(1_000, 3_600_000))
    flush_delay_offset_interval_ms: int = _setting("flushDelayOffsetInterval", 10_000)
    long_polling: bool = _setting("longPollingEnable", True, live=True)
    short_polling_ms: int = _setting("shortPollingTimeMills", 1_000, live=(1, 300_000))
    property_filter: bool = _setting("enablePropertyFilter", False, live=True)
    filter_support_retry: bool = _setting("filterSupportRetry", False, live=True)
    lite_pull: bool = _setting("litePullMessageEnable", True, live=True)
    slave_read: bool = _setting("slaveReadEnable", False, live=True)
    register_interval_ms: int = _setting("registerNameServerPeriod", 30_000, live=(1, 3_600_000))
    region_id: str = _setting("regionId", "DefaultRegion")
    announced_version: Release = _setting("orbitAnnouncedVersion", "5.3.3")
    atomic_transactions: bool = _setting("orbitAtomicTransactions", False)
    keep_history: bool = _setting("orbitHistory", True)
    recall_messages: bool = _setting("recallMessageEnable", False, live=True)
    revive_queue_count: int = _setting("reviveQueueNum", 8)
    pop_polling_size: int = _setting("popPollingSize", 1_024, live=(0, 1_000_000))
    pop_polling_size_total: int = _setting("maxPopPollingSize", 100_000, live=(0, 10_000_000))
    pop_retry_probability_percent: int = _setting("popFromRetryProbability", 20, live=(0, 100))
    pop_retry_topic_v2: bool = _setting("enableRetryTopicV2", False, live=True)
    pop_read_retry_topic_v1: bool = _setting("retrieveMessageFromPopRetryTopicV1", True, live=True)
    pop_buffer_merge: bool = _setting("enablePopBufferMerge", False, live=True)
    pop_buffer_stay_ms: int = _setting("popCkStayBufferTime", 10_000, live=(0, 3_600_000))
    pop_buffer_leave_ms: int = _setting("popCkStayBufferTimeOut", 3_000, live=(0, 3_600_000))
    pop_buffer_size_max: int = _setting("popCkMaxBufferSize", 200_000, live=(0, 10_000_000))
    pop_share_queue_count: int = _setting("defaultPopShareQueueNum", -1, live=(-1, 65_535))
    acl_enabled: bool = _setting("aclEnable", False)
    acl_file: Path = _setting("aclFile", Path())
    tls_mode: TlsMode = _setting("tls.server.mode", "permissive")
    tls_certificate: Path = _setting("tls.server.certPath", Path())
    tls_key: Path = _setting("tls.server.keyPath", Path())
    tls_key_password: str = _setting("tls.server.keyPassword", "", secret=True)
    tls_client_authority: Path = _setting("tls.server.trustCertPath", Path())
    tls_client_auth: ClientAuth = _setting("tls.server.need.client.auth", "none")
    insecure_bind: bool = _setting("allowInsecureBind", False)
    trace_topic: bool = _setting("traceTopicEnable", False)
    accept_sends_from_ms: int = _setting("startAcceptSendRequestTimeStamp", 0, live=(0, (1 << 62)))
    fast_failure: bool = _setting("brokerFastFailureEnable", True, live=True)
    send_wait_max_ms: int = _setting("waitTimeMillsInSendQueue", 200, live=(1, 3_600_000))
    page_cache_busy_ms: int = _setting("osPageCacheBusyTimeOutMills", 1_000, live=(1, 3_600_000))
    store_reply_message: bool = _setting("storeReplyMessageEnable", True, live=True)
    disable_slow_consumers: bool = _setting("disableConsumeIfConsumerReadSlowly", False, live=True)
    slow_consumer_bytes: int = _setting("consumerFallbehindThreshold", 16 << 30, live=(1, 1 << 62))
    reject_transactions: bool = _setting("rejectTransactionMessage", False, live=True)
    transaction_timeout_ms: int = _setting("transactionTimeOut", 6_000, live=(0, 3_600_000))
    transaction_check_max: int = _setting("transactionCheckMax", 15, live=(1, 1_000_000))
    transaction_check_interval_ms: int = _setting("transactionCheckInterval", 60_000, live=(100, 3_600_000))
    transaction_op_batch_interval_ms: int = _setting("transactionOpBatchInterval", 0)
    transaction_op_batch_bytes: int = _setting("transactionOpMsgMaxSize", 4_096, live=(1, 65_536))
    transaction_pending_max: int = _setting("transactionPendingMax", 1_000_000, live=(0, 100_000_000))
    store: StoreConfig = field(default_factory=StoreConfig)

    @property
    def access_control_file(self) -> Path:
        """Where the accounts are: ``aclFile``, by default in the store's folder of configuration."""
        return self.store.root / "config" / "plain_acl.yml" if self.acl_file == Path() else self.acl_file

    @property
    def has_tls(self) -> bool:
        return self.tls_mode != "disabled" and self.tls_certificate != Path()


Settings = StoreConfig | BrokerConfig


_CHOICES: dict[str, tuple[str, ...]] = {
    "flushDiskType": get_args(FlushDiskType),
    "orbitAnnouncedVersion": get_args(Release),
    "tls.server.mode": get_args(TlsMode),
    "tls.server.need.client.auth": get_args(ClientAuth),
}


def setting_keys(settings: type[Settings]) -> dict[str, str]:
    """RocketMQ key → attribute name, for one settings class."""
    return {f.metadata["key"]: f.name for f in dataclasses.fields(settings) if "key" in f.metadata}


def live_settings() -> dict[str, bool | tuple[int, int]]:
    """RocketMQ keys that may be changed while the broker runs, each with True or its smallest and largest number."""
    fields = (*dataclasses.fields(BrokerConfig), *dataclasses.fields(StoreConfig))
    return {f.metadata["key"]: f.metadata["live"] for f in fields if f.metadata.get("live")}


def setting_value(config: BrokerConfig, key: str) -> object:
    """Value of a setting by its RocketMQ key, which must be a known one."""
    name = setting_keys(BrokerConfig).get(key)
    return getattr(config.store, setting_keys(StoreConfig)[key]) if name is None else getattr(config, name)


def setting_text(value: object) -> str:
    """A setting's value as RocketMQ writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def with_settings(config: BrokerConfig, values: Mapping[str, str]) -> BrokerConfig:
    """Return ``config`` with ``values`` applied: RocketMQ key → text, as in broker.conf or ``--set KEY=VALUE``.

    Raises `UsageError` when a key is unknown or a value does not fit its type.
    """
    broker_keys, store_keys = setting_keys(BrokerConfig), setting_keys(StoreConfig)
    broker: dict[str, Any] = {}
    store: dict[str, Any] = {}
    for key, text in values.items():
        if key in broker_keys:
            broker[broker_keys[key]] = _parse(key, text, getattr(config, broker_keys[key]))
        elif key in store_keys:
            store[store_keys[key]] = _parse(key, text, getattr(config.store, store_keys[key]))
        else:
            known = ", ".join(sorted({*broker_keys, *store_keys}))
            raise UsageError(f"there is no broker setting “{key}”. Known settings: {known}", key=key)
    new_store = dataclasses.replace(config.store, **store)
    return dataclasses.replace(config, store=new_store, **broker)


def _parse(key: str, text: str, current: object) -> object:
    if "\0" in text:
        raise UsageError(f"{key} holds a zero byte, which no name and no number has", key=key)
    if isinstance(current, bool):
        if text.lower() not in ("true", "false"):
            raise UsageError(f"{key} takes true or false, not “{text}”", key=key)
        return text.lower() == "true"
    if isinstance(current, int):
        return _parse_int(key, text)
    if isinstance(current, Path):
        return Path(text)
    choices = _CHOICES.get(key)
    if choices is not None and text not in choices:
        raise UsageError(f"{key} takes {', '.join(choices[:-1])} or {choices[-1]}, not “{text}”", key=key)
    return text


_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_INT64_MAX = (1 << 63) - 1
_SHOWN = 100


def _parse_int(key: str, text: str) -> int:
    value = int(text) if _WHOLE.fullmatch(text) else _INT64_MAX + 1
    if value > _INT64_MAX:
        raise UsageError(f"{key} takes a whole number of 64 bits, not “{text[:_SHOWN]}”", key=key)
    bounds = live_settings().get(key)
    low = min(bounds[0], 0) if isinstance(bounds, tuple) else 0
    if value < low:
        raise UsageError(f"{key} takes a number from {low} up, not {value}", key=key)
    return value


@dataclass(frozen=True, slots=True)
class RemotingLimits:
    """Bounds of every remoting connection, of servers and clients. Sizes in bytes, times in milliseconds.

    A hostile peer costs about a mebibyte of memory: its incomplete frame (``partial_bytes_in_memory``, less other memory of
    the connection, and a read of 64 KiB), its unread answers (``unsent_bytes_high``, and an answer; slices of files take no
    memory), its held pulls (384 KiB, see `PullHolds`), and its pops and notifications (192 KiB each, see `PopHolds`). Larger
    frames are kept on the disk until they are complete, and share ``partial_bytes_max`` with all other incomplete frames.

    Attributes:
        frame_bytes_max: Largest frame accepted; the protocol's own bound.
        header_bytes_max: Largest header of a request that a server accepts.
        connections_max: Connections a server keeps at once; it closes further ones immediately.
        idle_ms: A connection without a byte in or out for this time is closed.
        frame_ms: A connection that has begun a frame and does not complete it within this time is closed.
        partial_bytes_free: Bytes of an incomplete frame that need no reservation; must be below the next.
        partial_bytes_in_memory: Incomplete frames up to this size, less other memory of their connection, stay in memory.
        partial_bytes_max: All reserved incomplete frames of a server together, in memory and on the disk; the server reads no
            more from peers beyond it, and closes those that are too slow for ``frame_ms``.
        unsent_bytes_high: With more unsent bytes than this, nothing more is read from the peer.
        unsent_bytes_max: With more unsent bytes than this the connection is closed.
        pending_requests_max: Unanswered requests of ours on one connection.
        connect_timeout_ms: For opening a connection.
        request_timeout_ms: For an answer, unless the caller passes a time.
        silence_ms: A connection that received nothing for this time, while a request was unanswered, gets no further requests:
            a cut line reports no error, and the system would notice it after a quarter of an hour.
    """

    frame_bytes_max: int = 16 * 1024 * 1024
    header_bytes_max: int = 64 * 1024
    connections_max: int = 4096
    idle_ms: int = 120_000
    frame_ms: int = 30_000
    partial_bytes_free: int = 64 * 1024
    partial_bytes_in_memory: int = 512 * 1024
    partial_bytes_max: int = 64 * 1024 * 1024
    unsent_bytes_high: int = 128 * 1024
    unsent_bytes_max: int = 64 * 1024 * 1024
    pending_requests_max: int = 65_535
    connect_timeout_ms: int = 3_000
    request_timeout_ms: int = 3_000
    silence_ms: int = 2_500


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """Times and bounds of Orbit's own clients; the defaults of the Java client (Source: docs/spec/remoting.md §1.6, §6).

    Attributes:
        route_refresh_interval_ms: Between two requests for the routes of the topics in use.
        heartbeat_interval_ms: Between two heartbeats to every broker in use.
        send_timeout_ms: For one send with all its retries.
        send_retries: Further attempts after a failed send.
        repeats_unanswered: Whether an unanswered send is retried too, so that a message may be stored twice.
        sends_in_flight_max: Unanswered sends of one producer; further ones are queued.
        compress_body_bytes: Bodies from this size on are compressed.
        message_bytes_max: Largest body accepted for sending, before compression.
        rebalance_interval_ms: Between two allocations of the queues.
        commit_interval_ms: Between two commits of changed offsets.
        pull_batch_messages: Messages requested in one pull.
        pull_suspend_ms: How long the broker may hold a pull that finds nothing.
        pull_timeout_ms: For the answer to a pull.
        pull_retry_ms: Pause after a pull that failed.
        flow_control_pause_ms: Pause of a queue's pulls while it has reached one of the bounds below.
        queue_messages_max: Fetched, unconsumed messages of one queue.
        queue_bytes_max: Bytes of stored records of the fetched, unconsumed messages of one queue.
        queue_span_max: Distance of the first and the last fetched, unconsumed offset of one queue.
        consume_retry_ms: Pause before a failed batch is consumed again; doubles each time.
        consume_retry_max_ms: Longest such pause.
        close_wait_ms: How long `close` waits for running listeners.
        send_back_timeout_ms: For sending a message back to its broker.
        suspend_queue_ms: Pause of an orderly queue after a message that failed.
        lock_interval_ms: Between two renewals of the locks of an orderly consumer.
        lock_valid_ms: How long a lock is trusted after the broker confirmed it.
        lock_retry_ms: Pause of an orderly queue whose lock is not held.
        give_up_wait_ms: How long the release of an orderly queue waits for its listener before the queue is kept after all.
        auto_commit_interval_ms: Between two automatic commits of a lite pull consumer.
        lite_pull_batch_messages: Most messages of one poll, and of one pull, of a lite pull consumer.
        lite_pull_suspend_ms: How long the broker may hold a pull of a lite pull consumer, or a blocking pull.
        latency_fault_tolerance: Avoid brokers for a while that were slow or failed.
        retry_when_not_stored_ok: Send to another broker when a broker has a message but not yet on disk or at its slave.
        request_timeout_ms: For the reply to a request.
        trace_flush_ms: Longest time from a trace record to its send.
    """

    route_refresh_interval_ms: int = 30_000
    heartbeat_interval_ms: int = 30_000
    send_timeout_ms: int = 3_000
    send_retries: int = 2
    repeats_unanswered: bool = True
    sends_in_flight_max: int = 1_024
    compress_body_bytes: int = 4_096
    message_bytes_max: int = 4 * 1024 * 1024
    rebalance_interval_ms: int = 20_000
    commit_interval_ms: int = 5_000
    pull_batch_messages: int = 32
    pull_suspend_ms: int = 15_000
    pull_timeout_ms: int = 30_000
    pull_retry_ms: int = 1_000
    flow_control_pause_ms: int = 50
    queue_messages_max: int = 1_000
    queue_bytes_max: int = 100 * 1024 * 1024
    queue_span_max: int = 2_000
    consume_retry_ms: int = 1_000
    consume_retry_max_ms: int = 30_000
    close_wait_ms: int = 5_000
    send_back_timeout_ms: int = 5_000
    suspend_queue_ms: int = 1_000
    lock_interval_ms: int = 20_000
    lock_valid_ms: int = 30_000
    lock_retry_ms: int = 100
    give_up_wait_ms: int = 1_000
    auto_commit_interval_ms: int = 5_000
    lite_pull_batch_messages: int = 10
    lite_pull_suspend_ms: int = 20_000
    latency_fault_tolerance: bool = False
    retry_when_not_stored_ok: bool = False
    request_timeout_ms: int = 3_000
    trace_flush_ms: int = 500
