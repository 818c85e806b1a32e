"""Requests that RocketMQ knows and this broker does not serve, each with the reason that a tool prints.

The code of the answer stays REQUEST_CODE_NOT_SUPPORTED, by which clients find out what a broker can do.
"""

from __future__ import annotations

from collections.abc import Iterable

_FILTER_CLASSES = "classes are given to filter servers, not to brokers; filter by tags or SQL92 (enablePropertyFilter) instead"
_STATIC_TOPICS = "static topics spread one topic's queues over several brokers; this broker serves its own queues only"
_ROCKSDB = "consume queues and settings are files here, there is no RocksDB"
_CONTAINER = "this process runs one broker; start another one for another broker"
_SLAVES = "this broker is a master without slaves and takes part in no election"
_COLD_DATA = "readers of old messages do not hold up producers here, so there is no flow control of cold data"
_USERS = "users and policies of ACL 2.0 are not served; accounts are those of plain_acl.yml (requests 50 to 54)"

_FAMILIES: tuple[tuple[str, Iterable[int]], ...] = (
    (_FILTER_CLASSES, (302,)),
    (_ROCKSDB, (354, 355)),
    (_STATIC_TOPICS, (513,)),
    (_CONTAINER, (902, 903)),
    (_SLAVES, (905, 906, *range(1001, 1019))),
    (_COLD_DATA, range(2001, 2005)),
    (_USERS, range(3001, 3011)),
)

REASONS: dict[int, str] = {code: reason for reason, codes in _FAMILIES for code in codes}


def remark_of_unserved(code: int) -> str:
    """Remark of the answer to a request that is not served."""
    reason = REASONS.get(code)
    return f" request type {code} not supported" + (f": {reason}" if reason else "")
