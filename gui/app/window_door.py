"""One window for a store or a connection: a second start brings the first to the front and hands its link over.

The window listens on a local socket (`broker_core.platform.local_sockets`) in a folder of the user's own
(`gui.app.runtime_folder`); its name follows from what it shows (`Cluster.place`). Where no folder is safe, every start opens a
window. The socket carries only a link, which shows a page and changes nothing (`gui.main_window.links`).
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QCryptographicHash, QObject, QSocketNotifier, Signal

from broker_core.platform import local_sockets
from broker_core.platform.local_sockets import LocalEnd
from gui.app.runtime_folder import runtime_folder
from gui.main_window.links import LINK_CHARACTERS_MAX

REACH_TIMEOUT_S = 2.0
"""A window that does not answer within this time is busy or stuck; the start continues by itself."""
ANSWER = b"shown\n"
_DIGITS = 16
_WORDS_BYTES_MAX = 4 * LINK_CHARACTERS_MAX + 64
"""A link in UTF-8 and the greeting."""


def socket_path(place: str) -> Path | None:
    """Path of the socket on which the window of a cluster listens; None where there is no safe place for one."""
    # Qt's hash, which is loaded: importing Python's would delay the first frame.
    digest = QCryptographicHash.hash(place.encode(), QCryptographicHash.Algorithm.Sha256).toHex().toStdString()[:_DIGITS]
    name = f"window-{digest}.sock"
    folder = runtime_folder(len(name))
    return None if folder is None else folder / name


def reach_window(place: str, link: str) -> bool:
    """Ask the window of a cluster to come to the front and follow a link; returns whether there is one."""
    path = socket_path(place)
    if path is None or not path.exists():
        return False
    try:
        end = local_sockets.connect_local(path, REACH_TIMEOUT_S)
        with end.socket as line:
            line.sendall(end.greeting + f"{link}\n".encode())
            return line.recv(len(ANSWER)) == ANSWER
    except OSError:
        return False


@dataclass(slots=True)
class _Caller:
    """A second start that is connected, and what it has sent."""

    line: socket.socket
    words: bytes = b""


class WindowDoor(QObject):
    """Listens for second starts. GUI thread only; no call waits.

    Signals:
        asked: Orbit was started again; carries a link, or an empty text.
    """

    asked = Signal(str)

    def __init__(self, place: str, parent: QObject) -> None:
        super().__init__(parent)
        self._path = socket_path(place)
        self._end = None if self._path is None else _listen(self._path)
        self._callers: dict[QSocketNotifier, _Caller] = {}
        if self._end is not None:
            self._notifier = QSocketNotifier(self._end.socket.fileno(), QSocketNotifier.Type.Read, self)
            self._notifier.activated.connect(self._accept)

    def close(self) -> None:
        if self._end is None or self._path is None:
            return
        self._notifier.setEnabled(False)
        for notifier in list(self._callers):
            self._let_go(notifier)
        self._end.socket.close()
        self._end = None
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        assert self._end is not None
        try:
            line, _ = self._end.socket.accept()
        except OSError:
            return
        line.setblocking(False)
        notifier = QSocketNotifier(line.fileno(), QSocketNotifier.Type.Read, self)
        self._callers[notifier] = _Caller(line)
        notifier.activated.connect(lambda: self._read(notifier))

    def _read(self, notifier: QSocketNotifier) -> None:
        caller = self._callers.get(notifier)
        if caller is None or self._end is None:
            return
        greeting = self._end.greeting
        try:
            data = caller.line.recv(_WORDS_BYTES_MAX)
            caller.words += data
            if data and b"\n" not in data and len(caller.words) <= _WORDS_BYTES_MAX:
                return  # the rest follows
            is_whole = caller.words.startswith(greeting) and caller.words.endswith(b"\n")
            if is_whole:
                caller.line.send(ANSWER)
        except OSError:
            is_whole = False
        self._let_go(notifier)
        if is_whole:
            self.asked.emit(caller.words[len(greeting) :].decode("utf-8", "replace").strip())

    def _let_go(self, notifier: QSocketNotifier) -> None:
        notifier.setEnabled(False)
        notifier.deleteLater()
        self._callers.pop(notifier).line.close()


def _listen(path: Path) -> LocalEnd | None:
    """A listening socket; None where the system refuses one, or another window listens."""
    try:
        if _answers(path):
            return None
        path.unlink(missing_ok=True)
        made = local_sockets.listen_local(path)
    except OSError:
        return None
    made.socket.setblocking(False)
    return made


def _answers(path: Path) -> bool:
    try:
        local_sockets.connect_local(path, REACH_TIMEOUT_S).socket.close()
    except OSError:
        return False
    return True
