"""Abilities that a cluster may lack, as `Catalog.cannot` and ``Catalog.broker_cannot`` name them."""

from __future__ import annotations

from enum import StrEnum


class Ability(StrEnum):
    """An ability that some clusters, or all clients from outside, lack."""

    TIMERS = "timers"
    """Timer messages (5.0 and later)."""
    SQL_FILTERS = "sql_filters"
    POP = "pop"
    RESET_ONE_QUEUE = "reset_one_queue"
    """Offsets of a single queue while members are online."""
    ATOMIC_TRANSACTIONS = "atomic_transactions"
    TRACE = "trace"
    """The broker has the topic that clients trace to."""
    ACCESS_CONTROL = "access_control"
    SEND_IN_TRANSACTION = "send_in_transaction"
    DECIDE_TRANSACTIONS = "decide_transactions"
    CHECK_TRANSACTIONS = "check_transactions"
    CHANGE_WAITING = "change_waiting"
    """Delayed messages and timers delivered, moved or cancelled by hand."""
    CLOSE_CONNECTIONS = "close_connections"
