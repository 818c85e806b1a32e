"""Reading a message: its body by decoder rules, encodings and masks, its record in words, comparison and copies."""

from __future__ import annotations

import csv
import gzip
import io
import json
import threading
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu

from broker_core.api import QUEUES_OF_BROKER
from broker_core.cluster.numbering import BrokerNumbers
from broker_core.worker.questions.stored_messages import ReadMessage
from gui.models.message_words import PropertyWords, crc_words, record_facts, sys_flag_words
from gui.operations.background import BackgroundCall
from gui.operations.decoding import RULES_FILE, SMALL_BYTES, BodyReader, DecoderBook
from gui.views.messages.body_pane import HEX, TABLE, TEXT, TREE
from gui.views.messages.compare_dialog import CompareDialog, compared_bodies, compared_properties, compared_records
from gui.views.messages.copies import message_json, message_markdown, message_tsv
from gui.views.messages.view import MessagesView
from gui.widgets.code_view import HEX_BYTES_MAX
from gui.words.text import TimeZoneChoice
from monitoring.payload.judging import MASK
from monitoring.payload.masking import MaskRules
from monitoring.payload.rules import DecoderRule, read_rules
from monitoring.payload.shown import Schemas, read_shown
from tests.support.fake_page_context import deliver_background_calls
from tests.support.fake_source import READY, FakeSource, fake_detail, fake_state
from tests.support.model_rules import hold_to_rules

TIMES = TimeZoneChoice(utc=True)
DETAIL = fake_detail(0)
QUEUE = ("broker-a", 3)
WAIT_MS = 30_000


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def pane(show_page, source):
    return show_page(MessagesView, source).detail


def showing(pane, qtbot, body, **changes):
    """The pane with another body, once it is read."""
    with qtbot.waitSignal(pane.body.shown, timeout=WAIT_MS):
        pane.show_message(replace(DETAIL, body=body, **changes))
    return pane.body


# ---- bodies ----


def test_a_compressed_body_is_undone_and_the_pane_says_so(pane, qtbot):
    body = showing(pane, qtbot, gzip.compress(b'{"a": 1}'))

    assert body.switch.current == TREE
    assert body.layers.text().startswith("gzip: ")
    body.choose_view(HEX)
    assert body.hex.toPlainText().startswith("00000000  1f 8b")


def test_a_broken_compression_says_why_and_shows_the_bytes(pane, qtbot):
    body = showing(pane, qtbot, gzip.compress(b"some text, long enough to be cut")[:-12])

    assert body.switch.current == HEX
    assert "Not read as gzip" in body.refusals.text()


def test_more_bytes_than_are_shown_are_said(pane, qtbot):
    body = showing(pane, qtbot, b"\0" * (HEX_BYTES_MAX + 1))

    assert body.note.whole_text() == "Bytes, first 262,144 of 262,145 bytes"
    assert body.hex.toPlainText().splitlines()[-1].startswith("The first 256")


def test_the_compression_of_the_producer_is_told(pane, qtbot):
    body = showing(pane, qtbot, b"x" * 3_000, sys_flag=0x301, stored_body_bytes=40)

    assert body.layers.text() == "Compressed by the producer: 40 B → 2.9 KiB"


def test_xml_and_tables_have_their_views(pane, qtbot):
    body = showing(pane, qtbot, b"<a><b>1</b><c/></a>")
    assert body.text.toPlainText().splitlines() == ["<a>", "  <b>1</b>", "  <c/>", "</a>"]

    body = showing(pane, qtbot, b"id,city,sum\n1,Hangzhou,5\n2,Berlin,6\n")
    assert body.switch.current == TABLE
    assert (body.table.model().rowCount(), body.table.model().columnCount()) == (2, 3)
    assert body.table.texts[1][1] == "Berlin"
    assert "2 rows" in body.note.whole_text()


def test_a_big_body_is_read_on_a_thread_and_shown_when_it_is_there(pane, qtbot):
    big = json.dumps([{"number": number} for number in range(SMALL_BYTES // 8)]).encode()
    pane.show_message(replace(DETAIL, body=big))
    assert pane.body.body is None
    assert pane.body.note.whole_text() == "Reading the body…"

    qtbot.waitUntil(lambda: pane.body.body is not None, timeout=WAIT_MS)

    assert pane.body.body.content.value[3] == {"number": 3}
    pane.body.choose_view(TABLE)
    assert "first 2,000 rows" in pane.body.note.whole_text()


def test_a_wide_table_is_shown_in_part_and_the_note_says_so(pane, qtbot):
    wide = json.dumps([{f"c{column}": row for column in range(300)} for row in range(150)]).encode()
    body = showing(pane, qtbot, wide)

    body.choose_view(TABLE)

    assert (body.table.model().rowCount(), body.table.model().columnCount()) == (100, 200)
    assert "first 100 rows, first 200 of 300 columns" in body.note.whole_text()


def test_only_the_body_that_was_asked_for_last_is_shown(qapp, monkeypatch):
    reader, waiting, shown = BodyReader(), [], []
    monkeypatch.setattr(BackgroundCall, "start", lambda call, work: waiting.append(lambda: call.done.emit(work())))
    reader.read.connect(shown.append)

    reader.read_body(gzip.compress(b"first"), None)
    reader.read_body(gzip.compress(b"second"), None)
    for work in reversed(waiting):
        work()

    assert [body.content.text for body in shown] == ["second"]


def test_another_encoding_can_be_chosen(pane, qtbot):
    data = "订单 4711".encode("utf-16-le")
    body = showing(pane, qtbot, data)

    body.encoding.setCurrentIndex(body.encoding.findData("utf-16"))
    body.encoding.activated.emit(body.encoding.currentIndex())

    assert body.text.toPlainText() == "订单 4711"
    assert "UTF-16" in body.note.whole_text()


def test_gbk_is_found_without_being_asked_for(pane, qtbot):
    body = showing(pane, qtbot, "订单已付款".encode("gb18030"))

    assert body.text.toPlainText() == "订单已付款"
    assert "GBK" in body.note.whole_text()


def test_latin_1_is_found_without_being_asked_for_and_another_can_be_chosen(pane, qtbot):
    body = showing(pane, qtbot, "für Jürgen".encode("latin-1"))
    assert body.text.toPlainText() == "für Jürgen"
    assert "Latin-1" in body.note.whole_text()

    body.encoding.setCurrentIndex(body.encoding.findData("gb18030"))
    body.encoding.activated.emit(body.encoding.currentIndex())
    assert "GBK" in body.note.whole_text()


# ---- rules ----


def test_a_rule_is_saved_in_the_settings_folder_and_read_by_others(pane, qtbot, tmp_path):
    body = showing(pane, qtbot, b'{"card": "4111", "city": "Berlin"}')
    dialog = body.open_rules()
    assert dialog.topics.text() == "orders"
    dialog.masked_paths.setPlainText("card")
    dialog.save()
    deliver_background_calls()

    assert read_rules(tmp_path / RULES_FILE) == (DecoderRule("orders", mask=MaskRules(("card",))),)
    assert body.body.content.value == {"card": MASK, "city": "Berlin"}


def test_masked_values_are_shown_only_while_the_button_is_held(pane, qtbot):
    pane.body.book.save([DecoderRule("ord*", mask=MaskRules(("card",), ("secret",)))])
    deliver_background_calls()
    body = showing(pane, qtbot, b'{"card": "4111"}', properties={"KEYS": "secret-1"})
    body.choose_view(TEXT)
    assert "4111" not in body.text.toPlainText()
    assert [row.value for row in pane.properties.rows] == [f"{MASK}-1"]
    body.choose_view(HEX)
    assert "34 31" not in body.hex.toPlainText()

    body.reveal.pressed.emit()
    assert "34 31" in body.hex.toPlainText()
    body.reveal.released.emit()
    assert "34 31" not in body.hex.toPlainText()
    assert "4111" not in message_json(pane.detail, ("", 0), body.body)


def test_a_rule_that_cannot_be_used_stays_in_the_dialog(pane, qtbot, tmp_path):
    dialog = pane.body.open_rules()
    dialog.masked_text.setPlainText("[")

    dialog.save()

    assert "Rule 1 cannot be used." in dialog.error.text
    assert read_rules(tmp_path / RULES_FILE) == ()
    dialog.reject()


def test_the_types_of_a_schema_can_be_chosen(pane, qtbot, tmp_path):
    schema = tmp_path / "order.proto"
    schema.write_text('syntax = "proto3"; package shop; message Order { string id = 1; }')
    dialog = pane.body.open_rules()
    dialog.reading.setCurrentIndex(dialog.reading.findData("protobuf"))
    dialog.schema.setText(str(schema))
    dialog.schema.editingFinished.emit()

    qtbot.waitUntil(lambda: dialog.message_type.count() == 1, timeout=WAIT_MS)
    assert dialog.message_type.currentText() == "shop.Order"
    dialog.save()
    deliver_background_calls()
    body = showing(pane, qtbot, b"\n\x02k1")
    assert body.body.content.value == {"id": "k1"}


def test_rules_are_added_moved_and_removed(pane, qtbot, tmp_path):
    dialog = pane.body.open_rules()
    dialog.add.click()
    dialog.topics.setText("pay*")
    dialog.up.click()
    dialog.save()
    deliver_background_calls()
    assert [rule.topics for rule in read_rules(tmp_path / RULES_FILE)] == ["pay*", "orders"]

    dialog = pane.body.open_rules()
    assert dialog.list.currentRow() == 1
    dialog.remove.click()
    dialog.save()
    deliver_background_calls()
    assert [rule.topics for rule in read_rules(tmp_path / RULES_FILE)] == ["pay*"]


def test_rules_that_cannot_be_read_hide_all_bodies_and_are_named_and_left_alone(pane, qtbot, tmp_path):
    (tmp_path / "decoder-rules.json").write_text("{")
    pane.body.book.refresh()
    deliver_background_calls()

    body = showing(pane, qtbot, b"secret text", properties={"KEYS": "secret-1"})

    assert "The decoder rules cannot be used, so all bodies are hidden: " in body.refusals.text()
    assert "decoder-rules.json" in body.refusals.text()
    assert body.text.toPlainText() == MASK
    assert [row.value for row in pane.properties.rows] == [MASK]
    assert "secret" not in message_json(pane.detail, ("", 0), body.body)
    body.choose_view(HEX)
    assert body.hex.toPlainText().startswith("Hidden, as the decoder rules cannot be used.")
    assert (tmp_path / "decoder-rules.json").read_text() == "{"

    body.reveal.pressed.emit()
    assert "73 65 63 72" in body.hex.toPlainText()
    body.reveal.released.emit()


@pytest.mark.parametrize("text", [b'{"card": 4111}', b"id,card,n\n1,4111,5\n2,4111,6\n", b"<a>4111</a>", b"\x81\xa1a\xa44111"])
def test_while_the_rules_cannot_be_read_no_form_of_a_body_is_shown(qapp, tmp_path, text):
    (tmp_path / "decoder-rules.json").write_text("[]")
    book = DecoderBook(tmp_path)
    deliver_background_calls()
    rule = book.rule("orders")

    body = read_shown(text, rule, Schemas())

    assert "4111" not in f"{body.content} {body.copied_text()}"
    assert b"4111" in body.plain.data


def test_rules_that_are_mended_or_gone_hide_nothing_any_more(qapp, tmp_path):
    path, book = tmp_path / "decoder-rules.json", DecoderBook(tmp_path)
    path.mkdir()
    book.refresh()
    deliver_background_calls()
    assert book.rule("orders").mask
    assert "cannot be read" in book.fault

    path.rmdir()
    book.refresh()
    deliver_background_calls()
    assert book.rule("orders") is None
    assert not book.fault


# ---- words ----


@pytest.mark.parametrize(
    ("sys_flag", "words"),
    [
        (0, []),
        (0x1, ["body compressed with zlib"]),
        (0x201, ["body compressed with Zstandard"]),
        (0x4, ["half message"]),
        (0x8 | 0x2, ["committed", "several tags"]),
        (0xC | 0x30, ["rolled back", "producer on IPv6", "broker on IPv6"]),
        (0x10000, ["unknown bits 0x10000"]),
    ],
)
def test_bits_of_the_system_flag_are_said_in_words(sys_flag, words):
    assert sys_flag_words(sys_flag) == words


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("DELAY", "3", "Delay level 3, 10 s"),
        ("DELAY", "99", "Delay level 99"),
        ("RECONSUME_TIME", "2", "Given back 2 times"),
        ("TIMER_OUT_MS", "1795227302640", "2026-11-21 02:15:02.640"),
        ("TRANSACTION_CHECK_TIMES", "4", "The producer was asked 4 times"),
        ("TRAN_MSG", "true", "Half message of a transaction"),
        ("DELAY", "soon", "Delay level of a scheduled delivery"),
        ("region", "5", ""),
    ],
)
def test_properties_are_said_in_words(name, value, words):
    assert PropertyWords(TIMES, {3: 10_000}.get).words(name, value) == words


def test_the_record_has_its_times_with_milliseconds_and_zone():
    facts = dict(record_facts(replace(DETAIL, sys_flag=0x8, prepared_transaction_offset=4_096), TIMES, str))

    assert facts["Stored"] == "2026-11-21 02:15:00.640 UTC"
    assert facts["System flag"] == "0x8, committed"
    assert facts["Half message at"] == "4,096"


def test_the_record_of_a_second_broker_has_that_brokers_own_place():
    numbers = BrokerNumbers()
    numbers.see(["broker-a", "broker-b"])
    facts = dict(record_facts(replace(DETAIL, physical_offset=numbers.shown_place("broker-b", 4_096)), TIMES, str))

    assert facts["Physical offset"] == "4,096"


def test_the_checksum_is_compared_with_the_body():
    assert crc_words(DETAIL).endswith("fits the body")
    assert crc_words(replace(DETAIL, body=b"other")).endswith("does not fit the body")
    assert "body" not in crc_words(replace(DETAIL, sys_flag=1))


# ---- comparison and copies ----


def test_two_messages_are_compared_line_by_line_and_by_property():
    left = replace(DETAIL, body=b'{"a": 1, "b": 2}', properties={"KEYS": "k1", "x": "1"})
    right = replace(DETAIL, body=b'{"a": 1, "b": 3, "c": 4}', properties={"KEYS": "k1", "y": "1"}, queue_offset=9)
    one, other = (read_shown(detail.body, None, Schemas()) for detail in (left, right))

    lines, remark = compared_bodies(one, other)

    assert remark == ""
    assert [(line.left, line.right) for line in lines if line.differs] == [('  "b": 2', '  "b": 3,'), (None, '  "c": 4')]
    rows = compared_properties(left, right, one, other)
    assert [(row.name, row.left, row.right) for row in rows if row.differs] == [("x", "1", ""), ("y", "", "1")]
    assert "Queue and offset" in [row.name for row in compared_records(left, right, TIMES, str) if row.differs]


def test_bytes_are_compared_in_hexadecimal():
    one, other = (read_shown(body, None, Schemas()) for body in (b"\x00\x01", b"\x00\x02"))

    assert [(line.left, line.right) for line in compared_bodies(one, other)[0]] == [("00 01", "00 02")]


def test_the_other_message_is_asked_for_by_its_place_or_id(pane, source, qtbot):
    dialog = pane.compare()
    for text, asked in (("1,024", ReadMessage(1_024)), ("7F00000100002A9F0000000000000100", None)):
        with qtbot.waitSignal(dialog.compared, timeout=WAIT_MS):
            dialog.entry.setText(text)
            dialog.entry.returnPressed.emit()
        assert asked is None or asked in source.asked
    assert "differ" in dialog.summary.text()
    whole = len(dialog.record.texts)
    dialog.only_differences.setChecked(True)
    assert 0 < len(dialog.record.texts) < whole
    dialog.reject()


def compare_entries(pane):
    """Entries of the menu that the button opens, by their text."""
    pane.compare_button.click()
    menu = QApplication.activePopupWidget()
    menu.hide()
    return {action.text(): action for action in menu.actions()}


def test_a_remembered_message_is_compared_with_the_shown_one(pane, qtbot):
    compare_entries(pane)["Remember this one for comparison"].trigger()
    pane.show_message(fake_detail(512))
    [remembered, _other, _remember] = compare_entries(pane).values()
    remembered.trigger()

    dialog = pane.findChild(CompareDialog)
    qtbot.waitUntil(lambda: len(dialog.record.texts) > 0, timeout=WAIT_MS)
    dialog.reject()


def test_a_message_is_copied_as_json_lines_and_markdown():
    shown = read_shown(b'{"a": "x|y"}', None, Schemas())
    detail = replace(DETAIL, body=b'{"a": "x|y"}', properties={"KEYS": "k1", "note": "a|b\tc"})

    names, values = csv.reader(io.StringIO(message_tsv(detail, QUEUE, shown)), dialect="excel-tab")
    pairs = dict(zip(names, values, strict=True))
    assert (pairs["note"], pairs["brokerName"], pairs["queueId"]) == ("a|b\tc", "broker-a", "3")
    fields = json.loads(message_json(detail, QUEUE, shown))
    assert (fields["body"], fields["brokerName"], fields["queueId"]) == ({"a": "x|y"}, "broker-a", 3)
    assert "brokerName" not in json.loads(message_json(detail, ("", 3), shown)), "of which broker it is is not known"
    markdown = message_markdown(detail, QUEUE, shown)
    assert "| note | a\\|b c |" in markdown
    assert markdown.endswith('```json\n{\n  "a": "x|y"\n}\n```')


def test_markdown_of_a_body_of_marks_is_made_in_one_pass_and_shows_them_all():
    body = b"a``b" + b"`" * 1_000_000
    text = message_markdown(replace(DETAIL, body=body), QUEUE, read_shown(body, None, Schemas()))
    fence = "`" * 1_000_001
    assert text.endswith(f"\n{fence}\n{body.decode()}\n{fence}")


def test_a_message_is_made_into_a_text_beside_the_window(pane, qtbot, monkeypatch):
    threads = []
    monkeypatch.setattr(
        "gui.views.messages.copies.message_pairs",
        lambda *_parts: threads.append(threading.current_thread()) or [("a", "b")] * 2,
    )
    showing(pane, qtbot, b"text")
    pane.copy_button.click()
    (menu,) = pane.copy_button.findChildren(QMenu)
    for form in ("Message as TSV", "Message as Markdown"):
        next(action for action in menu.actions() if action.text() == form).trigger()
    qtbot.waitUntil(lambda: len(threads) == 2, timeout=WAIT_MS)
    assert threading.main_thread() not in threads


WRITTEN = (
    rb'{"a":23958446825181076828,"b":9007199254740993,"c":0.10,"d":12345678901234567890.123,"e":1E400,"f":-0,"g":1.0,"k":1,'
    rb'"k":2,"s":"\ud800"}'
)
LINES = [
    '"a": 23958446825181076828,', '"b": 9007199254740993,', '"c": 0.10,', '"d": 12345678901234567890.123,', '"e": 1E400,',
    '"f": -0,', '"g": 1.0,', '"k": 1,', '"k": 2,', r'"s": "\ud800"',
]  # fmt: skip


def test_json_is_shown_and_copied_with_each_digit_and_each_member(pane, qtbot):
    body = showing(pane, qtbot, WRITTEN)

    tree = body.tree
    model, root = tree.model(), tree.model().index(0, 0)
    shown = [model.index(row, 0, root).data() for row in range(model.rowCount(root))]
    assert shown == [line.rstrip(",").replace('"', "", 2).replace(":", "", 1) for line in LINES]
    clipboard = QGuiApplication.clipboard()
    for row, value in ((3, "12345678901234567890.123"), (9, r"\ud800")):
        tree.setCurrentIndex(model.index(row, 0, root))
        tree.copy_value()
        qtbot.waitUntil(partial(lambda value: clipboard.text() == value, value))
    tree.setCurrentIndex(root)
    tree.copy_value()
    qtbot.waitUntil(lambda: [line.strip() for line in clipboard.text().splitlines()[1:-1]] == LINES)

    body.choose_view(TEXT)
    assert [line.strip() for line in body.text.toPlainText().splitlines()[1:-1]] == LINES
    assert body.body.copied_text() == WRITTEN.decode()
    copied = message_json(pane.detail, ("", 0), body.body)
    assert [line.strip() for line in copied[copied.index('"body"') :].splitlines()[1:-2]] == LINES


def test_the_copy_menu_fills_the_clipboard(pane, qtbot):
    showing(pane, qtbot, b"text")
    pane.copy_button.click()
    (menu,) = pane.copy_button.findChildren(QMenu)

    titles = {action.text(): action for action in menu.actions()}
    titles["Body"].trigger()

    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == "text", timeout=WAIT_MS)
    assert {"Message as JSON", "Message as TSV", "Message as Markdown", "Offset message ID", "Unique ID"} <= set(titles)


@pytest.mark.parametrize(
    ("brokers", "copied"),
    [(["broker-a", "broker-b"], ("broker-b", 3)), ([], (READY.broker_name, QUEUES_OF_BROKER + 3))],
)
def test_a_copy_names_the_broker_and_its_own_number_of_the_queue(show_page, qtbot, brokers, copied):
    state = fake_state()
    pane = show_page(MessagesView, FakeSource(replace(state, catalog=replace(state.catalog, brokers=brokers)))).detail
    showing(pane, qtbot, b"text", queue_id=QUEUES_OF_BROKER + 3)
    pane.copy_button.click()
    (menu,) = pane.copy_button.findChildren(QMenu)
    QGuiApplication.clipboard().clear()
    next(action for action in menu.actions() if action.text() == "Message as JSON").trigger()
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() != "", timeout=WAIT_MS)
    fields = json.loads(QGuiApplication.clipboard().text())
    assert (fields["brokerName"], fields["queueId"]) == copied


def test_the_model_of_properties_keeps_the_rules_of_qt(pane, qtbot):
    hold_to_rules(pane.properties)

    showing(pane, qtbot, b"text", properties={"a": "1"})
    showing(pane, qtbot, b"text", properties={"b": "1", "c": "2"})

    assert [row.name for row in pane.properties.rows] == ["b", "c"]
