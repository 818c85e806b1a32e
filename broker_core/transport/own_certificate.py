"""A certificate that the broker makes for itself, so that SDKs that insist on TLS can connect without any settings.

Such SDKs do not check whom a certificate names (docs/spec/grpc.md §2.1); others can be given it as a root, because it names the
host's addresses.
"""

from __future__ import annotations

import datetime as dt
import ssl
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

ALPN: Final = ["h2"]


class OwnCertificate:
    """TLS with a certificate that is made at the first handshake, because loading what makes it takes time."""

    plain_allowed = True

    @cached_property
    def context(self) -> ssl.SSLContext:
        """The context of all connections, which selects ``h2``."""
        from broker_core.transport.self_signed import key_and_certificate

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(ALPN)
        with TemporaryDirectory(prefix="orbit-") as folder:  # for its owner alone; Python loads keys from files only
            path = Path(folder) / "certificate.pem"
            path.write_bytes(key_and_certificate(dt.datetime.now(dt.UTC)))
            context.load_cert_chain(path)
        return context
