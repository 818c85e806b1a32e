"""The composer: variables, bursts, later deliveries, order, code; over a fake source and with the real worker."""

from __future__ import annotations

import csv
import json
import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import QSettings, QThreadPool
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from broker_core.api import ConnectionLostError, RemoteError
from broker_core.worker.questions.administration import ListMembers, Members
from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage, SendReceipt
from broker_core.worker.questions.transactions import ListTransactions
from gui.models.messages import ALL_QUEUES, MessageDraft
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from gui.views.messages.audience import groups_of_topic
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.draft_menus import (
    BODY_BYTES_MAX,
    DRAFTS_MAX,
    TEMPLATES_MAX,
    drafts_from_text,
    drafts_to_text,
    templates_from_text,
    templates_to_text,
    with_draft,
    with_template,
)
from monitoring.compose.delivery import queue_of_key
from monitoring.sources.base import SourceStatus
from tests.support.fake_source import READY, FakeSource, fake_detail, fake_state

TIMEOUT_MS = 60_000
NOW_MS = 1_800_000_000_000


@pytest.fixture
def source() -> FakeSource:
    return FakeSource()


@pytest.fixture
def compose(qtbot, theme, source):
    def made(**given) -> ComposeDialog:
        dialog = ComposeDialog(source, theme, source.state, **{"topic": "orders"} | given)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return made


# ---- who would get it ----


@pytest.fixture
def members(source):
    """Groups with one consumer each and what it subscribes to; those that are not named have none."""

    def set_up(**wanted: dict[str, str]) -> None:
        def members(question: ListMembers) -> Members:
            found = wanted.get(question.group.replace("-", "_"))
            count = 0 if found is None else 1
            return Members(["c"] * count, ["a"] * count, [""] * count, [""] * count, [1] * count, [found] * count)

        source.answers[ListMembers] = members

    return set_up


def resent(**properties):
    return replace(fake_detail(1_000), topic="orders", body=b"x", properties={"TAGS": "new", **properties})


def test_a_resend_says_which_groups_would_reject_it(compose, members):
    members(order_service={"orders": "paid || done"}, bi_export={"orders": "region = 'eu'"})
    dialog = compose(resent=resent(region="us"))
    assert "The filter paid || done of order-service rejects its tag." in dialog.effect.text
    assert "The filter region = 'eu' of bi-export does not hold for its properties." in dialog.effect.text
    dialog.form.tag.setText("paid")
    assert "order-service" not in dialog.effect.text
    assert "bi-export" in dialog.effect.text


def test_a_resend_that_all_take_or_nobody_is_there_for_warns_of_nothing(compose, members):
    members(order_service={"orders": "region = 'us' and TAGS is not null"})
    assert "order-service" not in compose(resent=resent(region="us")).effect.text
    members()
    assert "order-service" not in compose(resent=resent()).effect.text


def test_a_resend_to_another_topic_asks_for_its_groups(compose, members):
    members(order_service={"orders": "*"}, bi_export={"orders": "*"})
    dialog = compose(resent=resent())
    other = next(topic for topic in groups_by_topic() if topic != "orders")
    reader = groups_by_topic()[other]
    members(**{reader.replace("-", "_"): {"orders": "*"}})
    dialog.form.topic.setCurrentText(other)
    assert f"{reader} does not subscribe to {other}." in dialog.effect.text


def groups_by_topic():
    state = fake_state()
    return {topic: groups[0] for topic in state.catalog.topics if (groups := groups_of_topic(state, topic))}


def test_where_groups_cannot_be_asked_the_resend_says_so(compose, source):
    source.answers[ListMembers] = lambda _question: RemoteError("the broker is busy")
    assert "What groups would reject is not known: the broker is busy" in compose(resent=resent()).effect.text


# ---- the dialog ----


def test_options_become_properties_and_the_queue_of_the_sharding_key(compose, source):
    dialog = compose()
    dialog.options.sharding_key.setText("order-7")
    dialog.options.when.setCurrentIndex(1)
    assert not dialog.send_button.isEnabled()
    dialog.options.when_text.setText("3")
    assert dialog.send_button.isEnabled()
    dialog.form.body.setPlainText("${n}")
    dialog.send_button.click()
    (message,) = source.sent
    assert message.properties == {"__SHARDINGKEY": "order-7", "DELAY": "3"}
    state = fake_state()
    queues = state.catalog.topic_write_queues[state.catalog.topics.index("orders")]
    assert (message.queue_id, message.body) == (queue_of_key("order-7", queues), b"1")


def test_a_page_that_knows_no_state_yet_has_all_topics_and_queues(qtbot, theme, source):
    dialog = ComposeDialog(source, theme, None, topic="orders")
    qtbot.addWidget(dialog)
    assert len(dialog.form.queues) > 1
    assert dialog.form.topic.count() > 1


def test_queues_of_several_brokers_have_their_own_numbers(compose, source):
    catalog = source.state.catalog
    queues = (0, 1, 10_000, 10_001)
    row = catalog.topics.index("orders")
    several = [(topic, queue) for topic, queue in zip(catalog.queue_topic, catalog.queue_id, strict=True) if topic != row]
    several += [(row, queue) for queue in queues]
    source.state = replace(
        source.state,
        catalog=replace(
            catalog,
            brokers=["east", "west"],
            queue_topic=[topic for topic, _ in several],
            queue_id=[queue for _, queue in several],
        ),
    )
    dialog = compose()
    assert [dialog.form.queue.itemData(place) for place in range(5)] == [ALL_QUEUES, *queues]
    dialog.form.queue.setCurrentIndex(4)
    dialog.form.body.setPlainText("x")
    dialog.copy_code("Java")
    assert 'new MessageQueue("orders", "west", 1)' in QGuiApplication.clipboard().text()
    dialog.form.queue.setCurrentIndex(0)
    dialog.options.sharding_key.setText("order-7")
    dialog.send_button.click()
    assert source.sent[0].queue_id == queues[queue_of_key("order-7", 4)]


def test_the_dialog_grows_with_its_properties_and_then_scrolls(compose, qtbot):
    dialog = compose()
    before = dialog.height()
    dialog.form.properties.add("region", "eu")
    qtbot.waitUntil(lambda: dialog.height() > before)
    for number in range(40):
        dialog.form.properties.add(f"name-{number}", "value")
    bar = dialog.fields.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0)
    assert dialog.height() <= dialog.screen().availableGeometry().height()
    names = [field for field in dialog.form.properties.findChildren(QLineEdit) if field.text().startswith("name-")]
    assert all(field.height() >= field.sizeHint().height() for field in names)
    assert dialog.send_button.visibleRegion().boundingRect().height() == dialog.send_button.height()


def test_a_slip_in_a_variable_is_told_before_anything_is_sent(compose, source):
    dialog = compose()
    dialog.form.body.setPlainText("${number}")
    assert not dialog.send_button.isEnabled()
    assert "${number} is no variable" in dialog.send_button.toolTip()
    dialog.options.fills.setChecked(False)
    dialog.send_button.click()
    assert source.sent[0].body == b"${number}"


def test_a_message_that_is_resent_keeps_what_looks_like_variables(compose, source):
    dialog = compose(resent=replace(fake_detail(1_000), topic="orders", body=b"${n} is kept"))
    assert not dialog.options.fills.isChecked()
    dialog.send_button.click()
    assert source.sent[0].body == b"${n} is kept"


def test_a_burst_is_shown_stopped_and_told(compose, source, qtbot):
    dialog = compose()
    source.hold = True
    dialog.options.count.setValue(1_000)
    dialog.options.rate.setValue(1)
    assert dialog.send_button.text() == "Send 1,000 messages"
    dialog.send_button.click()
    assert not dialog.send_button.isEnabled()
    assert dialog.cancel_button.text() == "Stop"
    dialog.cancel_button.click()
    assert dialog.isVisible()
    with qtbot.waitSignal(dialog.stored_several, timeout=TIMEOUT_MS) as told:
        source.held[-1].release()
    assert told.args == ["orders", 1]
    assert dialog.receipt.text() == "1 of 1,000 stored"
    assert dialog.send_button.isEnabled()
    dialog.cancel_button.click()
    assert not dialog.isVisible()


def test_a_burst_that_is_refused_says_why(compose, source):
    dialog = compose()
    source.fail_with = RemoteError("the topic is read-only", code=16)
    assert dialog.options.count.text() == "1 message"
    dialog.options.count.setValue(5)
    assert dialog.options.count.text() == "5 messages"
    dialog.send_button.click()
    assert dialog.error.text().startswith("The message was not sent: This is not permitted (16).")
    assert dialog.error.text().endswith("the topic is read-only")
    assert dialog.burst is None


def test_what_no_answer_came_for_is_not_called_unsent(compose, source):
    dialog = compose()
    source.fail_with = ConnectionLostError("the connection to h:1 ended (closed by the peer)")
    dialog.send_button.click()
    assert dialog.error.text().startswith("The message may be stored: ")
    dialog.options.count.setValue(5)
    dialog.send_button.click()
    assert dialog.receipt.text() == "0 of 5 stored · 1 may be stored"
    assert dialog.error.text().startswith("The message may be stored: ")


def test_the_message_is_copied_as_a_program(compose):
    dialog = compose()
    dialog.form.body.setPlainText("hello ${n}")
    for language, sign in (("Java", "public class"), ("Go", "package main"), ("Python", "import Message"), ("mqadmin", "-p")):
        dialog.copy_code(language)
        text = QGuiApplication.clipboard().text()
        assert sign in text
        assert "hello 1" in text


def test_the_message_is_copied_as_a_program_of_an_sdk_of_grpc(compose, source):
    source.ready = replace(READY, grpc="127.0.0.1:8081")
    dialog = compose()
    dialog.form.body.setPlainText("hello ${n}")
    dialog.copy_as.menu().aboutToShow.emit()
    actions = {action.text(): action for action in dialog.copy_as.menu().actions()}
    for language in ("Java", "Go", "Python", "Node", "Rust", "C#"):
        assert actions[f"{language}, gRPC"].isEnabled()
        actions[f"{language}, gRPC"].trigger()
        text = QGuiApplication.clipboard().text()
        assert "127.0.0.1:8081" in text
        assert "hello 1" in text


def test_without_a_known_port_of_grpc_its_programs_are_not_offered(compose):
    dialog = compose()
    dialog.form.body.setPlainText("hello")
    dialog.copy_code("Java")
    before = QGuiApplication.clipboard().text()
    dialog.copy_as.menu().aboutToShow.emit()
    (java,) = [action for action in dialog.copy_as.menu().actions() if action.text() == "Java, gRPC"]
    assert not java.isEnabled()
    assert java.toolTip() == "The broker has no port for gRPC: it is off, or another program has the port."
    dialog.copy_sdk_code("Java")
    assert QGuiApplication.clipboard().text() == before


def test_programs_for_sdks_of_an_attached_cluster_name_its_proxy(compose, source):
    source.name = "10.0.0.1:9876"
    dialog = compose()
    dialog.form.body.setPlainText("hello")
    (java,) = [action for action in dialog.copy_as.menu().actions() if action.text() == "Java, gRPC"]
    dialog.copy_as.menu().aboutToShow.emit()
    assert not java.isEnabled()
    assert java.toolTip() == "No proxy of this cluster is known. SDKs of gRPC connect to a proxy."
    source.push(replace(source.state, catalog=replace(source.state.catalog, grpc=["10.0.0.2:8081", "10.0.0.3:8081"])))
    dialog.copy_as.menu().aboutToShow.emit()
    assert java.isEnabled()
    java.trigger()
    assert '"10.0.0.2:8081"' in QGuiApplication.clipboard().text()


def test_what_was_sent_is_kept_as_it_was_entered_and_taken_up_again(compose, tmp_path, source):
    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    dialog = compose(settings=settings)
    assert dialog.past.drafts == []
    dialog.form.tag.setText("paid")
    dialog.form.body.setPlainText('{"订单": ${n}}')
    dialog.form.queue.setCurrentIndex(2)
    dialog.options.sharding_key.setText("s-${n}")
    dialog.send_button.click()
    dialog.form.body.setPlainText("another")
    dialog.send_button.click()
    fresh = compose(settings=QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat))
    newest, before = fresh.past.drafts
    assert (newest.body, before.body) == (b"another", '{"订单": ${n}}'.encode())
    fresh.past.chosen.emit(before)
    assert (fresh.form.draft, fresh.form.draft.queue_id) == (before, 1)
    topics = [fresh.form.topic.itemText(i) for i in range(fresh.form.topic.count())]
    assert len(set(topics)) == len(topics)


def test_what_was_sent_takes_the_place_of_all_that_was_entered(compose, tmp_path, source):
    dialog = compose(settings=QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat))
    dialog.options.sharding_key.setText("order-7")
    dialog.options.when.setCurrentIndex(2)
    dialog.options.when_text.setText("90s")
    dialog.send_button.click()
    dialog.options.sharding_key.setText("order-8")
    (kept,) = dialog.past.drafts
    dialog.past.chosen.emit(kept)
    assert dialog.options.sharding_key.text() == "order-7"
    assert dialog.form.properties.pairs() == ()
    assert (dialog.form.draft, dialog.send_button.isEnabled()) == (kept, True)
    plain = replace(kept, properties=(("DELAY", "soon"), ("region", "eu")))
    dialog.past.chosen.emit(plain)
    assert (dialog.options.sharding_key.text(), dialog.options.is_timer) == ("", False)
    assert dialog.form.draft == plain


def test_templates_come_back_by_name_whatever_else_was_kept():
    draft = MessageDraft("orders", 3, "PAID", "k1 k2", (("region", "hz"),), b'{"n": {{seq}}}')
    kept = with_template(with_template({}, "b", draft), "A", replace(draft, tag="NEW"))
    assert list(templates_from_text(templates_to_text(kept))) == ["A", "b"]
    assert templates_from_text(templates_to_text(kept))["b"] == draft
    assert templates_from_text('{"x": 1, "y": ["orders"]}') == {}
    assert templates_from_text("[") == templates_from_text("[]") == {}


def test_there_is_a_bound_to_templates():
    draft = MessageDraft("orders", -1, "", "", (), b"x")
    full = {f"t{number}": draft for number in range(TEMPLATES_MAX)}
    assert with_template(full, "one more", draft) == full
    assert with_template(full, "t0", replace(draft, tag="A"))["t0"].tag == "A"
    assert with_template({}, "large", replace(draft, body=b"x" * (BODY_BYTES_MAX + 1))) == {}


def texts(menu):
    menu.aboutToShow.emit()
    return [(action.text(), action.isEnabled()) for action in menu.actions() if action.text()]


def test_a_template_is_saved_chosen_and_forgotten(compose, tmp_path, source, qtbot):
    place = str(tmp_path / "orbit.ini")
    dialog = compose(settings=QSettings(place, QSettings.Format.IniFormat))
    assert texts(dialog.templates_menu) == [("Save as a template…", True)]
    dialog.form.tag.setText("PAID")
    dialog.form.body.setPlainText('{"订单": ${n}}')
    entered = dialog.form.draft
    asked = dialog.templates_menu.ask_save()
    asked.setTextValue(" paid & late ")
    asked.accept()
    assert asked.textValue() == " paid & late "
    fresh = compose(settings=QSettings(place, QSettings.Format.IniFormat))
    assert ("paid && late", True) in texts(fresh.templates_menu)
    action = next(one for one in fresh.templates_menu.actions() if one.text() == "paid && late")
    action.trigger()
    assert fresh.form.draft == entered
    fresh.templates_menu.forget("paid & late")
    assert texts(fresh.templates_menu) == [("Save as a template…", True)]


def test_what_is_too_large_or_masked_is_no_template(compose, tmp_path):
    dialog = compose(settings=QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat))
    dialog.form.body.setPlainText("x" * (BODY_BYTES_MAX + 1))
    assert texts(dialog.templates_menu) == [("Save as a template…", False)]
    assert dialog.templates_menu.actions()[0].toolTip() == "A template takes bodies up to 64.0 KiB."
    dialog.form.fill(replace(dialog.form.draft, body=b"secret"), replace(dialog.form.draft, body=b"***"))
    assert texts(dialog.templates_menu) == [("Save as a template…", False)]
    dialog.templates_menu.save("secret")
    assert dialog.templates_menu.templates == {}


def test_a_stored_message_that_is_sent_again_has_no_templates(compose):
    assert not compose(resent=resent()).templates.isVisible()


@pytest.mark.parametrize(
    ("name", "value"),
    [("DELAY", "3"), ("TIMER_DELAY_MS", "1500"), ("TIMER_DELIVER_MS", "1800000000000"), ("__SHARDINGKEY", "a b")],
)
def test_what_has_a_field_of_its_own_is_entered_there(compose, name, value):
    dialog = compose()
    dialog.form.fill(replace(dialog.form.draft, topic="orders", properties=(("region", "eu"), (name, value))))
    assert dialog.form.properties.pairs() == (("region", "eu"),)
    assert dialog.form.draft.properties == (("region", "eu"), (name, value))
    assert not dialog.options.fault


def test_a_resend_changes_nothing_that_nobody_has_edited(compose, source, qtbot):
    properties = {"KEYS": "k1  k2\u3000", "TAGS": " new ", " name ": "a\nb", "__SHARDINGKEY": " s "}
    dialog = compose(resent=resent(**properties))
    dialog.send_button.click()
    (message,) = source.sent
    assert {name: value for name, value in message.properties.items() if name != "ORBIT_ORIGIN_ID"} == properties
    for field, text in ((dialog.form.tag, " other "), (dialog.form.keys, " k3  k4 ")):
        field.clear()
        qtbot.keyClicks(field, text)
    assert (dialog.form.draft.tag, dialog.form.draft.keys) == ("other", "k3 k4")


def test_the_history_is_bounded_and_survives_what_it_cannot_read():
    drafts: list[MessageDraft] = []
    for number in range(DRAFTS_MAX + 5):
        drafts = with_draft(drafts, MessageDraft("t", 0, "", "", (("a", "b"),), b"%d" % number))
    assert [draft.body for draft in drafts] == [b"%d" % number for number in range(DRAFTS_MAX + 4, 4, -1)]
    assert with_draft(drafts, drafts[3])[0] == drafts[3]
    assert len(with_draft(drafts, drafts[3])) == DRAFTS_MAX
    assert with_draft(drafts, MessageDraft("t", 0, "", "", (), b"x" * (BODY_BYTES_MAX + 1))) == drafts
    assert drafts_from_text(drafts_to_text(drafts)) == drafts
    assert drafts_from_text('[["t"], 7, ["t", 0, "", "", [], "no base64!", 0]]') == []
    assert drafts_from_text('[["t", 0, "", "", [], "退款", 0]]') == []
    assert [drafts_from_text(text) for text in ("", "{", "7", "{}", "[" * 100_000)] == [[]] * 5


# ---- with the real worker ----


def answer_of(qtbot, pending):
    answers: list[object] = []
    pending.then(answers.append, answers.append)
    qtbot.waitUntil(lambda: bool(answers), timeout=TIMEOUT_MS)
    return answers[0]


def browsed(qtbot, source, topic) -> MessagePage:
    page = answer_of(qtbot, source.ask(BrowseQueue(topic, -1, 0, 1_000)))
    assert isinstance(page, MessagePage)
    return page


def send_in_transactions(qtbot, dialog, source):
    """One of each end: the first is readable, the last undecided, the other neither."""
    dialog.options.when.setCurrentIndex(0)
    for end in ("commit", "rollback", "unknown"):
        choose_end(dialog, end)
        dialog.form.keys.setText(f"tx-{end}")
        with qtbot.waitSignal(dialog.sent, timeout=TIMEOUT_MS):
            dialog.send_button.click()
    choose_end(dialog, "")
    keys = [key for key in browsed(qtbot, source, "orders").keys if key.startswith("tx-")]
    undecided = answer_of(qtbot, source.ask(ListTransactions(0, 10)))
    assert (keys, undecided.keys) == (["tx-commit"], ["tx-unknown"])


def import_files(qtbot, dialog, source, folder):
    """Rows with a sharding key go to the queue of that key, and arrive with all that they say."""
    table, body = folder / "rows.csv", folder / "body.bin"
    rows = [(f'multi\r\nline {n}, "龙"', json.dumps({"KEYS": f"imp-{n}", "__SHARDINGKEY": "order-7"})) for n in range(5)]
    with table.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("bodyText", "properties"), *rows])
    body.write_bytes(b"\x00\xff")
    dialog.imports.read([table, body])
    qtbot.waitUntil(lambda: bool(dialog.imports.messages and dialog.form.queues), timeout=TIMEOUT_MS)
    with qtbot.waitSignal(dialog.stored_several, timeout=TIMEOUT_MS) as told:
        dialog.send_button.click()
    assert told.args == ["orders", 6]
    page = browsed(qtbot, source, "orders")
    kept = dict(zip(page.body_start, page.queue_id, strict=True))
    queue = dialog.form.queues[queue_of_key("order-7", len(dialog.form.queues))]
    assert {text: kept.get(text.encode()) for text, _properties in rows} == {text: queue for text, _properties in rows}
    assert b"\x00\xff" in kept


@pytest.mark.timeout(240)
def test_what_is_composed_reaches_the_real_broker(qtbot, tmp_path, monkeypatch, theme):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = {"mappedFileSizeCommitLog": "1048576", "maxHashSlotNum": "1000", "maxIndexNum": "4000"}
    worker = WorkerProcess(WorkerArguments(tmp_path / "store", 0, 0, settings=settings))
    worker.start()
    source = worker.source
    qtbot.waitUntil(lambda: source.status is not SourceStatus.STARTING and source.state is not None, timeout=TIMEOUT_MS)
    assert source.status is SourceStatus.READY, source.reason
    try:
        dialog = ComposeDialog(source, theme, source.state, topic="orders")
        qtbot.addWidget(dialog)
        dialog.form.body.setPlainText('{"订单": ${n:3}}')
        dialog.form.keys.setText("K-${n}")
        dialog.options.count.setValue(150)
        dialog.options.rate.setValue(2_000)
        with qtbot.waitSignal(dialog.stored_several, timeout=TIMEOUT_MS) as told:
            dialog.send_button.click()
        assert told.args == ["orders", 150]
        page = browsed(qtbot, source, "orders")
        assert sorted(page.body_start) == [f'{{"订单": {n:03}}}'.encode() for n in range(1, 151)]
        assert sorted(page.keys) == sorted(f"K-{n}" for n in range(1, 151))
        dialog.options.count.setValue(1)
        dialog.options.when.setCurrentIndex(2)
        dialog.options.when_text.setText("1h")
        with qtbot.waitSignal(dialog.sent, timeout=TIMEOUT_MS) as told:
            dialog.send_button.click()
        assert isinstance(told.args[1], SendReceipt)
        qtbot.waitUntil(lambda: source.state.timers.get("pending") == 1, timeout=TIMEOUT_MS)
        send_in_transactions(qtbot, dialog, source)
        dialog = ComposeDialog(source, theme, None, topic="orders")
        qtbot.addWidget(dialog)
        import_files(qtbot, dialog, source, tmp_path)
    finally:
        if worker.is_running:
            with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
                worker.stop()


# ---- transactions and files ----


def choose_end(dialog: ComposeDialog, end: str) -> None:
    dialog.options.transaction.setCurrentIndex(dialog.options.transaction.findData(end))


def test_a_message_is_sent_in_a_transaction_with_the_end_that_was_chosen(compose, source):
    dialog = compose()
    dialog.form.body.setPlainText("x")
    choose_end(dialog, "rollback")
    dialog.send_button.click()
    assert source.sent[-1].transaction == "rollback"
    assert dialog.receipt.text().startswith("Half message stored, and rolled back")
    assert dialog.show_button.isHidden()
    choose_end(dialog, "")
    dialog.send_button.click()
    assert source.sent[-1].transaction == ""
    assert not dialog.show_button.isHidden()


def test_a_transaction_takes_no_delay(compose):
    dialog = compose()
    dialog.form.body.setPlainText("x")
    choose_end(dialog, "commit")
    dialog.options.when.setCurrentIndex(1)
    dialog.options.when_text.setText("3")
    assert not dialog.send_button.isEnabled()
    assert dialog.send_button.toolTip() == "A message in a transaction cannot be delayed as well."


def test_messages_of_files_are_sent_in_place_of_what_is_entered(compose, source, qtbot, tmp_path):
    file = tmp_path / "some.jsonl"
    file.write_text('{"topic":"payments","bodyText":"杭州","properties":{"KEYS":"K1"}}\n{"bodyText":"two"}\n', encoding="utf-8")
    dialog = compose()
    dialog.imports.read([file])
    assert not dialog.send_button.isEnabled()
    qtbot.waitUntil(lambda: not dialog.imports.is_reading)
    assert dialog.send_button.text() == "Send 2 messages"
    assert dialog.form.body_note.text() == "2 messages of some.jsonl, 9 B, to payments 1, orders 1"
    dialog.options.rate.setValue(2_000)
    dialog.send_button.click()
    qtbot.waitUntil(lambda: dialog.burst is None)
    first, second = source.sent
    assert (first.topic, first.body, first.properties) == ("payments", "杭州".encode(), {"KEYS": "K1"})
    assert (second.topic, second.body) == ("orders", b"two")
    dialog.import_button.click()
    assert dialog.form.body.isEnabled()
    assert dialog.imports.words == ""


def test_a_file_that_is_no_table_is_a_body(compose, source, qtbot, tmp_path):
    file = tmp_path / "picture.bin"
    file.write_bytes(b"\x00\xff\x10")
    dialog = compose()
    dialog.form.tag.setText("PIC")
    dialog.imports.read([file])
    qtbot.waitUntil(lambda: not dialog.imports.is_reading)
    dialog.send_button.click()
    qtbot.waitUntil(lambda: dialog.burst is None)
    (message,) = source.sent
    assert (message.topic, message.body, message.properties) == ("orders", b"\x00\xff\x10", {"TAGS": "PIC"})


def test_files_that_cannot_be_read_say_why_and_can_be_left(compose, qtbot, tmp_path):
    file = tmp_path / "bad.jsonl"
    file.write_text("{", encoding="utf-8")
    dialog = compose()
    dialog.imports.read([file])
    qtbot.waitUntil(lambda: not dialog.imports.is_reading)
    assert "line 1 of bad.jsonl is no JSON" in dialog.error.text()
    assert not dialog.send_button.isEnabled()
    assert dialog.import_button.text() == "Without the files"
    dialog.import_button.click()
    dialog.form.body.setPlainText("x")
    assert dialog.send_button.isEnabled()
    assert not dialog.error.isVisible()


def test_a_dialog_that_is_closed_while_files_are_read_hears_nothing(compose, qtbot, tmp_path, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    def slow(_paths, _template):
        begun.set()
        assert go_on.wait(TIMEOUT_MS / 1_000)
        return []

    monkeypatch.setattr("gui.views.messages.message_import.read_imports", slow)
    dialog = compose()
    dialog.imports.read([tmp_path / "x.bin"])
    assert begun.wait(TIMEOUT_MS / 1_000)
    gone = []
    dialog.imports.destroyed.connect(lambda: gone.append(True))
    dialog.imports.deleteLater()
    qtbot.waitUntil(lambda: bool(gone), timeout=TIMEOUT_MS)
    go_on.set()
    assert QThreadPool.globalInstance().waitForDone(TIMEOUT_MS)
