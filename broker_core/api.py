"""The door to `broker_core` for window and monitoring: worker client, filter language, settings, public errors.

`broker_core.worker.questions` holds the requests to a worker and its reports. Both modules import no engine code, so that the
console process stays light: the engine runs in the worker process.
"""

from __future__ import annotations

from broker_core.children import environment as child_environment
from broker_core.children import is_kept, main_command, module_command, program_name
from broker_core.client.send_outcome import may_be_stored
from broker_core.clock import utc_text
from broker_core.cluster.numbering import QUEUES_OF_BROKER
from broker_core.counted import counted
from broker_core.delimited_text import csv_bytes, csv_text, open_csv, read_csv, tsv_text
from broker_core.errors import (
    AccountRefusedError,
    CancelledByUserError,
    CodecError,
    ConnectionLostError,
    FilterError,
    ForeignStoreError,
    NetworkError,
    OrbitError,
    PortInUseError,
    ReadOnlyConnectionError,
    RemoteError,
    SecretError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    UnclearTimeError,
    UsageError,
    WorkerError,
    WorkerLostError,
    error_from_wire,
)
from broker_core.json_document import (
    JsonValue,
    containers_of,
    json_text,
    laid_out_json,
    members_of,
    object_of,
    read_document,
    values_named,
    without_half_pairs,
)
from broker_core.kept_file import replace_file
from broker_core.local_time import MACHINE_ZONE, first_instant, instant_ms
from broker_core.parts import SCHEMAS
from broker_core.parts import require as require_part
from broker_core.protocol import addresses, names, retry_names
from broker_core.protocol.admin.brokers import read_broker_settings, read_runtime
from broker_core.protocol.admin.groups import GroupConfig, group_body, read_group_settings
from broker_core.protocol.admin.offsets import read_consume_stats, read_offset, read_reset_offsets
from broker_core.protocol.admin.routes import Route, read_route
from broker_core.protocol.admin.running import (
    ConsumeOutcome,
    DirectConsumeResult,
    ProcessQueueInfo,
    RunningInfo,
    read_consume_result,
    read_running_info,
)
from broker_core.protocol.admin.topics import (
    MESSAGE_TYPE,
    TopicConfig,
    read_all_topic_settings,
    read_topic_settings,
    topic_fields,
)
from broker_core.protocol.admin.values import figure_of, size_of
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.filter.rejection import Rejection, Wanted, rejection
from broker_core.protocol.grpc.reserved_properties import RESERVED as RESERVED_PROPERTIES
from broker_core.protocol.json_body import JsonBodyError, MessageQueue
from broker_core.protocol.message.message_id import own_offset
from broker_core.protocol.message.resent_properties import ORIGIN_LINK, resent_properties
from broker_core.protocol.message.tags import java_string_hash
from broker_core.setting_specs import SettingKind, SettingSpec, setting_specs
from broker_core.tools.replay.folder import replays_folder
from broker_core.tools.search.expression import FieldKind as FilterKind
from broker_core.tools.search.expression import Operator as FilterOperator
from broker_core.tools.search.fields import KINDS as FILTER_FIELDS
from broker_core.tools.search.fields import OPERATORS as FILTER_OPERATORS
from broker_core.tools.search.fields import STATES as FILTER_STATES
from broker_core.tools.search.fields import state_of_topic
from broker_core.tools.search.language import parse_field, parse_filter
from broker_core.tools.search.marks import Marks, marks_of
from broker_core.tools.search.patterns import MarkPattern, compile_bounded
from broker_core.version import ORBIT_VERSION
from broker_core.worker.channel.client import WorkerClient
from broker_core.worker.channel.schema import Cancel, Failure, Reply, Request, WorkerMessage
from broker_core.worker.message_import import read_imports

__all__ = [
    "FILTER_FIELDS",
    "FILTER_OPERATORS",
    "FILTER_STATES",
    "MACHINE_ZONE",
    "MESSAGE_TYPE",
    "ORBIT_VERSION",
    "ORIGIN_LINK",
    "QUEUES_OF_BROKER",
    "RESERVED_PROPERTIES",
    "SCHEMAS",
    "AccountRefusedError",
    "Cancel",
    "CancelledByUserError",
    "CodecError",
    "ConnectionLostError",
    "ConsumeOutcome",
    "DirectConsumeResult",
    "Failure",
    "FilterError",
    "FilterKind",
    "FilterOperator",
    "ForeignStoreError",
    "GroupConfig",
    "JsonBodyError",
    "JsonValue",
    "MarkPattern",
    "Marks",
    "MessageQueue",
    "NetworkError",
    "OrbitError",
    "PortInUseError",
    "ProcessQueueInfo",
    "ReadOnlyConnectionError",
    "Rejection",
    "RemoteError",
    "Reply",
    "Request",
    "RequestCode",
    "ResponseCode",
    "Route",
    "RunningInfo",
    "SecretError",
    "SettingKind",
    "SettingSpec",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "TopicConfig",
    "UnclearTimeError",
    "UsageError",
    "Wanted",
    "WorkerClient",
    "WorkerError",
    "WorkerLostError",
    "WorkerMessage",
    "addresses",
    "child_environment",
    "compile_bounded",
    "containers_of",
    "counted",
    "csv_bytes",
    "csv_text",
    "error_from_wire",
    "figure_of",
    "first_instant",
    "group_body",
    "instant_ms",
    "is_kept",
    "java_string_hash",
    "json_text",
    "laid_out_json",
    "main_command",
    "marks_of",
    "may_be_stored",
    "members_of",
    "module_command",
    "names",
    "object_of",
    "open_csv",
    "own_offset",
    "parse_field",
    "parse_filter",
    "program_name",
    "read_all_topic_settings",
    "read_broker_settings",
    "read_consume_result",
    "read_consume_stats",
    "read_csv",
    "read_document",
    "read_group_settings",
    "read_imports",
    "read_offset",
    "read_reset_offsets",
    "read_route",
    "read_running_info",
    "read_runtime",
    "read_topic_settings",
    "rejection",
    "replace_file",
    "replays_folder",
    "require_part",
    "resent_properties",
    "retry_names",
    "setting_specs",
    "size_of",
    "state_of_topic",
    "topic_fields",
    "tsv_text",
    "utc_text",
    "values_named",
    "without_half_pairs",
]
