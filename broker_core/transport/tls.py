"""TLS of both ends (Source: docs/spec/remoting.md §1.7).

No frame begins with the first byte of a TLS handshake, so one port serves both: the first byte decides. There is no
STARTTLS and no ALPN.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from broker_core.config import BrokerConfig
from broker_core.errors import UsageError
from broker_core.transport.own_certificate import ALPN, OwnCertificate

HANDSHAKE_BYTE = 0x16
HANDSHAKE_SECONDS = 10.0

_CLIENT_AUTH = {"none": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "require": ssl.CERT_REQUIRED}


class ServerTls(Protocol):
    """Certificate and handshake rules of a server, and whether it also serves connections without TLS."""

    @property
    def context(self) -> ssl.SSLContext | None:
        """What handshakes are served with; None for a server that takes no TLS."""

    @property
    def plain_allowed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class TlsServer:
    """`ServerTls` of a certificate that was given."""

    context: ssl.SSLContext
    plain_allowed: bool


@dataclass(frozen=True, slots=True)
class PlainServer:
    """`ServerTls` of a server without TLS."""

    context: None = None
    plain_allowed: bool = True


def tls_server(config: BrokerConfig) -> TlsServer | None:
    """The TLS of a broker's settings, or None.

    Raises `UsageError`, which names the setting, for an unusable file, or TLS that is enforced without a certificate.
    """
    if not config.has_tls:
        if config.tls_mode == "enforcing":
            raise UsageError("tls.server.mode=enforcing needs a certificate: give tls.server.certPath and tls.server.keyPath")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    key = config.tls_certificate if config.tls_key == Path() else config.tls_key
    try:
        context.load_cert_chain(config.tls_certificate, key, lambda: config.tls_key_password)
    except (OSError, ValueError) as error:
        text = (
            f"tls.server.certPath {config.tls_certificate} and tls.server.keyPath {key} cannot be used ({_reason(error)}): "
            "give a certificate and its key in PEM, and tls.server.keyPassword if the key has one"
        )
        raise UsageError(text) from None  # the cause may quote the password
    context.verify_mode = _CLIENT_AUTH[config.tls_client_auth]
    if config.tls_client_auth != "none":
        _trust(context, config.tls_client_authority, "tls.server.trustCertPath")
    return TlsServer(context, plain_allowed=config.tls_mode == "permissive")


def grpc_tls(config: BrokerConfig) -> ServerTls:
    """The TLS of the gRPC port: as for remoting, and with an own certificate where none is given.

    Raises `UsageError` as `tls_server`.
    """
    if config.tls_mode == "disabled":
        return PlainServer()
    given = tls_server(config)
    if given is None:
        return OwnCertificate()
    given.context.set_alpn_protocols(ALPN)
    return given


def own_client_tls() -> ssl.SSLContext:
    """TLS for a connection of this process to itself: encrypted, without a check of its own certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def client_tls(
    authority: Path | None = None, *, certificate: Path | None = None, key: Path | None = None, verify: bool = True
) -> ssl.SSLContext:
    """TLS of a client; raises `UsageError` when a file is missing or cannot be used.

    Args:
        authority: PEM file of the trusted authorities; None trusts those of the system.
        certificate: The client's own certificate, for servers that request one.
        key: Its key; None if it is in the same file.
        verify: False accepts any server certificate, as RocketMQ's clients do by default; only for tests and trusted networks.
    """
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif authority is not None:
        _trust(context, authority, "the file of trusted authorities")
    if certificate is not None:
        try:
            context.load_cert_chain(certificate, key)
        except (OSError, ValueError) as error:
            raise UsageError(f"the client certificate {certificate} cannot be used ({_reason(error)})") from error
    return context


def _trust(context: ssl.SSLContext, authority: Path, what: str) -> None:
    try:
        context.load_verify_locations(authority)
    except (OSError, ValueError) as error:
        raise UsageError(f"{what} {authority} cannot be used ({_reason(error)}): give a PEM file of certificates") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__)
