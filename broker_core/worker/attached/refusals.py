"""Queries that brokers of an attached cluster cannot answer, in words of the field, and why. Pure."""

from __future__ import annotations

from broker_core.errors import UsageError
from broker_core.worker.attached.abilities import OUTSIDE
from broker_core.worker.channel.schema import Query
from broker_core.worker.questions.abilities import Ability

_INSIDE = "it is known inside a broker only, and the protocol has no request for it"
_ATOMIC = "only Orbit's own broker has them"
REFUSED = {
    "AbortAtomic": ("atomic transactions", _ATOMIC),
    "ActOnDelayed": ("changes of waiting messages", OUTSIDE[Ability.CHANGE_WAITING]),
    "ActOnTimers": ("changes of waiting messages", OUTSIDE[Ability.CHANGE_WAITING]),
    "CheckTransaction": ("checks by hand", OUTSIDE[Ability.CHECK_TRANSACTIONS]),
    "CloseConnection": ("the end of a connection", OUTSIDE[Ability.CLOSE_CONNECTIONS]),
    "EndTransaction": ("the end of a transaction", OUTSIDE[Ability.DECIDE_TRANSACTIONS]),
    "ForecastTimers": ("when timers are due", _INSIDE),
    "ListAtomic": ("atomic transactions", _ATOMIC),
    "ListTimers": ("the list of timers", _INSIDE),
    "MeasureTopics": ("sizes", "the protocol tells no sizes of topics, only those of the whole disk"),
    "ReadStore": ("the store from inside", _INSIDE),
    "ReadTransactionHistory": (
        "past transactions",
        "how they ended is put together from whole queues of the brokers, too much to pull for a page",
    ),
}
"""Query → what it asks for, and why no broker can give it."""


def cannot_answer(query: Query) -> UsageError:
    """What is told of a query that no broker answers."""
    name = type(query).__name__
    what, why = REFUSED.get(name, (name, _INSIDE))
    return UsageError(f"not available on an attached cluster: {what}; {why}")
