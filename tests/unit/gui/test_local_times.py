"""Every place where a person writes a local time obeys one rule: command line, search language, reports and window."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest

from broker_core.errors import FilterError, UnclearTimeError, UsageError
from broker_core.tools.commands import copy
from broker_core.tools.search import literals
from broker_core.tools.search.language import parse_filter
from gui.models.compose import When, delivery_value
from gui.models.messages import parse_time
from gui.models.reports import time_fault
from spark_reports import parameters

NOW_MS = 1_800_000_000_000


PLACES = {
    "search language": lambda text: literals.parse_time(text, NOW_MS),
    "copy --since": lambda text: copy._time(text, "--since", NOW_MS),
    "report --from": lambda text: parameters.parse_time(text, now_ms=NOW_MS),
    "window": lambda text: parse_time(text, NOW_MS, None),
    "delivery": lambda text: int(delivery_value(When.AT, text, now_ms=NOW_MS, zone=None) or 0),
}
places = pytest.mark.parametrize("place", PLACES)


@pytest.fixture
def zone(request, monkeypatch):
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@places
@pytest.mark.parametrize(
    ("zone", "text", "instant"),
    [
        ("Europe/Berlin", "2026-10-25T03:00", "2026-10-25T02:00"),
        ("Europe/Berlin", "2026-03-29T01:59", "2026-03-29T00:59"),
        ("Australia/Lord_Howe", "2026-10-04T02:30", "2026-10-03T15:30"),
        ("Europe/Berlin", "2026-03-29T03:00", "2026-03-29T01:00"),
        ("America/New_York", "2026-11-01T02:00", "2026-11-01T07:00"),
        ("America/New_York", "2026-03-08T03:00", "2026-03-08T07:00"),
        ("Asia/Shanghai", "2026-03-29T02:30", "2026-03-28T18:30"),
        ("Europe/Berlin", "2026-10-25T02:30+01:00", "2026-10-25T01:30"),
        ("Europe/Berlin", "2026-03-29T02:30Z", "2026-03-29T02:30"),
        ("Asia/Shanghai", "2026-10-25", "2026-10-24T16:00"),
    ],
    indirect=["zone"],
)
def test_each_place_finds_the_same_instant(place, zone, text, instant):
    assert PLACES[place](text) == datetime.fromisoformat(instant).replace(tzinfo=UTC).timestamp() * 1_000


@places
@pytest.mark.parametrize(
    ("zone", "text", "words"),
    [
        (
            "Europe/Berlin",
            "2026-10-25T02:30",
            ("comes twice", "02:30+02:00 (2026-10-25T00:30Z)", "02:30+01:00 (2026-10-25T01:30Z)"),
        ),
        ("Europe/Berlin", "2026-03-29T02:30", ("does not exist", "from 02:00 to 03:00")),
        ("Australia/Lord_Howe", "2026-04-05T01:45", ("comes twice", "01:45+11:00", "01:45+10:30")),
        ("Australia/Lord_Howe", "2026-10-04T02:15", ("does not exist", "from 02:00 to 02:30")),
        ("America/New_York", "2026-11-01T01:30", ("comes twice", "01:30-04:00", "01:30-05:00")),
        ("America/New_York", "2026-03-08T02:30", ("does not exist", "from 02:00 to 03:00")),
    ],
    indirect=["zone"],
)
def test_each_place_refuses_what_is_twice_or_never_and_says_why(place, zone, text, words):
    with pytest.raises(UnclearTimeError) as refused:
        PLACES[place](text)
    assert refused.value.exit_code == UsageError.exit_code
    assert [part for part in words if part not in refused.value.message] == []


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
def test_a_filter_names_the_place_of_a_time_that_does_not_exist(zone):
    text = 'topic = "a" and stored >= 2026-03-29T02:30'
    with pytest.raises(FilterError) as refused:
        parse_filter(text, now_ms=NOW_MS)
    assert "does not exist" in refused.value.message
    assert refused.value.context["position"] == text.index("2026")
    assert refused.value.context["length"] == len("2026-03-29T02:30")


@pytest.mark.parametrize("zone", ["Europe/Berlin"], indirect=True)
def test_a_form_of_a_report_shows_the_reason(zone):
    with pytest.raises(UnclearTimeError):
        time_fault("2026-10-25 02:30")
    assert (time_fault("2026-10-25 03:30"), time_fault("soon")) == ("", "time")
