from __future__ import annotations

import gc
import threading
from functools import partial

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QObject

from broker_core.api import CodecError, WorkerError
from broker_core.worker.questions.administration import BrokerAnswer
from broker_core.worker.questions.lifecycle import Done
from gui.operations.actions import Action, ActionRegistry
from gui.operations.background import BackgroundCall, _Work
from gui.operations.queries import LatestQuery
from gui.operations.requests import AT_ONCE_BYTES, ReadAnswer
from gui.operations.tasks import FINISHED_TASKS_KEPT, TaskList, TaskState
from gui.words.text import tr
from tests.support.fake_page_context import deliver_background_calls
from tests.support.fake_source import FakePending
from tests.support.languages import shown_in

WAIT_MS = 60_000


def test_only_the_latest_question_is_answered(qapp):
    owner = QObject()
    query: LatestQuery[int] = LatestQuery(owner)
    first, second = FakePending(1, held=True), FakePending(2, held=True)
    answers: list[int] = []
    query.ask(first, answers.append, pytest.fail)
    query.ask(second, answers.append, pytest.fail)
    assert first.was_cancelled
    first.release()
    second.release()
    assert answers == [2]
    assert not query.waiting


def test_an_error_reaches_whoever_asked(qapp):
    owner = QObject()
    query: LatestQuery[Done] = LatestQuery(owner)
    errors: list[str] = []
    query.ask(FakePending(error=WorkerError("no broker")), pytest.fail, lambda error: errors.append(error.message))
    assert errors == ["no broker"]


def test_a_question_ends_with_its_owner(qapp):
    owner = QObject()
    query: LatestQuery[int] = LatestQuery(owner)
    pending = FakePending(1, held=True)
    query.ask(pending, pytest.fail, pytest.fail)
    owner.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert pending.was_cancelled


def test_an_owner_is_freed_as_garbage_after_its_open_question(qtbot):
    owner = QObject()
    query: LatestQuery[int] = LatestQuery(owner)
    gone: list[bool] = []
    owner.destroyed.connect(lambda: gone.append(True))
    # The question refers to the owner by its callbacks alone, so that the collector clears it first.
    query.ask(FakePending(1, held=True), partial(print, owner), pytest.fail)
    del owner, query
    with qtbot.captureExceptions() as raised:
        gc.collect()
    assert (gone, raised) == ([True], [])


def test_a_background_call_runs_elsewhere_and_answers_here(qtbot):
    call = BackgroundCall()
    here, ran_on, answered_on = threading.get_ident(), [], []

    def work() -> str:
        ran_on.append(threading.get_ident())
        return "read"

    call.done.connect(lambda _value: answered_on.append(threading.get_ident()))
    with qtbot.waitSignal(call.done) as told:
        call.start(work)
    assert told.args == ["read"]
    assert ran_on != [here]
    assert answered_on == [here]


def test_a_failed_background_call_tells_its_error(qtbot):
    call = BackgroundCall()

    def work() -> None:
        raise FileNotFoundError("manifest.json")

    with qtbot.waitSignal(call.failed) as told:
        call.start(work)
    assert isinstance(told.args[0], FileNotFoundError)


def test_an_error_that_nobody_expects_is_raised_here(qtbot):
    call = BackgroundCall()

    def work() -> None:
        raise ValueError("ours")

    with qtbot.captureExceptions() as raised:
        call.start(work)
        qtbot.waitUntil(lambda: bool(raised))
    assert [str(error) for _, error, _ in raised] == ["ours"]


def test_what_a_call_knew_is_let_go_here_though_whoever_asked_has_gone(qtbot):
    class Known:
        """Tells on which thread it goes."""

        def __del__(self) -> None:
            gone_on.append(threading.get_ident())

    gone_on: list[int] = []
    may_end, owner, known = threading.Event(), QObject(), Known()
    call = BackgroundCall(owner)
    call.done.connect(pytest.fail)

    def work(known: Known) -> bool:
        return may_end.wait(60)

    call.start(partial(work, known))
    owner.deleteLater()
    del known
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    may_end.set()
    qtbot.waitUntil(lambda: bool(gone_on))
    assert gone_on == [threading.get_ident()]


def test_calls_that_have_ended_leave_nothing(qtbot):
    told: list[object] = []
    asked = 100
    of_others = [one for one in gc.get_objects() if type(one) is _Work]
    call = BackgroundCall()
    call.done.connect(told.append)
    for number in range(asked):
        call.start(partial(int, number))
    qtbot.waitUntil(lambda: len(told) == asked, timeout=WAIT_MS)

    def nothing_is_left() -> bool:
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        works = [one for one in gc.get_objects() if type(one) is _Work]
        return all(any(one is other for other in of_others) for one in works)

    qtbot.waitUntil(nothing_is_left, timeout=WAIT_MS)


def test_a_task_runs_ends_once_and_is_told(qtbot):
    tasks = TaskList()
    task = tasks.start("Report")
    ended: list[TaskState] = []
    tasks.ended.connect(lambda task: ended.append(task.state))
    task.report("Reading", 1, 4)
    assert (task.share, tasks.running) == (0.25, (task,))
    task.finish("4 rows")
    task.fail("too late")
    assert (task.state, task.text, ended) == (TaskState.DONE, "4 rows", [TaskState.DONE])


def test_a_task_is_told_in_the_language_of_the_moment_also_when_it_has_ended(qapp):
    tasks = TaskList()
    task = tasks.start(lambda: tr("Search"))
    task.finish(lambda: tr("{count} hits", count="3"))
    assert (task.title, task.text) == ("Search", "3 hits")
    with shown_in("zh"):
        assert (task.title, task.text) == ("搜索", "3 条命中")


def test_a_task_can_be_cancelled_only_while_it_runs(qtbot):
    asked: list[int] = []
    tasks = TaskList()
    task = tasks.start("Report", lambda: asked.append(1))
    assert task.can_cancel
    task.cancel()
    task.cancelled()
    task.cancel()
    assert asked == [1]
    assert not task.can_cancel


def test_finished_tasks_are_forgotten_in_the_end(qtbot):
    tasks = TaskList()
    for _ in range(FINISHED_TASKS_KEPT + 20):
        tasks.start("Report").finish()
    assert len(tasks.tasks) <= FINISHED_TASKS_KEPT + 1


def test_an_action_is_registered_once_and_runs_unless_blocked(qapp):
    registry, ran, reason = ActionRegistry(), [], [""]
    registry.add(Action("x", "Do it", lambda: ran.append(1), blocked=lambda: reason[0]))
    with pytest.raises(AssertionError, match="twice"):
        registry.add(Action("x", "Do it", lambda: None))
    assert registry.run("x")
    reason[0] = "the broker is not running"
    assert not registry.run("x")
    assert ran == [1]


LONG = BrokerAnswer(body=b"x" * (AT_ONCE_BYTES + 1))


def test_a_long_answer_is_read_elsewhere_and_a_short_one_at_once(qtbot):
    here, ran_on, answers = threading.get_ident(), [], []

    def read(answer: BrokerAnswer) -> int:
        ran_on.append(threading.get_ident())
        return len(answer.body)

    ReadAnswer(FakePending(BrokerAnswer(body=b"x")), read).then(answers.append, pytest.fail)
    assert (answers, ran_on) == ([1], [here])
    long = ReadAnswer(FakePending(LONG), read)
    long.then(lambda size: answers.append((size, threading.get_ident())), pytest.fail)
    qtbot.waitUntil(lambda: len(answers) == 2, timeout=WAIT_MS)
    assert answers[1] == (len(LONG.body), here)
    assert ran_on[1] != here
    several = BrokerAnswer(body=b"x", bodies={"a": LONG.body[:-1], "b": b"x" * 9})
    ReadAnswer(FakePending(several), read).then(answers.append, pytest.fail)
    assert len(answers) == 2
    qtbot.waitUntil(lambda: len(answers) == 3, timeout=WAIT_MS)


def test_a_long_answer_that_cannot_be_read_is_an_error_and_a_cancelled_one_is_none(qtbot):
    def read(answer: BrokerAnswer) -> int:
        raise CodecError(f"{len(answer.body)} bytes")

    errors: list[str] = []
    asked = ReadAnswer(FakePending(LONG), read)
    asked.then(pytest.fail, lambda error: errors.append(error.message))
    qtbot.waitUntil(lambda: bool(errors), timeout=WAIT_MS)
    assert errors == [f"{len(LONG.body)} bytes"]
    cancelled = ReadAnswer(FakePending(LONG), lambda answer: len(answer.body))
    cancelled.then(pytest.fail, pytest.fail)
    cancelled.cancel()
    deliver_background_calls()
