"""What a cluster may or may not be able to do, as `Catalog.cannot` and ``Catalog.broker_cannot`` name it."""

from __future__ import annotations

from enum import StrEnum


class Ability(StrEnum):
    """Something that not every cluster, or not everybody outside of it, can do."""

    TIMERS = "timers"
    """Messages with a time of their own (5.0 and later)."""
    SQL_FILTERS = "sql_filters"
    """Subscriptions by SQL92."""
    POP = "pop"
    RESET_ONE_QUEUE = "reset_one_queue"
    """Offsets of a single queue while members are online."""
    ATOMIC_TRANSACTIONS = "atomic_transactions"
    TRACE = "trace"
    """The broker has the topic that clients trace to."""
    ACCESS_CONTROL = "access_control"
    SEND_IN_TRANSACTION = "send_in_transaction"
    """Half messages sent from the console."""
    DECIDE_TRANSACTIONS = "decide_transactions"
    CHECK_TRANSACTIONS = "check_transactions"
    CHANGE_WAITING = "change_waiting"
    """Delayed messages and timers delivered, moved or cancelled by hand."""
    CLOSE_CONNECTIONS = "close_connections"
    """Connections of clients ended by hand."""
