"""The Transactions page: board, list, one transaction's life, both queues, actions, atomic transactions; over a fake broker."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtWidgets import QApplication, QLabel, QPushButton

from broker_core.api import StoreError
from broker_core.protocol.message.message_id import PLACE_BITS
from broker_core.worker.questions.transactions import (
    AbortAtomic,
    CheckTransaction,
    EndTransaction,
    ListAtomic,
    ListTransactions,
    ReadTransactionHistory,
    ResumeTransaction,
    TransactionHistory,
)
from gui.models.transactions import (
    CHECKING,
    COMMITTED,
    GIVEN_UP,
    PREPARED,
    HalfOpPicture,
    QueueRecord,
    TransactionLife,
    TransactionStep,
    atomic_rows,
    board_figures,
    decision_times,
    half_op_picture,
    lives,
    transaction_rows,
)
from gui.theme.tokens import State
from gui.views.action_dialog import ActionDialog
from gui.views.transactions.actions import CHECK, COMMIT, RESUME, ROLL_BACK
from gui.views.transactions.board_picture import GIVEN_UP_KEY, board_picture
from gui.views.transactions.lists import ENDED_AGAIN_MS, ENDED_ROWS, OPEN, PAGE_ROWS, PAST
from gui.views.transactions.strip_panel import CELLS_MAX, HALVES, LIVES, HalfOpStrip
from gui.views.transactions.view import TransactionsView
from gui.widgets.chip import Chip
from gui.words.text import UNKNOWN
from monitoring.sources.base import SourceStatus
from tests.support.fake_source import (
    TAKEN_MS,
    FakeSource,
    fake_atomic,
    fake_ended_transactions,
    fake_state,
    fake_transaction_history,
    fake_transactions,
)
from tests.support.languages import shown_in
from tests.support.masks import nothing_masked
from tests.support.model_rules import hold_to_rules

STATE = fake_state()


@pytest.fixture
def make_view(show_page):
    return partial(show_page, TransactionsView)


@pytest.fixture
def source():
    return FakeSource()


def column(model, key):
    place = [one.key for one in model.columns].index(key)
    return [model.index(row, place).data() for row in range(model.rowCount())]


def choose(view, key):
    """Choose a list, as a click on its segment does."""
    view.filters.choose(key)
    view.filters.chosen.emit(key)


def search(view, words):
    view.search.setText(words)
    view.search.returnPressed.emit()


def acted(source):
    return source.asked_for(EndTransaction, CheckTransaction, ResumeTransaction, AbortAtomic)


# ---- rows and pictures ----


def test_board_figures_count_each_undecided_transaction_once():
    figures = board_figures(STATE.totals)

    assert (figures.prepared, figures.checking, figures.undecided) == (2, 1, 3)
    assert math.isnan(board_figures({}).prepared)


def test_the_board_without_figures_knows_nothing():
    cards = board_picture(None, TAKEN_MS, -1).cards()

    assert {card.value for card in cards} == {UNKNOWN}


def test_the_board_of_an_attached_cluster_says_what_brokers_do_not_tell():
    cards = {card.key: card for card in board_picture(board_figures({}), TAKEN_MS, -1, is_from_outside=True).cards()}
    assert [cards[key].fact for key in ("committed", "rolled back")] == ["not reported", "not reported"]
    own = board_picture(board_figures(STATE.totals), TAKEN_MS, -1).cards()
    assert not [card for card in own if card.fact == "not reported"]


def test_decision_times_leave_out_what_was_given_up():
    assert decision_times(transaction_rows(fake_ended_transactions(), nothing_masked))[0] == pytest.approx(102)
    assert math.isnan(decision_times([])[0])


def test_a_life_has_its_steps_in_order():
    (life,) = lives(fake_transaction_history())

    assert [step.kind for step in life.steps] == ["prepared", "checked", "delivered", "decided"]
    assert (life.origin, life.op_offset, life.deliveries) == (38, 30, 1)


def test_half_and_op_records_are_tied_to_each_other():
    checked = TransactionLife(
        4,
        COMMITTED,
        9,
        1,
        (TransactionStep("prepared", 1, 4, 0), TransactionStep("checked", 2, 6, 1), TransactionStep("decided", 3, 9, 2)),
    )
    waiting = TransactionLife(5, PREPARED, -1, 0, (TransactionStep("prepared", 1, 5, 0),))

    picture = half_op_picture([waiting, checked], half_lag=2, op_lag=0, count=10)

    assert picture.halves == (QueueRecord(4, 4, ""), QueueRecord(5, 5, PREPARED), QueueRecord(6, 4, COMMITTED))
    assert picture.ops == (QueueRecord(9, 4, COMMITTED),)
    assert picture.links() == [(QueueRecord(6, 4, COMMITTED), QueueRecord(9, 4, COMMITTED))]
    assert (picture.half_progress, picture.op_progress) == (5, 10)


def test_only_the_ends_of_the_queues_are_drawn():
    found = [
        TransactionLife(offset, PREPARED, -1, 0, (TransactionStep("prepared", 1, offset, 0),)) for offset in range(50, 0, -1)
    ]

    assert [cell.offset for cell in half_op_picture(found, math.nan, math.nan, 3).halves] == [48, 49, 50]
    assert half_op_picture([], 1, 1, 3).half_progress == -1


def test_a_picture_before_an_offset_has_no_later_records():
    checked = TransactionLife(
        4,
        COMMITTED,
        9,
        1,
        (TransactionStep("prepared", 1, 4, 0), TransactionStep("checked", 2, 6, 1), TransactionStep("decided", 3, 9, 2)),
    )

    picture = half_op_picture([checked], half_lag=2, op_lag=0, count=10, before=6)

    assert picture.halves == (QueueRecord(4, 4, ""),)
    assert (picture.half_progress, picture.op_progress, picture.is_end) == (-1, -1, False)


def test_an_atomic_row_adds_up_what_it_holds_back():
    shop, billing = atomic_rows(fake_atomic())

    assert (shop.is_open, shop.held_back, len(shop.queues)) == (True, 253, 2)
    assert (billing.is_open, billing.held_back) == (False, 0)


# ---- the page ----


def test_models_keep_the_rules_of_qt(make_view, source):
    view = make_view(source)
    for model in (view.rows, view.atomic.make().rows, view.atomic.make().held):
        hold_to_rules(model)

    for key in (GIVEN_UP_KEY, COMMITTED, "open"):
        choose(view, key)
    view.rows.sort(0, Qt.SortOrder.DescendingOrder)
    view.atomic.make().rows.set_rows([])

    assert view.rows.rowCount() == 3


def test_undecided_transactions_stand_with_their_checks(make_view, source):
    view = make_view(source)

    assert column(view.rows, "state") == ["Prepared", "Checking", "No producer"]
    assert column(view.rows, "checks") == ["0 of 15", "2 of 15", "0 of 15"]
    assert column(view.rows, "asked") == [UNKNOWN, "12 s ago", "nobody"]
    assert [chip.text for chip in view.header.findChildren(Chip)] == ["3 undecided", "1 without a producer", "1 given up"]
    assert "p50 102 ms" in view.decision.text()


def test_a_card_lists_what_it_counts(make_view, source, qtbot):
    view = make_view(source)

    qtbot.mouseClick(view.board, Qt.MouseButton.LeftButton, pos=center(view.board.card_rect(CHECKING)))
    assert column(view.rows, "key") == ["pay-6"]
    qtbot.mouseClick(view.board, Qt.MouseButton.LeftButton, pos=center(view.board.card_rect(GIVEN_UP_KEY)))
    assert column(view.rows, "state") == ["Given up"]
    qtbot.mouseClick(view.board, Qt.MouseButton.LeftButton, pos=center(view.board.card_rect(COMMITTED)))
    assert column(view.rows, "key") == ["pay-5"]
    assert column(view.rows, "age") == ["84 ms"]


def center(rect):
    return QPoint(round(rect.center().x()), round(rect.center().y()))


def test_the_board_is_used_by_keyboard_as_well(make_view, source, qtbot):
    view = make_view(source)
    view.board.setFocus()

    for key in (Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return):
        qtbot.keyClick(view.board, key)

    assert column(view.rows, "key") == ["pay-6"]


def test_the_filter_finds_by_key_topic_and_group(make_view, source):
    view = make_view(source)

    search(view, "STOCK")
    assert column(view.rows, "key") == ["sku-9"]
    search(view, "nowhere")
    assert view.grid.placeholder.text == "No transaction matches this filter."
    (show_all,) = (one for one in view.grid.placeholder.findChildren(QPushButton) if one.text() == "Show all")
    show_all.click()
    assert view.rows.rowCount() == 3


def test_a_search_goes_over_all_transactions_of_the_broker(make_view, source):
    view = make_view(source)
    view.lists.turn(OPEN, later=True)
    source.asked.clear()

    search(view, "Pay  7")

    assert source.asked[:2] == [
        ListTransactions(0, PAGE_ROWS, words="pay 7"),
        ListTransactions(0, ENDED_ROWS, ended=True, words="pay 7"),
    ]
    assert view.foot.text().endswith("that match")
    source.asked.clear()
    later = replace(STATE, taken_ms=STATE.taken_ms + 100, totals=STATE.totals | {"transactions_checks": 45})
    view.state_changed(later)
    assert source.asked == []
    view.state_changed(replace(later, taken_ms=STATE.taken_ms + ENDED_AGAIN_MS))
    assert ListTransactions(0, PAGE_ROWS, words="pay 7") in source.asked
    search(view, "")
    assert ListTransactions(0, PAGE_ROWS) in source.asked


def test_the_store_tells_of_all_its_transactions_page_by_page(make_view, source, monkeypatch):
    history = replace(fake_transaction_history(), origin=[17], state=["rolled back"], next_before=17)
    monkeypatch.setattr("tests.support.fake_source.fake_transaction_history", lambda: history)
    view = make_view(source)

    choose(view, PAST)

    (row,) = view.rows.rows
    assert (row.origin, row.state, row.half_offset, row.physical_offset) == (17, "rolled back", 52, 94_208)
    assert (row.real_offset, row.op_offset, row.ended_ms) == (95_232, 30, TAKEN_MS - 59_900)
    assert column(view.rows, "checks") == [f"1 of {UNKNOWN}"]
    assert dict(view.detail.facts.pairs())["Producers"] == "pay-tx"
    assert not view.detail.buttons[COMMIT].isEnabled()
    assert "on this page of the store" in view.foot.text()
    assert not view.back.isEnabled()
    view.forward.click()
    assert ReadTransactionHistory(17, PAGE_ROWS, 20_000) in source.asked
    assert view.back.isEnabled()
    source.asked.clear()
    view.back.click()
    assert ReadTransactionHistory(-1, PAGE_ROWS, 20_000) in source.asked


def test_a_cell_of_a_transaction_that_ended_before_the_start_is_looked_up_in_the_store(make_view, source, monkeypatch):
    history = replace(fake_transaction_history(), origin=[17])
    monkeypatch.setattr("tests.support.fake_source.fake_transaction_history", lambda: history)
    view = make_view(source)

    view.strip.chosen.emit(17)

    assert ReadTransactionHistory(18, PAGE_ROWS, 20_000) in source.asked
    assert view.grid.selected_row.origin == 17


def test_a_start_says_how_much_it_has_still_to_read(make_view, source):
    view = make_view(replace_totals(source, transactions_unread=1_200, transactions_op_lag=7))

    assert "reading 1,200 records" in [chip.text for chip in view.header.findChildren(Chip)]
    assert "half messages; decided ones go" in view.foot.text(), "not all that is listed is undecided"
    assert any("7 op records not read yet" in one.text() for one in view.strip_panel.findChildren(QLabel))
    source.state = replace_totals(source, transactions_op_lag=30).state
    view.state_changed(source.state)
    words = [one.text() for one in view.strip_panel.findChildren(QLabel) if "op records" in one.text()]
    assert [one.split(" ")[0] for one in words] == ["7"], "it is the figure of the queues that are shown"


def test_an_empty_strip_is_described_in_the_language_of_the_window(theme, qapp, qtbot, chinese):
    strip = HalfOpStrip(theme)
    qtbot.addWidget(strip)
    strip.setAccessibleDescription("of another language")
    QCoreApplication.sendEvent(strip, QEvent(QEvent.Type.LanguageChange))
    assert strip.accessibleDescription() == "of another language"  # nothing was read, so nothing is told
    strip.set_picture(HalfOpPicture())
    described = strip.accessibleDescription()
    strip.setAccessibleDescription("of another language")
    QCoreApplication.sendEvent(strip, QEvent(QEvent.Type.LanguageChange))
    assert strip.accessibleDescription() == described
    assert "half records" not in described


def test_the_strip_is_moved_along_the_queues(make_view, source):
    view = make_view(replace_totals(source, transactions_half_end=120))
    first = view.strip.picture.halves[0].offset
    assert not view.strip_panel.forward.isEnabled()
    assert not view.strip_panel.end.isEnabled()

    view.strip_panel.back.click()

    assert source.asked[-1] == ReadTransactionHistory(first, LIVES, HALVES)
    assert all(cell.offset < first for cell in view.strip.picture.halves)
    assert (view.strip.picture.half_progress, view.strip.picture.is_end) == (-1, False)
    view.strip_panel.forward.click()
    assert source.asked[-1] == ReadTransactionHistory(first + CELLS_MAX, LIVES, HALVES)
    view.strip_panel.forward.click()
    assert source.asked[-1] == ReadTransactionHistory(-1, LIVES, HALVES)
    assert view.strip.picture.is_end
    view.strip_panel.back.click()
    view.strip_panel.end.click()
    assert source.asked[-1] == ReadTransactionHistory(-1, LIVES, HALVES)


def replace_totals(source, **totals):
    source.state = replace(STATE, totals=STATE.totals | totals)
    return source


def test_what_ended_is_read_less_often_than_what_is_open(make_view, source):
    view = make_view(source)
    source.asked.clear()
    ended, undecided = ListTransactions(0, ENDED_ROWS, ended=True), ListTransactions(0, PAGE_ROWS)

    source.state = replace(
        STATE, taken_ms=STATE.taken_ms + ENDED_AGAIN_MS // 2, totals=STATE.totals | {"transactions_checks": 45}
    )
    view.state_changed(source.state)
    assert undecided in source.asked
    assert ended not in source.asked
    source.asked.clear()
    view.state_changed(source.state)
    assert source.asked == []
    view.state_changed(replace(source.state, taken_ms=STATE.taken_ms + ENDED_AGAIN_MS))
    assert ended in source.asked
    assert undecided not in source.asked


def test_a_transaction_tells_what_happened_to_it(make_view, source):
    view = make_view(source)
    view.grid.select_key(38)

    titles = [entry.title for entry in view.detail.line.entries]
    assert titles == ["Half message stored", "Producer asked", "Real message written", "Decision recorded", "Next check"]
    assert view.detail.line.entries[-1].is_ahead
    assert ReadTransactionHistory(39, 1, 1) in source.asked
    assert dict(view.detail.facts.pairs())["Half offset"] == "52, first 38"


def test_a_transaction_of_a_second_broker_has_the_offsets_of_its_broker(make_view, source):
    second = replace(fake_transactions(), origin=[(1 << PLACE_BITS) + place for place in (40, 38, 12)])
    source.answers[ListTransactions] = lambda one: fake_ended_transactions() if one.ended else second
    view = make_view(source)
    offsets = []
    for place in (40, 38):
        view.grid.select_key((1 << PLACE_BITS) + place)
        offsets.append(dict(view.detail.facts.pairs())["Half offset"])
    assert offsets == ["40", "52, first 38"]


def test_a_transaction_without_records_says_so(make_view, source):
    view = make_view(source)
    view.grid.select_key(12)

    assert view.detail.line.entries == ()
    assert "no longer has the records" in view.detail.fault.text
    assert "No producer of stock-tx" in view.detail.notice.text


def test_cells_of_the_queues_choose_their_transaction(make_view, source, qtbot):
    view = make_view(source)
    (cell,) = (cell for cell in view.strip.picture.halves if cell.state)

    qtbot.mouseClick(view.strip, Qt.MouseButton.LeftButton, pos=center(view.strip.cell_rect(cell)))

    assert view.grid.selected_row.origin == cell.origin
    assert len(view.strip.picture.halves) <= CELLS_MAX


@pytest.mark.parametrize(("action", "commit"), [(COMMIT, True), (ROLL_BACK, False)])
def test_a_decision_by_hand_needs_the_key_typed(make_view, source, window, action, commit):
    view = make_view(source)
    view.grid.select_key(40)

    dialog = view.ask(action)
    dialog.typed.setText("pay")
    assert not dialog.go.isEnabled()
    dialog.typed.setText("pay-7")
    dialog.go.click()

    assert acted(source) == [EndTransaction(40, commit=commit)]
    assert window.notices[-1][1] is State.HEALTHY


def test_enter_cancels_until_the_word_is_typed(make_view, source, qtbot):
    view = make_view(source)
    view.grid.select_key(40)

    dialog = view.ask(COMMIT)
    qtbot.keyClick(dialog.typed, Qt.Key.Key_Return)
    assert dialog.isHidden()
    assert acted(source) == []
    dialog = view.ask(COMMIT)
    qtbot.keyClicks(dialog.typed, "pay-7")
    qtbot.keyClick(dialog.typed, Qt.Key.Key_Return)
    assert acted(source) == [EndTransaction(40, commit=True)]


def test_a_dialog_stays_while_the_broker_works_on_it(make_view, source, window):
    view = make_view(source)
    view.grid.select_key(40)
    dialog = view.ask(COMMIT)
    dialog.typed.setText("pay-7")
    source.hold = True

    dialog.go.click()
    dialog.reject()
    assert dialog.isVisible()
    assert not dialog.go.isEnabled()
    source.hold = False
    source.held[-1].release()

    assert dialog.isHidden()
    assert window.notices[-1][0] == "pay-7 is committed"


def test_letters_act_on_the_selected_transaction(make_view, source, qtbot):
    view = make_view(source)
    view.grid.select_key(40)
    view.grid.view.setFocus()
    qtbot.waitUntil(view.grid.view.hasFocus)

    qtbot.keyClick(view.grid.view, Qt.Key.Key_R)
    assert not view.findChildren(ActionDialog), "there is nothing to resume"
    qtbot.keyClick(view.grid.view, Qt.Key.Key_K)
    assert [dialog.windowTitle() for dialog in view.findChildren(ActionDialog)] == ["Check pay-7 now"]


def test_a_letter_resumes_the_selected_transaction_that_was_given_up(make_view, source, qtbot):
    view = make_view(source)
    view.open({"show": GIVEN_UP})
    view.grid.view.setFocus()
    qtbot.waitUntil(view.grid.view.hasFocus)
    qtbot.keyClick(view.grid.view, Qt.Key.Key_R)
    assert len(view.findChildren(ActionDialog)) == 1


def test_a_check_is_asked_for_and_says_when_nobody_can_answer(make_view, source):
    view = make_view(source)
    view.grid.select_key(12)

    dialog = view.ask(CHECK)
    dialog.go.click()

    assert acted(source) == [CheckTransaction(12)]


def test_a_given_up_transaction_can_be_resumed_and_nothing_else(make_view, source):
    view = make_view(source)
    view.open({"show": GIVEN_UP})
    assert not view.detail.buttons[COMMIT].isVisible()

    dialog = view.ask(RESUME)
    dialog.typed.setText("risk-1")
    dialog.go.click()

    assert acted(source) == [ResumeTransaction(86_016)]


def test_a_refused_decision_stays_in_its_dialog(make_view, source):
    view = make_view(source)
    view.grid.select_key(40)
    dialog = view.ask(COMMIT)
    dialog.typed.setText("pay-7")

    source.fail_with = StoreError("transaction 40 is not undecided: it is committed")
    dialog.go.click()

    assert dialog.isVisible()
    assert "it is committed" in dialog.error.text


def test_no_transactions_are_explained(make_view, source, window, monkeypatch):
    empty = replace(
        fake_transactions(), total=0, **{name: [] for name, value in vars_of(fake_transactions()) if isinstance(value, list)}
    )
    monkeypatch.setattr("tests.support.fake_source.fake_transactions", lambda: empty)
    view = make_view(source)

    assert view.grid.placeholder.text.startswith("No open transactions.")
    assert view.detail.title == "No transaction selected"


def vars_of(value):
    return [(name, getattr(value, name)) for name in value.__slots__]


def test_a_part_of_the_undecided_is_not_called_all(make_view, source, monkeypatch):
    page = replace(fake_transactions(), notice="Not all brokers answered. a: no answer: gone")
    monkeypatch.setattr("tests.support.fake_source.fake_transactions", lambda: page)
    view = make_view(source)
    assert view.foot.text() == f"{len(view.rows.shown_rows)} undecided on the brokers that answered"


def test_a_list_that_is_newer_than_the_figures_says_when_it_was_read(make_view, source):
    view = make_view(source)
    shown = len(view.rows.shown_rows)
    view.state_changed(replace(STATE, totals=STATE.totals | {"transactions_pending": shown - 1.0}))
    assert re.fullmatch(rf"{shown} undecided, read \d\d:\d\d:\d\d", view.foot.text())


def test_the_title_is_the_first_key_as_in_the_list(make_view, source, monkeypatch):
    page = fake_transactions()
    monkeypatch.setattr(
        "tests.support.fake_source.fake_transactions", lambda: replace(page, keys=["PAY-1 ORD-2"] * len(page.keys))
    )
    assert make_view(source).detail.title == "PAY-1"


def test_a_list_that_cannot_be_read_says_so(make_view, source):
    view = make_view(source)
    source.fail_with = StoreError("the store is closed")

    assert view.foot.text()
    view.refresh()

    assert view.grid.placeholder.text == "The transactions were not read."
    assert (view.foot.text(), view.detail.title) == ("", "No transaction selected")
    source.fail_with = None
    view.refresh()
    assert view.foot.text()
    assert view.grid.selected_row is not None


def test_a_failed_read_shows_no_rows_under_any_filter(make_view, source):
    view = make_view(source)
    assert view.rows.rows
    source.fail_with = StoreError("the store is closed")
    view.refresh()

    for key in (OPEN, COMMITTED, GIVEN_UP_KEY, PAST, OPEN):
        choose(view, key)
        assert view.rows.rows == [], key
        assert view.grid.placeholder.text == "The transactions were not read.", key
    for card in (PREPARED, CHECKING):
        view.board.chosen.emit(card)
        assert view.rows.rows == [], card


def test_a_list_that_was_read_stays_while_another_one_is_not(make_view, source):
    view = make_view(source)
    answer, closed = source.answers[ListTransactions], StoreError("the store is closed")
    source.answers[ListTransactions] = lambda question: closed if question.ended else answer(question)
    view.refresh()

    assert view.rows.rows, "the undecided ones were read"
    choose(view, COMMITTED)
    assert view.rows.rows == []
    assert "last read at" in view.lists.read_of(COMMITTED).reason
    choose(view, OPEN)
    assert view.rows.rows


def test_a_page_before_the_first_figures_is_empty(make_view):
    view = make_view(FakeSource(status=SourceStatus.STARTING))

    assert view.rows.rowCount() == 0
    assert {card.value for card in view.board.picture.cards()} == {UNKNOWN}


# ---- atomic ----


def test_open_atomic_transactions_show_what_they_hold_back(make_view, source):
    view = make_view(source)
    assert view.atomic.made is None
    view.open({"show": "atomic"})

    assert view.atomic.made is view.atomic.make()
    assert column(view.atomic.make().rows, "state") == ["Open", "Committed"]
    assert column(view.atomic.make().rows, "age")[0] == "21 s"
    assert column(view.atomic.make().held, "held") == ["3", "250"]
    assert column(view.atomic.make().held, "stable") == ["17", "4,711"]


def test_an_open_atomic_transaction_is_aborted_after_its_name_is_typed(make_view, source):
    view = make_view(source)
    view.open({"show": "atomic"})

    dialog = view.atomic.make().ask_abort()
    assert not dialog.go.isEnabled()
    dialog.typed.setText("shop-1")
    dialog.go.click()

    assert acted(source) == [AbortAtomic("shop-1")]
    view.atomic.make().grid.select_key("billing")
    assert view.atomic.make().ask_abort() is None


def test_atomic_transactions_that_are_off_say_how_to_turn_them_on(make_view):
    totals = {name: value for name, value in STATE.totals.items() if not name.startswith("atomic")}
    source = FakeSource(replace(STATE, totals=totals))
    view = make_view(source)

    assert "orbitAtomicTransactions=true" in view.atomic.make().grid.placeholder.text
    assert not source.asked_for(ListAtomic)


def test_the_page_is_told_in_chinese(make_view, source, qtbot):
    view = make_view(source)
    with shown_in("zh"):
        with qtbot.waitSignal(view.title_changed):
            QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
        assert view.header.title == "事务"
        assert column(view.rows, "state") == ["已准备", "回查中", "无生产者"]
        assert [card.title for card in view.board.picture.cards()] == ["已准备", "回查中", "已提交", "已回滚", "已放弃回查"]


def test_an_empty_history_draws_nothing(make_view, source, monkeypatch):
    empty = TransactionHistory(-1, *([] for _ in range(17)))
    monkeypatch.setattr("tests.support.fake_source.fake_transaction_history", lambda: empty)

    view = make_view(source)

    assert view.strip.picture.halves == ()
    assert not view.strip.grab().isNull()
