"""Copies between clusters from the window: what is asked of the command line, what is refused, and on from a receipt."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QSettings

from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.main_window.copy_dialog import UNFINISHED_KEY, CopyDialog
from gui.main_window.copy_ends import ends_of
from gui.models.copy_order import CopyCommand, CopyEnd, Span, resume_arguments
from gui.operations.clusters import Clusters
from gui.operations.message_job import JobState, MessageJob
from gui.operations.tasks import TaskList
from tests.support.fake_child import FakeChild
from tests.support.fake_frame import Frame
from tests.support.fake_shop import READY
from tests.support.fake_source import FakeSource

HOME = Cluster(EMBEDDED, "/data/home/store")
AWAY = Cluster(ATTACHED, "prod:9876", title="Production")
LOOKED_AT = Cluster(ATTACHED, "other:9876", read_only=True)
ENDS = {"source": CopyEnd("prod:9876"), "target": CopyEnd("h:1"), "topics": "orders"}


@pytest.fixture
def child():
    return FakeChild()


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def opened(qtbot, qapp, theme, settings, child):
    def made(*known, source=None, details=None, topics="orders", goes=False):
        ends = ends_of(Clusters(known=lambda: known), source or FakeSource(), "/own/store")
        if details:
            ends = replace(ends, details=details)
        tasks = TaskList(qapp)
        job = MessageJob(tasks, "Copy", tasks, process=child)
        dialog = CopyDialog(ends, theme, settings, job, topics=topics)
        if not goes:
            qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return made


# ---- the command line ----


def test_a_copy_says_all_that_was_asked_for():
    assert CopyCommand(**ENDS).arguments(dry_run=True) == [
        "copy", "--from", "prod:9876", "--to", "h:1", "--topic=orders", "--dry-run",
    ]  # fmt: skip
    asked = CopyCommand(
        source=CopyEnd("prod:9876", details="{}"), target=CopyEnd("/s", is_store=True), topics="a, b", groups="*",
        span=Span.TIME, since="-2h", now_ms=5, offsets=True, change_settings=True, rate=100,
    )  # fmt: skip
    assert asked.arguments(dry_run=False) == [
        "copy", "--from", "prod:9876", "--to-store", "/s", "--source-details", "--topic=a, b", "--since=-2h", "--now", "5",
        "--groups=*", "--rate=100", "--offsets", "--change-settings", "--control",
    ]  # fmt: skip
    newest = replace(asked, span=Span.NEWEST, newest=7).arguments(dry_run=False)
    assert newest[newest.index("--last") + 1] == "7"
    assert "--to-offset=9" in replace(asked, span=Span.OFFSETS, end_offset=9).arguments(dry_run=False)
    assert resume_arguments("/r", asked.source, asked.target, rate=0) == [
        "copy", "--resume", "/r", "--from", "prod:9876", "--to-store", "/s", "--source-details", "--control",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": CopyEnd("")},
        {"target": CopyEnd("")},
        {"target": CopyEnd("prod:9876")},
        {"topics": " , "},
        {"offsets": True},
        {"span": Span.TIME},
    ],
)
def test_what_is_missing_is_said(wrong):
    assert CopyCommand(**ENDS | wrong).fault
    assert CopyCommand(**ENDS).fault == ""


# ---- the clusters ----


def test_home_is_the_store_of_the_broker_that_does_not_run_while_a_cluster_is_shown():
    ends = ends_of(Clusters(known=lambda: [AWAY, HOME, LOOKED_AT]), FakeSource(), "/own/store")
    assert [one.end for one in ends.sources] == [CopyEnd("prod:9876"), CopyEnd("other:9876")]
    assert (ends.source_at_first.cluster, ends.target_at_first.end) == (AWAY, CopyEnd("/data/home/store", is_store=True))
    assert "read-only" in ends.targets[2].refusal
    marked = ends_of(Clusters(known=lambda: [HOME, replace(AWAY, production=True)]), FakeSource(), "/own/store")
    assert "production" in marked.targets[1].refusal
    alone = ends_of(Clusters(known=lambda: [AWAY]), FakeSource(), "/own/store")
    assert alone.target_at_first.end == CopyEnd("/own/store", is_store=True)


def test_home_is_the_running_broker_while_it_is_shown():
    ends = ends_of(Clusters(known=lambda: [HOME, AWAY]), FakeSource(), "/own/store")
    assert (ends.source_at_first.cluster, ends.target_at_first.end) == (AWAY, CopyEnd(READY.name_server))
    source = FakeSource()
    source.read_only = True
    assert "read-only" in ends_of(Clusters(known=lambda: [HOME, AWAY]), source, "/own/store").target_at_first.refusal


# ---- the dialog ----


def test_what_is_copied_was_previewed_and_goes_on_after_a_stop(opened, child, settings):
    dialog = opened(AWAY, HOME)
    assert not dialog.go.isEnabled()
    dialog.preview_button.click()
    assert child.started[-1][:5] == ["copy", "--from", "prod:9876", "--to-store", "/data/home/store"]
    assert "--dry-run" in child.started[-1]
    child.error_read.emit("plan: 80 messages with 1,000 bytes")
    child.end()
    assert dialog.go.isEnabled()
    dialog.topics.setText("payments")
    assert not dialog.go.isEnabled()
    dialog.topics.setText("orders")
    dialog.go.click()
    assert "--control" in child.started[-1]
    child.error_read.emit("journal: /data/r.jsonl, 80 of 80 messages to send")
    assert settings.value(UNFINISHED_KEY) == "/data/r.jsonl"
    child.error_read.emit("progress: 20 copied, 60 left")
    assert dialog.job.share == 0.25
    dialog.pause_button.click()
    assert (dialog.pause_button.text(), child.told) == ("Go on", ["pause"])
    dialog.close_button.click()
    child.error_read.emit(
        "partial: 20 copied, 60 left; it was stopped; receipt: x; go on with: orbit copy --resume /data/r.jsonl"
    )
    child.end(130, cancelled=True)
    assert (dialog.job.state, dialog.last_button.isHidden()) == (JobState.CANCELLED, False)
    dialog.last_button.click()
    assert child.started[-1][:3] == ["copy", "--resume", "/data/r.jsonl"]
    child.error_read.emit("journal: /data/r.jsonl, 60 of 80 messages to send")
    child.error_read.emit("complete: 80 copied; receipt: /data/r.jsonl")
    child.end()
    assert settings.value(UNFINISHED_KEY) is None
    assert dialog.last_button.isHidden()


def test_a_target_that_is_only_looked_at_is_refused_and_can_be_previewed(opened, child):
    dialog = opened(HOME, AWAY, LOOKED_AT)
    dialog.target.setCurrentIndex(2)
    assert "read-only" in dialog.fault.text()
    dialog.preview()
    child.end()
    assert not dialog.go.isEnabled()
    dialog.resume("/data/r.jsonl")
    assert len(child.started) == 1


def test_keys_go_by_the_input_and_a_fault_of_theirs_is_said(opened, child):
    dialog = opened(AWAY, HOME, details=lambda _cluster, done, _failed: done('{"accessKey": "k"}'))
    dialog.preview()
    assert "--source-details" in child.started[-1]
    assert "--target-details" not in child.started[-1]
    assert child.told == ['{"accessKey": "k"}']
    child.end()
    locked = opened(AWAY, HOME, details=lambda _cluster, _done, failed: failed("the key store is locked"))
    locked.preview()
    assert (locked.fault.text(), len(child.started)) == ("the key store is locked", 1)
    assert locked.preview_button.isEnabled()


@pytest.mark.parametrize("answer", [0, 1], ids=["the keys", "a fault"])
@pytest.mark.parametrize("end", ["closed", "gone"])
def test_what_comes_after_the_dialog_was_closed_starts_nothing(opened, child, answer, end):
    asked = []
    dialog = opened(AWAY, HOME, details=lambda _cluster, *answers: asked.append(answers), goes=True)
    dialog.preview()
    if end == "closed":
        dialog.reject()
    dialog.deleteLater()
    if end == "gone":
        QCoreApplication.sendPostedEvents(dialog, QEvent.Type.DeferredDelete)
    asked[0][answer]("{}")
    for later in asked[1:]:
        later[answer]("{}")
    assert child.started == []


def test_only_the_bounds_of_the_chosen_span_are_shown(opened):
    dialog = opened(AWAY, HOME)
    for span, shown in (("all", ()), ("newest", ("newest",)), ("time", ("since", "until")), ("offsets", ("first_offset",))):
        dialog.span.setCurrentIndex(dialog.span.findData(span))
        hidden = {name for name in ("newest", "since", "until", "first_offset") if getattr(dialog, name).isHidden()}
        assert hidden == {"newest", "since", "until", "first_offset"} - set(shown)
    assert "Say from when" not in dialog.fault.text()


def test_the_action_opens_it_with_the_topic_that_is_looked_at(qtbot, theme, tmp_path):
    frame = Frame(tmp_path / "orbit.ini", theme, clusters=Clusters(known=lambda: [HOME, AWAY]))
    qtbot.addWidget(frame.window)
    frame.window.navigate("topics", topic="payments")
    assert frame.window.actions_known.run("broker.copy")
    dialog = frame.window.findChild(CopyDialog)
    assert (dialog.topics.text(), dialog.order().source.address) == ("payments", "prod:9876")
    dialog.reject()
    frame.window.close()
