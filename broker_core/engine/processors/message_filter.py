"""The messages that a pull accepts: tests of a consume queue's tags code and of a record.

Source: docs/spec/broker.md §9.1, §9.3.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker_core.engine.tables.consumer_filters import ConsumerFilters
from broker_core.errors import RecordError
from broker_core.protocol import names
from broker_core.protocol.filter.evaluator import Filter
from broker_core.protocol.message.properties import RETRY_TOPIC, decode_properties
from broker_core.protocol.message.record import record_properties
from broker_core.protocol.subscription import Subscription


@dataclass(frozen=True, slots=True)
class MessageFilter:
    """The filter of a pull.

    Attributes:
        accepts: Test of a consume queue's tags code; None where every code passes.
        matches: Test of a record that passed ``accepts``; None where every record does.
        codes: All tags codes that ``accepts`` lets pass.
    """

    accepts: Callable[[int], bool] | None = None
    matches: Callable[[memoryview], bool] | None = None
    codes: frozenset[int] = frozenset()

    @property
    def takes_all(self) -> bool:
        """Whether every message passes."""
        return self.accepts is None and self.matches is None


EVERYTHING = MessageFilter()


def tag_filter(topic: str, subscription: Subscription) -> MessageFilter:
    """The filter of a tag expression. The codes of delayed messages are times, so all of these pass."""
    accepts = None if topic == names.SCHEDULE_TOPIC else subscription.accepts()
    return EVERYTHING if accepts is None else MessageFilter(accepts, codes=subscription.codes)


def sql_filter(compiled: Filter) -> MessageFilter:
    def matches(record: memoryview) -> bool:
        properties = _properties(record)
        return properties is None or compiled.matches(properties)

    return MessageFilter(matches=matches)


def retry_filter(group: str, filters: ConsumerFilters) -> MessageFilter:
    """The filter of a group's retry topic: the filter on the original topic must still accept a message."""

    def matches(record: memoryview) -> bool:
        properties = _properties(record)
        data = None if properties is None else filters.get(properties.get(RETRY_TOPIC, ""), group)
        return properties is None or data is None or data.compiled.matches(properties)

    return MessageFilter(matches=matches)


def _properties(record: memoryview) -> dict[str, str] | None:
    """Properties of a record; None when it is damaged, which the client will notice."""
    try:
        return decode_properties(record_properties(record))
    except RecordError:
        return None
