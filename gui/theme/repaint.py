"""`repaint_with`: a widget that paints itself is painted anew when the theme, or how times are written, changes."""

from __future__ import annotations

from PySide6.QtCore import SIGNAL, SLOT, QMetaObject, QObject
from PySide6.QtWidgets import QWidget


def repaint_with(widget: QWidget, *sources: QObject) -> None:
    """Paint ``widget`` anew with each ``changed`` of ``sources``, for as long as it lives.

    Qt connects the two by name. ``source.changed.connect(widget.update)`` would leave 60 bytes of PySide's with each widget,
    as any connection to a method of Qt's own (PySide 6.11): pages are made of dozens of such widgets.

    Args:
        widget: What is painted anew.
        sources: Objects with one signal ``changed``, as `ThemeManager` and `TimeZoneChoice`.
    """
    for source in sources:
        QObject.connect(source, SIGNAL(_changed_of(source.metaObject())), widget, SLOT("update()"))


def _changed_of(known: QMetaObject) -> str:
    """The signature of the signal, as Qt knows it."""
    kind = known.className()
    if kind not in _SIGNATURES:
        methods = (known.method(place) for place in range(known.methodCount()))
        found = next(method for method in methods if method.name() == b"changed")
        _SIGNATURES[kind] = bytes(found.methodSignature().data()).decode()
    return _SIGNATURES[kind]


_SIGNATURES: dict[str, str] = {}
"""By class; there are as many as classes with such a signal."""
