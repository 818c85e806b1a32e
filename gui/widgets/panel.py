"""`Panel`, the card of every page, `FoldingPanel` for narrow ones, and `Tile`, a small card with one number."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State
from gui.widgets.basic import ElidedLabel, IconButton, column, label, row
from gui.widgets.paint import paint_sparkline
from gui.widgets.repaint import repaint_with
from gui.widgets.said import on_language
from gui.words.plain_text import tip_text
from gui.words.text import UNKNOWN, tr

SPARKLINE_WIDTH_MIN = 36
TITLE_WIDTH_KEPT = 180
"""Of a title, px; a longer one is cut in its middle where there is no room."""
SUBTITLE_WIDTH_LEAST = 72
"""Of a part of a subtitle, px."""
HEAD_HEIGHT = 36
"""Of the title line of a panel, px."""
TERM = "term"
"""Property of a widget with a figure: its English title, the key of its explanation."""


class Panel(QFrame):
    """A card: title line with subtitle and actions, content in ``self.content``."""

    def __init__(self, title: str = "", subtitle: str = "", *, flush: bool = False, spacing: int = 8) -> None:
        """Create the card; ``flush`` lets the content reach the border, as tables do."""
        super().__init__()
        self.setProperty("role", "panel")
        self._head = QWidget()
        self._head.setFixedHeight(HEAD_HEIGHT)
        self._heading = ElidedLabel(role="panel-title", mode=Qt.TextElideMode.ElideMiddle)
        self._subtitle = ElidedLabel(subtitle, "caption", least=SUBTITLE_WIDTH_LEAST)
        self._line = row(self._heading, (self._subtitle, 1), margins=(12, 0, 12, 0))
        self._head.setLayout(self._line)
        self._outer = column(self._head, spacing=0, margins=(1, 1, 1, 1))
        self.setLayout(self._outer)
        self.set_title(title)
        self._head.setVisible(bool(title))
        self.content = column(spacing=spacing, margins=(0, 0, 0, 0) if flush else (12, 0, 12, 12))
        self._outer.addLayout(self.content, 1)

    def set_title(self, title: str, subtitle: str | None = None) -> None:
        self._heading.setText(title)
        # Names of clients and topics may be longer than a panel is wide; other titles are not.
        self._heading.setMinimumWidth(min(self._heading.sizeHint().width(), TITLE_WIDTH_KEPT))
        self._head.setVisible(True)
        if subtitle is not None:
            self._subtitle.setText(subtitle)

    def set_subtitle(self, subtitle: str) -> None:
        self._subtitle.setText(subtitle)

    @property
    def title(self) -> str:
        return self._heading.whole_text()

    @property
    def subtitle(self) -> str:
        return self._subtitle.whole_text()

    def add_action(self, *widgets: QWidget, before: QWidget | None = None) -> None:
        """Add buttons, chips or legends at the right end of the title line, or before another one."""
        self._head.setVisible(True)
        for widget in widgets:
            self._line.insertWidget(self._line.count() if before is None else self._line.indexOf(before), widget)


def fitting_panel(widget: QWidget) -> Panel:
    """A panel as high as its table, which fits its rows (`gui.widgets.data_grid.DataGrid.fit_rows`)."""
    panel = Panel(flush=True)
    panel.content.addWidget(widget)
    panel.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
    return panel


class Tile(QFrame):
    """Title, one number with its unit, one fact, and the last quarter of an hour as a sparkline.

    Signals:
        clicked: The tile was clicked, or Enter pressed on it.
    """

    clicked = Signal()

    def __init__(self, theme: ThemeManager, title: str = "", *, series_index: int = 0) -> None:
        """Create the tile; ``title`` is English."""
        super().__init__()
        self.setProperty("role", "panel")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(76)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._theme = theme
        self._series_index = series_index
        self._spark: Sequence[float] = ()
        self._spark_state: State | None = None
        self._title = label(role="secondary")
        self._name = title
        self.value_label = label(UNKNOWN, "headline")
        self._unit = label("", "caption")
        self._fact = ElidedLabel("", "caption")
        self._build()
        on_language(self, self._write_title)
        repaint_with(self, theme)

    def _build(self) -> None:
        self._unit.setContentsMargins(0, 0, 0, 3)
        number = row(self.value_label, (self._unit, 1, Qt.AlignmentFlag.AlignBottom), spacing=4)
        self.setLayout(column(self._title, number, self._fact, spacing=0, margins=(12, 8, 12, 8)))

    def set_title(self, title: str) -> None:
        """Set the English title."""
        self._name = title
        self._write_title()

    def _write_title(self) -> None:
        self.setProperty(TERM, self._name)
        self._title.setText(tr(self._name))
        self.setAccessibleName(tr(self._name))

    def set_value(self, value: str, unit: str = "", fact: str = "", fact_state: State | None = None) -> None:
        """Show a number; `UNKNOWN` where it is not known. ``fact_state`` colours the fact."""
        self.value_label.setText(value)
        self._unit.setText(unit if value != UNKNOWN else "")
        self._fact.setText(fact)
        set_role(
            self._fact,
            fact_state.value if fact_state in (State.WARNING, State.CRITICAL, State.HEALTHY) and fact_state else "caption",
        )
        self.setAccessibleDescription(f"{value} {unit} {fact}".strip())

    def set_sparkline(self, values: Sequence[float], state: State | None = None) -> None:
        """Show values, oldest first; NaN is a gap. ``state`` replaces the series colour."""
        self._spark = values
        self._spark_state = state
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        number = self.value_label.sizeHint().width() + (4 + self._unit.sizeHint().width() if self._unit.text() else 0)
        text_right = 18 + max(self._title.sizeHint().width(), number)
        left = max(self.width() - 84, text_right)
        width = self.width() - 12 - left
        if len(self._spark) < 2 or width < SPARKLINE_WIDTH_MIN:
            return
        tokens = self._theme.tokens
        colour = tokens.state(self._spark_state) if self._spark_state else tokens.series[self._series_index]
        painter = QPainter(self)
        paint_sparkline(painter, QRectF(left, 14, width, 23), self._spark, colour)
        painter.end()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.clicked.emit()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.clicked.emit()
        else:
            super().keyPressEvent(event)


UNFOLD_HYSTERESIS_PX = 16
"""Before the texts of a `FoldingPanel` return."""


class FoldingPanel(Panel):
    """A panel whose buttons lose their texts where these do not fit; the texts are then their tool tips."""

    def __init__(self, title: str = "", *, flush: bool = False) -> None:
        super().__init__(title, flush=flush)
        self._words: dict[IconButton, str] = {}
        self._tips: dict[IconButton, str] = {}
        self.is_folded = False

    def set_words(self, button: IconButton, words: str, tip: str = "") -> None:
        """Set the text of a button of the title line, and its tip beside the text."""
        self._words[button], self._tips[button] = words, tip
        self._write(button)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        head = self._head_width()
        # The content below the title line may be wider.
        rest = max(self.content.minimumSize().width(), head - self._words_width())
        return QSize(hint.width() - max(0, max(head, self.content.minimumSize().width()) - rest), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fold()

    def event(self, event: QEvent) -> bool:
        done = super().event(event)
        if event.type() == QEvent.Type.LayoutRequest:
            # Another title, or other visible buttons.
            self._fold()
        return done

    def _fold(self) -> None:
        margins = self.contentsMargins()
        room = self.width() - margins.left() - margins.right() - 2
        whole = self._head_width() + (self._all_words_width() + UNFOLD_HYSTERESIS_PX if self.is_folded else 0)
        if (room < whole) != self.is_folded:
            self.is_folded = not self.is_folded
            for button in self._words:
                self._write(button)
            self.updateGeometry()

    def _write(self, button: IconButton) -> None:
        words, tip = self._words[button], self._tips[button]
        button.setText("" if self.is_folded else words)
        button.setToolTip(tip_text(tip or words if self.is_folded else tip))
        button.setAccessibleName(words if self.is_folded else "")

    def _head_width(self) -> int:
        return self._line.minimumSize().width()

    def _words_width(self) -> int:
        """How much narrower the title line can become."""
        return 0 if self.is_folded else self._all_words_width()

    def _all_words_width(self) -> int:
        shown = [button for button in self._words if not button.isHidden()]
        return sum(button.fontMetrics().horizontalAdvance(self._words[button]) for button in shown)
