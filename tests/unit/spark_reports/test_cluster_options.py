import pytest

from broker_core.errors import UsageError
from spark_reports.datasource.cluster_options import cluster_options_of


def options(**more):
    return cluster_options_of({"name_servers": "10.0.0.1:9876", **more})


def test_what_is_given_counts():
    found = options(details="env:KEYS", messages_per_second="100", bytes_per_second="0", retry_seconds="1.5",
                    slice_messages="10", tasks_per_broker="3", offsets='{"orders": {"a:1": [5, 9]}}')  # fmt: skip
    assert (found.place, found.slice_messages, found.tasks_per_broker) == ("env:KEYS", 10, 3)
    assert (found.limits.messages_per_second, found.limits.bytes_per_second, found.limits.retry_seconds) == (100, 0, 1.5)
    assert found.offsets == {"orders": {"a:1": (5, 9)}}


def test_brokers_are_spared_unless_it_is_said_otherwise():
    assert (options().limits.messages_per_second, options().limits.bytes_per_second) == (50_000, 32 << 20)


@pytest.mark.parametrize(
    "wrong",
    [{"messages_per_second": "-1"}, {"bytes_per_second": "fast"}, {"retry_seconds": "inf"}, {"slice_messages": "0"},
     {"tasks_per_broker": "1000"}, {"offsets": "[]"}, {"offsets": '{"t": {"a:1": [5]}}'}, {"offsets": '{"t": {"a:1": [5, 5]}}'},
     {"offsets": "no"}],
)  # fmt: skip
def test_what_does_not_fit_is_refused_by_name(wrong):
    with pytest.raises(UsageError, match=next(iter(wrong))):
        options(**wrong)


def test_without_a_name_server_nothing_can_be_read():
    with pytest.raises(UsageError, match="HOST:PORT"):
        cluster_options_of({})
