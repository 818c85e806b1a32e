"""What a question is, and what a read-only connection refuses, in the window and in the worker."""

import pkgutil
from dataclasses import FrozenInstanceError

import pytest

from broker_core.errors import BugError, ReadOnlyConnectionError
from broker_core.protocol.codes import RequestCode
from broker_core.worker import questions
from broker_core.worker.channel.schema import SUBJECTS
from broker_core.worker.questions.administration import AskBroker, CreateTopic, MeasureTopics
from broker_core.worker.questions.alerts import AlertPage, ReadAlerts
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
from broker_core.worker.questions.lifecycle import Done, Shutdown
from broker_core.worker.questions.question import QUESTIONS, Question, question, read_only_refusal
from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage, SendMessage
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


def test_a_question_names_its_answer():
    assert BrowseQueue.answer_type is MessagePage
    assert ReadAlerts.answer_type is AlertPage
    assert BrowseQueue("T", 0, 0, 1) == BrowseQueue("T", 0, 0, count=1)
    with pytest.raises(FrozenInstanceError):
        BrowseQueue("T", 0, 0, 1).count = 2


def test_two_questions_of_one_name_are_refused():
    class ReadStore(Question[Done]):
        """Named as another one."""

    with pytest.raises(BugError, match="ReadStore"):
        question(acts=False)(ReadStore)


def test_every_module_of_questions_is_read_by_the_channel():
    found = {
        name
        for _finder, name, _is_package in pkgutil.iter_modules(questions.__path__)
        if any(kind.__module__ == f"{questions.__name__}.{name}" for kind in QUESTIONS.values())
    }
    assert found == {module.__name__.rpartition(".")[2] for module in SUBJECTS}


@pytest.mark.parametrize("query", ACTING)
def test_what_changes_something_acts(query):
    assert query.acts
    assert type(query).__name__ in read_only_refusal(query).message


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
    assert not any(query.acts for query in looking)


def test_a_read_only_worker_refuses_what_acts_and_answers_the_rest(tmp_path):
    with WorkerDriver(tmp_path / "store", ["--read-only"]) as driver:
        assert driver.wait_ready().read_only
        for query in ACTING:
            with pytest.raises(ReadOnlyConnectionError, match="nothing has changed"):
                driver.ask(query)
        assert driver.ask(ListTransactions(0, 10)).total == 0
        assert not (tmp_path / "store" / "config" / "orbitActions.log").exists()
        assert driver.end_input() == 0
