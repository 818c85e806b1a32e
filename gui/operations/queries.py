"""`LatestQuery`: the one open request of a pane, cancelled when it is outdated; `call_at_end`: a call when an owner ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakMethod

from PySide6.QtCore import QObject

from broker_core.api import OrbitError
from monitoring.sources.base import Pending


def call_at_end(owner: QObject, method: Callable[[], None]) -> None:
    """Call ``method`` when Qt deletes ``owner``, unless Python has already freed the object of the method.

    Qt cannot call a method of a `QObject` that the garbage collector has cleared: PySide keeps the method's entry in the
    attributes of the object, which are gone by then, and raises ``AttributeError: Slot '…::' not found`` in Qt's loop. The
    collector clears an owner and its children in any order, but weak references first.
    """
    known = WeakMethod(method)

    def ended() -> None:
        call = known()
        if call is not None:
            call()

    owner.destroyed.connect(ended)


T = TypeVar("T")


class LatestQuery(QObject, Generic[T]):
    """Keeps at most one request open; the next request cancels it, and so does the end of the owner.

    Use one per pane: ``self._page_query.ask(source.ask(BrowseQueue(...)), self._show_page, self._show_error)``.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._pending: Pending[T] | None = None
        call_at_end(parent, self.cancel)

    @property
    def waiting(self) -> bool:
        return self._pending is not None

    def ask(self, pending: Pending[T], done: Callable[[T], None], failed: Callable[[OrbitError], None]) -> None:
        """Wait for ``pending`` instead of the previous request."""
        self.cancel()
        self._pending = pending

        def answered(value: T) -> None:
            if self._pending is pending:
                self._pending = None
                done(value)

        def refused(error: OrbitError) -> None:
            if self._pending is pending:
                self._pending = None
                failed(error)

        pending.then(answered, refused)

    def cancel(self) -> None:
        """Cancel the open request, if any."""
        pending, self._pending = self._pending, None
        if pending is not None:
            pending.cancel()
