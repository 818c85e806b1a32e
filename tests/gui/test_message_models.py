"""What the Messages page computes: rows, positions, times, bodies, drafts."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from broker_core.worker.questions.stored_messages import (
    MessagePage,
    SendMessage,
)
from gui.models.message_words import property_rows
from gui.models.messages import (
    ALL_QUEUES,
    DraftFault,
    MessageDraft,
    draft_fault,
    dropped_properties,
    json_fault,
    message_rows,
    message_to_send,
    parse_time,
    resend_draft,
    writable_topics,
)
from gui.models.queue_window import QueueWindow, end_of_topic, queue_bounds
from monitoring.payload.listed import NO_MASK, body_preview
from tests.support.fake_figures import grown
from tests.support.fake_source import fake_detail, fake_state

STATE = fake_state()


# ---- rows and positions ----


def test_rows_of_a_page_stand_newest_first():
    page = MessagePage(
        topic="t", queue_id=[0, 0], queue_offset=[5, 6], physical_offset=[100, 200], store_ms=[1_000, 2_000], born_ms=[1, 2],
        body_bytes=[3, 4], tag=["", "A"], keys=["k1 k2", ""], unique_key=["U1", "U2"], body_start=[b"one", b"two"],
        min_offset=0, max_offset=7, next_offset=7,
    )  # fmt: skip

    rows = message_rows(page, NO_MASK)

    assert [(row.key, row.name, row.body_start) for row in rows] == [((0, 6), "U2", "two"), ((0, 5), "k1", "one")]


@pytest.mark.parametrize(
    ("start", "shown"),
    [
        (b'{"a":\n  1}', '{"a": 1}'),
        ("杭州".encode()[:-1], "杭"),  # the first 200 bytes may end within a character
        (b"", ""),
        (b"\x00\xff\x10", "00 ff 10"),
        (b"\xff", "ff"),
    ],
)
def test_preview_of_a_body_is_one_line_of_text_or_hexadecimal(start, shown):
    assert body_preview(start) == shown


def test_window_moves_by_its_length_and_stays_within_the_queue():
    newest = QueueWindow(100, 1_000, 0, 200).newest()

    assert (newest.start, newest.end, newest.has_newer, newest.has_older) == (800, 1_000, False, True)
    assert newest.older().start == 600
    assert newest.older().newer() == newest
    assert newest.oldest().older().start == 100
    assert newest.at(5_000).start == 999
    assert newest.at(-1).start == 100


def test_window_of_a_short_queue_shows_all_of_it():
    window = QueueWindow(3, 10, 3).newest()

    assert (window.start, window.end, window.has_newer, window.has_older) == (3, 10, False, False)


def test_window_follows_a_queue_whose_begin_was_deleted():
    assert QueueWindow(0, 1_000, 50, 200).grown(300, 1_200).start == 300


def test_bounds_and_ends_come_from_the_state():
    low, high = queue_bounds(STATE, "payments", 3)

    assert (low, high > low) == (0, True)
    assert queue_bounds(STATE, "payments", 99) is None
    assert queue_bounds(STATE, "nowhere", 0) is None
    assert (
        end_of_topic(grown(STATE, "payments", 3, 7), "payments", ALL_QUEUES) == end_of_topic(STATE, "payments", ALL_QUEUES) + 7
    )
    assert end_of_topic(STATE, "nowhere", 0) == -1


def test_only_own_topics_with_write_permission_are_offered_for_sending():
    read_only = replace(STATE, catalog=replace(STATE.catalog, topic_permission=[4, *STATE.catalog.topic_permission[1:]]))

    assert "orders" in writable_topics(STATE)
    assert "orders" not in writable_topics(read_only)
    assert not any(name.startswith("%") for name in writable_topics(STATE))


NOW = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
NOW_MS = round(NOW.timestamp() * 1_000)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("10:15", NOW.replace(minute=15)),
        ("9:05", NOW.replace(hour=9, minute=5)),
        ("10:15:02.640", NOW.replace(minute=15, second=2, microsecond=640_000)),
        ("yesterday 10:15", NOW.replace(day=20, minute=15)),
        ("yesterday", NOW.replace(day=20, hour=0, minute=0)),
        ("2026-11-20 08:00", NOW.replace(day=20, hour=8, minute=0)),
        ("2026-11-20T08:00:00+08:00", NOW.replace(day=20, hour=0, minute=0)),
        ("-2h", NOW - timedelta(hours=2)),
        ("-90 s", NOW - timedelta(seconds=90)),
        (str(NOW_MS), NOW),
    ],
)
def test_times_are_read_as_entered(text, moment):
    assert parse_time(text, NOW_MS, UTC) == round(moment.timestamp() * 1_000)


@pytest.mark.parametrize("text", ["", "soon", "25:00", "10:99", "-5", "12", "2026-13-01", "²" * 12, "9" * 19])
def test_what_is_no_time_is_none(text):
    assert parse_time(text, NOW_MS, UTC) is None


# ---- bodies ----


def test_broken_json_says_where():
    assert "line 1 column" in json_fault('{"a": }')
    assert json_fault('{"a": 1}') == ""


def test_properties_stand_with_unique_key_keys_and_tag_first():
    names = [row.name for row in property_rows({"region": "hz", "TAGS": "A", "WAIT": "true", "UNIQ_KEY": "U", "KEYS": "k"})]

    assert names == ["UNIQ_KEY", "KEYS", "TAGS", "region", "WAIT"]
    assert property_rows({"WAIT": "true"})[0].meaning
    assert not property_rows({"region": "hz"})[0].meaning


# ---- drafts ----

DRAFT = MessageDraft("orders", ALL_QUEUES, "PAID", "k1  k2\u3000", (("region", "hz"),), b"{}")


def test_a_draft_becomes_a_command_with_tag_and_keys_as_properties():
    assert message_to_send(DRAFT) == SendMessage(
        "orders", ALL_QUEUES, b"{}", {"region": "hz", "KEYS": "k1  k2\u3000", "TAGS": "PAID"}, 0
    )
    assert message_to_send(replace(DRAFT, tag="", keys="")).properties == {"region": "hz"}


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        ({"topic": ""}, DraftFault.TOPIC),
        ({"properties": (("", "v"),)}, DraftFault.NAME),
        ({"properties": (("n", ""),)}, DraftFault.VALUE),
        ({"properties": (("n", "1"), ("n", "2"))}, DraftFault.TWICE),
        ({"properties": (("TAGS", "A"),)}, DraftFault.RESERVED),
        ({"tag": "a\x01b"}, DraftFault.CONTROL),
        ({}, None),
    ],
)
def test_the_first_fault_of_a_draft_is_named(change, fault):
    assert draft_fault(replace(DRAFT, **change)) is fault


def test_a_letter_of_a_shared_retry_topic_is_resent_to_no_topic_that_may_be_wrong():
    detail = replace(fake_detail(256), topic="%DLQ%g_a", properties={"RETRY_TOPIC": "%RETRY%g_a_t"})
    assert resend_draft(detail, KnownNames({"g_a"}, {"t", "a_t"})).topic == "t"
    assert resend_draft(detail, KnownNames({"g_a", "g"}, {"t", "a_t"})).topic == ""


def test_resending_keeps_own_properties_and_drops_what_the_system_set():
    stored = fake_detail(256)
    of_the_way = {"WAIT": "true", "DELAY": "3", "RETRY_TOPIC": "orders", "POP_CK": "1 2 3", "DLQ_ORIGIN_TOPIC": "orders",
                  "TIMER_DELIVER_MS": "1", "TRAN_MSG": "true", "MSG_REGION": "r"}  # fmt: skip
    detail = replace(stored, properties={**stored.properties, **of_the_way}, topic="%RETRY%g", flag=7)

    draft = resend_draft(detail, NOTHING_KNOWN)

    assert (draft.topic, draft.tag, draft.flag, draft.body) == ("orders", "PAID", 7, detail.body)
    assert draft.properties == (("region", "hangzhou"), ("ORBIT_ORIGIN_ID", detail.offset_message_id))
    assert "UNIQ_KEY" not in message_to_send(draft).properties
    assert set(dropped_properties(detail)) == {*of_the_way, "UNIQ_KEY"}
