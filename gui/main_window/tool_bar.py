"""The tool bar: menu, back and forward, cluster, go-to field, time range, live or paused, notices, theme."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QIcon, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QPushButton, QSizePolicy, QWidget

from gui.main_window.live import CADENCES_MS, LiveFeed, Standing
from gui.theme.fonts import text_font
from gui.theme.icons import icon
from gui.theme.manager import ThemeManager, ThemeMode
from gui.theme.tokens import STATE_GLYPHS, Size, State
from gui.views.time_range import RANGES_MS, TimeRangeChoice
from gui.widgets.basic import ElidedLabel, IconButton, IconLabel, fill, label, row
from gui.widgets.chip import Dot
from gui.widgets.popups import new_menu, opened
from gui.widgets.repaint import repaint_with
from gui.widgets.said import on_language, said
from gui.widgets.saved_menu import menu_text
from gui.widgets.toast import KeptNotice
from gui.words.plain_text import tip_text
from gui.words.text import TimeZoneChoice, tr

if TYPE_CHECKING:
    from gui.main_window.range_dialog import RangeDialog

SWITCHER_WIDTH_MIN = 240
"""A longer cluster name may be cut in a narrow window; the window's title has it whole."""
NOTICE_CHARACTERS_MAX = 100
"""Of a line under the bell, with its time; its tip has the whole text."""
_STANDING_BUTTONS = {
    Standing.LIVE: ("Live", "radio-button", "live"),
    Standing.PART: ("In part", "warning", "stale"),
    Standing.WAITING: ("Waiting", "hourglass", ""),
    Standing.LATE: ("Stale", "warning", "stale"),
    Standing.ENDED: ("No data", "warning-octagon", "ended"),
}
"""Text, glyph and role of the live button while it is not paused."""
_THEME_GLYPHS = {ThemeMode.SYSTEM: "monitor", ThemeMode.LIGHT: "sun", ThemeMode.DARK: "moon"}
_THEME_NAMES = {ThemeMode.SYSTEM: "Follow the system", ThemeMode.LIGHT: "Light", ThemeMode.DARK: "Dark"}


class ClusterButton(QPushButton):
    """The cluster switcher: state dot, name, kind."""

    def __init__(self, theme: ThemeManager, name: str) -> None:
        super().__init__()
        self.setProperty("role", "switcher")
        self.setFixedHeight(Size.CONTROL + 2)
        self._dot = Dot(theme)
        self._cluster = name
        self._name = label(tr(name), "strong")
        self._kind = label(role="caption")
        self._caret = IconLabel(theme, "caret-down", "text_2", 12)
        parts = (self._dot, self._name, self._kind, self._caret)
        for part in parts:
            part.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._line = row(*parts, spacing=7, margins=(10, 0, 9, 0))
        self.setLayout(self._line)
        self.setAccessibleName(tr(name))

    def sizeHint(self) -> QSize:
        return self._line.sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint().boundedTo(QSize(SWITCHER_WIDTH_MIN, Size.CONTROL + 2))

    def set_name(self, name: str) -> None:
        """Set the English name of the cluster; `set_state` shows it."""
        self._cluster = name

    def set_state(self, state: State, kind: str) -> None:
        self._dot.set_state(state)
        self._kind.setText(kind)
        self._name.setText(tr(self._cluster))
        self.setAccessibleName(tr("Cluster: {name}", name=tr(self._cluster)))
        self.setToolTip(tr("Choose another cluster (Ctrl+Shift+K)"))


class GoToField(QPushButton):
    """Looks like a field and opens the command palette."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self.setProperty("role", "go-to")
        self._theme = theme
        self._hint = ElidedLabel(role="caption")
        caps = [label(key, "key") for key in ("Ctrl", "K")]
        for cap in caps:
            cap.setFixedHeight(18)
        self.setLayout(row((self._hint, 1), *caps, spacing=4, margins=(34, 0, 8, 0)))
        for child in self.findChildren(QWidget):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFixedHeight(Size.CONTROL + 2)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(430)
        self.setMinimumWidth(120)
        repaint_with(self, theme)
        text = "Go to topic, group, message ID, or command…"
        said(self._hint, text=text)
        said(self, name=text)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        glyph = icon("magnifying-glass", self._theme.tokens.text_2, 15).pixmap(QSize(15, 15))
        painter.drawPixmap(11, (self.height() - 15) // 2, glyph)
        painter.end()


class Bell(IconButton):
    """Opens the list of notices, and shows how many are unread."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(theme, "bell", tip=tr("Notices"))
        self.unread = 0

    def set_unread(self, unread: int) -> None:
        self.unread = unread
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if not self.unread:
            return
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.width() - 14, 0, 14, 14)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.tokens.danger_fill))
        painter.drawEllipse(box)
        painter.setPen(QColor(self._theme.tokens.on_accent))
        painter.setFont(text_font(9, QFont.Weight.DemiBold))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, str(min(self.unread, 99)))
        painter.end()


class ToolBar(QFrame):
    """See the module.

    Signals:
        menu_asked, cluster_asked: The button was pressed; carries the place of the menu.
        theme_asked: A theme mode was chosen.
        notices_seen: The list of notices was opened.
    """

    menu_asked = Signal(QPoint)
    cluster_asked = Signal(QPoint)
    theme_asked = Signal(object)
    notices_seen = Signal()

    def __init__(
        self, theme: ThemeManager, live: LiveFeed, time_range: TimeRangeChoice, times: TimeZoneChoice, cluster: str
    ) -> None:
        super().__init__()
        self.setObjectName("toolBar")
        self.setFixedHeight(Size.TOOL_BAR)
        self._theme = theme
        self._live = live
        self._range = time_range
        self._times = times
        self._standing = Standing.WAITING
        self.notices: Sequence[KeptNotice] = ()
        self.menu_button = IconButton(theme, "list", on_click=self._ask_menu)
        self.back_button = IconButton(theme, "caret-left")
        self.forward_button = IconButton(theme, "caret-right")
        self.cluster_button = ClusterButton(theme, cluster)
        self.cluster_button.clicked.connect(lambda _checked=False: self.cluster_asked.emit(_below(self.cluster_button)))
        self.go_to = GoToField(theme)
        self.range_button = IconButton(theme, "clock", " ", caret=True, on_click=self._choose_range)
        self.live_button = IconButton(theme, "radio-button", " ", role="live", on_click=live.toggle)
        self.cadence_button = IconButton(theme, "", " ", role="live", caret=True, on_click=self._choose_cadence)
        self.refresh_button = IconButton(theme, "arrow-clockwise")
        self.bell = Bell(theme)
        self.bell.clicked.connect(self._show_notices)
        self.theme_button = IconButton(theme, "monitor", on_click=self._choose_theme)
        self._build()
        live.changed.connect(self.write)
        time_range.changed.connect(self.write)
        times.changed.connect(self.write)
        theme.changed.connect(self.write)
        on_language(self, self.write)

    def _build(self) -> None:
        line = row(self.menu_button, self.back_button, self.forward_button, spacing=6, margins=(12, 0, 12, 0))
        self.setLayout(line)
        line.addSpacing(4)
        line.addWidget(self.cluster_button)
        line.addSpacing(6)
        # Two halves of one control: live or paused, and the cadence.
        self.live_button.setProperty("half", "left")
        self.cadence_button.setProperty("half", "right")
        live = row(self.live_button, self.cadence_button, spacing=0)
        fill(line, (self.go_to, 3), 2, self.range_button, live, self.refresh_button, self.bell, self.theme_button)

    def write(self) -> None:
        """Write all texts and glyphs anew."""
        self.menu_button.set_tip(tr("Menu"))
        self.back_button.set_tip(tr("Back"))
        self.forward_button.set_tip(tr("Forward"))
        self.refresh_button.set_tip(tr("Refresh (F5)"))
        self.bell.set_tip(tr("Notices"))
        self.theme_button.set_tip(tr("Theme"))
        self.theme_button.set_glyph(_THEME_GLYPHS[self._theme.mode])
        chosen = self._range_text()
        self.range_button.setText(chosen)
        self.range_button.setToolTip(tr("Time range of all charts"))
        self.range_button.setAccessibleName(f"{tr('Time range of all charts')}: {chosen}")
        paused = self._live.paused
        is_held = paused and self._standing is not Standing.ENDED
        text, glyph, role = ("Paused", "pause", "paused") if is_held else _STANDING_BUTTONS[self._standing]
        for button in (self.live_button, self.cadence_button):
            if button.property("role") != role:
                button.set_role(role)
        self.live_button.set_glyph(glyph)
        self.live_button.setText(tr(text))
        self.live_button.setToolTip(tr("Go on (Space)") if paused else tr("Hold the figures (Space)"))
        self.cadence_button.setText(tr("{seconds} s", seconds=self._live.cadence_ms // 1000))
        self.live_button.setAccessibleName(self.live_button.toolTip())
        self.cadence_button.setToolTip(tr("How often the figures change"))
        self.cadence_button.setAccessibleName(f"{tr('How often the figures change')}: {self.cadence_button.text()}")

    def show_standing(self, standing: Standing) -> None:
        """Show whether the figures are live."""
        if standing is not self._standing:
            self._standing = standing
            self.write()

    # ---- menus -----------------------------------------------------------------------------------------------------

    def _ask_menu(self) -> None:
        self.menu_asked.emit(_below(self.menu_button))

    def _menu(self, entries: Sequence[tuple[str, bool, object]], chosen: Callable[[Any], None], below: QWidget) -> None:
        """Open a menu of (text, is current, value) entries; ``chosen`` is called with the value."""
        menu = new_menu(self)
        for text, current, value in entries:
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(current)
            action.triggered.connect(lambda _checked=False, value=value: chosen(value))
        menu.popup(_below(below))

    def _choose_range(self) -> None:
        entries: list[tuple[str, bool, int | None]] = [
            (tr(name), name == self._range.name, length) for name, length in RANGES_MS.items()
        ]
        entries.append((tr("From … to …"), not self._range.is_live, None))
        self._menu(entries, self._range_chosen, self.range_button)

    def _range_chosen(self, length_ms: int | None) -> None:
        if length_ms is not None:
            self._range.set_length(length_ms)
        else:
            self.ask_range()

    def ask_range(self) -> RangeDialog:
        from gui.main_window.range_dialog import RangeDialog

        return opened(RangeDialog(self._range, self._times, self))

    def _range_text(self) -> str:
        between = self._range.between
        if between is None:
            return tr(self._range.name)
        begin, end = (self._times.minutes(at_ms) for at_ms in between)
        day = begin.split()[0]
        return f"{begin} – {end.removeprefix(day).lstrip()}"

    def _choose_cadence(self) -> None:
        entries = [(tr("{seconds} s", seconds=ms // 1000), ms == self._live.cadence_ms, ms) for ms in CADENCES_MS]
        self._menu(entries, self._live.set_cadence, self.cadence_button)

    def _choose_theme(self) -> None:
        entries = [(tr(name), mode is self._theme.mode, mode) for mode, name in _THEME_NAMES.items()]
        self._menu(entries, self.theme_asked.emit, self.theme_button)

    def _show_notices(self) -> None:
        menu = new_menu(self)
        menu.setToolTipsVisible(True)
        for notice in self.notices[:20]:
            at = self._times.seconds(notice.at.timestamp() * 1_000)
            action = menu.addAction(self._notice_icon(notice.state), menu_text(f"{at}  {notice.text}", NOTICE_CHARACTERS_MAX))
            action.setToolTip(tip_text(notice.text))
        if not self.notices:
            menu.addAction(tr("No notices")).setEnabled(False)
        menu.popup(_below(self.bell))
        self.notices_seen.emit()

    def _notice_icon(self, state: State) -> QIcon:
        return icon(STATE_GLYPHS[state] or "info", self._theme.tokens.state(state), Size.ICON_BUTTON)


def _below(widget: QWidget) -> QPoint:
    return widget.mapToGlobal(QPoint(0, widget.height() + 3))
