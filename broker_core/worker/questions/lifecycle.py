"""Start, end and failure of the worker."""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.questions.question import Question, question


@dataclass(frozen=True, slots=True)
class Hello:
    """First message of the worker."""

    protocol_version: int
    pid: int
    orbit_version: str


@dataclass(frozen=True, slots=True)
class Stage:
    """Progress of a long step (opening, recovery, stopping). ``total`` 0 = unknown."""

    text: str
    done: int = 0
    total: int = 0


@dataclass(frozen=True, slots=True)
class Ready:
    """Name server and broker accept connections."""

    name_server: str
    broker: str
    store_directory: str
    cluster_name: str
    broker_name: str
    started_ms: int
    startup_ms: int
    notice: str = ""
    """A notice for the user, e.g. that another port was taken because 9876 is in use."""
    read_only: bool = False
    """Whether requests that act are refused (`broker_core.worker.questions.question`); clients are served as ever."""
    commit_log: str = ""
    """Directories of the commit log, joined by commas, where the store has not only its own."""
    has_store: bool = True
    """Whether ``store_directory`` holds the messages; that of an attached cluster holds its history alone."""
    own_access: str = field(default="", repr=False)
    """How commands that the window starts reach a broker that requires accounts or TLS: a line of details
    (`broker_core.cluster.details`) for their input alone. The keys are made at each start. Empty where none are needed.
    """
    grpc: str = ""
    """``host:port`` for SDKs of gRPC; empty where the broker has no such port, or it is not known."""

    @property
    def runs_broker(self) -> bool:
        """Whether a broker serves clients; else the files of a store are only read."""
        return bool(self.broker)


@dataclass(frozen=True, slots=True)
class Fatal:
    """The worker cannot start or go on; it ends after this."""

    kind: str
    message: str
    context: dict[str, str | int | float | bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Done:
    """The command was carried out."""


@question(acts=False)
class Shutdown(Question[Done]):
    """Stop cleanly, then end the worker."""
