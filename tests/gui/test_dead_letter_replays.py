"""Dead letters are sent again by a replay: what is asked of it, and what its receipt, its faults and its end mean."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QObject

from broker_core.api import QUEUES_OF_BROKER, OrbitError, RemoteError
from broker_core.worker.questions.stored_messages import MessageDetail, ReadMessage
from gui.models.queue_window import own_queue, shown_queue
from gui.operations.message_job import MessageJob
from gui.operations.tasks import TaskList, TaskState
from gui.views.dead_letters import replayed
from gui.views.dead_letters.replayed import LETTERS_FILE, ReplayedResend
from monitoring.dead_letters import dead_letter
from monitoring.letter_notes import RESENT, LetterNote
from monitoring.payload.listed import NO_MASK
from monitoring.resend_receipt import UNANSWERED
from monitoring.resending import Patch, ResendOrder, ResendOutcome, ResendTarget
from tests.gui.test_dead_letters import DeadSource
from tests.support.fake_child import FakeChild
from tests.support.fake_replay import FakeReplay
from tests.support.fake_shop import READY
from tests.support.fake_source import TAKEN_MS, Answers, fake_state

DETAILS = '{"access_key": "k", "secret_key": "s3cret"}'


class Letters(DeadSource):
    """Dead letters, of which some cannot be read."""

    unreadable: frozenset[int] = frozenset()

    def made_answers(self) -> Answers:
        made = super().made_answers()
        read = made[ReadMessage]
        away = RemoteError("the broker is away")
        return made | {ReadMessage: lambda one: away if one.physical_offset in self.unreadable else read(one)}


@pytest.fixture
def source():
    return Letters(fake_state())


@pytest.fixture
def letters(source):
    found: list[MessageDetail] = []
    for place in (256, 512, 768, 1_024):
        source.ask(ReadMessage(place)).then(found.append, found.append)
    return [dead_letter(detail, NO_MASK) for detail in found]


class Run:
    """One resend, and what it reported."""

    def __init__(self, source, letters, order: ResendOrder, *, folder: Path, child: FakeChild, production: str) -> None:
        self.owner = QObject()
        self.tasks = TaskList(self.owner)
        self.child, self.folder = child, folder
        self.notes: dict[str, LetterNote] = {}
        self.outcomes: list[ResendOutcome] = []
        self.ends: list[ResendOutcome | OrbitError] = []
        self.job = MessageJob(self.tasks, "Resend", self.owner, process=child)
        self.resend = ReplayedResend(
            source, self.job, folder, letters, order, production=production, sent=self.notes.update,
            ended=self.outcomes.append, owner=self.owner,
        )  # fmt: skip
        self.resend.then(self.ends.append, self.ends.append)


@pytest.fixture
def start(source, letters, tmp_path):
    runs: list[Run] = []

    def start(child=None, *, production: str = "", **asked) -> Run:
        order = ResendOrder(**{"rate": 1_000, "failures_max": 2, **asked})
        folder = tmp_path / f"replay-{len(runs)}"
        runs.append(Run(source, letters, order, folder=folder, child=child or FakeReplay(source), production=production))
        return runs[-1]

    return start


def ids(letters) -> tuple[str, ...]:
    return tuple(letter.offset_message_id for letter in letters)


def options(line: list[str]) -> dict[str, str]:
    """Each option with the word behind it."""
    return {word: following for word, following in zip(line, [*line[1:], ""], strict=True) if word.startswith("--")}


def test_the_replay_is_asked_for_what_was_chosen(start, qtbot):
    run = start(FakeChild(), rate=20, failures_max=3)
    qtbot.waitUntil(lambda: bool(run.child.started))
    ((command, *line),) = run.child.started
    found = options(line)
    assert command == "replay"
    asked = {
        "--from-file": str(run.folder / LETTERS_FILE), "--to-group": "stock-worker", "--to-ns": READY.name_server,
        "--rate": "20", "--failures-max": "3", "--journal": str(run.folder),
    }  # fmt: skip
    assert {name: found[name] for name in asked} == asked
    assert {"--one-by-one", "--any-queue", "--born-now", "--without-delay", "--control"} <= found.keys()
    assert not {"--production", "--connection-details", "--new-ids"} & found.keys()


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"target": ResendTarget.TOPIC}, ["--to-origin"]),
        ({"target": ResendTarget.OTHER, "topic": "orders-repaired"}, ["--to", "orders-repaired"]),
    ],
)
def test_the_target_is_one_of_a_replay(start, qtbot, asked, words):
    run = start(FakeChild(), **asked)
    qtbot.waitUntil(lambda: bool(run.child.started))
    (line,) = run.child.started
    assert line[line.index(words[0]) :][: len(words)] == words
    assert "--to-group" not in line


def test_the_keys_of_a_connection_go_to_the_input_and_the_production_name_onto_the_line(start, source, qtbot):
    source.connect_details = DETAILS
    run = start(FakeChild(), production="shop")
    qtbot.waitUntil(lambda: bool(run.child.started))
    (line,) = run.child.started
    assert "--connection-details" in line
    assert line[line.index("--production") + 1] == "shop"
    assert run.child.told == [DETAILS]
    assert "s3cret" not in " ".join(line)


def test_the_file_holds_the_bodies_with_their_change_and_is_nobodys_else(start, qtbot, letters):
    run = start(FakeChild(), patch=Patch(of=letters[0].offset_message_id, written="repaired"))
    qtbot.waitUntil(lambda: bool(run.child.started))
    rows = [json.loads(line) for line in (run.folder / LETTERS_FILE).read_text(encoding="utf-8").splitlines()]
    assert [row["offsetMsgId"] for row in rows] == list(ids(letters))
    assert run.folder.stat().st_mode & 0o077 == 0
    run.child.end(2, error="orbit replay: there is no topic")
    qtbot.waitUntil(lambda: bool(run.ends))
    assert not run.folder.exists(), "nothing of it is left where no replay began"


def test_what_was_sent_is_noted_and_the_journal_stays(start, qtbot, letters):
    run = start()
    qtbot.waitUntil(lambda: bool(run.ends))
    assert run.ends == run.outcomes == [ResendOutcome(sent=ids(letters))]
    assert run.notes[letters[0].offset_message_id] == LetterNote(RESENT, "", "%RETRY%stock-worker", 0, 4_242, TAKEN_MS)
    assert run.notes.keys() == set(ids(letters))
    assert {path.name for path in run.folder.iterdir()} == {"plan.json", "messages.spool", "messages.index", "receipt.jsonl"}


def test_a_letter_that_cannot_be_read_is_refused_and_the_others_are_sent(start, source, letters, qtbot):
    source.unreadable = frozenset({512})
    run = start()
    qtbot.waitUntil(lambda: bool(run.ends))
    (outcome,) = run.ends
    assert outcome.refused == ((ids(letters)[1], "the broker is away"),)
    assert outcome.sent == (ids(letters)[0], *ids(letters)[2:])


def test_letters_that_cannot_be_read_one_after_another_end_it_before_anything_is_sent(start, source, letters, qtbot):
    source.unreadable = frozenset({512, 768})
    run = start(FakeChild())
    qtbot.waitUntil(lambda: bool(run.ends))
    assert run.child.started == []
    (error,) = run.ends
    assert error.message == "0 sent again, 4 not: the broker is away"
    (outcome,) = run.outcomes
    assert [letter for letter, _reason in outcome.refused] == list(ids(letters)[1:3])
    assert outcome.left == (ids(letters)[0], ids(letters)[3])


def test_what_the_command_refuses_is_the_reason(start, letters, qtbot):
    run = start(FakeChild())
    qtbot.waitUntil(lambda: bool(run.child.started))
    run.child.error_read.emit("orbit replay: h has no topic x: create it first. Nothing was sent")
    run.child.end(2)
    qtbot.waitUntil(lambda: bool(run.ends))
    assert run.ends[0].message == "0 sent again, 4 not: h has no topic x: create it first. Nothing was sent"
    assert run.outcomes == [ResendOutcome(left=ids(letters))]


def test_after_a_crash_of_the_replay_only_what_was_on_its_way_is_in_doubt(start, letters, qtbot):
    run = start(FakeChild())
    qtbot.waitUntil(lambda: bool(run.child.started))
    place = {"topic": "t", "broker": "a", "queueId": 0, "queueOffset": 7, "sentAt": TAKEN_MS}
    lines = [{"handed": 1}, {"number": 0, "status": "sent", **place}, {"handed": 2}]
    (run.folder / "receipt.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    run.child.end(9, crashed=True)
    qtbot.waitUntil(lambda: bool(run.ends))
    assert run.outcomes == [ResendOutcome((ids(letters)[0],), (), ((ids(letters)[1], UNANSWERED),), ids(letters)[2:])]
    assert isinstance(run.ends[0], RemoteError)
    assert list(run.notes) == [ids(letters)[0]]


def test_a_receipt_that_cannot_be_read_leaves_all_in_doubt(start, letters, qtbot):
    run = start(FakeChild())
    qtbot.waitUntil(lambda: bool(run.child.started))
    (run.folder / "receipt.jsonl").mkdir()
    run.child.end(0)
    qtbot.waitUntil(lambda: bool(run.ends))
    (outcome,) = run.outcomes
    assert [letter for letter, _reason in outcome.doubtful] == list(ids(letters))


def test_notes_come_while_it_runs(start, qtbot):
    run = start(rate=1)
    progress: list[int] = []
    run.resend.progressed.connect(progress.append)
    qtbot.waitUntil(lambda: bool(run.child.started))
    run.child.send_next()
    qtbot.waitUntil(lambda: bool(progress))
    assert (len(run.notes), run.ends) == (progress[-1], [])
    run.resend.stop()
    qtbot.waitUntil(lambda: bool(run.ends))


@pytest.mark.parametrize("by_task", [True, False])
def test_a_resend_that_is_ended_by_hand_leaves_the_rest_without_an_error(start, letters, qtbot, by_task):
    run = start(rate=1)
    qtbot.waitUntil(lambda: bool(run.child.started))
    run.child.send_next()
    (task,) = run.tasks.running
    if by_task:
        task.cancel()
    else:
        run.resend.stop()
    qtbot.waitUntil(lambda: bool(run.ends))
    assert run.ends == [ResendOutcome((ids(letters)[0],), left=ids(letters)[1:])]
    assert task.state is TaskState.CANCELLED


def test_a_stop_while_letters_are_read_sends_nothing(start, letters, qtbot):
    run = start(FakeChild())
    run.resend.stop()
    qtbot.waitUntil(lambda: bool(run.ends))
    assert (run.child.started, run.ends) == ([], [ResendOutcome(left=ids(letters))])


def test_it_is_paused_from_the_list_of_tasks(start, qtbot):
    run = start(FakeChild())
    qtbot.waitUntil(lambda: bool(run.child.started))
    (task,) = run.tasks.running
    task.pausing.pause()
    task.pausing.go_on()
    assert run.child.told == ["pause", "resume"]


def test_only_the_newest_journals_of_resends_are_kept(start, tmp_path, qtbot, monkeypatch):
    monkeypatch.setattr(replayed, "RESENDS_KEPT", 2)
    for name in ("20260101-000000-resend-a", "20260102-000000-resend-b", "20260103-000000-resend-c", "20250101-000000"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "plan.json").write_text("{}", encoding="utf-8")
    run = start()
    qtbot.waitUntil(lambda: bool(run.ends))
    kept = {path.name for path in tmp_path.iterdir()} - {run.folder.name}
    assert kept == {"20260102-000000-resend-b", "20260103-000000-resend-c", "20250101-000000"}


def test_queues_of_several_brokers_are_numbered_as_in_the_window():
    state = fake_state()
    several = replace(state, catalog=replace(state.catalog, brokers=["broker-a", "broker-b"]))
    assert shown_queue(several, "broker-b", 3) == QUEUES_OF_BROKER + 3
    assert own_queue(several, QUEUES_OF_BROKER + 3, "") == ("broker-b", 3)
    assert [shown_queue(one, "broker-a", 3) for one in (several, state, None)] == [3, 3, 3]
