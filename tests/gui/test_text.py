from __future__ import annotations

import math
import re
import string

import pytest
from PySide6.QtCore import QCoreApplication

from broker_core.engine.store.results import NEVER_STORED
from broker_core.engine.tables.set_aside import GIVEN_UP, STAYS, SetAside, dead_letter_of
from broker_core.errors import ForeignStoreError
from broker_core.worker.refusals import OF_CLUSTERS
from gui.views.reports.words import report_text
from gui.words import text
from gui.words.broker_words import broker_text
from gui.words.child_words import child_text
from gui.words.text import LAST_MS, UNKNOWN, TimeZoneChoice, load_catalogue, tr
from spark_reports.datasource.log_files import log_files
from tests.support.languages import shown_in
from tests.support.shown_texts import literal_texts

NAN = math.nan


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (text.count_text(18_402), "18,402"),
        (text.count_text(0), "0"),
        (text.short_count_text(9_999), "9,999"),
        (text.short_count_text(18_402), "18.4k"),
        (text.short_count_text(30_000), "30k"),
        (text.short_count_text(999_900), "1M"),
        (text.short_count_text(4_318_220), "4.3M"),
        (text.short_count_text(7_200_000_000), "7.2G"),
        (text.signed_count_text(-71), "−71"),
        (text.signed_count_text(2), "+2"),
        (text.signed_count_text(0), "0"),
        (text.rate_text(1_284.2), "1,284/s"),
        (text.rate_text(7.2), "7.2/s"),
        (text.rate_text(0.01), "<0.1/s"),
        (text.rate_text(0), "0/s"),
        (text.bytes_text(640), "640 B"),
        (text.bytes_text(1_946), "1.9 KiB"),
        (text.bytes_text(1023 * 1024), "1.0 MiB"),
        (text.bytes_text(8.1 * 2**30), "8.1 GiB"),
        (text.bytes_text(641 * 2**20), "641 MiB"),
        (text.bytes_exact_text(8_697_308_774), "8,697,308,774 bytes"),
        (text.byte_rate_text(2048), "2.0 KiB/s"),
        (text.percent_text(0.418), "41.8 %"),
        (text.milliseconds_text(0.31), "0.31 ms"),
        (text.milliseconds_text(4.2), "4.2 ms"),
        (text.milliseconds_text(131), "131 ms"),
        (text.milliseconds_text(1_200), "1.2 s"),
        (text.milliseconds_text(184_549_400), "2 d 3 h"),
        (text.duration_text(0), "0 s"),
        (text.duration_text(700), "0.7 s"),
        (text.duration_text(131_000), "131 s"),
        (text.duration_text(14 * 60_000), "14 min"),
        (text.duration_text((2 * 60 + 14) * 60_000), "2 h 14 min"),
        (text.duration_text(3 * 86_400_000), "3 d"),
        (text.span_text(0), "0 s"),
        (text.span_text(200), "200 ms"),
        (text.span_text(1_500), "1.5 s"),
        (text.span_text(60_000), "1 min"),
        (text.span_text(90_000), "1 min 30 s"),
        (text.span_text(7_200_000), "2 h"),
        (text.span_text(3 * 86_400_000), "3 d"),
        (text.size_text(2**30), "1 GiB"),
        (text.size_text(6_000_000), "5.7 MiB"),
        (text.age_text(1_000, 1_200), "0.2 s"),
        (text.age_text(2_000, 1_000), "0 s"),
        (text.messages_unit(1), "message"),
        (text.messages_unit(0), "messages"),
    ],
)
def test_figures_read_as_designed(shown: str, expected: str):
    assert shown == expected


@pytest.mark.parametrize("value", [None, NAN, math.inf, -1])
@pytest.mark.parametrize(
    "form",
    [
        text.count_text,
        text.short_count_text,
        text.rate_text,
        text.bytes_text,
        text.bytes_exact_text,
        text.byte_rate_text,
        text.milliseconds_text,
        text.duration_text,
        lambda value: text.age_text(value, 10_000),
        TimeZoneChoice(utc=True).clock,
        TimeZoneChoice(utc=True).full,
    ],
)
def test_unknown_is_a_dash_never_zero(form, value):
    assert form(value) == UNKNOWN


@pytest.mark.parametrize("utc", [False, True])
def test_a_time_that_no_calendar_has_is_a_number(qtbot, utc):
    times = TimeZoneChoice(utc=utc)
    for at_ms in (1_795_227_302_640_000_000, (1 << 63) - 1, 253_402_300_800_000):
        said = {
            times.clock(at_ms),
            times.seconds(at_ms),
            times.seconds_near(at_ms, 0),
            times.minutes(at_ms),
            times.full(at_ms),
            times.shown(at_ms, 0),
        }
        assert said == {f"{at_ms} ms"}
        assert times.name(at_ms).startswith("UTC")
    for at_ms in (None, float("nan"), -1):
        assert times.full(at_ms) == times.shown(at_ms, 0) == UNKNOWN
    assert times.full(LAST_MS).startswith("9999-12-3")


def test_moments_follow_the_chosen_zone(qtbot):
    times = TimeZoneChoice(utc=True)
    assert times.clock(1_795_227_302_640) == "02:15:02.640"
    assert times.minutes_near(1_795_227_302_640, 1_795_227_402_640) == "02:15"
    assert times.minutes_near(1_795_227_302_640, 1_795_327_302_640) == times.minutes(1_795_227_302_640)
    near = [times.seconds_near(1_795_227_302_640, 1_795_227_302_640 + days * 86_400_000) for days in (0, 1, 365)]
    assert near == ["02:15:02", "11-21 02:15:02", "2026-11-21 02:15:02"]
    assert times.full(1_795_227_302_640) == "2026-11-21 02:15:02.640"
    assert times.shown(1_795_227_302_640, 1_795_227_302_640) == "02:15:02.640"
    assert times.shown(1_795_227_302_640, 1_795_227_302_640 + 86_400_000) == "2026-11-21 02:15:02.640"
    assert times.name(0) == "UTC"
    with qtbot.waitSignal(times.changed):
        times.toggle()
    assert not times.utc


def fields(shown: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(shown) if name is not None}


def test_a_translation_has_the_fields_of_its_english_text():
    assert {english: chinese for english, chinese in load_catalogue("zh").items() if fields(english) != fields(chinese)} == {}


def test_every_text_of_the_window_has_a_chinese_one():
    known = load_catalogue("zh")
    assert {shown: path for shown, path in literal_texts().items() if shown not in known and shown != "UTC"} == {}


NO_COUNTS = {"group", "name", "folder", "path", "topic", "share", "filter", "clients", "queue", "subject", "names",
             "address", "broker", "host"}  # fmt: skip
"""Fields that are names and shares: ``{group} lags``."""
AFTER_ONE = {
    "is", "was", "has", "does", "waits", "comes", "lags", "stays", "closes", "holds", "rejects", "takes", "answers", "ms", "s",
    "as", "this", "its", "yours", "needs", "goes",
}  # fmt: skip
"""What may end in s behind "1": verbs, units, small words."""


def plural_after_one(shown: str) -> str:
    """What is said of one as if it were several: ``1 files``, ``1 dead letters``, ``1 are``; empty where all is well."""
    for found in re.finditer(r"\b1 (?:(?!with )[a-z]+ ){0,2}?(?P<word>[a-z]+s|are|were|have|do|wait)\b", shown):
        if found["word"] not in AFTER_ONE and not found["word"].endswith("ss"):
            return found[0]
    return ""


def test_what_is_said_of_one_in_the_plural_would_be_found():
    assert plural_after_one("Delete 1 files") == "1 files"
    assert plural_after_one("1 dead letters") == "1 dead letters"
    assert plural_after_one("1 were skipped") == "1 were"
    assert plural_after_one("1 file, 1 message waits, 11 files, 1 ms") == ""


def test_every_text_with_counts_has_a_singular():
    found = {}
    for english in load_catalogue("zh"):
        counts = fields(english) - NO_COUNTS
        others = dict.fromkeys(fields(english) & NO_COUNTS, "x")
        found[english] = plural_after_one(tr(english, **others, **dict.fromkeys(counts, "1")))
    assert {english: wrong for english, wrong in found.items() if wrong} == {}


def test_singulars_belong_to_texts_and_keep_their_fields():
    known, wrong = load_catalogue("zh"), []
    for english, counts in text.load_singulars().items():
        for name, (plural, singular) in counts.items():
            is_there = english in known and english.count(plural) == 1 and name in fields(plural)
            if not is_there or not fields(singular) <= fields(english) or singular == plural:
                wrong.append(english)
    assert wrong == []


def test_a_count_of_one_is_said_in_the_singular_and_others_are_not():
    assert tr("{count} files", count=1) == "1 file"
    assert tr("{count} files", count="1") == "1 file"
    assert tr("{count} files", count=UNKNOWN) == "— files"
    assert [tr("{count} files", count=count) for count in (0, 2, 21)] == ["0 files", "2 files", "21 files"]
    moved = "Group {subject} was moved back in {count} queues: {messages} messages come again"
    assert tr(moved, subject="a", count="1", messages="2") == "Group a was moved back in 1 queue: 2 messages come again"
    assert tr(moved, subject="1", count="2", messages="1") == "Group 1 was moved back in 2 queues: 1 message comes again"


def test_what_another_process_says_of_one_is_known_in_the_singular_too():
    form = "scan of {count} queues in {topics_count} topics, {messages_count} messages"
    known = text.KnownTexts(form)
    for said in ("scan of 8 queues in 1 topic, 5 messages", "scan of 1 queue in 1 topic, 1 message",
                 "scan of 8 queues in 2 topics, 0 messages"):  # fmt: skip
        assert known.text(said) == said
    assert known.text("scan of 8 queues in 1 topics, 1 messages") == "scan of 8 queues in 1 topic, 1 message", (
        "of an older worker"
    )
    assert child_text(f"complete: {form.format(count=1, topics_count=1, messages_count=7)}").endswith("1 topic, 7 messages")


@pytest.mark.parametrize(
    ("said", "part"),
    [
        ("scan of 8 queues in 1 topic, 1 message", "扫描 1 个主题的 8 个队列，1 条消息"),
        ("partial: 1 hit in 2 messages; the limit of 1 hit was reached", "2 条消息中命中 1 条；已达到 1 条命中的上限"),
        ("1 body could not be decompressed and was searched as it is stored", "1"),
        ("1 message of orders that was asked for is no longer kept by the source", "orders"),
        ("plan: 1 message with 1 byte of body, as fast as they are taken", "1 条消息"),
        ("note: 1 of them is what it is", "1"),
        ("1 offset was not set, as members of their groups are online", "1"),
    ],
)
@pytest.mark.usefixtures("chinese")
def test_the_singular_of_another_process_is_told_in_chinese(said, part):
    told = child_text(said)
    assert told != said
    assert part in told


def test_every_singular_of_a_known_text_is_recognised():
    for form, counts in text.load_singulars().items():
        spoken = text.spoken_forms(form)
        assert len(set(spoken)) == 2 ** len(counts), form
        fields_and_ones = dict.fromkeys(fields(form), "1")
        assert text.KnownTexts(form).text(spoken[-1].format(**fields_and_ones)) == tr(form, **fields_and_ones)


def test_texts_change_with_the_translator(qapp):
    translator = text.CatalogueTranslator({"Topics": "主题", "{count} tasks": "{count} 个任务"})
    assert QCoreApplication.installTranslator(translator)
    try:
        assert tr("Topics") == "主题"
        assert tr("{count} tasks", count=3) == "3 个任务"
        assert tr("no such text") == "no such text"
    finally:
        QCoreApplication.removeTranslator(translator)
    assert tr("Topics") == "Topics"


@pytest.mark.usefixtures("chinese")
def test_a_count_of_one_reads_in_chinese_like_any_other():
    assert tr("{count} files", count=1) == "1 个文件"


@pytest.mark.usefixtures("chinese")
def test_durations_have_chinese_units():
    durations = (0, 700, 131_000, 14 * 60_000, (2 * 60 + 14) * 60_000, 26 * 3_600_000, 3 * 86_400_000)
    shown = [text.duration_text(duration) for duration in durations]
    assert shown == ["0 秒", "0.7 秒", "131 秒", "14 分", "2 小时 14 分", "1 天 2 小时", "3 天"]


@pytest.mark.usefixtures("chinese")
def test_texts_of_a_known_form_keep_their_names_and_figures():
    assert broker_text("Topic a.*b was created") == "主题 a.*b 已创建"
    assert broker_text("Broker b-0 answers again, after 1,204 s") == "Broker b-0 已恢复响应，中断 1,204 秒"
    assert broker_text("something new") == "something new"
    for status in NEVER_STORED:
        for outcome in (STAYS, GIVEN_UP, dead_letter_of("g")):
            aside = SetAside()
            aside.note(4_711, "%RETRY%g", status, outcome)
            (event,) = aside.take()
            told = broker_text(event.text)
            assert told.startswith("CommitLog 中位于 4711 的消息无法复制到 %RETRY%g：")
            assert not re.search("record|longer|names|topic |stays|given|dead letter", told)
    aside.note_commit(4_711, "orders", "no disk")
    (event,) = aside.take()
    assert broker_text(event.text) == "已放弃 CommitLog 中位于 4711 的半消息的事务，因为向 orders 的提交被拒绝：no disk"
    fault = "for 1,204 s: topics and groups: No accessKey is configured (and 6 more)"
    assert broker_text(fault) == "已持续 1,204 秒：主题和消费组：No accessKey is configured（另有 6 项）"
    assert (
        report_text("28,395 of 54,049 messages (52.5 %) are in orders.") == "54,049 条消息中有 28,395 条（52.5 %）在 orders。"
    )
    assert report_text("the largest has 538 bytes, in orders") == "最大 538 字节，在 orders"


@pytest.mark.usefixtures("chinese")
@pytest.mark.parametrize(("what", "why"), sorted(OF_CLUSTERS.values()))
def test_what_an_attached_cluster_cannot_give_is_told_in_chinese(what, why):
    told = broker_text(f"not available on an attached cluster: {what}; {why}")
    assert not re.search("[a-z]{3}", told.replace("Orbit", "").replace("Broker", "")), told


@pytest.mark.usefixtures("chinese")
def test_why_a_report_failed_is_told_in_chinese(tmp_path):
    with pytest.raises(ForeignStoreError) as raised:
        log_files(tmp_path)
    told = child_text(raised.value.message)
    assert told.startswith(f"{tmp_path} 不是 RocketMQ 存储")


def test_notices_of_taken_ports_are_told_whole(qapp):
    pair = "9876 is in use by another program; the name server listens on 9877, the broker on 10912"
    grpc = "8081 is in use by another program; gRPC listens on 8082"
    with shown_in("zh"):
        told = [broker_text(text) for text in (pair, grpc, f"{pair}. {grpc}")]
    assert told[2] == f"{told[0]}。{told[1]}"
    assert "is in use" not in "".join(told)
