"""The terms of a pull, from its header; the equal part of all pulls of a consumer from one queue is read once.

Source: docs/spec/remoting.md §2.2.3.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from broker_core.protocol.fields import int_field, long_field, refuse_empty, text_field
from broker_core.protocol.filter.rejection import ALL_TAGS, TAG

FLAG_COMMIT_OFFSET = 1
FLAG_SUSPEND = 2
FLAG_SUBSCRIPTION = 4

SUSPEND_MS_MAX = 300_000
"""Longest time a pull is held, whatever the client requests."""

PULL_MESSAGES_MAX = 10_000
"""Largest count that a client may request; the store's own limits are smaller as a rule."""

TERMS_KNOWN_MAX = 4096
"""Terms remembered; the next ones empty the table."""

TERMS_CHARS_MAX = 1024
"""Terms of longer texts are not remembered."""

_TAGS_BYTES, _TAGS_BYTES_PER_CHAR = 256, 64
_SQL_BYTES, _SQL_BYTES_PER_CHAR = 3072, 128
"""Largest memory of a filter: many short tags 42 bytes a character, a condition in SQL92 some 100."""

_ALIKE = (
    "consumerGroup", "topic", "queueId", "maxMsgNums", "sysFlag", "suspendTimeoutMillis", "subscription", "expressionType",
    "subVersion",
)  # fmt: skip
_Texts = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class PullTerms:
    """The equal part of all pulls of a consumer from a queue.

    Attributes:
        expression: Its own subscription; None where that of the group's heartbeats decides.
        takes_all: It has its own subscription, to everything.
    """

    group: str
    topic: str
    queue_id: int
    count_max: int
    flags: int
    suspend_ms: int
    expression: str | None
    expression_type: str | None
    subscription_version: int
    takes_all: bool

    @property
    def filter_bytes(self) -> int:
        """Estimated memory of its own filter; 0 without one."""
        if self.takes_all or self.expression is None:
            return 0
        return filter_bytes(self.expression, self.expression_type)


def filter_bytes(expression: str, expression_type: str | None) -> int:
    """Estimated memory of the filter of an expression."""
    if (expression_type or TAG) == TAG:
        return _TAGS_BYTES + _TAGS_BYTES_PER_CHAR * len(expression)
    return _SQL_BYTES + _SQL_BYTES_PER_CHAR * len(expression)


class TermsReader:
    """Reads terms, and remembers them: 1 µs a pull instead of 10."""

    def __init__(self) -> None:
        self._known: dict[_Texts, PullTerms] = {}

    def read(self, fields: Mapping[str, str]) -> PullTerms:
        """Terms in the header of a pull. Raises `RequestRefusedError` for a mandatory field that is missing or no number."""
        get = fields.get
        texts = (
            get("consumerGroup"), get("topic"), get("queueId"), get("maxMsgNums"), get("sysFlag"), get("suspendTimeoutMillis"),
            get("subscription"), get("expressionType"), get("subVersion"),
        )  # fmt: skip
        return self._known.get(texts) or self._learn(texts)

    def _learn(self, texts: _Texts) -> PullTerms:
        terms = _parse({name: text for name, text in zip(_ALIKE, texts, strict=True) if text is not None})
        if sum(len(text) for text in texts if text is not None) <= TERMS_CHARS_MAX:
            if len(self._known) >= TERMS_KNOWN_MAX:
                self._known.clear()
            self._known[texts] = terms
        return terms


def _parse(fields: Mapping[str, str]) -> PullTerms:
    refuse_empty(fields, "suspendTimeoutMillis", "subVersion")
    flags = int_field(fields, "sysFlag")
    inline = bool(flags & FLAG_SUBSCRIPTION)
    # Where the registered subscription decides, the pull's own is not kept, because it could be long.
    expression, expression_type = (fields.get("subscription"), fields.get("expressionType")) if inline else (None, None)
    return PullTerms(
        group=sys.intern(text_field(fields, "consumerGroup")),  # many held pulls differ in their queue alone
        topic=sys.intern(text_field(fields, "topic")),
        queue_id=int_field(fields, "queueId"),
        count_max=min(max(int_field(fields, "maxMsgNums"), 1), PULL_MESSAGES_MAX),
        flags=flags,
        suspend_ms=min(max(long_field(fields, "suspendTimeoutMillis", 0), 0), SUSPEND_MS_MAX),
        expression=expression,
        expression_type=expression_type,
        subscription_version=long_field(fields, "subVersion", 0),
        takes_all=inline and (expression or ALL_TAGS) == ALL_TAGS and (expression_type or TAG) == TAG,
    )
