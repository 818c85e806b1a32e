"""What a read-only connection refuses, in the window and in the worker."""

import pytest

from broker_core.errors import ReadOnlyConnectionError
from broker_core.protocol.codes import RequestCode
from broker_core.worker.channel.acting import acts, refusal
from broker_core.worker.questions.administration import AskBroker, CreateTopic, MeasureTopics
from broker_core.worker.questions.delays import ActOnDelayed, ActOnTimers
from broker_core.worker.questions.history import ReadOwnership
from broker_core.worker.questions.letter_notes import (
    AdoptNotes,
    MarkLetters,
    NoteGroup,
    NoteLetters,
    NoteResends,
    ReadLetterNotes,
)
from broker_core.worker.questions.lifecycle import Shutdown
from broker_core.worker.questions.stored_messages import BrowseQueue, SendMessage
from broker_core.worker.questions.transactions import (
    AbortAtomic,
    CheckTransaction,
    EndTransaction,
    ListAtomic,
    ListTransactions,
    ResumeTransaction,
)
from tests.support.worker_driver import WorkerDriver

ACTING = [
    SendMessage("orders", 0, b"x", {}),
    CreateTopic("orders", 1, 1),
    ActOnDelayed("deliver", 1, [0], [0]),
    ActOnTimers("cancel", [0], [0]),
    EndTransaction(0, commit=True),
    CheckTransaction(0),
    ResumeTransaction(0),
    AbortAtomic("shop"),
    AskBroker(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": "orders"}),
    AskBroker(999_999),
]


@pytest.mark.parametrize("query", ACTING)
def test_what_changes_something_acts(query):
    assert acts(query)
    assert type(query).__name__ in refusal(query).message


def test_looking_and_stopping_are_no_acts():
    looking = [
        BrowseQueue("T", 0, 0, 1),
        ListTransactions(0, 1),
        ListAtomic(0, 1),
        MeasureTopics(["T"]),
        ReadOwnership("g", 0, 1),
        Shutdown(),
        ReadLetterNotes([]),
        MarkLetters([], "open"),
        NoteLetters([], ""),
        NoteResends([], [], [], [], []),
        NoteGroup("g", ""),
        AdoptNotes("", ""),
        AskBroker(RequestCode.GET_BROKER_CONFIG),
    ]
    assert not any(acts(query) for query in looking)


def test_a_read_only_worker_refuses_what_acts_and_answers_the_rest(tmp_path):
    with WorkerDriver(tmp_path / "store", ["--read-only"]) as driver:
        assert driver.wait_ready().read_only
        for query in ACTING:
            with pytest.raises(ReadOnlyConnectionError, match="nothing has changed"):
                driver.ask(query)
        assert driver.ask(ListTransactions(0, 10)).total == 0
        assert not (tmp_path / "store" / "config" / "orbitActions.log").exists()
        assert driver.end_input() == 0
