"""`SecretDesk`: secrets of connections for the GUI thread, which never waits: the key store may ask the user first."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal

from gui.connections.cluster import ATTACHED, SECRET_KEY, Cluster, details_of, secret_owners
from gui.connections.secret_store import SecretStore

logger = logging.getLogger(__name__)

Told = Callable[[str], None]
T = TypeVar("T")


class _MissingError(Exception):
    """A secret that a connection needs is not stored."""


class SecretDesk(QObject):
    """Reads the store of secrets on threads of its own and calls back on the GUI thread.

    A thread ends with the program even while the key store waits for its user.
    """

    _answered = Signal(object, object)

    def __init__(self, store: SecretStore, parent: QObject) -> None:
        super().__init__(parent)
        self._store = store
        # Queued explicitly: the threads that emit it are not Qt's.
        self._answered.connect(self._deliver, Qt.ConnectionType.QueuedConnection)

    @property
    def file(self) -> str:
        return str(self._store.file.path)

    def find_key_store(self, name_servers: str, tell: Callable[[tuple[str, bool]], None]) -> None:
        """Call ``tell`` with the key store's name, empty for none, and whether the file holds this connection's secrets."""

        def look() -> tuple[str, bool]:
            return self._store.key_store_name(), bool(name_servers) and self._store.is_in_file(name_servers)

        self._ask(look, tell, lambda _fault: tell(("", True)))

    def details(self, cluster: Cluster, typed: Mapping[str, str], done: Told, failed: Told) -> None:
        """Pass the connection details of an attached cluster to ``done``, at once or later, or the reason to ``failed``.

        ``typed`` (part of the details → secret) overrides stored secrets.
        """
        if cluster.kind != ATTACHED or not secret_owners(cluster):
            done(details_of(cluster, {}) if cluster.kind == ATTACHED else "")
            return
        self._ask(lambda: details_of(cluster, self._whole(cluster, typed)), done, failed)

    def keep(
        self,
        cluster: Cluster,
        typed: Mapping[str, str],
        *,
        in_file: bool,
        done: Callable[[None], None],
        failed: Told,
    ) -> None:
        """Store the secrets of a connection; parts that were not typed keep their stored secret, its other secrets are deleted.

        ``in_file``: use the file although there is a key store.
        """
        owned = bool(secret_owners(cluster))

        def keep() -> None:
            self._store.keep(cluster.kept_under, self._whole(cluster, typed) if owned else {}, in_file=in_file)

        self._ask(keep, done, failed)

    def forget(self, cluster: Cluster, done: Callable[[None], None], failed: Told) -> None:
        self._ask(lambda: self._store.keep(cluster.kept_under, {}), done, failed)

    def _whole(self, cluster: Cluster, typed: Mapping[str, str]) -> dict[str, str]:
        owners = secret_owners(cluster)
        is_whole = all(typed.get(part) for part in owners)
        kept = {} if is_whole else self._store.read(cluster.kept_under)
        found = {owner: typed.get(part) or kept.get(owner, "") for part, owner in owners.items()}
        if SECRET_KEY in owners and not found[owners[SECRET_KEY]]:
            raise _MissingError
        return {owner: secret for owner, secret in found.items() if secret}

    def _ask(self, work: Callable[[], T], done: Callable[[T], None], failed: Told) -> None:
        threading.Thread(target=self._run, args=(work, done, failed), name="connection-secrets", daemon=True).start()

    def _run(self, work: Callable[[], object], done: Callable[..., None], failed: Told) -> None:
        from broker_core.api import SecretError

        try:
            answer = work()
        except _MissingError:
            self._tell(failed, "No secret key is kept for this access key and these name servers; write it again.")
        except SecretError as error:
            self._tell(failed, error.message)
        except Exception as error:
            # The root of a thread: the caller must learn of its end.
            logger.exception("secrets of a connection were asked for")
            self._tell(failed, f"Orbit made a mistake: {type(error).__name__}")
        else:
            self._tell(done, answer)

    def _deliver(self, tell: Callable[..., None], answer: object) -> None:
        tell(answer)

    def _tell(self, tell: Callable[..., None], answer: object) -> None:
        try:
            self._answered.emit(tell, answer)
        except RuntimeError:
            logger.info("the window has gone before its secrets were told")
