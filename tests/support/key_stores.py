"""Key stores of a system that no test has: in memory, locked, or broken."""

from __future__ import annotations

import keyring.errors


class MemoryKeyStore:
    """Keeps what it is given, as a backend of `keyring` does."""

    name = "Memory"

    def __init__(self) -> None:
        self.entries: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        return self.entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        self.entries[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        if self.entries.pop((service, username), None) is None:
            raise keyring.errors.PasswordDeleteError("no such entry")


class LockedKeyStore(MemoryKeyStore):
    """Its user does not unlock it; the error quotes what it was given, as a careless backend might."""

    name = "Locked"

    def get_password(self, service: str, username: str) -> str | None:
        raise keyring.errors.KeyringLocked(f"locked: {service} {username}")

    def set_password(self, _service: str, _username: str, password: str) -> None:
        raise keyring.errors.PasswordSetError(f"not {password}")


class ForgetfulKeyStore(MemoryKeyStore):
    """Takes everything and keeps nothing."""

    name = "Forgetful"

    def set_password(self, _service: str, _username: str, _password: str) -> None:
        return None
