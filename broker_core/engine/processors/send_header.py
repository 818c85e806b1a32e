"""Header of a send request, in its long (codes 10, 324) and short (310, 320, 325) names.

Source: docs/spec/remoting.md §2.2.1.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.protocol.codes import VERSION_MAX_RECONSUME_TIMES, RequestCode
from broker_core.protocol.fields import (
    INT32_MAX,
    INT64_MAX,
    Fields,
    bool_field,
    int_field,
    long_field,
    refuse_empty,
    text_field,
)
from broker_core.protocol.frame import RemotingCommand


@dataclass(slots=True)
class SendHeader:
    """The header of a send; not frozen, because freezing doubles the cost of making one.

    ``properties`` is text in RocketMQ's encoding. ``reconsume_times_max`` is None when the client sent none or is too old.
    """

    topic: str
    queue_id: int
    default_topic: str
    default_topic_queues: int
    sys_flag: int
    born_timestamp_ms: int
    flag: int
    properties: str
    reconsume_times: int
    reconsume_times_max: int | None
    batch: bool


def parse_send_header(command: RemotingCommand) -> SendHeader:
    """Read the header of a send request. Raises `RequestRefusedError` for a mandatory field that is missing or no number."""
    fields = command.ext_fields
    if command.code in (RequestCode.SEND_MESSAGE, RequestCode.SEND_REPLY_MESSAGE):
        return _parse(fields, _LONG_NAMES, command.version)
    # The common case without a call per field: 1.3 µs instead of 6. Any other is parsed carefully below.
    try:
        topic, template = fields["b"], fields["c"]
        texts = fields["d"], fields["e"], fields["f"], fields["g"], fields["h"]
        queues, queue_id, sys_flag, born_ms, flag = map(int, texts)
    except (KeyError, ValueError):
        return _parse(fields, _SHORT_NAMES, command.version)
    digits = "".join(texts)
    usual = (
        topic
        and digits.isdigit()
        and digits.isascii()  # `int` takes blanks and digits of all scripts
        and queue_id <= INT32_MAX
        and sys_flag <= INT32_MAX
        and flag <= INT32_MAX
        and born_ms <= INT64_MAX
        and queues <= INT32_MAX
        and fields.get("j", "0") == "0"
        and "l" not in fields
    )
    if not usual:
        return _parse(fields, _SHORT_NAMES, command.version)
    batch = fields.get("m") in ("true", "1")
    return SendHeader(topic, queue_id, template, queues, sys_flag, born_ms, flag, fields.get("i", ""), 0, None, batch)


@dataclass(frozen=True, slots=True)
class _Names:
    topic: str
    default_topic: str
    default_topic_queues: str
    queue_id: str
    sys_flag: str
    born_timestamp: str
    flag: str
    properties: str
    reconsume_times: str
    reconsume_times_max: str
    batch: str


_SHORT_NAMES = _Names("b", "c", "d", "e", "f", "g", "h", "i", "j", "l", "m")
_LONG_NAMES = _Names(
    "topic", "defaultTopic", "defaultTopicQueueNums", "queueId", "sysFlag", "bornTimestamp", "flag", "properties",
    "reconsumeTimes", "maxReconsumeTimes", "batch",
)  # fmt: skip


def _parse(fields: Fields, names: _Names, version: int) -> SendHeader:
    if names is _SHORT_NAMES:
        refuse_empty(fields, names.default_topic_queues, names.reconsume_times, names.reconsume_times_max)
    limit = fields.get(names.reconsume_times_max)
    honoured = limit is not None and version >= VERSION_MAX_RECONSUME_TIMES
    return SendHeader(
        topic=text_field(fields, names.topic),
        queue_id=int_field(fields, names.queue_id),
        default_topic=fields.get(names.default_topic, ""),
        default_topic_queues=int_field(fields, names.default_topic_queues, 0),
        sys_flag=int_field(fields, names.sys_flag),
        born_timestamp_ms=long_field(fields, names.born_timestamp),
        flag=int_field(fields, names.flag),
        properties=fields.get(names.properties, ""),
        reconsume_times=int_field(fields, names.reconsume_times, 0),
        reconsume_times_max=int_field(fields, names.reconsume_times_max) if honoured else None,
        batch=bool_field(fields, names.batch),
    )
