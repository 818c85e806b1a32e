"""`ClusterSource`: the one interface through which pages see a cluster.

No page knows whether the cluster is an embedded broker or an attached one. This module uses no Qt, no process and no socket.
Callbacks run on the thread that feeds the source (the GUI thread in the console) and must return quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    # Needed for types only, and slow to import: the frame of the window is on screen before them.
    from broker_core.api import OrbitError
    from broker_core.worker.questions.figures import Occurred
    from broker_core.worker.questions.lifecycle import Ready
    from broker_core.worker.questions.question import Question
    from monitoring.state import ClusterState

EMBEDDED_NAME = "Embedded"
"""`ClusterSource.name` of an embedded broker; that of an attached cluster is its name servers."""

T_co = TypeVar("T_co", covariant=True)
_A = TypeVar("_A")


class SourceStatus(Enum):
    STARTING = "starting"
    READY = "ready"
    LOST = "lost"
    STOPPED = "stopped"


class Pending(Protocol[T_co]):
    """A pending answer. Exactly one of the two callbacks of ``then`` is called, unless it is cancelled first."""

    def then(self, done: Callable[[T_co], None], failed: Callable[[OrbitError], None]) -> None:
        """Set the callbacks for the answer and the error; called at once if it has arrived."""

    def cancel(self) -> None:
        """Discard the answer; neither callback is called afterwards."""


class ClusterListener(Protocol):
    """Reports that a source makes by itself."""

    def status_changed(self, status: SourceStatus, reason: OrbitError | None) -> None: ...

    def stage_changed(self, text: str, done: int, total: int) -> None: ...

    def state_changed(self, state: ClusterState) -> None:
        """New figures, about ten times a second. ``state`` is immutable; arrays must not be written."""

    def occurred(self, event: Occurred) -> None: ...


class ClusterSource(Protocol):
    """A cluster to watch and to act on."""

    @property
    def name(self) -> str: ...

    @property
    def kept_under(self) -> str:
        """Key of an attached cluster's own settings; empty for the embedded broker."""

    @property
    def connect_details(self) -> str:
        """Connection details for other processes: JSON with keys, for their standard input only; empty if not needed."""

    @property
    def status(self) -> SourceStatus: ...

    @property
    def reason(self) -> OrbitError | None:
        """Why the cluster was lost, in the status LOST."""

    @property
    def read_only(self) -> bool:
        """Whether this connection may only look: everything that acts fails with `ReadOnlyConnectionError`."""

    @property
    def ready(self) -> Ready | None:
        """Addresses and names, once known."""

    @property
    def state(self) -> ClusterState | None:
        """The newest figures, once known."""

    def add_listener(self, listener: ClusterListener) -> None: ...

    def remove_listener(self, listener: ClusterListener) -> None: ...

    def ask(self, question: Question[_A]) -> Pending[_A]:
        """Ask a question or send a command; the answer has the type that the question names.

        Fails as the question's handler does, with `ReadOnlyConnectionError` for a command if `read_only` is set, and with
        `UsageError` if this kind of cluster cannot answer it (`broker_core.worker.refusals`).
        """
