"""The door to `broker_core` for window and monitoring: worker client, filter language, settings, public errors.

What may be asked of a worker, and what it reports, is imported from `broker_core.worker.questions`. Both import no engine code,
so that the console process stays light: the engine runs in the worker process.
"""

from __future__ import annotations

from broker_core.client.unanswered import may_be_stored
from broker_core.cluster.numbering import QUEUES_OF_BROKER
from broker_core.counted import counted
from broker_core.errors import (
    AccountRefusedError,
    BugError,
    CancelledByUserError,
    CodecError,
    ConnectionLostError,
    CorruptStoreError,
    FilterError,
    ForeignStoreError,
    JavaError,
    NetworkError,
    OrbitError,
    PortInUseError,
    ReadOnlyConnectionError,
    RemoteError,
    ReportError,
    SecretError,
    StoreError,
    StoreFullError,
    StoreLockedError,
    StorePermissionError,
    StoreReadOnlyError,
    UnknownReportError,
    UsageError,
    WorkerError,
    WorkerLostError,
    error_from_wire,
)
from broker_core.protocol import names
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.filter.rejection import Rejection, Wanted, rejection
from broker_core.protocol.json_body import JsonBodyError, MessageQueue, as_message_queue, emit, parse_object
from broker_core.protocol.message.resent import ORIGIN_LINK, first_topic_of_retry, resent_properties
from broker_core.protocol.message.tags import java_string_hash
from broker_core.protocol.properties_text import parse_properties
from broker_core.setting_specs import SettingKind, SettingSpec, setting_specs
from broker_core.tools.replay.folder import replays_folder
from broker_core.tools.search.expression import Kind as FilterKind
from broker_core.tools.search.expression import Operator as FilterOperator
from broker_core.tools.search.fields import KINDS as FILTER_FIELDS
from broker_core.tools.search.fields import OPERATORS as FILTER_OPERATORS
from broker_core.tools.search.fields import STATES as FILTER_STATES
from broker_core.tools.search.fields import state_of_topic
from broker_core.tools.search.language import parse_field, parse_filter
from broker_core.tools.search.marks import Marks, marks_of
from broker_core.tools.search.patterns import MarkPattern
from broker_core.version import ORBIT_VERSION
from broker_core.worker.channel.client import WorkerClient
from broker_core.worker.channel.schema import (
    PROTOCOL_VERSION,
    Cancel,
    Failure,
    Reply,
    Request,
    WindowMessage,
    WorkerMessage,
)
from broker_core.worker.message_import import IMPORT_BYTES_MAX, IMPORT_MESSAGES_MAX, read_imports

__all__ = [
    "FILTER_FIELDS",
    "FILTER_OPERATORS",
    "FILTER_STATES",
    "IMPORT_BYTES_MAX",
    "IMPORT_MESSAGES_MAX",
    "ORBIT_VERSION",
    "ORIGIN_LINK",
    "PROTOCOL_VERSION",
    "QUEUES_OF_BROKER",
    "AccountRefusedError",
    "BugError",
    "Cancel",
    "CancelledByUserError",
    "CodecError",
    "ConnectionLostError",
    "CorruptStoreError",
    "Failure",
    "FilterError",
    "FilterKind",
    "FilterOperator",
    "ForeignStoreError",
    "JavaError",
    "JsonBodyError",
    "MarkPattern",
    "Marks",
    "MessageQueue",
    "NetworkError",
    "OrbitError",
    "PortInUseError",
    "ReadOnlyConnectionError",
    "Rejection",
    "RemoteError",
    "Reply",
    "ReportError",
    "Request",
    "RequestCode",
    "ResponseCode",
    "SecretError",
    "SettingKind",
    "SettingSpec",
    "StoreError",
    "StoreFullError",
    "StoreLockedError",
    "StorePermissionError",
    "StoreReadOnlyError",
    "UnknownReportError",
    "UsageError",
    "Wanted",
    "WindowMessage",
    "WorkerClient",
    "WorkerError",
    "WorkerLostError",
    "WorkerMessage",
    "as_message_queue",
    "counted",
    "emit",
    "error_from_wire",
    "first_topic_of_retry",
    "java_string_hash",
    "marks_of",
    "may_be_stored",
    "names",
    "parse_field",
    "parse_filter",
    "parse_object",
    "parse_properties",
    "read_imports",
    "rejection",
    "replays_folder",
    "resent_properties",
    "setting_specs",
    "state_of_topic",
]
