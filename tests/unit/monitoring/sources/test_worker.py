import dataclasses
import gc
import weakref
from array import array

import pytest

from broker_core.api import (
    Cancel,
    CodecError,
    Failure,
    OrbitError,
    PortInUseError,
    ReadOnlyConnectionError,
    Reply,
    Request,
    StoreLockedError,
    WorkerError,
    WorkerLostError,
    WorkerMessage,
)
from broker_core.worker.channel.codec import decode_window_message, encode_message
from broker_core.worker.channel.framing import FrameReader
from broker_core.worker.questions.administration import ListMembers, Members
from broker_core.worker.questions.figures import Catalog, Occurred, Snapshot
from broker_core.worker.questions.lifecycle import Done, Fatal, Ready, Stage
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, SearchHits, SearchStarted, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue, FindOffset, FoundOffset
from broker_core.worker.questions.transactions import AbortAtomic
from monitoring.sources.base import SourceStatus
from monitoring.sources.worker import WorkerSource
from monitoring.state import ClusterState

READY = Ready("127.0.0.1:9876", "127.0.0.1:10911", "store", "DefaultCluster", "broker-a", 1, 2)


class Wire:
    """A transport that keeps what is sent."""

    def __init__(self) -> None:
        self.reader = FrameReader()
        self.sent: list[object] = []
        self.aborted = False

    def send(self, data: bytes) -> None:
        self.sent += [decode_window_message(payload) for payload in self.reader.feed(data)]

    def abort(self) -> None:
        self.aborted = True


class Listener:
    def __init__(self) -> None:
        self.heard: list[object] = []

    def status_changed(self, status: SourceStatus, reason: OrbitError | None) -> None:
        self.heard.append((status, reason))

    def stage_changed(self, text: str, done: int, total: int) -> None:
        self.heard.append((text, done, total))

    def state_changed(self, state: ClusterState) -> None:
        self.heard.append(state)

    def occurred(self, event: Occurred) -> None:
        self.heard.append(event)


class Scene:
    def __init__(self) -> None:
        self.wire = Wire()
        self.source = WorkerSource(self.wire)
        self.listener = Listener()
        self.source.add_listener(self.listener)
        self.answers: list[object] = []

    def hear(self, *messages: WorkerMessage) -> None:
        self.source.received(b"".join(encode_message(message) for message in messages))

    def start(self) -> None:
        self.source.worker_starting()
        self.hear(READY)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_source_starts_and_becomes_ready(scene: Scene):
    assert scene.source.status is SourceStatus.STOPPED
    scene.source.worker_starting()
    scene.hear(Stage("recovering", 1, 10), READY)
    assert scene.listener.heard == [(SourceStatus.STARTING, None), ("recovering", 1, 10), (SourceStatus.READY, None)]
    assert scene.source.ready == READY


def test_a_query_is_sent_and_its_answer_delivered(scene: Scene):
    scene.start()
    scene.source.ask(FindOffset("orders", 3, 99)).then(scene.answers.append, scene.answers.append)
    request = scene.wire.sent[0]
    assert isinstance(request, Request)
    scene.hear(Reply(request.request_id, FoundOffset(17)))
    assert scene.answers == [FoundOffset(17)]


def test_an_answer_that_came_before_then_is_delivered_by_it(scene: Scene):
    scene.start()
    pending = scene.source.ask(BrowseQueue("orders", 0, 5, 10))
    request = scene.wire.sent[0]
    assert isinstance(request, Request)
    assert request.body == BrowseQueue("orders", 0, 5, 10)
    scene.hear(Failure(request.request_id, "UsageError", "no such topic", {"topic": "orders"}))
    pending.then(scene.answers.append, scene.answers.append)
    (error,) = scene.answers
    assert isinstance(error, OrbitError)
    assert (error.kind, error.message, error.context) == ("UsageError", "no such topic", {"topic": "orders"})


def test_a_cancelled_query_is_told_to_the_worker_and_never_answered(scene: Scene):
    scene.start()
    pending = scene.source.ask(ListMembers("billing"))
    pending.then(scene.answers.append, scene.answers.append)
    pending.cancel()
    pending.cancel()
    request = scene.wire.sent[0]
    assert isinstance(request, Request)
    assert scene.wire.sent[1:] == [Cancel(request.request_id)]
    scene.hear(Reply(request.request_id, Done()))
    scene.source.worker_ended(None)
    assert scene.answers == []


def test_an_answer_given_up_by_the_one_that_came_with_it_is_dropped(scene: Scene):
    scene.start()
    first, second = scene.source.ask(ListMembers("billing")), scene.source.ask(ListMembers("shipping"))
    second.then(scene.answers.append, scene.answers.append)
    first.then(lambda _members: second.cancel(), scene.answers.append)
    ids = [request.request_id for request in scene.wire.sent if isinstance(request, Request)]
    members = Members([], [], [], [], [], [])
    scene.source.received(b"".join(encode_message(Reply(number, members)) for number in ids))
    assert scene.answers == []


@pytest.mark.parametrize("end", ["answered", "failed", "given up"])
def test_a_question_that_is_over_goes_at_once_though_whoever_asked_knows_it(scene: Scene, end: str):
    class Asker:
        """Knows the question, and the question knows it."""

        def __init__(self) -> None:
            self.pending = scene.source.ask(FindOffset("orders", 3, 99))
            self.pending.then(self.take, self.take)

        def take(self, _answer: object) -> None:
            assert end != "given up"

    scene.start()
    asker = Asker()
    gone = weakref.ref(asker.pending)
    request = scene.wire.sent[0]
    assert isinstance(request, Request)
    gc.disable()  # it would free a ring of both
    try:
        if end == "given up":
            asker.pending.cancel()
        else:
            failure = Failure(request.request_id, "UsageError", "no such topic", {})
            scene.hear(Reply(request.request_id, FoundOffset(17)) if end == "answered" else failure)
        del asker
        assert gone() is None
    finally:
        gc.enable()


def test_an_answer_of_another_kind_is_an_error(scene: Scene):
    scene.start()
    scene.source.ask(ListMembers("billing")).then(scene.answers.append, scene.answers.append)
    request = scene.wire.sent[0]
    assert isinstance(request, Request)
    scene.hear(Reply(request.request_id, Done()))
    assert isinstance(scene.answers[0], CodecError)


def test_queries_fail_at_once_while_the_broker_is_not_ready(scene: Scene):
    scene.source.worker_starting()
    scene.source.ask(ListMembers("billing")).then(scene.answers.append, scene.answers.append)
    assert isinstance(scene.answers[0], WorkerError)
    assert scene.wire.sent == []


def test_a_lost_worker_fails_what_was_asked_and_says_why(scene: Scene):
    scene.start()
    scene.source.ask(ListMembers("billing")).then(scene.answers.append, scene.answers.append)
    reason = WorkerLostError("killed by signal 9")
    scene.source.worker_ended(reason)
    assert scene.answers == [reason]
    assert scene.source.status is SourceStatus.LOST
    assert scene.listener.heard[-1] == (SourceStatus.LOST, reason)


def test_what_the_worker_said_last_counts_more_than_how_it_ended(scene: Scene):
    scene.source.worker_starting()
    scene.hear(Fatal("StoreLockedError", "process 4711 has the store open", {"pid": 4711}))
    scene.source.worker_ended(WorkerLostError("exit code 3"))
    reason = scene.source.reason
    assert isinstance(reason, StoreLockedError)
    assert reason.context == {"pid": 4711}


def test_a_worker_that_was_asked_to_stop_is_not_lost(scene: Scene):
    scene.start()
    scene.source.worker_ended(None)
    assert (scene.source.status, scene.source.reason) == (SourceStatus.STOPPED, None)


def test_a_worker_that_cannot_be_understood_is_given_up(scene: Scene):
    scene.start()
    scene.source.received(b"Traceback (most recent call last)")
    assert scene.wire.aborted
    scene.source.received(encode_message(READY))
    scene.source.worker_ended(WorkerLostError("killed by signal 9"))
    assert isinstance(scene.source.reason, CodecError)


def test_a_restart_begins_with_a_clean_stream_and_keeps_the_last_figures(scene: Scene):
    scene.start()
    feed_state(scene, taken_ms=5_000)
    scene.source.received(b"\x00\x00")  # torn by the kill
    scene.source.worker_ended(WorkerLostError("gone"))
    assert scene.source.state is not None
    scene.start()
    assert scene.source.status is SourceStatus.READY
    assert scene.source.reason is None
    feed_state(scene, taken_ms=9_000)
    assert scene.source.state.taken_ms == 9_000
    assert scene.source.history.series("totals.connections").window(0, 10**9, 10)[1].tolist() == [3, 3]


def test_states_and_events_reach_every_listener_until_it_leaves(scene: Scene):
    scene.start()
    second = Listener()
    scene.source.add_listener(second)
    scene.hear(Occurred("topic_created", "orders", 1, "orders"))
    feed_state(scene, taken_ms=5_000)
    scene.source.remove_listener(second)
    feed_state(scene, taken_ms=6_000)
    assert second.heard[0] == Occurred("topic_created", "orders", 1, "orders")
    assert [state.taken_ms for state in second.heard if isinstance(state, ClusterState)] == [5_000]
    assert scene.source.state is not None
    assert scene.source.state.taken_ms == 6_000


def test_a_startup_fault_becomes_the_class_it_was(scene: Scene):
    scene.source.worker_starting()
    scene.hear(Fatal("PortInUseError", "9876 is taken", {"port": 9876}))
    scene.source.worker_ended(WorkerLostError("exit code 4"))
    assert isinstance(scene.source.reason, PortInUseError)


def feed_state(scene: Scene, *, taken_ms: int) -> None:
    def column(*values: int) -> bytes:
        return array("q", values).tobytes()

    scene.hear(
        Catalog(1, ["orders"], [1], [1], [6], [False], [0], [0], [], [], [], []),
        Snapshot(
            1, taken_ms,
            {"min_offset": column(0), "max_offset": column(5), "last_store_ms": column(taken_ms)},
            {"put_messages": column(5), "put_bytes": column(50), "got_messages": column(0), "got_bytes": column(0)},
            {"members": b"", "got_messages": b"", "consume_failed": b""},
            {"offset": b"", "next_store_ms": b"", "owner": b""},
            [], {"connections": 3},
        ),
    )  # fmt: skip


def test_a_search_is_begun_continued_and_given_up(scene: Scene):
    scene.start()
    hits = SearchHits(4, *([[]] * 11), scanned=9, total=9, found=0, is_over=True, reasons=["it was cancelled"])
    steps = (
        (scene.source.ask(StartSearch("size > 0", 5)), StartSearch("size > 0", 5), SearchStarted(4, ["scan of the log"], 9)),
        (scene.source.ask(ContinueSearch(4)), ContinueSearch(4), hits),
        (scene.source.ask(EndSearch(4)), EndSearch(4), Done()),
    )
    for (pending, query, answer), request in zip(steps, scene.wire.sent, strict=True):
        assert isinstance(request, Request)
        assert request.body == query
        pending.then(scene.answers.append, scene.answers.append)  # type: ignore[attr-defined]  of three kinds
        scene.hear(Reply(request.request_id, answer))
    assert scene.answers == [answer for _, _, answer in steps]


def test_a_read_only_source_refuses_to_act_before_it_asks_the_worker(scene: Scene):
    scene.source = WorkerSource(scene.wire, read_only=True)
    scene.start()
    scene.source.ask(EndSearch(1)).then(scene.answers.append, scene.answers.append)
    scene.source.ask(AbortAtomic("shop")).then(scene.answers.append, scene.answers.append)
    assert [type(message.body) for message in scene.wire.sent if isinstance(message, Request)] == [EndSearch]
    (answer,) = scene.answers
    assert isinstance(answer, ReadOnlyConnectionError)


def test_a_worker_that_is_read_only_makes_its_source_so(scene: Scene):
    scene.start()
    assert not scene.source.read_only
    scene.hear(dataclasses.replace(READY, read_only=True))
    assert scene.source.read_only
