"""Qt's look from the tokens: palette, style sheet and the mark of the keyboard focus.

Widgets set the dynamic property ``role`` (primary, danger, quiet, caption, …); only the template below maps a role to colours.
"""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from gui.event_loop.turns import next_turn
from gui.theme.tokens import Size, Tokens, mix
from resources import RESOURCE_FOLDER

FOCUS_PROPERTY = "keyboardFocus"


class FocusMarker(QObject):
    """Marks the widget that got the focus by keyboard, for the focus ring.

    Focus that changes while a mouse button is down changed by the mouse. An event filter would know the reason, but would run
    for every event of the program. The ring is drawn a turn later, so that the first frame of the window does not wait for it.
    """

    def __init__(self, application: QApplication, parent: QObject | None = None) -> None:
        super().__init__(parent)
        application.focusChanged.connect(self._moved)

    @staticmethod
    def _moved(old: QWidget | None, new: QWidget | None) -> None:
        by_mouse = QApplication.mouseButtons() != Qt.MouseButton.NoButton
        for widget, marked in ((old, False), (new, not by_mouse)):
            # A widget that is being destroyed loses the focus too; it may be half deleted.
            if widget is not None and isValid(widget) and bool(widget.property(FOCUS_PROPERTY)) != marked:
                widget.setProperty(FOCUS_PROPERTY, marked)
                next_turn(widget, partial(repolish, widget))


def mark_fault(field: QWidget, is_faulty: object) -> None:
    """Show a field whose entry is invalid as such."""
    shown = "false" if is_faulty else ""
    if field.property("valid") != shown:
        field.setProperty("valid", shown)
        repolish(field)


def repolish(widget: QWidget) -> None:
    """Apply the style sheet again after a property that it selects on has changed."""
    style = widget.style()  # the sheet's own one: that of the application knows nothing of sheets on pages
    style.unpolish(widget)
    style.polish(widget)
    widget.update()


def set_role(widget: QWidget, role: str) -> None:
    if widget.property("role") != role:
        widget.setProperty("role", role)
        repolish(widget)


def palette(tokens: Tokens) -> QPalette:
    """Qt's palette, for everything that the style sheet does not reach."""
    made = QPalette()
    colours = {
        QPalette.ColorRole.Window: tokens.window,
        QPalette.ColorRole.WindowText: tokens.text_1,
        QPalette.ColorRole.Base: tokens.panel,
        QPalette.ColorRole.AlternateBase: tokens.raised,
        QPalette.ColorRole.Text: tokens.text_1,
        QPalette.ColorRole.PlaceholderText: tokens.text_3,
        QPalette.ColorRole.Button: tokens.raised,
        QPalette.ColorRole.ButtonText: tokens.text_1,
        QPalette.ColorRole.ToolTipBase: tokens.raised,
        QPalette.ColorRole.ToolTipText: tokens.text_1,
        QPalette.ColorRole.Highlight: tokens.selected,
        QPalette.ColorRole.HighlightedText: tokens.text_1,
        QPalette.ColorRole.Link: tokens.accent,
        QPalette.ColorRole.LinkVisited: tokens.accent,
        QPalette.ColorRole.Accent: tokens.accent,
        QPalette.ColorRole.Light: tokens.raised,
        QPalette.ColorRole.Mid: tokens.border,
        QPalette.ColorRole.Dark: tokens.border,
        QPalette.ColorRole.Shadow: tokens.window,
    }
    for role, colour in colours.items():
        made.setColor(role, QColor(colour))
    for role in (QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText, QPalette.ColorRole.WindowText):
        made.setColor(QPalette.ColorGroup.Disabled, role, QColor(mix(tokens.text_3, tokens.panel, 60)))
    return made


def style_sheet(tokens: Tokens) -> str:
    template = (RESOURCE_FOLDER / "themes" / "orbit.qss").read_text(encoding="utf-8")
    values = _values(tokens)
    for name in sorted(values, key=len, reverse=True):
        template = template.replace(f"@{name}", values[name])
    return template


def _values(tokens: Tokens) -> dict[str, str]:
    colours = {name: getattr(tokens, name) for name in Tokens.__slots__ if isinstance(getattr(tokens, name), str)}
    sizes = {name.lower(): str(value) for name, value in vars(Size).items() if isinstance(value, int)}
    derived = {
        "disabled_text": mix(tokens.text_3, tokens.panel, 60),
        "primary_hover": mix("#FFFFFF", tokens.accent_fill, 10),
        "primary_pressed": mix("#000000", tokens.accent_fill, 12),
        "danger_hover": mix("#FFFFFF", tokens.danger_fill, 10),
        "live_border": mix(tokens.healthy, tokens.panel, 45),
        "banner_ground": mix(tokens.critical, tokens.panel, tokens.tint_percent),
        "banner_border": mix(tokens.critical, tokens.panel, 45),
        "notice_ground": mix(tokens.warning, tokens.panel, tokens.tint_percent),
        "notice_border": mix(tokens.warning, tokens.panel, 45),
        "info_ground": mix(tokens.delayed, tokens.panel, tokens.tint_percent),
        "info_border": mix(tokens.delayed, tokens.panel, 45),
        "shade": "dark" if tokens.dark else "light",
    }
    return colours | sizes | derived
