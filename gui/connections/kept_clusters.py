"""`KeptClusters`: the list of clusters in the settings, which all windows of a user read and write."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSettings

from gui.connections.cluster import STORES_KEY, Cluster, kept_cluster, kept_text, remembered
from gui.settings.values import text_list


class KeptClusters:
    """Reads the list before each change and writes it at once, because other windows change it too."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    def behind(self, shown: Cluster) -> list[Cluster]:
        """The cluster that a window shows, then the others, last used first."""
        return [kept_cluster(text) for text in remembered(self._texts(), kept_text(shown))]

    def as_kept(self, shown: Cluster) -> Cluster | None:
        """A cluster as the list has it now; None if it was dropped."""
        return next((one for one in map(kept_cluster, self._texts()) if one.place == shown.place), None)

    def remember(self, cluster: Cluster, *, behind: Cluster | None = None) -> None:
        """Put a cluster first in the list, or after ``behind``."""
        self._settings.sync()
        kept = remembered(self._texts(), kept_text(cluster))
        self._write(remembered(kept, kept_text(behind)) if behind is not None else kept)

    def replace(self, before: Cluster, cluster: Cluster) -> None:
        """Replace a connection by its edited form; its secrets are stored already."""
        self._settings.sync()
        known = [kept_cluster(text) for text in self._texts()]
        changed = [cluster if one == before else one for one in known if one == before or one.place != cluster.place]
        # Another window may have dropped it meanwhile: the edit is kept in any case.
        self._write([kept_text(one) for one in (changed if cluster in changed else [*changed, cluster])])

    def drop(self, cluster: Cluster) -> None:
        self._settings.sync()
        self._write([text for text in self._texts() if kept_cluster(text) != cluster])

    def _texts(self) -> list[str]:
        return text_list(self._settings, STORES_KEY)

    def _write(self, texts: Sequence[str]) -> None:
        self._settings.setValue(STORES_KEY, list(texts))
        self._settings.sync()
