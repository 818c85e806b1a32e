"""Folders of topics: mostly the topic's name, as RocketMQ has it.

Where the system reserves a character of the name, or takes names for one that differ by case only (``Orders`` and ``orders``),
the folder's name is encoded (`broker_core.platform.file_names`). A real broker reads no queue in such a folder; it makes it
again from the log. Decision 110.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from broker_core.platform import file_names


class TopicFolders:
    """Names of folders by topic. Not thread-safe: callers hold the store's lock.

    Args:
        known: A file of the store, whose name has letters.
        folders: Names of the folders that are there.
    """

    def __init__(self, known: Path, folders: Iterable[str] = ()) -> None:
        self._known = known
        self._ignores_case: bool | None = None
        self._by_topic: dict[str, str] = {}
        self._taken: set[str] = set()
        for name in folders:
            topic = file_names.decoded(name)
            if self._by_topic.get(topic) != topic:
                self._by_topic[topic] = name
            self._taken.add(name.casefold())

    def of(self, topic: str) -> str:
        """Name of a topic's folder, the same each time."""
        found = self._by_topic.get(topic)
        if found is None:
            found = self._by_topic[topic] = self._chosen(topic)
            self._taken.add(found.casefold())
        return found

    def _chosen(self, topic: str) -> str:
        name = file_names.encoded(topic)
        if name.casefold() not in self._taken or not self._is_case_ignored():
            return name
        # A name without letters has no other spelling, so it cannot be taken.
        spellings = (file_names.encoded(topic, letters) for letters in range(1, len(topic) + 1))
        return next((one for one in spellings if one.casefold() not in self._taken), name)

    def _is_case_ignored(self) -> bool:
        """Found out for the first two topics that differ by case only, when the store's files are there."""
        if self._ignores_case is None:
            self._ignores_case = file_names.ignores_case(self._known)
        return self._ignores_case
