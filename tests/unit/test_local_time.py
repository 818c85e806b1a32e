"""Local times in zones whose clocks change by an hour, by half an hour, and not at all."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import UnclearTimeError
from broker_core.local_time import MACHINE_ZONE, drop_wild_zone, first_instant, instant, instant_ms

BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
LORD_HOWE, SHANGHAI = ZoneInfo("Australia/Lord_Howe"), ZoneInfo("Asia/Shanghai")


@pytest.fixture(params=["a zone that is named", "the zone of this machine"])
def rule(request, monkeypatch):
    """`instant` in a zone, by its name or as that of the machine."""

    def of_machine(moment, zone):
        monkeypatch.setenv("TZ", zone.key)
        time.tzset()
        return instant(moment)

    yield of_machine if request.param.startswith("the") else instant
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("local", "zone", "expected"),
    [
        ("2026-10-25T01:59:59.999", BERLIN, "2026-10-24T23:59:59.999"), ("2026-10-25T03:00", BERLIN, "2026-10-25T02:00"),
        ("2026-03-29T01:59", BERLIN, "2026-03-29T00:59"), ("2026-03-29T03:00", BERLIN, "2026-03-29T01:00"),
        ("2026-04-05T01:29:59", LORD_HOWE, "2026-04-04T14:29:59"), ("2026-04-05T02:00", LORD_HOWE, "2026-04-04T15:30"),
        ("2026-10-04T01:59", LORD_HOWE, "2026-10-03T15:29"), ("2026-10-04T02:30", LORD_HOWE, "2026-10-03T15:30"),
        ("2026-11-01T02:00", NEW_YORK, "2026-11-01T07:00"), ("2026-03-08T03:00", NEW_YORK, "2026-03-08T07:00"),
        ("2026-10-25T02:30", SHANGHAI, "2026-10-24T18:30"), ("2026-03-29T02:30", SHANGHAI, "2026-03-28T18:30"),
    ],
)  # fmt: skip
def test_a_local_time_that_comes_once_is_one_instant(rule, local, zone, expected):
    assert rule(datetime.fromisoformat(local), zone) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("local", "zone", "first", "second"),
    [
        (
            "2026-10-25T02:00", BERLIN, "2026-10-25T02:00+02:00 (2026-10-25T00:00Z)",
            "2026-10-25T02:00+01:00 (2026-10-25T01:00Z)",
        ),
        (
            "2026-10-25T02:30", BERLIN, "2026-10-25T02:30+02:00 (2026-10-25T00:30Z)",
            "2026-10-25T02:30+01:00 (2026-10-25T01:30Z)",
        ),
        (
            "2026-10-25T02:59:59.999", BERLIN, "2026-10-25T02:59:59.999+02:00 (2026-10-25T00:59:59.999Z)",
            "2026-10-25T02:59:59.999+01:00 (2026-10-25T01:59:59.999Z)",
        ),
        (
            "2026-04-05T01:30", LORD_HOWE, "2026-04-05T01:30+11:00 (2026-04-04T14:30Z)",
            "2026-04-05T01:30+10:30 (2026-04-04T15:00Z)",
        ),
        (
            "2026-04-05T01:45", LORD_HOWE, "2026-04-05T01:45+11:00 (2026-04-04T14:45Z)",
            "2026-04-05T01:45+10:30 (2026-04-04T15:15Z)",
        ),
        (
            "2026-11-01T01:30", NEW_YORK, "2026-11-01T01:30-04:00 (2026-11-01T05:30Z)",
            "2026-11-01T01:30-05:00 (2026-11-01T06:30Z)",
        ),
    ],
)  # fmt: skip
def test_one_that_comes_twice_is_refused_with_both_instants(rule, local, zone, first, second):
    with pytest.raises(UnclearTimeError) as refused:
        rule(datetime.fromisoformat(local), zone)
    assert f"comes twice in {_named(refused, zone)}: as {first} and as {second}." in refused.value.message
    assert refused.value.exit_code == 2


@pytest.mark.parametrize(
    ("local", "zone", "gap"),
    [
        ("2026-03-29T02:00", BERLIN, "at 2026-03-29T01:00Z the clock goes from 02:00 to 03:00"),
        ("2026-03-29T02:30", BERLIN, "at 2026-03-29T01:00Z the clock goes from 02:00 to 03:00"),
        ("2026-03-29T02:59:59.999", BERLIN, "at 2026-03-29T01:00Z the clock goes from 02:00 to 03:00"),
        ("2026-10-04T02:00", LORD_HOWE, "at 2026-10-03T15:30Z the clock goes from 02:00 to 02:30"),
        ("2026-10-04T02:15", LORD_HOWE, "at 2026-10-03T15:30Z the clock goes from 02:00 to 02:30"),
        ("2026-03-08T02:30", NEW_YORK, "at 2026-03-08T07:00Z the clock goes from 02:00 to 03:00"),
        ("2018-11-04T00:00", ZoneInfo("America/Sao_Paulo"), "at 2018-11-04T03:00Z the clock goes from 00:00 to 01:00"),
        (
            "2011-12-30T05:00",
            ZoneInfo("Pacific/Apia"),
            "at 2011-12-30T10:00Z the clock goes from 2011-12-30 00:00 to 2011-12-31 00:00",
        ),
    ],
)
def test_one_that_does_not_exist_is_refused_with_the_gap(rule, local, zone, gap):
    with pytest.raises(UnclearTimeError) as refused:
        rule(datetime.fromisoformat(local), zone)
    assert f"does not exist in {_named(refused, zone)}: {gap}." in refused.value.message


def _named(refused, zone) -> str:
    return "the time zone of this machine" if "this machine" in refused.value.message else zone.key


@pytest.mark.parametrize("offset", ["+02:00", "+01:00", "Z", "-11:30"])
def test_an_offset_says_which_one_is_meant(offset):
    moment = datetime.fromisoformat(f"2026-10-25T02:30{offset}")
    assert instant(moment, BERLIN) == moment


@given(
    st.integers(631_152_000_000, 2_114_380_800_000),
    st.sampled_from([BERLIN, LORD_HOWE, NEW_YORK, SHANGHAI]),
)
def test_every_instant_is_found_by_its_local_time_or_named_in_the_refusal(at_ms, zone):
    at = datetime.fromtimestamp(at_ms // 1_000, UTC) + timedelta(milliseconds=at_ms % 1_000)
    shown = at.astimezone(zone)
    local = shown.replace(tzinfo=None, fold=0)
    if _comes_twice(local, zone):
        with pytest.raises(UnclearTimeError) as refused:
            instant(local, zone)
        assert shown.isoformat()[-6:] in (str(refused.value.context[name])[-6:] for name in ("first", "second"))
    else:
        assert instant(local, zone) == at
        assert instant_ms(local, zone) == at_ms


def _comes_twice(local, zone) -> bool:
    """By looking an hour around, at minutes: all changes of these zones are at whole ones."""
    around = (local.replace(tzinfo=UTC) + timedelta(minutes=minutes) for minutes in range(-16 * 60, 16 * 60, 15))
    return sum(at.astimezone(zone).replace(tzinfo=None, fold=0) == local for at in around) > 1


@pytest.mark.parametrize("zone", [BERLIN, LORD_HOWE, NEW_YORK, SHANGHAI], ids=str)
def test_the_zone_of_this_machine_has_all_its_rules(monkeypatch, zone):
    monkeypatch.setenv("TZ", zone.key)
    time.tzset()
    for hours in range(0, 366 * 24, 5):
        at = datetime(2026, 1, 1, 0, 17, tzinfo=UTC) + timedelta(hours=hours)
        assert at.astimezone(MACHINE_ZONE).isoformat() == at.astimezone(zone).isoformat()
        assert at.astimezone(MACHINE_ZONE).astimezone(UTC) == at
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("local", "expected"),
    [
        ("2026-10-25T02:30", "2026-10-25T00:30"),
        ("2026-03-29T02:30", "2026-03-29T01:00"),
        ("2026-03-29T03:30", "2026-03-29T01:30"),
    ],
)
def test_what_recurs_happens_at_the_first_of_two_and_at_the_end_of_a_gap(local, expected):
    assert first_instant(datetime.fromisoformat(local), BERLIN) == datetime.fromisoformat(expected).replace(tzinfo=UTC)


@pytest.mark.parametrize("zone", ["ABC24", "ABC-24", "ABC99XYZ", "ABC24DEF"])
def test_a_zone_a_day_away_is_dropped(monkeypatch, zone):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert (drop_wild_zone(), os.environ.get("TZ")) == (zone, None)
        assert abs(time.timezone) < 86_400
        monkeypatch.setenv("TZ", "Pacific/Kiritimati")
        time.tzset()
        assert (drop_wild_zone(), time.timezone) == ("", -14 * 3_600)
    finally:
        monkeypatch.undo()
        time.tzset()
