"""Labels, buttons and lines with a role."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import (
    QContextMenuEvent,
    QFont,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
    QShortcut,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QBoxLayout,
    QFormLayout,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from gui.theme.fonts import mono_font, text_font
from gui.theme.icons import icon, icon_pixmap
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import Size, Tokens, mix
from gui.widgets.popups import new_menu
from gui.words.plain_text import label_text, tip_text
from gui.words.text import tr

if TYPE_CHECKING:
    _Widget = QWidget
else:
    _Widget = object  # a base before a class of Qt may be no widget itself

_Box = TypeVar("_Box", bound=QBoxLayout)

ICON_ROOM = 3
_LONG_WORD = re.compile(r"[!-~]{41,}")
"""A word that may be wider than a column of text; Chinese breaks at each character anyway."""
_BREAK = "\u200b"
"""Zero-width space: a line may end there."""

_ROLE_FONTS: dict[str, tuple[int, QFont.Weight]] = {
    "page-title": (Size.PAGE_TITLE, QFont.Weight.DemiBold),
    "hero": (24, QFont.Weight.DemiBold),
    "panel-title": (Size.BODY, QFont.Weight.DemiBold),
    "card-title": (Size.CARD_TITLE, QFont.Weight.DemiBold),
    "headline": (Size.HEADLINE, QFont.Weight.DemiBold),
    "strong": (Size.BODY, QFont.Weight.DemiBold),
    "axis": (Size.CAPTION, QFont.Weight.Normal),
}


def label(text: str = "", role: str = "", *, selectable: bool = False, wrap: bool = False) -> QLabel:
    """A text in the look of ``role`` (page-title, panel-title, headline, secondary, caption, warning, mono, key, …)."""
    made = WrappedLabel() if wrap else PlainLabel()
    made.setFont(mono_font() if role == "mono" else text_font(*_ROLE_FONTS.get(role, (Size.BODY, QFont.Weight.Normal))))
    if role:
        made.setProperty("role", role)
    if selectable:
        made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    made.setText(text)
    return made


class PlainLabel(QLabel):
    """Shows its text literally; a label of Qt would render text that looks like HTML, and open the files it names."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)

    def setText(self, text: str) -> None:
        super().setText(label_text(text))


class WrappedLabel(PlainLabel):
    """A text of several lines that also breaks names longer than a line.

    Qt breaks no word: a name of 255 characters would widen the window. Only the drawn text contains the breaks.
    """

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._whole = ""
        self.setWordWrap(True)
        self.setText(text)

    def setText(self, text: str) -> None:
        self._whole = text
        QLabel.setText(self, _LONG_WORD.sub(lambda word: _BREAK.join(word[0]), label_text(text)))

    def text(self) -> str:
        """The text without the breaks."""
        return self._whole

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy) and self.hasSelectedText():
            self._copy()
        else:
            super().keyPressEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        if _BREAK in super().text() and self.hasSelectedText():
            # Qt's own menu would copy the breaks, too, which are invisible where the name is pasted.
            menu = new_menu(self)
            menu.addAction(tr("Copy"), self._copy)
            menu.popup(event.globalPos())
        else:
            super().contextMenuEvent(event)

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.selectedText().replace(_BREAK, ""))


class ElidedLabel(PlainLabel):
    """A one-line text that is cut with an ellipsis; the tool tip then has all of it.

    Args:
        text: The whole text.
        role: Its role in the style.
        mode: Where it is cut.
        least: Width in px below which a text that has no room is left out, because some letters say nothing.
    """

    def __init__(
        self, text: str = "", role: str = "", *, mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight, least: int = 0
    ) -> None:
        super().__init__()
        self._whole = text
        self._mode = mode
        self._least = least
        self.setFont(text_font(*_ROLE_FONTS.get(role, (Size.BODY, QFont.Weight.Normal))))
        if role:
            self.setProperty("role", role)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._elide()

    def setText(self, text: str) -> None:
        self._whole = text
        self.updateGeometry()
        self._elide()

    def whole_text(self) -> str:
        return self._whole

    def minimumSizeHint(self) -> QSize:
        return QSize(24, super().minimumSizeHint().height())

    def sizeHint(self) -> QSize:
        return QSize(QFontMetrics(self.font()).horizontalAdvance(self._line()) + 2, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._elide()

    def _elide(self) -> None:
        shown = QFontMetrics(self.font()).elidedText(self._line(), self._mode, max(self.width(), 24))
        if shown != self._line() and self.width() < self._least:
            shown = ""
        super().setText(shown)
        self.setToolTip(tip_text(self._whole) if shown != self._whole else "")

    def _line(self) -> str:
        return label_text(self._whole).replace("\n", " ")


class _GlyphOfTheme(_Widget):
    """A widget whose glyph ``_restyle`` makes, again after each change of the theme."""

    _is_stale = False

    @abstractmethod
    def _restyle(self) -> None:
        """Make the glyph in the current colours and reset `_is_stale`."""

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self._restyle()

    def _theme_changed(self, _tokens: object) -> None:
        # New glyphs of all pages at once would be noticeable: a hidden widget makes its own when it is shown.
        if self.isVisible():
            self._restyle()
        else:
            self._is_stale = True


class IconButton(_GlyphOfTheme, QPushButton):
    """A push button whose glyph follows the theme.

    Without ``text`` it is a square icon button and ``tip`` is also its accessible name. ``caret`` marks a button with a menu.
    """

    def __init__(
        self,
        theme: ThemeManager,
        glyph: str,
        text: str = "",
        *,
        role: str = "",
        tip: str = "",
        caret: bool = False,
        on_click: Callable[[], object] | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(text, parent)
        self._theme = theme
        self._glyph = glyph
        self._colour = ""
        self.setProperty("role", role or ("" if text else "icon"))
        self.setProperty("caret", caret)
        self.setFont(text_font(Size.BODY, QFont.Weight.Medium))
        self._room = ICON_ROOM if text else 0
        self.setIconSize(QSize(Size.ICON_BUTTON + self._room, Size.ICON_BUTTON))
        self.setToolTip(tip_text(tip))
        # A blank name would hide the text that is set later.
        self.setAccessibleName(text.strip() or tip)
        if on_click is not None:
            self.clicked.connect(lambda _checked=False: on_click())
        theme.changed.connect(self._theme_changed)
        self._restyle()

    def set_glyph(self, glyph: str, colour: str = "") -> None:
        """Show another glyph; ``colour`` is the name of a token (``healthy``), empty: as the text."""
        if (glyph, colour) != (self._glyph, self._colour):
            self._glyph, self._colour = glyph, colour
            self._restyle()

    def set_role(self, role: str) -> None:
        set_role(self, role)
        self._restyle()

    def set_tip(self, tip: str) -> None:
        """Set the tool tip, and the accessible name of a button without text."""
        self.setToolTip(tip_text(tip))
        if not self.text():
            self.setAccessibleName(tip)

    def _restyle(self) -> None:
        self._is_stale = False
        tokens = self._theme.tokens
        grey = mix(tokens.text_3, tokens.panel, 60)
        if self._glyph:
            self.setIcon(icon(self._glyph, self._icon_colour(tokens), Size.ICON_BUTTON, disabled=grey, room=self._room))

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.property("caret"):
            painter = QPainter(self)
            glyph = icon_pixmap("caret-down", self._icon_colour(self._theme.tokens), 11, self.devicePixelRatioF())
            painter.drawPixmap(self.width() - 20, (self.height() - 11) // 2 + 1, glyph)
            painter.end()

    def _icon_colour(self, tokens: Tokens) -> str:
        if self._colour:
            return str(getattr(tokens, self._colour))
        by_role = {
            "primary": tokens.on_accent,
            "danger": tokens.on_accent,
            "icon": tokens.text_2,
            "tab-button": tokens.text_3,
            "go-to": tokens.text_2,
            "live": tokens.healthy,
            "stale": tokens.warning,
            "quiet": tokens.text_2,
            "status": tokens.text_2,
            "link": tokens.accent,
        }
        return by_role.get(str(self.property("role")), tokens.text_1)


class IconLabel(_GlyphOfTheme, PlainLabel):
    """A glyph in a colour of the theme, named by its token."""

    def __init__(
        self, theme: ThemeManager, glyph: str, colour: str = "text_2", size: int = Size.ICON_BUTTON, *, filled: bool = False
    ) -> None:
        super().__init__()
        self._theme = theme
        self._what = (glyph, colour, size, filled)
        self.setFixedSize(size, size)
        theme.changed.connect(self._theme_changed)
        self._restyle()

    def set_glyph(self, glyph: str, colour: str = "text_2", *, filled: bool = False) -> None:
        if (glyph, colour, filled) != (self._what[0], self._what[1], self._what[3]):
            self._what = (glyph, colour, self._what[2], filled)
            self._restyle()

    def _restyle(self) -> None:
        self._is_stale = False
        glyph, colour, size, filled = self._what
        self.setPixmap(icon(glyph, str(getattr(self._theme.tokens, colour)), size, filled=filled).pixmap(QSize(size, size)))


class Line(QFrame):
    def __init__(self, *, vertical: bool = False, length: int = 0) -> None:
        super().__init__()
        self.setProperty("role", "line")
        if vertical:
            self.setFixedWidth(1)
            if length:
                self.setFixedHeight(length)
        else:
            self.setFixedHeight(1)


Item = QWidget | QLayout | int | tuple[QWidget | QLayout, int] | tuple[QWidget, int, Qt.AlignmentFlag]
"""An int is a stretch of that weight; a tuple has a part with its weight, and its alignment."""


def row(*items: Item, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QHBoxLayout:
    """Parts side by side; a spacing of -1 is that of the style."""
    return _filled(QHBoxLayout(), items, spacing, margins)


def column(*items: Item, spacing: int = 8, margins: tuple[int, int, int, int] = (0, 0, 0, 0)) -> QVBoxLayout:
    """Parts under one another; a spacing of -1 is that of the style."""
    return _filled(QVBoxLayout(), items, spacing, margins)


def _filled(box: _Box, items: tuple[Item, ...], spacing: int, margins: tuple[int, int, int, int]) -> _Box:
    box.setContentsMargins(*margins)
    box.setSpacing(spacing)
    fill(box, *items)
    return box


def form_layout(
    part: QWidget | None = None, *, across: int = -1, down: int = -1, grow: Literal["", "all", "expanding"] = ""
) -> QFormLayout:
    """A form, of a part without margins: spacing in px, -1 as in the style; ``grow``: which fields take the whole width."""
    made = QFormLayout(part)
    if part is not None:
        made.setContentsMargins(0, 0, 0, 0)
    made.setHorizontalSpacing(across)
    made.setVerticalSpacing(down)
    if grow:
        policies = QFormLayout.FieldGrowthPolicy
        made.setFieldGrowthPolicy(policies.AllNonFixedFieldsGrow if grow == "all" else policies.ExpandingFieldsGrow)
    return made


def show_text(part: QLabel, text: str) -> None:
    """Show a text; an empty one hides its label."""
    part.setText(text)
    part.setVisible(bool(text))


def on_key(part: QWidget, key: str | QKeySequence.StandardKey, act: Callable[[], object]) -> None:
    """Call ``act`` when a key is pressed while the part, or one within it, has the focus."""
    shortcut = QShortcut(QKeySequence(key), part, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
    shortcut.activated.connect(act)


def take_out(layout: QLayout, *parts: QWidget) -> None:
    """Remove parts from a layout and delete them."""
    for part in parts:
        layout.removeWidget(part)
        part.hide()
        part.deleteLater()


def clear(layout: QLayout) -> None:
    """Remove all parts from a layout and delete them."""
    while (item := layout.takeAt(0)) is not None:
        part = item.widget()
        if part is not None:
            take_out(layout, part)


def fill(box: QBoxLayout, *items: Item) -> None:
    """Append parts to a layout."""
    for item in items:
        if isinstance(item, int):
            box.addStretch(item)
        else:
            part, *how = item if isinstance(item, tuple) else (item,)
            add: Callable[..., None] = box.addLayout if isinstance(part, QLayout) else box.addWidget
            add(part, *how)
