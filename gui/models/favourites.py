"""`Favourites`: names that the user pinned, stored in the window's settings; `Pins`: those of each kind."""

from __future__ import annotations

import json
from collections.abc import Iterator

from PySide6.QtCore import QObject, QSettings, Signal

from gui.settings.values import listed

NAMES_MAX = 500
FAVOURITES = "Favourites"
"""English heading of their section in lists and the side bar."""
TOPICS_KEY, GROUPS_KEY = "topics/favourites", "groups/favourites"


class Favourites(QObject):
    """Names under one key of the settings, in the user's order.

    Signals:
        changed: A name was added, removed or moved.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, key: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._key = key
        self._names = _read(settings, key)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._names))

    def read_from(self, key: str) -> None:
        """Read the names of another key from now on."""
        if key != self._key:
            self._key, self._names = key, _read(self._settings, key)
            self.changed.emit()

    def toggle(self, name: str) -> None:
        self._settings.sync()  # another window may have changed them meanwhile
        self._names = _read(self._settings, self._key)
        if name in self._names:
            del self._names[name]
        else:
            self._names[name] = None
        self._keep(list(self._names)[-NAMES_MAX:])

    def swap(self, name: str, other: str) -> None:
        self._settings.sync()  # as above
        names = list(_read(self._settings, self._key))
        if name in names and other in names:
            here, there = names.index(name), names.index(other)
            names[here], names[there] = other, name
            self._keep(names)

    def _keep(self, names: list[str]) -> None:
        self._names = dict.fromkeys(names)
        self._settings.setValue(self._key, json.dumps(names))
        self.changed.emit()


class Pins(QObject):
    """Pinned topics and groups of a window, its side bar and all its pages.

    Each connection has its own, because names of one cluster mean nothing on another.

    Signals:
        changed: Some were added, removed or moved.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.topics = Favourites(settings, TOPICS_KEY, self)
        self.groups = Favourites(settings, GROUPS_KEY, self)
        for names in (self.topics, self.groups):
            names.changed.connect(self.changed)

    def use(self, own_group: str) -> None:
        """Show those of a cluster; ``own_group`` as of `gui.connections.cluster.own_group`."""
        self.topics.read_from(own_group + TOPICS_KEY)
        self.groups.read_from(own_group + GROUPS_KEY)


def _read(settings: QSettings, key: str) -> dict[str, None]:
    return dict.fromkeys(map(str, listed(str(settings.value(key, "")))))
