"""Secrets of connections in a file that only its owner can read; not in the settings, which people copy and send."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from broker_core.outside import read_json
from broker_core.platform import replacing

FILE_NAME = "connection-secrets.json"
FILE_MODE = 0o600


class SecretFile:
    """Secrets by connection and owner, such as an access key; the file is made with mode 0600 at the first secret."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name_servers: str) -> dict[str, str]:
        """Secrets of a connection by owner; empty where none are stored.

        Raises:
            OSError: The file cannot be read.
            ValueError: It is not a file of secrets.
        """
        end = _entry(name_servers, "")
        return {entry.removesuffix(end): secret for entry, secret in self._secrets().items() if entry.endswith(end)}

    def keep(self, name_servers: str, secrets: Mapping[str, str]) -> None:
        """Replace the secrets of a connection. Raises as `read`."""
        before = self._secrets()
        changed = {entry: kept for entry, kept in before.items() if not entry.endswith(_entry(name_servers, ""))}
        changed |= {_entry(name_servers, owner): secret for owner, secret in secrets.items()}
        if changed != before:
            self._write(changed)

    def _secrets(self) -> dict[str, str]:
        try:
            kept = read_json(self.path.read_bytes())
        except FileNotFoundError:
            return {}
        if not isinstance(kept, dict) or not all(isinstance(secret, str) for secret in kept.values()):
            raise ValueError(f"{self.path} is no file of secrets; move it away")
        return kept

    def _write(self, secrets: dict[str, str]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        made = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        made.unlink(missing_ok=True)
        try:
            with os.fdopen(os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE), "w", encoding="utf-8") as file:
                json.dump(secrets, file)
                file.flush()
                os.fsync(file.fileno())
            replacing.replace(made, self.path)
        finally:
            made.unlink(missing_ok=True)


def _entry(name_servers: str, owner: str) -> str:
    return f"{owner}@{name_servers}"
