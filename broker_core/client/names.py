"""Rules for the names of topics and groups, checked before anything is sent (Source: docs/spec/remoting.md §1.6)."""

from __future__ import annotations

import re

from broker_core.errors import UsageError

TOPIC_CHARACTERS_MAX = 127
GROUP_CHARACTERS_MAX = 255
RETRY_PREFIX = "%RETRY%"
_ALLOWED = re.compile(r"[%|a-zA-Z0-9_-]+")


def check_topic(topic: str) -> str:
    """Return ``topic``; raises `UsageError` when no broker would take it."""
    return _check("topic", topic, TOPIC_CHARACTERS_MAX)


def check_group(group: str) -> str:
    """Return ``group``; raises `UsageError` when no broker would take it."""
    return _check("group", group, GROUP_CHARACTERS_MAX)


def is_group_name(group: str) -> bool:
    """Whether a broker creates a group of this name; clients may commit offsets under others, which brokers keep."""
    try:
        check_group(group)
    except UsageError:
        return False
    return True


def retry_topic(group: str) -> str:
    """The topic that brings messages back to a group that failed on them."""
    return RETRY_PREFIX + group


def _check(kind: str, name: str, characters_max: int) -> str:
    if not _ALLOWED.fullmatch(name):
        raise UsageError(f"“{name[:200]}” is no {kind} name: letters, digits, _, -, % and | are allowed, and at least one")
    if len(name) > characters_max:
        raise UsageError(f"a {kind} name has at most {characters_max} characters, “{name[:40]}…” has {len(name)}")
    return name
