"""`ConnectionProbe`: tries the steps to a cluster in a process of its own (`orbit doctor`), which can be cancelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QCoreApplication, QObject, Signal

from broker_core.outside import read_json
from gui.models.hops import ConnectionHop
from gui.operations.queries import call_at_end
from gui.processes.child_process import ChildEnd, ChildProcess

EXIT_CODES_OF_A_RESULT = (0, 1)
HOPS_MAX = 500


class ConnectionProbe(QObject):
    """One examination at a time; a new one, and the end of the owner, cancel the previous one. GUI thread only.

    Signals:
        changed: `hops` changed.
        ended: The last step was tried, or it could not go on (`fault`). Not after a cancel.
    """

    changed = Signal()
    ended = Signal()

    def __init__(self, parent: QObject, *, make_process: Callable[[QObject | None], ChildProcess] = ChildProcess) -> None:
        super().__init__(parent)
        self._make_process = make_process
        self._process: ChildProcess | None = None
        self.hops: list[ConnectionHop] = []
        self.fault = ""
        """Why it could not begin or continue; empty where the steps say everything."""
        call_at_end(parent, self.cancel)

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start(self, name_servers: str, details: str) -> None:
        """Try the way to a cluster; ``details``, secrets included, go to the child's input."""
        self.cancel()
        self.hops, self.fault = [], ""
        # Not a child of this object: a cancelled process takes a moment to end.
        process = self._process = self._make_process(QCoreApplication.instance())
        process.line_read.connect(lambda line: self._read(process, line))
        process.ended.connect(lambda end: self._ended(process, end))
        process.start(["doctor", "--ns", name_servers, "--connection-details", "--json"])
        process.tell(details)
        self.changed.emit()

    def cancel(self) -> None:
        """Cancel the examination; its steps stay."""
        process, self._process = self._process, None
        if process is not None:
            process.cancel()

    def _read(self, process: ChildProcess, line: str) -> None:
        if process is not self._process:
            return
        hop = _hop(line)
        if hop is None or len(self.hops) >= HOPS_MAX:
            return
        place = next((number for number, one in enumerate(self.hops) if _is_same(one, hop)), None)
        if place is None:
            self.hops = [*self.hops, hop]
        else:
            self.hops = [*self.hops[:place], hop, *self.hops[place + 1 :]]
        self.changed.emit()

    def _ended(self, process: ChildProcess, end: ChildEnd) -> None:
        process.deleteLater()
        if process is not self._process:
            return
        self._process = None
        if end.crashed or end.exit_code not in EXIT_CODES_OF_A_RESULT:
            self.fault = end.error_text.removeprefix("doctor: ")
            self.hops = [hop if hop.is_tried else replace(hop, fault=self.fault, is_tried=True) for hop in self.hops]
        self.changed.emit()
        self.ended.emit()


def _is_same(one: ConnectionHop, other: ConnectionHop) -> bool:
    return (one.name, one.address) == (other.name, other.address)


def _hop(line: str) -> ConnectionHop | None:
    """The step of a line; None where the child printed something else."""
    try:
        parts = read_json(line)
        return ConnectionHop(**parts)
    except (ValueError, TypeError):
        return None
