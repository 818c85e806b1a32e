"""Signed requests, as RocketMQ's ACL signs them (Source: docs/spec/remoting.md §7.1).

Content of a signature: the values of all header fields but the signature itself, in the order of their keys, then the body.
Accounts and rules are in `broker_core.engine.acl`.
"""

from __future__ import annotations

import base64
import hmac
from dataclasses import dataclass, field

from broker_core.protocol.frame import RemotingCommand

ACCESS_KEY = "AccessKey"
SECURITY_TOKEN = "SecurityToken"  # noqa: S105  the name of a header field
SIGNATURE = "Signature"
UNIQUE_KEY_QUERY = "_UNIQUE_KEY_QUERY"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Identity of a client. The secret never appears in its text form."""

    access_key: str
    secret_key: str = field(repr=False)
    security_token: str | None = field(default=None, repr=False)


def sign(command: RemotingCommand, credentials: Credentials) -> None:
    """Add access key and signature to a request that is otherwise complete."""
    fields = command.ext_fields
    fields[ACCESS_KEY] = credentials.access_key
    if credentials.security_token is not None:
        fields[SECURITY_TOKEN] = credentials.security_token
    fields[SIGNATURE] = _signature(command, credentials.secret_key)


def signature_matches(command: RemotingCommand, secret_key: str) -> bool:
    """Whether the signature of a request fits its other parts and the secret; takes the same time either way.

    A query by unique key counts as signed with or without its flag, because brokers of 4.9 leave it out of the signature and
    their own admin tool does not.
    """
    given = command.ext_fields.get(SIGNATURE, "").encode()
    whole = hmac.compare_digest(given, _signature(command, secret_key).encode())
    if UNIQUE_KEY_QUERY not in command.ext_fields:
        return whole
    without = _signature(command, secret_key, left_out=UNIQUE_KEY_QUERY).encode()
    return hmac.compare_digest(given, without) or whole


def _signature(command: RemotingCommand, secret_key: str, left_out: str = SIGNATURE) -> str:
    fields = command.ext_fields
    text = "".join([fields[key] for key in sorted(fields) if key not in (SIGNATURE, left_out)])
    code = hmac.new(secret_key.encode(), text.encode(), "sha1")
    code.update(command.body)
    for part in command.body_slices:
        code.update(part)
    return base64.b64encode(code.digest()).decode()
