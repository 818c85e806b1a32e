"""What the window starts its worker with. Knows no Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """What the worker is started with."""

    store: Path
    name_server_port: int = 9876
    broker_port: int = 10911
    bind: str = "127.0.0.1"
    flush: str = "async"
    any_port: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    """RocketMQ key → text."""
    read_only: bool = False
    """Whether the window may only look."""

    def arguments(self) -> list[str]:
        """The command line of the worker, behind ``main.py``."""
        ports = ["--ns-port", str(self.name_server_port), "--port", str(self.broker_port), "--bind", self.bind]
        settings = [word for key, value in self.settings.items() for word in ("--set", f"{key}={value}")]
        any_port = ["--any-port"] if self.any_port else []
        read_only = ["--read-only"] if self.read_only else []
        return ["worker", "--store", str(self.store), *ports, "--flush", self.flush, *any_port, *read_only, *settings]
