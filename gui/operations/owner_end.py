"""`call_at_end`: calls a method when Qt deletes the owner of its object."""

from __future__ import annotations

from collections.abc import Callable
from weakref import WeakMethod

from PySide6.QtCore import QObject


def call_at_end(owner: QObject, method: Callable[[], None]) -> None:
    """Call ``method`` when Qt deletes ``owner``, unless Python has already freed the object of the method.

    Qt cannot call a method of a `QObject` that the garbage collector has cleared: PySide keeps the method's entry in the
    attributes of the object, which are gone by then, and raises ``AttributeError: Slot '…::' not found`` in Qt's loop. The
    collector clears an owner and its children in any order, but weak references first.
    """
    known = WeakMethod(method)

    def ended() -> None:
        call = known()
        if call is not None:
            call()

    owner.destroyed.connect(ended)
