"""One window for a store or a connection: a second start brings the first to the front and hands its link over.

The window listens on a socket of the user's own (`gui.app.runtime_folder`); its name follows from what it shows
(`Cluster.place`). Where the system has no such sockets, or no folder is safe, every start opens a window. The socket carries
only a link, which shows a page and changes nothing (`gui.main_window.links`).
"""

from __future__ import annotations

import socket
from pathlib import Path

from PySide6.QtCore import QCryptographicHash, QObject, QSocketNotifier, Signal

from gui.app.runtime_folder import runtime_folder
from gui.main_window.links import LINK_CHARACTERS_MAX

REACH_TIMEOUT_S = 2.0
"""A window that does not answer within this time is busy or stuck; the start continues by itself."""
ANSWER = b"shown\n"
_SUPPORTED = hasattr(socket, "AF_UNIX")
_DIGITS = 16


def socket_path(place: str) -> Path | None:
    """Path of the socket on which the window of a cluster listens; None where there is no safe place for one."""
    if not _SUPPORTED:
        return None
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
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(REACH_TIMEOUT_S)
            line.connect(str(path))
            line.sendall(f"{link}\n".encode())
            return line.recv(len(ANSWER)) == ANSWER
    except OSError:
        return False


class WindowDoor(QObject):
    """Listens for second starts. GUI thread only; no call waits.

    Signals:
        asked: Orbit was started again; carries a link, or an empty text.
    """

    asked = Signal(str)

    def __init__(self, place: str, parent: QObject) -> None:
        super().__init__(parent)
        self._path = socket_path(place)
        self._socket = None if self._path is None else _listen(self._path)
        self._callers: dict[QSocketNotifier, socket.socket] = {}
        if self._socket is not None:
            self._notifier = QSocketNotifier(self._socket.fileno(), QSocketNotifier.Type.Read, self)
            self._notifier.activated.connect(self._accept)

    def close(self) -> None:
        """Stop listening."""
        if self._socket is None or self._path is None:
            return
        self._notifier.setEnabled(False)
        for notifier in list(self._callers):
            self._end(notifier)
        self._socket.close()
        self._socket = None
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        assert self._socket is not None
        try:
            caller, _ = self._socket.accept()
        except OSError:
            return
        caller.setblocking(False)
        notifier = QSocketNotifier(caller.fileno(), QSocketNotifier.Type.Read, self)
        self._callers[notifier] = caller
        notifier.activated.connect(lambda: self._read(notifier))

    def _read(self, notifier: QSocketNotifier) -> None:
        caller = self._callers.get(notifier)
        if caller is None:
            return
        try:
            # A link fits into one write of a local socket.
            words = caller.recv(4 * LINK_CHARACTERS_MAX)
            if words.endswith(b"\n"):
                caller.send(ANSWER)
        except OSError:
            words = b""
        self._end(notifier)
        if words.endswith(b"\n"):
            self.asked.emit(words.decode("utf-8", "replace").strip())

    def _end(self, notifier: QSocketNotifier) -> None:
        notifier.setEnabled(False)
        notifier.deleteLater()
        self._callers.pop(notifier).close()


def _listen(path: Path) -> socket.socket | None:
    """A listening socket; None where another window listens."""
    made = socket.socket(socket.AF_UNIX)
    try:
        if _answers(path):
            raise OSError
        path.unlink(missing_ok=True)
        made.bind(str(path))
        made.listen(4)
        made.setblocking(False)
    except OSError:
        made.close()
        return None
    return made


def _answers(path: Path) -> bool:
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(REACH_TIMEOUT_S)
            line.connect(str(path))
    except OSError:
        return False
    return True
