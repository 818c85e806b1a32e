"""Which hosts may reach the broker: this machine only, unless TLS is enforced or the user insists."""

from __future__ import annotations

import ipaddress
import logging

from broker_core.config import BrokerConfig
from broker_core.errors import UsageError
from broker_core.protocol.addresses import host_text

logger = logging.getLogger(__name__)


def check_binding(config: BrokerConfig) -> None:
    """Refuse to listen to a network without TLS; warn where the user allowed it, and where accounts are missing.

    Raises:
        UsageError: ``bindAddress`` is not a loopback address, TLS is not enforced and ``allowInsecureBind`` is off.
    """
    host = config.bind_host
    if _is_loopback(host):
        return
    protected = config.has_tls and config.tls_mode == "enforcing"
    if not protected and not config.insecure_bind:
        raise UsageError(
            f"listening on {host or 'every address'} lets other machines in, without encryption: give a certificate "
            "(--set tls.server.certPath=… --set tls.server.keyPath=… --set tls.server.mode=enforcing), "
            "or insist with --set allowInsecureBind=true",
            host=host,
        )
    if not protected:
        logger.warning("the broker listens on %s without encryption, as allowInsecureBind says", host or "every address")
    if not config.acl_enabled:
        logger.warning("whoever reaches %s may read, write and administer: aclEnable is off", host or "every address")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host_text(host)).is_loopback
    except ValueError:
        return False
