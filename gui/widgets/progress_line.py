from __future__ import annotations

from PySide6.QtCore import QRectF, QTimer
from PySide6.QtGui import QColor, QHideEvent, QPainter, QPaintEvent, QShowEvent

from gui.theme.manager import ThemeManager
from gui.widgets.repaint import Drawn

STEP_MS = 60
RUNNER_SHARE = 0.25


class ProgressLine(Drawn):
    """Progress as a line 2 px high: a share, or a moving piece while it is not known. Its timer runs only then."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(theme)
        self._share: float | None = None
        self._step = 0.0
        self._timer = QTimer(self, interval=STEP_MS)
        self._timer.timeout.connect(self._advance)
        self.setFixedHeight(2)

    def set_share(self, share: float | None) -> None:
        self._share = share
        self._run_if_needed()
        self.update()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._run_if_needed()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._timer.stop()

    def _run_if_needed(self) -> None:
        if self._share is None and self.isVisible():
            self._timer.start()
        else:
            self._timer.stop()

    def _advance(self) -> None:
        self._step = (self._step + 0.03) % (1 + RUNNER_SHARE)
        self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(self._theme.tokens.border))
        width = self.width()
        if self._share is None:
            left, length = (self._step - RUNNER_SHARE) * width, RUNNER_SHARE * width
        else:
            left, length = 0.0, self._share * width
        painter.fillRect(QRectF(left, 0, length, self.height()), QColor(self._theme.tokens.accent))
        painter.end()
