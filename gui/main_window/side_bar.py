"""The side bar: pages by section, with counts; full or as icons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QEnterEvent, QFont, QFontMetrics, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from gui.main_window.matching import match
from gui.text import short_count_text, tr
from gui.theme.fonts import text_font
from gui.theme.icons import icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.style import FOCUS_PROPERTY
from gui.theme.tokens import Size, State
from gui.views.registry import PageEntry
from gui.widgets.basic import label, row
from gui.widgets.inputs import SearchField

if TYPE_CHECKING:
    from monitoring.state import ClusterState


class SideBarItem(QAbstractButton):
    """One page: glyph, name, count.

    Signals:
        new_tab_asked: Middle click or Ctrl+click.
    """

    new_tab_asked = Signal()

    def __init__(self, theme: ThemeManager, entry: PageEntry) -> None:
        super().__init__()
        self._theme = theme
        self.entry = entry
        self.count = ""
        self.count_state: State | None = None
        self.collapsed = False
        self._hovered = False
        self.setCheckable(True)
        self.setFixedHeight(28)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.retranslate()
        theme.changed.connect(self.update)

    def retranslate(self) -> None:
        name = tr(self.entry.title)
        self.setAccessibleName(name)
        self.setText(name)
        self.setToolTip(name if self.collapsed else "")

    def set_count(self, count: str, state: State | None = None) -> None:
        """Show a count after the name; ``state`` colours it."""
        if (count, state) != (self.count, self.count_state):
            self.count, self.count_state = count, state
            self.update()

    def set_collapsed(self, collapsed: bool) -> None:
        self.collapsed = collapsed
        self.retranslate()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(Size.SIDE_BAR - 16, 28)

    def enterEvent(self, event: QEnterEvent) -> None:  # noqa: ARG002  Qt's signature
        self._hovered = True
        self.update()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: ARG002  Qt's signature
        self._hovered = False
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        with_control = event.modifiers() & Qt.KeyboardModifier.ControlModifier
        if event.button() == Qt.MouseButton.MiddleButton or with_control:
            self.setDown(False)
            self.new_tab_asked.emit()
            return
        super().mouseReleaseEvent(event)

    def nextCheckState(self) -> None:
        """The window says which page is shown; a click alone does not."""

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens = self._theme.tokens
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect())
        active = self.isChecked()
        if active or self._hovered:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(tokens.selected if active else tokens.hover))
            painter.drawRoundedRect(box, Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        if self.property(FOCUS_PROPERTY):
            painter.setPen(QPen(QColor(tokens.accent), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), Size.RADIUS_CONTROL, Size.RADIUS_CONTROL)
        left = (self.width() - Size.ICON_SIDE_BAR) // 2 if self.collapsed else 10
        colour = tokens.accent if active else tokens.text_2
        glyph = icon_pixmap(self.entry.icon, colour, Size.ICON_SIDE_BAR, self.devicePixelRatioF(), filled=active)
        painter.drawPixmap(left, (self.height() - Size.ICON_SIDE_BAR) // 2, glyph)
        if self.collapsed:
            self._paint_count_dot(painter, left)
        else:
            self._paint_words(painter)
        painter.end()

    def _paint_words(self, painter: QPainter) -> None:
        tokens = self._theme.tokens
        count_font = text_font(Size.SECONDARY, QFont.Weight.DemiBold if self.count_state else QFont.Weight.Normal)
        count_width = QFontMetrics(count_font).horizontalAdvance(self.count)
        box = QRectF(36, 0, self.width() - 36 - 10, self.height())
        painter.setFont(count_font)
        painter.setPen(QColor(tokens.state(self.count_state) if self.count_state else tokens.text_3))
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignRight, self.count)
        painter.setFont(text_font(Size.BODY, QFont.Weight.Medium))
        painter.setPen(QColor(tokens.text_1 if self.isChecked() else tokens.text_2))
        room = int(box.width()) - count_width - 8
        name = QFontMetrics(painter.font()).elidedText(self.text(), Qt.TextElideMode.ElideRight, room)
        painter.drawText(box, Qt.AlignmentFlag.AlignVCenter, name)

    def _paint_count_dot(self, painter: QPainter, left: int) -> None:
        if self.count_state is not None:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(self._theme.tokens.state(self.count_state)))
            painter.drawEllipse(QRectF(left + Size.ICON_SIDE_BAR - 2, 4, 6, 6))


class SideBar(QFrame):
    """All registered pages.

    Signals:
        page_asked: A page was chosen; carries its id and whether a new tab is wanted.
        more_asked: What was searched is no page; carries the text, for the command palette.
    """

    page_asked = Signal(str, bool)
    more_asked = Signal(str)

    def __init__(self, theme: ThemeManager, pages: Sequence[PageEntry], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sideBar")
        self.items: dict[str, SideBarItem] = {}
        self._headings: list[tuple[str, QLabel]] = []
        self._collapsed = False
        self.search = SearchField(theme, tr("Find a page"))
        self.search.textChanged.connect(self._find)
        self.search.returnPressed.connect(self._take_found)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(8, 8, 0, 8)
        whole.addLayout(row(self.search, margins=(0, 0, 8, 0)))
        lines = self._list_in(whole)
        section = ""
        for entry in pages:
            if not entry.in_side_bar:
                continue
            if entry.section != section:
                section = entry.section
                lines.addWidget(self._heading(section))
            lines.addWidget(self._item(theme, entry))
        lines.addStretch(1)
        self.setFixedWidth(Size.SIDE_BAR)

    def _list_in(self, whole: QVBoxLayout) -> QVBoxLayout:
        """The list of pages, which scrolls where the window is low."""
        pages = QWidget()
        scroll = QScrollArea()
        scroll.setFrameShape(QFrame.Shape.NoFrame)
        scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        scroll.setWidgetResizable(True)
        # One of our own: to ask for the one that Qt made costs a start some 10 ms, as Python learns all kinds of widgets then.
        ground = QWidget()
        scroll.setViewport(ground)
        scroll.setWidget(pages)
        for part in (ground, pages):
            part.setAutoFillBackground(False)
        whole.addWidget(scroll, 1)
        lines = QVBoxLayout(pages)
        lines.setContentsMargins(0, 0, 8, 0)
        lines.setSpacing(1)
        return lines

    def _heading(self, section: str) -> QLabel:
        made = label(tr(section), "caption")
        made.setContentsMargins(10, 10, 0, 3)
        self._headings.append((section, made))
        return made

    def _item(self, theme: ThemeManager, entry: PageEntry) -> SideBarItem:
        item = SideBarItem(theme, entry)
        item.clicked.connect(lambda _checked=False: self.page_asked.emit(entry.page_id, False))
        item.new_tab_asked.connect(lambda: self.page_asked.emit(entry.page_id, True))
        self.items[entry.page_id] = item
        return item

    @property
    def collapsed(self) -> bool:
        return self._collapsed

    def set_collapsed(self, collapsed: bool) -> None:
        """Show icons only, or all."""
        self._collapsed = collapsed
        self.search.clear()
        self.search.setVisible(not collapsed)
        for _, heading in self._headings:
            heading.setVisible(not collapsed)
        for item in self.items.values():
            item.set_collapsed(collapsed)
        self.setFixedWidth(Size.SIDE_BAR_COLLAPSED if collapsed else Size.SIDE_BAR)

    @property
    def found(self) -> list[SideBarItem]:
        """Pages that the search lets through, top to bottom."""
        return [item for item in self.items.values() if not item.isHidden()]

    def _find(self, text: str) -> None:
        for item in self.items.values():
            item.setVisible(match(text, item.text()) is not None)
        for section, heading in self._headings:
            members = [item for item in self.items.values() if item.entry.section == section]
            heading.setVisible(not self._collapsed and any(not item.isHidden() for item in members))

    def _take_found(self) -> None:
        """Open the page that fits best; a text that no page has goes to the palette, which knows topics and groups too."""
        text = self.search.text().strip()
        fits = [(hit.score, item) for item in self.found if (hit := match(text, item.text())) is not None]
        self.search.clear()
        if fits and text:
            self.page_asked.emit(max(fits, key=lambda fit: fit[0])[1].entry.page_id, False)
        elif text:
            self.more_asked.emit(text)

    def show_page(self, page_id: str) -> None:
        """Mark the page that is shown."""
        for known, item in self.items.items():
            item.setChecked(known == page_id)

    def set_count(self, page_id: str, count: str, state: State | None = None) -> None:
        """Show a count at a page, if it is there."""
        if page_id in self.items:
            self.items[page_id].set_count(count, state)

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.LanguageChange:
            self.search.setPlaceholderText(tr("Find a page"))
            self.search.setAccessibleName(tr("Find a page"))
            for section, heading in self._headings:
                heading.setText(tr(section))
            for item in self.items.values():
                item.retranslate()


def show_counts(bar: SideBar, state: ClusterState, *, alerts_firing: int, lag_is_over: bool) -> None:
    """Show at the pages how much there is of what they show. Lag takes a colour where a group has more than its limit."""
    lag = state.totals.get("lag_messages", float("nan"))
    bar.set_count("topics", short_count_text(len(state.catalog.topics)))
    over = State.WARNING if lag_is_over else None
    bar.set_count("consumers", short_count_text(lag) if lag > 0 else "", over)
    delayed = float(state.delays.pending.clip(0).sum()) + max(0.0, state.timers.get("pending", 0.0))
    halves = state.totals.get("transactions_pending", 0.0)
    bar.set_count("delay", short_count_text(delayed) if delayed > 0 else "")
    bar.set_count("transactions", short_count_text(halves) if halves > 0 else "")
    bar.set_count("clients", short_count_text(state.totals.get("connections", float("nan"))))
    bar.set_count("alerts", str(alerts_firing) if alerts_firing else "", State.CRITICAL if alerts_firing else None)
