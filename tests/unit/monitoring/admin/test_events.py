"""Events as rows and files."""

import csv
import io
import json

import pytest

from broker_core.worker.questions.history import EventPage, ReadEvents
from monitoring.admin.events import EventGroup, counts_by_part, csv_text, event_rows, group_of, json_lines, kinds_of
from tests.support.fake_operations import EVENTS, TAKEN_MS, fake_events

PAGE = fake_events(ReadEvents(0, TAKEN_MS + 1))


def test_every_event_has_a_row_of_its_own_also_where_two_are_equal():
    twice = EventPage(2, [5, 5], ["note", "note"], ["", ""], ["same", "same"])
    assert len({row.key for row in event_rows(twice)}) == 2
    assert len(event_rows(PAGE)) == len(EVENTS)


@pytest.mark.parametrize("group", [group for group in EventGroup if group is not EventGroup.OTHER])
def test_kinds_and_groups_agree(group):
    assert {group_of(kind) for kind in kinds_of(group)} == {group}


def test_an_unknown_kind_is_something_else():
    assert group_of("comet_seen") is EventGroup.OTHER


def test_events_are_counted_where_they_fell():
    rows = event_rows(EventPage(4, [0, 49, 50, 100], ["note"] * 4, [""] * 4, [""] * 4))
    assert counts_by_part(rows, EventGroup.NOTE, 0, 100, 2) == [2, 1]
    assert counts_by_part(rows, EventGroup.ALERT, 0, 100, 2) == [0, 0]


def test_csv_reads_back_as_it_was_written():
    page = EventPage(1, [1_795_227_302_640], ["note"], ["a,b"], ['say "hi"\nthere'])
    (head, row) = list(csv.reader(io.StringIO(csv_text(event_rows(page)))))
    assert head == ["at_ms", "time_utc", "kind", "subject", "text"]
    assert row == ["1795227302640", "2026-11-21T02:15:02.640Z", "note", "a,b", 'say "hi"\nthere']


@pytest.mark.parametrize("name", ["=1+1", "+x", "-x", "@x"])
def test_a_name_is_no_formula_for_a_spreadsheet(name):
    page = EventPage(1, [0], ["topic_created"], [name], [name])
    row = list(csv.reader(io.StringIO(csv_text(event_rows(page)))))[1]
    assert row[3:] == [f"'{name}"] * 2


def test_json_lines_keep_everything():
    lines = [json.loads(line) for line in json_lines(event_rows(PAGE)).splitlines()]
    assert [line["atMs"] for line in lines] == PAGE.at_ms
    assert [line["text"] for line in lines] == PAGE.text
