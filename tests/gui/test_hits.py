"""The hits of a search: columns, order, rows that are read as they are seen."""

from __future__ import annotations

import random

import numpy as np
import pytest
from PySide6.QtCore import QItemSelectionModel, QObject, Qt

from broker_core.api import NetworkError, WorkerError
from broker_core.worker.questions.searches import SearchHits
from broker_core.worker.questions.stored_messages import FieldValues, ReadFields
from gui.models.hit_columns import HitColumns, TextColumn, field_order
from gui.models.hit_table import KNOWN_ROWS_MAX, LOADING, HitTableModel
from gui.models.stored_order import StoredOrder
from gui.models.table import CELL_ROLE, Column
from gui.operations import hit_reader
from gui.operations.hit_reader import COLUMN_ROWS, HitReader
from gui.views.messages.columns import hit_columns
from gui.words.text import UNKNOWN, TimeZoneChoice
from monitoring.sources.base import SourceStatus
from tests.support.fake_source import FakeSource
from tests.support.masks import nothing_masked
from tests.support.model_rules import hold_to_rules


def hits_of(places, *, keys=None, **changes):
    count = len(places)
    values = {
        "topic": [f"t{place % 3}" for place in places],
        "queue_id": [place % 4 for place in places],
        "queue_offset": [place // 4 for place in places],
        "physical_offset": list(places),
        "store_ms": [1_795_227_302_640 + place // 5 for place in places],
        "born_ms": [0] * count,
        "body_bytes": [place % 7 for place in places],
        "tag": [("A", "", "杭")[place % 3] for place in places],
        "keys": keys or [f"k{place}" for place in places],
        "unique_key": ["U"] * count,
    } | changes
    return SearchHits(1, body_start=[], scanned=count, total=count, found=count, **values)


@pytest.fixture
def model(qtbot):
    owner = QObject()
    made = HitTableModel(hit_columns(TimeZoneChoice(owner, utc=True), str, lambda: 0), nothing_masked, owner)
    yield made
    owner.deleteLater()


def shown_places(model):
    return [model.key_at(position) for position in range(model.rowCount())]


# ---- columns ----


def test_a_row_is_what_came():
    columns = HitColumns()
    columns.append(hits_of(range(0, 5_000, 2)))
    columns.append(hits_of([9_001], keys=["é k"]))
    assert len(columns) == 2_501
    row = columns.row(2_500, "body")
    assert (row.topic, row.queue_id, row.queue_offset, row.physical_offset) == ("t1", 1, 2_250, 9_001)
    assert (row.tag, row.keys, row.unique_key, row.body_start, row.body_bytes) == ("", "é k", "U", "body", 6)


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_hit_is_found_by_its_place(shuffled):
    places = list(range(10, 4_000, 3))
    if shuffled:
        random.Random(4).shuffle(places)
    columns = HitColumns()
    for start in range(0, len(places), 256):
        columns.append(hits_of(places[start : start + 256]))
    assert all(columns.row_of(place) == number for number, place in enumerate(places))
    assert [columns.row_of(place) for place in (0, 11, 9_999)] == [-1, -1, -1]


@pytest.mark.parametrize("column", ["store_ms", "topic", "tag", "keys", "queue_id", "body_bytes", "unique_key"])
def test_order_is_that_of_plain_python_and_what_is_alike_is_as_it_was_stored(column):
    columns = HitColumns()
    places = random.Random(7).sample(range(3_000), 700)
    keys = [random.Random(place).choice(("", "a", "a\0", "ab", "z", "杭州", "\U0001f600", "é")) for place in places]
    columns.append(hits_of(places, keys=keys))
    rows = [columns.row(number, "") for number in range(len(columns))]
    expected = sorted(range(len(rows)), key=lambda number: (getattr(rows[number], column), *as_stored(rows[number])))
    assert columns.order(column)().tolist() == expected


def as_stored(row):
    return row.store_ms, row.physical_offset


@pytest.mark.parametrize("in_order", [0, 3, 40])
def test_stored_order_is_that_of_plain_python_in_whatever_turns_hits_come(in_order):
    rng = random.Random(in_order)
    # Places of two brokers: the second one's are beyond 2^56.
    known = sorted((1_795_227_302_640 + place // 9, (place % 2 << 56) + place * 256) for place in rng.sample(range(2_000), 600))
    first, rest = known[:in_order], known[in_order:]
    rng.shuffle(rest)
    came, order = [], StoredOrder()
    for hits in (first, rest[:1], [], rest[1:90], rest[90:]):
        came += hits
        order.take_in(*np.array(came, dtype=np.int64).reshape(-1, 2).T)
    assert order.numbers is not None
    assert order.numbers.tolist() == sorted(range(len(came)), key=came.__getitem__)


def test_nothing_is_kept_for_hits_that_come_as_they_were_stored():
    order, places = StoredOrder(), np.arange(0, 4_000, 2, dtype=np.int64)
    for end in (3, 3, 900, 2_000):
        order.take_in(places[:end] // 10, places[:end])
    assert order.numbers is None


def test_fields_sort_as_numbers_where_all_are_numbers_else_as_text():
    numbers, words = TextColumn(), TextColumn()
    numbers.extend(["10", "9", "", "-1.5"])
    words.extend(["10", "9", "", "x"])
    assert field_order(numbers, None)().tolist() == [3, 1, 0, 2]
    assert field_order(words, None)().tolist() == [2, 0, 1, 3]


def test_whole_numbers_of_any_length_sort_by_their_last_digit():
    numbers, huge = TextColumn(), TextColumn()
    numbers.extend(["1234567890123456789", "", "1234567890123456788", "9007199254740993", "9007199254740992", "-3"])
    huge.extend(["123456789012345678901234567890", "7", "", "1e30"])
    assert field_order(numbers, None)().tolist() == [5, 4, 3, 2, 0, 1]
    assert field_order(huge, None)().tolist() == [1, 0, 3, 2]


def test_fields_that_are_alike_sort_as_they_were_stored():
    texts = TextColumn()
    texts.extend(["b", "a", "b", "a", ""])
    assert field_order(texts, np.array([4, 2, 3, 0, 1]))().tolist() == [4, 3, 1, 2, 0]


# ---- rows ----


def test_the_model_is_sound_while_hits_come_and_are_sorted(model):
    hold_to_rules(model)
    model.append(hits_of(range(100)))
    model.set_order(model.hits.order("body_bytes")())
    model.append(hits_of(range(150, 180)), hits_of(range(100, 150)))
    model.set_columns([*model.columns, Column("prop.x", "prop.x", lambda _row: "")], ["prop.x"])
    model.set_order(None)
    assert shown_places(model) == list(range(180))
    model.append(hits_of([500, 200]))
    model.append(hits_of([300]))
    model.clear()
    model.append(hits_of(range(3)))
    assert shown_places(model) == [0, 1, 2]


def test_hits_that_come_after_a_sort_follow(model):
    model.append(hits_of([1, 2, 3]))
    model.sort(0, Qt.SortOrder.DescendingOrder)
    model.set_order(model.hits.order("physical_offset")())
    model.append(hits_of([4, 5]))
    assert shown_places(model) == [3, 2, 1, 4, 5]
    assert [model.position_of(place) for place in (3, 2, 1, 4, 5, 6)] == [0, 1, 2, 3, 4, -1]


def test_hits_of_many_queues_stand_as_they_were_stored_and_the_selection_stays_with_its_hit(model):
    hold_to_rules(model)
    model.append(hits_of([30, 50, 10]))
    selection = QItemSelectionModel(model)
    flags = QItemSelectionModel.SelectionFlag
    selection.select(model.index(1, 0), flags.ClearAndSelect | flags.Rows)
    model.append(hits_of([40, 60]), hits_of([]), hits_of([20, 70]))
    assert shown_places(model) == [10, 20, 30, 40, 50, 60, 70]
    assert [model.position_of(place) for place in (10, 40, 70)] == [0, 3, 6]
    assert [index.row() for index in selection.selectedRows()] == [2]
    assert model.row_at(3).physical_offset == 40


def test_no_row_moves_under_the_mouse_while_hits_come(model):
    model.append(hits_of([30, 50]))
    model.set_order_frozen(True)
    model.append(hits_of([40]))
    model.append(hits_of([10]))
    assert shown_places(model) == [30, 50, 40, 10]
    model.set_order_frozen(False)
    assert shown_places(model) == [10, 30, 40, 50]
    model.set_order_frozen(True)
    model.append(hits_of([20]))
    model.set_order(None)
    assert shown_places(model) == [10, 20, 30, 40, 50], "a search that is over"


def test_a_sort_shows_the_same_in_whatever_order_hits_came(model):
    places = list(range(0, 90, 2))
    shown = []
    for seed in (1, 2):
        model.clear()
        random.Random(seed).shuffle(places)
        model.append(hits_of(places))
        for order in Qt.SortOrder:
            model.sort(0, order)
            for key in ("tag", "body_bytes"):
                model.set_order(model.hits.order(key)())
                shown.append(shown_places(model))
    assert shown[:4] == shown[4:]


def test_a_selection_stays_with_its_hit(model):
    model.append(hits_of([10, 20, 30]))
    selection = QItemSelectionModel(model)
    flags = QItemSelectionModel.SelectionFlag
    selection.select(model.index(0, 0), flags.ClearAndSelect | flags.Rows)
    model.sort(0, Qt.SortOrder.DescendingOrder)
    model.set_order(model.hits.order("physical_offset")())
    assert [index.row() for index in selection.selectedRows()] == [2]


def test_rows_that_are_being_copied_stay_while_another_search_begins(model):
    model.append(hits_of(range(5)))
    rows = model.rows_at(range(5))
    first = next(rows)
    model.clear()
    model.append(hits_of(range(100, 103)))
    assert [row.physical_offset for row in (first, *rows)] == list(range(5))


def test_only_rows_that_are_painted_are_asked_for(model):
    model.append(hits_of(range(50)))
    asked = []
    model.wanted.connect(lambda: asked.append(True))
    model.data(model.index(3, 0), Qt.ItemDataRole.DisplayRole)
    assert not asked
    for position in (7, 8):
        model.data(model.index(position, 0), CELL_ROLE)
        model.data(model.index(position, 1), CELL_ROLE)
    assert (asked, model.take_wanted(10)) == ([True], [8, 7])
    model.show_values([8, 7], [], FieldValues([], [b"eight", b"seven"]))
    model.data(model.index(7, 0), CELL_ROLE)
    assert (model.row_at(7).body_start, model.row_at(8).body_start, model.take_wanted(10)) == ("seven", "eight", [])


def test_what_was_read_is_kept_for_some_rows_only(model):
    places = list(range(KNOWN_ROWS_MAX + 10))
    model.append(hits_of(places))
    model.show_values(places, [], FieldValues([], [b"x"] * len(places)))
    assert (model.row_at(0).body_start, model.row_at(len(places) - 1).body_start) == ("", "x")


# ---- reading ----


@pytest.fixture
def source():
    return FakeSource()


def reader_of(source, model, owner):
    return HitReader(source, model, owner)


def test_rows_painted_together_are_read_together(qtbot, model, source):
    owner = QObject()
    reader_of(source, model, owner)
    model.append(hits_of(range(40)))
    model.set_columns([*model.columns, Column("prop.x", "prop.x", lambda row: model.field_of(row, "prop.x"))], ["prop.x"])
    for position in range(20):
        model.data(model.index(position, 0), CELL_ROLE)
    column = model.columnCount() - 1
    assert model.index(5, column).data() == LOADING
    qtbot.waitUntil(lambda: model.index(5, column).data() == "prop.x@5")
    assert source.asked_for(ReadFields) == [ReadFields(list(range(20))[::-1], ["prop.x"])]
    owner.deleteLater()


def test_what_a_broker_owes_is_a_dash_named_and_asked_for_again(qtbot, model, source, monkeypatch):
    monkeypatch.setattr(hit_reader, "AGAIN_MS", 1)
    owner, owed = QObject(), [True]
    whole = source.answers[ReadFields]

    def partly(question):
        if not owed[0]:
            return whole(question)
        places = question.places
        late = [row for row, place in enumerate(places) if place == 8]
        return FieldValues([[str(place) for place in places]], [b""] * len(places), late, "broker b is slow")

    source.answers[ReadFields] = partly
    reader, told = reader_of(source, model, owner), []
    model.append(hits_of([7, 8]))
    model.set_columns([*model.columns, Column("prop.x", "prop.x", lambda row: model.field_of(row, "prop.x"))], ["prop.x"])
    column = model.columnCount() - 1

    def shown():
        return [model.index(position, column).data() for position in range(2)]

    def paint():
        for position in range(2):
            model.data(model.index(position, 0), CELL_ROLE)
        return shown()

    # The picture without the message lasts until the broker is asked again: it is taken when the answer comes.
    reader.missing.connect(lambda notice: told.append((notice, shown())))
    paint()
    qtbot.waitUntil(lambda: bool(told))
    assert told[0] == ("broker b is slow", ["7", UNKNOWN])
    owed[0] = False
    qtbot.waitUntil(lambda: paint() == ["7", "prop.x@8"])
    assert told[-1] == ("", ["7", "prop.x@8"])
    owner.deleteLater()


def test_a_sort_asks_for_the_rest_as_long_as_anything_comes(qtbot, model, source):
    owner, asked = QObject(), []

    def one_a_time(question):
        places = question.places
        asked.append(list(places))
        late = list(range(1, len(places))) if len(asked) < 4 else list(range(len(places)))
        return FieldValues([[f"x{place}" for place in places]], [b""] * len(places), late, "broker b is slow")

    source.answers[ReadFields] = one_a_time
    reader, faults = reader_of(source, model, owner), []
    reader.failed.connect(faults.append)
    model.append(hits_of([1, 2, 3]))
    model.set_columns([*model.columns, Column("prop.x", "prop.x", lambda _row: "")], ["prop.x"])
    model.sort(model.columnCount() - 1)
    qtbot.waitUntil(lambda: shown_places(model) == [1, 2, 3] and len(asked) == 3)
    assert asked == [[1, 2, 3], [2, 3], [3]]
    model.sort(-1)
    model.set_columns([*model.columns[:-1], Column("prop.y", "prop.y", lambda _row: "")], ["prop.y"])
    model.sort(model.columnCount() - 1)
    qtbot.waitUntil(lambda: bool(faults))
    assert isinstance(faults[0], NetworkError)
    owner.deleteLater()


def test_a_field_is_read_of_all_hits_before_they_are_sorted_by_it(qtbot, model, source):
    owner = QObject()
    reader = reader_of(source, model, owner)
    places = list(range(COLUMN_ROWS * 2 + 5))
    model.append(hits_of(places))
    model.set_columns([*model.columns, Column("prop.x", "prop.x", lambda _row: "")], ["prop.x"])
    shares = []
    reader.sorting.connect(shares.append)
    model.sort(model.columnCount() - 1, Qt.SortOrder.AscendingOrder)
    qtbot.waitUntil(lambda: shares[-1:] == [-1.0])
    assert shown_places(model) == sorted(places, key=lambda place: f"prop.x@{place}")
    assert len(source.asked_for(ReadFields)) == 3
    model.sort(-1)
    assert shown_places(model) == places
    owner.deleteLater()


def test_a_sort_that_cannot_read_says_so_and_leaves_the_rows(qtbot, model, source):
    owner = QObject()
    reader = reader_of(source, model, owner)
    model.append(hits_of([3, 1, 2]))
    model.set_columns([*model.columns, Column("prop.x", "prop.x", lambda _row: "")], ["prop.x"])
    source.set_status(SourceStatus.LOST)
    faults, shares = [], []
    reader.failed.connect(faults.append)
    reader.sorting.connect(shares.append)
    model.sort(model.columnCount() - 1)
    assert (isinstance(faults[0], WorkerError), shares[-1], shown_places(model)) == (True, -1.0, [1, 2, 3])
    owner.deleteLater()


def test_a_sort_by_a_number_happens_beside_the_window(qtbot, model, source):
    owner = QObject()
    reader_of(source, model, owner)
    model.append(hits_of([3, 1, 2]))
    model.sort(0, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: shown_places(model) == [3, 2, 1])
    owner.deleteLater()
