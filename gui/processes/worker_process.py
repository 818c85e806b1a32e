"""The worker process of the window: started, fed and ended through `QProcess`, without waiting."""

from __future__ import annotations

import contextlib
import signal
from collections import deque

from PySide6.QtCore import QObject, QProcess, QTimer, Signal

from broker_core.api import OrbitError, WorkerLostError
from gui.processes.child_process import SHORT_OF_MEMORY
from gui.processes.program import program
from gui.processes.worker_options import WorkerArguments
from gui.words.last_words import last_words
from monitoring.sources.base import EMBEDDED_NAME
from monitoring.sources.worker import WorkerSource

READ_SLICE_BYTES = 512 * 1024
"""Most bytes read of the worker in one turn of the GUI thread; the rest follows after input and painting."""
STOP_TIMEOUT_MS = 12_000
"""A stopping worker is killed after this time; the worker gives itself 10 s."""
ERROR_LINES_MAX = 20
ERROR_LINE_CHARACTERS_MAX = 500


class WorkerProcess(QObject):
    """Runs the worker and passes its output to a `WorkerSource`. GUI thread only; no call waits.

    Signals:
        started: The process runs; the broker is not ready yet (see the source's status).
        lost: The process ended by itself or did not start, with the reason (`OrbitError`).
        stopped: The process has ended because of `stop` or `restart`, or there was none to stop.
    """

    started = Signal()
    lost = Signal(object)
    stopped = Signal()

    def __init__(self, options: WorkerArguments, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.options = options
        self.source = WorkerSource(
            self,
            name=options.connect or EMBEDDED_NAME,
            connect_details=options.connect_details,
            kept_under=options.kept_under or options.connect,
        )
        self._process: QProcess | None = None
        self._error_lines: deque[str] = deque(maxlen=ERROR_LINES_MAX)
        self._stopping = False
        self._restarting = False
        self._kill_timer = QTimer(self, singleShot=True, interval=STOP_TIMEOUT_MS)
        self._kill_timer.timeout.connect(self.abort)
        self._rest_timer = QTimer(self, singleShot=True, interval=0)
        """Reads the remaining output a turn later."""
        self._rest_timer.timeout.connect(self._read_output)

    @property
    def is_running(self) -> bool:
        """Whether there is a process, ready or not."""
        return self._process is not None

    @property
    def pid(self) -> int | None:
        return (self._process.processId() or None) if self._process else None

    def start(self) -> None:
        """Start the worker; without effect when there is one."""
        if self._process is not None:
            return
        self._stopping = self._restarting = False
        self._error_lines.clear()
        process = program(self.options.arguments(), self)
        process.started.connect(self.started)
        process.readyReadStandardOutput.connect(self._read_output)
        process.readyReadStandardError.connect(self._read_errors)
        process.errorOccurred.connect(self._failed)
        process.finished.connect(self._finished)
        self._process = process
        self.source.worker_starting()
        process.start()
        if self.options.connect_details and process.isOpen():
            # The first input, and not on the command line, which others can read.
            process.write(f"{self.options.connect_details}\n".encode())

    def stop(self) -> None:
        """Stop the worker by closing its input. Emits `stopped` when it is gone, after 12 s at the latest."""
        self._restarting = False
        if self._process is None:
            self.stopped.emit()
        elif not self._stopping:
            self._stopping = True
            self._process.closeWriteChannel()
            self._kill_timer.start()

    def restart(self) -> None:
        """Stop the worker if there is one, then start it."""
        if self._process is None:
            self.start()
            return
        self.stop()
        self._restarting = True

    def send(self, data: bytes) -> None:
        """Send bytes to the worker; without effect when there is none or it is stopping."""
        if self._process is not None and data and not self._stopping:
            self._process.write(data)

    def abort(self) -> None:
        if self._process is not None:
            self._process.kill()

    def _read_output(self) -> None:
        process = self._process
        if process is None:
            return
        process.setReadChannel(QProcess.ProcessChannel.StandardOutput)
        data = process.read(READ_SLICE_BYTES).data()
        if data:
            self.source.received(bytes(data))
        if process.bytesAvailable():
            self._rest_timer.start()

    def _read_errors(self) -> None:
        if self._process is not None:
            text = bytes(self._process.readAllStandardError().data()).decode("utf-8", "replace")
            self._error_lines.extend(line[:ERROR_LINE_CHARACTERS_MAX] for line in text.splitlines() if line.strip())

    def _failed(self, error: QProcess.ProcessError) -> None:
        # `finished` follows all other errors.
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            text = self._process.errorString()
            self._ended(WorkerLostError(f"the broker process could not be started: {text}"))

    def _finished(self, exit_code: int, status: QProcess.ExitStatus) -> None:
        self._read_errors()
        while self._process is not None and self._process.bytesAvailable():
            self._read_output()
        self._ended(None if self._stopping else self._reason(exit_code, status))

    def _reason(self, exit_code: int, status: QProcess.ExitStatus) -> WorkerLostError:
        crashed = status == QProcess.ExitStatus.CrashExit
        how = _signal_text(exit_code) if crashed else f"ended by itself with exit code {exit_code}"
        words = last_words(self._error_lines)
        last = f". Its last words: {words}" if words else ""
        return WorkerLostError(
            f"the broker process {how}{last}. Restart it: what it has acknowledged is in the store",
            exit_code=exit_code,
            crashed=crashed,
            output="\n".join(self._error_lines),
        )

    def _ended(self, reason: OrbitError | None) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
        self._kill_timer.stop()
        restarting, self._restarting = self._restarting, False
        self.source.worker_ended(reason)
        if reason is None:
            self.stopped.emit()
        else:
            self.lost.emit(self.source.reason)
        if restarting:
            self.start()


def _signal_text(number: int) -> str:
    with contextlib.suppress(ValueError):
        name = signal.Signals(number).name
        return f"was killed by signal {number} ({name}){f', {SHORT_OF_MEMORY}' if name == 'SIGKILL' else ''}"
    return f"crashed (code {number})"
