"""`SecretStore`: secrets of connections in the key store of the system, else in a file of the user's own.

The file has priority, so that older files still work, also where a key store cannot be opened. Every call may wait for the
system, which may ask the user: never on the GUI thread. Uses no Qt.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from broker_core.outside import read_json
from gui.connections.secret_file import SecretFile

if TYPE_CHECKING:
    from broker_core.api import SecretError

logger = logging.getLogger(__name__)

SERVICE = "Orbit connection"
"""Service of an entry in the key store; its user name is the name servers."""


class KeyStore(Protocol):
    """The key store of the system, as the package `keyring` offers it."""

    @property
    def name(self) -> str: ...

    def get_password(self, service: str, username: str) -> str | None: ...

    def set_password(self, service: str, username: str, password: str) -> None: ...

    def delete_password(self, service: str, username: str) -> None: ...


def system_key_store() -> KeyStore | None:
    """The key store of this session; None where none keeps secrets from other users."""
    import keyring
    from keyring.backends import fail, null

    try:
        found: Any = keyring.get_keyring()
        priority = float(found.priority)
    except Exception:  # looking for backends runs what is installed
        logger.exception("the key store of the system cannot be looked for; secrets are kept in the file")
        return None
    if isinstance(found, (fail.Keyring, null.Keyring)) or priority < 1:
        return None
    store: KeyStore = found
    return store


class SecretStore:
    """Secrets of connections by name servers: owner → secret. Any thread, one call at a time.

    The file is used where there is no key store, or where the user chose it. The key store is looked for at each use, because a
    session may start or end one.
    """

    def __init__(self, file: SecretFile, find: Callable[[], KeyStore | None] = system_key_store) -> None:
        self.file = file
        self._find = find
        self._lock = threading.Lock()

    def key_store_name(self) -> str:
        """Name of the key store in use; empty for none."""
        with self._lock:
            store = self._find()
            return "" if store is None else str(store.name)

    def read(self, name_servers: str) -> dict[str, str]:
        """Secrets of a connection; empty where none are stored.

        Raises:
            SecretError: The file or the key store cannot be read.
        """
        with self._lock:
            found = self._of_file(name_servers)
            if found:
                return found
            store = self._find()
            return {} if store is None else self._of_store(store, name_servers)

    def is_in_file(self, name_servers: str) -> bool:
        """Whether the file holds secrets of a connection; raises as `read`."""
        with self._lock:
            return bool(self._of_file(name_servers))

    def keep(self, name_servers: str, secrets: Mapping[str, str], *, in_file: bool = False) -> None:
        """Store ``secrets`` (owner → secret) as the only ones of a connection, in one place; an empty map deletes all.

        Raises:
            SecretError: The place cannot be used; the secrets of before are still there.
        """
        with self._lock:
            store = self._find()
            if not secrets:
                self._forget(store, name_servers)
            elif store is None or in_file:
                self._to_file(name_servers, secrets)
                if store is not None:
                    self._tidy(store, name_servers)
            else:
                self._to_store(store, name_servers, secrets)
                if self._of_file(name_servers):
                    self._to_file(name_servers, {})

    def _tidy(self, store: KeyStore, name_servers: str) -> None:
        """Delete the outdated entry of the key store; a failure is harmless because the file has priority."""
        from broker_core.api import SecretError

        try:
            self._take_from(store, name_servers)
        except SecretError as error:
            logger.warning("an older entry of %s may still be in the key store: %s", name_servers, error.message)

    def _forget(self, store: KeyStore | None, name_servers: str) -> None:
        if store is not None:
            self._take_from(store, name_servers)
        if self._of_file(name_servers):
            self._to_file(name_servers, {})

    # ---- the file ------------------------------------------------------------------------------------------------------

    def _of_file(self, name_servers: str) -> dict[str, str]:
        try:
            return self.file.read(name_servers)
        except (OSError, ValueError) as error:
            raise self._file_error(error) from error

    def _to_file(self, name_servers: str, secrets: Mapping[str, str]) -> None:
        try:
            self.file.keep(name_servers, secrets)
        except (OSError, ValueError) as error:
            raise self._file_error(error) from error

    def _file_error(self, error: Exception) -> SecretError:
        return _error(f"the file of secrets {self.file.path} cannot be used: {error}. Nothing was changed")

    # ---- the key store -------------------------------------------------------------------------------------------------

    def _of_store(self, store: KeyStore, name_servers: str) -> dict[str, str]:
        text = self._asked(store, lambda: store.get_password(SERVICE, name_servers))
        if not text:
            return {}
        try:
            kept = read_json(text)
        except ValueError:
            kept = None  # the cause may quote the secret
        if not isinstance(kept, dict) or not all(isinstance(secret, str) for secret in kept.values()):
            raise _error(
                f"the entry “{SERVICE}” of {name_servers} in the key store ({store.name}) is none of ours: take it away there, "
                "and write the secrets again"
            )
        return kept

    def _to_store(self, store: KeyStore, name_servers: str, secrets: Mapping[str, str]) -> None:
        text = json.dumps(dict(secrets))
        self._asked(store, lambda: store.set_password(SERVICE, name_servers, text))
        # Some key stores accept a secret and do not return it.
        if self._asked(store, lambda: store.get_password(SERVICE, name_servers)) != text:
            raise _error(
                f"the key store of the system ({store.name}) took the secret and does not give it back: keep it in the file "
                f"{self.file.path} instead"
            )

    def _take_from(self, store: KeyStore, name_servers: str) -> None:
        if self._asked(store, lambda: store.get_password(SERVICE, name_servers)) is not None:
            self._asked(store, lambda: store.delete_password(SERVICE, name_servers))

    def _asked(self, store: KeyStore, ask: Callable[[], str | None]) -> str | None:
        try:
            return ask()
        except Exception as error:  # noqa: BLE001  backends raise errors of their own libraries
            # Their texts might quote a secret.
            raise _error(
                f"the key store of the system ({store.name}) does not answer as it should ({type(error).__name__}): unlock it "
                f"and try again, or keep the secret in the file {self.file.path} instead. Nothing was changed"
            ) from None


def _error(text: str) -> SecretError:
    from broker_core.api import SecretError

    return SecretError(text)
