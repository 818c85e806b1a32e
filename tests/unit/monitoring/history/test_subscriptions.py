import json

import pytest

from monitoring.history.database import FILE_NAME, meta, open_database, transaction
from monitoring.history.subscriptions import SINCE, SubscriptionLog, forget_subscriptions

ALL, SOME = {"orders": ("TAG", "*")}, {"orders": ("TAG", "a || b")}


@pytest.fixture
def connection(tmp_path):
    made = open_database(tmp_path / FILE_NAME)
    yield made
    made.close()


def written(connection):
    rows = connection.execute("SELECT at_ms, grp, data FROM subscriptions ORDER BY id")
    return [(at_ms, group, json.loads(data) if data else None) for at_ms, group, data in rows]


def test_only_what_changes_is_written(connection):
    log = SubscriptionLog(connection)
    first = {"g": ALL}
    for at_ms, wanted in ((1, first), (2, first), (3, {"g": ALL, "h": SOME}), (4, {"h": ALL}), (5, {"h": ALL})):
        log.write(wanted, at_ms)
    every, some = {"orders": ["TAG", "*"]}, {"orders": ["TAG", "a || b"]}
    assert written(connection) == [(1, "", None), (1, "g", every), (3, "h", some), (4, "h", every), (4, "g", {})]


def test_recording_begins_with_a_row_also_when_nobody_subscribes(connection):
    SubscriptionLog(connection).write({}, 7)
    SubscriptionLog(connection).write({}, 9)
    assert written(connection) == [(7, "", None), (9, "", None)]


def test_rows_that_count_no_more_are_deleted_and_the_others_stay(connection):
    log = SubscriptionLog(connection)
    log.write({"still": ALL, "gone": ALL}, 1)
    log.write({"still": ALL}, 5)
    log.write({"still": SOME}, 9)
    with transaction(connection):
        forget_subscriptions(connection, 6)
    assert [(at_ms, group) for at_ms, group, _ in written(connection)] == [(1, ""), (1, "still"), (9, "still")]
    assert meta(connection, SINCE, 0) == 5
    for at_ms in range(10, 20):
        log.write({"still": ALL if at_ms % 2 else SOME}, at_ms)
    with transaction(connection):
        forget_subscriptions(connection, 0, rows_max=3)
    assert [at_ms for at_ms, group, _ in written(connection) if group == "still"] == [16, 17, 18, 19]
    assert meta(connection, SINCE, 0) == 16
