"""Masking rules hold wherever a message is shown or taken along; over a fake source."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtGui import QGuiApplication

from broker_core.worker.questions.stored_messages import FieldValues
from gui.operations.decoding import RULES_FILE, DecoderBook
from gui.operations.message_job import Chosen, MessageJob
from gui.operations.tasks import TaskList
from gui.views.dead_letters.view import DeadLettersView
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.messages.export_dialog import ExportDialog
from gui.views.messages.message_view import MessageView
from gui.views.messages.view import SEARCH, MessagesView
from gui.views.tail.view import TailView
from gui.widgets.data_grid import CopyFormat
from monitoring.payload import judging
from monitoring.payload.judging import MASK
from monitoring.payload.listed import ListMask
from monitoring.payload.masking import HIDE_ALL, MaskRules
from monitoring.payload.rules import DecoderRule, read_rules, write_rules
from tests.gui.test_dead_letters import DeadSource
from tests.gui.test_hits import hits_of
from tests.gui.test_tail import followed
from tests.support.fake_child import FakeChild
from tests.support.fake_page_context import deliver_background_calls, fake_context
from tests.support.fake_source import FakeSource, fake_detail, fake_state

ALL = MaskRules((), ("(?s).+",))


@pytest.fixture
def rules(tmp_path):
    """Writes the rules that pages find in their settings folder."""

    def write(*masks: tuple[str, MaskRules]) -> None:
        write_rules(tmp_path / RULES_FILE, [DecoderRule(topics, mask=mask) for topics, mask in masks])

    return write


def cells(grid, *keys):
    """What the columns of the first row say, as it is painted and copied."""
    model = grid.model
    named = {column.key: column for column in model.columns}
    row = model.row_at(0)
    return [named[key].text(row) for key in keys]


def test_a_page_of_a_queue_is_masked_and_follows_the_rules(show_page, rules):
    rules(("*", ALL))
    view = show_page(MessagesView, FakeSource())
    key, tag, body = cells(view.grid, "key", "tag", "body")
    assert (key, tag) == (MASK, MASK)
    assert MASK in body
    assert "杭州" not in body
    assert view.detail.name.text() == MASK
    view.grid.select_first()
    view.grid.copy(CopyFormat.JSON)
    copied = json.loads(QGuiApplication.clipboard().text())
    copied = copied[0] if isinstance(copied, list) else copied
    assert list(copied.values()).count(MASK) == 2
    assert body in copied.values()
    rules(("another", ALL))
    view.refresh()
    deliver_background_calls()
    assert MASK not in cells(view.grid, "key", "body")


def test_hits_and_their_further_columns_are_masked(show_page, rules):
    rules(("t1", ALL), ("t2", MaskRules(("card",))))
    view = show_page(MessagesView, FakeSource())
    view.tabs.setCurrentIndex(SEARCH)
    panel = view.search
    panel.fields.add_field("prop.region")
    panel.fields.add_field("body.card")
    places = [1, 2, 3]  # topics t1, t2, t0
    hits = hits_of(places, body_bytes=[5] * 3, tag=["A", "B", "C"])
    panel.model.append(hits)
    fields = panel.model.fields
    texts = [[f"{field}@{place}" for place in places] for field in fields]
    panel.model.show_values(places, fields, FieldValues(texts, [b"body1", b"body2", b"body3"]))
    columns = {column.key: column for column in panel.model.columns}
    keys = ("keys", "tag", "body", "prop.region", "body.card")
    shown = [[columns[key].text(row) for key in keys] for row in panel.model.shown_rows]
    assert shown[0] == [MASK] * 5
    assert shown[1] == ["k2", "B", MASK, "prop.region@2", MASK]  # the body is no structure with the path
    assert shown[2] == ["k3", "C", "body3", "prop.region@3", "body.card@3"]
    first = panel.model.row_at(0)
    assert panel.conditions(first, "keys") == panel.conditions(first, "prop.region") == []
    assert panel.conditions(first, "topic")


def test_a_tail_is_masked_and_completes_no_hidden_tag(show_page, rules):
    rules(("orders", ALL))
    source = FakeSource()
    view = show_page(TailView, source)
    source.feed_follow(followed(2, tag="SECRET"))
    key, tag, body = cells(view.grid, "key", "tag", "body")
    assert (key, tag) == (MASK, MASK)
    assert MASK in body
    assert "SECRET" not in view.bar.names.vocabulary.tags


def test_dead_letters_and_waiting_retries_follow_the_rules_of_their_topics(show_page, rules):
    rules(("orders", ALL))
    view = show_page(DeadLettersView, DeadSource(fake_state()))
    by_origin = {one.letter.origin_topic: one.letter for one in view.letters.rows}
    hidden, shown = by_origin["orders"], by_origin["inventory-reserve"]
    assert (hidden.keys, hidden.tag) == (MASK, MASK)
    assert MASK in hidden.body
    assert MASK not in (shown.keys, shown.body)
    view.letter_grid.select_key(hidden.physical_offset)
    assert view.side.body.toPlainText() == hidden.body
    assert {one.keys for one in view.retries.rows} == {MASK}  # a retry does not say here which topic it is of


def test_a_masked_body_is_not_downloaded(show_page, rules):
    view = show_page(MessageView, FakeSource())
    view.open({"physical_offset": 1_024})
    deliver_background_calls()
    assert view.download_button.isEnabled()
    rules(("*", ALL))
    view = show_page(MessageView, FakeSource())
    view.open({"physical_offset": 1_024})
    deliver_background_calls()
    assert not view.download_button.isEnabled()
    assert "masking rule" in view.download_button.toolTip()
    assert view.ask_download() is None


def test_the_page_of_a_message_is_masked_in_its_name(show_page, rules):
    rules(("*", ALL))
    view = show_page(MessageView, FakeSource())
    view.open({"physical_offset": 256})
    deliver_background_calls()
    assert view.tab_title() == MASK
    assert {row.value for row in view.properties.rows} == {MASK}


def test_until_the_rules_are_read_everything_is_hidden(qapp, tmp_path):
    book = DecoderBook(tmp_path)
    assert not book.is_read
    assert book.masks
    assert book.rule("orders").mask == HIDE_ALL
    deliver_background_calls()
    assert book.is_read
    assert book.rule("orders") is None


def test_rules_that_another_window_has_changed_are_not_overwritten_unseen(qapp, tmp_path):
    book, refusals = DecoderBook(tmp_path), []
    book.refused.connect(refusals.append)
    deliver_background_calls()
    others = (DecoderRule("pay", mask=ALL),)
    write_rules(tmp_path / RULES_FILE, others)
    book.save([DecoderRule("orders")])
    deliver_background_calls()
    assert "changed by another window" in refusals[0].message
    assert read_rules(tmp_path / RULES_FILE) == book.rules == others


def test_a_mask_without_end_hides_rows_and_says_so_at_the_end(show_page, rules, qtbot, monkeypatch):
    monkeypatch.setattr(judging, "AT_ONCE_SECONDS", 0.001)
    rules(("*", MaskRules((), ("(?:a|aa)+$",))))
    view = show_page(MessagesView, FakeSource())
    slow = "a" * 5_000 + " 4111"
    assert view.masks.of("orders").text(slow) == f"{MASK}, not checked yet"
    told = []
    view.masks.changed.connect(lambda: told.append(view.masks.of("orders").text(slow)))
    qtbot.waitUntil(lambda: bool(told) and told[-1] == f"{MASK}, the mask did not end")


# ---- taken along ----


@pytest.fixture
def child():
    return FakeChild()


@pytest.fixture
def export(qtbot, theme, tmp_path, child, qapp):
    tasks = TaskList()
    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    chosen = Chosen('tag = "A"', 7)
    job = MessageJob(tasks, "Export", tasks, process=child)
    yield lambda: ExportDialog(fake_context(FakeSource(), settings, theme=theme), chosen, job=job)
    tasks.deleteLater()


def test_an_export_is_masked_unless_originals_are_asked_for(export, qtbot, rules, tmp_path, child):
    rules(("orders", ALL))
    dialog = export()
    qtbot.addWidget(dialog)
    dialog.export(tmp_path / "a.jsonl")
    assert child.started[-1][child.started[-1].index("--mask") + 1] == str(tmp_path / RULES_FILE)
    child.error_read.emit("masked: something is hidden in 3 of 7 messages, by the rules in x")
    child.error_read.emit("complete: 7 hits in 7 messages")
    child.end()
    assert "masked: something is hidden in 3 of 7" in dialog.view.said.toPlainText()
    dialog.originals.setChecked(True)
    dialog.export(tmp_path / "a.jsonl")
    assert "--originals" in child.started[-1]
    assert "--mask" not in child.started[-1]
    child.end()


def test_an_export_without_rules_has_no_choice(export, qtbot, tmp_path, child):
    dialog = export()
    qtbot.addWidget(dialog)
    dialog.show()
    assert not dialog.originals.isVisible()
    dialog.export(tmp_path / "a.jsonl")
    assert not {"--mask", "--originals"} & set(child.started[-1])
    child.end()


def test_an_export_by_rules_that_cannot_be_read_says_so(export, qtbot, tmp_path, child):
    (tmp_path / RULES_FILE).write_text("{")
    dialog = export()
    qtbot.addWidget(dialog)
    dialog.export(tmp_path / "a.jsonl")
    assert "--mask" in child.started[-1]  # which the command refuses, with the reason
    child.end()


@pytest.fixture
def resend(qtbot, theme):
    def made(source, mask):
        detail = fake_detail(256)
        detail = replace(detail, body=b'{"card": "4111", "city": "x"}', properties={"KEYS": "k-4111", "TAGS": "a", "p": "v"})
        rule = DecoderRule("*", mask=mask)
        dialog = ComposeDialog(source, theme, source.state, resent=detail, mask=ListMask(rule))
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog, detail

    return made


def test_a_resend_shows_no_hidden_value_and_sends_the_original(resend):
    source = FakeSource()
    dialog, detail = resend(source, MaskRules(("card",), ("4111",)))
    form = dialog.form
    assert "4111" not in form.body.toPlainText() + form.keys.text()
    assert not form.body.isEnabled()
    assert "The original is sent, also what is masked." in dialog.effect.text
    dialog.copy_code("Python")
    assert "4111" not in QGuiApplication.clipboard().text()
    source.ready = replace(source.ready, grpc="127.0.0.1:8081")
    dialog.copy_sdk_code("Python")
    assert "127.0.0.1:8081" in QGuiApplication.clipboard().text()
    assert "4111" not in QGuiApplication.clipboard().text()
    dialog.send_button.click()
    (sent,) = source.sent
    assert sent.body == detail.body
    assert (sent.properties["KEYS"], sent.properties["p"]) == ("k-4111", "v")


def test_the_original_can_be_asked_for_and_edited(resend):
    source = FakeSource()
    dialog, _detail = resend(source, MaskRules(("card",), ("4111",)))
    dialog.form.original_button.click()
    assert "4111" in dialog.form.body.toPlainText()
    assert dialog.form.body.isEnabled()
    assert not dialog.form.original_button.isVisible()
    dialog.form.body.setPlainText("edited")
    dialog.send_button.click()
    assert [one.body for one in source.sent] == [b"edited"]


def test_where_nothing_is_hidden_a_resend_is_edited_at_once(resend):
    dialog, detail = resend(FakeSource(), MaskRules(("iban",)))
    assert dialog.form.body.toPlainText() == detail.body.decode()
    assert dialog.form.body.isEnabled()
    assert not dialog.form.is_veiled
