"""A message for one consumer: the dialog over a fake source, and with the real worker and a real consumer."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker_core.api import RemoteError, RequestCode
from broker_core.client.push_consumer import PushConsumer
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer, ListMembers, Members
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessageById, SendMessage, SendReceipt
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from gui.views.messages.hand_dialog import HANDED_MAX, HandDialog
from gui.views.messages.view import MessagesView
from monitoring.sources.base import SourceStatus
from tests.support.client_thread import ClientThread
from tests.support.fake_source import FakeSource, fake_detail

TIMEOUT_MS = 60_000


class ConsumerSource(FakeSource):
    """With one member and its answer."""

    def __init__(self) -> None:
        super().__init__()
        self.subscriptions = {"orders": "paid"}
        self.body = b'{"consumeResult":"CR_SUCCESS","order":false,"spentTimeMills":12}'

    def made_answers(self):
        """Those that ask for the consumer."""
        return super().made_answers() | {
            ListMembers: lambda _one: Members(["c1"], ["10.0.0.1:5"], ["JAVA"], ["V5_3_3"], [0], [self.subscriptions]),
            AskBroker: lambda _one: BrokerAnswer(body=self.body),
        }


@pytest.fixture
def source() -> ConsumerSource:
    return ConsumerSource()


@pytest.fixture
def make(qtbot, theme, source):
    def made(**changes) -> HandDialog:
        detail = replace(fake_detail(1_000), topic="orders", **changes)
        dialog = HandDialog(source, theme, source.state, [detail])
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return made


def test_the_listener_of_the_chosen_consumer_is_asked_and_its_result_shown(make, source):
    dialog = make(properties={"TAGS": "paid"})
    assert dialog.warning.isHidden()
    dialog.go.click()
    request = source.asked[-1]
    assert isinstance(request, AskBroker)
    assert request.code == RequestCode.CONSUME_MESSAGE_DIRECTLY
    assert (request.fields["consumerGroup"], request.fields["clientId"]) == (dialog.group.currentText(), "c1")
    assert "The consumer took the message." in dialog.outcome.text
    assert "CR_SUCCESS" in dialog.outcome.text
    assert "12" in dialog.outcome.text


def test_what_the_subscription_would_reject_is_said_before(make, source):
    assert "rejects the tag" in make(properties={"TAGS": "new"}).warning.text
    source.subscriptions = {"payments": "*"}
    assert "does not subscribe to orders" in make(properties={}).warning.text
    assert make(properties={"RETRY_TOPIC": "payments"}).warning.isHidden()
    source.subscriptions = {"orders": "a > 5"}
    assert "does not hold for this message" in make(properties={}).warning.text


def test_failures_are_told(make, source):
    dialog = make(properties={"TAGS": "paid"})
    source.body = b'{"consumeResult":"CR_THROW_EXCEPTION","remark":"NullPointerException"}'
    dialog.go.click()
    assert "listener failed" in dialog.outcome.text
    assert "NullPointerException" in dialog.outcome.text
    source.body = b"?"
    dialog.go.click()
    assert "gave no result" in dialog.outcome.text
    source.fail_with = RemoteError("consumer did not answer within 10,000 ms", code=207)
    dialog.go.click()
    assert "did not answer" in dialog.outcome.text
    assert dialog.go.isEnabled()


def test_without_a_consumer_or_the_right_to_act_nothing_can_be_done(make, source):
    source.fail_with = RemoteError("the group is not known", code=1)
    dialog = make()
    assert "not known" in dialog.warning.text
    assert not dialog.go.isEnabled()
    source.fail_with = None
    source.read_only = True
    dialog = make()
    assert not dialog.go.isEnabled()
    assert "read-only" in dialog.go.toolTip()


def test_the_messages_page_offers_it_for_the_message_that_is_read(show_page, source):
    view = show_page(MessagesView, source)
    assert view.detail.detail is not None
    view.sending.hands.ask([view.detail.detail.physical_offset])
    (dialog,) = view.findChildren(HandDialog)
    assert dialog.isVisible()
    dialog.go.click()
    assert source.asked[-1].fields["msgId"] == view.detail.detail.offset_message_id
    dialog.reject()


@pytest.fixture
def several(qtbot, theme, source):
    """The dialog for three messages, of which the filter of the group takes two."""
    tags = ("paid", "new", "paid")
    details = [replace(fake_detail(1_000 + n), topic="orders", queue_offset=n, properties={"TAGS": tags[n]}) for n in range(3)]
    dialog = HandDialog(source, theme, source.state, details)
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_several_are_given_one_after_another_and_each_result_is_shown(several, source):
    assert "1 of 3" in several.warning.text
    assert "rejects the tag" in several.warning.text
    answers = iter([
        BrokerAnswer(body=b'{"consumeResult":"CR_SUCCESS","spentTimeMills":1}'),
        RemoteError("the consumer did not answer", code=207),
        BrokerAnswer(body=b'{"consumeResult":"CR_LATER","remark":"closed\\nat Shop.java"}'),
    ])  # fmt: skip
    source.answers[AskBroker] = lambda _request: next(answers)
    several.go.click()
    given = [request.fields["msgId"] for request in source.asked_for(AskBroker)]
    assert len(set(given)) == len(given) == 3
    lines = several.outcome.text.splitlines()
    assert "The consumer took 1 of 3" in lines[0]
    assert "offset 1: the consumer did not answer" in lines[0]
    assert lines[1].endswith("offset 2: CR_LATER, closed")
    assert "offset 0: CR_SUCCESS" in lines[2]
    assert several.go.isEnabled()


def test_no_more_are_given_than_a_person_would_mean(show_page, source):
    view = show_page(MessagesView, source)
    view.sending.hands.ask(range(HANDED_MAX + 1))
    assert not view.findChildren(HandDialog)
    source.fail_with = RemoteError("gone", code=1)
    view.sending.hands.ask([5])
    assert not view.findChildren(HandDialog)


@pytest.mark.timeout(240)
def test_a_real_consumer_gets_the_message_and_its_answer_comes_back(qtbot, tmp_path, monkeypatch, theme):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = {"mappedFileSizeCommitLog": "1048576", "maxHashSlotNum": "1000", "maxIndexNum": "4000"}
    worker = WorkerProcess(WorkerArguments(tmp_path / "store", 0, 0, settings=settings))
    worker.start()
    source = worker.source
    qtbot.waitUntil(lambda: source.status is not SourceStatus.STARTING and source.state is not None, timeout=TIMEOUT_MS)
    assert source.status is SourceStatus.READY, source.reason

    def answer_of(pending):
        answers: list[object] = []
        pending.then(answers.append, answers.append)
        qtbot.waitUntil(lambda: bool(answers), timeout=TIMEOUT_MS)
        return answers[0]

    try:
        with ClientThread() as clients:
            first = answer_of(source.ask(SendMessage("orders", 0, "订单".encode(), {"TAGS": "new"})))
            assert isinstance(first, SendReceipt)
            came: list[bytes] = []

            def listener(messages) -> None:
                came.extend(message.body for message in messages)

            consumer = PushConsumer(source.ready.name_server, "settle", {"orders": "paid"}, listener)
            clients.call(consumer.start())
            qtbot.waitUntil(lambda: "settle" in source.state.catalog.groups, timeout=TIMEOUT_MS)
            detail = answer_of(source.ask(ReadMessageById(first.offset_message_id)))
            assert isinstance(detail, MessageDetail)
            dialog = HandDialog(source, theme, source.state, [detail])
            qtbot.addWidget(dialog)
            dialog.group.setCurrentText("settle")
            qtbot.waitUntil(lambda: dialog.client.count() == 1, timeout=TIMEOUT_MS)
            assert "rejects the tag" in dialog.warning.text
            dialog.go.click()
            qtbot.waitUntil(lambda: bool(dialog.outcome.text), timeout=TIMEOUT_MS)
            assert "CR_SUCCESS" in dialog.outcome.text
            assert came == ["订单".encode()]
            clients.call(consumer.close())
    finally:
        if worker.is_running:
            with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
                worker.stop()
