"""The filter of lists in words, and the field it is entered in."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCompleter

from gui.models.row_filter import FaultKind, RowField, WordKind, condition_text, offers, read_row_filter, words_of
from gui.widgets.token_field import TOKENS_MAX, TokenField

NAN = float("nan")


@dataclass(frozen=True)
class Thing:
    name: str
    kind: str = "Normal"
    groups: tuple[str, ...] = ()
    lag: float = NAN
    size: float = NAN
    idle: float = -1


FIELDS = [
    RowField("name", "Name", WordKind.TEXT, lambda row: (row.name,)),
    RowField("type", "Type", WordKind.TEXT, lambda row: (row.kind,), lambda: ["Normal", "FIFO", "Dead letter"]),
    RowField("group", "Group", WordKind.TEXT, lambda row: row.groups, lambda: ["settle", "stock"]),
    RowField("lag", "Lag", WordKind.COUNT, lambda row: row.lag),
    RowField("size", "Size", WordKind.SIZE, lambda row: row.size),
    RowField("idle", "Idle", WordKind.TIME, lambda row: row.idle),
]
THINGS = [
    Thing("orders", "FIFO", ("settle", "risk"), 1_500, 2_048, 500),
    Thing("payments", "Normal", ("settle",), 20, 3 * 1_024**2, 7_200_000),
    Thing("%DLQ%stock", "Dead letter", (), NAN, NAN, -1),
]


def read(text):
    return read_row_filter(text, FIELDS, lambda row: f"{row.name} {' '.join(row.groups)}")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["orders", "payments", "%DLQ%stock"]),
        ("ORD", ["orders"]),
        ("settle -orders", ["payments"]),
        ("type:fifo", ["orders"]),
        ('type:"dead letter"', ["%DLQ%stock"]),
        ("type:dead,fifo", ["orders", "%DLQ%stock"]),
        ("type!=FIFO", ["payments", "%DLQ%stock"]),
        ("-type:dead", ["orders", "payments"]),
        ("name=order", []),
        ("name=orders", ["orders"]),
        ("group:ris", ["orders"]),
        ("group=ris", []),
        ("-group:settle", ["%DLQ%stock"]),
        ("lag>1000", ["orders"]),
        ("lag:>1000", ["orders"]),
        ("lag>1,000", ["orders"]),
        ("lag>=1.5k", ["orders"]),
        ("lag:20", ["payments"]),
        ("lag<=20", ["payments"]),
        ("lag!=20", ["orders"]),
        ("size>1MiB", ["payments"]),
        ("size<1mb", ["orders"]),
        ("idle>1h", ["payments"]),
        ("idle<1m type:fifo", ["orders"]),
    ],
)
def test_words_and_conditions_must_all_hold(text, names):
    found = read(text)
    assert found.faults == ()
    assert [thing.name for thing in THINGS if found.accepts(thing)] == names


def test_what_is_not_known_passes_neither_a_condition_nor_its_opposite():
    assert not read("lag>0").accepts(THINGS[2])
    assert not read("-lag>0").accepts(THINGS[2])
    assert not read("lag!=1").accepts(THINGS[2])


@pytest.mark.parametrize(
    ("text", "kind", "place"),
    [
        ("orders lagg>1000", FaultKind.FIELD, (7, 16)),
        ("lag>many orders", FaultKind.VALUE, (0, 8)),
        ("size>10parsecs", FaultKind.VALUE, (0, 14)),
        ("idle>5 group>2", FaultKind.OPERATOR, (7, 14)),
        ("lag: orders", FaultKind.VALUE, (0, 4)),
    ],
)
def test_a_word_that_cannot_be_read_is_named_with_its_place_and_asks_for_nothing(text, kind, place):
    found = read(text)
    faults = [(fault.kind, (fault.start, fault.end)) for fault in found.faults]
    assert (kind, place) in faults


def test_the_word_that_is_being_typed_is_no_fault():
    for text in ("lag", "lag>", "lag:>", "type:", "-type:", "lag>=", "-"):
        assert read(text).faults == (), text


def test_words_keep_their_quotes_and_values_get_them_back():
    assert words_of('a type:"Dead letter"  -b') == ["a", 'type:"Dead letter"', "-b"]
    assert condition_text("type", "Dead letter", wanted=False) == '-type:"Dead letter"'
    assert read(condition_text("type", "Dead letter")).accepts(THINGS[2])


def test_fields_are_offered_then_their_values():
    assert offers("l", FIELDS) == ["lag>"]
    assert offers("-ty", FIELDS) == ["-type:"]
    assert offers("type:fi", FIELDS) == ["type:FIFO"]
    assert offers("type:fifo,dead", FIELDS) == ['type:fifo,"Dead letter"']
    assert offers("nothing:x", FIELDS) == []
    assert set(offers("", FIELDS)) == {"name:", "type:", "group:", "lag>", "size>", "idle>"}


# ---- the field ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def field(qtbot, theme):
    def is_condition(word):
        terms = read(word).terms
        return bool(terms) and terms[0].is_condition

    made = TokenField(
        theme, words=words_of, is_condition=is_condition, offers=lambda typed: offers(typed, FIELDS),
        menu=lambda: [("Type", ["type:FIFO"])],
    )  # fmt: skip
    qtbot.addWidget(made)
    theme.dress(made)
    made.resize(600, 30)
    made.show()
    qtbot.waitExposed(made)
    made.told = []
    made.searched.connect(made.told.append)
    made.edit.setFocus()
    return made


def chips(field):
    return [chip.text() for chip in field.chips]


def test_a_condition_becomes_a_chip_when_it_is_complete_and_a_word_stays(field, qtbot):
    qtbot.keyClicks(field.edit, "ord lag>1000")
    assert chips(field) == []
    qtbot.keyClicks(field.edit, " ")
    assert (chips(field), field.edit.text()) == (["lag>1000"], "ord")
    qtbot.keyClick(field.edit, Qt.Key.Key_Return)
    assert field.told[-1] == "lag>1000 ord"


def test_backspace_takes_the_last_chip_back_to_be_typed_on(field, qtbot):
    field.setText("type:FIFO lag>1000")
    assert chips(field) == ["type:FIFO", "lag>1000"]
    qtbot.keyClick(field.edit, Qt.Key.Key_Backspace)
    assert (chips(field), field.edit.text()) == (["type:FIFO"], "lag>1000")


def test_a_chip_leaves_out_its_condition_and_escape_all(field, qtbot):
    field.setText("type:FIFO lag>1000 x")
    qtbot.mouseClick(field.chips[0], Qt.MouseButton.LeftButton)
    assert field.told[-1] == "lag>1000 x"
    assert field.chips[0].accessibleName() == "Leave out: lag>1000"
    qtbot.keyClick(field.edit, Qt.Key.Key_Escape)
    assert (field.told[-1], chips(field)) == ("", [])
    assert not field.clear_button.isVisible()


def test_a_word_of_the_list_is_taken_by_the_keyboard(field, qtbot):
    qtbot.keyClicks(field.edit, "type:f")
    popup = field.findChild(QCompleter).popup()
    qtbot.waitUntil(popup.isVisible)
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, Qt.Key.Key_Tab)
    assert (chips(field), field.edit.text()) == (["type:FIFO"], "")
    assert field.told[-1] == "type:FIFO"


def test_a_field_of_the_list_waits_for_its_value(field, qtbot):
    qtbot.keyClicks(field.edit, "la")
    popup = field.findChild(QCompleter).popup()
    qtbot.waitUntil(popup.isVisible)
    qtbot.keyClick(popup, Qt.Key.Key_Down)
    qtbot.keyClick(popup, Qt.Key.Key_Return)
    assert (chips(field), field.edit.text()) == ([], "lag>")


def test_the_menu_offers_conditions_to_those_who_do_not_type(field, qtbot):
    menu = field.open_menu()
    (part,) = (action.menu() for action in menu.actions())
    part.actions()[0].trigger()
    menu.close()
    assert field.told == ["type:FIFO"]


def test_the_tab_key_goes_through_chips_and_text_in_their_order(field, qtbot):
    field.setText("type:FIFO lag>1000")
    qtbot.waitUntil(field.chips[-1].isVisible)
    field.add_button.setFocus()
    order = []
    for _ in range(4):
        qtbot.keyClick(field.window().focusWidget(), Qt.Key.Key_Tab)
        order.append(field.window().focusWidget())
    assert order == [*field.chips, field.edit, field.clear_button]


def test_more_conditions_than_fit_stay_in_the_text(field):
    words = [f"lag>{number}" for number in range(TOKENS_MAX + 2)]
    field.setText(" ".join(words))
    assert chips(field) == words[:TOKENS_MAX]
    assert field.text() == " ".join(words)
