"""Options of the worker. Uses no Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class WorkerArguments:
    store: Path
    name_server_port: int = 9876
    broker_port: int = 10911
    bind: str = "127.0.0.1"
    flush: str = "async"
    any_port: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    """RocketMQ key → text."""
    read_only: bool = False
    """Whether the window may change nothing."""
    files_only: bool = False
    """Whether no broker is started and the store is only read."""
    history_mib: int = 0
    """Size of the history on the disk; 0: the default."""
    connect: str = ""
    """Name servers of a cluster to attach to instead of running a broker; its history has a folder of its own."""
    kept_under: str = ""
    """Key of that cluster's data: see `gui.connections.cluster.Cluster`."""
    connect_details: str = field(default="", repr=False)
    """Keys, TLS and address map of that cluster, a line of JSON for the worker's input; empty: none."""

    def arguments(self) -> list[str]:
        """Arguments of ``main.py``."""
        if self.connect:
            details = ["--connect-details"] if self.connect_details else []
            return ["worker", "--connect", self.connect, *details, *self._flags()]
        ports = ["--ns-port", str(self.name_server_port), "--port", str(self.broker_port), "--bind", self.bind]
        settings = [word for key, value in self.settings.items() for word in ("--set", f"{key}={value}")]
        any_port = ["--any-port"] if self.any_port else []
        return ["worker", "--store", str(self.store), *ports, "--flush", self.flush, *any_port, *self._flags(), *settings]

    def _flags(self) -> list[str]:
        read_only = ["--read-only"] if self.read_only else []
        files_only = ["--files-only"] if self.files_only else []
        history = ["--history-mib", str(self.history_mib)] if self.history_mib else []
        return [*read_only, *files_only, *history]
