"""The database of the alerts."""

import math
import sqlite3
from dataclasses import replace

import pytest

from broker_core.api import StoreError
from monitoring.alert_rules import AlertRule
from monitoring.alert_store import CHANGES_MAX, FILE_NAME, FORMAT, WAITING_POSTS_MAX, AlertStore, Post
from monitoring.alert_watch import AlertChange, AlertFinding
from monitoring.missing_figures import KeptLack
from monitoring.unjudged_rules import Cause, Lack

RULE = AlertRule("r", "Fast", "totals.put_rate", above=True, threshold=1_000, for_ms=0)
OTHER = replace(RULE, rule_id="o", name="Other")
FIRING = AlertFinding("a", 5.0, 10, is_firing=True, is_told=True)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "orbit" / FILE_NAME


@pytest.fixture
def store(path):
    made = AlertStore(path)
    yield made
    made.close()


def change(at_ms: int, *, is_firing: bool = True, value: float = 5.0) -> AlertChange:
    return AlertChange(RULE, "a", value, is_firing, at_ms)


def test_rules_and_values_keep_their_order(store, path):
    store.set_rules([OTHER, RULE], webhook="http://127.0.0.1/")
    again = AlertStore(path)
    assert (again.rules(), again.value("webhook"), again.value("told", "0")) == ([OTHER, RULE], "http://127.0.0.1/", "0")
    again.close()


def test_a_rule_that_cannot_be_read_is_left_out_and_kept(store, path, caplog):
    store.set_rules([RULE])
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO rules VALUES ('future', 9, '{}')")
    other.close()
    assert store.rules() == [RULE]
    assert "the alert rule future is not used" in caplog.text
    store.set_rules([OTHER])
    with sqlite3.connect(path) as other:
        assert [row[0] for row in other.execute("SELECT rule_id FROM rules ORDER BY rule_id")] == ["future", "o"]
    other.close()


def test_why_rules_are_not_judged_is_kept_until_they_are(store, path):
    away = KeptLack(Lack(Cause.AWAY, ("broker-b", "名")), 10, is_told=True)
    unread = KeptLack(Lack(Cause.UNREAD), 20)
    store.save({}, [], 30, webhook=False, lacks={"r": away, "o": unread})
    again = AlertStore(path)
    assert again.lacks() == {"r": away, "o": unread}
    again.close()
    store.save({}, [], 31, webhook=False, lacks={"r": None, "o": replace(unread, is_told=True)})
    assert store.lacks() == {"o": replace(unread, is_told=True)}


def test_a_cause_of_a_newer_orbit_is_left_out(store, path):
    with sqlite3.connect(path) as other:
        other.execute("INSERT INTO lacks VALUES ('r', 'of the future', '[]', 5, 0)")
    other.close()
    assert store.lacks() == {}


def test_findings_come_and_go(store):
    pending = AlertFinding("b", math.nan, 20, is_firing=False)
    store.save({("r", "a"): FIRING, ("r", "b"): pending}, [], 30, webhook=False)
    found = store.findings()["r"]
    assert found[0] == FIRING
    assert (found[1].subject, math.isnan(found[1].value), found[1].is_firing) == ("b", True, False)
    store.save({("r", "a"): None}, [], 31, webhook=False)
    assert [one.subject for one in store.findings()["r"]] == ["b"]
    assert store.value("looked_ms") == "31"


def test_changes_are_numbered_and_bounded(store):
    store.save({}, [change(at_ms) for at_ms in range(CHANGES_MAX + 5)], 1, webhook=False)
    total, newest = store.changes(CHANGES_MAX, 3)
    assert total == 5
    assert [one.change_id for one in newest] == [CHANGES_MAX + 3, CHANGES_MAX + 4, CHANGES_MAX + 5]
    assert newest[-1].change == change(CHANGES_MAX + 4)
    assert store.changes(0, 1)[0] == CHANGES_MAX


def test_the_newest_change_says_when_a_rule_was_over(store):
    store.save({}, [change(1), change(2, is_firing=False, value=math.nan)], 2, webhook=False)
    assert store.resolved_ms() == {"r": 2}
    store.save({}, [change(3)], 3, webhook=False)
    assert store.resolved_ms() == {}


def test_posts_wait_until_they_are_ended(store):
    store.save({}, [change(1), AlertChange(replace(RULE, webhook=False), "a", 5.0, True, 2), change(3)], 3, webhook=True)
    first = store.next_post()
    assert first.change.at_ms == 1
    store.end_post(first.change_id, Post.SENT)
    assert store.next_post().change.at_ms == 3
    store.give_up_posts(4)
    assert store.next_post() is None


def test_without_a_web_hook_nothing_waits(store):
    store.save({}, [change(1)], 1, webhook=False)
    assert store.next_post() is None


def test_too_many_posts_give_the_oldest_up(store):
    store.save({}, [change(at_ms) for at_ms in range(WAITING_POSTS_MAX + 2)], 1, webhook=True)
    assert store.next_post().change.at_ms == 2


def test_what_another_process_wrote_is_noticed_once(store, path):
    store.set_rules([RULE])
    other = AlertStore(path)
    store.was_changed()
    store.rules()
    store.set_rules([RULE, OTHER])
    assert not store.was_changed()
    assert other.was_changed()
    assert not other.was_changed()
    other.close()


def test_a_damaged_database_is_set_aside_and_a_new_one_begins(path):
    path.parent.mkdir()
    path.write_bytes(b"this is no database" * 100)
    made = AlertStore(path)
    assert made.rules() == []
    made.close()
    (aside,) = path.parent.glob(f"{FILE_NAME}.damaged-*")
    assert aside.read_bytes().startswith(b"this is no database")


def test_damage_within_a_database_is_found_when_it_is_opened(path):
    made = AlertStore(path)
    made.set_rules([replace(RULE, rule_id=f"r{number}") for number in range(150)])
    made.close()
    data = bytearray(path.read_bytes())
    data[4096 * 3 : 4096 * 4] = b"\xff" * 4096
    path.write_bytes(data)
    again = AlertStore(path)
    assert again.rules() == []
    again.close()
    assert len(list(path.parent.glob(f"{FILE_NAME}.damaged-*"))) == 1


def test_a_database_of_a_newer_orbit_is_refused_and_left(store, path):
    store.set_rules([RULE])
    with sqlite3.connect(path) as other:
        other.execute(f"PRAGMA user_version={FORMAT + 1}")
    other.close()
    with pytest.raises(StoreError, match="Use a newer Orbit"):
        AlertStore(path)
    assert store.rules() == [RULE]


def test_a_place_where_nothing_can_be_written_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        AlertStore(tmp_path / "file" / FILE_NAME)
