"""A certificate that the broker makes for itself, so that SDKs that insist on TLS can connect without any settings.

Such SDKs do not check whom a certificate names (docs/spec/grpc.md §2.1); others can be given it as a root, because it names the
host's addresses.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import socket
import ssl
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ALPN: Final = ["h2"]
_VALID = dt.timedelta(days=3650)
_EARLIER = dt.timedelta(days=1)
"""The certificate is valid from a day ago on, because clocks differ."""


class OwnCertificate:
    """TLS with a certificate that is made at the first handshake, because loading what makes it takes 0.1 s."""

    plain_allowed = True

    @cached_property
    def context(self) -> ssl.SSLContext:
        """The context of all connections, which selects ``h2``."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(ALPN)
        with TemporaryDirectory(prefix="orbit-") as folder:  # for its owner alone; Python loads keys from files only
            path = Path(folder) / "certificate.pem"
            path.write_bytes(_key_and_certificate())
            context.load_cert_chain(path)
        return context


def _key_and_certificate() -> bytes:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = dt.datetime.now(dt.UTC)
    hosts = [x509.DNSName(host) for host in dict.fromkeys(("localhost", socket.gethostname())) if host.isascii()]
    addresses = [x509.IPAddress(ipaddress.ip_address(address)) for address in ("127.0.0.1", "::1")]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _VALID)
        .add_extension(x509.SubjectAlternativeName([*hosts, *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return private + certificate.public_bytes(serialization.Encoding.PEM)
