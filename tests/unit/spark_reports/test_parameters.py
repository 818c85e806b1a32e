import re
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.clock import utc_text
from broker_core.errors import UsageError
from spark_reports.catalog import find
from spark_reports.parameters import durations_ms, parse_time, read_parameter_file, read_parameters, read_values

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "epoch_ms"),
    [
        ("now", NOW),
        ("-90s", NOW - 90_000),
        ("-30m", NOW - 1_800_000),
        ("-2h", NOW - 7_200_000),
        ("-7d", NOW - 604_800_000),
        ("1690000000123", 1_690_000_000_123),
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T22:13:20.5+00:00", NOW + 500),
        (" 2023-11-15T00:13:20+02:00 ", NOW),
    ],
)
def test_times_are_read(text, epoch_ms):
    assert parse_time(text, now_ms=NOW) == epoch_ms


def test_a_time_without_a_zone_is_local():
    local = datetime(2023, 11, 14, 12, 0).astimezone()
    assert parse_time("2023-11-14T12:00", now_ms=NOW) == int(local.timestamp() * 1000)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_refused(text):
    try:
        epoch_ms = parse_time(text, now_ms=NOW)
    except UsageError:
        return
    assert isinstance(epoch_ms, int)


@given(st.integers(0, 4_000_000_000_000))
def test_written_times_read_back(epoch_ms):
    assert parse_time(utc_text(epoch_ms), now_ms=NOW) == epoch_ms


def test_an_empty_range_is_refused_with_both_ends():
    with pytest.raises(UsageError, match=r"2023-11-14T22:13:20\.000Z is not before --to 2023-11-14T21:13:20\.000Z"):
        read_parameters("now", "-1h", [], now_ms=NOW)


def test_topics_are_kept_once_in_order():
    assert read_parameters(None, None, ["b", "a", "b"], now_ms=NOW).topics == ("b", "a")


def test_time_text_is_utc():
    assert utc_text(NOW) == datetime.fromtimestamp(NOW / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def own(report, **given):
    return read_values(find(report), {name.replace("_", "-"): text for name, text in given.items()})


def test_parameters_not_given_have_their_defaults():
    assert own("calendar") == {"zone": "UTC", "retention-hours": 72}
    assert own("calendar", zone="Asia/Shanghai", retention_hours="24") == {"zone": "Asia/Shanghai", "retention-hours": 24}
    assert own("throughput") == {}


@pytest.mark.parametrize(
    ("report", "given", "said"),
    [
        ("throughput", {"zone": "UTC"}, "report throughput has no parameter zone. It has: from, to, topic"),
        ("calendar", {"zone": "Mars/Olympus"}, "is not a time zone"),
        ("calendar", {"retention_hours": "0"}, "from 1 to 87,600, not “0”"),
        ("calendar", {"retention_hours": "soon"}, "takes a whole number"),
        ("delay", {"levels": "1s tomorrow"}, "are not durations"),
        ("reconcile", {}, "--keys-file is missing"),
        ("reconcile", {"keys_file": "/none/keys.csv"}, "there is no file /none/keys.csv"),
        ("story", {}, "--key is missing"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(report, given, said):
    with pytest.raises(UsageError, match=re.escape(said)):
        own(report, **given)


def test_a_choice_is_one_of_its_choices(tmp_path):
    file = tmp_path / "keys.csv"
    file.write_text("key\n1\n")
    with pytest.raises(UsageError, match="one of keys, unique-key"):
        own("reconcile", keys_file=str(file), match="body")


def test_durations_are_written_as_brokers_do():
    assert durations_ms("1s 2m 3h 1d") == [1_000, 120_000, 10_800_000, 86_400_000]


@pytest.mark.parametrize("topics", [[""], ["orders", " "]])
def test_a_topic_without_a_name_is_refused(topics):
    with pytest.raises(UsageError, match="--topic is empty"):
        read_parameters(None, None, topics, now_ms=NOW)


def test_a_time_that_is_empty_is_none():
    with pytest.raises(UsageError, match="“” is not a time"):
        read_parameters("", None, [], now_ms=NOW)


def test_what_is_null_in_a_parameter_file_is_not_given(tmp_path):
    file = tmp_path / "parameters.json"
    file.write_text('{"from": null, "topic": null, "key": null, "top": 5}')
    assert read_parameter_file(file) == {"top": 5}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "is no JSON"), ("[1]", "holds no JSON object"), ('{"key": ["a"]}', r"“key” in .* takes a text or a whole number"),
        ('{"key": true}', "not true"), ('{"top": 1.5}', "not 1.5"), ('{"from": {}}', "not {}"),
    ],
)  # fmt: skip
def test_a_parameter_file_that_is_none_is_refused(tmp_path, text, said):
    file = tmp_path / "parameters.json"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_parameter_file(file)
    with pytest.raises(UsageError, match="cannot be read"):
        read_parameter_file(tmp_path / "none.json")
