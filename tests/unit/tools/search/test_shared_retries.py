"""Searches by group where two pairs of group and topic have one retry topic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker_core.tools.commands.search import main
from broker_core.tools.search.columns import may_match, topic_verdict
from broker_core.tools.search.expression import Comparison
from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.scan import StoreSearch
from tests.support.store_writer import StoreWriter

COLLIDING = "%RETRY%g_a_t"
POPPED = {"1ST_POP_TIME": "1"}


def written(root: Path, *, groups: tuple[str, ...], topics: tuple[str, ...] = ()) -> Path:
    writer = StoreWriter(root)
    for topic in topics:
        writer.append(topic, b"sent", {})
    writer.append(COLLIDING, b"popped", POPPED)
    writer.append(COLLIDING, b"sent back", {"RETRY_TOPIC": "orders", "ORIGIN_MESSAGE_ID": "o"})
    writer.append("%RETRY%g_a+t", b"newer name", POPPED)
    writer.append("%DLQ%g", b"dead", {"RETRY_TOPIC": COLLIDING})
    writer.flush()
    config = root / "config"
    config.mkdir(exist_ok=True)
    table = {"subscriptionGroupTable": {group: {"groupName": group} for group in groups}}
    (config / "subscriptionGroup.json").write_text(json.dumps(table))
    return root


def found(root: Path, text: str) -> tuple[set[bytes], tuple[str, ...]]:
    search = StoreSearch(root, parse_filter(text, now_ms=0))
    bodies = {hit.message.body for step in search.steps() for hit in step.hits}
    assert search.outcome is not None
    assert search.outcome.is_complete
    return bodies, search.outcome.notes


NOTE = "1 hit is in retry topic %RETRY%g_a_t, which fits several pairs of group and topic: g+a_t, g_a+t"


def test_messages_of_a_shared_topic_are_found_for_both_groups_and_it_is_said(tmp_path):
    root = written(tmp_path, groups=("g", "g_a", "g_a_t"), topics=("t", "a_t", "orders"))
    assert found(root, 'group = "g_a"') == ({b"popped", b"newer name"}, (NOTE,))
    assert found(root, 'group = "g"') == ({b"popped", b"dead"}, (NOTE,))
    assert found(root, 'group = "g_a_t"') == ({b"sent back"}, ())
    assert found(root, 'group != "g" and state = retry') == ({b"sent back", b"newer name"}, ())
    assert found(root, f'topic = "{COLLIDING}"') == ({b"popped", b"sent back"}, ())


@pytest.mark.parametrize(("group", "topic", "other"), [("g_a", "t", "g"), ("g", "a_t", "g_a")])
def test_where_one_pair_is_known_the_messages_are_its(tmp_path, group, topic, other):
    root = written(tmp_path, groups=(group,), topics=(topic,))
    bodies, notes = found(root, f'group = "{group}"')
    assert b"popped" in bodies
    assert notes == ()
    assert b"popped" not in found(root, f'group = "{other}"')[0]


def test_where_nothing_is_known_every_pair_may_be_meant(tmp_path):
    writer = StoreWriter(tmp_path)
    writer.append(COLLIDING, b"popped", POPPED)
    writer.flush()
    for group in ("g", "g_a"):
        assert found(tmp_path, f'group = "{group}"') == ({b"popped"}, (NOTE,))
    assert found(tmp_path, 'group = "g_a_t"') == (set(), ())


def test_the_command_says_it_on_the_standard_error(tmp_path, capsys):
    root = written(tmp_path, groups=("g", "g_a"), topics=("t", "a_t"))
    assert main(["--store", str(root), 'group = "g_a" and body = "popped"']) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["topic"] == COLLIDING
    assert f"note: {NOTE}" in err
    assert "complete: 1 hit" in err


def test_a_topic_decides_a_group_only_where_all_its_possible_owners_agree():
    for text, verdict in (('group = "x"', False), ('group = "g"', None), ('group != "x"', True), ('group contains "g"', True)):
        comparison = parse_filter(text, now_ms=0)
        assert isinstance(comparison, Comparison)
        assert topic_verdict(comparison, COLLIDING) is verdict, text
        assert may_match(comparison, COLLIDING, 0) is (verdict is not False)
