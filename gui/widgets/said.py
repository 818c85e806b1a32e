"""Texts of widgets that follow the language of the window: `said`, `say`, `segments` and `on_language`.

Qt reports a change of the language to every object, also to hidden ones. A page writes its texts a turn later, or when it is
shown, because all pages in one turn would be noticeable: it has the `SaidTexts` of its parts in ``late_texts`` until then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar
from weakref import WeakMethod

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QComboBox, QLabel, QPushButton, QTabBar, QTabWidget, QWidget
from shiboken6 import isValid

from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton, label
from gui.widgets.inputs import SegmentedControl
from gui.words.plain_text import tip_text
from gui.words.text import tr

W = TypeVar("W", bound=QWidget)
_SETTERS = {"text": "setText", "name": "setAccessibleName", "empty": "set_empty", "suffix": "setSuffix"}


class SaidTexts(QObject):
    """The texts of one widget, a child of it, so that Qt reports changes of the language."""

    def __init__(self, part: QWidget) -> None:
        super().__init__(part)
        self.writes: list[Callable[[QWidget], object]] = []
        """Get the widget, because a reference to it here would keep it in memory."""
        self.hooks: list[WeakMethod[Callable[[], object]]] = []

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LanguageChange:
            part = self.parent()
            while part is not None and not hasattr(part, "late_texts"):
                part = part.parent()
            if part is None:
                write_texts([self])
            else:
                part.late_texts.append(self)
        return super().event(event)


def write_texts(texts: Sequence[SaidTexts]) -> None:
    """Write texts in the language of now, then call the hooks, those of inner parts first.

    Each widget is written once, however often the language has changed. One that Qt has deleted is left out: parts are made
    again while others wait for their page to be shown, and by the hooks of outer parts.
    """
    waiting = list(dict.fromkeys(texts))
    for one in waiting:
        part = one.parent() if isValid(one) else None
        if isinstance(part, QWidget):
            for write in one.writes:
                write(part)
    for one in reversed(waiting):
        for hook in one.hooks:
            act = hook()
            if act is not None and isValid(one) and _can_act(act):
                act()


def _can_act(act: Callable[[], object]) -> bool:
    """Whether the object of a method is none of Qt's, or still exists there."""
    owner = getattr(act, "__self__", None)
    return not isinstance(owner, QObject) or isValid(owner)


def _texts_of(part: QWidget) -> SaidTexts:
    known = next((child for child in part.children() if isinstance(child, SaidTexts)), None)
    return known or SaidTexts(part)


def _add(part: QWidget, write: Callable[[QWidget], object]) -> None:
    _texts_of(part).writes.append(write)
    write(part)


def on_language(part: QWidget, *acts: Callable[[], object]) -> None:
    """Call methods of a part now, and after each change of the language, when the texts of `said` are written."""
    _texts_of(part).hooks.extend(WeakMethod(act) for act in acts)
    for act in acts:
        act()


def said(part: W, *, title: str = "", subtitle: str | None = None, hint: str = "", tip: str = "", **texts: str) -> W:
    """Write the texts of a widget now and after each change of the language; returns the widget.

    Args:
        part: The widget.
        title: English, as the other texts; of a panel.
        subtitle: Of a panel; None: its owner writes it.
        hint: Placeholder and accessible name of a field.
        tip: Tool tip; of a button without text also the accessible name.
        texts: ``text``, accessible ``name``, ``empty`` of a table, ``suffix`` of a number.
    """
    for kind, text in texts.items():
        say(part, _SETTERS[kind], text)
    if title:
        say(part, "set_title", title, *([] if subtitle is None else [subtitle]))
    if hint:
        say(part, "setPlaceholderText", hint)
        if "name" not in texts:
            say(part, "setAccessibleName", hint)
    if tip:
        say(part, "set_tip" if hasattr(part, "set_tip") else "setToolTip", tip)
    return part


def say(part: QWidget, setter: str, *texts: str, **values: object) -> None:
    """Call a setter of a widget with English texts, translated, now and after each change of the language.

    Args:
        part: The widget.
        setter: Name of its method.
        texts: English; empty texts stay empty.
        values: Values of the fields of the texts, as in `tr`.
    """
    clean = tip_text if setter == "setToolTip" else str
    _add(part, lambda one: getattr(one, setter)(*(clean(text and tr(text, **values)) for text in texts)))


def said_button(
    theme: ThemeManager,
    glyph: str,
    text: str = "",
    *,
    tip: str = "",
    name: str = "",
    role: str = "",
    caret: bool = False,
    on_click: Callable[[], object] | None = None,
) -> IconButton:
    """An `IconButton` whose texts are translated; all are English."""
    made = IconButton(theme, glyph, " " if text else "", role=role, caret=caret, on_click=on_click)
    texts = {kind: one for kind, one in (("text", text), ("tip", tip), ("name", name)) if one}
    return said(made, **texts)


def said_label(text: str, role: str = "secondary", *, wrap: bool = False) -> QLabel:
    """A label whose English text is translated."""
    return said(label(role=role, wrap=wrap), text=text)


def push_button(text: str, on_click: Callable[[], object] | None = None, *, role: str = "") -> QPushButton:
    """A button whose English text is translated."""
    made = said(QPushButton(), text=text)
    if role:
        made.setProperty("role", role)
    if on_click is not None:
        made.clicked.connect(lambda _checked=False: on_click())
    return made


def segments(names: Mapping[str, str]) -> SegmentedControl:
    """A choice whose segments are translated: key → English text."""
    made = SegmentedControl([(key, " ") for key in names])
    for key, name in names.items():
        _add(made, partial(_write_segment, key, name))
    return made


def _write_segment(key: str, name: str, control: QWidget) -> None:
    assert isinstance(control, SegmentedControl)
    control.set_text(key, tr(name))


def say_items(choice: QComboBox, names: Sequence[str], first: int = 0) -> None:
    """Translate the items of a choice, from item ``first`` on, which are added where they are missing: English texts."""
    choice.addItems([""] * (first + len(names) - choice.count()))

    def write(one: QWidget) -> None:
        assert isinstance(one, QComboBox)
        for place, name in enumerate(names, first):
            one.setItemText(place, tr(name))

    _add(choice, write)


def say_tabs(tabs: QTabWidget | QTabBar, *titles: str) -> None:
    """Translate the titles of tabs: English texts."""

    def write(one: QWidget) -> None:
        assert isinstance(one, QTabWidget | QTabBar)
        for place, title in enumerate(titles):
            one.setTabText(place, tr(title))

    _add(tabs, write)
