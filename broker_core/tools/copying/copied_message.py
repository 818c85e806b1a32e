"""The part of a message that is copied to another cluster, and its topic there. Pure.

Kept: body and its compression, time of birth, flag, tags, keys, all properties of producers. Left out: what brokers set, and
delays, because a copied message is stored data, and a broker would act on them again.

    topic at the source               topic at the target          becomes
    orders                            orders                       a message, whatever way it took to its queue
    %DLQ%g                            %DLQ%g                       a dead letter, with where it came from
    %RETRY%g, %RETRY%g+t              copied-RETRY-g, …-g-t        a plain message
    SCHEDULE_TOPIC_XXXX, half, …      copied-NAME                  a plain message

Source: docs/spec/broker.md §0.3 (reserved names), docs/spec/store.md §2.7 (properties).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from broker_core.protocol.message import properties as props
from broker_core.protocol.message.resent_properties import BROKERS_OWN, TIMED
from broker_core.protocol.names import SYSTEM_PREFIX, SYSTEM_TOPICS, TRACE_TOPIC, check_readable_topic, check_topic
from broker_core.tools.replay.item import ReplayItem
from broker_core.tools.replay.rewrite import Outgoing, Skipped, producer_flags
from broker_core.tools.search.fields import state_of_topic

COPIED_PREFIX = "copied-"
_NOT_IN_NAMES = re.compile(r"%(\w+)%")
_ORIGIN = frozenset((
    props.RETRY_TOPIC, props.REAL_TOPIC, props.REAL_QUEUE_ID, props.ORIGIN_MESSAGE_ID, props.DLQ_ORIGIN_TOPIC,
    "DLQ_ORIGIN_MESSAGE_ID",
))  # fmt: skip
"""Set by brokers; the only record of where a dead or pending message was first sent to."""
_LEFT_OUT = BROKERS_OWN | TIMED
_LEFT_OUT_OF_REST = _LEFT_OUT - _ORIGIN
_PLAIN = {
    "retry": "retries become plain messages: no group gets them again",
    "delayed": "messages that wait for their time become plain messages: nothing delivers them when it comes",
    "timer": "messages that wait for their time become plain messages: nothing delivers them when it comes",
    "half": "half messages become plain messages: their transactions are neither committed nor rolled back",
    "op": "records of ended transactions become plain messages: nothing acts on them",
    "normal": "messages of the broker's own topic become plain messages: no broker acts on them",
}


def target_topic(topic: str) -> str:
    """The topic at the target for a source topic; raises `UsageError` when no broker would accept its name."""
    check_readable_topic(topic)
    if not is_reserved(topic) or state_of_topic(topic) == "dead":
        return topic
    return check_topic(COPIED_PREFIX + _NOT_IN_NAMES.sub(r"\1-", topic).replace("+", "-"))


def is_reserved(topic: str) -> bool:
    """Whether a topic is a broker's own, or holds messages that did not reach their consumers."""
    if topic == TRACE_TOPIC:  # clients send to it as to any other
        return False
    return state_of_topic(topic) != "normal" or topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX)


def what_becomes(topics: Mapping[str, str]) -> Iterator[str]:
    """Sentences on what the messages of topics (source → target) become."""
    for source, target in topics.items():
        state = state_of_topic(source)
        if not is_reserved(source):
            continue
        if state == "dead":
            yield f"{source}: dead letters stay dead letters, as plain data: no group gets them by itself"
        else:
            yield f"{source} → {target}: {_PLAIN[state]}"
    yield (
        "kept: bodies as stored, times of birth, flags, tags, keys and properties of producers; "
        "left out: what brokers set, and delays (what waited for its time is there at once)"
    )
    yield "new at the target: store times, offsets, offset message ids, the host that messages come from (this machine)"
    yield "originals go: bodies, keys and properties as they are stored, also what masks hide on screen"


def copied_message(item: ReplayItem) -> Outgoing | Skipped:
    """The copy of a stored message, or why it cannot be sent."""
    left_out = _LEFT_OUT_OF_REST if is_reserved(item.topic) else _LEFT_OUT
    properties = {name: value for name, value in item.properties.items() if name not in left_out}
    if len(props.encode_properties(properties)) > props.PROPERTIES_BYTES_MAX:
        return Skipped(f"its properties are longer than the {props.PROPERTIES_BYTES_MAX:,} bytes that can be sent")
    topic, sys_flag = target_topic(item.topic), producer_flags(item.sys_flag)
    return Outgoing(topic, item.queue_id, item.born_timestamp_ms, item.flag, sys_flag, item.body, properties)


def is_copy_of(found: ReplayItem, sent: Outgoing) -> bool:
    """Whether a message at the target is the one that was sent; brokers may have added properties."""
    return (
        found.born_timestamp_ms == sent.born_timestamp_ms
        and found.flag == sent.flag
        and found.body == sent.body
        and all(found.properties.get(name) == value for name, value in sent.properties.items())
    )
