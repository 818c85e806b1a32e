"""`WebhookPoster` posts to the web hook, one post at a time, on its own thread, with a bounded number of attempts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass

from broker_core.api import OrbitError
from monitoring.webhook import ATTEMPTS_MAX, RETRY_MS, WebhookResult, post

logger = logging.getLogger(__name__)

END_SECONDS = 1.0
Send = Callable[[str, bytes], WebhookResult]


@dataclass(frozen=True, slots=True)
class PostOrder:
    url: str
    body: bytes
    change_id: int = -1
    """Number of the posted change; -1 for a test of the address."""


class WebhookPoster:
    """Lives as long as the alerts; the first post starts its thread.

    Args:
        orders: Returns the next post; None: nothing is pending. Called on the thread.
        ended: Called on the thread after each attempt, with whether it was the last one.
    """

    def __init__(
        self,
        orders: Callable[[], PostOrder | None],
        ended: Callable[[PostOrder, WebhookResult, bool], None],
        *,
        send: Send = post,
    ) -> None:
        self._orders = orders
        self._ended = ended
        self._send = send
        self._wanted = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    def wake(self) -> None:
        """Check for pending posts."""
        self._wanted.set()
        if self._thread is None and not self._closing.is_set():
            self._thread = threading.Thread(target=self._run, name="web-hook", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop. A running post is not waited for; the owner of the orders sends it again after the next start."""
        self._closing.set()
        self._wanted.set()
        if self._thread is not None:
            self._thread.join(END_SECONDS)

    # ---- the thread ----

    def _run(self) -> None:
        while not self._closing.is_set():
            self._wanted.wait()
            self._wanted.clear()
            try:
                self._tell_all()
            except Exception:
                logger.exception("the web hook was not told; it is tried again with the next alert")

    def _tell_all(self) -> None:
        while not self._closing.is_set():
            order = self._orders()
            if order is None:
                return
            self._tell(order)

    def _tell(self, order: PostOrder) -> None:
        for attempt in range(1, ATTEMPTS_MAX + 1):
            result = self._try(order)
            is_last = result.succeeded or not result.is_worth_a_retry or attempt == ATTEMPTS_MAX
            self._ended(order, result, is_last)
            if is_last or self._closing.wait(RETRY_MS[attempt - 1] / 1_000):
                return

    def _try(self, order: PostOrder) -> WebhookResult:
        try:
            return self._send(order.url, order.body)
        except OrbitError as error:
            return WebhookResult(-1, error.message, 0.0)
