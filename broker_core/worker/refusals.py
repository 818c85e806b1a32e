"""Questions that a worker without a broker of its own cannot answer, in words of the field, and why. Pure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from broker_core.errors import UsageError
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.administration import CloseConnection, MeasureTopics, ReadStore
from broker_core.worker.questions.delays import ActOnDelayed, ActOnTimers, ForecastTimers, ListTimers
from broker_core.worker.questions.in_flight import ListInFlight
from broker_core.worker.questions.question import Question
from broker_core.worker.questions.transactions import (
    AbortAtomic,
    CheckTransaction,
    EndTransaction,
    ListAtomic,
    ReadTransactionHistory,
)

OUTSIDE = {
    Ability.SEND_IN_TRANSACTION: "messages are sent in transactions through the embedded broker alone",
    Ability.DECIDE_TRANSACTIONS: "brokers end a transaction for its producer, and the console does not act as one",
    Ability.CHECK_TRANSACTIONS: "brokers check at times of their own, and the protocol has no request for it",
    Ability.CHANGE_WAITING: "the protocol cannot change a message that waits",
    Ability.CLOSE_CONNECTIONS: "the protocol has no request that ends a connection",
}
"""What no client can do from outside, whatever the broker."""
_INSIDE = "it is known inside a broker only, and the protocol has no request for it"
_ATOMIC = "only Orbit's own broker has them"
OF_CLUSTERS: dict[type[Question[Any]], tuple[str, str]] = {
    AbortAtomic: ("atomic transactions", _ATOMIC),
    ActOnDelayed: ("changes of waiting messages", OUTSIDE[Ability.CHANGE_WAITING]),
    ActOnTimers: ("changes of waiting messages", OUTSIDE[Ability.CHANGE_WAITING]),
    CheckTransaction: ("checks by hand", OUTSIDE[Ability.CHECK_TRANSACTIONS]),
    CloseConnection: ("the end of a connection", OUTSIDE[Ability.CLOSE_CONNECTIONS]),
    EndTransaction: ("the end of a transaction", OUTSIDE[Ability.DECIDE_TRANSACTIONS]),
    ForecastTimers: ("when timers are due", _INSIDE),
    ListAtomic: ("atomic transactions", _ATOMIC),
    ListInFlight: (
        "messages in flight",
        "brokers keep in memory what was received and not acknowledged, and the protocol has no request for it",
    ),
    ListTimers: ("the list of timers", _INSIDE),
    MeasureTopics: ("sizes", "the protocol tells no sizes of topics, only those of the whole disk"),
    ReadStore: ("the store from inside", _INSIDE),
    ReadTransactionHistory: (
        "past transactions",
        "how they ended is put together from whole queues of the brokers, too much to pull for a page",
    ),
}
"""Question → its subject, and why no broker of an attached cluster can answer it."""


def cluster_refusal(question: Question[Any]) -> UsageError:
    """Why an attached cluster does not answer a question."""
    what, why = OF_CLUSTERS.get(type(question), (type(question).__name__, _INSIDE))
    return UsageError(f"not available on an attached cluster: {what}; {why}")


def files_refusal(root: Path) -> UsageError:
    """Why a store that is only read does not answer a question for its broker."""
    return UsageError(f"no broker runs here: the store {root} is only read")
