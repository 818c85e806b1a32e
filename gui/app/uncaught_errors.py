"""`UncaughtErrors`: reports uncaught errors in the window, instead of ending the program."""

from __future__ import annotations

import logging
import sys
import traceback
from types import TracebackType

from PySide6.QtCore import QObject, Signal

from gui.main_window.services import FrameServices
from gui.theme.tokens import State
from gui.words.text import tr

_LOG = logging.getLogger(__name__)


class UncaughtErrors(QObject):
    _happened = Signal(object)

    def __init__(self, frame: FrameServices) -> None:
        super().__init__(frame.host)
        self._frame = frame
        self.count = 0
        # A queued signal: the error may be of any thread, and the notice belongs to the GUI thread.
        self._happened.connect(self._tell)
        self._before = sys.excepthook
        sys.excepthook = self._caught

    def close(self) -> None:
        """Restore the hook of before."""
        sys.excepthook = self._before

    def _caught(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self.count += 1
        _LOG.critical("an error that nothing caught", exc_info=(kind, error, trace))
        # A painter in the frames of a paint event must go with the event: Qt crashes when its widget goes before it.
        traceback.clear_frames(trace)
        self._happened.emit(error)

    def _tell(self, error: BaseException) -> None:
        if isinstance(error, KeyboardInterrupt):
            self._frame.host.close()
        elif isinstance(error, Exception):
            # The text alone is kept: the error would keep every frame it went through alive.
            words = f"{type(error).__name__}: {error}"
            self._frame.notify(lambda: tr("Orbit made a mistake: {error}", error=words), state=State.CRITICAL)
