"""`RequestChain`: several requests to the broker one after another, as one answer that will come; `ActedAtOnce`: none."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from broker_core.api import AskBroker, BrokerAnswer, OrbitError, RemoteError
from gui.text import tr
from monitoring.sources.base import ClusterSource, Pending


class ActedAtOnce:
    """A `Pending` of something that was done when it was asked for."""

    def then(self, done: Callable[[None], None], failed: Callable[[OrbitError], None]) -> None:  # noqa: ARG002  as `Pending`
        """Tell so."""
        done(None)

    def cancel(self) -> None:
        """It is done."""


class RequestChain:
    """A `Pending` of the answers to all requests; it ends at the first refusal and says how many went before.

    Args:
        source: Who is asked.
        requests: In order.
    """

    def __init__(self, source: ClusterSource, requests: Sequence[AskBroker]) -> None:
        self._source = source
        self._requests = list(requests)
        self._answers: list[BrokerAnswer] = []
        self._open: Pending[BrokerAnswer] | None = None
        self._callbacks: tuple[Callable[[list[BrokerAnswer]], None], Callable[[OrbitError], None]] | None = None

    def then(self, done: Callable[[list[BrokerAnswer]], None], failed: Callable[[OrbitError], None]) -> None:
        """Begin, and set what is called at the end."""
        self._callbacks = (done, failed)
        self._next()

    def cancel(self) -> None:
        """Send no more; what was sent is carried out."""
        self._callbacks = None
        if self._open is not None:
            self._open.cancel()

    def _next(self) -> None:
        callbacks = self._callbacks
        if callbacks is None:
            return
        if len(self._answers) == len(self._requests):
            self._callbacks = None
            callbacks[0](self._answers)
            return
        self._open = self._source.ask_broker(self._requests[len(self._answers)])
        self._open.then(self._answered, self._refused)

    def _answered(self, answer: BrokerAnswer) -> None:
        self._answers.append(answer)
        self._next()

    def _refused(self, error: OrbitError) -> None:
        callbacks, self._callbacks = self._callbacks, None
        if callbacks is None:
            return
        done = len(self._answers)
        if done:
            words = tr(
                "{done} of {count} were done before: {reason}", done=done, count=len(self._requests), reason=error.message
            )
            error = RemoteError(words, **error.context)
        callbacks[1](error)
