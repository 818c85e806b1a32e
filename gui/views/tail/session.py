"""`TailSession`: one live tail after another in the broker process, each with one open question."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject

from broker_core.api import OrbitError
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.searches import ContinueFollow, EndFollow, Followed, FollowStarted, StartFollow
from gui.operations.queries import LatestQuery
from monitoring.sources.base import ClusterSource


@dataclass(slots=True)
class _Running:
    """The running tail. It outlives the page, whose end ends the tail."""

    source: ClusterSource
    follow_id: int = -1

    def end(self) -> None:
        """End the tail, if it runs."""
        follow_id, self.follow_id = self.follow_id, -1
        if follow_id >= 0:
            self.source.ask(EndFollow(follow_id)).then(_ignore, _ignore)


def _ignore(_answer: Done | OrbitError) -> None:
    """Do nothing with the answer."""


class TailSession(QObject):
    """Requests the next batch after the last one was shown, so that the broker process is never ahead of the window.

    Args:
        source: Where to follow.
        arrived: Called with each batch.
        failed: Called once when the tail cannot continue; it has ended then.
        parent: Its page; the tail ends with it.
    """

    def __init__(
        self, source: ClusterSource, arrived: Callable[[Followed], None], failed: Callable[[OrbitError], None], parent: QObject
    ) -> None:
        super().__init__(parent)
        self._source = source
        self._arrived = arrived
        self._failed = failed
        self._running = _Running(source)
        self._start: LatestQuery[FollowStarted] = LatestQuery(self)
        self._next: LatestQuery[Followed] = LatestQuery(self)
        self.position = -1
        """End of the newest batch; -1: no batch."""
        running = self._running
        parent.destroyed.connect(lambda: running.end())  # noqa: PLW0108  Qt holds a method's object weakly

    @property
    def is_running(self) -> bool:
        return self._running.follow_id >= 0

    def begin(self, query: StartFollow, begun: Callable[[], None], refused: Callable[[OrbitError], None]) -> None:
        """Follow this query; if it is refused, the running tail continues."""

        def started(answer: FollowStarted) -> None:
            self.end()
            self._running.follow_id = answer.follow_id
            self.position = answer.position
            begun()
            self._ask()

        self._start.ask(self._source.ask(query), started, refused)

    def end(self) -> None:
        """Stop."""
        self._next.cancel()
        self._running.end()

    def forget(self) -> None:
        """Drop the tail, which has ended with its broker process."""
        self._start.cancel()
        self._next.cancel()
        self._running.follow_id = -1
        self.position = -1

    def _ask(self) -> None:
        self._next.ask(self._source.ask(ContinueFollow(self._running.follow_id)), self._take, self._stop)

    def _take(self, followed: Followed) -> None:
        self.position = followed.position
        self._arrived(followed)
        if followed.follow_id == self._running.follow_id and not followed.is_over:
            self._ask()

    def _stop(self, error: OrbitError) -> None:
        self._running.follow_id = -1
        self._failed(error)
