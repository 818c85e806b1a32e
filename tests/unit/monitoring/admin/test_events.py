"""Events as rows and files."""

import io
import json

import pytest

from broker_core.delimited_text import read_csv
from broker_core.worker.questions.history import EventPage, ReadEvents
from monitoring.admin.events import EventGroup, counts_by_part, event_rows, events_csv, events_json_lines, group_of, kinds_of
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


@pytest.mark.parametrize(("subject", "text"), [("a,b", 'say "hi"\nthere'), ("=1+1", "\ud800")])
def test_csv_reads_back_as_it_was_written(subject, text):
    page = EventPage(1, [1_795_227_302_640], ["note"], [subject], [text])
    lines = io.StringIO(events_csv(event_rows(page)).decode("utf-8-sig", "surrogatepass"), newline="")
    (_line, head), (_line, row) = read_csv(lines)
    assert head == ["at_ms", "time_utc", "kind", "subject", "text"]
    assert row == ["1795227302640", "2026-11-21T02:15:02.640Z", "note", subject, text]


def test_json_lines_keep_everything():
    lines = [json.loads(line) for line in events_json_lines(event_rows(PAGE)).splitlines()]
    assert [line["atMs"] for line in lines] == PAGE.at_ms
    assert [line["text"] for line in lines] == PAGE.text
