"""Which requests of the window change something: those that a read-only connection refuses, at both of its ends."""

from __future__ import annotations

from broker_core.errors import ReadOnlyConnectionError
from broker_core.protocol.administration import READING
from broker_core.worker.channel.schema import Query
from broker_core.worker.questions.administration import AskBroker, ListConnections, ListMembers, MeasureTopics, ReadStore
from broker_core.worker.questions.alerts import (
    AdoptAlerts,
    MarkAlertsTold,
    MuteAlert,
    PutAlertRules,
    ReadAlerts,
    RemoveAlertRule,
    SetAlertWebhook,
    TryAlertWebhook,
)
from broker_core.worker.questions.delays import ForecastTimers, ListDelayed, ListTimers
from broker_core.worker.questions.history import ReadEvents, ReadHistory, ReadOwnership
from broker_core.worker.questions.letter_notes import (
    AdoptNotes,
    MarkLetters,
    NoteGroup,
    NoteLetters,
    NoteResends,
    ReadLetterNotes,
)
from broker_core.worker.questions.lifecycle import Shutdown
from broker_core.worker.questions.searches import ContinueFollow, ContinueSearch, EndFollow, EndSearch, StartFollow, StartSearch
from broker_core.worker.questions.stored_messages import (
    BrowseQueue,
    FindOffset,
    ReadFields,
    ReadLifeline,
    ReadMessage,
    ReadMessageById,
)
from broker_core.worker.questions.transactions import ListAtomic, ListTransactions, ReadTransactionHistory

_LOOKING = (
    BrowseQueue, ContinueFollow, ContinueSearch, EndFollow, EndSearch, FindOffset, ForecastTimers, ListAtomic,
    ListConnections, ListDelayed, ListMembers, ListTimers, ListTransactions, MeasureTopics, ReadEvents, ReadFields, ReadHistory,
    ReadLifeline, ReadMessage, ReadMessageById, ReadOwnership, ReadStore, ReadTransactionHistory, Shutdown, StartFollow,
    StartSearch,
    ReadAlerts, PutAlertRules, RemoveAlertRule, MuteAlert, SetAlertWebhook, TryAlertWebhook, AdoptAlerts, MarkAlertsTold,
    ReadLetterNotes, MarkLetters, NoteLetters, NoteResends, NoteGroup, AdoptNotes,
)  # fmt: skip
"""Requests that leave the cluster as it is; alert rules and notes are Orbit's own, and who only looks needs them as much. What
is not named here counts as acting, so that nothing is forgotten."""


def acts(query: Query) -> bool:
    """Whether a request may change something."""
    if isinstance(query, AskBroker):
        return query.code not in READING
    return not isinstance(query, _LOOKING)


def refusal(query: Query) -> ReadOnlyConnectionError:
    """Why a request that acts is not carried out."""
    return ReadOnlyConnectionError(
        f"this connection is read-only: {type(query).__name__} was not carried out and nothing has changed; "
        "open the cluster without the read-only mark to act on it"
    )
