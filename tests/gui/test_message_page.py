"""The page of one message: events in words, lanes, the scale of time, errors; and with a real worker under demo traffic."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtWidgets import QFileDialog

from broker_core.api import RemoteError, UsageError
from broker_core.client.message import Message
from broker_core.client.push_consumer import ConsumeFrom, ConsumeResult, PushConsumer
from broker_core.client.transaction import LocalState, TransactionProducer
from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.stored_messages import BrowseQueue, MessageBody, ReadBody, ReadLifeline, ReadMessage
from gui.app.console import Console
from gui.app.window_options import WindowOptions
from gui.models.lifeline import MISSING, life_chips, life_events
from gui.plots.life_line import HEAD, LANE, TimeScale
from gui.processes.worker_options import WorkerArguments
from gui.theme.tokens import State
from gui.views.messages.hand_dialog import HandDialog
from gui.views.messages.life_lanes import LANES_MAX, life_lanes
from gui.views.messages.message_view import RECORD, TRUE, MessageView
from monitoring.sources.base import SourceStatus
from tests.support.fake_page_context import deliver_background_calls
from tests.support.fake_source import TAKEN_MS, FakeSource, fake_lifeline
from tests.support.languages import shown_in
from tests.support.model_rules import hold_to_rules
from tests.support.remoting_peer import eventually

WAIT_MS = 60_000
QUICK = {"messageDelayLevel": "1s 1s 1s 1s 1s"}


@pytest.fixture
def make_view(show_page):
    return partial(show_page, MessageView)


@pytest.fixture
def view(make_view):
    made = make_view(FakeSource())
    made.open({"physical_offset": 1_024})
    return made


# ---- words and lanes ----


def test_events_say_what_happened_and_from_what_it_is_known():
    events = life_events(fake_lifeline(), str)

    told = {event.title: event for event in events}
    assert told["Attempt 1 failed"].detail == "order-service · 148 ms · pay-result, queue 2, offset 42,231"
    assert "18.0 ms late" in told["Retry 1 stored"].detail
    assert "waits 10 s" in told["Retry 1 waits"].detail.replace("10.0", "10")
    assert told["Attempt 2 failed"].evidence_words.startswith("inferred: Retry or dead letter of it\nRecord at 1,500")
    assert told["Passed by bi-export"].at_ms == -1


def with_branch():
    """The life line, and what the message was sent again as."""
    first = life_events(fake_lifeline(), str)
    at = {"branch": 1, "topic": "again", "at_ms": first[-2].at_ms + 5_000, "physical_offset": 4_096}
    resent = replace(first[0], kind="resent", source="It names its origin", number=0, index=len(first), **at)
    stored = replace(resent, kind="stored", source="Store timestamp", number=-1, index=len(first) + 1)
    return [*first, resent, stored]


def test_what_it_was_sent_again_as_is_a_branch_of_the_same_line(qapp):
    events = with_branch()
    resent, stored = events[-2:]
    assert resent.detail.startswith("branch 2 · ")
    assert "made of branch 1" in resent.detail
    assert stored.detail.startswith("branch 2 · ")
    assert not resent.is_other_life
    assert "It names its origin" in resent.evidence_words
    lanes = life_lanes(events, 0)
    alone = life_lanes(life_events(fake_lifeline(), str), 0)
    assert [lane.name for lane in lanes] == [*(lane.name for lane in alone), "Branch 2", "Stored"]


@pytest.mark.parametrize(
    ("kind", "protocol", "words"),
    [
        ("produced", "gRPC", "over gRPC"),
        ("sent", "remoting", "over remoting"),
        ("attempt", "POP", "received by POP"),
        ("passed", "gRPC", "its members use gRPC now"),
    ],
)
def test_an_event_names_its_protocol(kind, protocol, words):
    line = fake_lifeline()
    event = next(event for event in life_events(line, str) if kind in (event.kind, "sent"))
    assert words not in event.detail
    assert words in replace(event, kind=kind, protocol=protocol).detail.split(" · ")


def test_protocols_of_a_line_are_those_of_its_events():
    line = fake_lifeline()
    events = life_events(replace(line, protocol=["gRPC", *[""] * (len(line.at_ms) - 1)]), str)
    assert [event.protocol for event in events[:2]] == ["gRPC", ""]


def test_a_resent_copy_leads_to_the_life_line_of_its_own(view):
    event = replace(life_events(fake_lifeline(), str)[0], kind="resent", physical_offset=4_096, topic="again")
    assert event.is_other_life
    assert "opens the life line of that message" in event.evidence_words
    assert not replace(event, kind="retry").is_other_life
    places = []
    view.place_changed.connect(places.append)
    view.event_grid.activated.emit(event)
    assert places == [{"physical_offset": 4_096}]
    assert ReadLifeline(4_096) in view.context.source.asked


def test_the_message_can_be_given_to_one_consumer(view, make_view):
    view.hand_button.click()
    (dialog,) = view.findChildren(HandDialog)
    assert dialog.isVisible()
    dialog.reject()
    assert make_view(FakeSource()).sending.hand_shown() is None


def test_the_body_is_downloaded_whole(view, window, tmp_path, qtbot):
    source, path = view.context.source, tmp_path / "body.bin"
    whole = bytes(range(256)) * 4_000
    source.answers[ReadBody] = lambda _question: MessageBody(whole)
    deliver_background_calls()
    view.download_button.click()
    (dialog,) = view.findChildren(QFileDialog)
    assert dialog.selectedFiles()[0].endswith(".bin")
    dialog.fileSelected.emit(str(path))
    dialog.reject()
    qtbot.waitUntil(lambda: bool(window.notices))
    assert path.read_bytes() == whole
    assert source.asked_for(ReadBody) == [ReadBody(1_024)]
    assert window.notices[-1] == (f"The body is in {path}, 1.0 MiB", State.HEALTHY)


def test_a_body_that_was_not_read_or_not_decompressed_says_so(view, window, tmp_path, qtbot):
    source, path = view.context.source, tmp_path / "body.bin"
    source.answers[ReadBody] = lambda _question: RemoteError("the message has expired")
    view.download(1_024, path)
    assert not path.exists()
    assert window.notices[-1] == (f"The body was not written to {path}: the message has expired", State.CRITICAL)
    source.answers[ReadBody] = lambda _question: MessageBody(b"raw", "it does not decompress")
    view.download(1_024, path)
    qtbot.waitUntil(lambda: len(window.notices) == 2)
    assert path.read_bytes() == b"raw"
    assert window.notices[-1][1] is State.WARNING


def test_the_state_of_the_message_is_told_in_chips():
    events = life_events(fake_lifeline(), str)

    assert life_chips(events) == [("Committed", State.COMMITTED), ("Consumed at attempt 3", State.HEALTHY)]
    assert life_chips(events[:3]) == [("Undecided", State.PENDING)]
    assert life_chips(events[:7])[-1] == ("Waits for retry 1", State.RETRY)
    dead = replace(events[11], kind="dead", outcome="")
    assert life_chips([*events[:11], dead])[-1] == ("Dead in order-service", State.CRITICAL)


def test_lanes_stand_in_the_order_of_the_life_with_one_for_each_retry():
    lanes = life_lanes(life_events(fake_lifeline(), str), TAKEN_MS)

    assert [lane.name for lane in lanes] == [
        "Half", "Op", "Real", "Attempt 1", "Retry 1", "Attempt 2", "Retry 2", "Attempt 3",
    ]  # fmt: skip
    half, retry = lanes[0], lanes[4]
    assert half.bars[0].end_ms == lanes[1].dots[0].at_ms
    assert [dot.text for dot in half.dots] == ["", "Check 1: producer asked"]
    assert (retry.place, retry.offset) == ("%RETRY%order-service", "q0 · 1,583")
    assert retry.bars[0].end_ms == TAKEN_MS - 100_740 + 70_420


def test_a_wait_that_is_not_over_goes_on_to_its_due_time():
    events = life_events(fake_lifeline(), str)[:7]

    wait = life_lanes(events, TAKEN_MS)[-1].bars[0]

    assert wait.end_ms == events[-1].until_ms


def test_the_number_of_lanes_is_bounded():
    event = life_events(fake_lifeline(), str)[4]
    events = [replace(event, index=number, kind="stored again") for number in range(LANES_MAX + 9)]

    assert len(life_lanes(events, TAKEN_MS)) == LANES_MAX


@pytest.mark.parametrize("compressed", [True, False])
def test_time_goes_from_left_to_right(compressed):
    moments = [0, 3, 60_000, 60_012, 3_600_000]
    scale = TimeScale(moments, compressed=compressed)

    places = [scale.at(moment) for moment in (-5, *moments, 9_999_999)]

    assert places == sorted(places)
    assert (places[0], places[-1]) == (0.0, 1.0)
    assert places[1] < scale.at(1) < places[2]


def test_compressed_time_folds_long_stretches_and_true_time_is_linear():
    moments = [0, 10, 60_000]

    assert TimeScale(moments, compressed=True).at(10) > 0.1
    assert len(TimeScale(moments, compressed=True).folds) == 1
    assert TimeScale(moments, compressed=False).at(30_000) == pytest.approx(0.5)
    assert TimeScale(moments, compressed=False).folds == ()


def test_what_the_worker_says_is_missing_is_translated(qapp):
    with shown_in("zh"):
        text = MISSING.text("3 other messages have the same unique key, as in a batch; they are left out.")
        assert text == "另有 3 条消息的唯一 Key 相同（如批量消息），未列出。"


# ---- the page ----


def test_a_life_line_shorter_than_a_second_is_in_milliseconds(view):
    view.events.set_rows([replace(event, at_ms=1_000 + place) for place, event in enumerate(view.events.rows[:6])])
    assert view._summary().endswith(", 5 ms")


def test_the_page_shows_the_story_the_body_and_the_properties(view):
    assert view.header.title == "SO-20261121-00004"
    assert view.tab_title() == "SO-20261121-00004"
    assert view.event_panel.subtitle == "13, with the evidence for each"
    assert view.life_panel.subtitle == "8 stored records, 3 attempts, 101 s"
    assert view.missing.text() == "The half message of its transaction is no longer stored."
    assert view.body.body.content.value["orderId"] == "SO-20261121-00004"
    assert view.properties.rowCount() == 4
    view.facts_switch.chosen.emit(RECORD)
    assert ("System flag", "0x0") in view.record.pairs()


def test_a_lane_leads_to_its_event(view, qtbot):
    place = QPointF(20, HEAD + 3 * LANE + 5).toPoint()

    qtbot.mouseClick(view.picture, Qt.MouseButton.LeftButton, pos=place)

    assert view.event_grid.selected_row.title == "Attempt 1 failed"


def test_an_event_leads_to_its_record(view, qtbot):
    source = view.context.source
    with qtbot.waitSignal(view.place_changed) as moved:
        view.event_grid.activated.emit(view.events.rows[3])

    assert moved.args == [{"physical_offset": 1_000}]
    assert source.asked[-2:] == [ReadMessage(1_000), ReadLifeline(1_000)]


def test_the_picture_is_painted_in_both_scales(view):
    folded = view.picture.grab().toImage()
    view.scale.choose(TRUE)
    view.scale.chosen.emit(TRUE)

    assert view.picture.grab().toImage() != folded
    assert "Attempt 3" in view.picture.accessibleDescription()


def test_copies_of_the_message_are_offered_for_comparison(view):
    dialog = view.compare()

    offered = [dialog.other.itemText(row) for row in range(dialog.other.count())]
    assert offered[0].startswith("Half stored · RMQ_SYS_TRANS_HALF_TOPIC")
    assert len(offered) == len({dialog.other.itemData(row) for row in range(dialog.other.count())})
    dialog.reject()


def test_without_a_message_the_page_says_where_to_find_one(make_view):
    page = make_view(FakeSource())

    assert page.placeholder.text.startswith("No message is open.")
    assert not page.resend_button.isEnabled()


def test_a_message_that_is_gone_is_an_error_with_a_way_back(make_view):
    source = FakeSource()
    page = make_view(source)
    source.fail_with = UsageError("there is no message at 5 of the commit log")
    page.open({"physical_offset": 5})
    assert page.placeholder.text == "The message was not read."

    assert page.gone() == "The message is gone."
    source.fail_with = None
    page.refresh()

    assert page.events.rowCount() == 13


def test_the_story_follows_zone_and_language(view, qapp):
    with shown_in("zh"):
        assert view.events.rows[5].title == "第 1 次消费失败"
        view.context.times.toggle()
        assert view.record.pairs()[4][1].endswith(view.context.times.name(TAKEN_MS))
    view.context.times.toggle()


def test_the_model_of_events_keeps_the_rules_of_qt(view):
    hold_to_rules(view.events)

    view.open({"physical_offset": 2_048})

    assert view.events.rowCount() == 13


# ---- with a real worker ----


@pytest.fixture
def console(qapp, qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(qapp, "quit", lambda: None)
    worker = WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0, settings=QUICK)
    hook = sys.excepthook
    made = Console(qapp, WindowOptions(worker, language="en", theme="dark", settings_file=tmp_path / "window.ini"))
    made.window.show()
    source = made.worker.source
    qtbot.waitUntil(lambda: source.status is SourceStatus.READY and source.state is not None, timeout=WAIT_MS)
    yield made
    made.window.close()
    qtbot.waitUntil(lambda: not made.children_processes.any_running, timeout=WAIT_MS)
    assert sys.excepthook is hook
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    made.window.deleteLater()
    made.deleteLater()


async def send_and_fail_once(name_server: str, consumed: list[int]) -> None:
    """Send a message in a transaction; its consumer gives it back once. Ends when it was consumed."""

    def listener(messages):
        consumed.extend(message.reconsume_times for message in messages)
        return ConsumeResult.DONE if messages[0].reconsume_times else ConsumeResult.AGAIN_LATER

    member = PushConsumer(name_server, "billing", {"paid": "*"}, listener, consume_from=ConsumeFrom.FIRST_OFFSET)
    producer = TransactionProducer(name_server, "shop", lambda _message: LocalState.COMMIT)
    async with producer, member:
        await producer.send_in_transaction(
            Message("paid", b'{"orderId": "SO-1"}', keys=("SO-1",)), lambda _message: LocalState.COMMIT
        )
        await eventually(lambda: 1 in consumed, seconds=200)


@pytest.mark.timeout(400)
def test_the_life_of_a_message_is_told_from_its_half_message_to_its_last_attempt(console, qtbot):
    source, window = console.worker.source, console.window
    answers = []
    source.ask(CreateTopic("paid", 1, 1)).then(answers.append, answers.append)
    qtbot.waitUntil(lambda: answers == [Done()], timeout=WAIT_MS)
    consumed, ended = [], []
    life = send_and_fail_once(source.ready.name_server, consumed)
    client = threading.Thread(target=lambda: ended.append(asyncio.run(asyncio.wait_for(life, 240))), name="client")
    client.start()
    qtbot.waitUntil(lambda: not client.is_alive(), timeout=260_000)
    client.join()
    assert (ended, consumed) == ([None], [0, 1])
    source.ask(BrowseQueue("paid", 0, 0, 10)).then(answers.append, answers.append)
    qtbot.waitUntil(lambda: len(answers) == 2, timeout=WAIT_MS)
    [place] = answers[1].physical_offset

    window.navigate("message", physical_offset=place)
    page = window.area.current

    def is_told():
        if page.events.rows and any(event.kind == "passed" and event.topic == "paid" for event in page.events.rows):
            return True
        if not page._detail_query.waiting and not page._line_query.waiting:
            page.refresh()
        return False

    qtbot.waitUntil(is_told, timeout=2 * WAIT_MS)
    told = [event.kind for event in page.events.rows if event.kind not in ("passed", "ahead")]
    assert told == ["produced", "half", "committed", "stored", "attempt", "retry waits", "retry"]
    assert page.tab_title() == "SO-1"
    assert page.body.body.content.value == {"orderId": "SO-1"}
    assert [lane.name for lane in page.picture.lanes][:5] == ["Half", "Op", "Real", "Attempt 1", "Retry 1"]
    assert "No trace records" in page.missing.text()
    assert console.errors.count == 0
