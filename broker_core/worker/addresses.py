"""The address that routes name for this broker."""

from __future__ import annotations

import socket

from broker_core.protocol.addresses import host_text

_ANY = frozenset({"", "0.0.0.0", "::"})  # noqa: S104  only compared with
_SOMEWHERE = ("192.0.2.1", 9)
"""An address of the range for documentation; nothing is sent to it."""


def advertised_host(bind_host: str) -> str:
    """The address that routes name for a broker that listens on ``bind_host``.

    A broker that listens everywhere names the address by which this machine reaches others, or the loopback address without
    a network; ``--set brokerIP1=…`` overrides it.
    """
    if host_text(bind_host) not in _ANY:
        return bind_host
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(_SOMEWHERE)
        except OSError:
            return "127.0.0.1"
        host: str = probe.getsockname()[0]
    return host
