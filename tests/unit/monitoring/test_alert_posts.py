"""Telling the web hook, with a bounded number of attempts."""

import threading
from collections import deque

import pytest

from broker_core.api import UsageError
from monitoring import alert_posts
from monitoring.alert_posts import PostOrder, WebhookPoster
from monitoring.webhook import WebhookResult

DEADLINE_S = 90
OK = WebhookResult(200, "OK", 1.0)
BUSY = WebhookResult(503, "Service Unavailable", 1.0)
GONE = WebhookResult(404, "Not Found", 1.0)


class Desk:
    """Gives orders and takes down what became of them."""

    def __init__(self, send) -> None:
        self.orders: deque[PostOrder] = deque()
        self.ended: list[tuple[int, int, bool]] = []
        self.is_last = threading.Event()
        self.poster = WebhookPoster(self.next, self.end, send=send)

    def next(self) -> PostOrder | None:
        return self.orders.popleft() if self.orders else None

    def end(self, order: PostOrder, result: WebhookResult, is_last: bool) -> None:
        self.ended.append((order.change_id, result.status, is_last))
        if is_last and not self.orders:
            self.is_last.set()

    def tell(self, *numbers: int) -> None:
        self.orders += [PostOrder("http://127.0.0.1/", b"{}", number) for number in numbers]
        self.poster.wake()
        assert self.is_last.wait(DEADLINE_S)


@pytest.fixture
def make_desk(monkeypatch):
    monkeypatch.setattr(alert_posts, "RETRY_MS", (1, 1))
    made = []

    def make(send) -> Desk:
        made.append(Desk(send))
        return made[-1]

    yield make
    for desk in made:
        desk.poster.close()


def test_orders_are_told_one_after_the_other(make_desk):
    desk = make_desk(lambda _url, _body: OK)
    desk.tell(1, 2)
    assert desk.ended == [(1, 200, True), (2, 200, True)]


def test_trouble_is_tried_again_and_then_given_up(make_desk):
    desk = make_desk(lambda _url, _body: BUSY)
    desk.tell(1)
    assert desk.ended == [(1, 503, False), (1, 503, False), (1, 503, True)]


def test_a_refusal_is_not_tried_again(make_desk):
    desk = make_desk(lambda _url, _body: GONE)
    desk.tell(1)
    assert desk.ended == [(1, 404, True)]


def test_an_address_that_cannot_be_used_is_a_result(make_desk):
    def send(_url: str, _body: bytes) -> WebhookResult:
        raise UsageError("no address")

    desk = make_desk(send)
    desk.tell(1)
    assert [status for _number, status, _last in desk.ended] == [-1, -1, -1]


def test_a_fault_does_not_end_the_thread(make_desk, caplog):
    results = deque([OK])
    failed = threading.Event()

    def send(_url: str, _body: bytes) -> WebhookResult:
        if not failed.is_set():
            failed.set()
            raise ValueError("a fault")
        return results[0]

    desk = make_desk(send)
    desk.orders.append(PostOrder("http://127.0.0.1/", b"{}", 1))
    desk.poster.wake()
    assert failed.wait(DEADLINE_S)
    desk.tell(2)
    assert desk.ended == [(2, 200, True)]
    assert "the web hook was not told" in caplog.text


def test_an_end_between_attempts_leaves_the_order_open(make_desk, monkeypatch):
    monkeypatch.setattr(alert_posts, "RETRY_MS", (3_600_000, 1))
    tried = threading.Event()

    def send(_url: str, _body: bytes) -> WebhookResult:
        tried.set()
        return BUSY

    desk = make_desk(send)
    desk.orders.append(PostOrder("http://127.0.0.1/", b"{}", 1))
    desk.poster.wake()
    assert tried.wait(DEADLINE_S)
    desk.poster.close()
    assert desk.ended == [(1, 503, False)]


def test_a_poster_that_is_closed_begins_no_thread(make_desk):
    desk = make_desk(lambda _url, _body: OK)
    desk.poster.close()
    desk.orders.append(PostOrder("http://127.0.0.1/", b"{}", 1))
    desk.poster.wake()
    assert len(desk.orders) == 1
