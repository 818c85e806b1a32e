"""A child of the window that reports by lines: demo traffic, a report. Started, read and cancelled without waiting."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from broker_core.platform import process_groups
from gui.processes.program import program

CANCEL_GRACE_MS = 4_000
LINE_CHARACTERS_MAX = 64 * 1024
ERROR_LINES_MAX = 40
SHORT_OF_MEMORY = "as the system does where memory runs out"
_KILLED = 9


@dataclass(frozen=True, slots=True)
class ChildEnd:
    exit_code: int
    """Exit code, or the number of the signal when ``crashed``; -1 when it could not be started."""
    crashed: bool
    cancelled: bool
    error_lines: tuple[str, ...]
    """The last lines of its standard error."""

    @property
    def ok(self) -> bool:
        return self.exit_code == 0 and not self.crashed and not self.cancelled

    @property
    def error_text(self) -> str:
        """Error for the user: what killed it, its last error line, without the program's name, or the exit code."""
        if self.crashed and self.exit_code == _KILLED:
            return f"the process was killed by signal {_KILLED}, {SHORT_OF_MEMORY}"
        if self.error_lines:
            return self.error_lines[-1].removeprefix("orbit: ")
        return f"the process was killed by signal {self.exit_code}" if self.crashed else f"exit code {self.exit_code}"


class ChildProcess(QObject):
    """Runs ``main.py`` with some arguments. One run at a time; GUI thread only.

    With ``--parent-pipe`` among the arguments the child ends when its input ends, so also when the window is killed.

    Signals:
        line_read: One line (str) of its standard output, without the line end.
        error_read: The same of its standard error.
        ended: The process is gone (`ChildEnd`).
    """

    line_read = Signal(str)
    error_read = Signal(str)
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None, *, grace_ms: int = CANCEL_GRACE_MS) -> None:
        """Create without a child; a cancelled one has ``grace_ms`` to end by itself before its process group is killed."""
        super().__init__(parent)
        self._process: QProcess | None = None
        self._pid = 0
        self._cancelled = False
        self._output = _Lines()
        self._errors = _Lines()
        self._error_lines: deque[str] = deque(maxlen=ERROR_LINES_MAX)
        self._kill_timer = QTimer(self, singleShot=True, interval=grace_ms)
        self._kill_timer.timeout.connect(self._kill)

    @property
    def is_running(self) -> bool:
        return self._process is not None

    def start(self, arguments: Sequence[str], first_line: str = "") -> None:
        """Start the child, only when none runs. ``first_line`` is written to its input, which no other user can read."""
        assert self._process is None
        self._cancelled = False
        self._output, self._errors = _Lines(), _Lines()
        self._error_lines.clear()
        process = program(arguments, self)
        process.started.connect(self._remember_pid)
        process.readyReadStandardOutput.connect(self._read_output)
        process.readyReadStandardError.connect(self._read_errors)
        process.errorOccurred.connect(self._failed)
        process.finished.connect(self._finished)
        self._process = process
        process.start()
        if first_line and process.isOpen():
            self.tell(first_line)

    def cancel(self) -> None:
        """Send SIGTERM to the child's group; after a grace kill the group. Emits `ended` then."""
        if self._process is None or self._cancelled:
            return
        self._cancelled = True
        self._kill_timer.start()
        if not (self._pid and process_groups.ask_group_to_end(self._pid)):
            self._process.closeWriteChannel()
            self._process.terminate()

    def tell(self, line: str) -> None:
        if self._process is not None:
            self._process.write(f"{line}\n".encode())

    def _kill(self) -> None:
        if self._process is not None:
            self._kill_group()
            self._process.kill()

    def _remember_pid(self) -> None:
        if self._process is not None:
            self._pid = self._process.processId()

    def _kill_group(self) -> None:
        if self._pid:
            process_groups.kill_group(self._pid)

    def _read_output(self) -> None:
        if self._process is not None:
            for line in self._output.feed(bytes(self._process.readAllStandardOutput().data())):
                self.line_read.emit(line)

    def _read_errors(self) -> None:
        if self._process is not None:
            self._take_errors(self._errors.feed(bytes(self._process.readAllStandardError().data())))

    def _take_errors(self, lines: list[str]) -> None:
        self._error_lines.extend(lines)
        for line in lines:
            self.error_read.emit(line)

    def _failed(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            self._error_lines.append(self._process.errorString())
            self._end(-1, crashed=False)

    def _finished(self, exit_code: int, status: QProcess.ExitStatus) -> None:
        self._read_output()
        self._read_errors()
        self._take_errors(self._errors.rest())
        for line in self._output.rest():
            self.line_read.emit(line)
        if self._cancelled:
            # Its own children may be left; the group exists while it has members.
            self._kill_group()
        self._end(exit_code, crashed=status == QProcess.ExitStatus.CrashExit)

    def _end(self, exit_code: int, *, crashed: bool) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
        self._kill_timer.stop()
        self._pid = 0
        self.ended.emit(
            ChildEnd(exit_code=exit_code, crashed=crashed, cancelled=self._cancelled, error_lines=tuple(self._error_lines))
        )


class _Lines:
    """Splits bytes into lines of text; a too long line is cut."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > LINE_CHARACTERS_MAX:
            whole.append(self._rest)
            self._rest = b""
        return [line[:LINE_CHARACTERS_MAX].decode("utf-8", "replace").rstrip("\r") for line in whole]

    def rest(self) -> list[str]:
        rest, self._rest = self._rest, b""
        return [rest.decode("utf-8", "replace")] if rest else []
