"""Who calls: the identity and the address of a client, as the metadata of its calls state them.

Source: docs/spec/grpc.md §2.3, §2.4.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from broker_core.engine.grpc.outcome import refuse
from broker_core.protocol.codes import LanguageCode
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.transport.grpc_connection import GrpcConnection

_LANGUAGES: Final = {"GOLANG": "GO", "DOT_NET": "DOTNET", "NODEJS": "NODE_JS"}
_TEXT_MAX: Final = 256


@dataclass(slots=True)
class Caller:
    """The client of one call; not frozen, because one is made for each call and freezing doubles that.

    Attributes:
        client_id: As it states itself; empty for none.
        connection: That the call came over.
        language: Of its SDK.
        sdk_version: Of its SDK, as text; empty for none.
        account: Access key that its signature proves; empty where none is needed.
    """

    client_id: str
    connection: GrpcConnection
    language: LanguageCode
    sdk_version: str
    account: str = ""

    @property
    def address(self) -> str:
        """``host:port`` that the call comes from."""
        return self.connection.remote_address

    @property
    def local_address(self) -> str:
        """``host:port`` that it was made to."""
        return self.connection.local_address


def language_of(metadata: Mapping[str, str]) -> LanguageCode:
    """The language of an SDK; unknown ones are OTHER."""
    return _language(metadata.get("x-mq-language", ""), metadata.get("user-agent", ""))


@lru_cache(_TEXT_MAX)
def _language(name: str, user_agent: str) -> LanguageCode:
    name = name.upper()
    if name == "HTTP" or "node" in user_agent:
        return LanguageCode.NODE_JS
    name = _LANGUAGES.get(name, name)
    return LanguageCode[name] if name in LanguageCode.__members__ else LanguageCode.OTHER


def header_text(metadata: Mapping[str, str], name: str) -> str:
    """A header of bounded length; empty for none."""
    text = metadata.get(name, "")[:_TEXT_MAX]
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Signature:
    """The parts of an authorization header."""

    access_key: str
    date_time: str
    digest: str

    def is_of(self, secret: str) -> bool:
        """Whether it was made with a secret."""
        expected = hmac.new(secret.encode(), self.date_time.encode(), hashlib.sha1).hexdigest()
        return hmac.compare_digest(expected, self.digest.lower())


def signature_of(metadata: Mapping[str, str]) -> Signature:
    """The signature of a call.

    Raises:
        CallRefusedError: There is none, or it cannot be read.
    """
    header, date_time = metadata.get("authorization", ""), metadata.get("x-mq-date-time", "")
    if not header:
        refuse(pb.UNAUTHORIZED, "username cannot be null.")
    _, blank, rest = header.partition(" ")
    fields = dict(part.strip().partition("=")[::2] for part in rest.split(","))
    if not blank or "Credential" not in fields or "Signature" not in fields:
        refuse(pb.UNAUTHORIZED, "authentication header is incorrect.")
    if not date_time:
        refuse(pb.UNAUTHORIZED, "datetime is null.")
    return Signature(fields["Credential"].partition("/")[0], date_time, fields["Signature"])
